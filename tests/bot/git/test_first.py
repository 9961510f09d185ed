"""First fetches that take longer than a look waits."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from io import BufferedIOBase
from pathlib import Path
from typing import Any, cast

import pytest

from bot.git import first
from bot.git import mirror as disk
from bot.git.mirror import DiskMirror, DiskMirrors
from bot.git.port import ObjectTooLargeError, Scope
from bot.git.process import SAFE, GitSlowError
from lifecycle.identity import RepositoryId
from lifecycle.names import Ref
from tests.bot.git.server import TOKEN, Remote, serve
from tests.memory.clock import ManualClock

MAIN = Ref("refs/heads/main")
PATIENCE = 0.3
"""Seconds in the place of two minutes; what is asserted does not depend on them."""


class Slow:
    """A remote whose packs drip until they are let go."""

    def __init__(self, remote: Remote) -> None:
        self.remote = remote
        self.goes = threading.Event()
        self.packs = 0
        remote.odd = self._drips

    def _drips(self, request: BaseHTTPRequestHandler, body: bytes) -> bool:
        if b"command=fetch" in body:
            self.packs += 1
            request.wfile = cast("BufferedIOBase", _Dripping(request.wfile, self.goes))
        return False


class _Dripping:
    """What is written to a connection a byte at a time, and the rest once that may go."""

    def __init__(self, inner: Any, goes: threading.Event) -> None:
        self._inner = inner
        self._goes = goes

    def write(self, data: bytes) -> int:
        sent = 0
        while sent < len(data) - 1 and not self._goes.wait(0.02):
            self._inner.write(data[sent : sent + 1])
            sent += 1
        self._inner.write(data[sent:])
        return len(data)

    def flush(self) -> None:
        self._inner.flush()

    def close(self) -> None:
        self._inner.close()

    closed = False


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Slow]:
    with serve(tmp_path / "remote.git") as remote:
        remote.commit({"a": b"1" * 1000}, ref=str(MAIN))
        slow = Slow(remote)
        yield slow
        slow.goes.set()


def done_at_last(mirror: DiskMirror) -> None:
    for _ in range(600):
        try:
            mirror.fetch(TOKEN)
        except GitSlowError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("the fetch never came to an end")


def test_a_first_fetch_goes_on_while_nobody_waits_for_it(
    slow: Slow, tmp_path: Path, clock: ManualClock
) -> None:
    """The short-cut ends it and begins anew each time: a large repository is never served. Or each
    look waits for it, and together they hold the threads of all others."""
    mirror = DiskMirror(tmp_path / "m.git", slow.remote.url, clock, patience=PATIENCE)
    with pytest.raises(GitSlowError, match="goes on"):
        mirror.fetch(TOKEN)
    with pytest.raises(GitSlowError, match="goes on"):
        mirror.fetch(TOKEN, scope=Scope(frozenset({"main"})))
    with pytest.raises(GitSlowError, match="goes on"):
        mirror.fetch_proposal(TOKEN, Ref("refs/pull/7/head"))
    assert slow.packs == 1

    slow.goes.set()
    done_at_last(mirror)

    assert slow.packs == 1
    with mirror.open() as git:
        assert git.ref(MAIN) == slow.remote.refs()[MAIN]
    assert not list(mirror.folder.glob("objects/pack/tmp_*"))


def test_what_comes_slowly_after_something_was_fetched_is_no_first_fetch(
    slow: Slow, tmp_path: Path, clock: ManualClock
) -> None:
    """The short-cut takes a mirror without a pack for an empty one, and a small repository has
    none: whoever may push something large there has no look at it made for an hour."""
    mirror = DiskMirror(tmp_path / "m.git", slow.remote.url, clock, patience=PATIENCE)
    slow.goes.set()
    done_at_last(mirror)
    slow.goes.clear()
    slow.remote.commit({"a": b"2" * 1000}, ref="refs/heads/large")
    clock.seconds += 1
    with pytest.raises(GitSlowError, match="took longer than"):
        mirror.fetch(TOKEN, scope=Scope(frozenset({"large"})))


def test_it_has_an_end_and_leaves_its_turn_to_others(
    slow: Slow, tmp_path: Path, clock: ManualClock
) -> None:
    """The short-cut lets two repositories that never come to an end have both turns for ever."""
    mirrors = [
        DiskMirror(tmp_path / f"{n}.git", slow.remote.url, clock, patience=PATIENCE)
        for n in range(first.MOST + 1)
    ]

    def said(mirror: DiskMirror) -> str:
        with pytest.raises(GitSlowError) as raised:
            mirror.fetch(TOKEN)
        return str(raised.value)

    on, ended = "the first fetch takes long, and goes on", f"git took longer than {PATIENCE:g} s"
    assert [said(m) for m in mirrors] == [on] * first.MOST + [ended]
    clock.seconds += first.LONGEST
    assert [said(m) for m in mirrors] == [
        *[f"the first fetch took longer than {first.LONGEST:g} s"] * first.MOST,
        on,
    ]
    assert said(mirrors[0]) == ended  # though there is a turn
    clock.seconds += first.LONGEST
    assert said(mirrors[0]) == on

    slow.goes.set()
    for mirror in mirrors:
        mirror.first.end()


@pytest.mark.parametrize("ends", [True, False])
def test_a_repository_that_nobody_asks_for_any_more_keeps_no_turn(
    slow: Slow, tmp_path: Path, clock: ManualClock, ends: bool
) -> None:
    """The short-cut gives a turn back at the next look: somebody has two large repositories served
    and takes the bot out of them, and until it is restarted no other large one is ever fetched."""
    mirrors = [
        DiskMirror(tmp_path / f"{n}.git", slow.remote.url, clock, patience=PATIENCE)
        for n in range(first.MOST + 1)
    ]
    for mirror in mirrors:
        with pytest.raises(GitSlowError):
            mirror.fetch(TOKEN)
    if ends:
        slow.goes.set()
        for going in list(first._going):
            going.process.wait()
        slow.goes.clear()
    else:
        clock.seconds += first.LONGEST

    with pytest.raises(GitSlowError, match="the first fetch takes long, and goes on"):
        mirrors[-1].fetch(TOKEN)

    slow.goes.set()
    for mirror in mirrors:
        mirror.first.end()


def test_who_gets_another_address_meanwhile_goes_on(
    slow: Slow, tmp_path: Path, clock: ManualClock
) -> None:
    """The short-cut fetches anew beside the one that goes on, into the same folder."""
    mirrors = DiskMirrors(tmp_path / "mirrors", clock=clock)
    old = mirrors.of(RepositoryId("github", 1), slow.remote.url)
    old.first = first.FirstFetch(old.folder, clock, PATIENCE)
    with pytest.raises(GitSlowError, match="goes on"):
        old.fetch(TOKEN)

    new = mirrors.of(RepositoryId("github", 1), f"{slow.remote.url}/")
    with pytest.raises(GitSlowError, match="goes on"):
        new.fetch(TOKEN)
    assert slow.packs == 1

    slow.goes.set()
    done_at_last(new)


def test_one_that_needs_more_memory_goes_on_with_that(
    slow: Slow, tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts: what ended for want of memory while nobody waited begins with as little again; or
    another large one begins beside it; or that it is too large is never told."""
    monkeypatch.setattr(disk, "MOST_MEMORY", 20 * 1024**2)
    monkeypatch.setitem(SAFE, "core.bigFileThreshold", "512m")
    slow.remote.commit({"a": bytes(24 * 1024**2)}, ref=str(MAIN))
    large = DiskMirror(
        tmp_path / "l.git",
        slow.remote.url,
        clock,
        large_memory=20 * 1024**2,
        patience=PATIENCE,
    )
    with pytest.raises(GitSlowError, match="goes on"):
        large.fetch(TOKEN)
    slow.goes.set()
    going = large.first._turn
    assert going is not None
    going.process.wait(30)
    slow.goes.clear()
    with pytest.raises(GitSlowError, match="goes on"):
        large.fetch(TOKEN)
    assert disk._ONE_LARGE.locked()
    slow.goes.set()

    with pytest.raises(ObjectTooLargeError, match="more than 20 MiB of memory"):
        done_at_last(large)

    assert slow.packs == 2
    assert not disk._ONE_LARGE.locked()
