"""Whose turn it is: of counts and order of looks, not of their time."""

import asyncio
from collections import Counter

from bot.clock import SystemClock
from bot.keys import Key, PullKey, place_of
from bot.loop.fairness import MOST_LATELY, FairScheduling
from bot.loop.work import Result, Settled, Worker, WorkItem
from bot.store.hints import NOTHING
from bot.store.values import SchedulingOrder
from bot.tasks import end
from lifecycle.identity import RepositoryId
from tests.ids import on_github
from tests.memory.store import MemoryStore

BUSY = on_github(1)


def keys_of(repository: int, count: int) -> list[str]:
    return [str(PullKey(on_github(repository), number)) for number in range(count)]


def test_fewest_looks_go_first_then_the_turn_longest_ago() -> None:
    """Fails when only what runs counts: who had ten looks just now would tie with who had none."""
    scheduling = FairScheduling(3)
    for repository in (1, 1, 2, 3):
        scheduling.began(keys_of(repository, 1)[0])
    scheduling.ended(keys_of(2, 1)[0])

    ranks = scheduling.now().ranks

    assert sorted(ranks, key=lambda place: ranks[place]) == ["github:2", "github:3", "github:1"]
    assert ranks["github:2"] > 0


def test_who_has_as_many_as_it_may_is_full_until_one_ends() -> None:
    scheduling = FairScheduling(2)
    one, two = keys_of(1, 2)
    scheduling.began(one)
    scheduling.began(two)
    assert scheduling.now().full == frozenset({"github:1"})

    scheduling.ended(one)
    assert scheduling.now().full == frozenset()
    scheduling.ended(two)
    assert scheduling.now() == SchedulingOrder({"github:1": 1})


def test_a_forge_is_full_with_one_more_than_a_repository_may_have() -> None:
    """The short-cut counts repositories alone: three of one forge fill all places."""
    scheduling = FairScheduling(2)
    keys = [str(PullKey(RepositoryId("slow", number), 1)) for number in range(3)]
    for key in keys:
        scheduling.began(key)
    assert scheduling.now().full == frozenset({"slow"})

    assert scheduling.ended(keys[0])
    assert scheduling.now().full == frozenset()


async def test_a_forge_that_is_slow_holds_up_no_other() -> None:
    """The short-cut gives all places to whose key is due: a forge whose answers take a minute each
    holds them for hours, with keys of as many repositories as there are places."""
    store, here = MemoryStore(), asyncio.Event()
    for number in range(10):
        await store.queue.wake(PullKey(RepositoryId("slow", number), 1))
    at_once = 0

    async def look(work: WorkItem) -> Result:
        nonlocal at_once
        if work.key != PullKey(on_github(1), 1):
            at_once += 1
            await asyncio.Event().wait()
        here.set()
        return Settled()

    working = asyncio.create_task(Worker(store, look, "one", grace=0).run(2, forges=2))
    while at_once < 3:
        await asyncio.sleep(0)
    await store.queue.wake(PullKey(on_github(1), 1))
    try:
        async with asyncio.timeout(10):
            await here.wait()
    finally:
        await end([working])

    assert at_once == 3


def test_what_is_remembered_is_bounded() -> None:
    scheduling = FairScheduling(2)
    for repository in range(500):
        scheduling.began(keys_of(repository, 1)[0])
        scheduling.ended(keys_of(repository, 1)[0])

    assert len(scheduling.now().ranks) == MOST_LATELY


class Looks:
    """Looks that end when they are told to.

    Attributes:
        begun: Keys in the order in which their looks began.
    """

    def __init__(self) -> None:
        self.begun: list[Key] = []
        self.room = asyncio.Semaphore(0)

    async def __call__(self, work: WorkItem) -> Result:
        self.begun.append(work.key)
        await self.room.acquire()
        return Settled()

    async def count(self, looks: int) -> None:
        """Wait until so many have begun."""
        for _ in range(20_000):  # steps of the event loop: nothing here takes time
            if len(self.begun) >= looks:
                return
            await asyncio.sleep(0)
        raise AssertionError(f"{len(self.begun)} looks began, not {looks}")


async def test_an_idle_repository_is_looked_at_while_a_busy_one_fills_the_rest() -> None:
    """The short-cut takes fairly, and has every slot filled by looks that take long: nobody's turn
    comes until one of them ends."""
    store, looks = MemoryStore(), Looks()
    worker = Worker(store, looks, "one", grace=0)
    await store.queue.wake_all({PullKey(BUSY, number): NOTHING for number in range(500)})
    running = asyncio.create_task(worker.run(4))
    try:
        await looks.count(4)
        for _ in range(50):
            await asyncio.sleep(0)
        assert Counter(place_of(str(key)) for key in looks.begun) == {"github:1": 4}

        await store.queue.wake(PullKey(on_github(2), 1))
        await looks.count(5)  # none of the others has ended
        assert looks.begun[4] == PullKey(on_github(2), 1)

        looks.room.release()
        await looks.count(6)
        assert place_of(str(looks.begun[5])) == "github:1"
    finally:
        await end([running])


class Endless(SystemClock):
    """Time never comes: only what is told wakes anybody."""

    async def sleep(self, seconds: float) -> None:
        await (asyncio.sleep(0) if seconds == 0 else asyncio.Event().wait())


async def test_a_slot_that_was_kept_from_a_repository_opens_at_once() -> None:
    """The short-cut finds nothing to take, and asks again when time has passed."""
    store, looks = MemoryStore(), Looks()
    worker = Worker(store, looks, "one", clock=Endless())
    await store.queue.wake_all({PullKey(BUSY, number): NOTHING for number in range(3)})
    running = asyncio.create_task(worker.run(1))
    try:
        for count in (1, 2, 3):
            await looks.count(count)
            for _ in range(50):
                await asyncio.sleep(0)
            looks.room.release()
    finally:
        await end([running])


async def test_who_comes_after_a_pause_stands_before_many_busy_ones() -> None:
    """Fails when the oldest key of those that run nothing goes first: thirty busy repositories
    whose keys are older are then all in front."""
    store, looks = MemoryStore(), Looks()
    worker = Worker(store, looks, "one", grace=0)
    for number in range(20):
        await store.queue.wake_all({PullKey(on_github(n), number): NOTHING for n in range(1, 31)})
    running = asyncio.create_task(worker.run(4))
    try:
        for _ in range(40):
            looks.room.release()
        await looks.count(45)
        await store.queue.wake(PullKey(on_github(99), 1))
        looks.room.release()
        await looks.count(46)
        assert looks.begun[45] == PullKey(on_github(99), 1)
    finally:
        await end([running])
