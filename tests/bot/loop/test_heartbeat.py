"""A process tells that it lives, through outages, and that it ends."""

import asyncio

from bot.loop import heartbeat
from bot.tasks import end
from tests.memory.clock import ManualClock
from tests.memory.store import MemoryStore


class _Ticking(ManualClock):
    """Each wait is over at once, and counted."""

    waits = 0

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        self.waits += seconds > 0
        await asyncio.sleep(0)


async def test_a_process_tells_that_it_lives_until_it_ends() -> None:
    """Short-cut refused: the first outage of the database ends the telling, or the process."""
    clock = _Ticking()
    store = MemoryStore(clock)
    store.statements.reachable = False
    beating = asyncio.create_task(heartbeat.beat(store.replicas, "1-a", "work", clock=clock))
    while clock.waits < 3:
        await asyncio.sleep(0)
    store.statements.reachable = True
    while not (seen := await store.replicas.seen()):
        await asyncio.sleep(0)

    await end([beating])

    assert (seen[0].name, seen[0].parts) == ("1-a", "work")
    assert await store.replicas.seen() == ()
