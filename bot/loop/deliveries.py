"""The sweep of the forge's log: what it could not bring us is read there and taken in (ADR 25)."""

from collections.abc import Sequence
from datetime import timedelta

import structlog

from bot import metrics
from bot.clock import SYSTEM, Clock
from bot.forges.port import FailedDelivery, ForgeMissingError, ForgeRefusedError, Forges
from bot.keys import Sweep
from bot.store.port import Store

log = structlog.get_logger()

MOST_PAGES = 10
"""Pages of the log that one sweep reads: a thousand tries; the next goes on from there."""

MOST_BODIES = 300
"""Deliveries after which a sweep ends: what an outage of hours leaves takes some of them."""

LATE = timedelta(minutes=1)
"""How long after a try an older one may still come into the log: an answer takes up to ten seconds,
and a log may be late."""


class DeliverySweep:
    """Takes in what the forge could not deliver.

    Args:
        forges: The forge that is served.
        store: Where deliveries go, and where in the log the last sweep ended.
        clock: Which tries are too new for older ones to be ruled out.
    """

    def __init__(self, forges: Forges, store: Store, *, clock: Clock = SYSTEM) -> None:
        self._forges = forges
        self._store = store
        self._clock = clock

    async def run(self) -> bool:
        """Read the log back to where all was dealt with, and keep how far that came.

        Returns:
            Whether it came to the end; otherwise the next one goes on from there.
        """
        name, sweeps = self._forges.name, self._store.sweeps
        mark = await sweeps.mark(name, Sweep.DELIVERIES)
        # All tries up to `seen` are dealt with. Up to `newest` they are, once `page` and those
        # after it are read.
        seen, newest, page = mark.get("seen", 0), mark.get("newest", 0), mark.get("page", "")
        ended, bodies = False, 0
        for _ in range(MOST_PAGES):
            tries, older = await self._page(page)
            if not page:
                newest = self._newest(tries, seen)
            fresh = [t for t in tries if t.number > seen]
            bodies += await self._take_in(fresh)
            ended = not older or len(fresh) < len(tries)
            page = "" if ended else older
            if ended or bodies >= MOST_BODIES:
                break
        if ended:
            seen = max(seen, newest)
        await sweeps.keep_mark(
            name, Sweep.DELIVERIES, {"seen": seen, "newest": newest, "page": page}
        )
        return ended

    def _newest(self, tries: Sequence[FailedDelivery], seen: int) -> int:
        """The newest try of which no older one can still come into the log."""
        settled = self._clock.now() - LATE
        return max((t.number for t in tries if t.at < settled), default=seen)

    async def _page(self, page: str) -> tuple[Sequence[FailedDelivery], str]:
        try:
            found = await self._forges.failed_deliveries(page)
        except ForgeRefusedError:
            if not page:
                raise
            found = await self._forges.failed_deliveries()  # that page is not known any more
        return found.tries, found.older

    async def _take_in(self, tries: Sequence[FailedDelivery]) -> int:
        """Take in those that never came in by another try, oldest first; how many those were."""
        heard = {t.guid: t for t in tries if t.heard}
        known = await self._store.deliveries.known(self._forges.name, list(heard))
        missing = [t for guid, t in heard.items() if guid not in known]
        for each in sorted(missing, key=lambda tried: tried.number):
            await self._read(each)
        return len(missing)

    async def _read(self, tried: FailedDelivery) -> None:
        try:
            found = await self._forges.logged_delivery(tried.number)
        except ForgeMissingError as error:
            log.warning("delivery lost", guid=tried.guid, reason=str(error))
            return
        if found is None:
            return
        await self._store.deliveries.add(found.delivered, found.wakes)
        metrics.REPAIRS.labels(Sweep.DELIVERIES).inc()
        log.info("delivery taken from the log", guid=tried.guid, kind=found.delivered.event)
