"""The table of served repositories, with the baseline of each at adoption."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from psycopg.rows import TupleRow

from bot.sayable import as_json, sayable
from bot.store.database import Database
from bot.store.values import Adopted, Adoption, BaselineTags, InstalledReach, ServedName
from lifecycle.identity import RepositoryId
from lifecycle.names import TAGS

ADOPT = """
INSERT INTO adoption AS a
  (repository, full_name, installation, adopted, installed, drafts, tags, highest, open,
   heads)
VALUES (%(id)s, %(name)s, %(installation)s, %(at)s, %(installed)s, %(drafts)s::jsonb,
  %(tags)s::jsonb, %(highest)s, %(open)s::jsonb, %(heads)s::jsonb)
ON CONFLICT (repository) DO UPDATE
  SET full_name = EXCLUDED.full_name, installation = EXCLUDED.installation, gone = NULL
RETURNING adopted, installed, installation, drafts, tags, gone, highest, open, heads
"""


_BASELINE = """
SELECT coalesce((
    SELECT jsonb_object_agg(tag, at)
    FROM jsonb_each(CASE jsonb_typeof(tags) WHEN 'object' THEN tags ELSE '{}' END) AS t (tag, at)
    WHERE left(tag, length(tag) - strpos(reverse(tag), '/')) = ANY (%(folders)s::text[])
  ), '{}'), jsonb_typeof(tags) = 'array'
FROM adoption WHERE repository = %(id)s
"""

LET_IN = """
INSERT INTO let_in AS l (giver, name, other) VALUES (%(giver)s, %(name)s, %(other)s)
ON CONFLICT (giver, name) DO UPDATE SET name = l.name
RETURNING other = %(other)s
"""


OBSERVING = """
INSERT INTO observing AS o (observes, ended) VALUES (%(observes)s, %(known)s)
ON CONFLICT (one) DO UPDATE SET
  observes = EXCLUDED.observes,
  ended = CASE WHEN o.observes AND NOT EXCLUDED.observes THEN COALESCE(%(known)s, %(at)s)
          ELSE o.ended END
RETURNING CASE WHEN ended > %(at)s THEN %(at)s ELSE ended END
"""


class PostgresRepositories:
    """`Repositories` in PostgreSQL.

    Args:
        database: Where the tables are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def adoption(self, repository_id: RepositoryId) -> Adoption | None:
        rows = await self._database.ask(
            "SELECT adopted, installed, installation, drafts, tags, gone, highest, open, heads"
            " FROM adoption WHERE repository = %(id)s",
            {"id": await self._database.row(repository_id)},
        )
        return _adoption(rows[0]) if rows else None

    async def baseline(
        self, repository_id: RepositoryId, packages: Collection[str]
    ) -> BaselineTags | None:
        rows = await self._database.ask(
            _BASELINE,
            {
                "id": await self._database.row(repository_id),
                "folders": [f"{TAGS}/{each}" if each else TAGS for each in sorted(packages)],
            },
        )
        return BaselineTags(*rows[0]) if rows else None

    async def reach(self, repository_id: RepositoryId) -> InstalledReach | None:
        rows = await self._database.ask(
            "SELECT installation, gone FROM adoption WHERE repository = %(id)s",
            {"id": await self._database.row(repository_id)},
        )
        return InstalledReach(*rows[0]) if rows else None

    async def adopt(
        self,
        repository: Adopted,
        at: datetime,
        drafts: Mapping[str, str],
        tags: Mapping[str, str] | None = None,
        *,
        highest: int | None = None,
        open_numbers: Sequence[int] = (),
        heads: Mapping[str, str] | None = None,
    ) -> Adoption:
        row = await self._database.one(
            ADOPT,
            {
                "id": await self._database.row(repository.id),
                "name": repository.full_name,
                "installation": repository.installation,
                "at": at,
                "installed": repository.installed_at,
                "drafts": as_json(drafts),
                "tags": as_json(tags or {}),
                "highest": highest,
                "open": as_json(list(open_numbers)),
                "heads": as_json(heads or {}),
            },
        )
        return _adoption(row)

    async def complete_tags(self, repository_id: RepositoryId, tags: Mapping[str, str]) -> None:
        await self._database.ask(
            "UPDATE adoption SET tags = %(tags)s::jsonb"
            " WHERE repository = %(id)s AND jsonb_typeof(tags) = 'array'",
            {"id": await self._database.row(repository_id), "tags": as_json(tags)},
        )

    async def rename(self, repository: Adopted) -> None:
        await self._database.ask(
            "UPDATE adoption"
            " SET full_name = %(name)s, installation = %(installation)s, gone = NULL"
            " WHERE repository = %(id)s AND (full_name, installation, gone)"
            " IS DISTINCT FROM (%(name)s, %(installation)s, NULL::timestamptz)",
            {
                "id": await self._database.row(repository.id),
                "name": repository.full_name,
                "installation": repository.installation,
            },
        )

    async def dashboard(self, repository_id: RepositoryId) -> int | None:
        rows = await self._database.ask(
            "SELECT dashboard FROM adoption WHERE repository = %(id)s",
            {"id": await self._database.row(repository_id)},
        )
        return rows[0][0] if rows else None

    async def keep_dashboard(self, repository_id: RepositoryId, number: int) -> None:
        await self._database.ask(
            "UPDATE adoption SET dashboard = %(number)s WHERE repository = %(id)s",
            {"id": await self._database.row(repository_id), "number": number},
        )

    async def installations(self, forge: str) -> set[int]:
        rows = await self._database.ask(
            "SELECT DISTINCT installation FROM adoption JOIN served USING (repository)"
            " WHERE gone IS NULL AND forge = %(forge)s",
            {"forge": forge},
        )
        return {number for (number,) in rows}

    async def repositories(self, forge: str, installation: int) -> set[RepositoryId]:
        rows = await self._database.ask(
            "SELECT number FROM adoption JOIN served USING (repository)"
            " WHERE gone IS NULL AND forge = %(forge)s AND installation = %(n)s",
            {"forge": forge, "n": installation},
        )
        return {RepositoryId(forge, number) for (number,) in rows}

    async def named(self, forge: str, full_names: Collection[str]) -> tuple[ServedName, ...]:
        rows = await self._database.ask(
            "SELECT number, full_name, installation FROM adoption JOIN served USING (repository)"
            " WHERE gone IS NULL AND forge = %(forge)s AND lower(full_name) = ANY (%(names)s)"
            " ORDER BY number",
            {"forge": forge, "names": [sayable(each.lower()) for each in full_names]},
        )
        return tuple(ServedName(RepositoryId(forge, n), name, at) for n, name, at in rows)

    async def let_in(self, giver: RepositoryId, name: str, other: RepositoryId) -> bool:
        row = await self._database.one(
            LET_IN,
            {
                "giver": await self._database.row(giver),
                "name": sayable(name.lower()),
                "other": await self._database.row(other),
            },
        )
        return bool(row[0])

    async def only_installations(self, forge: str, numbers: Sequence[int]) -> tuple[str, ...]:
        rows = await self._database.ask(
            "UPDATE adoption AS a SET gone = now() FROM served AS s"
            " WHERE s.repository = a.repository AND s.forge = %(forge)s"
            " AND a.gone IS NULL AND installation <> ALL (%(numbers)s::bigint[])"
            " RETURNING full_name",
            {"forge": forge, "numbers": list(numbers)},
        )
        return tuple(name for (name,) in rows)

    async def only_repositories(
        self, forge: str, installation: int, ids: Collection[RepositoryId]
    ) -> tuple[str, ...]:
        rows = await self._database.ask(
            "UPDATE adoption AS a SET gone = now() FROM served AS s"
            " WHERE s.repository = a.repository AND s.forge = %(forge)s AND a.gone IS NULL"
            " AND installation = %(installation)s AND s.number <> ALL (%(numbers)s::bigint[])"
            " RETURNING full_name",
            {
                "forge": forge,
                "installation": installation,
                "numbers": [each.number for each in ids if each.forge == forge],
            },
        )
        return tuple(name for (name,) in rows)

    async def observing(
        self, observes: bool, at: datetime, known: datetime | None = None
    ) -> datetime | None:
        given = {"observes": observes, "at": at, "known": known}
        ended: datetime | None = (await self._database.one(OBSERVING, given))[0]
        return ended

    async def lost(self, repository_id: RepositoryId) -> None:
        await self._database.ask(
            "UPDATE adoption SET gone = now() WHERE repository = %(id)s AND gone IS NULL",
            {"id": await self._database.row(repository_id)},
        )


def _adoption(row: TupleRow) -> Adoption:
    adopted, installed, installation, drafts, tags, gone, highest, open_, heads = row
    # A list of names is what older versions kept, and keep where they adopt; those read the names
    # of what is kept here as well.
    older = isinstance(tags, list)
    known = dict.fromkeys(tags, "") if older else tags
    return Adoption(
        adopted, installed, installation, drafts, known, gone, highest, open_, heads, older
    )
