"""Hints: put together, and as rows of work keep them."""

from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from bot.keys import RepositoryKey
from bot.store.hints import NOTHING, Hint
from bot.store.postgres import PostgresStore
from tests.ids import on_github

KEY = RepositoryKey(on_github(1))
NUMBERS = st.frozensets(st.integers(0, 9), max_size=3)
TEXTS = st.frozensets(st.sampled_from(["a", "b", "sweep"]), max_size=3)
HINTS = st.builds(
    Hint,
    heads=TEXTS,
    comments=NUMBERS,
    reviews=NUMBERS,
    numbers=NUMBERS,
    rerun=TEXTS,
    pressed=TEXTS,
    everything=TEXTS,
    installations=NUMBERS,
    by=TEXTS,
)


@given(HINTS, HINTS)
def test_every_field_is_united_and_read_back(one: Hint, other: Hint) -> None:
    """The short-cut writes a field less than it reads: that is lost on the way to the next key."""
    both = one | other

    assert both == other | one | NOTHING
    for name in Hint.__slots__:
        assert getattr(both, name) == getattr(one, name) | getattr(other, name)
    assert Hint.from_json(both.to_json()) == both
    assert all(both.to_json().values())


def test_a_row_names_what_it_always_named() -> None:
    """Short-cut refused: name the row's fields for the attributes; rows of before say nothing."""
    row: dict[str, list[Any]] = {"head": ["a"], "comment": [1], "review": [2], "number": [3]}
    row["rerun"] = ["guid"]
    row |= {"everything": ["guid"], "installation": [4], "by": ["sweep"]}

    assert Hint.from_json(row).to_json() == row
    assert Hint.from_json({"later": [1]}) == NOTHING


@pytest.mark.parametrize("row", [{"everything": [1]}, {"rerun": [True]}, {"later": [{}]}])
async def test_what_another_version_wrote_is_taken_out_once_it_is_dealt_with(
    database_url: str, row: dict[str, list[Any]]
) -> None:
    """The short-cut takes out what it would write: the row then asks for everything, for ever."""
    async with PostgresStore(database_url, patience=60) as store:
        await store.queue.wake(KEY)
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            await connection.execute("UPDATE work SET hint = %s", [Jsonb(row)])
        taken = await store.queue.take("one")
        assert taken is not None
        assert bool(taken.hint.everything or taken.hint.rerun) == ("later" not in row)

        await store.queue.done(taken)

        await store.queue.wake(KEY)
        again = await store.queue.take("two")
        assert again is not None
        assert (again.hint, again.stored) == (NOTHING, {})
