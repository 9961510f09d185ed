"""Measures a sandbox's resource usage from /proc, where there are no control groups.

Rules
- It looks through the sandbox's own `/proc`, which holds its processes and no others: what
  was started by a parent that is gone is there too.
- Memory that several processes share counts once: the cheap sum of all is believed while it
  is within the limit, and checked by shares (Pss) when it is not.
- The sandbox's own first process counts as well: it has no more rights than the program, which
  may write into its memory and make it take more. Its one thread is not the program's.
- Memory that the kernel takes for them counts as well, where it tells: tables of pages, which
  reading alone makes, and what sockets may hold. What it takes for locks, timers and maps it
  does not tell; a process can have some tens of megabytes of these.
- What ends between two looks is not seen. That is why there are limits of the kernel besides.

Source: proc(5): status, smaps_rollup, net/sockstat; socket(7): wmem_default; tcp(7): tcp_wmem.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

_INIT: Final = "1"  # bubblewrap's own process, first in every sandbox
_TABLES: Final = b"VmPTE"
_RESIDENT: Final = (b"VmRSS", b"VmSwap", b"HugetlbPages", _TABLES)
_SOCKET_BYTES: Final = 256 * 1024  # what one holds when nobody reads, with what the kernel adds
_STREAM_BYTES: Final = 4 * 1024 * 1024  # what the kernel lets a TCP socket's buffer grow to


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """The resource usage of a sandbox at one moment.

    Attributes:
        memory_bytes: Memory of its processes.
        processes: Processes and threads.
    """

    memory_bytes: int
    processes: int


def look(proc: int, limit_bytes: int) -> ResourceUsage:
    """Measure the resource usage of a sandbox now.

    Args:
        proc: Descriptor of the sandbox's `/proc`, open for reading.
        limit_bytes: The sum of memory is checked more closely when it is over this.
    """
    pids = [name for name in os.listdir(proc) if name.isdigit()]
    found = {pid: _status(proc, pid) for pid in pids}
    memory = sum(seen.memory_bytes for _, seen in found.values())
    if memory > limit_bytes:
        memory = sum(
            _share(proc, pid, tables, seen.memory_bytes) for pid, (tables, seen) in found.items()
        )
    # Those that end while others are read were there when they were listed.
    processes = sum(max(1, seen.processes) for _, seen in found.values()) - (_INIT in found)
    return ResourceUsage(memory, processes)


def sockets(proc: int) -> int:
    """Return how many bytes the sockets of a sandbox with a network of its own may hold.

    Sockets that are on their way to another process are among them, though nobody has them open.

    Args:
        proc: Descriptor of the sandbox's `/proc`, open for reading.
    """
    text = b"".join(_read(proc, f"{_INIT}/net/{name}") for name in ("sockstat", "sockstat6"))
    lines = (line.split() for line in text.splitlines())  # "TCP: inuse 2 orphan 0 …"
    count = {words[0]: int(words[2]) for words in lines}
    streams = count.get(b"TCP:", 0) + count.get(b"TCP6:", 0)
    return count.get(b"sockets:", 0) * _SOCKET_BYTES + streams * _STREAM_BYTES


def _status(proc: int, pid: str) -> tuple[int, ResourceUsage]:
    """Return bytes of a process's tables of pages, and what it takes; zeros once it is gone."""
    # A line break in the command's name is written as two characters.
    lines = (line.split() for line in _read(proc, f"{pid}/status").splitlines())
    fields = {words[0].rstrip(b":"): words[1] for words in lines if len(words) > 1}
    size = {name: int(fields.get(name, 0)) * 1024 for name in _RESIDENT}
    return size[_TABLES], ResourceUsage(sum(size.values()), int(fields.get(b"Threads", 0)))


def _share(proc: int, pid: str, tables: int, taken: int) -> int:
    lines = _read(proc, f"{pid}/smaps_rollup").splitlines()
    shares = [line.split()[1] for line in lines if line.startswith((b"Pss:", b"SwapPss:"))]
    return tables + 1024 * sum(map(int, shares)) if shares else taken


def _read(proc: int, name: str) -> bytes:
    with suppress(OSError):  # it ended meanwhile, or hides its memory
        file = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
        try:
            return os.read(file, 4096)
        finally:
            os.close(file)
    return b""
