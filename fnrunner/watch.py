"""Counts what a sandbox takes by looking at its processes, where the kernel does not count.

Rules
- It looks through the sandbox's own `/proc`, which holds its processes and no others: what
  was started by a parent that is gone is there too.
- Memory that several processes share counts once: the cheap sum of all is believed while it
  is within the limit, and checked by shares (Pss) when it is not.
- What ends between two looks is not seen. That is why there are limits of the kernel besides.

Source: proc(5): stat, smaps_rollup.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_INIT: Final = "1"  # bubblewrap's own process, first in every sandbox
# Places behind the command in /proc/PID/stat: threads and resident pages.
_THREADS: Final = 17
_RESIDENT: Final = 21


@dataclass(frozen=True, slots=True)
class Seen:
    """What a sandbox takes at one moment.

    Attributes:
        memory_bytes: Memory of its processes.
        processes: Processes and threads.
    """

    memory_bytes: int
    processes: int


def look(proc: int, limit_bytes: int) -> Seen:
    """Count what a sandbox takes now.

    Args:
        proc: Descriptor of the sandbox's `/proc`, open for reading.
        limit_bytes: The sum of memory is checked more closely when it is over this.
    """
    pids = [name for name in os.listdir(proc) if name.isdigit() and name != _INIT]
    found = {pid: _stat(proc, pid) for pid in pids}
    memory = sum(resident for _, resident in found.values())
    if memory > limit_bytes:
        memory = sum(_share(proc, pid, resident) for pid, (_, resident) in found.items())
    return Seen(memory, sum(threads for threads, _ in found.values()))


def _stat(proc: int, pid: str) -> tuple[int, int]:
    """Return threads and resident bytes of a process; none of either once it is gone."""
    # The command stands in brackets and may hold brackets and blanks itself.
    fields = _read(proc, f"{pid}/stat").rpartition(b")")[2].split()
    if len(fields) <= _RESIDENT:
        return 0, 0
    return int(fields[_THREADS]), int(fields[_RESIDENT]) * _PAGE


def _share(proc: int, pid: str, resident: int) -> int:
    for line in _read(proc, f"{pid}/smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return resident


def _read(proc: int, name: str) -> bytes:
    with suppress(OSError):  # it ended meanwhile, or hides its memory
        file = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
        try:
            return os.read(file, 4096)
        finally:
            os.close(file)
    return b""
