"""The table of deliveries: each is stored, and wakes its keys, in one transaction."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from datetime import datetime

from bot.keys import Key, RepositoryKey
from bot.sayable import as_json, sayable
from bot.store.database import LONG, Database
from bot.store.hints import NOTHING, Hint, traced
from bot.store.notify import Notifications
from bot.store.statements import STORE_DELIVERY
from bot.store.values import KEPT_DAYS, Delivered, StoreError
from bot.store.wakes import columns
from lifecycle.identity import RepositoryId

TURN = 6.0
"""Seconds that a delivery waits for its turn; then the forge is told to send it again."""


class PostgresDeliveries:
    """`Deliveries` in PostgreSQL.

    Args:
        database: Where the table is.
        notifications: Told when there is work.
        turns: Most deliveries that are stored at a time: looks go on beside any flood of them.
    """

    def __init__(self, database: Database, notifications: Notifications, turns: int) -> None:
        self._database = database
        self._notifications = notifications
        self._turns = asyncio.Semaphore(turns)

    async def add(self, delivery: Delivered, wakes: Mapping[Key, Hint]) -> bool:
        about = delivery.repository
        key = RepositoryKey(about) if about is not None and delivery.called else None
        renamed = key if key is not None and key not in wakes else None
        wanted = wakes if renamed is None else {**wakes, renamed: NOTHING}
        keys, hints, priorities = columns(traced(wanted))
        async with _in_turn(self._turns):
            row = await self._database.one(
                STORE_DELIVERY,
                {
                    "forge": delivery.forge,
                    "guid": delivery.guid,
                    "event": delivery.event,
                    "action": delivery.action,
                    "headers": as_json(delivery.headers),
                    "body": delivery.body,
                    "called": sayable(delivery.called),
                    "renamed": None if renamed is None else str(renamed),
                    "repository": None if about is None else await self._database.row(about),
                    "keys": keys,
                    "hints": hints,
                    "priorities": priorities,
                },
            )
        if row[1]:
            self._notifications.tell()
        return bool(row[0] == 1)

    async def since(
        self, repository_id: RepositoryId, since: datetime, most: int = 200
    ) -> tuple[tuple[Mapping[str, str], bytes], ...]:
        rows = await self._database.ask(
            "SELECT headers, body FROM delivery"
            " WHERE repository = %(id)s AND received >= %(since)s"
            " ORDER BY received DESC LIMIT %(most)s",
            {"id": await self._database.row(repository_id), "since": since, "most": most},
        )
        return tuple((headers, bytes(body)) for headers, body in rows)

    async def known(self, forge: str, guids: Collection[str]) -> frozenset[str]:
        rows = await self._database.ask(
            "SELECT guid FROM delivery WHERE forge = %(forge)s AND guid = ANY (%(guids)s)",
            {"forge": forge, "guids": sorted(guids)},
        )
        return frozenset(guid for (guid,) in rows)

    async def forget(self, days: float = KEPT_DAYS) -> int:
        gone = await self._database.ask(
            "DELETE FROM delivery WHERE received < now() - make_interval(secs => %(seconds)s)"
            " RETURNING 1",
            {"seconds": days * 86400},
            longest=LONG,
        )
        return len(gone)


@asynccontextmanager
async def _in_turn(turns: asyncio.Semaphore) -> AsyncIterator[None]:
    """Wait for a turn, but no longer than the forge waits for us."""
    try:
        await asyncio.wait_for(turns.acquire(), TURN)
    except TimeoutError as error:
        raise StoreError(f"The database was busy with other deliveries for {TURN:g} s.") from error
    try:
        yield
    finally:
        turns.release()
