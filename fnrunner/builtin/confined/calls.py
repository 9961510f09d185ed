"""Calls of engines in confined processes: `call` runs Starlark or Rego of a package, inside limits.

Rules:
    - A call runs in a process that ends with it: nothing is left for the next one.
    - That process is forked from a helper that has read the program already, so that a call
      costs a few milliseconds. The helper never runs foreign code, and ends with us.
    - Time, memory and what may be answered are limited; the helper stops what goes over, and
      should the helper not answer itself, we end it.
    - What a call may reach is in `fence`.
"""

import atexit
import json
import os
import struct
import subprocess
import sys
from dataclasses import dataclass
from selectors import EVENT_READ, DefaultSelector
from threading import BoundedSemaphore, Lock
from time import monotonic
from typing import Any, Final

from fnrunner.contract.run import MIB

SECONDS: Final = 10.0
"""Longest run of one call: scripts of packages take milliseconds."""

MEMORY_BYTES: Final = 256 * MIB
"""Memory of one call beyond what its interpreter takes by itself."""

ANSWER_BYTES: Final = 64 * MIB
"""Longest answer of one call."""

FRAME: Final = struct.Struct("!QQ")
"""Before each message: length of its head and of its body, both JSON."""

_GRACE: Final = 10.0  # seconds more that the helper has, on a busy machine, to report the end
_TOGETHER: Final = max(2, min(4, os.cpu_count() or 2))  # each takes a core
_START: Final = (
    "import sys; sys.path[:] = sys.argv[1:];"
    " from fnrunner.builtin.confined.helper import serve; serve()"
)


class CallStoppedError(Exception):
    """A call was stopped because it went over a limit.

    Attributes:
        limit: Which: "time", "memory" or "output".
    """

    def __init__(self, limit: str, allowed: str) -> None:
        super().__init__(
            f"it was stopped because it exceeded its limit of {limit}: {allowed} allowed."
            " Make it do less, or give it fewer resources."
        )
        self.limit = limit


class BrokenError(Exception):
    """A call ended without an answer, or cannot be made here."""


@dataclass(frozen=True, slots=True)
class _Call:
    engine: str
    body: bytes
    seconds: float
    memory_bytes: int

    @property
    def frame(self) -> bytes:
        head = json.dumps(
            {"engine": self.engine, "seconds": self.seconds, "memory_bytes": self.memory_bytes}
        ).encode()
        return b"".join((FRAME.pack(len(head), len(self.body)), head, self.body))


def call(
    engine: str,
    payload: object,
    *,
    seconds: float = SECONDS,
    memory_bytes: int = MEMORY_BYTES,
) -> Any:
    """Run an engine on a payload, and return its answer; safe to call from several threads.

    Args:
        engine: "starlark" or "rego".
        payload: What it works on; anything that `json` writes.
        seconds: Longest run, by the clock; more than 0.
        memory_bytes: Memory it may take beyond what the interpreter takes.

    Returns:
        What the engine answered, as `json` reads it.

    Raises:
        StoppedError: It went over a limit.
        BrokenError: It ended without an answer.
    """
    with _turns:
        helper = _take()
        answered = False
        try:
            head, body = helper.ask(
                _Call(engine, json.dumps(payload).encode(), seconds, memory_bytes)
            )
            answered = True
        finally:
            _give_back(helper, whole=answered)
    if head["end"] == "answer":
        return json.loads(body)
    raise _error(head["end"], body.decode(errors="replace"), seconds, memory_bytes)


def _error(
    end: str, text: str, seconds: float, memory_bytes: int
) -> CallStoppedError | BrokenError:
    allowed = {
        "time": f"{seconds:g} seconds",
        "memory": f"{memory_bytes / MIB:g} MiB",
        "output": f"{ANSWER_BYTES / MIB:g} MiB",
    }
    if end in allowed:
        return CallStoppedError(end, allowed[end])
    return BrokenError(f"it ended without an answer ({text}). Run it by hand to see why.")


class _Helper:
    """The process that calls are forked from; it serves one call at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own module, no shell
            [sys.executable, "-I", "-c", _START, *filter(None, sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            # Nothing of ours is anything to a package's code; Go waits five seconds for the
            # stacks of a crash unless it is told to print none.
            env={"GOTRACEBACK": "none"},
            start_new_session=True,
            bufsize=0,
        )
        assert self._process.stdin is not None  # noqa: S101 - asked for above
        assert self._process.stdout is not None  # noqa: S101 - asked for above
        self._in, self._out = self._process.stdin, self._process.stdout
        os.set_blocking(self._in.fileno(), False)  # the helper may end while it is written to

    def ask(self, asked: _Call) -> tuple[dict[str, str], bytes]:
        """Return head and body of the answer.

        Raises:
            BrokenError: The helper ended, or did not answer in time.
        """
        until = monotonic() + asked.seconds + _GRACE
        self._write(asked.frame, until)
        head_size, body_size = FRAME.unpack(self._read(FRAME.size, until))
        head: dict[str, str] = json.loads(self._read(head_size, until))
        return head, self._read(body_size, until)

    def _write(self, data: bytes, until: float) -> None:
        rest = memoryview(data)
        while rest:
            try:
                done = os.write(self._in.fileno(), rest)
            except BlockingIOError:
                self._wait_until_writable(until)
            except OSError as error:
                raise BrokenError(f"its helper ended ({error}). Try again.") from error
            else:
                rest = rest[done:]

    def _wait_until_writable(self, until: float) -> None:
        import select

        _, ready, _ = select.select([], [self._in], [], max(0.0, until - monotonic()))
        if not ready:
            raise BrokenError("its helper does not accept it. Try again.")

    def _read(self, size: int, until: float) -> bytes:
        found = bytearray()
        with DefaultSelector() as selector:
            selector.register(self._out, EVENT_READ)
            while len(found) < size:
                if not selector.select(max(0.0, until - monotonic())):
                    raise BrokenError("its helper does not answer. Try again.")
                piece = os.read(self._out.fileno(), min(size - len(found), MIB))
                if not piece:
                    raise BrokenError("its helper ended. Try again.")
                found += piece
        return bytes(found)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        """End it and what it runs."""
        self._process.kill()  # what it runs is told by the kernel
        self._process.wait()
        self._close()

    def leave(self) -> None:
        """Leave it to the process that started it, which this one was forked from."""
        self._process.returncode = 0  # so that nobody waits for it here
        self._close()

    def _close(self) -> None:
        self._in.close()
        self._out.close()


_turns = BoundedSemaphore(_TOGETHER)
_lock = Lock()
_idle: list[_Helper] = []


def _take() -> _Helper:
    with _lock:
        while _idle:
            helper = _idle.pop()
            if helper.alive:
                return helper
            helper.end()
    return _Helper()


def _give_back(helper: _Helper, *, whole: bool) -> None:
    if not whole:
        helper.end()
        return
    with _lock:
        _idle.append(helper)


def end() -> None:
    """End the helpers that wait for calls; the next call starts new ones."""
    with _lock:
        found = _idle[:]
        _idle.clear()
    for helper in found:
        helper.end()


def _after_fork() -> None:
    """Leave the helpers to the process that started them."""
    global _turns, _lock  # both may be held by threads that are not here
    _turns, _lock = BoundedSemaphore(_TOGETHER), Lock()
    for helper in _idle:
        helper.leave()
    _idle.clear()


atexit.register(end)
os.register_at_fork(after_in_child=_after_fork)
