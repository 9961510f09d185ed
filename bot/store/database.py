"""The connection pool of PostgreSQL."""

import asyncio
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from bot.sayable import sayable
from bot.store.migrations import migrate, unreachable
from lifecycle.identity import GITHUB, RepositoryId

CONNECTIONS = 10
"""Most connections of one process: looks hold one for a moment only."""

PATIENCE = 2.0
"""Seconds to get a connection when it is one's turn: GitHub waits ten for an answer."""

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
        self.url = url
        self._pool: AsyncConnectionPool[psycopg.AsyncConnection[TupleRow]] = AsyncConnectionPool(
            url,
            min_size=2,
            max_size=connections,
            open=False,
            timeout=patience,
            # The pool waits longer and longer between its own tries; whoever asks tries at once.
            reconnect_timeout=1,
            kwargs={"autocommit": True, "application_name": "porchbot"},
        )
        self._turns = asyncio.Semaphore(connections)
        self._rows: dict[RepositoryId, int] = {}

    async def open(self) -> None:
        """Bring the tables up to date and connect.

        Raises:
            StoreError: It cannot be reached, or was made by a newer version of the bot.
        """
        await migrate(self.url)
        await self._pool.open()

    async def close(self) -> None:
        """Close every connection."""
        await self._pool.close()

    async def ask(self, query: str, values: Mapping[str, Any] | None = None) -> list[TupleRow]:
        """The rows that a statement gives; none where it gives none.

        Raises:
            StoreError: The database cannot be reached.
        """
        try:
            async with self._turns, self._pool.connection() as connection:
                cursor = await connection.execute(query, sayable(values))
                return await cursor.fetchall() if cursor.description else []
        except (psycopg.OperationalError, PoolTimeout) as error:
            raise unreachable(error) from error

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
