"""The table of budgets: what all replicas together may still ask of a forge."""

import json
from collections.abc import Mapping, Sequence

from bot.store.buckets import SAME, SLACK, UNTOLD, WINDOW, Draw, ReportedLimit
from bot.store.database import Database

PAUSE = """
INSERT INTO budget AS b (account, paused)
VALUES (%(account)s, clock_timestamp() + make_interval(secs => %(seconds)s))
ON CONFLICT (account) DO UPDATE SET paused = GREATEST(b.paused, EXCLUDED.paused)
"""

LEFT = """
SELECT account, key,
  CASE WHEN (value ->> 'ends')::float8 <= extract(epoch FROM now())
    THEN (value ->> 'size')::float8 ELSE (value ->> 'tokens')::float8 END,
  (value ->> 'size')::float8,
  GREATEST(0, extract(epoch FROM paused - now()))::float8
FROM budget, jsonb_each(levels) ORDER BY account, key
"""


class PostgresBudgets:
    """`Budgets` in PostgreSQL.

    Args:
        database: Where the table is.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(
        self, account: str, draws: Sequence[Draw], told: Sequence[ReportedLimit] = ()
    ) -> float:
        row = await self._database.one(
            "SELECT budget_draw(%(account)s, %(draws)s::jsonb, %(told)s::jsonb,"
            " %(slack)s, %(untold)s, %(same)s, %(span)s)",
            {
                "account": account,
                "draws": json.dumps(
                    [
                        {
                            "bucket": draw.bucket.name,
                            "size": draw.bucket.size,
                            "rate": draw.bucket.rate,
                            "tokens": draw.tokens,
                            "keep": draw.keep,
                        }
                        for draw in draws
                    ]
                ),
                "told": json.dumps(
                    [
                        {"bucket": t.bucket, "limit": t.limit, "left": t.left, "ends": t.ends}
                        for t in told
                    ]
                ),
                "slack": SLACK,
                "untold": UNTOLD,
                "same": SAME,
                "span": WINDOW,
            },
        )
        return float(row[0])

    async def pause(self, account: str, seconds: float) -> None:
        await self._database.ask(PAUSE, {"account": account, "seconds": seconds})

    async def left(self) -> Mapping[tuple[str, str], tuple[float, float]]:
        rows = await self._database.ask(LEFT)
        return {
            (account, name): (0.0 if paused else tokens, size)
            for account, name, tokens, size, paused in rows
        }
