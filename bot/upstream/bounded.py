"""Runs git on what strangers send: no longer, no larger and no more talkative than it may be.

Git and all that it starts are one process group, which is ended as a whole.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bot import tracing
from bot.git.process import bounded, took_too_much_memory

_OFTEN = 0.05
"""Seconds between two looks at what git has written."""

MOST_SAID = 256 * 1024
"""Bytes that are kept of what git says to people."""


class TooSlowError(Exception):
    """Git was ended because it took too long."""


class TooMuchError(Exception):
    """Git was ended because more came than may, or took more memory to read."""


@dataclass(frozen=True, slots=True)
class GitCallLimits:
    """How much one call may take.

    Attributes:
        ends: When it has to be done, by `time.monotonic`.
        written: Bytes that may be on disk below its folder; None where it writes nothing.
        output: Bytes that it may print.
    """

    ends: float
    written: int | None
    output: int = 8 * 1024**2


@dataclass(frozen=True, slots=True)
class Done:
    """What came of one call.

    Attributes:
        status: How git ended; 0 where it succeeded.
        output: What it printed.
        said: What it said of its work and its errors.
    """

    status: int
    output: str
    said: str


def is_watched() -> bool:
    """Whether somebody sees what git says of how far it is."""
    return sys.stderr.isatty()


def run(
    arguments: Sequence[str],
    folder: Path,
    env: Mapping[str, str],
    bounds: GitCallLimits,
    text: str = "",
    *,
    asks: bool = False,
) -> Done:
    """Run git in a folder.

    Args:
        arguments: For git.
        folder: Where it runs, and what it writes to.
        env: All of its environment.
        bounds: How much it may take.
        text: Its input.
        asks: Git may ask whoever sits at the terminal, whose process group it stays in, and shows
            there what it says of progress.

    Raises:
        TooSlowError: It did not come to its end in time.
        TooMuchError: It wrote or printed more than it may, or took more memory.
        OSError: There is no git.
    """
    with (
        tracing.span("git", command=_command(arguments)),
        _input(text) as stdin,
        subprocess.Popen(  # noqa: S603 (arguments are a list, others' text stands after "--")
            bounded(arguments, env, bounds.written),
            cwd=folder,
            env=dict(env),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=not asks,
        ) as process,
    ):
        try:
            return _watched(process, folder, bounds, shows="--progress" in arguments)
        finally:
            with suppress(ProcessLookupError, PermissionError):
                if asks:
                    process.kill()
                else:
                    os.killpg(process.pid, signal.SIGKILL)


def _command(arguments: Sequence[str]) -> str:
    """The command of git, behind what configures it."""
    left = iter(arguments)
    for each in left:
        if each != "-c":
            return each
        next(left, "")
    return ""


@contextmanager
def _input(text: str) -> Iterator[IO[bytes] | int]:
    """What git reads: a file, so that nobody waits for it to read."""
    if not text:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(text.encode())
        file.seek(0)
        yield file


def _watched(
    process: subprocess.Popen[bytes], folder: Path, bounds: GitCallLimits, *, shows: bool
) -> Done:
    out = _Reader(process.stdout, bounds.output)
    said = _Reader(process.stderr, MOST_SAID, shows=shows)

    def is_over(room: int) -> bool:
        return out.over or (bounds.written is not None and written(folder) > bounds.written - room)

    while process.poll() is None:
        if time.monotonic() > bounds.ends:
            raise TooSlowError
        if is_over(0):
            raise TooMuchError
        with suppress(subprocess.TimeoutExpired):
            process.wait(_OFTEN)
    out.join(bounds.ends)
    said.join(bounds.ends)
    # One file that grew over its bound ends git from within.
    if process.returncode == -signal.SIGXFSZ or is_over(1):
        raise TooMuchError
    if process.returncode and took_too_much_memory(said.text):
        raise TooMuchError
    return Done(process.returncode, out.text, said.text)


def written(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    total = 0
    for root, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):  # it was renamed meanwhile
                total += os.lstat(os.path.join(root, name)).st_size
    return total


class _Reader:
    """Reads a pipe to its end, and keeps no more than may be."""

    def __init__(self, pipe: IO[bytes] | None, most: int, *, shows: bool = False) -> None:
        self._pipe = pipe
        self._shows = shows
        self._most = most
        self._kept = bytearray()
        self.over = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def text(self) -> str:
        return self._kept.decode("utf-8", "replace")

    def join(self, ends: float) -> None:
        self._thread.join(max(0.1, ends - time.monotonic()))

    def _read(self) -> None:
        with suppress(OSError, ValueError):  # closed from the other side
            while self._pipe and (part := os.read(self._pipe.fileno(), 65536)):
                if self._shows:
                    sys.stderr.write(part.decode("utf-8", "replace"))
                    sys.stderr.flush()
                room = self._most - len(self._kept)
                self._kept += part[: max(0, room)]
                self.over = self.over or len(part) > room
