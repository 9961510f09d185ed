"""The tables of published revisions, of the publish queue, and of base branch tips."""

from collections.abc import AsyncIterator, Iterable

from bot.store.database import Database
from bot.store.values import Revision
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha

PAGE = 2_000
"""Rows that are read at once where there may be many."""

MOST_TIPS = 50
"""Tips of one base branch that are kept."""

SAW_TIP = """
INSERT INTO tip AS t (repository, base, sha, seen)
SELECT %(id)s, %(base)s, %(sha)s, clock_timestamp()
WHERE %(sha)s IS DISTINCT FROM (
  SELECT sha FROM tip WHERE repository = %(id)s AND base = %(base)s ORDER BY seen DESC LIMIT 1
)
ON CONFLICT (repository, base, sha) DO UPDATE SET seen = EXCLUDED.seen
"""

OLD_TIPS = """
DELETE FROM tip WHERE repository = %(id)s AND base = %(base)s AND sha NOT IN (
  SELECT sha FROM tip WHERE repository = %(id)s AND base = %(base)s
  ORDER BY seen DESC LIMIT %(most)s
)
"""


class PostgresRevisions:
    """`Revisions` in PostgreSQL.

    Args:
        database: Where the tables are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ask_publish(self, repository_id: RepositoryId, base: str, number: int) -> None:
        await self._database.ask(
            "INSERT INTO candidate (repository, base, proposal) VALUES (%(id)s, %(base)s, %(n)s)"
            " ON CONFLICT DO NOTHING",
            {"id": await self._database.row(repository_id), "base": base, "n": number},
        )

    async def asked_publish(self, repository_id: RepositoryId, base: str) -> tuple[int, ...]:
        rows = await self._database.ask(
            "SELECT proposal FROM candidate WHERE repository = %(id)s AND base = %(base)s"
            " ORDER BY place",
            {"id": await self._database.row(repository_id), "base": base},
        )
        return tuple(number for (number,) in rows)

    async def queued(self, repository_id: RepositoryId, base: str, number: int) -> bool:
        return number in await self.asked_publish(repository_id, base)

    async def published(self, repository_id: RepositoryId, base: str, number: int) -> None:
        await self._database.ask(
            "DELETE FROM candidate WHERE repository = %(id)s AND base = %(base)s"
            " AND proposal = %(n)s",
            {"id": await self._database.row(repository_id), "base": base, "n": number},
        )

    async def keep_revision(
        self, repository_id: RepositoryId, package: str, number: int, revision: Revision
    ) -> None:
        await self._database.ask(
            "INSERT INTO revision AS r (repository, package, number, target, tag, proposal)"
            " VALUES (%(id)s, %(package)s, %(number)s, %(target)s, %(tag)s, %(proposal)s)"
            " ON CONFLICT (repository, package, number) DO UPDATE"
            " SET tag = EXCLUDED.tag, proposal = coalesce(EXCLUDED.proposal, r.proposal)"
            " WHERE r.target = EXCLUDED.target AND r.tag = ''",
            {
                "id": await self._database.row(repository_id),
                "package": package,
                "number": number,
                "target": revision.target,
                "tag": revision.tag,
                "proposal": revision.proposal,
            },
        )

    async def revisions(
        self, repository_id: RepositoryId, packages: Iterable[str]
    ) -> dict[str, dict[int, Revision]]:
        rows = await self._database.ask(
            "SELECT package, number, target, tag, proposal, shown FROM revision"
            " WHERE repository = %(id)s AND package = ANY (%(packages)s)",
            {"id": await self._database.row(repository_id), "packages": list(packages)},
        )
        found: dict[str, dict[int, Revision]] = {}
        for package, number, *rest in rows:
            found.setdefault(package, {})[number] = Revision(*rest)
        return found

    async def all_revisions(
        self, repository_id: RepositoryId
    ) -> AsyncIterator[tuple[str, int, Revision]]:
        last: tuple[str, int] = ("", 0)
        while True:
            rows = await self._database.ask(
                "SELECT package, number, target, tag, proposal, shown FROM revision"
                " WHERE repository = %(id)s AND (package, number) > (%(package)s, %(number)s)"
                " ORDER BY package, number LIMIT %(most)s",
                {
                    "id": await self._database.row(repository_id),
                    "package": last[0],
                    "number": last[1],
                    "most": PAGE,
                },
            )
            for package, number, *rest in rows:
                yield package, number, Revision(*rest)
            if len(rows) < PAGE:
                return
            last = rows[-1][0], rows[-1][1]

    async def show_revision(
        self, repository_id: RepositoryId, package: str, number: int, shown: str
    ) -> None:
        await self._database.ask(
            "UPDATE revision SET shown = %(shown)s WHERE repository = %(id)s"
            " AND package = %(package)s AND number = %(number)s",
            {
                "id": await self._database.row(repository_id),
                "package": package,
                "number": number,
                "shown": shown,
            },
        )

    async def saw_tip(self, repository_id: RepositoryId, base: str, sha: str) -> None:
        asked = {
            "id": await self._database.row(repository_id),
            "base": base,
            "sha": sha,
            "most": MOST_TIPS,
        }
        await self._database.ask(SAW_TIP, asked)
        await self._database.ask(OLD_TIPS, asked)

    async def tips(self, repository_id: RepositoryId, base: str) -> tuple[Sha, ...]:
        rows = await self._database.ask(
            "SELECT sha FROM tip WHERE repository = %(id)s AND base = %(base)s ORDER BY seen DESC",
            {"id": await self._database.row(repository_id), "base": base},
        )
        return tuple(Sha(sha) for (sha,) in rows)
