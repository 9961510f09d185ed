"""Refs that are too large, or take long, beside others that are fetched with them."""

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bot.git import mirror
from bot.git.mirror import DiskMirror
from bot.git.port import BRANCHES, GitBusyError, ObjectTooLargeError, Scope
from bot.git.process import SAFE, GitSlowError, run
from tests.bot.git.server import TOKEN, Remote, serve
from tests.memory.clock import ManualClock

MIB = 1024**2


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Remote]:
    """One of whose refs `large` makes one that is too large."""
    monkeypatch.setattr(mirror, "MOST_MEMORY", 20 * MIB)
    monkeypatch.setitem(SAFE, "core.bigFileThreshold", "512m")
    with serve(tmp_path / "remote.git") as served:
        served.commit({"a": b"1"}, ref="refs/heads/main")
        served.commit({"a": b"1"}, ref="refs/tags/net/core/v1")
        yield served


@pytest.fixture
def here(remote: Remote, tmp_path: Path, clock: ManualClock) -> DiskMirror:
    made = DiskMirror(tmp_path / "here.git", remote.url, clock, large_memory=20 * MIB)
    made.fetch(TOKEN)
    return made


def large(remote: Remote, ref: str) -> str:
    return remote.commit({"a": bytes(24 * MIB), "b": ref.encode()}, ref=ref)


def look(git: DiskMirror, package: str = "net/core") -> set[str]:
    """Fetch as a look at a package does, later than before; the tags that it finds there."""
    assert isinstance(git._clock, ManualClock)
    git._clock.seconds += 1
    git.fetch(TOKEN, scope=Scope(frozenset({"main"}), frozenset({package})))
    return tags(git, package)


def tags(git: DiskMirror, package: str = "net/core") -> set[str]:
    with git.open() as history:
        place = f"refs/tags/{package}".rstrip("/")
        return {ref.removeprefix("refs/tags/") for ref in history.refs(place)}


def sweep(git: DiskMirror) -> None:
    assert isinstance(git._clock, ManualClock)
    git._clock.seconds += 1
    git.fetch(TOKEN, scope=BRANCHES)


def asked(git: DiskMirror, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The refs that are asked for by name from now on."""
    tried: list[str] = []
    fetch = git._fetch_named

    def tries(credentials: str, refs: Sequence[str]) -> None:
        tried.extend(refs)
        fetch(credentials, refs)

    monkeypatch.setattr(git, "_fetch_named", tries)
    return tried


@pytest.mark.parametrize("package", ["net/core", ""])
@pytest.mark.parametrize("protocol", [True, False])
def test_a_tag_that_is_too_large_keeps_no_look_back(
    remote: Remote,
    here: DiskMirror,
    monkeypatch: pytest.MonkeyPatch,
    package: str,
    protocol: bool,
) -> None:
    """Short-cuts: all looks at the package fail with it, which whoever may push makes (rules keep
    release tags alone); it counts as if it were not there, where a tag of that name is in the way
    of one that we make; it is tried at each look."""
    remote.protocol = protocol
    large(remote, "refs/tags/net/core/v2/big")
    tip = remote.commit({"a": b"2"}, ref="refs/heads/main")
    remote.commit({"a": b"2"}, ref="refs/tags/net/core/v3")
    there = {"net/core/v1", "net/core/v2/big", "net/core/v3"}

    assert look(here, package) == there
    with here.open() as history:
        assert history.ref("refs/heads/main") == tip
        assert history.ref("refs/tags/net/core/v3")
    tried = asked(here, monkeypatch)
    sweep(here)
    remote.commit({"a": b"3"}, ref="refs/tags/net/core/v4")
    assert look(here, package) == there | {"net/core/v4"}
    assert tried == ["refs/tags/net/core/v4"]
    here._seen.clear()  # as where very many places were seen since
    assert tags(here, package) == there | {"net/core/v4"}

    small = remote.commit({"a": b"4"}, ref="refs/tags/net/core/v2/big")
    assert look(here, package) == there | {"net/core/v4"}
    with here.open() as history:
        assert history.ref("refs/tags/net/core/v2/big") == small


def test_who_asks_for_what_a_tag_that_is_too_large_names_is_told(
    remote: Remote, here: DiskMirror
) -> None:
    """The short-cut tells that there is no such tag, or takes its object for a commit."""
    large(remote, "refs/tags/net/core/big")
    look(here)
    with here.open() as history, pytest.raises(ObjectTooLargeError, match="too much memory"):
        history.ref("refs/tags/net/core/big")


def test_a_release_that_is_too_large_fails_the_look(remote: Remote, here: DiskMirror) -> None:
    """The short-cut leaves it out like other tags: what it names decides what is published."""
    large(remote, "refs/tags/net/core/big")
    large(remote, "refs/tags/net/core/v2")
    for _ in range(2):
        with pytest.raises(ObjectTooLargeError, match="more than 20 MiB"):
            look(here)

    remote.git("update-ref", "-d", "refs/tags/net/core/v2")
    assert look(here) == {"net/core/v1", "net/core/big"}


def test_what_is_left_out_is_forgotten_with_its_tag(remote: Remote, here: DiskMirror) -> None:
    """The short-cut remembers each that there ever was, also where nobody looks any more."""
    large(remote, "refs/tags/net/core/big")
    look(here)
    assert here._left_out.by_name
    remote.git("update-ref", "-d", "refs/tags/net/core/big")
    here.tags(TOKEN)
    sweep(here)
    assert not here._left_out.by_name
    assert look(here) == {"net/core/v1"}


def test_a_branch_that_takes_long_fails_few_sweeps(
    remote: Remote, here: DiskMirror, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts: each sweep waits two minutes for all branches, and fails; or halves them, and
    waits as long for each half that has it; or tries it at each sweep; or a look at that branch is
    told that it is not there."""
    slow, waits = "+refs/heads/slow:refs/heads/slow", list[Any]()

    def takes_long(folder: Path, words: Any, **named: Any) -> subprocess.CompletedProcess[str]:
        if slow in words or "+refs/heads/*:refs/heads/*" in words:
            clock.seconds += 121
            waits.append(words)
            raise GitSlowError("git took longer than 120 s")
        return run(folder, words, **named)

    names = ["a", "b", "c", "d", "slow", "x", "y", "z"]
    for name in names:
        remote.commit({"a": name.encode()}, ref=f"refs/heads/{name}")
    monkeypatch.setattr(mirror, "run", takes_long)
    with pytest.raises(GitSlowError):
        sweep(here)
    with pytest.raises(GitBusyError, match="others are tried later"):
        sweep(here)
    sweep(here)

    with here.open() as history:
        found = {ref.removeprefix("refs/heads/") for ref in history.refs("refs/heads")}
    assert found == {"main", *names} - {"slow"}
    assert len(waits) == 3
    clock.seconds += 1
    with pytest.raises(GitSlowError):
        here.fetch(TOKEN, scope=Scope(frozenset({"main", "slow"})))


def test_a_first_fetch_that_goes_on_leaves_nothing_out(
    remote: Remote, here: DiskMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut takes what a first fetch waits for for a ref that takes long."""

    def goes_on(*_: Any) -> None:
        raise GitSlowError("the first fetch takes long, and goes on")

    large(remote, "refs/tags/net/core/big")
    look(here)
    remote.commit({"a": b"2"}, ref="refs/tags/net/core/other")
    with monkeypatch.context() as patched:
        patched.setattr(here, "_fetch", goes_on)
        with pytest.raises(GitSlowError):
            look(here)
    assert look(here) == {"net/core/v1", "net/core/big", "net/core/other"}
    with here.open() as history:
        assert history.ref("refs/tags/net/core/other")


def test_many_tags_that_are_too_large_keep_no_look_back(
    remote: Remote, here: DiskMirror, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts: each look goes on with them for two minutes, and fails, until all were tried, for
    one file is too large under a thousand names; or what is not tried yet is tried no more."""
    bad = [f"net/core/big{number}" for number in range(4)]
    commit = large(remote, f"refs/tags/{bad[0]}")
    for name in bad[1:]:
        remote.git("update-ref", f"refs/tags/{name}", commit)
    remote.commit({"a": b"2"}, ref="refs/tags/net/core/v2")
    remote.commit({"a": b"2"}, ref="refs/tags/net/core/also")
    there = {"net/core/v1", "net/core/v2", "net/core/also", *bad}
    bring = here._fetch_named

    def takes_long(credentials: str, refs: Sequence[str]) -> None:
        clock.seconds += 61
        bring(credentials, refs)

    monkeypatch.setattr(here, "_fetch_named", takes_long)
    assert look(here) == there
    assert len(here._left_out.at(["refs/tags"])) > 1
    for number in range(6):  # each brings something that was not there
        remote.commit({"a": b"%d" % number}, ref="refs/heads/main")
        assert look(here) == there
    with here.open() as history:
        assert history.ref("refs/tags/net/core/also")
        assert history.ref("refs/tags/net/core/v2")
    tried = asked(here, monkeypatch)
    remote.commit({"a": b"9"}, ref="refs/heads/main")
    look(here)
    assert tried == ["refs/heads/main"]


def test_a_tag_called_like_a_package_stays(remote: Remote, here: DiskMirror) -> None:
    """The short-cut takes it for one that is gone: nobody is told of it in a look at the package
    itself, for whose tags it is in the way."""
    remote.commit({"a": b"2"}, ref="refs/tags/net/edge")
    large(remote, "refs/tags/net/core/big")
    assert look(here, "") == {"net/core/v1", "net/core/big", "net/edge"}
    look(here, "net/edge")
    here._seen.clear()
    assert tags(here, "") == {"net/core/v1", "net/core/big", "net/edge"}


def test_tags_stay_on_the_disk_while_one_is_left_out(
    remote: Remote, here: DiskMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut drops them at each sweep, as where there are many: a look fetches all of them
    again by their whole names, which takes minutes for a hundred thousand."""
    monkeypatch.setattr(mirror, "MOST_TAGS", 0)
    large(remote, "refs/tags/net/core/big")
    look(here)
    here.tags(TOKEN)
    tried = asked(here, monkeypatch)
    remote.commit({"a": b"2"}, ref="refs/heads/main")
    assert look(here) == {"net/core/v1", "net/core/big"}
    assert tried == ["refs/heads/main"]
