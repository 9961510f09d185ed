"""Renderings that come together are kept together."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest

from bot.store.database import Database
from bot.store.renderings import PostgresRenderings
from bot.store.values import StoreError


class Asked:
    """A database that notes what it is asked to keep."""

    def __init__(self, *, away: bool = False) -> None:
        self.asked: list[Mapping[str, Any]] = []
        self._away = away

    async def ask(self, query: str, values: Mapping[str, Any]) -> list[object]:
        self.asked.append(values)
        if self._away:
            raise StoreError("away")
        return []


async def test_renderings_that_come_together_are_one_statement() -> None:
    """The short-cut is a statement, and a commit to disk, for each of two thousand verdicts."""
    database = Asked()
    renderings = PostgresRenderings(cast("Database", database))

    await asyncio.gather(*(renderings.keep(f"k{n}", b"x" * n) for n in range(20, 0, -1)))
    await renderings.keep("later", b"y")

    keys = [each["keys"] for each in database.asked]
    assert keys == [sorted(f"k{n}" for n in range(1, 21)), ["later"]]
    assert dict(zip(keys[0], database.asked[0]["rows"], strict=True))["k7"] == b"x" * 7


async def test_where_the_database_is_away_everybody_is_told() -> None:
    """The short-cut tells the one that began, and the others wait for ever."""
    renderings = PostgresRenderings(cast("Database", Asked(away=True)))

    came = await asyncio.gather(
        *(renderings.keep(f"k{n}", b"x") for n in range(3)), return_exceptions=True
    )

    assert [type(each) for each in came] == [StoreError] * 3
    with pytest.raises(StoreError, match="away"):
        await renderings.keep("again", b"x")
