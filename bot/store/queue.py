"""The table `work`: the queue of keys, one row a key (docs/design.md, "Work")."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from bot.keys import Key
from bot.sayable import as_json
from bot.store.database import LONG, Database
from bot.store.hints import NOTHING, Hint, traced
from bot.store.notify import Notifications
from bot.store.statements import (
    AGAIN,
    DONE,
    FAILED,
    FAILING,
    FORGET,
    GIVE_BACK,
    NEWS,
    NEXT_DUE,
    QUEUE,
    RESTED,
    TAKE,
    WAKE,
)
from bot.store.values import (
    KEPT_DAYS,
    LEASE,
    SILENT,
    UNORDERED,
    Backlog,
    Failing,
    Rested,
    SchedulingOrder,
    Taken,
)
from bot.store.wakes import Gathering, columns


class PostgresQueue:
    """`Queue` in PostgreSQL.

    Args:
        database: Where the table is.
        notifications: Told when there is work.
    """

    def __init__(self, database: Database, notifications: Notifications) -> None:
        self._database = database
        self._notifications = notifications
        self._wakes = Gathering(self._wake)

    async def drain(self) -> None:
        """Wait until every wake that was asked for is written, or cannot be."""
        await self._wakes.drain()

    async def wake(self, key: Key, hint: Hint = NOTHING, *, after: float = 0) -> None:
        await self.wake_all({key: hint}, after=after)

    async def wake_all(self, wakes: Mapping[Key, Hint], *, after: float = 0) -> None:
        if wakes:
            await self._wakes.add(traced(wakes), after)

    async def take(
        self, owner: str, lease: float = LEASE, order: SchedulingOrder = UNORDERED
    ) -> Taken | None:
        rows = await self._database.ask(
            TAKE,
            {
                "owner": owner,
                "lease": lease,
                "silent": lease * SILENT / LEASE,
                "ranks": as_json(order.ranks),
                "full": sorted(order.full),
            },
        )
        for key, wanted, stored, tries, heard, failing in rows:
            return Taken(
                key=key,
                wanted=wanted,
                hint=Hint.from_json(stored),
                tries=tries,
                owner=owner,
                stored=stored,
                heard=heard,
                failing=failing,
            )
        return None

    async def news(self, taken: Taken) -> Hint:
        known = taken.stored
        asked = {"key": taken.key, "owner": taken.owner, "hint": as_json(known)}
        rows = await self._database.ask(NEWS, asked)
        return Hint.from_json(rows[0][0]) if rows else NOTHING

    async def renew(self, owners: Sequence[str], lease: float = LEASE) -> set[str]:
        rows = await self._database.ask(
            "UPDATE work SET lease = now() + make_interval(secs => %(lease)s)"
            " WHERE owner = ANY(%(owners)s) RETURNING owner",
            {"owners": list(owners), "lease": lease},
        )
        return {owner for (owner,) in rows}

    async def done(self, taken: Taken, *, after: float | None = None) -> bool:
        return await self._finish(DONE, taken, after=after)

    async def again(self, taken: Taken, after: float, spent: Hint = NOTHING) -> bool:
        return await self._finish(AGAIN, taken, after=after, spent=spent)

    async def failed(self, taken: Taken, error: str, after: float, *, hold: bool = False) -> bool:
        return await self._finish(FAILED, taken, after=after, error=error[:2000], hold=hold)

    async def give_back(self, taken: Taken) -> bool:
        kept = await self._finish(GIVE_BACK, taken)
        self._notifications.tell()
        return kept

    async def next_due(self, order: SchedulingOrder = UNORDERED) -> float | None:
        row = await self._database.one(NEXT_DUE, {"full": sorted(order.full)})
        return None if row[0] is None else max(0.0, float(row[0]))

    async def backlog(self) -> Backlog:
        rows = await self._database.ask(QUEUE)
        return Backlog.of({kind: Backlog(*rest) for kind, *rest in rows})

    async def failing(self, most: int = 100) -> tuple[Failing, ...]:
        return tuple(Failing(*row) for row in await self._database.ask(FAILING, {"most": most}))

    async def rested(self) -> tuple[Rested, ...]:
        return tuple(Rested(*row) for row in await self._database.ask(RESTED))

    async def forget(self, days: float = KEPT_DAYS) -> int:
        gone = await self._database.ask(FORGET, {"seconds": days * 86400}, longest=LONG)
        return len(gone)

    def listening(self, name: str) -> AbstractAsyncContextManager[asyncio.Event]:
        return self._notifications.listening(name)

    async def _wake(self, wakes: Mapping[Key, Hint], after: float) -> None:
        keys, hints, priorities = columns(wakes)
        await self._database.ask(
            WAKE,
            {"keys": keys, "hints": hints, "priorities": priorities, "after": after},
        )
        self._notifications.tell()

    async def _finish(
        self,
        query: str,
        taken: Taken,
        *,
        after: float | None = None,
        error: str = "",
        hold: bool = False,
        spent: Hint = NOTHING,
    ) -> bool:
        rows = await self._database.ask(
            query,
            {
                "key": taken.key,
                "owner": taken.owner,
                "wanted": taken.wanted,
                "spent": as_json(spent.to_json()),
                "hint": as_json(taken.stored),
                "after": after,
                "error": error,
                "hold": hold,
            },
        )
        if rows and rows[0][0]:
            self._notifications.woken.set()  # whoever waits here has reckoned with our lease
        return bool(rows)
