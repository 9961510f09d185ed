"""Who may ask the forge next: of counts and order of requests, by a clock that is moved."""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from math import inf

import pytest

from bot.forges.budget import (
    AT_ONCE,
    FRESH,
    Account,
    BudgetSpentError,
    RequestPurpose,
    asker_now,
    asking,
    more_urgent,
)
from bot.forges.github.limits import (
    CONTENT_HOUR,
    CONTENT_MINUTE,
    GRAPHQL_MINUTE,
    REST_MINUTE,
    Cost,
    draws,
)
from bot.sandbox.rules.rate_limits import RateLimits
from bot.store.buckets import Bucket, Draw, ReportedLimit
from lifecycle.kinds import Urgency
from tests.memory.clock import ManualClock
from tests.memory.store import MemoryStore

BUSY, IDLE = "github:1", "github:2"
OPERATIONS = {
    Cost.READ: ("GET", "/repos/{owner}/{repo}"),
    Cost.WRITE: ("PATCH", "/repos/{owner}/{repo}/check-runs/{check_run_id}"),
    Cost.CREATE: ("POST", "/repos/{owner}/{repo}/issues/{issue_number}/comments"),
}


@dataclass
class Forge:
    """Counts requests as GitHub does.

    Attributes:
        clock: Its time.
        limits: What the sandbox forge refuses by.
        asked: When each came, for whom, and what it cost.
    """

    clock: ManualClock
    limits: RateLimits = field(default_factory=RateLimits)
    asked: list[tuple[float, str, Cost]] = field(default_factory=list)

    def answers(self, place: str, cost: Cost) -> None:
        self.asked.append((self.clock.seconds, place, cost))
        if cost in OPERATIONS:
            self.limits.check("bot", *OPERATIONS[cost], self.clock.now())  # raises what is too much

    def most(self, seconds: float, bucket: str) -> float:
        """The most tokens of one bucket that came within so many seconds."""
        came = [
            (at, float(sum(d.tokens for d in draws(cost, moments=True) if d.bucket.name == bucket)))
            for at, _, cost in self.asked
        ]
        most = within = 0.0
        first = 0
        for at, tokens in came:
            within += tokens
            while came[first][0] <= at - seconds:
                within -= came[first][1]
                first += 1
            most = max(most, within)
        return most


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


async def ask(
    account: Account, forge: Forge, place: str, cost: Cost, urgency: Urgency = Urgency.NORMAL
) -> bool:
    """Ask once; whether it was granted."""
    with asking(RequestPurpose(place, urgency)):
        try:
            async with account.granted("ask", draws(cost, moments=True)):
                forge.answers(place, cost)
        except BudgetSpentError:
            return False
    return True


async def test_two_replicas_together_stay_within_every_limit(clock: ManualClock) -> None:
    """The short-cut has a bucket a process: two of them ask for twice as much."""
    store, forge, draw = MemoryStore(clock), Forge(clock), random.Random(1)
    replicas = [Account("github:1", store.budgets, clock=clock) for _ in range(2)]
    costs = (Cost.READ, Cost.READ, Cost.READ, Cost.WRITE, Cost.CREATE, Cost.MUTATION)

    async def goes_on(account: Account) -> None:
        while clock.seconds < 400:
            place, urgency = f"github:{draw.randrange(9)}", draw.choice(list(Urgency))
            if not await ask(account, forge, place, draw.choice(costs), urgency):
                clock.seconds += 1  # put off

    await asyncio.gather(*(goes_on(account) for account in replicas for _ in range(4)))

    assert 200 < forge.most(60, REST_MINUTE.name) <= 900
    assert 50 < forge.most(3_600, CONTENT_HOUR.name) <= 500
    assert 10 < forge.most(60, CONTENT_MINUTE.name) <= 80
    assert forge.most(60, GRAPHQL_MINUTE.name) <= 2_000


async def test_an_idle_repository_waits_for_none_that_is_busy(clock: ManualClock) -> None:
    """The short-cut serves who came first: the idle one's look stands behind 500 requests."""
    store, forge = MemoryStore(clock), Forge(clock)
    account = Account("github:1", store.budgets, clock=clock)
    busy = [
        asyncio.create_task(ask(account, forge, BUSY, Cost.WRITE, Urgency.FIRST))
        for _ in range(500)
    ]
    while clock.seconds < 10:
        await asyncio.sleep(0)
    begun, before = clock.seconds, len(forge.asked)

    for cost in [Cost.READ] * 8 + [Cost.WRITE] * 3:
        assert await ask(account, forge, IDLE, cost)

    assert clock.seconds - begun <= 1
    assert Counter(place for _, place, _ in forge.asked[before:])[BUSY] <= 11
    for task in busy:
        task.cancel()
    await asyncio.gather(*busy, return_exceptions=True)


async def used_up(account: Account, clock: ManualClock, asker: RequestPurpose, until: float) -> int:
    """Ask three times a second, as comments do that anybody writes, until nothing is granted."""
    asked = 0
    while clock.seconds < until:
        with asking(asker):
            for _ in range(30):
                try:
                    async with account.granted("ask", draws(Cost.READ, moments=False)):
                        asked += 1
                except BudgetSpentError:
                    return asked
        clock.seconds += 10
    return asked


async def grants(account: Account, asker: RequestPurpose, count: int) -> bool:
    with asking(asker):
        for _ in range(count):
            try:
                async with account.granted("ask", draws(Cost.READ, moments=False)):
                    pass
            except BudgetSpentError:
                return False
    return True


async def test_an_hour_is_used_up_by_nobody_alone(clock: ManualClock) -> None:
    """Short-cut refused: who asks evenly had little in each moment, and takes what is kept."""
    account = Account("github:1", MemoryStore(clock).budgets, clock=clock)
    account.told(ReportedLimit("core", 5_000, 5_000, 3_600))

    asked = await used_up(account, clock, RequestPurpose(BUSY, Urgency.FIRST), 3_500)

    assert 4_000 < asked <= 4_500
    assert await grants(account, RequestPurpose(IDLE, Urgency.NORMAL), 50)


async def test_one_proposal_does_not_use_up_the_hour_of_its_neighbours(clock: ManualClock) -> None:
    """Short-cut refused: all of a repository are busy when one is; nothing of it is published."""
    account = Account("github:1", MemoryStore(clock).budgets, clock=clock)
    account.told(ReportedLimit("core", 5_000, 5_000, 3_600))
    flooded = RequestPurpose(BUSY, Urgency.FIRST, f"{BUSY}:pull:7")

    await used_up(account, clock, flooded, 3_500)

    assert await grants(account, RequestPurpose(BUSY, Urgency.FIRST, f"{BUSY}:base:main"), 50)
    assert not await grants(account, flooded, 1)
    assert await grants(account, RequestPurpose(IDLE, Urgency.NORMAL), 50)


async def make_busy(account: Account) -> None:
    """Neither is served from what is kept, for an hour."""
    for place in (BUSY, IDLE):
        with asking(RequestPurpose(place, Urgency.FIRST)):
            async with account.granted("much", [Draw(Bucket("core", 5_000), 330)]):
                pass


EMPTIED = {
    "a comment that waits a moment": (Cost.CREATE, CONTENT_MINUTE, 20, 10),
    "a comment that waits for long": (Cost.CREATE, CONTENT_HOUR, 120, 60),
    "a query that waits for long": (Cost.QUERY, Bucket("graphql", 5_000), 5_000, 10),
}


@pytest.mark.parametrize(("cost", "bucket", "size", "count"), EMPTIED.values(), ids=EMPTIED)
async def test_who_waits_for_one_limit_keeps_nobody_from_the_others(
    clock: ManualClock, cost: Cost, bucket: Bucket, size: float, count: int
) -> None:
    """The short-cut serves one after the other: behind one person's comments, whose hour is used
    up, everybody's requests wait, and are put off until that hour has passed."""
    store, forge = MemoryStore(clock), Forge(clock)
    account = Account("github:1", store.budgets, clock=clock)
    assert not await store.budgets.take("github:1", [Draw(bucket, size)])
    await make_busy(account)
    began = clock.seconds
    flood = [
        asyncio.create_task(ask(account, forge, BUSY, cost, Urgency.FIRST)) for _ in range(count)
    ]

    reads = await asyncio.gather(*(ask(account, forge, IDLE, Cost.READ) for _ in range(10)))

    assert all(reads)
    assert clock.seconds - began < 1
    for task in flood:
        task.cancel()
    await asyncio.gather(*flood, return_exceptions=True)


async def test_who_overtakes_takes_nothing_away(clock: ManualClock) -> None:
    """The short-cut lets small requests go on past a comment that waits: of what comes back they
    take each token, and it never has the five that it needs."""
    store, forge = MemoryStore(clock), Forge(clock)
    account = Account("github:1", store.budgets, clock=clock)
    await make_busy(account)
    used = [Draw(CONTENT_MINUTE, 20), Draw(REST_MINUTE, 270)]
    assert not await store.budgets.take("github:1", used)
    comment = asyncio.create_task(ask(account, forge, BUSY, Cost.CREATE, Urgency.FIRST))

    async def goes_on() -> None:
        while not comment.done():
            await ask(account, forge, IDLE, Cost.READ, Urgency.FIRST)

    await asyncio.gather(*(goes_on() for _ in range(4)))

    assert await comment
    assert clock.seconds < 10


async def test_of_two_busy_repositories_each_gets_its_share(clock: ManualClock) -> None:
    store, forge = MemoryStore(clock), Forge(clock)
    account = Account("github:1", store.budgets, clock=clock)
    waiting = [
        asyncio.create_task(ask(account, forge, place, Cost.WRITE))
        for place, count in ((BUSY, 500), (IDLE, 100))
        for _ in range(count)
    ]
    while clock.seconds < 19:
        await asyncio.sleep(0)
    counts = Counter(place for _, place, _ in forge.asked)

    assert counts[IDLE] >= 0.8 * counts[BUSY]
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_who_is_waited_for_goes_first(clock: ManualClock) -> None:
    """The short-cut serves in the order of coming: a merge stands behind a sweep."""
    store, forge = MemoryStore(clock), Forge(clock)
    account = Account("github:1", store.budgets, clock=clock)
    for place in (BUSY, IDLE, "github:3"):
        for _ in range(int(FRESH) + 5):
            await ask(account, forge, place, Cost.QUERY, Urgency.FIRST)
    forge.asked.clear()
    kinds = ((BUSY, Urgency.LATER), (IDLE, Urgency.NORMAL), ("github:3", Urgency.FIRST))
    await asyncio.gather(
        *(ask(account, forge, place, Cost.QUERY, kind) for place, kind in kinds for _ in range(3))
    )

    granted = [place for _, place, _ in forge.asked]
    assert granted[:3] == ["github:3"] * 3
    assert granted == sorted(granted, key=["github:3", IDLE, BUSY].index)


@pytest.mark.parametrize("asked", [1e300, inf])
async def test_no_forge_asks_for_a_pause_of_more_than_an_hour(
    clock: ManualClock, asked: float
) -> None:
    """Short-cuts: a number of seconds is believed; or one of 400 digits is an error that is
    nobody's."""
    store, forge = MemoryStore(clock), Forge(clock)
    account = Account("github:1", store.budgets, clock=clock)
    await account.pause(asked)
    clock.seconds += 3_601

    assert await ask(account, forge, BUSY, Cost.READ)


async def test_a_pause_that_one_replica_was_told_is_kept_by_all(clock: ManualClock) -> None:
    store, forge = MemoryStore(clock), Forge(clock)
    one, two = (Account("github:1", store.budgets, clock=clock) for _ in range(2))
    assert await ask(two, forge, BUSY, Cost.READ)

    await one.pause(60)

    with pytest.raises(BudgetSpentError, match="used up") as error:
        await two.granted("ask", draws(Cost.READ, moments=False)).__aenter__()
    assert 59 < error.value.after <= 60
    assert await ask(Account("github:2", store.budgets, clock=clock), forge, BUSY, Cost.READ)
    clock.seconds += 61
    assert await ask(two, forge, BUSY, Cost.READ)


async def test_an_hour_that_is_used_up_puts_off_until_the_reset(clock: ManualClock) -> None:
    """The short-cut asks on, and waits for the forge to refuse."""
    store, forge = MemoryStore(clock), Forge(clock)
    account = Account("github:1", store.budgets, clock=clock)
    account.told(ReportedLimit("core", 5_000, 0, 1_200))

    with pytest.raises(BudgetSpentError) as error:
        await account.granted("ask", draws(Cost.READ, moments=True)).__aenter__()

    assert 1_190 < error.value.after <= 1_200
    assert await ask(account, forge, BUSY, Cost.QUERY)
    clock.seconds += 1_201
    assert await ask(account, forge, BUSY, Cost.READ)


async def test_without_a_database_each_keeps_to_a_part_of_the_limits(clock: ManualClock) -> None:
    """Two short-cuts: nothing is read while the database is away; or everything is asked for."""
    store, forge = MemoryStore(clock), Forge(clock)
    account = Account("github:1", store.budgets, clock=clock)
    store.statements.reachable = False

    async def goes_on() -> None:
        while clock.seconds < 120:
            if not await ask(account, forge, BUSY, Cost.READ):
                clock.seconds += 1

    await asyncio.gather(*(goes_on() for _ in range(4)))

    assert 60 < forge.most(60, REST_MINUTE.name) <= 900 / 5


async def test_who_gives_up_keeps_nobody_waiting(clock: ManualClock) -> None:
    store, forge = MemoryStore(clock), Forge(clock)
    account = Account("github:1", store.budgets, clock=clock)
    given_up = asyncio.create_task(ask(account, forge, BUSY, Cost.READ))
    other = asyncio.create_task(ask(account, forge, IDLE, Cost.READ))
    given_up.cancel()

    assert await other
    assert [place for _, place, _ in forge.asked] == [IDLE]


def test_an_action_is_as_urgent_as_it_or_its_look() -> None:
    """Fails when an action's own urgency counts alone: a check of somebody's `/check` waits."""
    found = []
    with asking(RequestPurpose(BUSY, Urgency.NORMAL)):
        for urgency in Urgency:
            with more_urgent(urgency):
                found.append(asker_now())

    assert found == [
        RequestPurpose(BUSY, u) for u in (Urgency.FIRST, Urgency.NORMAL, Urgency.NORMAL)
    ]
    assert asker_now() == RequestPurpose()


async def test_no_more_are_under_way_than_github_takes_at_once(clock: ManualClock) -> None:
    """The short-cut bounds them behind the grants: hundreds are granted, and counted nowhere."""
    account = Account("github:1", MemoryStore(clock).budgets, clock=clock)
    under_way, end = [], asyncio.Event()

    async def one() -> None:
        async with account.granted("ask", draws(Cost.READ, moments=False)):
            under_way.append(1)
            await end.wait()

    tasks = [asyncio.create_task(one()) for _ in range(40)]
    for _ in range(200):
        await asyncio.sleep(0)
    assert len(under_way) == AT_ONCE

    end.set()
    await asyncio.gather(*tasks)
    assert len(under_way) == 40
