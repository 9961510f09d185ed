"""Fetches of upstreams, a few at a time: hosts that strangers name may hang and hold up nobody."""

import asyncio
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from bot.clock import Offload, OwnThreads
from lifecycle.identity import RepositoryId

P = ParamSpec("P")
T = TypeVar("T")

MOST: Final = 6
"""Fetches at a time: git may take half a gigabyte for each."""

MOST_OF_ONE: Final = 2
"""Of them for one repository."""


class LimitedFetches:
    """Runs fetches, and at most `MOST_OF_ONE` at a time for each repository.

    Args:
        offload: Where git is run.
    """

    def __init__(self, offload: Offload) -> None:
        self._offload = offload
        self._limits: WeakValueDictionary[RepositoryId, asyncio.Semaphore] = WeakValueDictionary()

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
        limit = self._limits.setdefault(into, asyncio.Semaphore(MOST_OF_ONE))
        await limit.acquire()
        task = asyncio.ensure_future(self._offload(work, *args, **kwargs))

        def ended(done: asyncio.Future[T]) -> None:
            limit.release()
            if not done.cancelled():
                done.exception()  # nobody may wait for it any more

        task.add_done_callback(ended)
        return await asyncio.shield(task)


def in_own_threads(at_end: Callable[[Callable[[], None]], object]) -> LimitedFetches:
    """Return what runs them in `MOST` threads of their own.

    Args:
        at_end: Given what ends the threads.
    """
    threads = OwnThreads("upstreams", MOST)
    at_end(threads.close)
    return LimitedFetches(threads)
