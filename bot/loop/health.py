"""The sweep of how the forge has the bot registered: its webhook, its permissions (ADR 25)."""

import structlog

from bot import metrics
from bot.forges.port import Forges
from bot.keys import Sweep
from bot.store.port import Store

log = structlog.get_logger()


class HealthSweep:
    """Tells operators of what only they can mend, in the log and in the metrics.

    Args:
        forges: The forge that is served.
        store: Where it is kept how much is wrong: any replica shows it.
        url: Where webhooks are to go; "" where nobody said.
    """

    def __init__(self, forges: Forges, store: Store, url: str = "") -> None:
        self._forges = forges
        self._store = store
        self._url = url

    async def run(self) -> None:
        """Look at it once; `porchbot doctor` prints the same."""
        name = self._forges.name
        wrong = [each for each in await self._forges.drift(self._url) if each.harmful]
        for each in wrong:
            log.error("needs an operator", forge=name, problem=str(each))
        before = await self._store.sweeps.mark(name, Sweep.HEALTH)
        texts = sorted(map(str, wrong))
        if before.get("wrong", []) != texts:
            metrics.REPAIRS.labels(Sweep.HEALTH).inc(len(set(texts) - {*before.get("wrong", [])}))
            await self._store.sweeps.keep_mark(name, Sweep.HEALTH, {"wrong": texts})
