"""What merging two commits comes to, file by file and line by line, on objects in memory.

Where git would follow a renamed file, or a name is a file on one side and a folder on the other, or
the merge bases themselves conflict, this stops with NotImplementedError: following git there would
take its own algorithm, and guessing would make the comparison with git worthless.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Protocol

from bot.git import refs as git_refs
from bot.git.difference import TREE
from bot.git.objects import Entries, GitObject
from tests.memory.git_objects import tree_of


class Trees(Protocol):
    """Where the commits are."""

    def root(self, commit: str) -> str:
        """The tree of a commit."""

    def entries(self, tree: str) -> Entries:
        """What a tree holds."""

    def object(self, sha: str, most: int) -> GitObject:
        """An object, with the first bytes of its data."""

    def store(self, kind: str, data: bytes) -> str:
        """Keep an object."""

    def bases(self, one: str, other: str) -> tuple[str, ...]:
        """The best common ancestors, the newest first."""


def merge(git: Trees, one: str, other: str) -> tuple[str, set[str]]:
    """Merge two commits: the tree of the result, and the paths that conflict."""
    bases = git.bases(one, other)
    ground = git.root(bases[0]) if bases else git.store("tree", b"")
    if len(bases) > 1:
        ground = _virtual(git, bases)
    ours, theirs = git.root(one), git.root(other)
    mine, yours = _changed(git, ground, ours), _changed(git, ground, theirs)
    _refuse_renames(mine, yours)
    changes: dict[str, str] = {}
    conflicts = set()
    for path, (before, after) in yours.items():
        if path not in mine:
            changes[path] = after
        elif mine[path][1] != after:
            merged = _file(git, before, mine[path][1], after)
            if merged is None:
                conflicts.add(path)
            else:
                changes[path] = merged
    return _with(git, ours, changes), conflicts


def _virtual(git: Trees, bases: Sequence[str]) -> str:
    """The tree that several merge bases stand for: the merge of them all."""
    if len(bases) > 2:
        raise NotImplementedError("more than two merge bases")
    tree, conflicts = merge(git, bases[1], bases[0])
    if conflicts:
        raise NotImplementedError("merge bases that conflict with one another")
    return tree


def _changed(git: Trees, before: str, after: str) -> dict[str, tuple[str, str]]:
    """Path to mode and id before and after."""
    old, new = dict(_listed(git, before, "")), dict(_listed(git, after, ""))
    return {
        path: (old.get(path, ""), new.get(path, ""))
        for path in old.keys() | new.keys()
        if old.get(path) != new.get(path)
    }


def _listed(git: Trees, tree: str, under: str) -> Iterator[tuple[str, str]]:
    for sha, mode, name in git.entries(tree):
        if mode == TREE:
            yield from _listed(git, sha, f"{under}{name}/")
        else:
            yield f"{under}{name}", f"{mode:o} {sha}"


def _file(git: Trees, before: str, mine: str, yours: str) -> str | None:
    """A file that both sides changed; None where they conflict."""
    if not (before and mine and yours):
        return None  # added twice, or deleted and changed
    (mode, _), (my_mode, _), (your_mode, _) = (e.split() for e in (before, mine, yours))
    if not all(m.startswith("100") for m in (mode, my_mode, your_mode)):
        return None
    sides = [git.object(e.split()[1], 1 << 40).data for e in (before, mine, yours)]
    text = merge_lines(*sides)
    if text is None or (my_mode != your_mode and mode not in (my_mode, your_mode)):
        return None
    return f"{my_mode if your_mode == mode else your_mode} {git.store('blob', text)}"


def _with(git: Trees, tree: str, changes: Mapping[str, str]) -> str:
    """A tree with other entries at some paths."""
    files = dict(_listed(git, tree, "")) | dict(changes)
    return tree_of(git.store, {path: each for path, each in files.items() if each})


def merge_lines(before: bytes, mine: bytes, yours: bytes) -> bytes | None:
    """Merge two changes of a text; None where they touch, or where it is no text."""
    if any(b"\0" in side for side in (before, mine, yours)):
        return None
    old = before.splitlines(keepends=True)
    hunks = []
    for side in (mine, yours):
        new = side.splitlines(keepends=True)
        codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        hunks.append([(i, j, tuple(new[k:m])) for tag, i, j, k, m in codes if tag != "equal"])
    together = sorted({*hunks[0], *hunks[1]})
    for (_, end, _), (begin, _, _) in pairwise(together):
        if begin <= end:
            return None
    for begin, end, lines in reversed(together):
        old[begin:end] = lines
    return b"".join(old)


def _refuse_renames(
    mine: Mapping[str, tuple[str, str]], yours: Mapping[str, tuple[str, str]]
) -> None:
    """Stop where git would follow a file, or a name is a file here and a folder there."""
    for one, other in ((mine, yours), (yours, mine)):
        gone = {path for path, (_, after) in one.items() if not after}
        came = {path for path, (before, _) in one.items() if not before}
        folders = {path.rpartition("/")[0] for path in gone}
        touched = gone & {path for path, (_, after) in other.items() if after}
        touched |= {p for p, (b, _) in other.items() if not b and p.rpartition("/")[0] in folders}
        if came and gone and touched:
            raise NotImplementedError(f"a merge that may follow renamed files: {sorted(touched)}")
        taken = {path for path, (_, after) in other.items() if after}
        if any(git_refs.inside(p, t) and p != t for p in came for t in taken):
            raise NotImplementedError("a file on one side and a folder on the other")
