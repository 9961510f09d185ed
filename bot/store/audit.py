"""The audit table: append-only, and pruned by age."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from bot.logs import redacted
from bot.sayable import as_json
from bot.store.database import LONG, Database
from bot.store.values import BEGAN, KEPT_AUDIT_DAYS


class PostgresAudit:
    """`Audit` in PostgreSQL.

    Args:
        database: Where the table is.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def begin(self, key: str, detail: Mapping[str, Any]) -> int:
        row = await self._database.one(
            "INSERT INTO audit (key, actor, action, detail)"
            " VALUES (%(key)s, 'bot', %(action)s, %(detail)s::jsonb) RETURNING id",
            {"key": key, "action": BEGAN, "detail": _kept(detail)},
        )
        return int(row[0])

    async def add(
        self, key: str, actions: Sequence[tuple[str, Mapping[str, Any]]], *, actor: str = "bot"
    ) -> None:
        await self._database.ask(
            "INSERT INTO audit (key, actor, action, detail)"
            " SELECT %(key)s, %(actor)s, action, detail"
            " FROM unnest(%(actions)s::text[], %(details)s::jsonb[])"
            " WITH ORDINALITY AS given(action, detail, place) ORDER BY place",
            {
                "key": key,
                "actor": actor,
                "actions": [name for name, _ in actions],
                "details": [_kept(detail) for _, detail in actions],
            },
        )

    async def entries(self, key: str) -> tuple[tuple[datetime, str, str, Mapping[str, Any]], ...]:
        return tuple(
            await self._database.ask(
                "SELECT at, actor, action, detail FROM audit WHERE key = %(key)s ORDER BY id",
                {"key": key},
            )
        )

    async def forget(self) -> int:
        gone = await self._database.ask(
            "DELETE FROM audit WHERE at < now() - make_interval(days => %(days)s) RETURNING 1",
            {"days": KEPT_AUDIT_DAYS},
            longest=LONG,
        )
        return len(gone)


def _kept(detail: Mapping[str, Any]) -> str:
    return as_json(redacted(detail))
