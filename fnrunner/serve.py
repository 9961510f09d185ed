"""Runs the function runner as a server until it is told to stop."""

import asyncio
import logging
import os
import signal
import socket
import stat
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

import grpc.aio

from fnrunner import choose, wire
from fnrunner.builtin import PREFIXES
from fnrunner.errors import RunnerAddressError
from fnrunner.run import Limits, Runner
from fnrunner.service import Evaluator, Health

_log = logging.getLogger(__name__)

_GRACE: Final = 5.0  # seconds that running functions have to end


async def serve(
    address: str,
    *,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    prefixes: Sequence[str] = PREFIXES,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGTERM, SIGINT or cancellation; then let running calls end.

    Args:
        address: "unix:/PATH" or "HOST:PORT"; port 0 takes a free one.
        limits: How much a call may take.
        prefixes: Registries and folders whose functions the builtin ones stand for.
        ready: Called once calls are taken, with the address as a client needs it.

    Raises:
        RunnerAddressError: The address cannot be listened on.
    """
    stop = asyncio.Event()
    runner = choose.runner(limits, prefixes=prefixes)
    with _signals(stop):
        async with listening(address, runner, limits) as bound:
            _log.info("function runner listens on %s", bound)
            if ready is not None:
                ready(bound)
            await stop.wait()


@asynccontextmanager
async def listening(address: str, runner: Runner, limits: Limits) -> AsyncIterator[str]:
    """Serve a runner inside the block; gives the address as a client needs it.

    Raises:
        RunnerAddressError: The address cannot be listened on.
    """
    # Without so_reuseport a second runner on the same port hears that it is taken.
    server = grpc.aio.server(options=(*wire.sizes(limits), ("grpc.so_reuseport", 0)))
    health = Health()
    wire.serve(server, Evaluator(runner), health)
    bound = _bind(server, address)
    await server.start()
    try:
        yield bound
    finally:
        health.end()
        await server.stop(_GRACE)
        _remove(address)


def _bind(server: grpc.aio.Server, address: str) -> str:
    path = _socket_path(address)
    if path is None:
        return _bind_port(server, address)
    if not path.parent.is_dir():
        raise RunnerAddressError(address, f"there is no folder {path.parent}")
    if path.exists():
        _check_left(address, path)
    before = os.umask(0o177)  # whoever may write to the socket may call the runner
    try:
        _add_port(server, address)
    finally:
        os.umask(before)
    return address


def _check_left(address: str, path: Path) -> None:
    """Make sure that what stands at the path may be replaced; gRPC would replace anything."""
    if not stat.S_ISSOCK(path.stat().st_mode):
        raise RunnerAddressError(address, "there is a file which is not a socket")
    with socket.socket(socket.AF_UNIX) as probe:
        if probe.connect_ex(str(path)) == 0:
            raise RunnerAddressError(address, "another process serves it")


def _bind_port(server: grpc.aio.Server, address: str) -> str:
    host, colon, port = address.rpartition(":")
    if not (host and colon and port.isdecimal()):
        raise RunnerAddressError(address, "that is no address")
    return f"{host}:{_add_port(server, address)}"


def _add_port(server: grpc.aio.Server, address: str) -> int:
    try:
        return server.add_insecure_port(address)
    except RuntimeError as error:  # gRPC says no more than that it failed
        raise RunnerAddressError(address, "it cannot be listened on") from error


def _socket_path(address: str) -> Path | None:
    return Path(address.removeprefix("unix:")) if address.startswith("unix:") else None


def _remove(address: str) -> None:
    path = _socket_path(address)
    if path is not None:
        path.unlink(missing_ok=True)


@contextmanager
def _signals(stop: asyncio.Event) -> Iterator[None]:
    """Set `stop` on SIGTERM and SIGINT inside the block, where signals can be had."""
    loop = asyncio.get_running_loop()
    taken = []
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(RuntimeError, ValueError, NotImplementedError):  # not the main thread
            loop.add_signal_handler(number, stop.set)
            taken.append(number)
    try:
        yield
    finally:
        for number in taken:
            loop.remove_signal_handler(number)
