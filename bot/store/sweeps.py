"""The table of what sweeps have had looked at, and what else they ask the index for."""

from collections.abc import Collection, Mapping
from typing import Any

from bot.keys import Key
from bot.sayable import as_json
from bot.store.database import Database
from bot.store.values import Swept, Watched
from lifecycle.identity import RepositoryId

KEEP = """
WITH gone AS (
  DELETE FROM swept WHERE repository = %(id)s AND key <> ALL (%(there)s)
)
INSERT INTO swept (repository, key, state)
SELECT %(id)s, key, state FROM unnest(%(keys)s::text[], %(states)s::text[]) AS given(key, state)
ON CONFLICT (repository, key) DO UPDATE
  SET state = EXCLUDED.state, at = now()
"""

WATCH = """
INSERT INTO watched AS w (repository, listed, shown, validator, quiet, asked)
VALUES (%(id)s, %(listed)s, %(shown)s, %(validator)s, %(quiet)s,
  CASE WHEN %(asked)s THEN now() ELSE '-infinity' END)
ON CONFLICT (repository) DO UPDATE SET
  listed = EXCLUDED.listed, shown = EXCLUDED.shown, validator = EXCLUDED.validator,
  quiet = EXCLUDED.quiet, asked = CASE WHEN %(asked)s THEN now() ELSE w.asked END
"""


class PostgresSweeps:
    """`Sweeps` in PostgreSQL.

    Args:
        database: Where the tables are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def known(self, repository_id: RepositoryId) -> dict[str, Swept]:
        rows = await self._database.ask(
            "SELECT key, state, extract(epoch FROM now() - at)::float FROM swept"
            " WHERE repository = %(id)s",
            {"id": await self._database.row(repository_id)},
        )
        return {key: Swept(*rest) for key, *rest in rows}

    async def keep(
        self, repository_id: RepositoryId, states: Mapping[str, str], there: Collection[str]
    ) -> None:
        keys = sorted(states)
        await self._database.ask(
            KEEP,
            {
                "id": await self._database.row(repository_id),
                "there": sorted({*there, *keys}),
                "keys": keys,
                "states": [states[key] for key in keys],
            },
        )

    async def forget(self, key: Key | None = None) -> None:
        await self._database.ask(
            "DELETE FROM swept WHERE %(key)s::text IS NULL OR key = %(key)s",
            {"key": None if key is None else str(key)},
        )

    async def packages(self, repository_id: RepositoryId) -> dict[int, frozenset[str]]:
        rows = await self._database.ask(
            "SELECT proposal, array_agg(package) FROM touching WHERE repository = %(id)s"
            " GROUP BY proposal",
            {"id": await self._database.row(repository_id)},
        )
        return {number: frozenset(packages) for number, packages in rows}

    async def heads_touching(
        self, repository_id: RepositoryId, packages: Collection[str]
    ) -> frozenset[tuple[int, str]]:
        rows = await self._database.ask(
            "SELECT DISTINCT o.head_repository, o.branch"
            " FROM touching AS t JOIN open_proposal AS o USING (repository, proposal)"
            " WHERE t.repository = %(id)s AND t.package = ANY (%(packages)s)",
            {"id": await self._database.row(repository_id), "packages": sorted(packages)},
        )
        return frozenset((head, branch) for head, branch in rows)

    async def approved(
        self, repository_id: RepositoryId, numbers: Collection[int]
    ) -> frozenset[int]:
        rows = await self._database.ask(
            "SELECT DISTINCT proposal FROM event WHERE repository = %(id)s"
            " AND proposal = ANY (%(numbers)s) AND event ->> 'kind' = 'approval'",
            {"id": await self._database.row(repository_id), "numbers": sorted(numbers)},
        )
        return frozenset(number for (number,) in rows)

    async def watched(self, forge: str) -> dict[RepositoryId, Watched]:
        rows = await self._database.ask(
            "SELECT number, listed, shown, validator, quiet,"
            " extract(epoch FROM now() - asked)::float,"
            " coalesce(extract(epoch FROM now() - swept), 'infinity')::float, version, waits"
            " FROM watched JOIN served USING (repository) WHERE forge = %(forge)s",
            {"forge": forge},
        )
        names = ("listed", "shown", "validator", "quiet", "asked", "swept", "version", "waits")
        return {
            RepositoryId(forge, number): Watched(**dict(zip(names, rest, strict=True)))
            for number, *rest in rows
        }

    async def watch(self, repository_id: RepositoryId, seen: Watched, *, asked: bool) -> None:
        await self._database.ask(
            WATCH,
            {
                "id": await self._database.row(repository_id),
                "listed": seen.listed,
                "shown": seen.shown,
                "validator": seen.validator,
                "quiet": seen.quiet,
                "asked": asked,
            },
        )

    async def swept(self, repository_id: RepositoryId, version: str, *, waits: bool) -> None:
        await self._database.ask(
            "INSERT INTO watched AS w (repository, swept, version, waits)"
            " VALUES (%(id)s, now(), %(version)s, %(waits)s)"
            " ON CONFLICT (repository) DO UPDATE SET"
            " swept = now(), version = EXCLUDED.version, waits = EXCLUDED.waits",
            {
                "id": await self._database.row(repository_id),
                "version": version,
                "waits": waits,
            },
        )

    async def mark(self, forge: str, sweep: str) -> Mapping[str, Any]:
        rows = await self._database.ask(
            "SELECT mark FROM sweep_mark WHERE forge = %(forge)s AND sweep = %(sweep)s",
            {"forge": forge, "sweep": sweep},
        )
        return dict(rows[0][0]) if rows else {}

    async def marks(self, sweep: str) -> Mapping[str, Mapping[str, Any]]:
        rows = await self._database.ask(
            "SELECT forge, mark FROM sweep_mark WHERE sweep = %(sweep)s", {"sweep": sweep}
        )
        return {forge: dict(mark) for forge, mark in rows}

    async def keep_mark(self, forge: str, sweep: str, mark: Mapping[str, Any]) -> None:
        await self._database.ask(
            "INSERT INTO sweep_mark VALUES (%(forge)s, %(sweep)s, %(mark)s::jsonb)"
            " ON CONFLICT (forge, sweep) DO UPDATE SET mark = EXCLUDED.mark",
            {"forge": forge, "sweep": sweep, "mark": as_json(mark)},
        )
