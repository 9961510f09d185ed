"""Serves a runner over gRPC: the address it listens on, and how calls end when it stops."""

import os
import socket
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import grpc
import grpc.aio

from fnrunner.contract.errors import RunnerAddressError
from fnrunner.contract.run import CallLimits, Means, Runner
from fnrunner.wire import addresses, reflect, shared
from fnrunner.wire.lists import KeptLists
from fnrunner.wire.service import Evaluator, Health
from fnrunner.wire.tls import ServerTls

GRACE: Final = 5.0
"""Seconds that running functions have to end."""

_LEAVING: Final = 1.0  # seconds that the last answers have to be sent


@asynccontextmanager
async def listening(
    address: str,
    runner: Runner,
    limits: CallLimits,
    *,
    tls: ServerTls | None = None,
    grace: float = GRACE,
    asked: Callable[[str], None] | None = None,
    means: Means | None = None,
    lists_bytes: int = 0,
) -> AsyncIterator[str]:
    """Serve a runner inside the block; gives the address as a client needs it.

    When the block ends, health says so, new calls are refused with UNAVAILABLE, and those
    that run may end within `grace` seconds; what is left then is cut.

    Args:
        address: "unix:/PATH", "HOST:PORT" or "[IPv6]:PORT"; port 0 takes a free one.
        runner: What answers calls.
        limits: Size of messages.
        tls: Certificates; None serves in plain.
        grace: Seconds that running calls have to end.
        asked: Told the name of each service whose health is checked.
        means: Says what a name means now; None where nobody can.
        lists_bytes: How much is kept of lists, so that only what changed of them is sent again.

    Raises:
        RunnerAddressError: The address cannot be listened on.
        CertificateError: A certificate cannot be used.
    """
    # Without so_reuseport a second runner on the same port hears that it is taken.
    server = grpc.aio.server(options=(*shared.sizes(limits), ("grpc.so_reuseport", 0)))
    lists = KeptLists(lists_bytes, limits.message_bytes)
    evaluator, health = Evaluator(runner, means, lists), Health(asked)
    shared.serve(server, evaluator, health)
    reflect.serve(server)
    bound = _bind(server, address, None if tls is None else tls.credentials())
    left = _file(address)
    await server.start()
    try:
        yield bound
    finally:
        health.end()
        try:
            await evaluator.end(grace)
        finally:  # also when it is told twice
            await server.stop(_LEAVING)
            _remove(address, left)


def _bind(server: grpc.aio.Server, address: str, tls: grpc.ServerCredentials | None) -> str:
    path = addresses.socket_path(address)
    if path is None:
        addresses.host_port(address)  # gRPC's own words for a bad one say nothing
        return f"{address.rpartition(':')[0]}:{_add_port(server, address, tls)}"
    if not path.parent.is_dir():
        raise RunnerAddressError(address, f"there is no folder {path.parent}")
    if path.exists():
        _check_left(address, path)
    before = os.umask(0o177)  # whoever may write to the socket may call the runner
    try:
        _add_port(server, address, tls)
    finally:
        os.umask(before)
    return address


def _check_left(address: str, path: Path) -> None:
    """Make sure that what stands at the path may be replaced; gRPC would replace anything."""
    if not stat.S_ISSOCK(path.stat().st_mode):
        raise RunnerAddressError(address, "a file that is not a socket has this path")
    with socket.socket(socket.AF_UNIX) as probe:
        if probe.connect_ex(str(path)) == 0:
            raise RunnerAddressError(address, "another process serves it")


def _add_port(server: grpc.aio.Server, address: str, tls: grpc.ServerCredentials | None) -> int:
    try:
        if tls is None:
            return server.add_insecure_port(address)
        return server.add_secure_port(address, tls)
    except RuntimeError as error:  # gRPC says no more than that it failed
        raise RunnerAddressError(address, "cannot listen on this address") from error


def _file(address: str) -> tuple[int, int] | None:
    """Return which file a socket's path means now; None if there is none."""
    path = addresses.socket_path(address)
    try:
        found = None if path is None else path.lstat()
    except FileNotFoundError:
        return None
    return None if found is None else (found.st_dev, found.st_ino)


def _remove(address: str, left: tuple[int, int] | None) -> None:
    """Remove our socket; another runner may have put its own there since we stopped listening."""
    path = addresses.socket_path(address)
    if path is not None and _file(address) == left:
        path.unlink(missing_ok=True)
