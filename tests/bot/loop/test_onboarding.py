"""How often a configuration is proposed, over all repositories."""

from bot.loop.onboarding import AN_HOUR, Onboarding
from tests.ids import on_github
from tests.memory.clock import ManualClock
from tests.memory.store import MemoryStore


async def test_a_few_an_hour_over_all_repositories_and_replicas() -> None:
    """The short-cut counts in each process, or for each repository: an organisation is flooded."""
    clock = ManualClock()
    store = MemoryStore(clock)
    here, there = (Onboarding(None, store) for _ in range(2))  # type: ignore[arg-type] # not asked

    granted = [await (here, there)[n % 2].granted(on_github(n)) for n in range(AN_HOUR + 2)]
    assert granted == [True] * AN_HOUR + [False] * 2
    await clock.sleep(3600 / AN_HOUR)
    assert await here.granted(on_github(9))
    assert not await here.granted(on_github(10))
