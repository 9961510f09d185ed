"""The stores that the contract is held to: PostgreSQL, and the one in memory."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import psycopg

from bot.store.port import Store
from bot.store.postgres import PostgresStore
from bot.store.values import Taken
from lifecycle.identity import RepositoryId
from tests.ids import FIRST
from tests.memory.clock import ManualClock
from tests.memory.store import MemoryStore

KINDS = ("postgresql", "memory")

HOUR = 3600

_AN_HOUR = """
UPDATE budget SET paused = paused - interval '1 hour', levels = (
  SELECT jsonb_object_agg(key, value || jsonb_build_object(
    'at', (value ->> 'at')::float8 - 3600, 'ends', (value ->> 'ends')::float8 - 3600))
  FROM jsonb_each(levels));
UPDATE refusal SET again = again - interval '1 hour';
UPDATE claim SET at = at - interval '1 hour';
UPDATE work SET due = due - interval '1 hour', lease = lease - interval '1 hour',
  held = held - interval '1 hour', failing = failing - interval '1 hour',
  rested = rested - interval '1 hour'
"""

_NAMES_ONLY = """
UPDATE adoption SET tags = (SELECT jsonb_agg(name) FROM jsonb_object_keys(tags) AS name)
WHERE repository = %(number)s
"""


@dataclass(frozen=True)
class Repository:
    """Implements `bot.store.values.Adopted`."""

    id: RepositoryId = FIRST
    full_name: str = "acme/blueprints"
    installation: int = 3
    installed_at: datetime = datetime(2026, 11, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Stored:
    """A store, and how time is made to pass for its work.

    Attributes:
        store: Empty at first.
        an_hour_passes: For leases, claims, and whatever is due.
        names_only: Makes of a baseline what an older version of the bot kept of it.
    """

    store: Store
    an_hour_passes: Callable[[], Awaitable[None]]
    names_only: Callable[[RepositoryId], Awaitable[None]]

    async def take_all(self, lease: float = 10) -> list[Taken]:
        """Take everything that is due."""
        found: list[Taken] = []
        while (taken := await self.store.queue.take(f"test/{len(found)}", lease)) is not None:
            found.append(taken)
        return found


@asynccontextmanager
async def opened(kind: str, database_url: str) -> AsyncIterator[Stored]:
    """One of `KINDS`."""
    if kind == "memory":
        clock = _Moving()

        async def move() -> None:
            clock.seconds += HOUR

        store = MemoryStore(clock)

        async def forget(repository: RepositoryId) -> None:
            store.keep_names_only(repository)

        yield Stored(store, move, forget)
        return

    async def turn_back() -> None:
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            await connection.execute(_AN_HOUR)

    async def names_only(repository: RepositoryId) -> None:
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            await connection.execute(_NAMES_ONLY, {"number": repository.number})

    async with PostgresStore(database_url, patience=60) as found:
        yield Stored(found, turn_back, names_only)


class _Moving(ManualClock):
    """No two statements are at the same time, as at a database."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds + 1e-6)
