"""What an operator has to change is told in the log and in the metrics, by whichever replica."""

from dataclasses import dataclass, field
from typing import cast

from prometheus_client import REGISTRY

from bot import metrics
from bot.forges.port import Drift, Forges
from bot.keys import Sweep
from bot.loop.health import HealthSweep
from lifecycle.identity import GITHUB
from tests.memory.store import MemoryStore

WRONG = Drift("The webhook's secret", "empty", "set", "Set it")
HINT = Drift("The App's event star", "subscribed", "not", "Untick it", harmful=False)


@dataclass
class _Forge:
    told: list[Drift] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    name = GITHUB

    async def drift(self, url: str = "") -> list[Drift]:
        self.asked.append(url)
        return self.told


async def _shown(store: MemoryStore) -> float | None:
    metrics.show_drift(await store.sweeps.marks(Sweep.HEALTH))
    return REGISTRY.get_sample_value("porchbot_forge_drift", {"forge": GITHUB})


async def test_what_is_wrong_shows_in_each_replica_until_it_is_mended() -> None:
    """The short-cut sets a gauge where it was found: another replica's stays as it was."""
    store, forge = MemoryStore(), _Forge([WRONG, HINT])
    sweep = HealthSweep(cast(Forges, forge), store, "https://bot.example/webhooks/github")

    await sweep.run()
    assert await _shown(store) == 1
    forge.told = [HINT]
    await HealthSweep(cast(Forges, forge), store).run()
    assert await _shown(store) == 0
    assert forge.asked == ["https://bot.example/webhooks/github", ""]


async def test_what_is_newly_wrong_is_counted_once() -> None:
    """The short-cut counts it in each hour for which nobody has mended it."""

    def counted() -> float:
        name = "porchbot_sweep_repairs_total"
        return REGISTRY.get_sample_value(name, {"sweep": str(Sweep.HEALTH)}) or 0.0

    store, forge = MemoryStore(), _Forge([WRONG])
    before = counted()
    for _ in range(3):
        await HealthSweep(cast(Forges, forge), store).run()

    assert counted() == before + 1
