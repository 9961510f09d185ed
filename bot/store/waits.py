"""The table of what proposals wait for, and since when."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from psycopg.rows import TupleRow

from bot.logs import redacted
from bot.store.database import Database
from bot.store.values import Parked, Wait, Waiting
from lifecycle.identity import RepositoryId

KEEP = """
WITH given AS (
  SELECT DISTINCT ON (proposal, gate) proposal, gate, reason, actual, wanted, who
  FROM unnest(%(numbers)s::bigint[], %(gates)s::text[], %(reasons)s::text[],
    %(actual)s::text[], %(wanted)s::text[], %(who)s::text[])
    WITH ORDINALITY AS g(proposal, gate, reason, actual, wanted, who, place)
  ORDER BY proposal, gate, place DESC
), gone AS (
  DELETE FROM wait AS w
  WHERE repository = %(id)s AND (key = %(key)s AND NOT merged
      OR proposal = ANY (%(numbers)s) OR proposal = ANY (%(merged)s))
    AND NOT EXISTS (SELECT FROM given AS g WHERE (g.proposal, g.gate) = (w.proposal, w.gate))
)
INSERT INTO wait AS w (repository, proposal, gate, key, merged, reason, actual, wanted, who)
SELECT %(id)s, proposal, gate, %(key)s, proposal = ANY (%(merged)s), reason, actual, wanted, who
FROM given
ON CONFLICT (repository, proposal, gate) DO UPDATE SET key = EXCLUDED.key,
  merged = EXCLUDED.merged, reason = EXCLUDED.reason, actual = EXCLUDED.actual,
  wanted = EXCLUDED.wanted, who = EXCLUDED.who
WHERE (w.key, w.merged, w.reason, w.actual, w.wanted, w.who) IS DISTINCT FROM
  (EXCLUDED.key, EXCLUDED.merged, EXCLUDED.reason, EXCLUDED.actual, EXCLUDED.wanted, EXCLUDED.who)
"""

COUNTS = """
SELECT reason, count(DISTINCT (repository, proposal))
FROM wait JOIN adoption USING (repository) WHERE gone IS NULL GROUP BY reason
"""

WAITING = """
SELECT w.repository, w.proposal, a.full_name, min(w.key),
  array_agg(w.since ORDER BY w.since, w.gate),
  jsonb_agg(jsonb_build_object('gate', w.gate, 'reason', w.reason, 'actual', w.actual,
    'wanted', w.wanted, 'who', w.who) ORDER BY w.since, w.gate)
FROM wait AS w JOIN adoption AS a USING (repository)
WHERE {which}
GROUP BY w.repository, w.proposal, a.full_name ORDER BY w.repository, w.proposal LIMIT %(most)s
"""
PAGE = WAITING.format(
    which="a.gone IS NULL AND (w.repository, w.proposal) > (%(repository)s, %(proposal)s)"
)
OF_REPOSITORY = WAITING.format(which="w.repository = %(repository)s")

PARKED = """
SELECT proposal, min(key), array_agg(gate) FROM wait
WHERE repository = %(id)s AND merged AND (%(key)s = '' OR key = %(key)s)
GROUP BY proposal HAVING bool_and(split_part(gate, ' ', 1) = ANY (%(kinds)s)) ORDER BY proposal
"""

FIRST = (-(2**63), 0)
"""Before every place: what is of no forge of old counts down from -1."""


class PostgresWaits:
    """`Waits` in PostgreSQL.

    Args:
        database: Where the table is.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(
        self,
        repository_id: RepositoryId,
        key: str,
        waits: Mapping[int, Sequence[Wait]],
        merged: Collection[int] = (),
    ) -> None:
        rows = [(number, wait) for number, each in sorted(waits.items()) for wait in each]
        await self._database.ask(
            KEEP,
            {
                "id": await self._database.row(repository_id),
                "key": key,
                "merged": sorted(merged),
                "numbers": [number for number, _ in rows],
                "gates": [wait.gate for _, wait in rows],
                "reasons": [wait.reason for _, wait in rows],
                "actual": [redacted(wait.actual) for _, wait in rows],
                "wanted": [wait.wanted for _, wait in rows],
                "who": [wait.who for _, wait in rows],
            },
        )

    async def forget(self, repository_id: RepositoryId, there: Collection[int]) -> None:
        await self._database.ask(
            "DELETE FROM wait WHERE repository = %(id)s AND NOT merged"
            " AND proposal <> ALL (%(there)s::bigint[])",
            {"id": await self._database.row(repository_id), "there": sorted(there)},
        )

    async def counts(self) -> dict[str, int]:
        return {reason: int(count) for reason, count in await self._database.ask(COUNTS)}

    async def parked(
        self, repository_id: RepositoryId, kinds: Collection[str], key: str = ""
    ) -> tuple[Parked, ...]:
        id_ = await self._database.row(repository_id)
        given = {"id": id_, "kinds": sorted(kinds), "key": key}
        rows = await self._database.ask(PARKED, given)
        return tuple(Parked(number, key, frozenset(gates)) for number, key, gates in rows)

    async def page(
        self, after: tuple[int, int] | None = None, most: int = 50
    ) -> tuple[Waiting, ...]:
        repository, proposal = after or FIRST
        rows = await self._database.ask(
            PAGE, {"repository": repository, "proposal": proposal, "most": most}
        )
        return _waiting(rows)

    async def of(self, repository_id: RepositoryId) -> tuple[Waiting, ...]:
        rows = await self._database.ask(
            OF_REPOSITORY, {"repository": await self._database.row(repository_id), "most": None}
        )
        return _waiting(rows)


def _waiting(rows: Iterable[TupleRow]) -> tuple[Waiting, ...]:
    return tuple(
        Waiting(
            place=(repository, number),
            repository=name,
            number=number,
            key=key,
            waits=tuple(zip(since, (Wait(**each) for each in waits), strict=True)),
        )
        for repository, number, name, key, since, waits in rows
    )
