"""Keep a mirror in shape: many small fetches leave many loose objects and packs.

What is loose and what lies in small packs is put into one pack; nothing is dropped, also what no
ref names yet: a look may have just written it. Open readers find the new pack by themselves.
"""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from bot.git.process import GitSlowError, run

MOST_PACKS = 50
"""Git looks into each for what it does not find; the number is its own (gc.autoPackLimit)."""

MOST_LOOSE = 27
"""Loose objects in one of 256 folders: some 6,700 in all, as for git's own gc.auto."""

MOST_LOOSE_REFS = 1_000
"""Refs in files of their own: each is opened at each fetch."""

_LEFT = ("pack/tmp_*", "pack/.tmp-*", "tmp_obj_*", "??/tmp_obj_*")
"""Files that git writes and renames; large ones that come alone are loose from the start."""

_REPACKING = {"pack.windowMemory": "64m"}
"""Of each thread: git compares a file with ten others, and keeps all of them."""

SECONDS = 60.0
"""For one mirror; nobody else fetches into it meanwhile."""


def needed(folder: Path) -> bool:
    """Whether a mirror has grown out of shape; it is not read for that, only listed."""
    objects = folder / "objects"
    if sum(1 for _ in objects.glob("pack/*.pack")) > MOST_PACKS:
        return True
    if sum(1 for _ in objects.glob("17/*")) > MOST_LOOSE:
        return True
    return sum(1 for file in folder.glob("refs/**/*") if file.is_file()) > MOST_LOOSE_REFS


def has_tips(folder: Path, tips: Iterable[str]) -> bool:
    """Whether the objects of refs may be there, as far as names and sizes of files tell.

    Git looks as closely at each fetch: power that fails leaves files without content.
    """
    objects, packed = folder / "objects", None
    for sha in set(tips):
        try:
            if not (objects / sha[:2] / sha[2:]).stat().st_size:
                return False
        except FileNotFoundError:
            if packed is None:
                packed = any(objects.glob("pack/*.pack"))
            if not packed:
                return False
    return True


def clear(folder: Path) -> int:
    """Remove what a git left that was ended; the lock of the mirror must be held.

    Returns:
        Bytes of the largest file of that; 0 for nothing.
    """
    largest = 0
    for left in (each for kind in _LEFT for each in (folder / "objects").glob(kind)):
        with suppress(FileNotFoundError):
            largest = max(largest, left.stat().st_size)
        left.unlink(missing_ok=True)
    return largest


def tidy(folder: Path, seconds: float = SECONDS) -> bool:
    """Put a mirror in shape; its lock must be held.

    Args:
        folder: The mirror.
        seconds: Until git is ended; then all is as before, and tried again later.

    Returns:
        Whether it came to an end.
    """
    clear(folder)
    # Packs twice as large as all smaller ones together stay as they are: large ones seldom move.
    for arguments in (["repack", "--geometric=2", "-d", "-q"], ["pack-refs", "--all", "--prune"]):
        try:
            if run(folder, arguments, env=_REPACKING, timeout=seconds).returncode:
                return False
        except GitSlowError:
            return False
    return True
