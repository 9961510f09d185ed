"""The tables of proposals: their events, refusals, and which share commits or packages."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from bot.sayable import as_json
from bot.store.database import Database
from bot.store.values import CommitSharers, MergeRefusal, Touching
from lifecycle.events import Log, decode, encode
from lifecycle.facts.commits import MOST_SHARED, PushRefusal
from lifecycle.facts.conversation import Written
from lifecycle.facts.merging import MergeObstacle
from lifecycle.identity import RepositoryId

KEEP_OPEN = """
WITH old AS (
  SELECT DISTINCT sha FROM open_proposal
  WHERE repository = %(id)s AND head_repository = %(head)s AND branch = %(branch)s
), gone AS (
  DELETE FROM open_proposal
  WHERE repository = %(id)s AND head_repository = %(head)s AND branch = %(branch)s
    AND proposal <> ALL (%(numbers)s)
  RETURNING proposal
), kept AS (
  INSERT INTO open_proposal AS o (repository, proposal, head_repository, branch, sha)
  SELECT %(id)s, number, %(head)s, %(branch)s, %(sha)s
  FROM (SELECT DISTINCT unnest(%(numbers)s::bigint[])) AS given(number)
  ON CONFLICT (repository, proposal) DO UPDATE
    SET head_repository = EXCLUDED.head_repository, branch = EXCLUDED.branch, sha = EXCLUDED.sha
    WHERE (o.head_repository, o.branch, o.sha)
      IS DISTINCT FROM (EXCLUDED.head_repository, EXCLUDED.branch, EXCLUDED.sha)
  RETURNING o.proposal
)
SELECT EXISTS (SELECT FROM gone) OR EXISTS (SELECT FROM kept), ARRAY(SELECT sha FROM old)
"""

AT_COMMITS = """
SELECT proposal, head_repository, branch, sha FROM open_proposal
WHERE repository = %(id)s AND sha = ANY (%(shas)s)
  AND (head_repository, branch) IS DISTINCT FROM (%(head)s, %(branch)s)
ORDER BY proposal
"""

KEEP_TOUCHING = """
WITH given AS (
  SELECT unnest(%(packages)s::text[]) AS package
), gone AS (
  DELETE FROM touching AS t
  WHERE t.repository = %(id)s AND t.proposal = %(n)s
    AND (t.base <> %(base)s OR NOT EXISTS (SELECT FROM given WHERE given.package = t.package))
  RETURNING t.base, t.package
), kept AS (
  INSERT INTO touching (repository, proposal, base, package)
  SELECT %(id)s, %(n)s, %(base)s, package FROM given
  ON CONFLICT DO NOTHING
  RETURNING base, package
)
SELECT base, package FROM gone UNION SELECT base, package FROM kept
"""

ALSO_TOUCHING = """
SELECT package, proposal FROM touching
WHERE repository = %(id)s AND base = %(base)s AND package = ANY (%(packages)s)
  AND proposal <> %(n)s
ORDER BY package, proposal
"""

WHO_TOUCHES = """
SELECT DISTINCT o.head_repository, o.branch
FROM touching AS t JOIN open_proposal AS o USING (repository, proposal)
JOIN unnest(%(bases)s::text[], %(packages)s::text[]) AS c(base, package)
  ON (c.base, c.package) = (t.base, t.package)
WHERE t.repository = %(id)s AND t.proposal <> %(n)s
  AND (
    SELECT count(*) FROM touching AS lower
    WHERE lower.repository = %(id)s AND (lower.base, lower.package) = (c.base, c.package)
      AND lower.proposal < %(n)s
  ) < 7
"""
# Each is told the five lowest of the others, and that there are more: from the eighth on, one more
# changes nothing that is said.

KEEP = """
WITH gone AS (
  DELETE FROM written
  WHERE repository = %(id)s AND proposal = %(n)s AND comment = ANY(%(gone)s)
), told AS (
  INSERT INTO event (repository, proposal, digest, event)
  SELECT %(id)s, %(n)s, digest, event
  FROM unnest(%(digests)s::text[], %(events)s::jsonb[]) AS given(digest, event)
  ON CONFLICT DO NOTHING
)
INSERT INTO written (repository, proposal, comment, body, record)
SELECT %(id)s, %(n)s, comment, body, record
FROM unnest(%(comments)s::bigint[], %(bodies)s::text[], %(records)s::jsonb[])
  AS given(comment, body, record)
ON CONFLICT (repository, proposal, comment)
  DO UPDATE SET body = EXCLUDED.body, record = EXCLUDED.record
"""

REMEMBERED = """
SELECT event, NULL::bigint, NULL::text, NULL::jsonb FROM event
WHERE repository = %(id)s AND proposal = %(n)s
UNION ALL
SELECT NULL, comment, body, record FROM written
WHERE repository = %(id)s AND proposal = %(n)s
"""

REFUSE = """
INSERT INTO refusal AS r
  (repository, proposal, head, base, reason, inputs, obstacle, failure, again)
VALUES (%(id)s, %(n)s, %(head)s, %(base)s, %(reason)s, %(inputs)s, %(obstacle)s, %(failure)s,
  now() + make_interval(secs => (%(waits)s::float8[])[1]))
ON CONFLICT (repository, proposal) DO UPDATE SET (
  head, base, reason, ended, inputs, obstacle, failure, tries, again
) = (
  SELECT EXCLUDED.head, EXCLUDED.base, EXCLUDED.reason, '', EXCLUDED.inputs, EXCLUDED.obstacle,
    EXCLUDED.failure, counted,
    now() + make_interval(
      secs => (%(waits)s::float8[])[LEAST(counted, cardinality(%(waits)s::float8[]))])
  FROM (
    SELECT CASE
      WHEN (r.head, r.base, r.inputs, r.failure)
        = (EXCLUDED.head, EXCLUDED.base, EXCLUDED.inputs, EXCLUDED.failure) THEN r.tries + 1
      ELSE 1
    END AS counted
  ) AS given
)
"""

REFUSAL = """
SELECT reason, inputs, obstacle, tries,
  CASE WHEN again IS NOT NULL THEN GREATEST(0, extract(epoch FROM again - now()))::float END
FROM refusal
WHERE repository = %(id)s AND proposal = %(n)s AND head = %(head)s AND base = %(base)s
"""


class PostgresProposals:
    """`Proposals` in PostgreSQL.

    Args:
        database: Where the tables are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(
        self,
        repository_id: RepositoryId,
        number: int,
        log: Log = frozenset(),
        written: Mapping[int, Written] | None = None,
        gone: Iterable[int] = (),
    ) -> None:
        texts = sorted(as_json(encode(event)) for event in log)
        comments = sorted((written or {}).items())
        await self._database.ask(
            KEEP,
            {
                "id": await self._database.row(repository_id),
                "n": number,
                "gone": list(gone),
                "digests": [hashlib.sha256(text.encode()).hexdigest() for text in texts],
                "events": texts,
                "comments": [comment for comment, _ in comments],
                "bodies": [one.body for _, one in comments],
                "records": [as_json(one.record) for _, one in comments],
            },
        )

    async def remembered(
        self, repository_id: RepositoryId, number: int
    ) -> tuple[Log, dict[int, Written]]:
        rows = await self._database.ask(
            REMEMBERED, {"id": await self._database.row(repository_id), "n": number}
        )
        return (
            frozenset(decode(event) for event, *_ in rows if event is not None),
            {
                comment: Written(body, record)
                for _, comment, body, record in rows
                if comment is not None
            },
        )

    async def settle(self, repository_id: RepositoryId, number: int, *, merged: bool) -> None:
        await self._database.ask(
            "INSERT INTO settled VALUES (%(id)s, %(n)s, %(merged)s)"
            " ON CONFLICT (repository, proposal) DO UPDATE"
            " SET merged = settled.merged OR EXCLUDED.merged",
            {"id": await self._database.row(repository_id), "n": number, "merged": merged},
        )

    async def settled(self, repository_id: RepositoryId, proposals: Mapping[int, bool]) -> set[int]:
        if not proposals:
            return set()
        rows = await self._database.ask(
            "SELECT proposal, merged FROM settled"
            " WHERE repository = %(id)s AND proposal = ANY(%(n)s)",
            {"id": await self._database.row(repository_id), "n": list(proposals)},
        )
        return {number for number, merged in rows if merged or not proposals[number]}

    async def settled_until(self, repository_id: RepositoryId, base: str) -> datetime | None:
        rows = await self._database.ask(
            "SELECT until FROM settled_until WHERE repository = %(id)s AND base = %(base)s",
            {"id": await self._database.row(repository_id), "base": base},
        )
        return rows[0][0] if rows else None

    async def settle_until(self, repository_id: RepositoryId, base: str, until: datetime) -> None:
        await self._database.ask(
            "INSERT INTO settled_until AS s VALUES (%(id)s, %(base)s, %(until)s)"
            " ON CONFLICT (repository, base) DO UPDATE"
            " SET until = GREATEST(s.until, EXCLUDED.until)",
            {"id": await self._database.row(repository_id), "base": base, "until": until},
        )

    async def refuse(
        self,
        repository_id: RepositoryId,
        number: int,
        head: str,
        base: str,
        refusal: MergeRefusal,
        waits: Sequence[float | None] = (None,),
    ) -> None:
        await self._database.ask(
            REFUSE,
            {
                "id": await self._database.row(repository_id),
                "n": number,
                "head": head,
                "base": base,
                "reason": refusal.reason,
                "inputs": refusal.inputs,
                "obstacle": refusal.obstacle,
                "failure": refusal.obstacle.failure,
                "waits": list(waits),
            },
        )

    async def refusal(
        self, repository_id: RepositoryId, number: int, head: str, base: str
    ) -> MergeRefusal | None:
        rows = await self._database.ask(
            REFUSAL,
            {
                "id": await self._database.row(repository_id),
                "n": number,
                "head": head,
                "base": base,
            },
        )
        for reason, inputs, obstacle, tries, left in rows:
            return MergeRefusal(reason, inputs, MergeObstacle(obstacle), tries, left)
        return None

    async def forget_refusal(self, repository_id: RepositoryId, number: int) -> None:
        await self._database.ask(
            "DELETE FROM refusal WHERE repository = %(id)s AND proposal = %(n)s",
            {"id": await self._database.row(repository_id), "n": number},
        )

    async def refuse_push(
        self, repository_id: RepositoryId, ref: str, sha: str, refusal: PushRefusal
    ) -> None:
        await self._database.ask(
            "INSERT INTO push_refusal (repository, ref, sha, asked, reason)"
            " VALUES (%(id)s, %(ref)s, %(sha)s, %(asked)s, %(reason)s)"
            " ON CONFLICT (repository, ref) DO UPDATE"
            " SET sha = EXCLUDED.sha, asked = EXCLUDED.asked, reason = EXCLUDED.reason",
            {
                "id": await self._database.row(repository_id),
                "ref": ref,
                "sha": sha,
                "asked": refusal.asked,
                "reason": refusal.reason,
            },
        )

    async def push_refusal(
        self, repository_id: RepositoryId, ref: str, sha: str
    ) -> PushRefusal | None:
        rows = await self._database.ask(
            "SELECT reason, asked FROM push_refusal"
            " WHERE repository = %(id)s AND ref = %(ref)s AND sha = %(sha)s",
            {"id": await self._database.row(repository_id), "ref": ref, "sha": sha},
        )
        return PushRefusal(*rows[0]) if rows else None

    async def forget_push_refusals(
        self, repository_id: RepositoryId, ref: str | None = None
    ) -> tuple[str, ...]:
        rows = await self._database.ask(
            "DELETE FROM push_refusal WHERE repository = %(id)s"
            " AND CASE WHEN %(ref)s::text IS NULL THEN ref NOT LIKE 'porchbot/%%'"
            " ELSE ref = %(ref)s END RETURNING ref",
            {"id": await self._database.row(repository_id), "ref": ref},
        )
        return tuple(each for (each,) in rows)

    async def keep_open(
        self,
        repository_id: RepositoryId,
        head_repository: int,
        branch: str,
        numbers: Sequence[int],
        sha: str,
    ) -> CommitSharers:
        given = {
            "id": await self._database.row(repository_id),
            "head": head_repository,
            "branch": branch,
        }
        changed, old = await self._database.one(
            KEEP_OPEN, {**given, "numbers": list(numbers), "sha": sha}
        )
        shas = {sha, *old} if numbers else set(old)
        rows = await self._database.ask(AT_COMMITS, {**given, "shas": sorted(shas)})
        now = tuple(number for number, _, _, at in rows if numbers and at == sha)
        return CommitSharers(now, _of_few(rows) if changed else frozenset())

    async def drop_open(
        self, repository_id: RepositoryId, number: int
    ) -> frozenset[tuple[int, int, str]]:
        me = await self._database.row(repository_id)
        gone = await self._database.ask(
            "DELETE FROM open_proposal WHERE repository = %(id)s AND proposal = %(n)s"
            " RETURNING head_repository, branch, sha",
            {"id": me, "n": number},
        )
        if not gone:
            return frozenset()
        head, branch, sha = gone[0]
        given = {"id": me, "head": head, "branch": branch, "shas": [sha]}
        return _of_few(await self._database.ask(AT_COMMITS, given))

    async def keep_touching(
        self, repository_id: RepositoryId, number: int, base: str, packages: Sequence[str]
    ) -> Touching:
        given = {
            "id": await self._database.row(repository_id),
            "n": number,
            "base": base,
            "packages": list(packages),
        }
        changed = await self._database.ask(KEEP_TOUCHING, given)
        also: dict[str, tuple[int, ...]] = {}
        for package, other in await self._database.ask(ALSO_TOUCHING, given):
            also[package] = (*also.get(package, ()), other)
        if not changed:
            return Touching(also)
        bases, names = zip(*changed, strict=True)
        rows = await self._database.ask(
            WHO_TOUCHES,
            {
                "id": await self._database.row(repository_id),
                "n": number,
                "bases": list(bases),
                "packages": list(names),
            },
        )
        return Touching(also, frozenset((head, branch) for head, branch in rows))

    async def forget_touching(
        self, repository_id: RepositoryId, open_numbers: Sequence[int]
    ) -> None:
        await self._database.ask(
            "DELETE FROM touching WHERE repository = %(id)s AND proposal <> ALL (%(open)s)",
            {"id": await self._database.row(repository_id), "open": list(open_numbers)},
        )


def _of_few(rows: Sequence[tuple[Any, ...]]) -> frozenset[tuple[int, int, str]]:
    """Those of rows of `AT_COMMITS` at whose commit one more or less changes what is shown."""
    there = Counter(at for *_, at in rows)
    return frozenset(
        (number, head, branch) for number, head, branch, at in rows if there[at] <= MOST_SHARED + 1
    )
