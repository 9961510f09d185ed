"""What differs between two trees of a git repository.

They are compared from the top: equal ones are passed over by their id, so that the cost follows
what differs and not what the repository holds.
"""

from collections.abc import Callable, Iterator

from bot.git.objects import Entries
from bot.git.port import MOST_DEEP, Difference

KPTFILE, TREE = "Kptfile", 0o040000


def differ(entries: Callable[[str], Entries], one: str, other: str) -> Difference:
    """Compare two trees.

    Args:
        entries: Gives the entries of a tree by its id.
        one: The first; "" for nothing at all.
        other: The second; "" as well.
    """
    files: dict[str, str] = {}
    packages: dict[str, tuple[str, str]] = {}
    for path, before, after, is_file in _walk(entries, (one, other), "", 0):
        if is_file:
            files[path] = after
        else:
            packages[path] = (before, after)
    return Difference(files, packages)


def is_package(entries: Entries) -> bool:
    """Whether a folder with these entries is a package."""
    return any(name == KPTFILE and mode != TREE for _, mode, name in entries)


_Found = tuple[str, str, str, bool]
"""A path, what is there before and after, and whether it is a file; a package otherwise."""


def _walk(
    entries: Callable[[str], Entries],
    trees: tuple[str, str],
    under: str,
    depth: int,
    *,
    freed: bool = False,
) -> Iterator[_Found]:
    """Every file and every package that differs; `freed` where a folder around is none any more."""
    one, other = trees
    if one == other:
        if freed and one:
            yield from _packages(entries, one, under, depth)
        return
    old, new = (entries(tree) if tree else () for tree in trees)
    was, now = is_package(old), is_package(new)
    if was or now:
        yield under.rstrip("/"), one if was else "", other if now else "", False
    freed = not now and (was or freed)
    alike = set[tuple[str, int, str]]() if freed else set(old) & set(new)
    before, after = (
        {each[2]: each[:2] for each in side if each not in alike} for side in (old, new)
    )
    for name in sorted(before.keys() | after.keys()):
        gone, came = before.get(name, ("", 0)), after.get(name, ("", 0))
        deep, path = depth >= MOST_DEEP, f"{under}{name}"
        if TREE in (gone[1], came[1]) and not deep:
            folders = (gone[0] if gone[1] == TREE else "", came[0] if came[1] == TREE else "")
            yield from _walk(entries, folders, f"{path}/", depth + 1, freed=freed)
        if gone != came:
            yield from _file(path, gone, came, deep=deep)


def _file(
    path: str, before: tuple[str, int], after: tuple[str, int], *, deep: bool
) -> Iterator[_Found]:
    """A file, or a folder that is too deep to look into."""
    if after[0] and (after[1] != TREE or deep):
        yield path, before[0], f"{after[1]:o} {after[0]}", True
    elif before[0] and (before[1] != TREE or deep):
        yield path, before[0], "", True


def _packages(
    entries: Callable[[str], Entries], tree: str, under: str, depth: int
) -> Iterator[_Found]:
    """The outermost packages of a tree, as those that do not differ."""
    found = entries(tree)
    if is_package(found):
        yield under.rstrip("/"), tree, tree, False
        return
    for sha, mode, name in found if depth < MOST_DEEP else ():
        if mode == TREE:
            yield from _packages(entries, sha, f"{under}{name}/", depth + 1)
