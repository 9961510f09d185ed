"""Git as the forge reads and writes it, beside git itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.sandbox.errors import GitError
from bot.sandbox.git import history, objects, trees
from bot.sandbox.git.bare import BareGit, BareStore
from bot.sandbox.git.objects import Ident, TagObject, TreeEntry
from bot.sandbox.git.protocol import NewCommit
from bot.sandbox.records.refs import ZERO, RefChange
from tests.bot.sandbox.world import Git

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
ANN = Ident("Ann", "ann@x.example", NOW)


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[BareGit]:
    """An empty bare repository."""
    store = BareStore(tmp_path / "store")
    store.create(1, None, "main")
    yield store.open(1)
    store.close()


def commit(git: BareGit, files: dict[str, bytes], *parents: str, day: int = 0) -> str:
    """Write a commit with these files."""
    tree: str | None = None
    for path, content in files.items():
        tree = trees.put(git, tree, path, ("100644", git.write_blob(content)))
    who = Ident("Ann", "ann@x.example", NOW + timedelta(days=day))
    return git.write_commit(
        NewCommit(
            tree=tree or git.write_tree(()),
            parents=parents,
            message="Words\n",
            author=who,
            committer=who,
        )
    )


def test_git_finds_what_was_written_sound(bare: BareGit, tmp_path: Path) -> None:
    """Fails on objects that only this code can read: fsck is strict about order and form."""
    files = {"a/b/c": b"1", "a.txt": b"2", "a-b": b"3", "ä": b"4", "empty": b""}
    first = commit(bare, files)
    zone = timezone(timedelta(hours=-3, minutes=-30))
    tagger = Ident("Bo", "bo@x.example", NOW.astimezone(zone))
    tag = bare.write_tag(
        TagObject(name="v1", target=first, kind="commit", tagger=tagger, message="One")
    )
    assert bare.move(
        [
            RefChange(ref="refs/heads/main", before=ZERO, after=first),
            RefChange(ref="refs/tags/v1", before=ZERO, after=tag),
        ]
    )
    words = Git(tmp_path, "ann").run("-C", str(bare.path), "fsck", "--strict", "--full")
    assert "error" not in words
    assert bare.refs() == {"refs/heads/main": first, "refs/tags/v1": tag}
    assert bare.tag(tag).tagger == tagger
    assert bare.tag(tag).message == "One\n"
    names = Git(tmp_path, "ann").run(
        "-C", str(bare.path), "-c", "core.quotePath=off", "ls-tree", "-r", "--name-only", first
    )
    assert set(names.splitlines()) == set(files)
    entry = trees.entry_at(bare, first, "a/b/c")
    assert entry is not None
    assert bare.blob(entry.sha) == b"1"
    assert trees.entry_at(bare, first, "a/b/c/d") is None
    emptied = trees.put(bare, bare.commit(first).tree, "a/b/c", None)
    assert emptied is not None
    assert "a" not in [e.name for e in bare.tree(emptied)]


def test_refs_move_together_or_not_at_all(bare: BareGit) -> None:
    """Fails on a move that sets what it can and then tells of the rest."""
    one, two = commit(bare, {"a": b"1"}), commit(bare, {"a": b"2"})
    assert bare.move([RefChange(ref="refs/heads/a", before=ZERO, after=one)])
    wrong = [
        RefChange(ref="refs/heads/b", before=ZERO, after=one),
        RefChange(ref="refs/heads/a", before=two, after=ZERO),
    ]
    assert not bare.move(wrong)
    assert bare.refs() == {"refs/heads/a": one}
    assert bare.move([RefChange(ref="refs/heads/a", before=one, after=two)])
    assert bare.move([RefChange(ref="refs/heads/a", before=two, after=ZERO)])
    assert bare.move([RefChange(ref="refs/heads/a/b", before=ZERO, after=one)])
    assert bare.move([RefChange(ref="refs/heads/a/b", before=one, after=ZERO)])
    assert bare.move([RefChange(ref="refs/heads/a", before=ZERO, after=one)])


def test_merging_and_history(bare: BareGit) -> None:
    base = commit(bare, {"a": b"1\n", "b": b"1\n"})
    ours = commit(bare, {"a": b"2\n", "b": b"1\n"}, base, day=1)
    theirs = commit(bare, {"a": b"1\n", "b": b"2\n"}, base, day=2)
    clash = commit(bare, {"a": b"3\n", "b": b"1\n"}, base, day=3)
    tree = bare.merge_tree(ours, theirs)
    assert tree is not None
    merged = {e.name: bare.blob(e.sha) for e in bare.tree(tree)}
    assert merged == {"a": b"2\n", "b": b"2\n"}
    assert bare.merge_tree(ours, clash) is None
    assert history.merge_base(bare, ours, theirs) == base
    assert history.merge_base(bare, ours, commit(bare, {"z": b"1"})) is None
    both = commit(bare, {"a": b"2\n", "b": b"2\n"}, ours, theirs, day=4)
    assert history.commits_between(bare, base, both) == [ours, theirs, both]
    assert history.contains(bare, both, theirs)
    assert not history.contains(bare, ours, both)
    with pytest.raises(GitError, match="is not a commit"):
        bare.commit("1" * 40)


def test_parents_come_before_children_whatever_their_clocks_say(bare: BareGit) -> None:
    """Fails on an order by date: clocks of people disagree."""
    base = commit(bare, {"a": b"0"}, day=9)
    first = commit(bare, {"a": b"1"}, base, day=8)
    second = commit(bare, {"a": b"2"}, first, day=2)
    third = commit(bare, {"a": b"3"}, second, day=5)
    assert history.commits_between(bare, base, third) == [first, second, third]


def test_differences(bare: BareGit) -> None:
    old = commit(bare, {"same": b"1\n", "gone": b"1\n2\n", "bin": b"\0", "move me": b"x\n" * 9})
    new = commit(
        bare,
        {"same": b"1\n", "new": b"diff --git a/x b/x\n", "bin": b"\1\0", "moved": b"x\n" * 9},
    )
    found = {f.path: f for f in bare.diff(old, new)}
    assert {p: f.status for p, f in found.items()} == {
        "bin": "modified",
        "gone": "removed",
        "moved": "renamed",
        "new": "added",
    }
    assert found["bin"].patch is None
    assert found["moved"].old_path == "move me"
    assert (found["gone"].deletions, found["new"].additions) == (2, 1)
    assert found["new"].patch == "@@ -0,0 +1 @@\n+diff --git a/x b/x"
    assert {f.path for f in bare.diff(None, new)} == {"same", "new", "bin", "moved"}
    assert bare.diff(new, new) == ()


def test_a_file_that_becomes_a_link(bare: BareGit) -> None:
    """Git tells it as one file and writes two patches."""
    blob = bare.write_blob(b"target")
    trees = [
        bare.write_tree(
            [TreeEntry(mode=mode, name="f", sha=blob), TreeEntry(mode="100644", name="z", sha=z)]
        )
        for mode, z in (
            ("100644", bare.write_blob(b"1\n")),
            ("120000", bare.write_blob(b"2\n")),
        )
    ]
    old, new = (
        bare.write_commit(NewCommit(tree=t, parents=(), message="m", author=ANN, committer=ANN))
        for t in trees
    )
    found = bare.diff(old, new)
    assert [(f.path, f.status) for f in found] == [("f", "changed"), ("z", "modified")]
    assert found[1].patch == "@@ -1 +1 @@\n-1\n+2"


@given(
    names=st.lists(
        st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1),
        unique=True,
        max_size=8,
    ),
    mode=st.sampled_from(["100644", "100755", "120000", "40000", "160000"]),
)
@settings(max_examples=50)
def test_trees_are_read_as_they_were_written(names: list[str], mode: str) -> None:
    entries = [TreeEntry(mode=mode, name=name, sha="ab" * 20) for name in names]
    assert set(objects.read_tree(objects.tree_bytes(entries))) == set(entries)


@given(
    name=st.text(st.characters(exclude_characters="<>\n\0", exclude_categories=["Cs", "Cc"])),
    minutes=st.integers(-12 * 60, 14 * 60),
    message=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
)
@settings(max_examples=50)
def test_commits_are_read_as_they_were_written(name: str, minutes: int, message: str) -> None:
    when = NOW.astimezone(timezone(timedelta(minutes=minutes)))
    who = Ident(name.strip(), "a@b", when)
    written = objects.commit_bytes("1" * 40, ["2" * 40], message, author=who, committer=ANN)
    read = objects.read_commit("3" * 40, written)
    assert (read.author, read.parents, read.message) == (who, ("2" * 40,), message)


def test_a_signed_commit_keeps_its_headers_apart() -> None:
    text = (
        b"tree 1111111111111111111111111111111111111111\n"
        b"author A <a@b> 0 +0000\ncommitter A <a@b> 0 +0000\n"
        b"gpgsig -----BEGIN-----\n \n abc\n -----END-----\n\nWords\n\nparent x\n"
    )
    read = objects.read_commit("3" * 40, text)
    assert (read.signed, read.parents, read.message) == (True, (), "Words\n\nparent x\n")
