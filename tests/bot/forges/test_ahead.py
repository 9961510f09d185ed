"""Tokens taken ahead: few statements, and nobody waits for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from bot.forges.budget import Account
from bot.forges.github.limits import REST_HOUR, REST_MINUTE, Cost
from bot.store.buckets import Draw, ReportedLimit
from bot.store.port import Budgets
from tests.bot.forges.test_budget import BUSY, IDLE, Forge, ask
from tests.memory.clock import ManualClock
from tests.memory.store import MemoryStore


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@dataclass
class Counted:
    """Counts the statements of another `Budgets`.

    Attributes:
        behind: It.
        taken: What each statement took out of the bucket of an hour, granted or not.
    """

    behind: Budgets
    taken: list[float] = field(default_factory=list)

    async def take(
        self, account: str, draws: Sequence[Draw], told: Sequence[ReportedLimit] = ()
    ) -> float:
        self.taken += [draw.tokens for draw in draws if draw.bucket == REST_HOUR]
        return await self.behind.take(account, draws, told)

    async def pause(self, account: str, seconds: float) -> None:
        await self.behind.pause(account, seconds)

    async def left(self) -> Mapping[tuple[str, str], tuple[float, float]]:
        return await self.behind.left()


async def test_a_look_takes_a_few_statements_and_a_lonely_request_no_more_than_its_own(
    clock: ManualClock,
) -> None:
    """The short-cut asks the database before each request: as often as the forge itself."""
    forge, counted = Forge(clock), Counted(MemoryStore(clock).budgets)
    account = Account("github:1", counted, clock=clock)

    for _ in range(40):
        assert await ask(account, forge, BUSY, Cost.READ)

    assert len(counted.taken) <= 8
    assert 40 <= sum(counted.taken) <= 56
    lonely = Account("github:2", counted, clock=clock)
    for _ in range(5):
        clock.seconds += 20
        counted.taken.clear()
        assert await ask(lonely, forge, BUSY, Cost.READ)
        assert counted.taken == [1]


async def test_nothing_is_taken_ahead_where_there_is_not_plenty(clock: ManualClock) -> None:
    """The short-cut takes ahead whatever is left: the last tokens go to who may not need them."""
    forge, counted = Forge(clock), Counted(MemoryStore(clock).budgets)
    account = Account("github:1", counted, clock=clock)
    ahead = []
    for asked in range(1, 201):
        assert await ask(account, forge, BUSY, Cost.READ)
        tokens, size = (await counted.left())["github:1", REST_MINUTE.name]
        ahead.append(size - asked - tokens)
    assert max(ahead[:100]) > 10
    assert max(ahead[170:]) == 0

    clock.seconds += 60
    for _ in range(8):
        assert await ask(account, forge, BUSY, Cost.READ)
    account.told(ReportedLimit("core", 5_000, 2_000, 1_200))
    counted.taken.clear()
    for _ in range(20):
        assert await ask(account, forge, IDLE, Cost.READ)

    assert counted.taken == [1] * 20


async def test_a_pause_ends_what_was_taken_ahead(clock: ManualClock) -> None:
    """Fails when a process that has tokens goes on in the pause that it was asked for itself."""
    forge, account = Forge(clock), Account("github:1", MemoryStore(clock).budgets, clock=clock)
    for _ in range(8):  # two are left of what the fifth took
        assert await ask(account, forge, BUSY, Cost.READ)

    await account.pause(60)

    assert not await ask(account, forge, BUSY, Cost.READ)
