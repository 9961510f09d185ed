"""Control groups, v1 and v2: accounting and limits for groups of processes.

A group is made below the runner's own, so that what the runner may take still holds for all.

Rules
- Memory and processes are counted by the kernel or not at all: where one of the two cannot
  be, there are no groups, and fnrunner/fence/watch.py counts instead.
- A group's name holds the runner's process id: what a killed runner left is removed by the next.
- v2 hands out counters only below a group without processes, so a runner that is alone in its
  group moves itself into a leaf first; systemd's `Delegate=yes` gives it such a group.
- v1 was tried on Linux 6.18. v2 is written after the documentation and was never tried on a
  real one; its tests use folders of plain files.

Source: the kernel's documentation, admin-guide/cgroup-v1/memory.rst, pids.rst, cgroup-v2.rst.
"""

import errno
import logging
import os
import re
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

_log = logging.getLogger(__name__)

_NAME: Final = re.compile(r"porchbot-(\d+)-\d+")
_LEAF: Final = "porchbot-runner"
_PARTS: Final = ("memory", "pids")
_GONE_SECONDS: Final = 2.0  # a group is empty a moment after its last process was reaped
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Count:
    """The resource usage of a group so far.

    Attributes:
        memory_bytes: Peak of memory, files read and written in memory included.
        processes: Peak of processes and threads.
        out_of_memory: The kernel ended one of them for want of memory.
        out_of_processes: The kernel refused to start another.
    """

    memory_bytes: int
    processes: int
    out_of_memory: bool
    out_of_processes: bool


class ControlGroup(Protocol):
    """A group with limits; empty until a process is added."""

    def add(self, pid: int) -> None:
        """Take a process in; what it starts from now on belongs to the group too.

        Raises:
            OSError: The process is gone, or may not be moved.
        """

    def count(self) -> Count:
        """Return what the group has taken so far."""

    def kill(self) -> None:
        """End all of its processes."""

    def remove(self) -> None:
        """Remove the group, which has no processes any more."""


class Groups(Protocol):
    """Makes groups."""

    def make(self, memory_bytes: int, processes: int) -> ControlGroup:
        """Make an empty group.

        Args:
            memory_bytes: Memory of all its processes together.
            processes: Processes and threads at the same time.

        Raises:
            OSError: It cannot be made.
        """


def find(
    mounts: Path = Path("/proc/self/mountinfo"), membership: Path = Path("/proc/self/cgroup")
) -> Groups | None:
    """Return what makes groups here; None where they cannot be written, or not both kinds.

    Args:
        mounts: What is mounted, in the form of proc(5) `mountinfo`.
        membership: The groups that this process is in, in the form of cgroups(7).
    """
    try:
        found = _find(mounts.read_text(), membership.read_text())
        if found is None:
            return None
        trial = found.make(1024 * 1024, 1)
        trial.count()
        trial.remove()
    except (OSError, ValueError) as error:
        _log.debug("control groups cannot be used: %s", error)
        return None
    return found


def _find(mounts: str, membership: str) -> Groups | None:
    own = {}
    for line in membership.splitlines():
        _, names, path = line.split(":", 2)
        own.update(dict.fromkeys(names.split(","), path))
    folders: dict[str, Path] = {}
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        root, point = before.split()[3:5]
        kind, _, options = after.split(maxsplit=2)
        if kind == "cgroup":
            for part in set(options.split(",")) & set(_PARTS):
                folders[part] = _folder(point, root, own.get(part, "/"))
        elif kind == "cgroup2":
            folders[""] = _folder(point, root, own.get("", "/"))
    if all(part in folders for part in _PARTS):
        return _GroupsV1(folders["memory"], folders["pids"])
    if "" in folders:
        return _GroupsV2(_delegated(folders[""]))
    return None


def _folder(point: str, root: str, path: str) -> Path:
    """Return the folder of a group; in a container the mount begins at some group inside."""
    try:
        inner = PurePosixPath(path).relative_to(root)
    except ValueError:
        return Path(point)
    return Path(point, inner)


class _GroupsV1:
    def __init__(self, memory: Path, pids: Path) -> None:
        self._folders = (memory, pids)
        for folder in self._folders:
            _sweep(folder)

    def make(self, memory_bytes: int, processes: int) -> ControlGroup:
        name = _name()
        memory, pids = (folder / name for folder in self._folders)
        group = _GroupV1(memory, pids)
        try:
            memory.mkdir()
            pids.mkdir()
            (memory / "memory.limit_in_bytes").write_text(str(memory_bytes))
            if (memory / "memory.memsw.limit_in_bytes").exists():  # memory and swap together
                (memory / "memory.memsw.limit_in_bytes").write_text(str(memory_bytes))
            (pids / "pids.max").write_text(str(processes))
        except OSError:
            group.remove()
            raise
        return group


class _GroupV1:
    def __init__(self, memory: Path, pids: Path) -> None:
        self._memory = memory
        self._pids = pids
        self._most = 0

    def add(self, pid: int) -> None:
        for folder in (self._memory, self._pids):
            (folder / "cgroup.procs").write_text(str(pid))

    def count(self) -> Count:
        self._most = max(self._most, _peak(self._pids, "pids"))
        return Count(
            int((self._memory / "memory.max_usage_in_bytes").read_text()),
            self._most,
            _event(self._memory / "memory.oom_control", "oom_kill") > 0,
            _event(self._pids / "pids.events", "max") > 0,
        )

    def kill(self) -> None:
        _kill(self._pids)

    def remove(self) -> None:
        _remove(self._memory)
        _remove(self._pids)


class _GroupsV2:
    def __init__(self, parent: Path) -> None:
        self._parent = parent
        _sweep(parent)

    def make(self, memory_bytes: int, processes: int) -> ControlGroup:
        folder = self._parent / _name()
        group = _GroupV2(folder)
        try:
            folder.mkdir()
            (folder / "memory.max").write_text(str(memory_bytes))
            with suppress(OSError):  # not there where the kernel does not count swap
                (folder / "memory.swap.max").write_text("0")
            with suppress(OSError):  # since Linux 4.19: all of them are ended, not just one
                (folder / "memory.oom.group").write_text("1")
            (folder / "pids.max").write_text(str(processes))
        except OSError:
            group.remove()
            raise
        return group


class _GroupV2:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._memory = 0
        self._processes = 0

    def add(self, pid: int) -> None:
        (self._folder / "cgroup.procs").write_text(str(pid))

    def count(self) -> Count:
        self._memory = max(self._memory, _peak(self._folder, "memory"))
        self._processes = max(self._processes, _peak(self._folder, "pids"))
        return Count(
            self._memory,
            self._processes,
            _event(self._folder / "memory.events", "oom_kill") > 0,
            _event(self._folder / "pids.events", "max") > 0,
        )

    def kill(self) -> None:
        try:
            (self._folder / "cgroup.kill").write_text("1")  # since Linux 5.14
        except OSError:
            _kill(self._folder)

    def remove(self) -> None:
        _remove(self._folder)


def _delegated(own: Path) -> Path:
    """Return the v2 group below which groups with counters can be made.

    Raises:
        OSError: There is none: this process is not alone in its group, or it may not write.
    """
    parent = own.parent if own.name == _LEAF else own
    if _lacking(parent, "cgroup.controllers"):
        raise OSError(
            errno.ENOTSUP, "the controllers memory and pids are not delegated", str(parent)
        )
    if _lacking(parent, "cgroup.subtree_control"):
        procs = (parent / "cgroup.procs").read_text().split()
        if procs == [str(os.getpid())]:
            leaf = parent / _LEAF
            leaf.mkdir(exist_ok=True)
            (leaf / "cgroup.procs").write_text(str(os.getpid()))
        (parent / "cgroup.subtree_control").write_text("+memory +pids")
    return parent


def _lacking(folder: Path, name: str) -> bool:
    return not set(_PARTS) <= set((folder / name).read_text().split())


def _name() -> str:
    return f"porchbot-{os.getpid()}-{next(_numbers)}"


def _sweep(parent: Path) -> None:
    """Remove the groups of runners that are gone."""
    for folder in parent.iterdir():
        match = _NAME.fullmatch(folder.name)
        if match and not Path("/proc", match[1]).exists():
            _kill(folder)
            _remove(folder)


def _peak(folder: Path, part: str) -> int:
    """Return the most there was, or what there is on a kernel that does not keep it."""
    try:
        return int((folder / f"{part}.peak").read_text())
    except FileNotFoundError:
        return int((folder / f"{part}.current").read_text())


def _event(file: Path, name: str) -> int:
    for line in file.read_text().splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return 0


def _kill(folder: Path) -> None:
    try:
        pids = (folder / "cgroup.procs").read_text().split()
    except FileNotFoundError:  # another runner has removed it meanwhile
        return
    for text in pids:
        pid = int(text)
        if pid > 0:  # 0 is one that cannot be seen from here; to kill(2) it means our own
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _remove(folder: Path) -> None:
    deadline = time.monotonic() + _GONE_SECONDS
    while True:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                _log.warning("control group %s stays: %s", folder, error.strerror)
                return
            time.sleep(0.001)
        else:
            return
