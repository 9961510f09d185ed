"""Packs of what a push brings: the objects that the bot wrote and that a remote does not have yet.

Commits and tags that the bot did not write came from the forge, with all that they are made of. So
the new objects are those of the commits that it wrote, but for what their parents have at the same
place.

Source: https://git-scm.com/docs/gitformat-pack
"""

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from bot.git.commit import parse
from bot.git.difference import TREE
from bot.git.history import DiskHistory
from bot.git.objects import GitObject, parse_tree
from bot.git.port import MOST_TREE
from lifecycle.names import Sha

MOST_BYTES: Final = 1024 * 1024
"""Of the objects of one pack, before they are compressed: git sends more with deltas, and in
pieces."""

MOST_OBJECTS: Final = 500
"""Of one pack that is made here; each is read by itself."""

_KINDS = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
_SUBMODULE = 0o160000


class LargePackError(Exception):
    """A push brings more than is packed here."""


def pack(objects: Sequence[GitObject]) -> bytes:
    """Write a pack of whole objects."""
    body = bytearray(b"PACK" + (2).to_bytes(4) + len(objects).to_bytes(4))
    for each in objects:
        body += _head(_KINDS[each.kind], each.size) + zlib.compress(each.data, 1)
    return bytes(body) + hashlib.sha1(body, usedforsecurity=False).digest()


def _head(kind: int, size: int) -> bytes:
    """The kind of an object and its size: four bits of that first, then seven in each byte."""
    found, byte, size = bytearray(), kind << 4 | size & 15, size >> 4
    while size:
        found.append(byte | 128)
        byte, size = size & 127, size >> 7
    return bytes([*found, byte])


def new(git: DiskHistory, tips: Iterable[str], written: Callable[[str], bool]) -> list[GitObject]:
    """The objects behind some tips that a remote cannot have.

    Args:
        git: Has them.
        tips: Commits and tags.
        written: Whether a commit or a tag is one that the bot wrote and the remote does not show;
            all others the remote has.

    Raises:
        LargePackError: They are too many, or too large.
        MissingObjectError: One of them is not here.
    """
    found: dict[str, GitObject] = {}
    left = MOST_BYTES

    def take(sha: str) -> GitObject:
        nonlocal left
        read = git.object(sha, min(left, MOST_TREE))
        left -= read.size
        if left < 0 or read.size > len(read.data) or len(found) == MOST_OBJECTS:
            raise LargePackError
        found[sha] = read
        return read

    def below(tree: str, parents: Sequence[str]) -> None:
        """Take a tree that no parent has there, and what is new in it."""
        if tree in found or tree in parents:
            return
        before = [{name: (s, mode) for s, mode, name in git.entries(each)} for each in parents]
        for sha, mode, name in parse_tree(take(tree).data):
            there = [each[name] for each in before if name in each]
            if mode == TREE:
                below(sha, [s for s, m in there if m == TREE])
            elif mode != _SUBMODULE and sha not in found and sha not in {s for s, _ in there}:
                take(sha)

    for sha in _written(git, tips, written, take):
        commit = parse(Sha(sha), found[sha].data, cut=False)
        below(commit.tree, [git.root(parent) for parent in commit.parents])
    return list(found.values())


def _written(
    git: DiskHistory,
    tips: Iterable[str],
    written: Callable[[str], bool],
    take: Callable[[str], GitObject],
) -> Iterator[str]:
    """Take the tags and commits that the bot wrote; yields the commits, parents last."""
    left, seen = list(tips), set[str]()
    while left:
        sha = left.pop()
        if sha in seen or not written(sha):
            continue
        seen.add(sha)
        made = take(sha)
        if made.kind == "tag":
            left.append(made.data.split(b"\n", 1)[0].removeprefix(b"object ").decode())
            continue
        left += git.commit(sha).parents
        yield sha
