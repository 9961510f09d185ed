"""The dashboard issue is found again, made once, and nobody else's issue is taken for it."""

import asyncio
import random
from typing import cast

import pytest

from bot.dashboard import Dashboard
from bot.forges.port import ForgeMissingError, Repository
from bot.freezes import Freezes
from bot.store.port import Store
from lifecycle import boxes, limits
from lifecycle.events import Frozen, Log
from lifecycle.identity import GITHUB, RepositoryId
from tests.memory.clock import ManualClock
from tests.memory.store import MemoryStore
from tests.simulation.forge import SimulatedForge
from tests.simulation.forge_calls import ForgeCall

KEY, OLDER = b"k" * 32, b"o" * 32


class Stage:
    """A repository with issues, and the bot's dashboard there."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.forge = SimulatedForge(self.clock, random.Random(0))
        for login in ("acme", "author"):
            self.forge.state.add_user(login)
        self.repo = self.forge.add_repository(
            "acme", "blueprints", {"a": b"a"}, {"author": "write"}, issues=True
        )
        self.forge.add_app("acme")
        self.installation = self.forge.install(self.repo).id
        self.store = MemoryStore(self.clock)
        self.calls: list[str] = []
        self.hidden = False
        self.forge.faults = self._noted

    def _noted(self, call: ForgeCall) -> None:
        self.calls.append(call.name)
        if self.hidden:  # as a fresh token sees it
            raise ForgeMissingError(call.name, "404 Not Found")

    async def bot(self, *keys: bytes, instance: str = "main", adopt: bool = True) -> Dashboard:
        number = RepositoryId(GITHUB, self.repo.id)
        found = await self.forge.forges().repository_by_id(number, self.installation)
        if adopt:
            await self.store.repositories.adopt(found, self.clock.now(), {})
        return self.dashboard(found, *keys, instance=instance)

    def dashboard(self, found: Repository, *keys: bytes, instance: str = "main") -> Dashboard:
        forge, store = self.forge.forges().of(found), self.store
        known = keys or (KEY,)
        return Dashboard(found, forge, store.repositories, store.claims, known, instance)

    @property
    def issues(self) -> list[str]:
        """First lines of all issues."""
        return [str(each.body).partition("\n")[0] for each in self.repo.issues.values()]

    def people_open(self, body: str) -> int:
        state = self.forge.state
        with self.forge.change():
            return state.issues.open(self.repo, state.user("author"), "Dashboard", body).number

    def people_edit(self, number: int, **changes: str) -> None:
        state = self.forge.state
        with self.forge.change():
            state.issues.edit(self.repo.issues[number], state.user("acme"), **changes)


async def test_it_is_made_once_and_edited_only_when_it_changes() -> None:
    """The short-cut edits it each time: a hundred repositories use up what the forge grants."""
    stage = Stage()
    bot = await stage.bot()

    made = await bot.write("Dashboard", "one")
    assert made is not None
    stage.calls.clear()
    await bot.write("Dashboard", "one")
    assert stage.calls == ["issue"]
    await bot.write("Dashboard", "two")

    assert stage.issues == ["two"]
    found = await bot.find()
    assert found is not None
    assert (found.number, found.title) == (made.number, "Dashboard")
    assert made.number == 1


async def test_a_box_whose_delivery_was_lost_says_so() -> None:
    """The short-cut frees it in silence: whoever ticked it waits for ever."""
    stage = Stage()
    bot = await stage.bot()
    text = "\n".join(f"- [ ] `/upgrade {each} v2`: x{boxes.UNSEALED}" for each in "ab")
    made = await bot.write("Dashboard", text)
    assert made is not None

    stage.people_edit(made.number, body=made.body.replace("[ ]", "[x]"))
    heard, lost = boxes.ticked(made.number, made.body.replace("[ ]", "[x]"))
    await bot.write("Dashboard", text, heard=[heard])

    found = await bot.find()
    assert found is not None
    first, second = found.body.split("\n")[:2]
    assert "the bot was not told who" not in first
    assert "the bot was not told who" in second
    assert "[x]" not in found.body
    (again,) = boxes.ticked(made.number, found.body.replace(second, second.replace("[ ]", "[x]")))
    assert boxes.is_ours(again, [KEY], RepositoryId(GITHUB, stage.repo.id))
    assert again.command == lost.command


async def test_it_is_found_again_without_the_database() -> None:
    """Short-cuts refused: a second issue; one that another key or another bot signed."""
    stage = Stage()
    first = await (await stage.bot(OLDER)).write("Dashboard", "one")
    stage.store = MemoryStore(stage.clock)

    found = await (await stage.bot(KEY, OLDER)).write("Dashboard", "two")

    assert first is not None
    assert found is not None
    assert found.number == first.number
    assert stage.issues == ["two"]
    stage.store = MemoryStore(stage.clock)
    assert await (await stage.bot(KEY, OLDER, instance="staging")).find() is None
    assert await (await stage.bot(OLDER)).find() is None  # signed with the new key since


async def test_nobody_elses_issue_is_taken_for_it() -> None:
    """The short-cut goes by the marker: who copies it has the bot write into his issue."""
    stage = Stage()
    bot = await stage.bot()
    ours = await bot.write("Dashboard", "ours")
    assert ours is not None
    record = stage.repo.issues[ours.number].body or ""
    stage.people_edit(ours.number, body="record taken out")
    stage.people_open(record)
    stage.store = MemoryStore(stage.clock)

    again = await (await stage.bot()).write("Dashboard", "anew")

    assert again is not None
    assert stage.issues == ["record taken out", "ours", "anew"]


async def test_what_people_do_to_it() -> None:
    """Short-cuts refused: a text that people changed stays; one that is closed is opened again."""
    stage = Stage()
    bot = await stage.bot()
    made = await bot.write("Dashboard", "one")
    assert made is not None

    stage.people_edit(made.number, body="scribbled over", title="Packages")
    await bot.write("Dashboard", "one")
    assert stage.issues == ["one"]
    assert stage.repo.issues[made.number].title == "Packages"

    stage.people_edit(made.number, state="closed")
    stage.calls.clear()
    assert (await bot.write("Dashboard", "two")) is not None
    assert (stage.calls, stage.issues) == (["issue"], ["one"])

    del stage.repo.issues[made.number]
    stage.store.claims = MemoryStore(stage.clock).claims  # those of long ago are forgotten
    bot = await stage.bot()
    other = await bot.write("Dashboard", "three")
    assert other is not None
    assert stage.issues == ["three"]


async def test_two_replicas_make_one() -> None:
    """The short-cut asks whether there is one, and makes it."""
    stage = Stage()
    one, two = await stage.bot(), await stage.bot()

    found = await asyncio.gather(one.write("Dashboard", "a"), two.write("Dashboard", "a"))

    assert stage.issues == ["a"]
    assert [issue is None for issue in found].count(True) == 1


async def test_a_repository_without_issues_does_without() -> None:
    """The short-cut asks each time, or takes the refusal for a breakdown."""
    stage = Stage()
    before = await stage.bot()
    stage.forge.state.admin.edit(stage.repo, has_issues=False)
    stage.calls.clear()
    assert await before.write("Dashboard", "a") is None

    after = await stage.bot()
    stage.calls.clear()

    assert await after.write("Dashboard", "a") is None
    assert await after.find() is None
    assert stage.calls == []


async def test_what_was_frozen_stays_written_whatever_the_database_lacks() -> None:
    """The short-cut writes what the database knows, and that was restored to the day before."""
    stage = Stage()
    bot = await stage.bot()
    freeze = Frozen(person="acme", at=stage.clock.now(), comment=9, reason="fire")
    await bot.write("Dashboard", "one", frozenset({freeze}))

    await bot.write("Dashboard", "two")

    assert stage.issues == ["two"]
    assert await bot.freezes() == {freeze}


async def test_the_text_gives_way_to_what_is_frozen() -> None:
    """Short-cuts refused: the record is cut, or the whole is too long to be written."""
    stage = Stage()
    bot = await stage.bot()
    at = stage.clock.now()
    log: Log = frozenset(
        Frozen(person="acme", at=at, comment=number, reason="x" * 500) for number in range(60)
    )

    room = bot.room(log, at)
    made = await bot.write("Dashboard", "word " * 12_000, log, at)

    assert made is not None
    assert room < 40_000
    assert len(str(stage.repo.issues[made.number].body)) <= limits.COMMENT
    assert await bot.freezes() == log


async def test_issues_that_do_not_show_are_not_taken_for_no_freeze() -> None:
    """The short-cut takes an answer of "missing" for a repository without a dashboard."""
    stage = Stage()
    bot = await stage.bot()
    freeze = Frozen(person="acme", at=stage.clock.now(), comment=9, reason="fire")
    await bot.write("Dashboard", "one", frozenset({freeze}))
    number = RepositoryId(GITHUB, stage.repo.id)
    freezes = Freezes(number, bot, cast(Store, stage.store))

    stage.hidden = True
    with pytest.raises(ForgeMissingError):
        await bot.freezes()
    log, unread = await freezes.known()
    assert (log, unread != "") == (frozenset(), True)

    stage.hidden = False
    assert await freezes.known() == (frozenset({freeze}), "")
    stage.calls.clear()
    assert await freezes.known() == (frozenset({freeze}), "")
    assert stage.calls == []  # a look asks nothing more
    await freezes.recall()
    assert stage.calls == ["issue"]
