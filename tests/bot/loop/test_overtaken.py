"""A look that waits for a rendering keeps nobody from being looked at, and ends when it is old."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bot.clock import SystemClock
from bot.keys import Key, ProposalKey
from bot.loop.work import LookAgain, Result, Settled, Worker, WorkItem
from bot.overtaken import OvertakenError, unless_overtaken
from bot.store.hints import Hint
from bot.tasks import end
from tests.ids import FIRST
from tests.memory.store import MemoryStore

KEY = ProposalKey(FIRST, FIRST.number, "drafts/net/w")
OTHER = ProposalKey(FIRST, FIRST.number, "drafts/web/w")


class Quick(SystemClock):
    """A hundred seconds a second."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 100)


@dataclass
class Renderings:
    """Looks that wait for a rendering of the newest commit they know.

    Attributes:
        began: Key and commits of each look.
        done: Lets renderings end.
        ended: How each rendering ended.
        looked: Keys that came to rest.
    """

    began: asyncio.Queue[tuple[Key, frozenset[str]]] = field(default_factory=asyncio.Queue)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    ended: list[str] = field(default_factory=list)
    looked: asyncio.Queue[Key] = field(default_factory=asyncio.Queue)

    async def look(self, work: WorkItem) -> Result:
        await self.began.put((work.key, work.hint.heads))
        try:
            await unless_overtaken(self._render(), max(work.hint.heads))
        except OvertakenError:
            return LookAgain(0)
        await self.looked.put(work.key)
        return Settled()

    async def _render(self) -> None:
        try:
            await self.done.wait()
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        self.ended.append("done")


@asynccontextmanager
async def working(store: MemoryStore, looks: Renderings, most: int) -> AsyncIterator[None]:
    worker = Worker(store, looks.look, "one", clock=Quick())
    running = asyncio.create_task(worker.run(most))
    try:
        yield
    finally:
        looks.done.set()
        await end([running])


async def test_a_look_that_waits_for_a_rendering_gives_its_place_to_another() -> None:
    """The short-cut holds it: as many hostile packages as there are looks, and nobody is served."""
    store, looks = MemoryStore(), Renderings()
    async with asyncio.timeout(60), working(store, looks, 1):
        await store.queue.wake(KEY, Hint(heads=frozenset({"a"})))
        assert await looks.began.get() == (KEY, frozenset({"a"}))
        await store.queue.wake(OTHER, Hint(heads=frozenset({"b"})))
        assert await looks.began.get() == (OTHER, frozenset({"b"}))
        assert looks.ended == []
        looks.done.set()
        assert {await looks.looked.get() for _ in range(2)} == {KEY, OTHER}

        await store.queue.wake(KEY, Hint(heads=frozenset({"c"})))
        assert await looks.looked.get() == KEY  # what was given is taken back once


async def test_a_push_ends_the_rendering_of_the_commit_before() -> None:
    """The short-cut renders it to its end, and shows it, before the new commit has its turn."""
    store, looks = MemoryStore(), Renderings()
    async with asyncio.timeout(60), working(store, looks, 1):
        await store.queue.wake(KEY, Hint(heads=frozenset({"a"})))
        assert await looks.began.get() == (KEY, frozenset({"a"}))
        await store.queue.wake(KEY, Hint(heads=frozenset({"b"})))

        assert await looks.began.get() == (KEY, frozenset({"a", "b"}))
        assert looks.ended == ["cancelled"]


async def test_other_news_end_no_rendering() -> None:
    """The short-cut ends it at any wake: whoever comments often keeps a push from being checked."""
    store, looks = MemoryStore(), Renderings()
    async with asyncio.timeout(60), working(store, looks, 2):
        await store.queue.wake(KEY, Hint(heads=frozenset({"a"})))
        await looks.began.get()
        await store.queue.wake(KEY, Hint(comments=frozenset({7}), heads=frozenset({"a"})))
        await store.queue.wake(OTHER, Hint(heads=frozenset({"b"})))
        for _ in range(3):
            await Quick().sleep(3)
        looks.done.set()
        await looks.looked.get()

        assert "cancelled" not in looks.ended
