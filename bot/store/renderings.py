"""The table of renderings: verdicts on packages that any replica made."""

import asyncio
from typing import Final

from bot.store.database import Database
from bot.store.values import (
    KEPT_RENDERINGS,
    KEPT_RENDERINGS_DAYS,
    LONGEST_RENDERING,
    RENDERINGS_BETWEEN,
)

FIND = """
WITH found AS (SELECT key, data, used FROM rendering WHERE key = %(key)s),
  touched AS (
    UPDATE rendering SET used = now()
    WHERE key IN (SELECT key FROM found WHERE used < now() - interval '1 hour')
  )
SELECT data FROM found
"""

KEEP = """
INSERT INTO rendering (key, data)
SELECT * FROM unnest(%(keys)s::text[], %(rows)s::bytea[])
ON CONFLICT (key) DO UPDATE SET data = EXCLUDED.data, used = now()
"""

TRIM = """
DELETE FROM rendering WHERE used < now() - make_interval(days => %(days)s) OR key IN (
  SELECT key FROM (
    SELECT key, sum(octet_length(data) + 500) OVER (ORDER BY used DESC, key) AS size FROM rendering
  ) AS sized WHERE size > %(bytes)s
)
"""


MOMENT: Final = 0.05
"""Seconds that a rendering waits for others to be kept with it: nobody waits for that, and where a
thousand packages are tried each statement costs a sixth of the work."""


class PostgresRenderings:
    """`Renderings` in PostgreSQL.

    Args:
        database: Where the table is.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._written = 0
        self._waiting: dict[str, bytes] = {}
        self._keeping: asyncio.Task[None] | None = None

    async def find(self, key: str) -> bytes | None:
        rows = await self._database.ask(FIND, {"key": key})
        return bytes(rows[0][0]) if rows else None

    async def keep(self, key: str, data: bytes) -> None:
        if len(data) > LONGEST_RENDERING:
            return
        self._waiting[key] = data
        if self._keeping is None:
            self._keeping = asyncio.create_task(self._keep())
            self._keeping.add_done_callback(_heed)
        await asyncio.shield(self._keeping)

    async def _keep(self) -> None:
        """Keep, by one statement, what comes within a moment."""
        await asyncio.sleep(MOMENT)
        rows = dict(sorted(self._waiting.items()))  # in one order: no replica waits in a circle
        self._waiting, self._keeping = {}, None
        await self._database.ask(KEEP, {"keys": [*rows], "rows": [*rows.values()]})
        self._written += sum(map(len, rows.values()))
        if self._written > RENDERINGS_BETWEEN:  # a sweep may be far away
            self._written = 0
            await self.trim()

    async def trim(self, most_bytes: int = KEPT_RENDERINGS) -> None:
        await self._database.ask(TRIM, {"days": KEPT_RENDERINGS_DAYS, "bytes": most_bytes})


def _heed(kept: asyncio.Task[None]) -> None:
    """Take note of how a statement ended that nobody waits for any more."""
    if not kept.cancelled():
        kept.exception()
