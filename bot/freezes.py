"""What is frozen in a repository: kept in the database and on the dashboard issue, united.

Either copy may be older than the other: the database may have been restored, and anybody with write
access can edit the issue. So neither is ever taken for the whole, nor written over with the other.
What cannot be read is not taken for empty: until it can, nothing is published.
"""

from typing import Protocol

import structlog

from bot import keys
from bot.dashboard import Dashboard
from bot.forges.port import ForgeRefusedError
from bot.store.hints import Hint
from bot.store.port import Store
from lifecycle import replay
from lifecycle.events import REPOSITORY, Log
from lifecycle.identity import RepositoryId

log = structlog.get_logger()

RETRY = 300.0
"""Seconds until a sweep asks again for what could not be read."""


class KnownFreezes(Protocol):
    """What a look asks of the freezes of a repository."""

    async def known(self) -> tuple[Log, str]:
        """Return what is frozen, and why that may not be all; "" where it is."""


class Freezes:
    """The freezes of one repository.

    Args:
        repository_id: Which one.
        dashboard: Its dashboard issue.
        store: The database.
    """

    def __init__(self, repository_id: RepositoryId, dashboard: Dashboard, store: Store) -> None:
        self._repository_id = repository_id
        self._dashboard = dashboard
        self._store = store
        self._unread: str | None = None  # never tried

    async def recall(self) -> Log:
        """Read both copies, and tell the database what only the issue knows: one request.

        Asked when a repository is entered, by each sweep, before each dashboard is written, and
        before each merge and tag.

        Raises:
            ForgeBusyError: Trying again may help.
            ForgeRefusedError: The issue cannot be read; `known` says so until it can.
        """
        try:
            there = await self._dashboard.freezes()
        except ForgeRefusedError as error:
            self._unread = str(error)
            log.warning("dashboard not read", repository=str(self._repository_id), error=str(error))
            await self._store.queue.wake(keys.RepositoryKey(self._repository_id), after=RETRY)
            raise
        failed, self._unread = bool(self._unread), ""
        known = await self._remembered()
        both = known | there
        if replay.freezes(both) != replay.freezes(known):
            await self.keep(there - known)
        elif failed:  # what waited for it goes on
            await self._wake("read")
        return both

    async def known(self) -> tuple[Log, str]:
        """Return what is frozen, and why that may not be all; "" where it is.

        The database's copy, which has all of the issue's since that was read: it is read again only
        while that failed.
        """
        if self._unread != "":
            try:
                return await self.recall(), ""
            except ForgeRefusedError as error:
                return await self._remembered(), str(error)
        return await self._remembered(), ""

    async def keep(self, events: Log) -> None:
        """Remember what was frozen or thawed, and have everything in the repository look at it."""
        await self._store.proposals.keep(self._repository_id, REPOSITORY, events)
        await self._wake(str(max(replay.order(event)[2] for event in events)))
        await self._store.queue.wake(keys.DashboardKey(self._repository_id))

    async def _remembered(self) -> Log:
        found, _ = await self._store.proposals.remembered(self._repository_id, REPOSITORY)
        return found

    async def _wake(self, why: str) -> None:
        everything = Hint(everything=frozenset({f"freezes {why}"}))
        await self._store.queue.wake(keys.RepositoryKey(self._repository_id), everything)
