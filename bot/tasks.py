"""Cancels asyncio tasks and waits until they have ended."""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import suppress
from typing import Any

from bot.clock import Clock

AGAIN = 0.5
"""Seconds until a task that has not ended is cancelled again."""


async def wait_for(event: asyncio.Event, seconds: float, clock: Clock) -> None:
    """Wait for an event, but not for longer than some seconds."""
    waits = {asyncio.create_task(event.wait()), asyncio.create_task(clock.sleep(seconds))}
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await end(waits)


async def to_the_end(work: Coroutine[Any, Any, object]) -> None:
    """Wait for work that has to be done while we are ended: whoever cancels us again waits too.

    It must end by itself; what it raises is raised.
    """
    task = asyncio.create_task(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    task.result()


async def end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks until they have ended; what they raise is dropped.

    Once is not enough: `asyncio.wait_for` before Python 3.12 loses a cancellation that arrives
    together with what it waited for (python/cpython#86296), and libraries use it in their loops.
    The wait is in real seconds: a clock of somebody's that stands still would keep us here.
    """
    waiting = {task for task in tasks if not task.done()}
    while waiting:
        for task in waiting:
            task.cancel()
        _, waiting = await asyncio.wait(waiting, timeout=AGAIN)


async def together(work: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Do all of it at once, to its end; where one part breaks, the others end."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        await end(tasks)
