"""Which repositories a sweep goes through, and which are left alone because nothing changed there.

To sweep one repository takes ten requests. What costs less is asked first: the list of repositories
(a page for 100) shows each push, and one request with an `ETag` what changed last of all proposals
of a repository. While both say what they said when it was swept, the second is asked less and less
often; any change ends that, and webhooks wake what they are about in any case (ADR 25).
"""

import hashlib
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import structlog

from bot import keys
from bot.clock import SYSTEM, Clock
from bot.forges.port import ForgeRefusedError, Forges, Repository
from bot.loop.intervals import DEFAULT, Intervals
from bot.store.hints import Hint
from bot.store.port import Store
from bot.store.values import Watched
from lifecycle.identity import RepositoryId

log = structlog.get_logger()

LATE = timedelta(minutes=1)
"""How long after a change a repository is swept once more: lists are ahead of the rest, and two
changes within one second look like one."""

AT_ONCE, PACE = 20, 2.0
"""Sweeps that are asked for at once, and seconds between those beyond them."""

BETWEEN = 0.1
"""Seconds between requests to many repositories: GitHub allows 900 a minute."""

MOST_IDLE = 15
"""Idle repositories that one round has swept because it is time, or another version of the bot has
come: what that costs in an hour stays within bounds, however many there are."""


class IdleWatch:
    """Finds out which repositories to sweep.

    Args:
        forges: The forge that is served.
        store: What was seen of them before.
        version: Of this bot: what another one has seen is looked at anew.
        intervals: How often they are asked.
        clock: Waits between requests.
    """

    def __init__(
        self,
        forges: Forges,
        store: Store,
        version: str = "",
        *,
        intervals: Intervals = DEFAULT,
        clock: Clock = SYSTEM,
    ) -> None:
        self._forges = forges
        self._store = store
        self._version = version
        self._intervals = intervals
        self._clock = clock

    async def round(
        self, found: Sequence[Repository], fresh: Collection[RepositoryId], *, started: bool
    ) -> None:
        """Have swept what has changed, what is new, and what was left alone for long.

        Args:
            found: Repositories, as the forge lists them now.
            fresh: Those of them that were not served before.
            started: A bot starts: all are asked.
        """
        known = await self._store.sweeps.watched(self._forges.name)
        waking = _Waking(self._store)
        idle: list[tuple[float, Repository]] = []
        for repository in found:
            before = known.get(repository.id, Watched())
            seen = replace(before, listed=repository.changed)
            asks = started or before.asked >= self._wait(repository.id, before.quiet)
            if repository.id in fresh or math.isinf(before.swept) or seen != before:
                await waking.sweep(repository, replace(seen, quiet=0), asked=False)
            elif asks:
                after = await self._ask(repository, seen)
                if after.quiet == 0 or before.waits:
                    await waking.sweep(repository, after, asked=True)
                    continue
                await self._store.sweeps.watch(repository.id, after, asked=True)
                if self._is_time(repository.id, before):
                    idle.append((before.swept, repository))
        longest = sorted(idle, key=lambda each: each[0], reverse=True)[:MOST_IDLE]
        for _, repository in longest:
            await waking.wake(repository, everything=True)

    async def _ask(self, repository: Repository, before: Watched) -> Watched:
        """Ask what changed last in a repository; `quiet` is 0 where that is news."""
        await self._clock.sleep(BETWEEN)
        forge = self._forges.of(repository)
        try:
            newest = await forge.newest_change(before.shown, before.validator)
        except ForgeRefusedError as error:  # its own look finds out who must act, and tells them
            log.info("not asked", repository=repository.full_name, reason=str(error))
            return replace(before, shown="", validator="", quiet=0)
        if newest.at is not None and self._clock.now() - newest.at < LATE:
            return replace(before, shown="", validator="", quiet=0)
        quiet = before.quiet + 1 if newest.shown == before.shown else 0
        return replace(before, shown=newest.shown, validator=newest.validator, quiet=quiet)

    def _wait(self, repository: RepositoryId, quiet: int) -> float:
        """Seconds after which a repository is asked again; each has its own."""
        return self._intervals.of_idle(quiet) * (3 + _part(repository, quiet)) / 4

    def _is_time(self, repository: RepositoryId, before: Watched) -> bool:
        """What no list tells: each is swept once in a while, and by each version of the bot."""
        longest = self._intervals.longest * (3 + _part(repository)) / 4
        return before.version != self._version or before.swept >= longest


@dataclass(slots=True)
class _Waking:
    """Asks for sweeps, the first of them at once."""

    store: Store
    count: int = 0

    async def sweep(self, repository: Repository, seen: Watched, *, asked: bool) -> None:
        """Have a repository swept; what was seen of it is kept once that is certain."""
        await self.wake(repository)
        await self.store.sweeps.watch(repository.id, seen, asked=asked)

    async def wake(self, repository: Repository, *, everything: bool = False) -> None:
        """Ask for a sweep."""
        hint = Hint(
            installations=frozenset({repository.installation}),
            everything=frozenset({"idle"} if everything else ()),
        )
        after = PACE * max(0, self.count - AT_ONCE)
        await self.store.queue.wake(keys.RepositoryKey(repository.id), hint, after=after)
        self.count += 1


def _part(repository: RepositoryId, turn: int = 0) -> float:
    """Of a repository's own, from 0 to 1: what began together drifts apart."""
    digest = hashlib.sha256(f"{repository} {turn}".encode()).hexdigest()
    return int(digest[:8], 16) / 2**32
