"""Branches that are called alike: git is asked for all names that begin as one does."""

import subprocess
from collections.abc import Iterator
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
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Remote]:
    """One of whose branches `large` makes one that is too large."""
    monkeypatch.setattr(mirror, "MOST_MEMORY", 20 * MIB)
    monkeypatch.setitem(SAFE, "core.bigFileThreshold", "512m")
    with serve(tmp_path / "remote.git") as served:
        served.commit({"a": b"1"}, ref="refs/heads/main")
        yield served


@pytest.fixture
def here(remote: Remote, tmp_path: Path) -> DiskMirror:
    made = DiskMirror(tmp_path / "here.git", remote.url, ManualClock(), large_memory=20 * MIB)
    made.fetch(TOKEN)
    return made


def large(remote: Remote, name: str) -> None:
    remote.commit({"a": bytes(24 * MIB)}, ref=f"refs/heads/{name}")


def moved(remote: Remote, number: int = 2) -> str:
    return remote.commit({"a": b"%d" % number}, ref="refs/heads/main")


def fetch(git: DiskMirror, *names: str) -> None:
    """Fetch branches, or all; later than before."""
    assert isinstance(git._clock, ManualClock)
    git._clock.seconds += 1
    git.fetch(TOKEN, scope=Scope(frozenset(names)) if names else BRANCHES)


def branches(git: DiskMirror) -> dict[str, str]:
    with git.open() as history:
        there = history.refs("refs/heads").items()
        return {ref.removeprefix("refs/heads/"): at for ref, (at, _) in there}


def test_a_branch_that_is_called_alike_and_too_large_keeps_nobody_back(
    remote: Remote, here: DiskMirror
) -> None:
    """The short-cut asks for all that begins as the default branch does, which each look fetches:
    whoever may push `main-2` has every look at the repository fail."""
    large(remote, "main-2")
    for number in (2, 3):
        tip = moved(remote, number)
        fetch(here, "main")
        assert branches(here) == {"main": tip}

    with pytest.raises(ObjectTooLargeError, match="more than 20 MiB"):
        fetch(here, "main-2")

    # One that is gone, and one whose name became a folder, are seen as ever.
    remote.commit({"a": b"4"}, ref="refs/heads/drafts/a")
    fetch(here, "main", "drafts/a")
    remote.git("update-ref", "-d", "refs/heads/drafts/a")
    inside = remote.commit({"a": b"5"}, ref="refs/heads/drafts/a/b")
    fetch(here, "main", "drafts/a/b")
    assert branches(here) == {"main": tip, "drafts/a/b": inside}


def test_a_branch_that_is_called_alike_and_takes_long_fails_one_look(
    remote: Remote, here: DiskMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut waits two minutes for it in each look at the repository, and fails."""

    def slow(folder: Path, words: Any, **named: Any) -> subprocess.CompletedProcess[str]:
        if "+refs/heads/main*:refs/heads/main*" in words:
            raise GitSlowError("git took longer than 120 s")
        return run(folder, words, **named)

    tip = moved(remote)
    with monkeypatch.context() as patched:
        patched.setattr(mirror, "run", slow)
        with pytest.raises(GitSlowError):
            fetch(here, "main")
        fetch(here, "main")
    assert branches(here) == {"main": tip}


@pytest.mark.parametrize("protocol", [True, False])
def test_a_sweep_brings_what_is_called_like_a_branch_that_is_too_large(
    remote: Remote, here: DiskMirror, protocol: bool
) -> None:
    """Short-cuts: the default branch counts as too large, and stays where it was, for that `main-2`
    is; nothing is listed where git alone knows the way."""
    remote.protocol = protocol
    large(remote, "main-2")
    tip = moved(remote)
    fetch(here)
    assert branches(here) == {"main": tip}


def test_many_that_are_too_large_are_tried_in_several_sweeps(
    remote: Remote, here: DiskMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts: one sweep tries a thousand of them, one by one, and for as long nobody looks at
    the repository; or each begins anew, and none ends."""
    for name in ("one", "two", "three"):
        large(remote, name)
    tip = moved(remote)
    bring, clock = here._fetch_named, here._clock
    assert isinstance(clock, ManualClock)

    def takes_long(credentials: str, refs: Any) -> None:
        clock.seconds += 121
        bring(credentials, refs)

    monkeypatch.setattr(here, "_fetch_named", takes_long)
    for _ in range(3):
        begun = clock.seconds
        with pytest.raises(GitBusyError, match="others are tried later"):
            fetch(here)
        assert clock.seconds - begun < 4 * 121
    fetch(here)
    assert branches(here) == {"main": tip}


def test_a_branch_that_goes_meanwhile_fails_no_sweep(
    remote: Remote, here: DiskMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut asks for a name that is gone, for which git brings nothing: whoever makes and
    deletes branches keeps every sweep from ending."""
    large(remote, "large")
    remote.commit({"a": b"3"}, ref="refs/heads/gone")
    tip = moved(remote)
    bring = here._fetch

    def just_before(credentials: str, words: Any, most: int | None = None) -> None:
        if "+refs/heads/gone:refs/heads/gone" in words:
            remote.git("update-ref", "-d", "refs/heads/gone")
        bring(credentials, words, most)

    monkeypatch.setattr(here, "_fetch", just_before)
    fetch(here)
    assert branches(here) == {"main": tip}
