"""How many workers there are, and how large: as the container allows, and not the machine."""

from pathlib import Path

import pytest

from bot.render.workers.capacity import WorkerLimits, memory_limit, worker_limits
from cadlib.limits import MIB

GIB = 1024 * MIB

ROOMS: dict[str, tuple[int, int | None, WorkerLimits]] = {
    "a core for each, one for another look, one for another repository": (
        4,
        None,
        WorkerLimits(6, GIB),
    ),
    "one core": (1, None, WorkerLimits(4, GIB)),
    "the container of the manifests": (8, 2 * GIB, WorkerLimits(3, 1664 * MIB // 3)),
    "many cores and little memory": (64, 4 * GIB, WorkerLimits(7, 3712 * MIB // 7)),
    "little of both": (1, GIB, WorkerLimits(2, 320 * MIB)),
    "too little for any": (2, 100 * MIB, WorkerLimits(2, 128 * MIB)),
    "more than is needed": (2, 64 * GIB, WorkerLimits(4, GIB)),
}


@pytest.mark.parametrize(("cores", "limit", "expected"), ROOMS.values(), ids=ROOMS)
def test_workers_fit_into_the_container(
    cores: int, limit: int | None, expected: WorkerLimits
) -> None:
    """Short-cut refused: a gibibyte for each core, and the kernel ends the bot with its workers."""
    found = worker_limits(cores, limit)

    assert found == expected
    if limit is not None and limit >= GIB:
        assert found.most * found.memory_bytes < limit


LIMITS: dict[str, tuple[str, dict[str, str], int | None]] = {
    "of a container": ("0::/\n", {"memory.max": "1073741824\n"}, GIB),
    "none": ("0::/a/b\n", {"a/b/memory.max": "max\n", "a/memory.max": "max\n"}, None),
    "the least of those around it": (
        "0::/a/b\n",
        {"a/b/memory.max": "max", "a/memory.max": "7", "memory.max": "9", "other/memory.max": "1"},
        7,
    ),
    "of the first version": (
        "9:cpu,cpuacct:/a\n4:memory:/a\n0::/\n",
        {"memory/a/memory.limit_in_bytes": "5", "cpu/a/memory.limit_in_bytes": "1"},
        5,
    ),
    "of the first version, where the path is the machine's": (
        "4:memory:/docker/abc\n",
        {"memory/memory.limit_in_bytes": "5"},
        5,
    ),
    "of the first version, none": (
        "4:memory:/\n",
        {"memory/memory.limit_in_bytes": "9223372036854771712"},
        None,
    ),
    "nobody says": ("", {}, None),
}


@pytest.mark.parametrize(("own", "files", "expected"), LIMITS.values(), ids=LIMITS)
def test_the_limit_is_read(
    tmp_path: Path, own: str, files: dict[str, str], expected: int | None
) -> None:
    """Short-cut refused: the machine's memory, or only the innermost group's limit."""
    (tmp_path / "own").write_text(own)
    for path, text in files.items():
        (tmp_path / "root" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / path).write_text(text)

    assert memory_limit(tmp_path / "root", tmp_path / "own") == expected


def test_elsewhere_nobody_says(tmp_path: Path) -> None:
    assert memory_limit(tmp_path, tmp_path / "gone") is None
