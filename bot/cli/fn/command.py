"""Runs a command as a function: a ResourceList on its standard input and output.

Rules
- No shell; the folder that porchbot was started in, and its environment, as in kpt.
- A command that takes too long or writes too much is ended, with all that it started.
"""

import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Final

SECONDS: Final = 300.0
"""How long a command may run; kpt's limit."""

OUTPUT_BYTES: Final = 256 * 1024 * 1024
"""How much a command may write: four times the largest package that is read."""

LOG_BYTES: Final = 1024 * 1024
"""How much is kept of what a command says to people."""


class CommandError(Exception):
    """A command could not be run to its end; the text says why."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command left behind.

    Attributes:
        output: What it wrote to standard output.
        log: What it wrote to standard error, its beginning if that was much.
        status: Its exit status; below 0 the signal that ended it.
    """

    output: bytes
    log: str
    status: int


def words(text: str) -> list[str]:
    """Return a command's words.

    Raises:
        CommandError: There are none, or a quotation has no end.
    """
    try:
        found = shlex.split(text)
    except ValueError as error:
        problem = "EOF found when expecting closing quote"
        raise CommandError(f'exec command "{text}" must be valid: {problem}') from error
    if not found:
        raise CommandError(f'exec command "{text}" must be valid: it is empty')
    return found


def run(
    text: str, data: bytes, *, seconds: float = SECONDS, output_bytes: int = OUTPUT_BYTES
) -> CommandResult:
    """Run a command.

    Args:
        text: The command with its arguments, quoted as in a shell.
        data: What it reads.
        seconds: How long it may take.
        output_bytes: How much it may write.

    Raises:
        CommandError: It cannot be run, or did not keep within its bounds.
    """
    parts = words(text)
    with _heeding_signals() as heed:
        return _run(parts, data, seconds, output_bytes, heed)


@contextmanager
def _heeding_signals() -> Iterator[Callable[[], None]]:
    """End this process by an exception on SIGTERM and Ctrl-C, so that the command ends with it.

    It has a session of its own, and nobody else knows of it. Gives what to call once the command
    is known: a signal that comes while it is being started waits for that.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None  # signals are for the main thread
        return
    come: list[int] = []

    def end(number: int, _: object = None) -> None:
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(128 + number)

    def heed() -> None:
        for each in before:
            signal.signal(each, end)
        for number in come:
            end(number)

    before = {
        number: signal.signal(number, lambda number, _: come.append(number))
        for number in (signal.SIGTERM, signal.SIGINT)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield heed
    finally:
        for number, was in before.items():
            signal.signal(number, was)


def _run(
    parts: Sequence[str],
    data: bytes,
    seconds: float,
    output_bytes: int,
    heed: Callable[[], None],
) -> CommandResult:
    try:
        process = subprocess.Popen(  # noqa: S603 - the user wrote the command and allowed it
            parts,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        reason = error.strerror or str(error)
        if isinstance(error, FileNotFoundError) and "/" not in parts[0]:
            reason = "executable file not found in $PATH"
        heed()
        message = f'unexpected function error: exec: "{parts[0]}": {reason}'
        raise CommandError(message) from error
    try:
        heed()
        return _talk(process, data, seconds, output_bytes)
    except (TimeoutError, subprocess.TimeoutExpired) as error:
        raise CommandError(f"the command did not finish within {seconds:g} seconds") from error
    finally:
        _end(process)


def _talk(
    process: "subprocess.Popen[bytes]", data: bytes, seconds: float, output_bytes: int
) -> CommandResult:
    assert process.stdin and process.stdout and process.stderr  # noqa: S101, PT018 - asked for
    pool = ThreadPoolExecutor(3)
    try:
        pool.submit(_feed, process.stdin, data)
        reading = pool.submit(process.stdout.read, output_bytes + 1)
        hearing = pool.submit(_beginning, process.stderr)
        output = reading.result(seconds)
        if len(output) > output_bytes:
            raise CommandError(f"the command wrote more than {output_bytes} bytes")
        status = process.wait(seconds)
        return CommandResult(output, hearing.result(seconds).decode(errors="replace"), status)
    finally:
        _end(process, pool)


def _feed(pipe: IO[bytes], data: bytes) -> None:
    with suppress(BrokenPipeError), pipe:  # it need not read what it is given
        pipe.write(data)


def _beginning(pipe: IO[bytes]) -> bytes:
    kept = pipe.read(LOG_BYTES)
    while pipe.read(LOG_BYTES):
        pass
    return kept


def _end(process: "subprocess.Popen[bytes]", pool: ThreadPoolExecutor | None = None) -> None:
    with suppress(ProcessLookupError, PermissionError):  # it has ended
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if pool is not None:  # what still ran held the pipes: who reads them is done before they close
        pool.shutdown()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
