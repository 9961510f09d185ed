"""What is kept of git: in one room, by bytes, and what was used longest ago goes first."""

import gc
import sys
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

from bot.git import caches
from bot.git.caches import BoundedCache, MirrorCaches, ObjectCache
from bot.git.mirror import DiskMirror
from cadlib.limits import DEFAULT
from tests.bot.git.server import serve


def test_all_that_is_kept_is_bounded_by_bytes() -> None:
    """The short-cut counts values: a few large ones are more than all the others."""
    room = BoundedCache(10_000)
    known: ObjectCache[str] = ObjectCache(len, most=5_000, room=room)
    for n in range(100):
        assert known.get_or(str(n), lambda: "x" * 2_000) == "x" * 2_000
        assert room.bytes <= 10_000
    before = room.bytes
    assert known.get_or("large", lambda: "x" * 5_000) == "x" * 5_000
    assert (known.get("large"), room.bytes) == (None, before)
    known.keep("99", "y")
    assert (known.get("99"), room.bytes) == ("y", before - 1_999)


def test_what_was_used_longest_ago_goes_first() -> None:
    """Short-cuts refused: all goes at once, also what every look asks for; or what came first."""
    made: list[str] = []
    room = BoundedCache(10_000)
    known: ObjectCache[str] = ObjectCache(len, most=5_000, room=room)

    def made_of(key: str) -> str:
        made.append(key)
        return "x" * 1_000

    for n in range(50):
        known.get_or("base", lambda: made_of("base"))
        known.get_or(str(n), lambda: made_of("head"))

    assert (made.count("base"), made.count("head")) == (1, 50)
    assert known.get("48") is not None


def test_all_mirrors_share_one_room() -> None:
    """The short-cut gives each of a thousand repositories megabytes of its own."""
    room = BoundedCache(100_000)
    mirrors = [MirrorCaches(room) for _ in range(100)]
    for at, mirror in enumerate(mirrors):
        for n in range(20):
            mirror.bases.keep(f"{at} {n}", ("a" * 40,))
            mirror.held.keep(f"{at} {n}", False)
            assert mirror.held.get(f"{at} {n}") is False
    assert room.bytes <= 100_000
    assert mirrors[0].bases.get("0 0") is None
    assert mirrors[-1].bases.get("99 19") == ("a" * 40,)
    assert mirrors[-1].bases.get("98 19") is None, "what is kept of one mirror is not another's"


def test_what_is_kept_of_many_drafts_levels_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: a bound for each kind, above what anybody has; or one kind beside the
    room. The room is made smaller, so that it is full after some ten drafts."""
    monkeypatch.setattr(caches.SHARED_CACHE, "_most", 60_000)
    with serve(tmp_path / "remote" / "blueprints.git") as remote:
        base = remote.commit({"net/base/Kptfile": b"base"})
        text = b"# a comment\n" * 20
        heads = [
            remote.commit(
                {"net/base/Kptfile": b"base", f"edge/p{n}/Kptfile": text + b"%d" % n}, base
            )
            for n in range(40)
        ]
        mirror = DiskMirror(remote.folder, remote.url)
        kept = list[int]()
        for seen in (heads[:14], heads[14:]):
            for head in seen:
                _looks(mirror, base, head)
            kept.append(_held(mirror))

        assert caches.SHARED_CACHE.bytes <= 60_000
        assert kept[1] < kept[0] * 1.2
        with mirror.open() as git:
            assert caches.ENTRIES.get(git.root(heads[-1])), "what was used last is kept"


def _looks(mirror: DiskMirror, base: str, head: str) -> None:
    """Ask what a look at a draft asks."""
    with mirror.open() as git:
        [package] = git.difference(base, head).packages
        assert git.merged(base, head).tree == git.commit(head).tree
        assert git.merge_base(base, head) == base
        assert git.contains(head, base)
        git.files(git.tree(head, package), DEFAULT)


def _held(root: object) -> int:
    """Bytes of all values of git's that can be reached from a mirror or stand in the room."""
    seen, todo, found = set[int](), [root, caches.SHARED_CACHE], 0
    while todo:
        each = todo.pop()
        if id(each) in seen or isinstance(each, type | ModuleType | FunctionType):
            continue
        seen.add(id(each))
        found += sys.getsizeof(each)
        todo += gc.get_referents(each)
    return found
