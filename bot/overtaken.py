"""What a look waits for may take long: another look gets its place, and a newer push ends it.

A task works for one look; what is read here says which, so that nobody in between has to know.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from bot.clock import Clock
from bot.tasks import end

T = TypeVar("T")

LONG: Final = 0.5
"""Seconds after which a look gives its place to another: a package that was seen takes 0.1."""

EVERY: Final = 1.0
"""Seconds between questions whether something newer was pushed."""


class OvertakenError(Exception):
    """A newer commit was pushed: what is being made of the one before is of no use."""


@dataclass(frozen=True, slots=True)
class CurrentLook:
    """A look.

    Attributes:
        clock: By which it waits.
        leave: Gives its place among the looks of this process to another.
        pushed: Says whether a push to its branch was told since it began, other than of a commit.
        holds: Says whether its key is still its own; one that stood still may have lost it.
    """

    clock: Clock
    leave: Callable[[], None]
    pushed: Callable[[str], Awaitable[bool]]
    holds: Callable[[], Awaitable[bool]]


LOOK: Final[ContextVar[CurrentLook]] = ContextVar("LOOK")
"""The look that a task works for."""


async def holds_its_key() -> bool:
    """Tell whether the look that a task works for may still write; what is no look may."""
    look = LOOK.get(None)
    return look is None or await look.holds()


async def unless_overtaken(work: Coroutine[Any, Any, T], head: str = "") -> T:
    """Do what may take long; it is cancelled when it is of no use any more.

    Args:
        work: What to do; it writes nothing anywhere.
        head: The commit that it is about; "" where no push overtakes it.

    Raises:
        OvertakenError: Another commit was pushed meanwhile.
    """
    look = LOOK.get(None)
    if look is None:
        return await work
    task, watch = asyncio.create_task(work), asyncio.create_task(_watch(look, head))
    try:
        await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            watch.result()
            raise OvertakenError
        return task.result()
    finally:
        await end([task, watch])


async def _watch(look: CurrentLook, head: str) -> None:
    """End when another commit was pushed."""
    await look.clock.sleep(LONG)
    look.leave()
    while not (head and await look.pushed(head)):
        await look.clock.sleep(EVERY)
