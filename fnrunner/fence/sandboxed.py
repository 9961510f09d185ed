"""One run in a sandbox, from the start of bubblewrap to the end of the last process.

Longer than 400 lines: it is the order of one run, and each step needs what the ones before hold.

Rules
- bubblewrap builds the sandbox and waits; it is put under its limits, looked into, and only
  then let go. So there is no moment at which the program runs without them.
- Until it is known which process is the sandbox's first, nothing is stopped: bubblewrap ended
  while it makes that process would leave it behind.
- The first process is held by a descriptor: it ends after all others in the sandbox, so that
  its end is the end of everything.
"""

import fcntl
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import IO, Final

from fnrunner.contract.errors import (
    FunctionError,
    FunctionFailedError,
    FunctionRefusedError,
    FunctionStoppedError,
    FunctionTimeoutError,
    RunnerBrokenError,
)
from fnrunner.contract.run import MIB, ResourceLimits
from fnrunner.fence import cgroups as cgroup
from fnrunner.fence import seccomp, watch
from fnrunner.fence.bubblewrap import Bubblewrap, Program, closed
from fnrunner.fence.launch import Launcher, temporary_size

_FIRST_LOOK_SECONDS: Final = 0.004  # most functions are done in less than a look
_LOOK_SECONDS: Final = 0.02  # a process that eats memory takes some 100 MB in that time
_POLL_SECONDS: Final = 0.0003  # a tenth of what building the mounts takes
_BUILD_SECONDS: Final = 20.0  # it takes 0.005; after this it hangs
_KILL_SECONDS: Final = 10.0  # a process that waits for a disk ends when the disk has answered
_FILE_BYTES: Final = 1536  # what the kernel keeps of a file, however empty
_FILE_TOO_LARGE: Final = 128 + signal.SIGXFSZ  # a file may be no larger than all together
_PIPE_BYTES: Final = MIB  # as much as an ordinary user may ask for: few turns for a package


@dataclass(frozen=True, slots=True)
class Used:
    """The resource usage of a run; None where it was not measured.

    Attributes:
        memory_bytes: Peak of memory of all processes together, `/tmp` included.
        processes: Peak of processes and threads.
        seconds: By the clock.
        output_bytes: Written to standard output.
    """

    memory_bytes: int | None
    processes: int | None
    seconds: float
    output_bytes: int

    def __str__(self) -> str:
        memory = "" if self.memory_bytes is None else f"{_size(self.memory_bytes)} of memory, "
        processes = ""
        if self.processes is not None:
            processes = f"{self.processes} process{'' if self.processes == 1 else 'es'}, "
        return f"{memory}{processes}{_size(self.output_bytes)} of output, {self.seconds:.2f} s"


@dataclass(frozen=True, slots=True)
class Ended:
    """Exit status, output and resource usage of a program.

    Attributes:
        output: What it wrote to standard output.
        log: What it wrote to standard error; its beginning and a line that says so if that
            was more than is kept.
        status: Its exit status; 128 and the signal's number when a signal ended it.
        used: What the run took.
    """

    output: bytes
    log: str
    status: int
    used: Used


class _Over(Exception):  # noqa: N818 - ends a run, and is none of the errors that leave this module
    """A limit was gone over.

    Attributes:
        limit: Which, as FunctionStoppedError names it.
        allowed: How much may be taken, in words.
        taken: How much was taken, in words.
    """

    def __init__(self, limit: str, allowed: str, taken: str) -> None:
        super().__init__(limit)
        self.limit = limit
        self.allowed = allowed
        self.taken = taken


class _Cancelled(Exception):  # noqa: N818 - as above
    """Nobody waits for this run any more."""


class Run:
    """One run; it belongs to one thread."""

    def __init__(self, name: str, bounds: ResourceLimits, cancel: int, opened: ExitStack) -> None:
        """Prepare a run.

        Args:
            name: The function, as it was asked for.
            bounds: How much it may take.
            cancel: An eventfd(2) that becomes readable when the run shall end.
            opened: Closes, at the end, what the run holds open.
        """
        self._name = name
        self._bounds = bounds
        self._cancel = cancel
        self._opened = opened
        self._begin = time.monotonic()
        self._deadline = self._begin + bounds.seconds
        self._program: Program | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._init = -1
        self._group: cgroup.ControlGroup | None = None
        self._folders: dict[str, int] = {}
        self._memory: int | None = None
        self._processes: int | None = None
        self._input = memoryview(b"")
        self._output = bytearray()
        self._log = bytearray()
        self._said = 0
        self._seconds = 0.0
        self._status = 0

    def whole(
        self,
        program: Program,
        data: bytes,
        bubblewrap: Bubblewrap,
        launcher: Launcher,
        groups: cgroup.Groups | None,
    ) -> Ended:
        """Run a program to its end.

        Args:
            program: What to run.
            data: What it reads from standard input.
            bubblewrap: Builds the sandbox.
            launcher: Starts bubblewrap.
            groups: Count memory and processes; without them they are watched.

        Raises:
            FunctionStoppedError: It went over a limit.
            FunctionFailedError: It could not be started, or the run was cancelled.
            FunctionRefusedError: The sandbox's user cannot reach it.
            RunnerBrokenError: A process could not be ended.
            OSError: The machine does not have what a run needs.
            ValueError: The program cannot be run as it is described.
        """
        over: _Over | None = None
        try:
            with ExitStack() as handed:
                self._start(program, bubblewrap, launcher, groups, handed)
            self._talk(data)
        except _Over as found:
            over = found
        except _Cancelled as error:
            raise FunctionFailedError(
                self._name, "the caller is no longer waiting for it"
            ) from error
        finally:
            last = self._end()
        return self._verdict(over or last)

    def _start(
        self,
        program: Program,
        bubblewrap: Bubblewrap,
        launcher: Launcher,
        groups: cgroup.Groups | None,
        handed: ExitStack,
    ) -> None:
        """Build the sandbox, put it under its limits, and let the program go."""
        bounds = self._bounds
        if groups is not None:  # bubblewrap's own first process inside counts too
            self._group = groups.make(bounds.memory_bytes, bounds.processes + 1)
        self._program = program
        options = bubblewrap.arguments(program, temporary_size(bounds))
        told, info = _pipe(self._opened, handed)
        block, release = _pipe(handed, self._opened)
        options += ("--info-fd", str(info), "--block-fd", str(block))
        passed = [info, block]
        if refused := seccomp.program(unseen=bubblewrap.unseen):
            passed.append(_in_memory(refused, handed))
            options += ("--seccomp", str(passed[-1]))
        passed.append(_in_memory("\0".join(options).encode(), handed))
        before = self._opened.enter_context(launcher.command(bounds, watched=groups is None))
        self._process = subprocess.Popen(  # noqa: S603 - this is the fence
            [*before, bubblewrap.path, "--args", str(passed[-1]), "--", *program.argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            env={},
            pass_fds=passed,
            start_new_session=True,
        )
        handed.close()
        first = _told(told)
        if first is None:
            return  # bubblewrap failed, and says why
        try:
            self._init = os.pidfd_open(first)
            self._opened.callback(os.close, self._init)
            if self._group is not None:
                self._group.add(first)
            else:
                launcher.limit_processes(first, bounds)
        except ProcessLookupError:
            return
        self._look_inside(first)
        with suppress(BrokenPipeError):  # it failed after all, and says why
            os.write(release, b"x")

    def _look_inside(self, first: int) -> None:
        """Open the sandbox's `/tmp` and `/proc` once they are there, so as to see what is used."""
        blocks = temporary_size(self._bounds)
        inside = f"/proc/{first}/root"
        ended = select.poll()
        ended.register(self._init, select.POLLIN)
        while not ended.poll(0):
            self._check_time()
            with suppress(OSError), ExitStack() as opened:
                folder = _open(f"{inside}/tmp", opened)  # noqa: S108 - not ours
                size = os.fstatvfs(folder)
                if size.f_blocks * size.f_frsize == blocks:
                    for name in ("dev/shm", "proc"):
                        self._folders[name] = _open(f"{inside}/{name}", opened)
                    self._folders["tmp"] = folder
                    self._opened.push(opened.pop_all())
                    return
            time.sleep(_POLL_SECONDS)

    def _talk(self, data: bytes) -> None:
        """Feed the program and hear it out, to its end."""
        process = _started(self._process)
        self._input = memoryview(data)
        exited = os.pidfd_open(process.pid)
        self._opened.callback(os.close, exited)
        poll = select.poll()
        poll.register(self._cancel, select.POLLIN)
        poll.register(exited, select.POLLIN)
        waiting = {exited}
        served: dict[int, tuple[IO[bytes], Callable[[int], bool]]] = {}
        ways: tuple[tuple[Callable[[int], bool], int], ...] = (
            (self._feed, select.POLLOUT),
            (self._hear, select.POLLIN),
            (self._note, select.POLLIN),
        )
        for pipe, (serve, event) in zip(_pipes(process), ways, strict=True):
            number = pipe.fileno()
            served[number] = pipe, serve
            os.set_blocking(number, False)
            with suppress(OSError):  # all pipes of a user together may be no larger
                fcntl.fcntl(number, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
            poll.register(number, event)
            if event == select.POLLIN:
                waiting.add(number)
        next_look = time.monotonic() + _FIRST_LOOK_SECONDS
        while waiting:
            pause = max(0.0, min(next_look, self._deadline) - time.monotonic())
            for number, _ in poll.poll(pause * 1000):
                if number == self._cancel:
                    raise _Cancelled
                if number in served:
                    pipe, serve = served[number]
                    if serve(number):
                        continue
                    pipe.close()
                poll.unregister(number)
                waiting.discard(number)
            self._check_time()
            if time.monotonic() >= next_look:
                self._look()
                next_look = time.monotonic() + _LOOK_SECONDS

    def _feed(self, pipe: int) -> bool:
        """Write what the pipe takes; return whether there is more."""
        if not self._input:
            return False
        try:
            self._input = self._input[os.write(pipe, self._input) :]
        except BlockingIOError:
            return True
        except BrokenPipeError:  # it has read what it wants
            return False
        return bool(self._input)

    def _hear(self, pipe: int) -> bool:
        """Read some output; return whether there may be more."""
        got = os.read(pipe, _PIPE_BYTES)
        self._output += got
        if len(self._output) > self._bounds.output_bytes:
            raise _Over("output", _size(self._bounds.output_bytes), "more")
        return bool(got)

    def _note(self, pipe: int) -> bool:
        """Read some of what it says; return whether there may be more."""
        got = os.read(pipe, _PIPE_BYTES)
        self._said += len(got)
        self._log += got[: self._bounds.log_bytes - len(self._log)]
        return bool(got)

    def _check_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise _Over("time", f"{self._bounds.seconds:g} seconds", "more")

    def _look(self) -> None:
        """Count what is used, and see whether it is too much."""
        memory = processes = ""  # what was taken over the limit, in words
        if self._group is not None:
            count = self._group.count()
            self._seen(count.memory_bytes, count.processes - 1)
            memory = "more" if count.out_of_memory else ""
            processes = "more" if count.out_of_processes else ""
        elif "proc" in self._folders:
            apart = sum(_used(self._folders[name]) for name in ("tmp", "dev/shm"))
            if self._program and not self._program.network:  # else it would be all this machine's
                apart += watch.sockets(self._folders["proc"])
            seen = watch.look(self._folders["proc"], self._bounds.memory_bytes - apart)
            total = seen.memory_bytes + apart
            if seen.processes:
                self._seen(total, seen.processes)
            memory = _size(total) if total > self._bounds.memory_bytes else ""
            processes = str(seen.processes) if seen.processes > self._bounds.processes else ""
        if "tmp" in self._folders and not os.fstatvfs(self._folders["tmp"]).f_bfree:
            raise _Over("temporary files", _size(self._bounds.temporary_bytes), "more")
        if processes:  # first: many processes take much memory
            raise _Over("processes", str(self._bounds.processes), processes)
        if memory:
            raise _Over("memory", _size(self._bounds.memory_bytes), memory)

    def _seen(self, memory: int, processes: int) -> None:
        self._memory = max(self._memory or 0, memory)
        self._processes = max(self._processes or 0, processes)

    def _end(self) -> _Over | None:
        """End whatever is left, wait until nothing is, and count a last time."""
        self._seconds = time.monotonic() - self._begin
        try:
            if self._process is not None:
                self._kill(self._process)
                self._look()
        except _Over as over:
            return over
        finally:
            if self._group is not None:
                self._group.kill()
                self._group.remove()
        return None

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        if self._init >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._init, signal.SIGKILL)
            gone = select.poll()
            gone.register(self._init, select.POLLIN)
            if not gone.poll(_KILL_SECONDS * 1000):
                raise RunnerBrokenError(f'function "{self._name}"', "its processes do not end")
        self._status = process.wait()
        if self._init >= 0:
            with suppress(ChildProcessError):  # ours to reap only where we are process 1
                os.waitid(os.P_PIDFD, self._init, os.WEXITED)
        for pipe in _pipes(process):
            with suppress(BrokenPipeError):  # it did not read all that it was to be given
                pipe.close()

    def _verdict(self, over: _Over | None) -> Ended:
        """Return what it left, or raise what stopped it."""
        used = Used(self._memory, self._processes, self._seconds, len(self._output))
        log = self._log.decode(errors="replace")
        if over is not None:
            if over.limit == "time":
                raise FunctionTimeoutError(self._name, self._bounds.seconds, str(used))
            taken = f"{over.taken}; at its peak {used}"
            raise FunctionStoppedError(self._name, over.limit, over.allowed, taken)
        status = self._status if self._status >= 0 else 128 - self._status
        if status == _FILE_TOO_LARGE:
            allowed = _size(self._bounds.temporary_bytes)
            raise FunctionStoppedError(
                self._name, "temporary files", allowed, f"more in one file; at its peak {used}"
            )
        if status == 1 and not self._output and log.startswith("bwrap: "):
            raise self._not_started(log)
        if self._said > len(self._log):
            log += f"\n[the first {len(self._log)} of {self._said} bytes]\n"
        return Ended(bytes(self._output), log, status, used)

    def _not_started(self, log: str) -> FunctionError:
        barrier = closed(self._program) if self._program and "Permission denied" in log else None
        if barrier is None:
            return FunctionFailedError(self._name, f"it could not be started: {log}")
        return FunctionRefusedError(
            self._name,
            f"the sandbox's user cannot reach the program: other users cannot enter {barrier}",
            "Open it to them (chmod o+x), or keep functions elsewhere",
        )


def _started(process: subprocess.Popen[bytes] | None) -> subprocess.Popen[bytes]:
    if process is None:
        raise AssertionError("it is started first")
    return process


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise AssertionError("it is started with three pipes")
    return process.stdin, process.stdout, process.stderr


def _pipe(reading: ExitStack, writing: ExitStack) -> tuple[int, int]:
    """Return a pipe whose two ends are closed by whoever has them."""
    read, write = os.pipe()
    reading.callback(os.close, read)
    writing.callback(os.close, write)
    return read, write


def _in_memory(data: bytes, opened: ExitStack) -> int:
    """Return a file in memory that holds the data, open at its beginning."""
    file = os.memfd_create("sandbox")
    opened.callback(os.close, file)
    with open(file, "wb", closefd=False) as writer:
        writer.write(data)
    os.lseek(file, 0, os.SEEK_SET)
    return file


def _open(path: str, opened: ExitStack) -> int:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    opened.callback(os.close, folder)
    return folder


def _told(info: int) -> int | None:
    """Return which process is the sandbox's first, once bubblewrap says; None if it fails."""
    deadline = time.monotonic() + _BUILD_SECONDS
    poll = select.poll()
    poll.register(info, select.POLLIN)
    text = b""
    while poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        got = os.read(info, 4096)
        text += got
        if not got:
            match = re.search(rb'"child-pid": *(\d+)', text)
            return int(match[1]) if match else None
    return None


def _used(folder: int) -> int:
    """Return how much memory a file system in memory takes, by a folder in it; about."""
    size = os.fstatvfs(folder)
    files = size.f_files - size.f_ffree
    return (size.f_blocks - size.f_bfree) * size.f_frsize + files * _FILE_BYTES


def _size(count: int) -> str:
    """Return a number of bytes in words, such as "512 MiB"."""
    for unit, name in ((1024 * MIB, "GiB"), (MIB, "MiB"), (1024, "KiB")):
        if count >= unit:
            return f"{count / unit:.4g} {name}"
    return f"{count} bytes"
