"""The table of the bot's processes, as they tell of themselves."""

from bot.store.database import Database
from bot.store.values import Replica

BEAT = """
INSERT INTO replica AS r (name, host, parts, version)
VALUES (%(name)s, %(host)s, %(parts)s, %(version)s)
ON CONFLICT (name) DO UPDATE SET seen = now()
"""

SEEN = """
SELECT name, host, parts, version, started, extract(epoch FROM now() - seen)::float FROM replica
ORDER BY started, name LIMIT 200
"""


class PostgresReplicas:
    """`Replicas` in PostgreSQL.

    Args:
        database: Where the table is.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def beat(self, name: str, host: str, parts: str, version: str) -> None:
        given = {"name": name, "host": host, "parts": parts, "version": version}
        await self._database.ask(BEAT, given)

    async def gone(self, name: str) -> None:
        await self._database.ask("DELETE FROM replica WHERE name = %(name)s", {"name": name})

    async def seen(self) -> tuple[Replica, ...]:
        return tuple(Replica(*row) for row in await self._database.ask(SEEN))

    async def forget(self, days: float = 1) -> None:
        await self._database.ask(
            "DELETE FROM replica WHERE seen < now() - make_interval(days => 1) * %(days)s",
            {"days": days},
        )
