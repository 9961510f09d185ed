"""Serves one function inside its pod: the runner's own gRPC service over the image's program.

Rules
- The pod is the fence. What is kept to here is what a pod has no limit for: the time of a call,
  the length of what is written, and that nothing of a call outlives it.
- Nothing that a call wrote is there for the next, which may be another caller's: `/tmp` is emptied
  after each, and where that cannot be done the pod ends.
- One call runs at a time, so that the pod's limit of memory is the limit of one call.
- The program gets the variables that it is given here, and none of the pod's own.
- Whoever made the pod looks at it now and then. When nobody has for long, it ends: what a
  runner left behind when it was killed does not stay.

It runs inside images of all kinds (fnrunner/pods/closure.py), so that it needs little.
"""

import argparse
import asyncio
import gc
import os
import re
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    gc.disable()  # what is imported stays: to look for cycles in it takes a quarter of the start

from fnrunner.contract.errors import (
    FunctionFailedError,
    FunctionStoppedError,
    FunctionTimeoutError,
    MessageTooLargeError,
    RunnerAddressError,
)
from fnrunner.contract.run import CallLimits, FunctionOutcome, ResourceLimits, within
from fnrunner.fence import answer
from fnrunner.fence.sandbox import Ended, Used
from fnrunner.wire.server import listening

OWNER: Final = "porchbot.owner"
"""Service whose health is asked by whoever made the pod, and by nobody else."""

_KILLS: Final = (
    Path("/sys/fs/cgroup/memory.events"),
    Path("/sys/fs/cgroup/memory/memory.oom_control"),
)
_LINGER_SECONDS: Final = 1.0  # for what was written before the end and is still in a pipe
_GRACE_SECONDS: Final = 4.0  # a pod has five
_TEMPORARY: Final = "/tmp"  # noqa: S108 - the pod's
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PodProgram:
    """What a pod runs for each call.

    Attributes:
        argv: The program and its arguments.
        environment: Its variables, all of them.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]


class Started:
    """A runner that starts one program for every call, whatever the function is called."""

    def __init__(
        self,
        program: PodProgram,
        bounds: ResourceLimits,
        message_bytes: int,
        temporary: Path | None = None,
        spoilt: Callable[[], None] = lambda: None,
    ) -> None:
        """Make a runner.

        Args:
            program: What to start.
            bounds: How much it may take; memory and processes are the pod's to limit.
            message_bytes: Longest answer that can be sent.
            temporary: Folder to empty after each call; None for none.
            spoilt: Called where it cannot be emptied: there shall be no more calls.
        """
        self._temporary = temporary
        self._spoilt = spoilt
        self._program = program
        self._bounds = bounds
        self._message_bytes = message_bytes
        self._turn = asyncio.Semaphore(1)

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        """Run it; see `Runner.run`."""
        came = time.monotonic()
        async with self._turn:
            left = None if seconds is None else max(seconds - (time.monotonic() - came), 0.001)
            bounds = within(self._bounds, left)
            killed = memory_kills()
            try:
                ended = await _Call(image, bounds).whole(self._program, resources)
            finally:
                if self._temporary is not None and not _emptied(self._temporary):
                    self._spoilt()
        if ended.status != 0 and memory_kills() > killed:
            raise FunctionStoppedError(image, "memory", _size(bounds.memory_bytes))
        # In a thread: whoever looks after the pod is answered meanwhile.
        outcome = await asyncio.to_thread(answer.outcome, image, ended, "")
        if not outcome.failed and len(outcome.resources) > self._message_bytes:
            raise MessageTooLargeError(image, len(outcome.resources), self._message_bytes)
        return outcome


def _emptied(folder: Path) -> bool:
    """Remove what is in a folder; return whether nothing is left."""
    for each in folder.iterdir():
        with suppress(OSError, RecursionError):
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each, onerror=_opened)
            else:
                each.unlink()
    return not any(folder.iterdir())


def _opened(_: Callable[[str], object], path: str, error: Any) -> None:
    """Open what was closed to its owner, and remove it after all."""
    if not isinstance(error[1], PermissionError):
        raise error[1]
    os.chmod(os.path.dirname(path), 0o700)
    if os.path.isdir(path) and not os.path.islink(path):
        os.chmod(path, 0o700)
        shutil.rmtree(path)
    else:
        os.unlink(path)


def memory_kills(files: Sequence[Path] = _KILLS) -> int:
    """Return how many processes of this pod the kernel has ended for want of memory.

    Args:
        files: Where it says so, in the second and in the first version of control groups.

    Returns:
        Their number; 0 where it is not said.

    Source: Linux, cgroup-v2.rst (memory.events) and cgroup-v1/memory.rst (memory.oom_control).
    """
    for file in files:
        with suppress(OSError):
            found = re.search(r"^oom_kill (\d+)$", file.read_text(), re.MULTILINE)
            return int(found[1]) if found else 0
    return 0


class _Call(asyncio.SubprocessProtocol):
    """One run of the program.

    asyncio's streams would wait for the end of its pipes, which a process that it left behind
    may hold open; the protocol hears of its own end.
    """

    def __init__(self, image: str, bounds: ResourceLimits) -> None:
        self._image = image
        self._bounds = bounds
        self._output = bytearray()
        self._log = bytearray()
        self._log_bytes = 0
        loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = loop.create_future()
        self._over: asyncio.Future[None] = loop.create_future()  # it, or a limit
        self._silent: asyncio.Future[None] = loop.create_future()  # both pipes are closed
        self._open = {1, 2}
        self._error: FunctionStoppedError | None = None

    async def whole(self, program: PodProgram, resources: bytes) -> Ended:
        """Run it to its end, and end all that it started."""
        begun = time.monotonic()
        starting = asyncio.ensure_future(self._started(program))
        try:
            transport = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # asyncio would end the program alone, and wait for what it has started.
            await _whatever_happens(starting)
            if starting.exception() is None:
                await self._end(starting.result())
            raise
        try:
            stdin = transport.get_pipe_transport(0)
            assert isinstance(stdin, asyncio.WriteTransport)  # noqa: S101 - it was asked for
            stdin.write(resources)
            stdin.write_eof()
            await asyncio.wait({self._over}, timeout=self._bounds.seconds)
            timely = self._over.done()
        finally:
            await self._end(transport)
        if self._error is not None:
            raise self._error
        if not timely:
            raise FunctionTimeoutError(self._image, self._bounds.seconds)
        status = transport.get_returncode() or 0
        return Ended(
            bytes(self._output),
            self._said(),
            128 - status if status < 0 else status,
            Used(None, None, time.monotonic() - begun, len(self._output)),
        )

    async def _started(self, program: PodProgram) -> asyncio.SubprocessTransport:
        loop = asyncio.get_running_loop()
        try:
            transport, _ = await loop.subprocess_exec(
                lambda: self,
                *program.argv,
                env=dict(program.environment),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise FunctionFailedError(self._image, f"it could not be started: {error}") from error
        most = self._bounds.open_files
        with suppress(OSError, ValueError):  # it has ended, or its limit is lower already
            resource.prlimit(transport.get_pid(), resource.RLIMIT_NOFILE, (most, most))
        return transport

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        """Keep what it writes, up to its limits."""
        assert isinstance(data, bytes)  # noqa: S101 - as asyncio's pipes have it
        if fd == 1:
            self._output += data
            if len(self._output) > self._bounds.output_bytes:
                self._stop_over_output()
            return
        self._log_bytes += len(data)
        self._log += data[: self._bounds.log_bytes - len(self._log)]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        """Note that a pipe is closed."""
        self._open.discard(fd)
        if not self._open:
            _done(self._silent)

    def process_exited(self) -> None:
        """Note that the program has ended."""
        _done(self._ended)
        _done(self._over)

    def _stop_over_output(self) -> None:
        del self._output[self._bounds.output_bytes :]
        most = _size(self._bounds.output_bytes)
        self._error = FunctionStoppedError(self._image, "output", most, f"more than {most}")
        _done(self._over)

    async def _end(self, transport: asyncio.SubprocessTransport) -> None:
        """End whatever is left of it."""
        _kill(transport.get_pid())
        await _whatever_happens(asyncio.ensure_future(self._gone()))
        transport.close()

    async def _gone(self) -> None:
        await self._ended
        if os.getpid() == 1:
            await asyncio.to_thread(_sweep)
        await asyncio.wait({self._silent}, timeout=_LINGER_SECONDS)

    def _said(self) -> str:
        text = self._log.decode(errors="replace")
        if self._log_bytes > len(self._log):
            text += f"\n… {self._log_bytes - len(self._log)} more bytes are not kept\n"
        return text


async def _whatever_happens(task: asyncio.Future[Any]) -> None:
    """Wait for the end of a task, also when told to go: nobody leaves before the program has."""
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({task})


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _sweep() -> None:
    """End whatever the program has put beside itself: the first process of a pod inherits it."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(-1, signal.SIGKILL)
    with suppress(ChildProcessError):
        while os.waitpid(-1, 0)[0]:
            continue


def _size(number: int) -> str:
    return f"{number / _MIB:g} MiB" if number >= _MIB else f"{number} bytes"


class LastSeen:
    """When whoever made this pod looked at it last."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin as if that were now.

        Args:
            clock: Gives seconds.
        """
        self._clock = clock
        self._last = clock()

    @property
    def ago(self) -> float:
        """How long ago that was, in seconds."""
        return self._clock() - self._last

    def asked(self, service: str) -> None:
        """Note that the health of a service was asked for."""
        if service == OWNER:
            self._last = self._clock()


async def serve(
    address: str, program: PodProgram, bounds: ResourceLimits, limits: CallLimits, alone: float
) -> None:
    """Serve until SIGTERM or SIGINT, or until nobody has looked for long.

    Args:
        address: Where to listen, as `fnrunner.wire.server.listening` has it.
        program: What to run for each call.
        bounds: How much a call may take.
        limits: Size of messages.
        alone: How long it stays without its owner, in seconds.

    Raises:
        RunnerAddressError: The address cannot be listened on.
    """
    stop, seen = asyncio.Event(), LastSeen()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    # The first process of a pod, whose /tmp is nobody else's; any other machine's is.
    temporary = Path(_TEMPORARY) if os.getpid() == 1 else None
    runner = Started(program, bounds, limits.message_bytes, temporary, stop.set)
    async with listening(address, runner, limits, grace=_GRACE_SECONDS, asked=seen.asked):
        while not stop.is_set() and seen.ago < alone:
            with suppress(TimeoutError):
                async with asyncio.timeout(max(alone - seen.ago, 0.01)):
                    await stop.wait()


def main(words: Sequence[str] | None = None) -> None:
    """Read the command line, and serve."""
    usual = ResourceLimits()
    parser = argparse.ArgumentParser(prog="fnrunner.pods.server", description=__doc__)
    parser.add_argument("--listen", required=True, metavar="HOST:PORT")
    parser.add_argument("--seconds", type=float, default=usual.seconds)
    whole = ("memory_bytes", "output_bytes", "log_bytes", "open_files")
    for each in whole:
        parser.add_argument(f"--{each.replace('_', '-')}", type=int, default=getattr(usual, each))
    parser.add_argument("--message-bytes", type=int, default=CallLimits().message_bytes)
    parser.add_argument("--alone", type=float, default=3600.0, metavar="SECONDS")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--keep", action="append", default=[], metavar="NAME")
    parser.add_argument("argv", nargs="+", metavar="PROGRAM")
    given = parser.parse_args(words)
    kept = {name: os.environ[name] for name in given.keep if name in os.environ}
    set_ = dict(each.split("=", 1) for each in given.set)
    bounds = ResourceLimits(seconds=given.seconds, **{each: getattr(given, each) for each in whole})
    program = PodProgram(argv=tuple(given.argv), environment={**set_, **kept})
    limits = CallLimits(seconds=given.seconds, message_bytes=given.message_bytes)
    try:
        asyncio.run(serve(given.listen, program, bounds, limits, given.alone))
    except RunnerAddressError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    gc.freeze()
    gc.enable()
    main()
