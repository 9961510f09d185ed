"""The table of renderings: verdicts on packages that any replica made."""

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
INSERT INTO rendering (key, data) VALUES (%(key)s, %(data)s)
ON CONFLICT (key) DO UPDATE SET data = EXCLUDED.data, used = now()
"""

TRIM = """
DELETE FROM rendering WHERE used < now() - make_interval(days => %(days)s) OR key IN (
  SELECT key FROM (
    SELECT key, sum(octet_length(data) + 500) OVER (ORDER BY used DESC, key) AS size FROM rendering
  ) AS sized WHERE size > %(bytes)s
)
"""


class PostgresRenderings:
    """`Renderings` in PostgreSQL.

    Args:
        database: Where the table is.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._written = 0

    async def find(self, key: str) -> bytes | None:
        rows = await self._database.ask(FIND, {"key": key})
        return bytes(rows[0][0]) if rows else None

    async def keep(self, key: str, data: bytes) -> None:
        if len(data) > LONGEST_RENDERING:
            return
        await self._database.ask(KEEP, {"key": key, "data": data})
        self._written += len(data)
        if self._written > RENDERINGS_BETWEEN:  # a sweep may be far away
            self._written = 0
            await self.trim()

    async def trim(self, most_bytes: int = KEPT_RENDERINGS) -> None:
        await self._database.ask(TRIM, {"days": KEPT_RENDERINGS_DAYS, "bytes": most_bytes})
