"""Starts bubblewrap with resource limits, and as another user than root.

Rules
- Limits are set by prlimit(1) on its way to bubblewrap: a root without CAP_SYS_RESOURCE, as
  in most containers, may lower its own limits but nobody else's.
- Root becomes a user that nobody is: another for each run at a time, and others than another
  runner's, because processes are limited for all that a user runs together.
"""

import math
import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fnrunner.contract.run import MIB, ResourceLimits

# Users from here to 2**31 are given to nobody by systemd and distributions; 64 for each process
# id, of which there are at most 2**22. Source: systemd, docs/UIDS-GIDS.md.
_FIRST_USER: Final = 0x7000_0000
_USERS: Final = 64
_BUILDING_FILES: Final = 64  # bubblewrap's own while it builds; a lower limit would stop it
_SPARE_DATA: Final = 1024 * MIB  # more than can be filled between two looks
SPARE_PROCESSES: Final = 2048
"""How many more processes the kernel allows than a watcher: as many as start between two looks,
also where the machine is so busy that they are a second apart."""


@dataclass(frozen=True, slots=True)
class Launcher:
    """Starts bubblewrap.

    Attributes:
        prlimit: The program.
        setpriv: The program; "" as an ordinary user, who stays who he is.
        users: Users to become; None as an ordinary user.
    """

    prlimit: str
    setpriv: str
    users: "UserIds | None"

    @contextmanager
    def command(self, bounds: ResourceLimits, *, watched: bool) -> Iterator[list[str]]:
        """Give the words to put before bubblewrap's; its user is ours until the end.

        Args:
            bounds: How much the program may take.
            watched: Nobody but a watcher counts memory and processes.
        """
        limits = [
            f"--{name}={_within(value, kind)}"
            for name, kind, value in _limits(bounds, watched=watched)
            if self.users or name != "nproc"
        ]
        words = [self.prlimit, *limits, "--"]
        if self.users is None:
            yield words
            return
        with self.users.one() as user:
            identity = (f"--reuid={user}", f"--regid={user}", "--clear-groups")
            yield [*words, self.setpriv, *identity, "--inh-caps=-all", "--no-new-privs", "--"]

    def limit_processes(self, pid: int, bounds: ResourceLimits) -> None:
        """Limit the processes of a sandbox that is being built by an ordinary user.

        Only inside counts what is inside; outside, all that the user runs would count.

        Raises:
            OSError: It cannot be limited.
        """
        if self.users is None:
            most = _within(bounds.processes + 1 + SPARE_PROCESSES, resource.RLIMIT_NPROC)
            resource.prlimit(pid, resource.RLIMIT_NPROC, (most, most))


class UserIds:
    """User ids that nobody else uses, one for each run."""

    def __init__(self, first: int) -> None:
        """Take the users from `first`, a number that is mapped here."""
        self._first = first
        self._free = set(range(_USERS))
        self._lock = threading.Lock()

    @contextmanager
    def one(self) -> Iterator[int]:
        """Lend a user; runs beyond 64 at a time share the last one."""
        with self._lock:
            number = min(self._free, default=_USERS - 1)
            self._free.discard(number)
        try:
            yield self._first + number
        finally:
            with self._lock:
                self._free.add(number)


def users(uid_map: Path = Path("/proc/self/uid_map")) -> UserIds | None:
    """Return users to become, or None where we cannot become another or need not.

    Args:
        uid_map: Users that there are here, in the form of user_namespaces(7).
    """
    if os.geteuid() != 0:
        return None
    ranges = [tuple(map(int, line.split())) for line in uid_map.read_text().splitlines()]
    wanted = _FIRST_USER + (os.getpid() % 2**22) * _USERS
    if any(begin <= wanted and wanted + _USERS <= begin + size for begin, _, size in ranges):
        return UserIds(wanted)
    begin, size = max((begin, size) for begin, _, size in ranges)
    if size < 4 * _USERS:  # a container whose root is an ordinary user outside, alone in there
        return None
    return UserIds(begin + size - 4 * _USERS)  # not the last: there is nobody (65534)


def _limits(bounds: ResourceLimits, *, watched: bool) -> list[tuple[str, int, int]]:
    found = [
        ("core", resource.RLIMIT_CORE, 0),
        ("cpu", resource.RLIMIT_CPU, math.ceil(bounds.seconds) * (os.cpu_count() or 1) + 1),
        ("fsize", resource.RLIMIT_FSIZE, temporary_size(bounds)),
        ("msgqueue", resource.RLIMIT_MSGQUEUE, 0),
        (
            "nofile",
            resource.RLIMIT_NOFILE,
            max(bounds.open_files, _BUILDING_FILES),
        ),
    ]
    if watched:
        # Not address space: Go and Node reserve gigabytes of it and use little.
        data = bounds.memory_bytes + _SPARE_DATA
        found.append(("data", resource.RLIMIT_DATA, data))
        # bubblewrap has two: one outside, one inside.
        found.append(("nproc", resource.RLIMIT_NPROC, bounds.processes + 2 + SPARE_PROCESSES))
    return found


def temporary_size(bounds: ResourceLimits) -> int:
    """Return the size to make `/tmp`, in bytes: once it is full, more than is allowed was used."""
    page = os.sysconf("SC_PAGE_SIZE")
    return (bounds.temporary_bytes // page + 1) * page


def _within(value: int, kind: int) -> int:
    hard = resource.getrlimit(kind)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)
