"""Git: mirrors follow and heal, objects are read as they are, refs move from where they were.

Longer than 400 lines: one stand-in for a remote, and what it may do to a mirror.
"""

import os
import random
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from bot.git import history as git_history
from bot.git import merge as git_merge
from bot.git import mirror as git_mirror
from bot.git import refs as git_refs
from bot.git import trees as git_trees
from bot.git.mirror import DiskMirror, DiskMirrors
from bot.git.port import (
    GitBusyError,
    GitIdentity,
    GitRefusedError,
    MissingObjectError,
    ObjectTooLargeError,
    Pushed,
    RefUpdate,
)
from bot.git.process import authorised, run
from cadlib.errors import PackageError
from cadlib.limits import DEFAULT
from lifecycle.identity import RepositoryId
from lifecycle.names import Ref
from tests.bot.git.server import PASSWORD, TOKEN, Remote, serve
from tests.ids import on_github

MAIN, DRAFT = Ref("refs/heads/main"), Ref("refs/heads/drafts/net/core/v1")
WHO = GitIdentity("porchbot[bot]", "porchbot[bot]@users.noreply.github.com")
WHEN = datetime(2026, 11, 21, 12, tzinfo=UTC)
FILES: dict[str, bytes | str] = {
    "README.md": b"read me\n",
    "net/core/Kptfile": b"kind: Kptfile\n",
    "net/core/a.yaml": b"a: 1\n",
    "net/core/sub/Kptfile": b"kind: Kptfile\n",
    "net/other.yaml": b"b: 2\n",
}


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Remote]:
    with serve(tmp_path / "remote" / "blueprints.git") as served:
        yield served


@pytest.fixture
def mirror(remote: Remote, tmp_path: Path) -> DiskMirror:
    return DiskMirror(tmp_path / "mirrors" / "1.git", remote.url)


def _mirrored(mirror: DiskMirror) -> dict[str, str]:
    with mirror.open() as git:
        return {ref: sha for ref, (sha, _) in git.refs().items()}


# --- fetching -------------------------------------------------------------------------------------


def test_a_push_needs_the_ref_to_be_where_it_was_seen(remote: Remote, mirror: DiskMirror) -> None:
    """The short-cut is --force, or a lease without a commit: the person's push between is lost."""
    seen = remote.commit(FILES, ref=DRAFT)
    mirror.fetch(TOKEN)
    with mirror.open() as git:
        ours = git.write_commit(seen, {"net/core/a.yaml": b"a: 2\n"}, WHO, WHEN, lambda _: "ours")
    theirs = remote.commit({**FILES, "new": b""}, seen, ref=DRAFT)

    assert mirror.push(TOKEN, [RefUpdate(DRAFT, seen, ours)]) is Pushed.MOVED
    # Not even when a fetch has told the mirror in the meantime, which a bare lease would believe.
    mirror.fetch(TOKEN)
    assert mirror.push(TOKEN, [RefUpdate(DRAFT, seen, ours)]) is Pushed.MOVED
    assert remote.refs() == {DRAFT: theirs}


def test_a_mirror_follows(remote: Remote, mirror: DiskMirror) -> None:
    first = remote.commit(FILES, ref=MAIN)
    draft = remote.commit({**FILES, "x": b""}, first, ref=DRAFT)
    remote.git("tag", "--annotate", "--message", "one", "net/core/v1", first)
    mirror.fetch(TOKEN)
    assert _mirrored(mirror) == remote.refs()
    with mirror.open() as git:
        assert (git.ref("refs/tags/net/core/v1"), git.ref(DRAFT)) == (first, draft)
        assert git.ref("net/core/v1") is None

    # Forced, deleted, moved: and a branch where a folder of branches was.
    remote.git("update-ref", "-d", DRAFT)
    remote.commit(FILES, first, ref="refs/heads/drafts/net")
    remote.commit({"y": b""}, ref=MAIN)
    remote.git("tag", "--delete", "net/core/v1")
    mirror.fetch(TOKEN)
    assert _mirrored(mirror) == remote.refs()


def test_a_fetch_that_changes_nothing_is_quick(remote: Remote, mirror: DiskMirror) -> None:
    remote.commit(FILES, ref=MAIN)
    mirror.fetch(TOKEN)
    remote.requests.clear()
    for _ in range(5):
        mirror.fetch(TOKEN)

    # Nearly all of it is the other end, two processes a request; it is asked once what it can do.
    assert len(remote.requests) == 6


def test_fetches_asked_for_at_once_are_one(remote: Remote, mirror: DiskMirror) -> None:
    remote.commit(FILES, ref=MAIN)
    mirror.fetch(TOKEN)
    remote.requests.clear()

    at_once = time.monotonic()  # whenever the machine lets each of them begin
    threads = [threading.Thread(target=mirror.fetch, args=(TOKEN, at_once)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(remote.requests) == 2  # what the remote can do, and one list of refs


def test_two_processes_fetch_into_one_mirror(remote: Remote, mirror: DiskMirror) -> None:
    remote.commit(FILES, ref=MAIN)
    script = (
        "import gc, sys; from pathlib import Path; gc.disable();"
        "from bot.git.mirror import DiskMirror;"
        "mirror = DiskMirror(Path(sys.argv[1]), sys.argv[2]);"
        "[mirror.fetch(sys.argv[3]) for _ in range(5)]"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(mirror.folder), remote.url, TOKEN],
            cwd=Path(__file__).resolve().parents[3],
        )
        for _ in range(2)
    ]

    assert [process.wait() for process in processes] == [0, 0]
    assert _mirrored(mirror) == remote.refs()


def test_the_head_of_a_fork_comes_by_its_number(remote: Remote, mirror: DiskMirror) -> None:
    base = remote.commit(FILES, ref=MAIN)
    fork = remote.commit({**FILES, "x": b""}, base, ref="refs/pull/7/head")
    mirror.fetch(TOKEN)
    with mirror.open() as git:
        assert not git.has(fork)

    mirror.fetch_proposal(TOKEN, Ref("refs/pull/7/head"))
    mirror.fetch(TOKEN)  # which must not prune it
    with mirror.open() as git:
        assert git.has(fork)
        assert git.merge_base(fork, base) == base


@pytest.mark.parametrize("blobs", [1, 40], ids=["one file", "many files"])
def test_a_fork_does_not_fill_the_disk(remote: Remote, tmp_path: Path, blobs: int) -> None:
    """Short-cut refused: whatever anybody proposes is fetched, and what was cut off stays.

    Small fetches are unpacked into a file for each object, which no limit on one file bounds.
    """
    base = remote.commit(FILES, ref=MAIN)
    draw = random.Random(1)
    large = {f"x{n}": draw.randbytes(400_000 // blobs) for n in range(blobs)}
    remote.commit({**FILES, **large}, base, ref="refs/pull/7/head")
    remote.commit({**FILES, "x": b""}, base, ref="refs/pull/8/head")
    mirror = DiskMirror(tmp_path / "bounded.git", remote.url, most_head_bytes=100_000)
    mirror.fetch(TOKEN)

    with pytest.raises(ObjectTooLargeError, match="more than the bot accepts from a fork"):
        mirror.fetch_proposal(TOKEN, Ref("refs/pull/7/head"))
    mirror.fetch_proposal(TOKEN, Ref("refs/pull/8/head"))

    files = [each for each in (tmp_path / "bounded.git").rglob("*") if each.is_file()]
    assert sum(each.stat().st_size for each in files) < 100_000
    with mirror.open() as git:
        assert git.has(remote.refs()["refs/pull/8/head"])


@pytest.mark.parametrize("status", [500, 403, 404])
def test_a_forge_that_is_away_is_a_reason_to_try_again(
    remote: Remote, mirror: DiskMirror, status: int
) -> None:
    remote.commit(FILES, ref=MAIN)
    mirror.fetch(TOKEN)
    before = _mirrored(mirror)
    remote.failing = status

    with pytest.raises(GitBusyError, match="the fetch failed: fatal: ") as caught:
        mirror.fetch(TOKEN)

    assert PASSWORD not in str(caught.value)
    assert _mirrored(mirror) == before


def test_a_wrong_token_is_said_and_nothing_is_asked(remote: Remote, mirror: DiskMirror) -> None:
    remote.commit(FILES, ref=MAIN)

    with pytest.raises(GitBusyError, match="the fetch failed") as caught:
        mirror.fetch("ghs_wrong")

    assert "ghs_wrong" not in str(caught.value)


@pytest.mark.parametrize("damage", ["an object of a ref", "an object within", "the folder"])
def test_a_broken_mirror_is_fetched_anew(remote: Remote, mirror: DiskMirror, damage: str) -> None:
    """The short-cut fetches into it for ever: git sees its refs and finds nothing to do."""
    # What was read before is remembered by its content: nobody read this.
    text = f"a: {uuid4().hex}\n".encode()
    head = remote.commit({**FILES, "net/core/a.yaml": text}, ref=MAIN)
    mirror.fetch(TOKEN)
    with mirror.open() as git:
        tree = git.tree(head, "net/core")
    if damage == "the folder":
        shutil.rmtree(mirror.folder / "objects")
    else:
        lost = head if damage == "an object of a ref" else _object(remote, head, "net/core/a.yaml")
        path = mirror.folder / "objects" / lost[:2] / lost[2:]
        path.chmod(0o644)
        path.write_bytes(b"")
    if damage == "an object within":
        with mirror.open() as git, pytest.raises(MissingObjectError, match="is not in the mirror"):
            git.files(tree, DEFAULT)

    mirror.fetch(TOKEN)

    with mirror.open() as git:
        assert git.files(tree, DEFAULT)["a.yaml"].data == text
        assert git.commit(head).tree


def _object(remote: Remote, commit: str, path: str) -> str:
    return remote.git("rev-parse", f"{commit}:{path}")


# --- reading --------------------------------------------------------------------------------------


def test_what_a_commit_holds(remote: Remote, mirror: DiskMirror) -> None:
    head = remote.commit(FILES, ref=MAIN, message="one\n\ntwo\n")
    mirror.fetch(TOKEN)

    with mirror.open() as git:
        assert set(git.difference("", head).packages) == {"net/core", "net/core/sub"}
        assert git.blob(head, "net/core/a.yaml", 99) == b"a: 1\n"
        assert [git.blob(head, p, 99) for p in ("net/core", "missing", "net/core/a.yaml/x")] == [
            None
        ] * 3
        assert git.tree(head, "net/core") == _object(remote, head, "net/core")
        assert git.tree(head, "") == git.commit(head).tree
        assert [git.tree(head, p) for p in ("missing", "README.md")] == ["", ""]
        files = git.files(git.tree(head, "net/core"), DEFAULT)
        assert {path: (e.data, e.mode) for path, e in files.items()} == {
            "Kptfile": (b"kind: Kptfile\n", "100644"),
            "a.yaml": (b"a: 1\n", "100644"),
            "sub/Kptfile": (b"kind: Kptfile\n", "100644"),
        }
        assert (git.commit(head).message, git.commit(head).parents) == ("one\n\ntwo\n", ())


def test_a_draft_pushed_and_read_again_starts_git_for_what_it_needs_alone(
    remote: Remote, mirror: DiskMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut asks git where it has just put a branch, and for a line of one commit."""
    base = remote.commit(FILES, ref=MAIN)
    mirror.fetch(TOKEN)
    with mirror.open() as git:
        draft = git.write_commit(base, {"a": b"1"}, WHO, WHEN, lambda _: "m")
    started: list[str] = []

    def noted(folder: Path, arguments: Sequence[str], **more: Any) -> Any:
        started.append(arguments[0])
        return run(folder, arguments, **more)

    for module in (git_history, git_mirror, git_refs):
        monkeypatch.setattr(module, "run", noted)
    assert mirror.push(TOKEN, [RefUpdate(DRAFT, "", draft)]) is Pushed.DONE
    with mirror.open() as git:
        assert git.ref(DRAFT) == draft
        assert not git.cut_within(base, draft)
        assert git.changed_within(base, draft, ["b", "a"])
        assert not git.changed_within(base, draft, ["b", "net"])
    assert started == ["update-ref"]


def test_what_a_commit_says_is_read_to_a_limit(remote: Remote, mirror: DiskMirror) -> None:
    """The short-cut keeps whole messages, by their number: a push of some kB fills the memory."""
    base = remote.commit(FILES, ref=MAIN)
    long = remote.commit(FILES, base, message="one\n\n" + "x" * 1_000_000)
    head = remote.commit(FILES, long, ref="refs/heads/topic", message="two")
    mirror.fetch(TOKEN)

    with mirror.open() as git:
        assert git.commit(long).cut
        assert 60_000 < len(git.commit(long).message) <= 65_536
        assert git.commit(long).parents == (base,)
        assert not git.commit(head).cut
        assert git.cut_within(base, head)
        assert not git.cut_within(long, head)
        assert (
            git.blob(head, "net/core/a.yaml", 99) == b"a: 1\n"
        )  # the rest was not left in the pipe


def test_a_folder_with_too_many_entries_is_not_read(
    remote: Remote, mirror: DiskMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut reads any tree: an answer to one push takes hundreds of MB."""
    for module in (git_history, git_trees):
        monkeypatch.setattr(module, "MOST_ENTRIES", 500)
    blob = remote.git("hash-object", "-w", "--stdin")
    listed = "".join(f"100644 blob {blob}\tf{n}\n" for n in range(501)).encode()
    tree = remote.git("mktree", data=listed)
    head = remote.git("commit-tree", tree, "-m", "x")
    remote.git("update-ref", MAIN, head)
    mirror.fetch(TOKEN)

    with mirror.open() as git, pytest.raises(ObjectTooLargeError, match="more than 500 entries"):
        git.difference("", head)


def test_parents_stand_where_git_reads_them(remote: Remote, mirror: DiskMirror) -> None:
    """The short-cut reads every line that begins like one: git ignores those further down."""
    root, other = remote.commit({"a": b"0"}), remote.commit({"a": b"1"})
    text = remote.git("cat-file", "commit", remote.commit({"a": b"2"}, root))
    head, _, message = text.partition("\n\n")
    data = f"{head}\nparent {other}\ntree {other}\n\n{message}\n".encode()
    odd = remote.git("hash-object", "-t", "commit", "-w", "--stdin", data=data)

    remote.git("update-ref", MAIN, odd)
    mirror.fetch(TOKEN)

    with mirror.open() as git:
        assert git.commit(odd).parents == (root,)
        assert remote.git("rev-list", "--parents", "-1", odd) == f"{odd} {root}"


def test_histories(remote: Remote, mirror: DiskMirror) -> None:
    root = remote.commit({"a": b"0"})
    one = remote.commit({"a": b"1"}, root)
    side = remote.commit({"a": b"s"}, root)
    merged = remote.commit({"a": b"m"}, one, side, ref=MAIN)
    alien = remote.commit({"z": b""}, ref="refs/heads/alien")
    mirror.fetch(TOKEN)

    with mirror.open() as git:
        assert (git.merge_base(one, side), git.merge_base(one, one)) == (root, one)
        assert git.merge_base(one, alien) is None
        assert (git.contains(merged, side), git.contains(side, merged)) == (True, False)
        assert [c.sha for c in git.first_parents(merged, root)] == [one, merged]
        assert [c.sha for c in git.first_parents(merged, "")] == [root, one, merged]
        assert [c.sha for c in git.first_parents(merged, "", limit=1)] == [merged]


def test_what_a_history_holds_is_asked_of_git_once(
    remote: Remote, mirror: DiskMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut starts git at each look for each revision, though the answer never changes."""
    started: list[str] = []

    def noted(folder: Path, arguments: Sequence[str], **more: Any) -> Any:
        started.append(arguments[0])
        return run(folder, arguments, **more)

    monkeypatch.setattr(git_merge, "run", noted)
    root = remote.commit({"a": b"0"})
    side = remote.commit({"a": b"s"}, root)
    one = remote.commit({"a": b"1"}, root)
    both = remote.commit({"a": b"m"}, one, side, ref=MAIN)
    later = remote.commit({"a": b"l"}, side)
    mirror.fetch(TOKEN)

    for _ in range(3):
        with mirror.open() as git:
            assert [git.contains(both, sha) for sha in (both, one, root, side)] == [True] * 4
            assert [git.contains(side, sha) for sha in (one, both)] == [False] * 2
            assert not git.contains(both, later)
    assert started == ["merge-base"] * 3  # first parents are read without git
    remote.git("update-ref", "refs/heads/later", later)
    mirror.fetch(TOKEN)
    with mirror.open() as git:
        assert not git.contains(both, later)
        assert git.contains(later, side)


def test_a_commit_that_comes_later_is_found_then(remote: Remote, mirror: DiskMirror) -> None:
    """The short-cut remembers the first answer: a base that is missing for a second never is."""
    base = remote.commit(FILES, ref=MAIN)
    mirror.fetch(TOKEN)
    later = remote.commit({"x": b""}, base, ref=DRAFT)

    with mirror.open() as git:
        assert not git.has(later)
        with pytest.raises(MissingObjectError):
            git.merge_base(base, later)
        with pytest.raises(MissingObjectError):
            git.commit(later)
    mirror.fetch(TOKEN)
    with mirror.open() as git:
        assert (git.has(later), git.merge_base(base, later)) == (True, base)
        assert not git.has("refs/heads/main")
        assert not git.has(git.commit(later).tree)


def test_names_that_are_odd_break_nothing(remote: Remote, mirror: DiskMirror) -> None:
    """The short-cut splits at what Python calls a line: one branch then breaks every look."""
    odd = {b"caf\xe9.yaml".decode("utf-8", "surrogateescape"): b"1", "naïve\u2028.yaml": b"2"}
    head = remote.commit({**FILES, **odd}, ref="refs/heads/drafts/a\u2028b/\u0085")
    mirror.fetch(TOKEN)

    with mirror.open() as git:
        assert list(git.refs()) == ["refs/heads/drafts/a\u2028b/\u0085"]
        tree = git.commit(head).tree
        assert set(odd) < set(git.files(tree, DEFAULT))
        # What is beside them is written back byte for byte.
        new = git.write_commit(head, {"README.md": b"changed\n"}, WHO, WHEN, lambda _: "m")
        same = git.write_commit(new, {"README.md": b"read me\n"}, WHO, WHEN, lambda _: "m")
        assert git.commit(same).tree == tree
    mirror.push(TOKEN, [RefUpdate(MAIN, "", new)])
    remote.git("fsck", "--strict", "--no-dangling")


def test_links_and_submodules_are_what_git_says(remote: Remote, mirror: DiskMirror) -> None:
    target = remote.git("hash-object", "-w", "--stdin", data=b"../../etc/passwd")
    tool = remote.git("hash-object", "-w", "--stdin", data=b"#!/bin/sh\n")
    files = {"link": f"120000 {target}", "sub": f"160000 {'1' * 40}", "run": f"100755 {tool}"}
    head = remote.commit({**FILES, **files}, ref=MAIN)
    mirror.fetch(TOKEN)

    with mirror.open() as git:
        found = git.files(git.commit(head).tree, DEFAULT)
        assert (found["link"].data, found["link"].mode) == (b"../../etc/passwd", "120000")
        assert (found["sub"].mode, found["run"].mode) == ("160000", "100755")
        assert git.blob(head, "link", 99) is None
        # A file keeps its mode; a link that is written to becomes a file.
        new = git.write_commit(head, {"run": b"x", "link": b"y"}, WHO, WHEN, lambda _: "m")
        after = git.files(git.commit(new).tree, DEFAULT)
        assert (after["run"].mode, after["link"].mode) == ("100755", "100644")


def test_folders_without_end_are_refused(remote: Remote, mirror: DiskMirror) -> None:
    """The short-cut recurses: Python's stack ends a look at such a tree, for ever."""
    deep = "d/" * 1200 + "Kptfile"
    by = "committer a <a@b> 0 +0000"
    stream = f"commit {MAIN}\n{by}\ndata 0\nM 100644 inline {deep}\ndata 1\nx\n"
    remote.git("fast-import", "--quiet", data=stream.encode())
    mirror.fetch(TOKEN)
    head = remote.refs()[MAIN]

    with mirror.open() as git:
        assert git.difference("", head).packages == {}
        with pytest.raises(PackageError, match="folders are nested more than 100 deep"):
            git.files(git.commit(head).tree, DEFAULT)


def test_looks_in_threads_read_the_right_bytes(remote: Remote, mirror: DiskMirror) -> None:
    many: dict[str, bytes | str] = {f"f{n}": str(n).encode() * 500 for n in range(40)}
    head = remote.commit(many, ref=MAIN)
    mirror.fetch(TOKEN)
    wrong: list[str] = []

    with mirror.open() as git:

        def read() -> None:
            for name, data in many.items():
                if git.blob(head, name, 1 << 30) != data:
                    wrong.append(name)

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert wrong == []


def test_a_look_leaves_no_process_behind(remote: Remote, mirror: DiskMirror) -> None:
    head = remote.commit(FILES, ref=MAIN)
    mirror.fetch(TOKEN)
    with mirror.open() as git:
        git.files(git.commit(head).tree, DEFAULT)
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    if not children.exists():
        pytest.skip("this system does not list a process's children")

    names = [Path(f"/proc/{pid}/comm").read_text() for pid in children.read_text().split()]
    assert "git\n" not in names


# --- writing --------------------------------------------------------------------------------------


def test_a_commit_as_git_itself_would_write_it(remote: Remote, mirror: DiskMirror) -> None:
    head = remote.commit(FILES, ref=MAIN)
    mirror.fetch(TOKEN)
    changes: dict[str, bytes | None] = {
        "net/core/a.yaml": b"a: 2\n",
        "net/core/sub/Kptfile": None,
        "net/core.yaml": b"sorts before the folder\n",
        "new/deep/file": b"",
    }
    with mirror.open() as git:
        new = git.write_commit(head, changes, WHO, WHEN, lambda tree: f"Render\n\ntree {tree}\n")
    assert mirror.push(TOKEN, [RefUpdate(MAIN, head, new)]) is Pushed.DONE

    wanted = {p: d for p, d in FILES.items() if p != "net/core/sub/Kptfile"} | changes
    tree = remote.git("rev-parse", f"{new}^{{tree}}")
    assert remote.refs() == {MAIN: new}
    same = remote.commit({p: d for p, d in wanted.items() if d is not None})
    assert remote.git("rev-parse", f"{same}^{{tree}}") == tree
    assert remote.git("cat-file", "commit", new).split("\n") == [
        f"tree {tree}",
        f"parent {head}",
        "author porchbot[bot] <porchbot[bot]@users.noreply.github.com> 1795262400 +0000",
        "committer porchbot[bot] <porchbot[bot]@users.noreply.github.com> 1795262400 +0000",
        "",
        "Render",
        "",
        f"tree {tree}",
    ]
    remote.git("fsck", "--strict", "--no-dangling")


def test_everything_may_go(remote: Remote, mirror: DiskMirror) -> None:
    head = remote.commit({"a": b"", "b/c": b""}, ref=MAIN)
    mirror.fetch(TOKEN)
    with mirror.open() as git:
        new = git.write_commit(head, {"a": None, "b/c": None}, WHO, WHEN, lambda _: "m")
        assert git.files(git.commit(new).tree, DEFAULT) == {}

    assert mirror.push(TOKEN, [RefUpdate(MAIN, head, new)]) is Pushed.DONE


@pytest.mark.parametrize("path", ["../x", "a/../x", ".git/hooks/x", "a/.GIT/x", "/x", "a//x", ""])
def test_a_path_that_leads_out_is_never_written(
    remote: Remote, mirror: DiskMirror, path: str
) -> None:
    head = remote.commit(FILES, ref=MAIN)
    mirror.fetch(TOKEN)

    with mirror.open() as git, pytest.raises(ValueError, match="git holds no such path"):
        git.write_commit(head, {path: b""}, WHO, WHEN, lambda _: "m")


def test_tags_are_made_together_or_not_at_all(remote: Remote, mirror: DiskMirror) -> None:
    head = remote.commit(FILES, ref=MAIN)
    mirror.fetch(TOKEN)
    one, two = Ref("refs/tags/net/core/v1"), Ref("refs/tags/net/other/v1")
    with mirror.open() as git:
        made = [
            git.write_tag(t.removeprefix("refs/tags/"), head, WHO, WHEN, "x\n") for t in (one, two)
        ]
    updates = [RefUpdate(tag, "", sha) for tag, sha in zip((one, two), made, strict=True)]
    remote.git("update-ref", two, head)

    assert mirror.push(TOKEN, updates) is Pushed.MOVED
    assert remote.refs() == {MAIN: head, two: head}

    remote.git("update-ref", "-d", two)
    assert mirror.push(TOKEN, updates) is Pushed.DONE
    # Creating is the compare-and-swap: again is not done again.
    assert mirror.push(TOKEN, updates[:1]) in {Pushed.MOVED, Pushed.DONE}
    assert remote.refs() == {MAIN: head, one: made[0], two: made[1]}
    assert remote.git("cat-file", "tag", one).endswith("\n\nx")
    remote.git("fsck", "--strict", "--no-dangling")


def test_a_branch_is_deleted_only_where_it_was_seen(remote: Remote, mirror: DiskMirror) -> None:
    seen = remote.commit(FILES, ref=DRAFT)
    mirror.fetch(TOKEN)
    moved = remote.commit({"x": b""}, seen, ref=DRAFT)

    assert mirror.push(TOKEN, [RefUpdate(DRAFT, seen, "")]) is Pushed.MOVED
    assert remote.refs() == {DRAFT: moved}
    assert mirror.push(TOKEN, [RefUpdate(DRAFT, moved, "")]) is Pushed.DONE
    assert remote.refs() == {}


def test_a_rule_of_the_forge_is_for_an_operator(remote: Remote, mirror: DiskMirror) -> None:
    head = remote.commit(FILES, ref=MAIN)
    mirror.fetch(TOKEN)
    remote.hook("echo 'GH013: Repository rule violations found' >&2; exit 1")
    with mirror.open() as git:
        new = git.write_commit(head, {"x": b""}, WHO, WHEN, lambda _: "m")

    with pytest.raises(GitRefusedError, match="Repository rule violations found") as caught:
        mirror.push(TOKEN, [RefUpdate(MAIN, head, new)])

    assert PASSWORD not in str(caught.value)
    assert remote.refs() == {MAIN: head}


def test_a_push_that_meets_another_is_no_matter_of_rules(
    remote: Remote, mirror: DiskMirror
) -> None:
    """The short-cut takes it for a rule's refusal: nobody would push again until a rule changes.

    The other one comes when git has its locks and has not written yet.
    """
    head = remote.commit(FILES, ref=MAIN)
    mirror.fetch(TOKEN)
    draft = Ref("refs/heads/drafts/a")
    hook = remote.folder / "hooks" / "reference-transaction"
    hook.write_text(
        f"#!/bin/sh\n[ $1 = prepared ] && mkdir -p {draft} && touch {draft}/b.lock\nexit 0\n"
    )
    hook.chmod(0o755)

    assert mirror.push(TOKEN, [RefUpdate(draft, "", head)]) is Pushed.MOVED
    hook.unlink()
    shutil.rmtree(remote.folder / draft)
    assert mirror.push(TOKEN, [RefUpdate(draft, "", head)]) is Pushed.DONE


def test_a_push_that_nobody_answers_is_tried_again(remote: Remote, mirror: DiskMirror) -> None:
    head = remote.commit(FILES, ref=MAIN)
    mirror.fetch(TOKEN)
    remote.failing = 502

    with pytest.raises(GitBusyError, match="the push failed"):
        mirror.push(TOKEN, [RefUpdate(MAIN, head, "")])


# --- what needs no fetch --------------------------------------------------------------------------


def test_a_fetch_that_began_late_enough_serves(remote: Remote, mirror: DiskMirror) -> None:
    """The short-cut is to fetch once for every round of a look, or never again."""
    first = remote.commit(FILES, ref=MAIN)
    before = time.monotonic()
    mirror.fetch(TOKEN)
    after = time.monotonic()
    second = remote.commit({**FILES, "new": b""}, first, ref=MAIN)

    mirror.fetch(TOKEN, before)
    assert _mirrored(mirror) == {MAIN: first}
    mirror.fetch(TOKEN, after)
    assert _mirrored(mirror) == {MAIN: second}


def test_what_we_pushed_is_seen_without_a_fetch(remote: Remote, mirror: DiskMirror) -> None:
    """The short-cut is to keep refs by time: the round after a push would judge the old head."""
    seen = remote.commit(FILES, ref=DRAFT)
    began = time.monotonic()
    mirror.fetch(TOKEN)
    with mirror.open() as git:
        assert git.ref(DRAFT) == seen
        ours = git.write_commit(seen, {"net/core/a.yaml": b"a: 2\n"}, WHO, WHEN, lambda _: "ours")
        tag = git.write_tag("net/core/v1", ours, WHO, WHEN, "v1")
    mirror.push(TOKEN, [RefUpdate(DRAFT, seen, ours)])
    mirror.push(TOKEN, [RefUpdate(Ref("refs/tags/net/core/v1"), "", tag)])

    mirror.fetch(TOKEN, began)
    with mirror.open() as git:
        assert (git.ref(DRAFT), git.ref("refs/tags/net/core/v1")) == (ours, ours)
    mirror.push(TOKEN, [RefUpdate(DRAFT, ours, "")])
    assert _mirrored(mirror) == remote.refs() == {"refs/tags/net/core/v1": tag}


def test_a_push_over_what_was_fetched_meanwhile_asks_for_a_fetch(
    remote: Remote, mirror: DiskMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut is to set our refs to what we pushed: a newer push of a person is hidden."""
    seen = remote.commit(FILES, ref=DRAFT)
    began = time.monotonic()
    mirror.fetch(TOKEN)
    with mirror.open() as git:
        ours = git.write_commit(seen, {"net/core/a.yaml": b"a: 2\n"}, WHO, WHEN, lambda _: "ours")
    take_over = DiskMirror.take_over
    theirs = ""

    def late(self: DiskMirror, updates: Sequence[RefUpdate]) -> None:
        nonlocal theirs
        theirs = remote.commit({**FILES, "new": b""}, ours, ref=DRAFT)
        self.fetch(TOKEN)
        take_over(self, updates)

    monkeypatch.setattr(DiskMirror, "take_over", late)
    assert mirror.push(TOKEN, [RefUpdate(DRAFT, seen, ours)]) is Pushed.DONE

    assert _mirrored(mirror) == {DRAFT: theirs}
    last = remote.commit({**FILES, "newer": b""}, theirs, ref=DRAFT)
    mirror.fetch(TOKEN, began)
    assert _mirrored(mirror) == {DRAFT: last}


# --- what git is given ----------------------------------------------------------------------------


def test_the_token_is_in_no_argument_and_no_file(
    remote: Remote, mirror: DiskMirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut puts it in the address, which git writes into errors and configuration."""
    remote.commit(FILES, ref=MAIN)
    seen = tmp_path / "seen"
    real = shutil.which("git")
    spy = tmp_path / "bin" / "git"
    spy.parent.mkdir()
    spy.write_text(f'#!/bin/sh\necho "$@" >> {seen}\nexec {real} "$@"\n')
    spy.chmod(0o755)
    monkeypatch.setenv("PATH", f"{spy.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))

    mirror.fetch(TOKEN)

    written = "".join(
        p.read_text(errors="replace") for p in mirror.folder.rglob("*") if p.is_file()
    )
    assert "fetch" in seen.read_text()
    assert not (tmp_path / "trace").exists()
    assert PASSWORD not in seen.read_text() + written
    assert "extraHeader" not in seen.read_text() + written


def test_the_users_own_configuration_has_no_effect(
    remote: Remote, mirror: DiskMirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text('[url "http://127.0.0.1:1/"]\n\tinsteadOf = http://\n')
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    remote.commit(FILES, ref=MAIN)

    mirror.fetch(TOKEN)

    assert list(_mirrored(mirror)) == [MAIN]


@pytest.mark.parametrize(
    "url", ["ext::sh -c touch% {0}", "file://{1}", "{1}", "--upload-pack=touch {0}", "git://x/y"]
)
def test_only_http_is_spoken(remote: Remote, tmp_path: Path, url: str) -> None:
    remote.commit(FILES, ref=MAIN)
    touched = tmp_path / "touched"
    mirror = DiskMirror(tmp_path / "m.git", url.format(touched, remote.folder))

    with pytest.raises(GitBusyError, match="the fetch failed"):
        mirror.fetch(TOKEN)

    assert not touched.exists()


def test_the_token_goes_to_its_own_address_alone(remote: Remote, tmp_path: Path) -> None:
    remote.commit(FILES, ref=MAIN)
    mirror = DiskMirror(tmp_path / "m.git", remote.url)
    mirror.fetch(TOKEN)
    other = DiskMirror(tmp_path / "m.git", remote.url.replace("127.0.0.1", "localhost"))

    other.fetch(TOKEN)

    with pytest.raises(GitBusyError):
        other.fetch("")
    for url, known in ((remote.url, True), (remote.url.replace("127.0.0.1", "localhost"), False)):
        asked = ["config", "--get-urlmatch", "http.extraHeader", url]
        told = run(mirror.folder, asked, env=authorised(remote.url, TOKEN))
        assert bool(told.stdout) is known


def test_a_redirect_is_not_followed(remote: Remote, tmp_path: Path) -> None:
    """The short-cut leaves it to git: whoever answers for the forge sends us to any host inside."""
    remote.commit(FILES, ref=MAIN)

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", remote.url + "/info" + self.path.partition("/info")[2])
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its own name)
            pass

    with HTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            with pytest.raises(GitBusyError, match="the fetch failed"):
                DiskMirror(tmp_path / "m.git", f"http://127.0.0.1:{server.server_port}/x").fetch(
                    TOKEN
                )
        finally:
            server.shutdown()
            thread.join()

    assert remote.requests == []


def test_the_operators_proxy_is_used(
    remote: Remote, mirror: DiskMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote.commit(FILES, ref=MAIN)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)

    with pytest.raises(GitBusyError, match=r"127\.0\.0\.1 port 1"):
        mirror.fetch(TOKEN)


# --- all mirrors ----------------------------------------------------------------------------------


def test_the_least_recently_used_mirrors_go_first(remote: Remote, tmp_path: Path) -> None:
    remote.commit({"big": os.urandom(50_000)}, ref=MAIN)
    mirrors = DiskMirrors(tmp_path / "mirrors", most_bytes=150_000)
    for number in (1, 2, 3):
        mirrors.of(on_github(number), remote.url).fetch(TOKEN)
        time.sleep(0.02)
    mirrors.of(on_github(1), remote.url).fetch(TOKEN)

    assert mirrors.trim() == ["2"]
    assert sorted(p.name for p in (tmp_path / "mirrors").glob("*.git")) == ["1.git", "3.git"]
    assert mirrors.trim() == []

    # One that is gone comes back when it is asked for, by whoever still holds it.
    mirrors.of(on_github(2), remote.url).fetch(TOKEN)
    assert list(_mirrored(mirrors.of(on_github(2), remote.url))) == [MAIN]


def test_a_mirror_being_fetched_stays(remote: Remote, tmp_path: Path) -> None:
    remote.commit({"big": os.urandom(50_000)}, ref=MAIN)
    mirrors = DiskMirrors(tmp_path / "mirrors", most_bytes=0)
    mirror = mirrors.of(on_github(1), remote.url)
    mirror.fetch(TOKEN)

    with mirror._locked():
        assert mirrors.trim() == []

    assert mirrors.trim() == ["1"]


def test_a_repository_that_moved_keeps_its_mirror(remote: Remote, tmp_path: Path) -> None:
    mirrors = DiskMirrors(tmp_path / "mirrors")
    one = mirrors.of(on_github(1), remote.url)

    assert mirrors.of(on_github(1), remote.url) is one
    assert mirrors.of(on_github(1), "http://127.0.0.1/renamed.git").folder == one.folder


def test_mirrors_are_for_the_bot_alone(remote: Remote, tmp_path: Path) -> None:
    """Private repositories lie in them."""
    remote.commit(FILES, ref=MAIN)
    DiskMirrors(tmp_path / "mirrors").of(on_github(1), remote.url).fetch(TOKEN)

    assert stat.S_IMODE((tmp_path / "mirrors").stat().st_mode) == 0o700


def test_the_same_number_at_another_forge_has_a_mirror_of_its_own(tmp_path: Path) -> None:
    """Fails when folders are named by the number alone: one's commits would be the other's."""
    mirrors = DiskMirrors(tmp_path / "mirrors")
    here, there = mirrors.of(on_github(42), "a"), mirrors.of(RepositoryId("gitlab", 42), "b")

    assert (here.folder.name, there.folder.name) == ("42.git", "gitlab-42.git")
    assert mirrors.of(on_github(42), "a") is here
