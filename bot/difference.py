"""What differs between two trees of a git repository.

They are compared from the top: equal ones are passed over by their id, so that the cost follows
what differs and not what the repository holds.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

TREE = 0o040000
MOST_DEEP = 100
"""Folders within folders: the deepest real package has 9, and Python's stack ends at 1000."""

Entries = tuple[tuple[str, int, str], ...]
"""The entries of one tree: id, mode, name."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between two trees.

    Attributes:
        files: Path to mode and id in the second; "" for one that is gone.
        packages: Folder with a `Kptfile` in either to its tree in the first and in the second; ""
            where there is no such folder.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def differ(entries: Callable[[str], Entries], one: str, other: str) -> Difference:
    """Compare two trees.

    Args:
        entries: Gives the entries of a tree by its id.
        one: The first; "" for nothing at all.
        other: The second; "" as well.
    """
    files: dict[str, str] = {}
    packages: dict[str, tuple[str, str]] = {}
    for path, before, after, is_file in _walk(entries, one, other, "", 0):
        if is_file:
            files[path] = after
        else:
            packages[path] = (before, after)
    return Difference(files, packages)


def _walk(
    entries: Callable[[str], Entries], one: str, other: str, under: str, depth: int
) -> Iterator[tuple[str, str, str, bool]]:
    """Every file and every package that differs: path, before, after, whether it is a file."""
    if one == other:
        return
    old, new = (entries(tree) if tree else () for tree in (one, other))
    if any(name == "Kptfile" and mode != TREE for side in (old, new) for _, mode, name in side):
        yield under.rstrip("/"), one, other, False
    changed = set(old) ^ set(new)
    was, now = (
        {name: (sha, mode) for sha, mode, name in side if (sha, mode, name) in changed}
        for side in (old, new)
    )
    for name in sorted(was.keys() | now.keys()):
        (before, before_mode), (after, mode) = was.get(name, ("", 0)), now.get(name, ("", 0))
        deep, path = depth >= MOST_DEEP, f"{under}{name}"
        if TREE in (before_mode, mode) and not deep:
            folders = (before if before_mode == TREE else "", after if mode == TREE else "")
            yield from _walk(entries, *folders, f"{path}/", depth + 1)
        if after and (mode != TREE or deep):
            yield path, before, f"{mode:o} {after}", True
        elif before and (before_mode != TREE or deep):
            yield path, before, "", True
