"""What is PostgreSQL's own: transactions, locks, migrations, entries that are only ever added."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bot.keys import Key, ProposalKey, PullKey
from bot.store import database, deliveries
from bot.store.buckets import Bucket, Draw, ReportedLimit
from bot.store.embedded.server import EmbeddedPostgres
from bot.store.hints import NOTHING, Hint
from bot.store.migrations import BREAKING, CLAIMS, IDENTITY, STEPS, migrate
from bot.store.postgres import PostgresStore
from bot.store.values import Delivered, Revision, StoreError, Taken
from lifecycle.identity import RepositoryId
from tests.ids import on_github

KEY = ProposalKey(on_github(1), 1, "drafts/net/core/v1")
OTHER = PullKey(on_github(1), 7)
DELIVERY = Delivered(
    guid="72d3162e-cc78-11e3-81ab-4c9367dc0958",
    event="push",
    action="",
    headers={"x-github-event": "push"},
    body=b'{"ref": "refs/heads/main"}',
)


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[PostgresStore]:
    async with PostgresStore(database_url, patience=60) as opened:
        yield opened


async def _all(store: PostgresStore) -> list[Taken]:
    """Take everything that is due."""
    found: list[Taken] = []
    while (taken := await store.queue.take(f"test/{len(found)}")) is not None:
        found.append(taken)
    return found


async def _rows(url: str, query: str) -> list[tuple[object, ...]]:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        return await (await connection.execute(query)).fetchall()


async def test_a_delivery_is_stored_with_its_wakes_or_not_at_all(
    store: PostgresStore, database_url: str
) -> None:
    """The short-cut is two statements: a kill between them loses the wake of a stored delivery."""
    no_number: Any = float("nan")
    broken: dict[Key, Hint] = {KEY: Hint(comments=frozenset({no_number}))}  # refused by jsonb

    with pytest.raises(psycopg.DataError, match="invalid input syntax for type json"):
        await store.deliveries.add(DELIVERY, broken)

    assert await _rows(database_url, "SELECT guid FROM delivery") == []
    assert await _all(store) == []


async def test_a_delivery_is_kept_as_it_came_and_counted(
    store: PostgresStore, database_url: str
) -> None:
    for _ in range(2):
        await store.deliveries.add(DELIVERY, {})

    assert await _rows(database_url, "SELECT guid, times, event, body FROM delivery") == [
        (DELIVERY.guid, 2, "push", DELIVERY.body)
    ]


async def test_many_wakes_at_once_neither_lock_each_other_nor_get_lost(
    store: PostgresStore, database_url: str
) -> None:
    """The short-cut wakes keys in the order given: two transactions then wait for each other."""
    keys = [PullKey(on_github(1), number) for number in range(20)]
    begun = time.monotonic()
    async with PostgresStore(database_url, patience=60) as replica:
        for _ in range(10):  # by two bots, in an order of its own each
            await asyncio.gather(
                *(
                    each.queue.wake_all(
                        {key: Hint(comments=frozenset({n})) for key in keys[:: 1 if n % 2 else -1]}
                    )
                    for n in range(20)
                    for each in (store, replica)
                )
            )

    seconds = time.monotonic() - begun
    print(f"400 times 20 wakes of shared keys: {8000 / seconds:,.0f} a second")
    taken = await _all(store)
    assert {(t.wanted, len(t.hint.comments)) for t in taken} == {(20, 20)}
    assert len(taken) == 20


async def test_deliveries_a_second(store: PostgresStore) -> None:
    body = json.dumps({"text": "x" * 8000}).encode()

    async def sender(worker: int) -> None:
        for number in range(20):
            delivery = Delivered(
                guid=f"{worker}-{number}", event="push", action="", headers={}, body=body
            )
            await store.deliveries.add(
                delivery, {PullKey(on_github(worker), number): Hint(comments=frozenset({1}))}
            )

    begun = time.monotonic()
    await asyncio.gather(*(sender(worker) for worker in range(10)))
    seconds = time.monotonic() - begun

    print(f"deliveries of 8 KB, each with a wake: {200 / seconds:,.0f} a second")
    assert (await store.queue.backlog()).due == 200


async def test_the_audit_trail_only_grows(store: PostgresStore, database_url: str) -> None:
    """The short-cut trusts the code: anything with the password could then rewrite the past.

    Pruning the old must not open the way to what is recent.
    """
    done = [("Merge", {"head": "aaa"}), ("Tag", {"head": "bbb"})]
    await store.audit.add("key", done)
    await store.audit.add("key", [])

    found = [entry[1:] for entry in await store.audit.entries("key")]
    assert found == [("bot", "Merge", {"head": "aaa"}), ("bot", "Tag", {"head": "bbb"})]
    for age in ("399 days", "401 days", "5 years"):
        old = f"now() - interval '{age}', 'old', 'bot', 'Say', '{{}}'"
        insert = f"INSERT INTO audit (at, key, actor, action, detail) VALUES ({old}) RETURNING 1"
        await _rows(database_url, insert)
    assert await store.audit.forget() == 2
    assert len(await store.audit.entries("old")) == 1
    for query in ("DELETE FROM audit", "UPDATE audit SET actor = 'x'", "TRUNCATE audit"):
        with pytest.raises(psycopg.errors.RaiseException, match="entries are only ever added"):
            await _rows(database_url, query)
    assert [entry[1:] for entry in await store.audit.entries("key")] == found


async def test_replicas_that_start_together_migrate_once(bare_database_url: str) -> None:
    steps = await asyncio.gather(*(migrate(bare_database_url) for _ in range(4)))

    assert sorted(steps) == [0, 0, 0, len(STEPS)]


_ADDS = re.compile(
    r"CREATE (TABLE|(UNIQUE )?INDEX|FUNCTION|TRIGGER|VIEW)\b"
    r"|ALTER TABLE \w+( ADD COLUMN \w+ [\w\[\]]+( NOT NULL DEFAULT [^,]+| DEFAULT [^,]+)?,?)+$"
    r"|(INSERT INTO|UPDATE) "
)
"""Statements after which whoever does not know of them reads and writes as before."""


@pytest.mark.parametrize("number", range(STEPS.index(CLAIMS) + 1, len(STEPS) + 1))
def test_a_migration_only_adds(number: int) -> None:
    """The short-cut renames a column: replicas of the release before fail until all are replaced.

    Steps up to `CLAIMS` were made before there was a release.
    """
    step = re.sub(r"--.*", "", STEPS[number - 1])
    step = re.sub(r"\$\$.*?\$\$", "''", step, flags=re.DOTALL)
    statements = [" ".join(each.split()) for each in step.split(";")]

    odd = [each for each in statements if each and not _ADDS.match(each)]

    assert not odd or number in BREAKING


async def test_an_older_bot_works_and_starts_on_a_newer_database(bare_database_url: str) -> None:
    """The short-cut refuses what has more steps than it knows: a rolling upgrade would stop."""
    async with PostgresStore(bare_database_url, patience=60) as running:
        async with await psycopg.AsyncConnection.connect(bare_database_url) as connection:
            await connection.execute("ALTER TABLE work ADD COLUMN newer text NOT NULL DEFAULT ''")
            await connection.execute("CREATE TABLE newer (key text PRIMARY KEY)")
            await connection.execute("INSERT INTO migration VALUES (99)")
        await running.queue.wake(KEY)
        async with PostgresStore(bare_database_url, patience=60) as started:
            await started.queue.wake(OTHER)
            assert {each.key for each in await _all(running)} == {str(KEY), str(OTHER)}


async def test_a_database_that_a_newer_version_changed_too_much_is_refused(
    bare_database_url: str,
) -> None:
    await migrate(bare_database_url)
    async with await psycopg.AsyncConnection.connect(bare_database_url) as connection:
        await connection.execute("INSERT INTO migration (step, breaks) VALUES (99, true)")

    with pytest.raises(
        StoreError,
        match=rf"had {len(STEPS) + 1} migrations and this bot knows {len(STEPS)}.*Run that version",
    ):
        await migrate(bare_database_url)


async def test_a_dead_database_is_an_error_of_ours_and_passes(server_folder: Path) -> None:
    with EmbeddedPostgres(server_folder, keep=False) as server:
        async with PostgresStore(server.url) as store:
            await store.check()
            server.stop()

            # The short-cut hands on what the database's client says: lines, with a full stop.
            said = r"^The database cannot be reached: .*[^.]\. Start it, or set DATABASE_URL\.$"
            with pytest.raises(StoreError, match=said):
                await store.check()
            with pytest.raises(StoreError, match=said):
                await store.deliveries.add(DELIVERY, {})


async def test_nobody_can_start_without_a_database() -> None:
    with pytest.raises(StoreError, match="cannot be reached"):
        await PostgresStore("postgresql://postgres@/postgres?host=/nowhere").__aenter__()


async def test_another_process_hears_of_a_wake_at_once(database_url: str) -> None:
    async with (
        PostgresStore(database_url, patience=60) as here,
        PostgresStore(database_url, patience=60) as there,
        there.queue.listening("here") as woken,
    ):
        await woken.wait()  # its connection is made
        woken.clear()
        begun = time.monotonic()
        await here.queue.wake(KEY)
        async with asyncio.timeout(60):
            await woken.wait()

    print(f"another replica hears after {(time.monotonic() - begun) * 1000:.1f} ms")


# --- many at once ---------------------------------------------------------------------------------


@asynccontextmanager
async def _locked(url: str, *keys: Key) -> AsyncIterator[None]:
    """Somebody else's transaction has these rows inside the block."""
    async with await psycopg.AsyncConnection.connect(url) as connection:
        await connection.execute(
            "SELECT key FROM work WHERE key = ANY(%s) ORDER BY key FOR UPDATE", [[*map(str, keys)]]
        )
        yield


async def test_a_connection_more_is_opened_for_who_waits(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cuts refused: one for each of a burst of short statements; one for all, where a
    statement that takes long holds up everybody.
    """

    async def opened(more: str = "") -> object:
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'porchbot'"
        ((number,),) = await _rows(database_url, query + more)
        return number

    monkeypatch.setattr(database, "GROWS", 600)
    async with PostgresStore(database_url, patience=60) as store:
        await store.queue.wake(OTHER)
        for _ in range(20):
            await asyncio.gather(*(store.queue.backlog() for _ in range(20)))
        assert await opened() == 1

        monkeypatch.setattr(database, "GROWS", 0.01)
        async with _locked(database_url, OTHER), asyncio.timeout(60):
            waking = asyncio.create_task(store.queue.wake(OTHER))
            while not await opened(" AND wait_event_type = 'Lock'"):
                await asyncio.sleep(0.01)
            assert (await store.queue.backlog()).waiting == 1
            assert await opened() == 2
        await waking


async def test_many_wakes_at_once_wait_their_turn(database_url: str) -> None:
    """Short-cut refused: a statement and a connection for each, and the pool's patience for all."""
    many: dict[Key, Hint] = {
        PullKey(on_github(1), number): Hint(comments=frozenset({number})) for number in range(20)
    }
    async with PostgresStore(database_url, patience=0.5) as store:
        await store.queue.wake_all(many)
        async with _locked(database_url, PullKey(on_github(1), 0)):
            waking = [
                asyncio.create_task(
                    store.queue.wake_all({k: Hint(reviews=frozenset({n})) for k in many})
                )
                for n in range(200)
            ]
            await asyncio.sleep(1)  # twice the patience
            async with asyncio.timeout(60):  # whoever looks goes on
                assert (await store.queue.backlog()).waiting == 20
        await asyncio.gather(*waking)

        taken = {t.key: t for t in await _all(store)}

    # All of them came, in a few statements.
    assert len(taken) == 20
    for key in many:
        assert taken[str(key)].hint.reviews == set(range(200))
        assert 2 <= taken[str(key)].wanted <= 6


async def test_many_deliveries_at_once_wait_their_turn(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cut refused: the pool's patience; a burst is answered as if there were no database."""
    monkeypatch.setattr(deliveries, "TURN", 600)  # a busy machine takes seconds for all of them
    async with PostgresStore(database_url, connections=4, patience=0.5) as store:
        await store.queue.wake(OTHER)
        async with _locked(database_url, OTHER):
            storing = [
                asyncio.create_task(
                    store.deliveries.add(replace(DELIVERY, guid=f"many-{n}"), {OTHER: NOTHING})
                )
                for n in range(200)
            ]
            await asyncio.sleep(1)
            async with asyncio.timeout(60):  # a worker may ask meanwhile
                assert await store.queue.take("another") is None
        assert all(await asyncio.gather(*storing))

    (row,) = await _rows(database_url, "SELECT count(*) FROM delivery")
    assert row == (200,)


async def test_a_wake_that_is_given_up_leaves_those_of_others(database_url: str) -> None:
    async with PostgresStore(database_url, patience=60) as store:
        await store.queue.wake(OTHER)
        async with _locked(database_url, OTHER):
            one = asyncio.create_task(store.queue.wake(OTHER))
            others = [asyncio.create_task(store.queue.wake(KEY)) for _ in range(3)]
            await asyncio.sleep(0.05)
            others[0].cancel()
            one.cancel()
        await asyncio.gather(*others[1:])

        assert {t.key for t in await _all(store)} == {str(KEY), str(OTHER)}


async def test_rows_of_before_there_was_a_second_forge_are_of_github(
    bare_database_url: str,
) -> None:
    """Fails when the migration leaves what was known without a forge, or to every forge."""
    async with await psycopg.AsyncConnection.connect(bare_database_url) as connection:
        await connection.execute("CREATE TABLE migration (step int PRIMARY KEY)")
        for number, step in enumerate(STEPS[: STEPS.index(IDENTITY)], start=1):
            await connection.execute(step)
            await connection.execute("INSERT INTO migration VALUES (%s)", [number])
        await connection.execute(
            "INSERT INTO adoption (repository, full_name, installation, adopted, installed, drafts)"
            " VALUES (42, 'acme/blueprints', 3, now(), now(), '{}')"
        )
        await connection.execute("INSERT INTO revision VALUES (42, 'net/core', 1, 'aaa')")

    async with PostgresStore(bare_database_url, patience=60) as store:
        published = {"net/core": {1: Revision("aaa")}}
        assert await store.revisions.revisions(on_github(42), ["net/core"]) == published
        assert await store.revisions.revisions(RepositoryId("gitlab", 42), ["net/core"]) == {}
        assert await store.repositories.repositories("github", 3) == {on_github(42)}
        # What an older replica goes on writing is found as well.
        await _rows(
            bare_database_url,
            "INSERT INTO candidate (repository, base, proposal) VALUES (42, 'main', 7)"
            " ON CONFLICT (repository, base, proposal) DO NOTHING RETURNING 1",
        )
        assert await store.revisions.asked_publish(on_github(42), "main") == (7,)


_SET_BACK = """
UPDATE budget SET paused = paused + interval '2 hours', levels = coalesce((
  SELECT jsonb_object_agg(key, value || jsonb_build_object(
    'at', (value ->> 'at')::float8 + 7200, 'ends', (value ->> 'ends')::float8 + 7200))
  FROM jsonb_each(levels)), levels)
"""


async def test_a_clock_of_the_database_that_is_set_back_stops_nobody(
    store: PostgresStore, database_url: str
) -> None:
    """The short-cut counts what came back since then: of two hours, 64,800 less than nothing."""
    minute, hour = Bucket("minute", 300, 9.0), Bucket("core", 300)
    told = [ReportedLimit("core", 300, 300, 1_800)]
    assert await store.budgets.take("a", [Draw(minute, 1), Draw(hour, 300)], told) == 0
    await store.budgets.pause("b", 60)
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        await connection.execute(_SET_BACK)

    assert await store.budgets.take("a", [Draw(minute, 250)]) == 0
    assert 3_500 < await store.budgets.take("a", [Draw(hour, 1)]) <= 3_600
    assert 3_500 < await store.budgets.take("b", [Draw(hour, 1)]) <= 3_600
