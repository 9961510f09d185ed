"""Where upstreams are fetched: what is slow there holds up nothing else, and nobody else."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from bot.clock import in_thread
from bot.upstream.fetching import MOST_OF_ONE, LimitedFetches, in_own_threads
from lifecycle.identity import RepositoryId

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
