"""The tables of who has which upstream."""

from collections.abc import Collection, Mapping, Sequence

from psycopg.rows import TupleRow

from bot.sayable import as_json, sayable
from bot.store.database import Database
from bot.store.values import ServedName, UpstreamUse, UpstreamUser
from lifecycle.identity import RepositoryId

# Whoever goes on from the same commit at the same time waits for the row, and finds it moved.
KEEP = """
WITH moved AS (
  INSERT INTO indexed AS i (repository, branch, commit)
  SELECT %(id)s, %(branch)s, %(to)s
  WHERE %(from)s = '' OR EXISTS (
    SELECT FROM indexed WHERE repository = %(id)s AND branch = %(branch)s)
  ON CONFLICT (repository, branch) DO UPDATE SET commit = EXCLUDED.commit
    WHERE i.commit = %(from)s
  RETURNING true AS done
), gone AS (
  DELETE FROM upstream_use
  WHERE repository = %(id)s AND branch = %(branch)s AND EXISTS (SELECT FROM moved)
    AND package = ANY (%(packages)s)
), came AS (
  INSERT INTO upstream_use (repository, branch, package, place, directory, ref, commit, locked)
  SELECT %(id)s, %(branch)s, package, place, directory, ref, commit, locked
  FROM jsonb_to_recordset(%(uses)s::jsonb) AS u (
    package text, place text, directory text, ref text, commit text, locked boolean)
  WHERE EXISTS (SELECT FROM moved)
)
SELECT done FROM moved
"""

SHOWN = """
SELECT number, full_name, installation, forge, branch, package, place, directory, ref, commit,
  u.locked
FROM upstream_use u JOIN adoption USING (repository) JOIN served USING (repository)
WHERE gone IS NULL AND {}
ORDER BY forge, number, branch, package, locked
"""


# Each folder is looked up by its own name and by those above it: with a thousand packages and a
# hundred thousand locks, comparing every one with every other takes half a minute. INTERSECT, as a
# join would be a nested loop again: nobody knows how long the arrays are when it is planned.
USED = """
WITH there AS (
  SELECT DISTINCT directory FROM upstream_use u JOIN adoption USING (repository)
  WHERE gone IS NULL AND place = %(place)s
), above AS (
  SELECT array_to_string(parts[:length], '/') AS folder
  FROM (SELECT string_to_array(directory, '/') AS parts FROM there) AS split,
    generate_series(1, cardinality(parts)) AS length
)
SELECT EXISTS (SELECT directory FROM there INTERSECT SELECT unnest(%(around)s::text[]))
  OR EXISTS (SELECT folder FROM above INTERSECT SELECT unnest(%(packages)s::text[]))
  OR '' = ANY (%(packages)s::text[]) AND EXISTS (SELECT FROM there)
"""


class PostgresUpstreamUses:
    """`UpstreamUses` in PostgreSQL.

    Args:
        database: Where the tables are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def indexed(self, repository_id: RepositoryId) -> dict[str, str]:
        rows = await self._database.ask(
            "SELECT branch, commit FROM indexed WHERE repository = %(id)s",
            {"id": await self._database.row(repository_id)},
        )
        return {str(branch): str(commit) for branch, commit in rows}

    async def keep_uses(
        self,
        repository_id: RepositoryId,
        branch: str,
        commits: tuple[str, str],
        uses: Mapping[str, Sequence[UpstreamUse]],
    ) -> bool:
        rows = await self._database.ask(
            KEEP,
            {
                "id": await self._database.row(repository_id),
                "branch": sayable(branch),
                "from": commits[0],
                "to": commits[1],
                "packages": [sayable(each) for each in uses],
                "uses": as_json([_row(each) for found in uses.values() for each in found]),
            },
        )
        return bool(rows)

    async def forget_uses(self, repository_id: RepositoryId, branches: Collection[str]) -> None:
        await self._database.ask(
            "WITH gone AS (DELETE FROM indexed WHERE repository = %(id)s"
            " AND branch <> ALL (%(branches)s))"
            " DELETE FROM upstream_use WHERE repository = %(id)s AND branch <> ALL (%(branches)s)",
            {
                "id": await self._database.row(repository_id),
                "branches": [sayable(each) for each in branches],
            },
        )

    async def uses(self, repository_id: RepositoryId) -> tuple[UpstreamUser, ...]:
        rows = await self._database.ask(
            SHOWN.format("u.repository = %(id)s"),
            {"id": await self._database.row(repository_id)},
        )
        return tuple(map(_user, rows))

    async def users(self, place: str) -> tuple[UpstreamUser, ...]:
        rows = await self._database.ask(
            SHOWN.format("place = %(place)s"), {"place": sayable(place)}
        )
        return tuple(map(_user, rows))

    async def used(self, place: str, packages: Collection[str]) -> bool:
        if not packages:
            return False
        around = {above for each in packages for above in _with_above(sayable(each))}
        asked = {
            "place": sayable(place),
            "packages": [sayable(each) for each in packages],
            "around": sorted(around),
        }
        rows = await self._database.ask(USED, asked)
        return bool(rows[0][0])


def _with_above(folder: str) -> list[str]:
    """A folder and all that it lies in; "" for the whole repository."""
    parts = folder.split("/")
    return ["/".join(parts[:length]) for length in range(len(parts) + 1)]


def _row(use: UpstreamUse) -> dict[str, str | bool]:
    return {
        "package": use.package,
        "place": use.place,
        "directory": use.directory,
        "ref": use.ref,
        "commit": use.commit,
        "locked": use.locked,
    }


def _user(row: TupleRow) -> UpstreamUser:
    number, full_name, installation, forge, branch, package, place, directory, ref, commit, at = row
    return UpstreamUser(
        repository=ServedName(RepositoryId(forge, number), full_name, installation),
        branch=branch,
        use=UpstreamUse(
            package=package, place=place, directory=directory, ref=ref, commit=commit, locked=at
        ),
    )
