"""How many worker processes there is room for, and how much memory each may have.

A container has a limit of its own, whatever the machine has: who goes over it is ended by the
kernel, and with one process often all others of the container, the bot among them.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from cadlib.limits import MIB

MEMORY_BYTES: Final = 1024 * MIB
"""Data of one worker; the limits of packages keep what is read of one below half of it."""

LEAST_BYTES: Final = 512 * MIB
"""What a worker needs for the largest package; with less, there are fewer workers before that."""

BESIDE: Final = 384 * MIB
"""For the bot itself, git, and what workers are forked from."""

SMALLEST: Final = 128 * MIB
"""Less than this is of no use to a worker, wherever it runs."""


class WorkerLimits(NamedTuple):
    """What workers may take.

    Attributes:
        most: How many there are at a time.
        memory_bytes: Of data that one may have.
    """

    most: int
    memory_bytes: int


def usual() -> WorkerLimits:
    """The room that this process has: its cores, and its container."""
    return worker_limits(len(os.sched_getaffinity(0)), memory_limit())


def worker_limits(cores: int, limit: int | None) -> WorkerLimits:
    """Share what there is.

    One worker for each core, one more for another look, and one that is always another
    repository's; fewer where they would have too little memory, and never less than two.

    Args:
        cores: Of the processor.
        limit: Bytes that all processes together may have; None where nobody says.
    """
    most = max(2, cores) + 2
    if limit is None:
        return WorkerLimits(most, MEMORY_BYTES)
    left = max(0, limit - BESIDE)
    most = max(2, min(most, left // LEAST_BYTES))
    return WorkerLimits(most, max(SMALLEST, min(MEMORY_BYTES, left // most)))


def memory_limit(
    root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> int | None:
    """The least limit of memory of the control groups that this process is in; None for none.

    Args:
        root: Where control groups are mounted, of either version.
        own: Names those of this process.
    """
    found = [limit for file in _files(root, own) if (limit := _number(file)) is not None]
    return min(found, default=None)


def _files(root: Path, own: Path) -> Iterator[Path]:
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for line in lines:
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if not controllers:
            top, name = root, "memory.max"
        elif "memory" in controllers.split(","):
            top, name = root / "memory", "memory.limit_in_bytes"
        else:
            continue
        # In a container the path may be the machine's, and is not there; its own is at the top.
        for folder in (top, *((top / path.lstrip("/")), *(top / path.lstrip("/")).parents)):
            if folder.is_relative_to(top):
                yield folder / name


def _number(file: Path) -> int | None:
    """A limit; None where there is none, which the first version writes as a very large number."""
    try:
        text = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int(text) if text.isdecimal() and int(text) < 1 << 60 else None
