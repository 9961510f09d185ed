"""One worker process, seen from the runner: started, called, ended."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import weakref
from typing import Final

from fnrunner.builtin import frames
from fnrunner.builtin.frames import OUT_OF_MEMORY, WorkerAnswer
from fnrunner.builtin.sockets import exactly
from fnrunner.contract.run import MIB

MESSAGE_BYTES: Final = 256 * MIB
"""Longest list that a function may answer with, where nobody says."""

_BUFFER: Final = MIB  # bytes on their way to or from a worker, as far as the system allows
_LOOK_AGAIN: Final = 0.005  # seconds; a process that was killed is gone sooner
_LOOK_SECONDS: Final = 0.5
_ROOM: Final = 2 * MIB  # less than this left is none: Python takes memory by the mebibyte
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_DATA: Final = 5  # place of the memory that counts in /proc/PID/statm
_LAST_WORDS: Final = 1.0  # seconds that a worker which hung up has to end by itself
# What a worker needs of the environment; the rest may be secret.
_ENVIRONMENT: Final = ("HOME", "LANG", "LC_ALL", "PATH", "TMPDIR")


class BuiltinWorkerEndedError(Exception):
    """A worker ended in the middle of a call.

    Attributes:
        over_memory: It went over its limit, or was killed from outside, which the system does
            when it is short of memory.
    """

    def __init__(self, status: int) -> None:
        said = f"with status {status}" if status >= 0 else f"by signal {-status}"
        super().__init__(f"its process ended {said}")
        self.over_memory = status in (OUT_OF_MEMORY, -signal.SIGKILL)


class BuiltinWorkerProcess:
    """A process that runs builtin functions, one call at a time (`fnrunner.builtin.work`)."""

    def __init__(self, memory_bytes: int, message_bytes: int = MESSAGE_BYTES) -> None:
        """Start it; it takes calls at once, and answers a quarter of a second later.

        Args:
            memory_bytes: How much memory it may have.
            message_bytes: Longest list that it may answer with.

        Raises:
            OSError: The system has no process for it.
        """
        limits = (str(memory_bytes), str(message_bytes))
        self._socket, theirs = socket.socketpair()
        with theirs:
            for each in (self._socket, theirs):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
            self._socket.setblocking(False)
            try:
                self._process: subprocess.Popen[bytes] = subprocess.Popen(  # noqa: S603 - ours
                    [sys.executable, "-P", "-m", "fnrunner.builtin", *limits],
                    stdin=theirs.fileno(),
                    env=_environment(),
                    # No interrupts from the keyboard, and it is killed with its own children.
                    start_new_session=True,
                )
            except OSError:
                self._socket.close()
                raise
        self._memory_bytes = memory_bytes
        self._longest = frames.longest(message_bytes)
        # Where nobody ends it in order, it goes with this object.
        self._left = weakref.finalize(self, _kill, self._process, self._socket)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def lives(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    async def call(self, name: str, resources: bytes) -> WorkerAnswer:
        """Have it run a function.

        Args:
            name: The function's name in the catalog.
            resources: A ResourceList.

        Raises:
            WorkerEndedError: It ended before it answered.
        """
        loop = asyncio.get_running_loop()
        self._look_later(loop, full=False)
        try:
            await loop.sock_sendall(self._socket, frames.call(name, resources))
            head = await exactly(self._socket, frames.ANSWER_HEAD)
            length = frames.answer_length(head)
            if length > self._longest:  # it is no longer ours to trust
                _signal(self._process)
            body = await exactly(self._socket, min(length, self._longest))
        except ConnectionError as error:
            raise BuiltinWorkerEndedError(await self._ended(_LAST_WORDS)) from error
        finally:
            self._looking.cancel()
        return frames.read_answer(head, body, resources)

    async def end(self) -> int:
        """End it, and return its exit status; after that it is not used any more."""
        self._socket.close()
        status = await self._ended(0)
        self._left.detach()
        return status

    @property
    def grown(self) -> bool:
        """Whether it holds much memory still, so that a new one takes less."""
        return self._holds() > self._memory_bytes // 4

    def _look_later(self, loop: asyncio.AbstractEventLoop, *, full: bool) -> None:
        self._looking = loop.call_later(_LOOK_SECONDS, self._look, loop, full)

    def _look(self, loop: asyncio.AbstractEventLoop, full: bool) -> None:
        """End it where its memory is full and stays so.

        Most often it notices and ends by itself. But Python 3.11, without a word to spare, goes
        round and round in search of the handler of the error.
        """
        now = self._full()
        if now and full:
            _signal(self._process)
            return
        self._look_later(loop, full=now)

    def _full(self) -> bool:
        return self._holds() > self._memory_bytes - _ROOM

    def _holds(self) -> int:
        """Return how much memory it has, in bytes; 0 where nobody can tell."""
        try:
            with open(f"/proc/{self.pid}/statm", encoding="ascii") as file:
                return int(file.read().split()[_DATA]) * _PAGE
        except (OSError, IndexError):  # it is gone, or this is not Linux
            return 0

    async def _ended(self, patience: float) -> int:
        """Return its exit status, once it ended or was killed after so many seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                return await self._status()
        _signal(self._process)
        return await self._status()

    async def _status(self) -> int:
        # Neither a thread nor a signal handler for each: processes that were killed end at once.
        while (status := self._process.poll()) is None:
            await asyncio.sleep(_LOOK_AGAIN)
        return status


def _kill(process: subprocess.Popen[bytes], connection: socket.socket) -> None:
    connection.close()
    _signal(process)
    process.wait()


def _signal(process: subprocess.Popen[bytes]) -> None:
    """Kill it, with the processes that it started itself."""
    if process.poll() is None:  # else its number may be another's by now
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _environment() -> dict[str, str]:
    return {
        key: value
        for key, value in os.environ.items()
        if key in _ENVIRONMENT or key.startswith("PYTHON")
    }
