"""Where upstreams are fetched: hosts that strangers name may hang, and hold up nothing else."""

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


class FetchRooms:
    """Fetches for repositories, a few at a time for each.

    Args:
        offload: Where git is run.
    """

    def __init__(self, offload: Offload) -> None:
        self._offload = offload
        self._rooms: WeakValueDictionary[RepositoryId, asyncio.Semaphore] = WeakValueDictionary()

    async def fetch(
        self, into: RepositoryId, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Do what may hang; whoever does not wait for it any more has its room until it ends.

        Args:
            into: For which repository.
            work: What to do.
            *args: Given to it.
            **kwargs: Likewise.
        """
        room = self._rooms.setdefault(into, asyncio.Semaphore(MOST_OF_ONE))
        await room.acquire()
        task = asyncio.ensure_future(self._offload(work, *args, **kwargs))

        def ended(done: asyncio.Future[T]) -> None:
            room.release()
            if not done.cancelled():
                done.exception()  # nobody may wait for it any more

        task.add_done_callback(ended)
        return await asyncio.shield(task)


def fetch_rooms(at_end: Callable[[Callable[[], None]], object]) -> FetchRooms:
    """Rooms with threads of their own.

    Args:
        at_end: Given what ends them.
    """
    threads = OwnThreads("upstreams", MOST)
    at_end(threads.close)
    return FetchRooms(threads)
