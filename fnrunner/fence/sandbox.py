"""Runs a program in a sandbox: bubblewrap around it, limits on it, and an end to all of it.

Rules
- No fence, no run: where a sandbox cannot be made, `Sandbox.here` says why.
- bubblewrap builds the sandbox and waits; it is put under its limits, looked into, and only
  then let go. So there is no moment at which the program runs without them.
- The kernel counts memory and processes where control groups can be written (`cgroups.py`);
  elsewhere they are counted some fifty times a second (`watch.py`), with limits of the
  kernel for each process a little above, for what is quicker than that. What a watcher does not
  see is refused (fnrunner/fence/seccomp.py), unless the operator wants functions to have it.
- Whatever ends a run ends all that it started; `run` returns when the last process is gone.
- A thread stays with each run: the sandbox dies with the thread that started it, and with
  the runner.
"""

import asyncio
import errno
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Final, TypeVar

from fnrunner.contract.errors import (
    FunctionFailedError,
    FunctionStoppedError,
    RunnerBusyError,
    SandboxError,
)
from fnrunner.contract.run import ResourceLimits
from fnrunner.fence import cgroups as cgroup
from fnrunner.fence import launch, seccomp
from fnrunner.fence.bubblewrap import NEEDED, Bubblewrap, Program
from fnrunner.fence.launch import Launcher
from fnrunner.fence.sandboxed import Ended, Run, Used

__all__ = ["Ended", "Program", "Sandbox", "Used"]

T = TypeVar("T")

_BUSY_SECONDS: Final = 1.0
_TRIAL: Final = ResourceLimits(seconds=20.0)
_NO_ROOM: Final = frozenset((errno.EAGAIN, errno.ENOMEM, errno.ENFILE, errno.EMFILE))


class Sandbox:
    """Makes a sandbox for each run."""

    def __init__(
        self, bubblewrap: Bubblewrap, launcher: Launcher, groups: cgroup.Groups | None
    ) -> None:
        """Use `here`, which finds these and tries them."""
        self._bubblewrap = bubblewrap
        self._launcher = launcher
        self._groups = groups

    @classmethod
    def here(
        cls, *, groups: bool = True, path: str | None = None, uncounted: bool = False
    ) -> "Sandbox":
        """Find out what this machine can do, by making a sandbox once (some 30 ms).

        Args:
            groups: Let the kernel count where control groups can be written.
            uncounted: Elsewhere let functions have memory that belongs to no process and that
                nobody counts.
            path: Folders to find programs in, in the form of PATH; None takes ours.

        Raises:
            SandboxError: No sandbox can be made here.
        """
        if sys.platform != "linux":
            raise SandboxError(f"sandboxes need Linux, this is {sys.platform}", "Run it on Linux")
        try:
            users = launch.users()
        except FileNotFoundError as error:
            raise _refused("this kernel has no user namespaces") from error
        launcher = Launcher(
            _program("prlimit", "util-linux", path),
            _program("setpriv", "util-linux", path) if users else "",
            users,
        )
        found = cgroup.find() if groups else None
        unseen = found is None and not uncounted
        if unseen and not seccomp.has_list():
            raise SandboxError(
                "control groups are not writable here, and no other way to limit memory is"
                f" not known for {os.uname().machine}",
                "Let this user write control groups (memory and pids), or set"
                " `sandbox: {uncounted: true}` in the runner's configuration",
            )
        made = cls(replace(_bubblewrap(path), unseen=unseen), launcher, found)
        made._try()
        return made

    @property
    def counted_by(self) -> str:
        """Who counts memory and processes: "control groups" or "watcher"."""
        return "watcher" if self._groups is None else "control groups"

    async def run(self, name: str, program: Program, data: bytes, bounds: ResourceLimits) -> Ended:
        """Run a program to its end. Cancelling ends it, and all that it started.

        Args:
            name: The function, as it was asked for.
            program: What to run.
            data: What it reads from standard input.
            bounds: How much it may take.

        Raises:
            FunctionStoppedError: It went over a limit (FunctionTimeoutError: of time).
            FunctionFailedError: It could not be started.
            FunctionRefusedError: The sandbox's user cannot reach it.
            RunnerBusyError: This machine has no room for it now.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Ended] = loop.create_future()
        with ExitStack() as opened:
            try:
                cancel = os.eventfd(0, os.EFD_CLOEXEC)
                opened.callback(os.close, cancel)
                work = (loop, done, cancel, name, program, data, bounds)
                thread = threading.Thread(target=self._work, args=work, daemon=True)
                thread.start()
            except (OSError, RuntimeError) as error:  # no descriptor, no thread
                raise RunnerBusyError(f'function "{name}"', str(error), _BUSY_SECONDS) from error
            opened.callback(thread.join)  # it tells its result last
            opened.callback(os.eventfd_write, cancel, 1)  # whyever nobody waits any more
            try:
                return await asyncio.shield(done)
            except asyncio.CancelledError:
                os.eventfd_write(cancel, 1)
                while not done.done():
                    with suppress(asyncio.CancelledError):  # nobody leaves before the program has
                        await asyncio.wait([done])
                done.exception()  # of no interest any more
                raise

    def _work(
        self,
        loop: asyncio.AbstractEventLoop,
        done: asyncio.Future[Ended],
        cancel: int,
        name: str,
        program: Program,
        data: bytes,
        bounds: ResourceLimits,
    ) -> None:
        try:
            ended = self._run(name, program, data, bounds, cancel)
        except Exception as error:  # whatever it is, it belongs to whoever waits
            _tell(loop, done.set_exception, error)
        else:
            _tell(loop, done.set_result, ended)

    def _try(self) -> None:
        program = Program(argv=(self._launcher.prlimit, "--version"), environment={})
        cancel = os.eventfd(0, os.EFD_CLOEXEC)
        try:
            ended = self._run("trial", program, b"", _TRIAL, cancel)
        except FunctionFailedError as error:
            raise _refused(error.log) from error
        except (FunctionStoppedError, RunnerBusyError) as error:
            raise _refused(str(error)) from error
        finally:
            os.close(cancel)
        if ended.status != 0:
            raise _refused(ended.log)

    def _run(
        self, name: str, program: Program, data: bytes, bounds: ResourceLimits, cancel: int
    ) -> Ended:
        try:
            with ExitStack() as opened:
                run = Run(name, bounds, cancel, opened)
                return run.whole(program, data, self._bubblewrap, self._launcher, self._groups)
        except OSError as error:
            if error.errno in _NO_ROOM:
                raise RunnerBusyError(f'function "{name}"', str(error), _BUSY_SECONDS) from error
            raise FunctionFailedError(name, f"it could not be started: {error}") from error
        except ValueError as error:
            raise FunctionFailedError(name, f"it could not be started: {error}") from error


def _tell(loop: asyncio.AbstractEventLoop, tell: Callable[[T], object], told: T) -> None:
    with suppress(RuntimeError):  # the loop is closed: whoever waited is gone
        loop.call_soon_threadsafe(tell, told)


def _bubblewrap(path: str | None) -> Bubblewrap:
    found = _program("bwrap", "bubblewrap", path)
    try:
        shown = subprocess.run(  # noqa: S603 - found by its name
            [found, "--help"], capture_output=True, text=True, timeout=_TRIAL.seconds, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(f"{found} cannot be run: {error}", "Repair its installation") from error
    known = frozenset(re.findall(r"--[a-z0-9-]+", shown.stdout + shown.stderr))
    lacking = sorted(NEEDED - known)
    if lacking:
        raise SandboxError(
            f"{found} is too old: it does not know {', '.join(lacking)}",
            "Install bubblewrap 0.5 or newer; 0.8 is tested",
        )
    return Bubblewrap(found, known)


def _program(name: str, package: str, path: str | None) -> str:
    found = shutil.which(name, path=path)
    if found is None:
        raise SandboxError(f"the program {name} is not installed", f"Install {package}")
    return found


def _refused(said: str) -> SandboxError:
    return SandboxError(
        f"bubblewrap cannot create a sandbox here: {said.strip() or 'it does not say why'}",
        "Let this user make user namespaces (sysctl user.max_user_namespaces,"
        " kernel.apparmor_restrict_unprivileged_userns); in a container also allow them in its"
        " seccomp profile and leave /proc unmasked",
    )
