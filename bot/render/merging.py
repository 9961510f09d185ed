"""Merges what two branches made of a package, and says it in bytes, to pass between processes."""

import json
from typing import Any

from bot.render.encoded import EncodedError
from cadlib.errors import PackageError
from cadlib.merge.conflicts import Conflict
from cadlib.package.files import KPTFILE, Entry, Files, join
from cadlib.update.branches import merge_branches, removed
from lifecycle.drafting.make import conflict
from lifecycle.facts.update import MOST_CONFLICTS, PackageMerge, UpdateConflict

_MOST_TEXT = 300


def merge(package: str, base: Files, ours: Files, theirs: Files) -> PackageMerge:
    """Merge one package.

    Args:
        package: Its path in the repository, by which all files are told.
        base: Its files where the branches parted; none where it was not there, as in the others.
        ours: Its files on the branch that is written to.
        theirs: Its files on the other branch.
    """
    if base and not (ours and theirs):
        gone = not ours and not theirs
        return _conflicting(package, () if gone else (removed(not ours),))
    try:
        found = merge_branches(base, ours, theirs)
    except PackageError as error:
        return unmerged(package, error)
    if found.conflicts:
        return _conflicting(package, found.conflicts)
    return PackageMerge(files={join(package, path): each for path, each in found.files.items()})


def unmerged(package: str, error: PackageError) -> PackageMerge:
    """A package that cannot be merged, and why."""
    place = join(package, error.place.path) if error.place.path else package or KPTFILE
    return PackageMerge(problem=f"{place}: {error.problem}"[:_MOST_TEXT])


def _conflicting(package: str, conflicts: tuple[Conflict, ...]) -> PackageMerge:
    return PackageMerge(
        conflicts=tuple(conflict(package, each) for each in conflicts[:MOST_CONFLICTS]),
        more=max(0, len(conflicts) - MOST_CONFLICTS),
    )


def write(merged: PackageMerge) -> bytes:
    """Write a merged package: a line of JSON, then its files, one after the other."""
    files = [
        (path, None if each is None else (each.mode, len(each.data)))
        for path, each in merged.files.items()
    ]
    told = [[getattr(each, name) for name in _NAMES] for each in merged.conflicts]
    line = json.dumps([files, told, merged.more, merged.problem, merged.private]).encode()
    return b"".join((line, b"\n", *(each.data for each in merged.files.values() if each)))


def read(data: bytes) -> PackageMerge:
    """Read a merged package; it comes from a process that read what somebody pushed.

    Raises:
        EncodedError: It is none.
    """
    line, _, rest = data.partition(b"\n")
    try:
        files, told, more, problem, private = json.loads(line)
        conflicts = tuple(UpdateConflict(**dict(zip(_NAMES, row, strict=True))) for row in told)
        found = PackageMerge(
            files=_files(files, rest),
            conflicts=conflicts,
            more=int(more),
            problem=str(problem),
            private=bool(private),
        )
    except (ValueError, TypeError, RecursionError) as error:
        raise EncodedError(f"no merged package: {error}") from error
    for each in found.conflicts:
        texts = (getattr(each, name) for name in _NAMES if name != "line")
        if not all(isinstance(text, str) for text in texts) or type(each.line) is not int:
            raise EncodedError("no merged package: a conflict that is no text")
    return found


_NAMES = ("path", "resource", "field", "base", "ours", "theirs", "reason", "line", "chosen")


def _files(rows: Any, data: bytes) -> dict[str, Entry | None]:
    found: dict[str, Entry | None] = {}
    begin = 0
    for path, entry in rows:
        if not isinstance(path, str):
            raise EncodedError("no merged package: a path that is no text")
        if entry is None:
            found[path] = None
            continue
        mode, size = entry
        if mode not in ("100644", "100755") or not isinstance(size, int) or size < 0:
            raise EncodedError(f"no merged package: {mode!r} and {size!r} of a file")
        found[path] = Entry(data[begin : begin + size], mode)
        begin += size
    if begin != len(data):
        raise EncodedError(f"no merged package: {len(data)} bytes of files, not {begin}")
    return found
