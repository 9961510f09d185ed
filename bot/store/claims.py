"""The table of claims: who may make what the forge would make twice."""

from bot.store.database import Database
from bot.store.values import CLAIM, CLAIMS_KEPT
from lifecycle.identity import RepositoryId

TAKE = """
INSERT INTO claim (repository, place) VALUES (%(id)s, %(place)s)
ON CONFLICT (repository, place) DO UPDATE SET at = now()
  WHERE claim.at <= now() - make_interval(secs => %(seconds)s)
RETURNING 1
"""


HAVE = """
INSERT INTO claim (repository, place, holder) VALUES (%(id)s, %(place)s, %(holder)s)
ON CONFLICT (repository, place) DO UPDATE SET at = claim.at
RETURNING holder
"""
"""What is written anew is nothing: a conflict that does nothing would return nothing."""


class PostgresClaims:
    """`Claims` in PostgreSQL.

    Args:
        database: Where the table is.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(self, repository_id: RepositoryId, place: str, seconds: float = CLAIM) -> bool:
        rows = await self._database.ask(
            TAKE,
            {
                "id": await self._database.row(repository_id),
                "place": place,
                "seconds": seconds,
            },
        )
        return bool(rows)

    async def have(self, repository_id: RepositoryId, place: str, holder: str) -> bool:
        asked = {"id": await self._database.row(repository_id), "place": place, "holder": holder}
        row = await self._database.one(HAVE, asked)
        return bool(row[0] == holder)

    async def holder(self, repository_id: RepositoryId, place: str) -> str:
        rows = await self._database.ask(
            "SELECT holder FROM claim WHERE repository = %(id)s AND place = %(place)s",
            {"id": await self._database.row(repository_id), "place": place},
        )
        return str(rows[0][0]) if rows else ""

    async def hold(self, repository_id: RepositoryId, place: str) -> None:
        await self._database.ask(
            "UPDATE claim SET at = now() WHERE repository = %(id)s AND place = %(place)s",
            {"id": await self._database.row(repository_id), "place": place},
        )

    async def give_back(self, repository_id: RepositoryId, place: str) -> None:
        await self._database.ask(
            "DELETE FROM claim WHERE repository = %(id)s AND place = %(place)s",
            {"id": await self._database.row(repository_id), "place": place},
        )

    async def forget(self, seconds: float = CLAIMS_KEPT) -> None:
        await self._database.ask(
            "DELETE FROM claim WHERE at <= now() - make_interval(secs => %(seconds)s)",
            {"seconds": seconds},
        )
