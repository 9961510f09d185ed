"""Begins the sweeps, and tidies up, from time to time."""

from collections.abc import Callable, Collection, Sequence

import structlog

from bot import keys
from bot.clock import Clock, Offload
from bot.store.hints import NOTHING, START, Hint
from bot.store.port import Store
from bot.store.values import StoreError

log = structlog.get_logger()

SWEEP_AGAIN = 5.0
"""Seconds until a sweep that had no database is tried again: webhooks were refused meanwhile."""


async def sweep(
    store: Store,
    forges: Collection[str],
    trims: Collection[Callable[[], Sequence[str]]],
    interval: float,
    clock: Clock,
    offload: Offload,
) -> None:
    """Begin the sweeps, and tidy up from time to time.

    Their rows say when the sweeps come again, for all replicas together; a database that was lost
    meanwhile gets them anew.
    """
    hint, after = Hint(by=frozenset({START})), 0.0
    while True:
        try:
            sweeps: dict[keys.Key, Hint] = {
                keys.SweepKey(each, forge): hint for forge in forges for each in keys.Sweep
            }
            await store.queue.wake_all(sweeps, after=after)
            hint, after = NOTHING, interval
            await store.deliveries.forget()
            await store.queue.forget()
            await store.audit.forget()
            await store.claims.forget()
            await store.replicas.forget()
            await store.renderings.trim()
            for trim in trims:
                await offload(trim)
        except StoreError as error:
            log.warning("sweep put off", error=str(error))
            await clock.sleep(min(SWEEP_AGAIN, interval))
        else:
            await clock.sleep(interval)
