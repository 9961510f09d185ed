"""The connection pool of PostgreSQL."""

import asyncio
import select
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import ReadOnlySqlTransaction
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from bot.sayable import sayable
from bot.store.migrations import migrate, unreachable
from bot.store.outage import Outage
from bot.store.values import StoreError
from lifecycle.identity import GITHUB, RepositoryId

CONNECTIONS = 10
"""Most connections of one process: looks hold one for a moment only."""

GROWS = 0.01
"""Seconds that somebody waits for a turn until there is one connection more. Statements take
milliseconds, and a new connection has to start a process and plan each statement anew."""

PATIENCE = 2.0
"""Seconds to get a connection when it is one's turn: GitHub waits ten for an answer."""

LONGEST = 7.0
"""Seconds for one statement; they take milliseconds. A server that hangs says nothing, and the
forge waits ten seconds for an answer."""

LONG = 120.0
"""Seconds for what deletes many rows."""

_PATIENT = {
    "connect_timeout": 5,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""How soon a connection counts as lost whose other end is gone without a word: by themselves, hours
later. What the address says itself stays."""

MOST_ROWS = 10_000
"""Repositories whose number in the tables is remembered."""

_ROW = """
INSERT INTO repository AS r (forge, number) VALUES (%(forge)s, %(number)s)
ON CONFLICT (forge, number) DO UPDATE SET number = r.number
RETURNING id
"""


class Database:
    """A pool of connections; every statement is one transaction.

    Whoever asks waits for a turn, so that many at once never look like a database that is away.

    Args:
        url: Its address, for libpq.
        connections: Most connections; at least 2.
        patience: Seconds to get a connection when it is one's turn.
    """

    def __init__(self, url: str, connections: int, patience: float) -> None:
        given = conninfo_to_dict(url)
        self.url = make_conninfo(url, **{k: v for k, v in _PATIENT.items() if k not in given})
        self._patience = patience
        self._pool: AsyncConnectionPool[psycopg.AsyncConnection[TupleRow]] = AsyncConnectionPool(
            self.url,
            min_size=1,
            max_size=connections,
            open=False,
            timeout=patience,
            # The pool waits longer and longer between its own tries; whoever asks tries at once.
            reconnect_timeout=1,
            check=_still_there,
            kwargs={"autocommit": True, "application_name": "porchbot"},
        )
        self._turns = _Turns(connections)
        self._outage = Outage()
        self._rows: dict[RepositoryId, int] = {}

    async def open(self) -> None:
        """Bring the tables up to date and connect.

        Raises:
            StoreError: It cannot be reached, or was made by a newer version of the bot.
        """
        await migrate(self.url)
        try:
            # Whoever asks before the first connection is there would have a second one opened.
            await self._pool.open(wait=True, timeout=LONGEST)
        except PoolTimeout as error:
            raise unreachable(error) from error

    async def close(self) -> None:
        """Close every connection."""
        await self._pool.close()

    async def ask(
        self, query: str, values: Mapping[str, Any] | None = None, *, longest: float = LONGEST
    ) -> list[TupleRow]:
        """The rows that a statement gives; none where it gives none.

        Args:
            query: The statement.
            values: By the names in it.
            longest: Seconds that it may take.

        Raises:
            StoreError: The database cannot be reached, or does not answer. What was asked for may
                have been done all the same.
        """
        async with self._turns:
            self._outage.refuse(self._patience)
            asking = asyncio.create_task(self._execute(query, sayable(values)))
            asking.add_done_callback(_heed)
            try:
                await asyncio.wait({asking}, timeout=longest)
            finally:
                # Not waited for: with a server that hangs, its end takes ten seconds more.
                asking.cancel()
            if not asking.done():
                raise self._away(f"no answer within {longest:g} s")
        return asking.result()

    async def _execute(self, query: str, values: Any) -> list[TupleRow]:
        try:
            async with self._pool.connection() as connection:
                try:
                    cursor = await connection.execute(query, values)
                    rows = await cursor.fetchall() if cursor.description else []
                except ReadOnlySqlTransaction as error:
                    # Another server has taken over: the next connection may lead there.
                    await connection.close()
                    raise unreachable(error) from error
        except PoolTimeout as error:
            raise self._away(str(error)) from error
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise unreachable(error) from error
        self._outage.ends()
        return rows

    def _away(self, reason: str) -> StoreError:
        error = unreachable(reason)
        self._outage.goes_on(error)
        return error

    async def one(self, query: str, values: Mapping[str, Any] | None = None) -> TupleRow:
        """The one row that a statement gives."""
        return (await self.ask(query, values))[0]

    async def row(self, repository: RepositoryId) -> int:
        """What the tables call a repository: GitHub's own number, else one that we gave it."""
        if repository.forge == GITHUB:
            return repository.number
        if repository not in self._rows:
            named = {"forge": repository.forge, "number": repository.number}
            (row,) = await self.one(_ROW, named)
            if len(self._rows) >= MOST_ROWS:
                self._rows.clear()
            self._rows[repository] = int(row)
        return self._rows[repository]


async def _still_there(connection: psycopg.AsyncConnection[TupleRow]) -> None:
    """Refuse a connection that its other end has closed while nobody used it; nothing is asked.

    Raises:
        OperationalError: It said something unasked, a farewell most likely, or is closed: the pool
            then gives another one.
    """
    unread = select.poll()
    unread.register(connection.pgconn.socket, select.POLLIN)
    if unread.poll(0):
        await connection.close()
        raise psycopg.OperationalError("the connection was closed")


class _Turns:
    """Turns to ask: one at first, and one more whenever somebody has waited for `GROWS`.

    Args:
        most: Who may ask at once.
    """

    def __init__(self, most: int) -> None:
        self._more = most - 1
        self._free = asyncio.Semaphore(1)

    async def __aenter__(self) -> None:
        if not self._more or not self._free.locked():
            await self._free.acquire()
            return
        growing = asyncio.get_running_loop().call_later(GROWS, self._grow)
        try:
            await self._free.acquire()
        finally:
            growing.cancel()

    async def __aexit__(self, *_: object) -> None:
        self._free.release()

    def _grow(self) -> None:
        if self._more:
            self._more -= 1
            self._free.release()


def _heed(asked: asyncio.Task[list[TupleRow]]) -> None:
    """Take note of how a statement ended that nobody waits for any more."""
    if not asked.cancelled():
        asked.exception()
