"""Refs on disk as git has them, and what changes in them, without reading all of them again."""

import subprocess
from pathlib import Path

import pytest

from bot.sandbox.git.disk_refs import DiskRefs
from bot.sandbox.records.refs import ZERO


def git(folder: Path, *arguments: str, given: str = "") -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, input=given, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--bare", ".")
    return tmp_path


def told(refs: DiskRefs, known: dict[str, str]) -> dict[str, tuple[str, str]]:
    """What changed; whoever is told knows it from then on."""
    changes = refs.changes(known)
    for change in changes:
        if change.after == ZERO:
            known.pop(change.ref)
        else:
            known[change.ref] = change.after
    return {change.ref: (change.before, change.after) for change in changes}


def test_every_way_in_which_refs_change_is_seen(bare: Path) -> None:
    """The short-cut looks at loose refs alone: what was packed and is deleted stays for ever."""
    one, two = (git(bare, "hash-object", "-w", "--stdin", given=text) for text in ("1", "2"))
    refs, known = DiskRefs(bare), dict[str, str]()
    main, tag, deep = "refs/tags/main", "refs/tags/net/core/v1", "refs/tags/a/b/c/d"
    for ref in (main, tag, deep, "refs/pull/1/head"):
        git(bare, "update-ref", ref, one)

    assert told(refs, known) == dict.fromkeys([main, tag, deep], (ZERO, one))
    assert told(refs, known) == {}
    git(bare, "pack-refs", "--all", "--prune")
    assert told(refs, known) == {}
    git(bare, "update-ref", main, two)
    assert told(refs, known) == {main: (one, two)}
    git(bare, "update-ref", "-d", tag)
    git(bare, "update-ref", "-d", main)
    assert told(refs, known) == {tag: (one, ZERO), main: (two, ZERO)}
    # Made by whoever asks, and taken away by somebody else, with no call in between.
    refs.touched([tag])
    git(bare, "update-ref", tag, two)
    known[tag] = two
    git(bare, "update-ref", "-d", tag)
    assert told(refs, known) == {tag: (two, ZERO)}
    assert refs.all() == known == {deep: one}


def test_packed_refs_are_read_once(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut reads them at each push: what that takes grows with the tags."""
    sha = git(bare, "hash-object", "-w", "--stdin", given="1")
    script = "".join(f"create refs/tags/p/v{i} {sha}\n" for i in range(100))
    git(bare, "update-ref", "--stdin", given=script)
    git(bare, "pack-refs", "--all", "--prune")
    refs = DiskRefs(bare)
    known = refs.all()
    refs.changes(known)
    read: list[Path] = []
    plain = Path.read_text

    def counted(self: Path, *arguments: str) -> str:
        read.append(self.relative_to(bare))
        return plain(self, *arguments)

    monkeypatch.setattr(Path, "read_text", counted)
    git(bare, "update-ref", "refs/tags/q/v1", sha)
    assert list(told(refs, known)) == ["refs/tags/q/v1"]
    assert read == [Path("refs/tags/q/v1")]


def test_a_push_reads_the_files_of_its_own_refs(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut reads every ref that is a file: what a push costs grows with earlier pushes."""
    sha, other = (git(bare, "hash-object", "-w", "--stdin", given=text) for text in ("1", "2"))
    for number in range(5):
        git(bare, "update-ref", f"refs/tags/p/v{number}", sha)
    refs, known = DiskRefs(bare), dict[str, str]()
    told(refs, known)
    read: list[Path] = []
    plain = Path.read_text

    def counted(self: Path, *arguments: str) -> str:
        read.append(self.relative_to(bare))
        return plain(self, *arguments)

    monkeypatch.setattr(Path, "read_text", counted)
    moved = ["refs/tags/p/v1", "refs/tags/p/v2", "refs/tags/p/v2/below", "refs/tags/q"]
    git(bare, "update-ref", moved[0], other)
    git(bare, "update-ref", "-d", moved[1])

    found = {change.ref: change.after for change in refs.changes(known, moved)}
    assert found == {moved[0]: other, moved[1]: ZERO}
    assert sorted(read) == sorted(map(Path, moved))
    # What was packed meanwhile is no change.
    git(bare, "pack-refs", "--all", "--prune")
    known |= {moved[0]: other}
    del known[moved[1]]
    assert refs.changes(known, moved) == []
