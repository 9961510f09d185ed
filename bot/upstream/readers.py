"""What somebody may know of repositories that are served: nothing before their forge lets him.

Rules (ADR 87):

1. A repository that may not be read is told of as one that is not there. So is one whose forge does
   not say now whether it may be: who waits for it, or hears why, knows that it is served.
2. Whoever was let read it before, by what its forge said, waits for it.
3. Variants wait for it too: nobody asks, and each is tried again by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from bot.forges.port import ForgeBusyError, ForgeRefusedError, Repository
from bot.recent import Recent
from bot.upstream.served import ServedUpstreams
from lifecycle.access import Person
from lifecycle.identity import RepositoryId
from lifecycle.upstreams.locations import Location, locate

log = structlog.get_logger()

MOST_KEPT: Final = 10_000
"""Repositories with people who were let read them; some hundred bytes each."""

_EVERYBODY: Final = 0
"""In place of a person's number, where everybody may read a repository."""


@dataclass(frozen=True, slots=True)
class Readable:
    """What somebody may know of the repositories of some names.

    Attributes:
        found: Those that may be read, in the order of the names.
        hidden: There are others, or there may be.
    """

    found: tuple[Repository, ...] = ()
    hidden: bool = False


class Readers:
    """Tells which repositories somebody may know of.

    Args:
        served: The repositories that are served.
    """

    def __init__(self, served: ServedUpstreams) -> None:
        self._served = served
        self._before: Recent[tuple[RepositoryId, int], bool] = Recent(MOST_KEPT)

    async def named(
        self,
        forge: str,
        full_names: Sequence[str],
        into: Repository,
        caller: Person | None,
        at: Location | None = None,
    ) -> Readable:
        """Return the repositories of these names at a forge that may be read.

        Args:
            forge: Its name.
            full_names: In the order in which they count.
            into: For which repository; it may be read itself.
            caller: Whoever asks; None for a variant.
            at: Where they must be; None for anywhere.

        Raises:
            ForgeBusyError, ForgeRefusedError: That cannot be told now, and may be said.
        """
        found, hidden = list[Repository](), False
        for name in await self._served.known(forge, full_names):
            try:
                there = await self._served.reached(name)
                if there is None or (at is not None and locate(there.clone_url) != at):
                    continue
                may = await self._served.may_read(there, into, caller)
            except (ForgeBusyError, ForgeRefusedError) as error:
                if self._may_wait(name.id, into, caller):
                    raise
                log.warning(
                    "who may read it is not told", repository=str(name.id), error=str(error)
                )
                may, there = False, None
            if there is not None:
                self._remember(there, into, caller, may)
            if there is not None and may:
                found.append(there)
            hidden = hidden or not may
        return Readable(tuple(found), hidden)

    async def at(self, location: Location, into: Repository, caller: Person | None) -> Readable:
        """Return the repository at a location, as `named` does; at most one is found."""
        hidden = False
        for forge in self._served.forges:
            told = await self.named(forge, location.names, into, caller, location)
            if told.found:
                return told
            hidden = hidden or told.hidden
        return Readable(hidden=hidden)

    def _remember(
        self, there: Repository, into: Repository, caller: Person | None, may: bool
    ) -> None:
        told = {_EVERYBODY: there.public}
        if caller is not None and there.id.forge == into.id.forge:
            told[caller.id] = may
        for who, reads in told.items():
            if reads:
                self._before.put((there.id, who), True)
            else:
                self._before.drop((there.id, who))

    def _may_wait(self, there: RepositoryId, into: Repository, caller: Person | None) -> bool:
        if caller is None or there == into.id or self._before.get((there, _EVERYBODY)):
            return True
        return there.forge == into.id.forge and bool(self._before.get((there, caller.id)))
