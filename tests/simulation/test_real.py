"""Histories on PostgreSQL and git on disk."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.git.remote import FLUSH, listing, packet
from bot.store.embedded.server import EmbeddedPostgres
from tests.bot.git.server import TOKEN, serve
from tests.memory.git_objects import MemoryObjects
from tests.simulation.history import Simulation, play
from tests.simulation.manner import CALM
from tests.simulation.on_disk import OnDisk
from tests.simulation.real import RealSetting
from tests.simulation.setting import BOT

FIRST = range(6)
"""Steps of the history that are taken: all of them take minutes on a busy machine."""


@pytest.fixture(scope="module")
def real(postgres: EmbeddedPostgres) -> Iterator[RealSetting]:
    """One database for one history after the other, as `make simulate REAL=1` has it."""
    with RealSetting(postgres.url) as setting:
        yield setting


def test_a_history_goes_on_real_things(real: RealSetting) -> None:
    """The short-cut leaves the real ones to the stories: nothing drawn ever runs on them.

    What happens in it may differ from memory: calls take their turns otherwise.
    """
    there = play("1", FIRST, real)

    assert [str(v) for v in there.violations] == []
    assert len(there.steps) == len(FIRST)
    assert any(each.who == BOT for each in there.diary.entries)


def test_what_is_published_is_tagged_in_git_on_disk(real: RealSetting) -> None:
    """The short-cut plays histories on it in which nothing is ever published."""
    told = Simulation("7", how=CALM, real=real)
    with told.happening():
        told.begin()
        told.pass_time(10)
        with told.forge.change():
            files: dict[str, bytes | None] = {"app/a.yaml": b"# stamped\nvalue: v9\n"}
            told.hands.commit("bob", "w", files, "x", onto=told.hands.tip("main"))
            pull = told.hands.open("bob", "w", "main", "Change")
        told.pass_time(10)
        with told.forge.change():
            told.hands.say("cat", pull, "/approve", "approve")
        told.pass_time(10)

    assert "refs/tags/app/v1" in told.repo.refs
    assert told.oracle.judge() == []


def test_refs_that_moved_are_told_at_once(tmp_path: Path) -> None:
    """The short-cut answers what git answered before, whatever has moved since."""
    with serve(tmp_path / "1.git") as remote:
        address = remote.url.replace("http://", f"http://{TOKEN}@")

        def told() -> set[str]:
            return set(remote.git("ls-remote", "--refs", address).splitlines())

        one, other = (remote.commit({"a": text}) for text in (b"1", b"2"))
        copy, objects = OnDisk(remote), MemoryObjects()
        for sha in (one, other):
            copy.sync(objects, {"refs/heads/main": sha})
            assert told() == told() == {f"{sha}\trefs/heads/main"}
        remote.git("push", "--quiet", address, f"{one}:refs/heads/w")
        assert told() == {f"{other}\trefs/heads/main", f"{one}\trefs/heads/w"}


def test_refs_are_told_as_git_tells_them(tmp_path: Path) -> None:
    """The short-cut tells other refs than were asked for, or never what a tag is of."""
    objects = MemoryObjects()
    commit = objects.commit({"a": b"1"})
    refs = {
        "refs/heads/main": commit,
        "refs/heads/drafts/a": commit,
        "refs/tags/a/v1": objects.tag("v1", commit),
        "refs/tags/ab/v1": objects.tag("v1", commit, "another\n"),
        "refs/tags/a/v2": commit,
    }
    told = packet(b"object-format=sha1")
    asked = [
        listing(["refs/heads/main"], told),
        listing(["refs/tags/a", "refs/heads/d"], told),
        listing(["refs/none"], told),
    ]
    begin, end = asked[1].split(b"0001")
    ask_peeled = begin + b"0001" + packet(b"peel\n") + packet(b"symrefs\n") + end
    assert ask_peeled.endswith(FLUSH)
    with serve(tmp_path / "1.git") as remote:
        copy = OnDisk(remote)
        copy.sync(objects, refs)
        for each in [*asked, ask_peeled]:
            assert copy._listed(each) == copy._git("version=2", each)


def test_a_database_from_a_backup_numbers_on(real: RealSetting) -> None:
    """The short-cut restores rows and begins to count anew, so that every look fails for a while:
    `pg_restore` sets each sequence to where it stood."""
    database = real.database
    store = database.empty()
    numbers = [asyncio.run(store.audit.begin("key", {})) for _ in range(3)]
    saved = database.snapshot(store)
    asyncio.run(store.audit.begin("key", {}))
    restored = database.restore(saved)

    assert asyncio.run(restored.audit.begin("key", {})) == numbers[-1] + 1
