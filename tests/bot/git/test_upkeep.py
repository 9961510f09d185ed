"""Mirrors are kept in shape: few packs, few loose objects, and nothing lost by it."""

import os
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.git import upkeep
from bot.git.mirror import DiskMirrors
from bot.git.port import GitIdentity
from tests.bot.git.server import TOKEN, Remote, serve
from tests.ids import on_github
from tests.memory.git_objects import MemoryObjects

WHO, WHEN = GitIdentity("bot", "bot@forge.example"), datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Remote]:
    with serve(tmp_path / "remote" / "blueprints.git") as served:
        yield served


def _loosen(folder: Path) -> int:
    """Leave as many loose objects in one folder as thousands of small fetches would."""
    made, numbers = MemoryObjects(), iter(range(100_000))
    count = 0
    while count <= upkeep.MOST_LOOSE:
        data = b"%d" % next(numbers)
        sha = made.store("blob", data)
        if sha.startswith("17"):
            path = folder / "objects" / sha[:2] / sha[2:]
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(zlib.compress(b"blob %d\0%s" % (len(data), data)))
            count += 1
    return count


def test_a_mirror_is_repacked_when_it_has_to_be_and_loses_nothing(
    remote: Remote, tmp_path: Path
) -> None:
    """The short-cut is `git gc`: what a look wrote and no ref names yet is gone.

    Or it repacks at each sweep, whatever there is to do.
    """
    head = remote.commit({"a": b"1"}, ref="refs/heads/main")
    mirrors = DiskMirrors(tmp_path / "mirrors")
    mirror = mirrors.of(on_github(1), remote.url)
    mirror.fetch(TOKEN)
    packs = mirror.folder / "objects" / "pack"
    with mirror.open() as git:
        new = git.write_commit(head, {"b": b"not in any ref"}, WHO, WHEN, lambda _: "m")
        assert mirrors.trim() == []
        assert list(packs.glob("*.pack")) == []  # nothing to do yet

        _loosen(mirror.folder)
        (packs / "tmp_pack_left").write_bytes(b"of one that was ended")
        assert mirrors.trim() == []
        [packed] = packs.glob("*.pack")
        assert not list((mirror.folder / "objects").glob("17/*"))
        assert not (packs / "tmp_pack_left").exists()
        assert git.blob(new, "b", 99) == b"not in any ref"  # who had it open reads on
    with mirror.open() as git:
        assert (git.ref("refs/heads/main"), git.commit(new).parents) == (head, (head,))

    made = packed.stat().st_mtime_ns
    assert mirrors.trim() == []
    assert [p.stat().st_mtime_ns for p in packs.glob("*.pack")] == [made]


def test_a_mirror_that_takes_too_long_is_left_as_it_was(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut waits: nobody fetches into the mirror, and its looks stand still."""
    head = remote.commit({"a": b"1"}, ref="refs/heads/main")
    mirror = DiskMirrors(tmp_path / "mirrors").of(on_github(1), remote.url)
    mirror.fetch(TOKEN)
    count = _loosen(mirror.folder)

    endless = tmp_path / "endless"  # a git that ends within no time that a test could give it
    endless.mkdir()
    (endless / "git").write_text("#!/bin/sh\nexec sleep 1000\n")
    (endless / "git").chmod(0o755)
    with monkeypatch.context() as patched:
        patched.setenv("PATH", f"{endless}{os.pathsep}{os.environ['PATH']}")
        assert not upkeep.tidy(mirror.folder, seconds=0)
    assert len(list((mirror.folder / "objects").glob("17/*"))) >= count
    assert upkeep.tidy(mirror.folder)
    with mirror.open() as git:
        assert git.ref("refs/heads/main") == head
