"""Batches wakes: those that come while one statement is written go into the next one."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from bot.keys import BaseKey, Key
from bot.sayable import as_json
from bot.store.hints import NOTHING, Hint

Write = Callable[[Mapping[Key, Hint], float], Awaitable[None]]
"""Writes wakes that are due after so many seconds, in one transaction."""


class Gathering:
    """Gathers wakes while earlier ones are written.

    Args:
        write: Called with what was gathered, one call at a time.
    """

    def __init__(self, write: Write) -> None:
        self._write = write
        self._turn = asyncio.Lock()
        self._gathered: dict[float, dict[Key, Hint]] = {}
        self._written: dict[float, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def add(self, wakes: Mapping[Key, Hint], after: float) -> None:
        """Wait until these wakes are written; raises what `write` raises."""
        gathered = self._gathered.setdefault(after, {})
        for key, hint in wakes.items():
            gathered[key] = gathered.get(key, NOTHING) | hint
        if after not in self._written:
            self._written[after] = task = asyncio.create_task(self._write_next(after))
            self._tasks.add(task)
            task.add_done_callback(self._forget)
        # Whoever is cancelled leaves the wakes of others alone.
        await asyncio.shield(self._written[after])

    async def drain(self) -> None:
        """Wait for all that was gathered, whether it can be written or not."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _write_next(self, after: float) -> None:
        async with self._turn:
            del self._written[after]  # what comes from now on is the next one's
            await self._write(self._gathered.pop(after), after)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # those who still wait get it; others are gone


def columns(wakes: Mapping[Key, Hint]) -> tuple[list[str], list[str], list[int]]:
    """Keys sorted, so that two transactions never wait for each other; their hints; priorities.

    A base branch goes first: publishing is what people wait for, and there are few of them.
    """
    ordered = sorted(wakes, key=str)
    return (
        [str(key) for key in ordered],
        [as_json(wakes[key].to_json()) for key in ordered],
        [int(isinstance(key, BaseKey)) for key in ordered],
    )
