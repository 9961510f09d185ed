"""The clock that the bot goes by, and where its blocking work is done.

Both are given to whoever needs them, so that a simulation runs the same code with a time and an
order of its own.
"""

import asyncio
import contextvars
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
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


class OwnThreads:
    """Offload to threads that nobody else waits for: what is slow there holds up nothing else.

    Args:
        name: Of the threads, for whoever looks at the process.
        most: How many there may be; they are started as they are needed.
    """

    def __init__(self, name: str, most: int) -> None:
        self._threads = ThreadPoolExecutor(most, thread_name_prefix=name)

    async def __call__(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """As `Offload` has it."""
        bound = partial(contextvars.copy_context().run, work, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._threads, bound)

    def close(self) -> None:
        """End them as soon as each is done; what has not begun is not done."""
        self._threads.shutdown(wait=False, cancel_futures=True)
