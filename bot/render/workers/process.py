"""Worker processes, seen from the bot: forked, talked to, watched, ended."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Awaitable, Iterable
from typing import Any, Final, TypeVar

from bot.render.workers import frames
from bot.render.workers.frames import OUT_OF_MEMORY, Frame, FrameKind
from cadlib.limits import MIB
from fnrunner.builtin.sockets import exactly

T = TypeVar("T")

_BUFFER: Final = MIB  # bytes on their way to or from a worker, as far as the system allows
_LOOK: Final = 0.2  # seconds between looks at what a worker has used
_ROOM: Final = 2 * MIB  # less than this left is none: Python takes memory by the mebibyte
_MOST_VALUES: Final = MIB  # of what a worker says beside the bytes
_MOST_DATA: Final = 256 * MIB
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_DATA: Final = 5  # place of the memory that counts in /proc/PID/statm
_LAST_WORDS: Final = 10.0  # seconds until somebody says how a process ended
# What a worker needs of the environment; the rest may be secret.
_ENVIRONMENT: Final = ("LANG", "LC_ALL", "PATH", "TMPDIR")


class WorkerEndedError(Exception):
    """A worker ended, and nobody here had ended it.

    Attributes:
        over_memory: It went over its limit of memory.
    """

    def __init__(self, status: int) -> None:
        said = f"with status {status}" if status >= 0 else f"by signal {-status}"
        super().__init__(f"its process ended {said}")
        self.over_memory = status == OUT_OF_MEMORY


class OverLimitError(Exception):
    """A worker was ended because it used too much.

    Attributes:
        memory: Memory; otherwise time.
    """

    def __init__(self, *, memory: bool) -> None:
        super().__init__("memory" if memory else "time")
        self.memory = memory


class FunctionsSlowError(Exception):
    """All functions of a package together took too long."""


class WorkerProcess:
    """A process that renders packages, one at a time.

    Args:
        pid: Its number.
        connection: To it.
        ended: Its exit status, once it ended; below 0 for a signal.
        memory_bytes: Of data it may have.
        seconds: Of processor time it may take for one package.
        wall: How many times that it may take by the clock.

    Attributes:
        pid: Its number.
        asked: It was asked for something, and has not answered yet.
    """

    def __init__(
        self,
        pid: int,
        connection: socket.socket,
        ended: "asyncio.Future[int]",
        memory_bytes: int,
        seconds: float,
        wall: float,
    ) -> None:
        self.pid = pid
        self._wall = wall
        self._socket = connection
        self._ended = ended
        self._memory_bytes = memory_bytes
        self._seconds = seconds
        self._talk: asyncio.Task[Any] | None = None
        self._until = 0.0  # processor time that it may have used by then
        self._waited = 0.0  # seconds in which it was its turn
        self._over: OverLimitError | None = None
        self.asked = False

    @property
    def lives(self) -> bool:
        """Whether it still runs."""
        return not self._ended.done()

    @property
    def holds(self) -> int:
        """Bytes of data that it has now; 0 where nobody can tell."""
        found = _numbers(f"/proc/{self.pid}/statm")
        return found[_DATA] * _PAGE if len(found) > _DATA else 0

    def begin(self) -> None:
        """A package of its own begins: what it used before does not count."""
        self._until = self._used() + self._seconds
        self._waited = 0.0

    async def send(
        self, kind: FrameKind, values: bytes, size: int = 0, parts: Iterable[bytes] = ()
    ) -> None:
        """Send a frame whose second part comes in pieces.

        Raises:
            WorkerEndedError: It ended.
            OverLimitError: It was ended.
        """
        self.asked = True
        await self._whole(self._send(frames.head(kind, values, size), parts))

    async def receive(self) -> Frame:
        """Wait for its next frame; meanwhile it is watched, and ended when it uses too much.

        Raises:
            WorkerEndedError: It ended.
            OverLimitError: It was ended.
            ValueError: What it said is no frame.
        """
        frame = await self._whole(self._watched())
        self.asked = frame.kind is FrameKind.CALL
        return frame

    async def drop(self, seconds: float) -> bool:
        """Have it drop what it does, however far that is.

        Args:
            seconds: That it has for this.

        Returns:
            Whether it did, and can be used for another package.
        """
        try:
            async with asyncio.timeout(seconds):
                if self._talk is not None:
                    await asyncio.shield(self._talk)
                await self.send(FrameKind.DROP, b"")
                while (await self.receive()).kind is not FrameKind.DROPPED:
                    pass
        except (TimeoutError, WorkerEndedError, OverLimitError, ValueError):
            return False
        return True

    async def end(self) -> None:
        """End it, and wait until it has."""
        self._kill()
        if self._talk is not None:
            self._talk.cancel()
            with contextlib.suppress(Exception, asyncio.CancelledError):
                await self._talk
        self._socket.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS):
                await asyncio.shield(self._ended)

    async def _whole(self, talk: Awaitable[T]) -> T:
        """Send or receive a frame to its end, also when the caller goes away in the middle."""
        self._talk = task = asyncio.ensure_future(self._told(talk))
        try:
            return await asyncio.shield(task)
        finally:
            if task.done():
                self._talk = None

    async def _told(self, talk: Awaitable[T]) -> T:
        try:
            return await talk
        except ConnectionError as error:
            status = -signal.SIGKILL
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORDS):
                    status = await asyncio.shield(self._ended)
            if self._over is not None:
                raise self._over from error
            raise WorkerEndedError(status) from error

    async def _send(self, begun: bytes, parts: Iterable[bytes]) -> None:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self._socket, begun)
        for part in parts:
            await loop.sock_sendall(self._socket, part)

    async def _watched(self) -> Frame:
        loop = asyncio.get_running_loop()
        began = loop.time()
        watch = loop.call_later(_LOOK, self._look, loop, began, False)
        self._watch = watch
        try:
            kind, values, size = frames.lengths(await exactly(self._socket, frames.HEAD_BYTES))
            if values > _MOST_VALUES or size > _MOST_DATA:
                raise ValueError(f"a frame of {values} and {size} bytes")
            return Frame(
                kind, await exactly(self._socket, values), await exactly(self._socket, size)
            )
        finally:
            self._watch.cancel()
            self._waited += loop.time() - began

    def _look(self, loop: asyncio.AbstractEventLoop, began: float, full: bool) -> None:
        """End it where it has used too much time, or its memory is full and stays so.

        Most often it notices the latter and ends by itself. But Python 3.11, without a word to
        spare, goes round and round in search of the handler of the error.
        """
        now = self.holds > self._memory_bytes - _ROOM
        late = self._used() > self._until
        stuck = self._waited + loop.time() - began > self._wall * self._seconds
        if (now and full) or late or stuck:
            self._over = OverLimitError(memory=now and full)
            self._kill()
            return
        self._watch = loop.call_later(_LOOK, self._look, loop, began, now)

    def _used(self) -> float:
        """Seconds of processor time that it has used."""
        try:
            with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as file:
                fields = file.read().rpartition(") ")[2].split()
            return (int(fields[11]) + int(fields[12])) / _TICKS
        except (OSError, IndexError):  # it is gone, or this is not Linux
            return 0.0

    def _kill(self) -> None:
        if self.lives:  # else its number may be another's by now
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


class ForkServer:
    """The process that workers are forked from (`bot.render.workers.forkserver`).

    Args:
        memory_bytes: Of data that one worker may have.
        seconds: Of processor time that one worker may take for one package.
        wall: How many times that it may take by the clock.
    """

    def __init__(self, memory_bytes: int, seconds: float, wall: float) -> None:
        self._memory_bytes = memory_bytes
        self._wall = wall
        self._seconds = seconds
        self._asked: deque[asyncio.Future[int]] = deque()
        self._ends: dict[int, asyncio.Future[int]] = {}
        self._said = b""
        self._control, theirs = socket.socketpair()
        self._control.setblocking(False)
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - ours
                [sys.executable, "-P", "-m", "bot.render.workers", str(memory_bytes)],
                stdin=theirs.fileno(),
                env=_environment(),
                start_new_session=True,
            )
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._control.fileno(), self._hear)
        self._open = True

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def lives(self) -> bool:
        """Whether it can fork."""
        return self._open and self._process.poll() is None

    async def fork(self) -> WorkerProcess:
        """Start a worker.

        Raises:
            OSError: It cannot be started.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            for each in (ours, theirs):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
            ours.setblocking(False)
            pid: asyncio.Future[int] = self._loop.create_future()
            self._asked.append(pid)
            try:
                socket.send_fds(self._control, [b"f"], [theirs.fileno()])
            except OSError:
                ours.close()
                self.close()
                raise
        try:
            number = await asyncio.shield(pid)
        except BaseException:
            ours.close()  # the worker sees that, and ends
            raise
        ends = self._ends[number]
        return WorkerProcess(number, ours, ends, self._memory_bytes, self._seconds, self._wall)

    def close(self) -> None:
        """End it, and every worker with it."""
        if self._open:
            self._open = False
            self._loop.remove_reader(self._control.fileno())
            self._control.close()
            self._process.kill()
            self._process.wait()
            for asked in self._asked:
                asked.set_exception(ChildProcessError("the process that workers are from ended"))
                asked.exception()  # nobody may wait for it any more
            for ended in self._ends.values():
                ended.set_result(-signal.SIGKILL)
            self._asked.clear()
            self._ends.clear()

    def _hear(self) -> None:
        """Take in what it says: whom it forked, and who ended."""
        try:
            said = self._control.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        if not said:
            self.close()
            return
        *lines, self._said = (self._said + said).split(b"\n")
        for line in lines:
            told = json.loads(line)
            if "pid" in told:
                self._ends[told["pid"]] = self._loop.create_future()
                self._asked.popleft().set_result(told["pid"])
            else:
                self._ends.pop(told["ended"]).set_result(told["status"])


def _numbers(path: str) -> list[int]:
    try:
        with open(path, encoding="ascii") as file:
            return list(map(int, file.read().split()))
    except (OSError, ValueError):
        return []


def _environment() -> dict[str, str]:
    return {
        key: value
        for key, value in os.environ.items()
        if key in _ENVIRONMENT or key.startswith("PYTHON")
    }
