"""Fetches of upstreams, a few at a time: hosts that strangers name may hang and hold up nobody."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, ParamSpec, TypeVar

from bot.clock import SYSTEM, Clock, Offload, OwnThreads
from bot.recent import Recent
from lifecycle.identity import RepositoryId

P = ParamSpec("P")
T = TypeVar("T")

MOST: Final = 6
"""Fetches at a time: git may take half a gigabyte for each."""

MOST_OF_ONE: Final = 2
"""Of them for one repository."""

LEFT: Final = 3
"""How many are left for repositories that have none and whose last one was no long one: three that
have two each would hold all."""

LONG: Final = 10.0
"""Seconds after which a fetch is a long one; a package takes one or two."""

MOST_REMEMBERED: Final = 2_000
"""Repositories of which it is remembered that their last fetch was a long one."""


@dataclass(eq=False)
class _Waiting:
    """A fetch that waits for its turn."""

    into: RepositoryId
    turn: asyncio.Future[None]


class LimitedFetches:
    """Runs `MOST` fetches at a time, of one repository `MOST_OF_ONE`, and shares them fairly.

    Args:
        offload: Where git is run.
        clock: How long one took.
    """

    def __init__(self, offload: Offload, clock: Clock = SYSTEM) -> None:
        self._offload = offload
        self._clock = clock
        self._going = Counter[RepositoryId]()
        self._waiting: list[_Waiting] = []
        self._long: Recent[RepositoryId, bool] = Recent(MOST_REMEMBERED)

    async def fetch(
        self, into: RepositoryId, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run one fetch when it is its turn; it counts until it ends, also if nobody waits for it.

        Args:
            into: For which repository.
            work: What to do.
            *args: Given to it.
            **kwargs: Likewise.
        """
        me = _Waiting(into, asyncio.get_running_loop().create_future())
        self._waiting.append(me)
        self._let_in()
        try:
            await me.turn
        except asyncio.CancelledError:
            if me in self._waiting:
                self._waiting.remove(me)
            else:
                self._ended(into)
            raise
        began = self._clock.monotonic()
        task = asyncio.ensure_future(self._offload(work, *args, **kwargs))

        def ended(done: asyncio.Future[T]) -> None:
            if self._clock.monotonic() - began > LONG:
                self._long.put(into, True)
            else:
                self._long.drop(into)
            self._ended(into)
            if not done.cancelled():
                done.exception()  # nobody may wait for it any more

        task.add_done_callback(ended)
        return await asyncio.shield(task)

    def _ended(self, into: RepositoryId) -> None:
        self._going[into] -= 1
        self._going += Counter()  # without those of which none goes on
        self._let_in()

    def _let_in(self) -> None:
        """Let those begin that may, who waits longest first."""
        for each in tuple(self._waiting):
            if not each.turn.done() and self._may_begin(each.into):  # done: cancelled just now
                self._going[each.into] += 1
                self._waiting.remove(each)
                each.turn.set_result(None)

    def _may_begin(self, into: RepositoryId) -> bool:
        mine = self._going[into]
        modest = not mine and not self._long.get(into)
        return mine < MOST_OF_ONE and self._going.total() < (MOST if modest else MOST - LEFT)


def in_own_threads(at_end: Callable[[Callable[[], None]], object]) -> LimitedFetches:
    """Return what runs them in `MOST` threads of their own.

    Args:
        at_end: Given what ends the threads.
    """
    threads = OwnThreads("upstreams", MOST)
    at_end(threads.close)
    return LimitedFetches(threads)
