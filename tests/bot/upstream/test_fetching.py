"""Where upstreams are fetched: what is slow there holds up nothing else, and nobody else."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import ParamSpec, TypeVar

import pytest

from bot.clock import in_thread
from bot.upstream import fetching
from bot.upstream.fetching import MOST_OF_ONE, LimitedFetches, in_own_threads
from lifecycle.identity import RepositoryId
from tests.memory.clock import ManualClock

P = ParamSpec("P")
T = TypeVar("T")

SLOW, OTHER = RepositoryId("github", 1), RepositoryId("github", 2)
LONG = 30
"""Seconds after which something did not come at all."""


@asynccontextmanager
async def opened() -> AsyncIterator[tuple[LimitedFetches, threading.Event]]:
    """Fetches of a bot, and what lets go all that hangs there."""
    ends: list[Callable[[], None]] = []
    fetches, event = in_own_threads(ends.append), threading.Event()
    try:
        yield fetches, event
    finally:
        event.set()
        for end in ends:
            end()


async def test_upstreams_that_never_answer_hold_up_nothing_else() -> None:
    """Short-cuts refused: the threads that rendering needs; and threads that one repository may
    take all of.
    """
    async with opened() as (fetches, event):
        stuck = [asyncio.create_task(fetches.fetch(SLOW, event.wait)) for _ in range(100)]
        await asyncio.sleep(0)

        async with asyncio.timeout(LONG):
            assert await fetches.fetch(OTHER, lambda: "fetched") == "fetched"

        many = (RepositoryId("github", number) for number in range(10, 110))
        stuck += [asyncio.create_task(fetches.fetch(each, event.wait)) for each in many]
        for _ in range(10):  # all that may begin have begun
            await asyncio.sleep(0)
        async with asyncio.timeout(LONG):
            assert await in_thread(lambda: "rendered") == "rendered"

        assert not any(each.done() for each in stuck)
        event.set()
        assert await asyncio.gather(*stuck) == [True] * 200


async def test_a_fetch_counts_until_it_ends_also_if_its_look_was_ended() -> None:
    """The short-cut lets the next one in: whoever pushes again and again has a fetch for each."""
    begun: list[int] = []
    async with opened() as (fetches, event):

        def hang(number: int) -> None:
            begun.append(number)
            event.wait()

        for number in range(MOST_OF_ONE * 3):
            task = asyncio.create_task(fetches.fetch(SLOW, hang, number))
            while number < MOST_OF_ONE and len(begun) <= number:
                await asyncio.sleep(0.001)
            for _ in range(10):  # it would have begun by now
                await asyncio.sleep(0)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

        async with asyncio.timeout(LONG):  # whatever was begun has begun by now
            await fetches.fetch(OTHER, lambda: None)
        assert begun == list(range(MOST_OF_ONE))

        event.set()
        async with asyncio.timeout(LONG):
            assert await fetches.fetch(SLOW, lambda: "fetched") == "fetched"


async def test_what_a_fetch_raises_is_raised_and_counts_no_more() -> None:
    """The short-cut lets the next one begin where all went well alone."""
    async with opened() as (fetches, _):
        for _ in range(MOST_OF_ONE * 2):
            with suppress(ZeroDivisionError):
                await asyncio.wait_for(fetches.fetch(SLOW, lambda: 1 // 0), LONG)


@asynccontextmanager
async def hanging(numbers: range) -> AsyncIterator[tuple[LimitedFetches, asyncio.Event, list[int]]]:
    """Two fetches of each of some repositories that hang; what lets them go; which have begun."""
    let_go, begun, clock = asyncio.Event(), list[int](), ManualClock()

    async def offload(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        found = work(*args, **kwargs)
        if isinstance(found, int):
            begun.append(found)
            await let_go.wait()
            clock.seconds += 2 * fetching.LONG
        return found

    fetches = LimitedFetches(offload, clock)
    each = [RepositoryId("github", number) for number in numbers for _ in range(2)]
    stuck = [asyncio.create_task(fetches.fetch(at, lambda n: n, at.number)) for at in each]
    await settled()
    yield fetches, let_go, begun
    let_go.set()
    async with asyncio.timeout(LONG):
        await asyncio.gather(*stuck)


async def settled() -> None:
    """All that may begin has begun."""
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize("several", [1, 3, 4])
async def test_a_few_repositories_together_do_not_hold_all(several: int) -> None:
    """The short-cut has a share for each: three that have two each hold all six."""
    async with hanging(range(10, 10 + several)) as (fetches, _, begun):
        assert {*begun} == {*range(10, 10 + several)}

        async with asyncio.timeout(LONG):
            assert await fetches.fetch(OTHER, lambda: "fetched") == "fetched"


async def test_who_took_long_leaves_half_to_others() -> None:
    """The short-cut forgets who hung: six repositories that do so by turns hold all again."""
    many = range(10, 20)
    async with hanging(many) as (fetches, let_go, begun):
        assert len(begun) == fetching.MOST
        let_go.set()
        while len(begun) < 2 * len(many):
            await settled()
        await settled()
        let_go.clear()

        again = [
            asyncio.create_task(fetches.fetch(RepositoryId("github", n), lambda n: n, n))
            for n in many
        ]
        await settled()
        assert len(begun) == 2 * len(many) + fetching.MOST - fetching.LEFT
        async with asyncio.timeout(LONG):
            assert await fetches.fetch(OTHER, lambda: "fetched") == "fetched"
        let_go.set()
        async with asyncio.timeout(LONG):
            assert await asyncio.gather(*again) == [*many]


@pytest.mark.parametrize("steps", range(8))
async def test_who_waits_no_more_keeps_nobody_waiting(steps: int) -> None:
    """The short-cut gives a turn to one that was ended meanwhile, and never takes it back."""
    async with hanging(range(10, 16)) as (fetches, let_go, _):
        many = [RepositoryId("github", number) for number in range(20, 30)]
        waiting = [asyncio.create_task(fetches.fetch(each, lambda: "x")) for each in many]
        await settled()
        let_go.set()
        for _ in range(steps):
            await asyncio.sleep(0)
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

        async with asyncio.timeout(LONG):
            for _ in range(2):  # who took long may begin where half is free alone
                assert await fetches.fetch(RepositoryId("github", 10), lambda: "x") == "x"


async def test_who_gives_up_as_a_turn_comes_is_passed_over() -> None:
    """The short-cut gives the turn to whoever has just ceased to wait: an error in the event loop
    that nobody sees."""
    loop = asyncio.get_running_loop()
    broken: list[object] = []
    loop.set_exception_handler(lambda _, told: broken.append(told))
    hangs = [loop.create_future() for _ in range(MOST_OF_ONE)]

    async def offload(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        found = work(*args, **kwargs)
        if isinstance(found, int):
            await hangs[found]
        return found

    fetches = LimitedFetches(offload, ManualClock())
    going = [asyncio.create_task(fetches.fetch(SLOW, int, n)) for n in range(MOST_OF_ONE)]
    await asyncio.sleep(0)
    gives_up = asyncio.create_task(fetches.fetch(SLOW, lambda: "late"))
    waits = asyncio.create_task(fetches.fetch(SLOW, lambda: "fetched"))
    for _ in range(3):
        await asyncio.sleep(0)

    hangs[0].set_result(None)
    await asyncio.sleep(0)  # it has ended, and nobody was told yet
    gives_up.cancel()

    async with asyncio.timeout(LONG):
        assert await waits == "fetched"
    assert gives_up.cancelled()
    assert broken == []
    hangs[1].set_result(None)
    assert await asyncio.gather(*going) == [0, 1]
