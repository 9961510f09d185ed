"""The table of what variants wait for, and since when."""

from collections.abc import Sequence

from bot.logs import redacted
from bot.store.database import Database
from bot.store.values import VariantWait
from lifecycle.identity import RepositoryId

KEEP = """
WITH given AS (
  SELECT DISTINCT ON (package, variant, file) package, variant, file, state, why
  FROM unnest(%(packages)s::text[], %(variants)s::text[], %(files)s::text[], %(states)s::text[],
    %(why)s::text[]) WITH ORDINALITY AS g(package, variant, file, state, why, place)
  ORDER BY package, variant, file, place DESC
), gone AS (
  DELETE FROM variant_wait AS w WHERE repository = %(id)s AND NOT EXISTS (
    SELECT FROM given AS g WHERE (g.package, g.variant, g.file) = (w.package, w.variant, w.file))
)
INSERT INTO variant_wait AS w (repository, package, variant, file, state, why)
SELECT %(id)s, package, variant, file, state, why FROM given
ON CONFLICT (repository, package, variant, file) DO UPDATE SET state = EXCLUDED.state,
  why = EXCLUDED.why, since = CASE WHEN w.state = EXCLUDED.state THEN w.since ELSE now() END
WHERE (w.state, w.why) IS DISTINCT FROM (EXCLUDED.state, EXCLUDED.why)
"""

OF = """
SELECT package, variant, file, state, why, since FROM variant_wait WHERE repository = %(id)s
ORDER BY package COLLATE "C", variant COLLATE "C", file COLLATE "C"
"""


class PostgresVariantWaits:
    """`VariantWaits` in PostgreSQL.

    Args:
        database: Where the table is.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, repository_id: RepositoryId, waits: Sequence[VariantWait]) -> None:
        """Remember all that variants wait for now."""
        await self._database.ask(
            KEEP,
            {
                "id": await self._database.row(repository_id),
                "packages": [each.package for each in waits],
                "variants": [each.variant for each in waits],
                "files": [each.file for each in waits],
                "states": [each.state for each in waits],
                "why": [redacted(each.why) for each in waits],
            },
        )

    async def of(self, repository_id: RepositoryId) -> tuple[VariantWait, ...]:
        """Return what they wait for."""
        rows = await self._database.ask(OF, {"id": await self._database.row(repository_id)})
        return tuple(
            VariantWait(
                package=package, variant=variant, file=file, state=state, why=why, since=since
            )
            for package, variant, file, state, why, since in rows
        )
