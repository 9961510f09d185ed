"""Repositories in which nothing happens are asked less and less often; what changes is swept."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import cast

import pytest

from bot.forges.port import ForgeRefusedError, Forges, NewestChange, Repository
from bot.loop.idle import AT_ONCE, LATE, MOST_IDLE, IdleWatch
from bot.loop.intervals import DAY, MOST_TIMES, Intervals
from bot.store.hints import Hint
from lifecycle.identity import GITHUB, RepositoryId
from tests.ids import on_github
from tests.memory.clock import BEGINNING, ManualClock
from tests.memory.store import MemoryStore

INTERVAL = 900.0
SINCE = datetime(2025, 11, 1, tzinfo=BEGINNING.tzinfo)


@dataclass
class _Forge:
    """Repositories, and what changed last in each."""

    clock: ManualClock
    pushed: dict[int, str] = field(default_factory=dict)
    newest: dict[int, NewestChange] = field(default_factory=dict)
    refuses: set[int] = field(default_factory=set)
    asked: list[int] = field(default_factory=list)
    name = GITHUB
    _number: int = 0

    def of(self, repository: Repository) -> "_Forge":
        return replace(self, _number=repository.id.number)

    def proposal_changes(self, number: int) -> None:
        at = self.clock.now()
        self.newest[number] = NewestChange(f"1 {at}", at, f"etag {at}")

    async def newest_change(self, shown: str = "", validator: str = "") -> NewestChange:
        self.asked.append(self._number)
        if self._number in self.refuses:
            raise ForgeRefusedError("ask", "403 blocked")
        newest = self.newest.get(self._number, NewestChange(validator="none"))
        if validator == newest.validator:
            return NewestChange(
                shown, newest.at, validator
            )  # a 304: only what it was told is known
        return newest


@dataclass
class _Stage:
    clock: ManualClock
    store: MemoryStore
    forge: _Forge
    ids: Sequence[RepositoryId]
    version: str = "1"

    def listed(self) -> list[Repository]:
        return [
            Repository(
                id=each,
                full_name=f"acme/{each.number}",
                default_branch="main",
                clone_url="",
                installation=3,
                installed_at=SINCE,
                changed=self.forge.pushed.get(each.number, "long ago"),
            )
            for each in self.ids
        ]

    async def round(self, *, started: bool = False, fresh: Sequence[int] = ()) -> list[int]:
        """One round, by another replica each time; the repositories that it has swept."""
        forges, intervals = cast(Forges, self.forge), Intervals(INTERVAL)
        watch = IdleWatch(forges, self.store, self.version, intervals=intervals, clock=self.clock)
        self.forge.asked.clear()
        await watch.round(self.listed(), {on_github(each) for each in fresh}, started=started)
        return await self.swept()

    async def swept(self) -> list[int]:
        """Work off what is due, as sweeps do; what was asked for later, too."""
        found: list[int] = []
        self.hints: list[Hint] = []
        while (wait := await self.store.queue.next_due()) is not None:
            self.clock.seconds += wait
            while (taken := await self.store.queue.take(f"t{len(found)}")) is not None:
                found.append(int(taken.key.split(":")[1]))
                self.hints.append(taken.hint)
                await self.store.queue.done(taken)
                await self.store.sweeps.swept(on_github(found[-1]), self.version, waits=False)
        return sorted(found)


@pytest.fixture
async def stage() -> _Stage:
    """Ten repositories that were swept, and in which nothing happens."""
    clock = ManualClock()
    made = _Stage(clock, MemoryStore(clock), _Forge(clock), [on_github(n) for n in range(1, 11)])
    for each in made.listed():
        await made.store.repositories.adopt(each, SINCE, {})
    assert await made.round() == list(range(1, 11))
    assert made.forge.asked == []  # adopting them reads everything
    clock.seconds += INTERVAL
    assert await made.round() == []
    return made


async def test_a_quiet_repository_is_asked_less_and_less_often_and_never_forgotten(
    stage: _Stage,
) -> None:
    """Short-cuts refused: asking all each time; and a wait that grows without an end."""
    asked: list[float] = []
    begin = stage.clock.seconds
    while stage.clock.seconds < begin + DAY:
        stage.clock.seconds += INTERVAL
        await stage.round()
        asked += [stage.clock.seconds] * stage.forge.asked.count(1)

    gaps = [after - before for before, after in pairwise(asked)]
    assert gaps[-1] > gaps[0]
    assert max(gaps) <= MOST_TIMES * INTERVAL + 2 * INTERVAL
    assert len(asked) < 20


async def test_what_changed_is_swept_and_asked_often_again(stage: _Stage) -> None:
    """Short-cuts refused: the list alone, which no comment changes; an ETag that hides its news."""
    for _ in range(40):
        stage.clock.seconds += INTERVAL
        await stage.round()
    stage.forge.pushed[2] = "just now"
    assert await stage.round() == [2]
    assert await stage.round() == []

    stage.forge.proposal_changes(3)
    stage.clock.seconds += LATE.total_seconds() + 1
    assert await stage.round(started=True) == [3]
    asked = 0
    for _ in range(4):
        stage.clock.seconds += INTERVAL
        assert await stage.round() == []
        asked += stage.forge.asked.count(3)
    assert asked >= 2


async def test_a_change_within_the_last_minute_is_looked_at_once_more(stage: _Stage) -> None:
    """The short-cut keeps what it was shown: a second change in the same second is never seen."""
    stage.forge.proposal_changes(4)

    assert await stage.round(started=True) == [4]
    stage.clock.seconds += INTERVAL
    assert await stage.round() == [4]
    stage.clock.seconds += INTERVAL
    assert await stage.round() == []


async def test_a_bot_that_starts_asks_all_and_sweeps_what_changed(stage: _Stage) -> None:
    """The short-cut sweeps all of them: a rolling restart of 1,000 takes the whole limit."""
    assert await stage.round(started=True) == []
    assert sorted(stage.forge.asked) == list(range(1, 11))


async def test_what_is_new_or_back_is_swept_at_once(stage: _Stage) -> None:
    """The short-cut trusts what was seen before it was away."""
    assert await stage.round(fresh=[5]) == [5]


async def test_another_version_looks_at_everything_anew_in_bounded_steps(stage: _Stage) -> None:
    """Short-cuts refused: nothing is looked at before it changes; or 1,000 at once."""
    stage.ids = [on_github(n) for n in range(1, 41)]
    for each in stage.listed():
        await stage.store.repositories.adopt(each, SINCE, {})
    await stage.round()
    stage.clock.seconds += INTERVAL
    await stage.round()
    stage.version = "2"

    first = await stage.round(started=True)

    assert len(first) == MOST_IDLE
    assert all(hint.everything for hint in stage.hints)
    found = set(first)
    for _ in range(12):
        stage.clock.seconds += INTERVAL
        swept = await stage.round()
        assert len(swept) <= MOST_IDLE
        found |= set(swept)
    assert len(found) == 40


async def test_everything_is_swept_once_a_day_and_not_all_at_once(stage: _Stage) -> None:
    """The short-cut never sweeps what is quiet: what no list tells is not found."""
    swept: list[int] = []
    rounds = 0
    begin = stage.clock.seconds
    while stage.clock.seconds < begin + DAY + MOST_TIMES * INTERVAL:
        stage.clock.seconds += INTERVAL
        found = await stage.round()
        rounds += bool(found)
        swept += found

    assert set(swept) == set(range(1, 11))
    assert rounds > 4


async def test_what_waits_for_things_that_no_list_tells_is_swept_when_it_is_asked(
    stage: _Stage,
) -> None:
    """The short-cut leaves an approved proposal alone for a day: a role came and nobody told."""
    await stage.store.sweeps.swept(on_github(6), "1", waits=True)

    assert await stage.round(started=True) == [6]


async def test_a_repository_that_refuses_keeps_no_other_from_being_asked(stage: _Stage) -> None:
    """The short-cut lets the round end with its error."""
    stage.forge.refuses = {1}
    stage.forge.proposal_changes(9)
    stage.clock.seconds += LATE.total_seconds() + 1

    assert await stage.round(started=True) == [1, 9]  # its own look tells who must act


async def test_many_sweeps_are_asked_for_one_after_another(stage: _Stage) -> None:
    """The short-cut asks for 1,000 at once: ten thousand requests in front of people's own."""
    numbers = range(1, AT_ONCE + 31)
    stage.ids = [on_github(n) for n in numbers]
    begin = stage.clock.now()

    swept = await stage.round(fresh=numbers)

    assert swept == list(numbers)
    assert stage.clock.now() - begin > timedelta(seconds=30)
