"""The clock that the bot goes by, and where its blocking work is done.

Both are given to whoever needs them, so that a simulation runs the same code with a time and an
order of its own.
"""

import asyncio
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Clock(Protocol):
    """What time it is, waiting, and what is drawn at random."""

    def now(self) -> datetime:
        """The time of day, in UTC."""

    def monotonic(self) -> float:
        """Seconds that only grow, from an unknown beginning."""

    async def sleep(self, seconds: float) -> None:
        """Wait; 0 lets other tasks run."""

    def random(self) -> float:
        """A number from 0 up to, and without, 1: it spreads load and guards nothing."""


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """The time of day, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since some moment of this machine's."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait on the event loop."""
        await asyncio.sleep(seconds)

    def random(self) -> float:
        """Drawn by Python's generator."""
        return random.random()  # noqa: S311 (spreads load, guards nothing)


SYSTEM = SystemClock()
"""It keeps nothing: one is enough."""


class Offload(Protocol):
    """Where work is done that would hold up the event loop: reading git, rendering, parsing."""

    async def __call__(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Do it; gives what it returns or raises. Cancelled, it is left to end by itself."""


async def in_thread(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Offload to a thread of the event loop's own."""
    return await asyncio.to_thread(work, *args, **kwargs)
