"""A database that is away: one finds out for all, nobody waits long, and it is said once."""

import asyncio
import select
import socket
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.logs import Seldom
from bot.store import outage
from bot.store.database import Database
from bot.store.outage import AGAIN
from bot.store.values import StoreError


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    made = Database(database_url, 2, 2.0)
    await made.open()
    yield made
    await made.close()


async def asked(database: Database) -> str:
    """What comes of a statement: "" or the error."""
    try:
        await database.ask("SELECT 1")
    except StoreError as error:
        return str(error)
    return ""


async def test_a_server_that_hangs_is_away_and_comes_back(database: Database) -> None:
    """The short-cut waits for a statement for ever: the forge has given up long before."""
    with pytest.raises(StoreError, match=r"no answer within 0.2 s"):
        await database.ask("SELECT pg_sleep(20)", longest=0.2)
    assert "no answer within 0.2 s" in await asked(database)
    async with asyncio.timeout(60):
        while await asked(database):
            await asyncio.sleep(AGAIN / 5)


async def test_a_connection_that_was_closed_while_idle_fails_nobody(
    database: Database, database_url: str
) -> None:
    """The short-cut finds out by the statement of whoever asks next: a delivery is refused then,
    and GitHub sends none again."""
    ((before,),) = await database.ask("SELECT pg_backend_pid()")
    (connection,) = database._pool._pool
    other = Database(database_url, 2, 60.0)
    await other.open()
    await other.ask("SELECT pg_terminate_backend(%(pid)s)", {"pid": before})
    await other.close()
    assert select.select([connection.pgconn.socket], [], [], 60)[0]  # it has arrived

    ((after,),) = await database.ask("SELECT pg_backend_pid()")

    assert after != before


async def test_a_server_that_only_reads_any_more_is_left(database: Database) -> None:
    """Short-cuts: it is told as a mistake of the bot; or the connection is kept for ever, though
    new ones lead to the server that has taken over."""
    await database.ask("CREATE TABLE taken_over (number int)")
    await database.ask("SET default_transaction_read_only = on")  # of this connection
    with pytest.raises(StoreError, match="cannot be reached: cannot execute INSERT in a read-only"):
        await database.ask("INSERT INTO taken_over VALUES (1)")

    await database.ask("INSERT INTO taken_over VALUES (2)")

    assert await database.ask("SELECT number FROM taken_over") == [(2,)]
    await database.ask("DROP TABLE taken_over")


async def test_many_who_ask_for_a_database_that_is_away_are_told_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The short-cut has each of them wait for its own connection: two at a time, half a second.

    It is logged in one line, and not in a line for each.
    """
    tried: list[str] = []
    execute = Database._execute

    def trying(self: Database, query: str, values: Any) -> Any:
        tried.append(query)
        return execute(self, query, values)

    monkeypatch.setattr(Database, "_execute", trying)
    monkeypatch.setattr(outage, "time", SimpleNamespace(monotonic=lambda: 1.0))  # stands still
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"postgresql://x@127.0.0.1:{nobody.getsockname()[1]}/x"
        database = Database(url, 2, 0.5)
        await database._pool.open()
        with capture_logs() as lines:
            said = await asyncio.gather(*(asked(database) for _ in range(120)))
        await database.close()

    assert all("The database cannot be reached" in each for each in said)
    assert [line["event"] for line in lines] == ["the database is away"]
    assert len(tried) <= 2


async def test_its_return_is_told_with_how_long_it_took(database: Database) -> None:
    with capture_logs() as lines:
        with pytest.raises(StoreError):
            await database.ask("SELECT pg_sleep(20)", longest=0.1)
        async with asyncio.timeout(60):
            while await asked(database):
                await asyncio.sleep(AGAIN / 5)
    away, back = lines
    assert (away["event"], back["event"]) == ("the database is away", "the database is back")
    assert back["seconds"] > 0
    assert back["refused"] > 0


def test_what_keeps_happening_is_told_with_its_number() -> None:
    often = Seldom(seconds=3600)
    assert [often.times() for _ in range(3)] == [1, None, None]
    always = Seldom(seconds=0)
    assert [always.times() for _ in range(3)] == [1, 1, 1]
