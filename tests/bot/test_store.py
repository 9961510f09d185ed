"""The database: one transaction for a delivery and its wakes, one row a key, entries only added."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from bot.keys import BaseKey, Key, ProposalKey, PullKey, RepositoryKey
from bot.store.embedded.server import EmbeddedPostgres
from bot.store.migrations import IDENTITY, STEPS, migrate
from bot.store.postgres import PostgresStore
from bot.store.revisions import MOST_TIPS
from bot.store.values import (
    Adoption,
    Delivered,
    Hint,
    Refusal,
    Revision,
    StoreError,
    Taken,
)
from lifecycle.events import Answered, Held
from lifecycle.facts import PushRefusal, Written
from lifecycle.identity import RepositoryId
from tests.ids import FIRST, on_github

KEY = ProposalKey(on_github(1), 1, "drafts/net/core/v1")
OTHER = PullKey(on_github(1), 7)
BASE = BaseKey(on_github(1), "main")
DELIVERY = Delivered(
    guid="72d3162e-cc78-11e3-81ab-4c9367dc0958",
    event="push",
    action="",
    headers={"x-github-event": "push"},
    body=b'{"ref": "refs/heads/main"}',
)


@dataclass(frozen=True)
class _Repository:
    id: RepositoryId = FIRST
    full_name: str = "acme/blueprints"
    installation: int = 3
    installed_at: datetime = datetime(2026, 11, 1, tzinfo=UTC)


REPOSITORY = _Repository()


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[PostgresStore]:
    async with PostgresStore(database_url) as opened:
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
    broken: dict[Key, Hint] = {KEY: {"comment": [float("nan")]}}  # refused by jsonb

    with pytest.raises(psycopg.DataError, match="invalid input syntax for type json"):
        await store.deliveries.add(DELIVERY, broken)

    assert await _rows(database_url, "SELECT guid FROM delivery") == []
    assert await _all(store) == []


async def test_a_repeated_delivery_is_stored_once_and_wakes_again(
    store: PostgresStore, database_url: str
) -> None:
    first = await store.deliveries.add(DELIVERY, {KEY: {}})
    (taken,) = await _all(store)
    await store.queue.done(taken)

    again = await store.deliveries.add(DELIVERY, {KEY: {}})

    assert (first, again) == (True, False)
    assert [t.key for t in await _all(store)] == [str(KEY)]
    assert await _rows(database_url, "SELECT guid, times, body FROM delivery") == [
        (DELIVERY.guid, 2, DELIVERY.body)
    ]


async def test_a_delivery_that_wakes_nothing_is_stored(
    store: PostgresStore, database_url: str
) -> None:
    assert await store.deliveries.add(DELIVERY, {})
    assert await _rows(database_url, "SELECT event FROM delivery") == [("push",)]


async def test_wakes_of_one_key_are_one_row_and_their_hints_are_put_together(
    store: PostgresStore,
) -> None:
    """The short-cut keeps the last hint: the comment of the first event is then forgotten."""
    await store.queue.wake(KEY, {"comment": [1], "head": ["aaa"]})
    await store.queue.wake(KEY, {"comment": [2, 1], "review": [9]})
    await store.queue.wake(KEY)

    (taken,) = await _all(store)

    assert {name: sorted(values) for name, values in taken.hint.items()} == {
        "comment": [1, 2],
        "head": ["aaa"],
        "review": [9],
    }
    assert taken.wanted == 3


async def test_a_wake_during_a_look_causes_another_with_what_is_new(store: PostgresStore) -> None:
    """The short-cut deletes the row, or writes `seen = wanted`: the second wake is lost."""
    await store.queue.wake(KEY, {"comment": [1], "head": ["aaa"]})
    (taken,) = await _all(store)
    await store.queue.wake(KEY, {"comment": [2], "head": ["aaa"]})

    assert await store.queue.done(taken)

    (again,) = await _all(store)
    assert (again.wanted, again.hint) == (2, {"comment": [2]})
    assert await store.queue.done(again)
    assert await _all(store) == []
    assert await store.queue.next_due() is None


async def _an_hour_passes(database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        await connection.execute("UPDATE work SET due = due - interval '1 hour'")


async def test_looking_again_keeps_the_hint(store: PostgresStore, database_url: str) -> None:
    await store.queue.wake(KEY, {"comment": [1]})
    (taken,) = await _all(store)

    await store.queue.again(taken, 3600)

    assert await _all(store) == []
    await _an_hour_passes(database_url)
    assert [(t.hint, t.tries) for t in await _all(store)] == [({"comment": [1]}, 0)]


async def test_settled_until_a_time(store: PostgresStore, database_url: str) -> None:
    await store.queue.wake(KEY)
    (taken,) = await _all(store)

    await store.queue.done(taken, after=3600)

    assert await _all(store) == []
    due = await store.queue.next_due()
    assert due is not None
    assert 3500 < due <= 3600
    await _an_hour_passes(database_url)
    (again,) = await _all(store)
    await store.queue.done(again)
    assert await store.queue.next_due() is None


async def test_a_wake_cuts_a_wait_short_but_not_the_one_the_forge_asked_for(
    store: PostgresStore,
) -> None:
    for key in (KEY, OTHER):
        await store.queue.wake(key)
    for taken in await _all(store):
        await store.queue.failed(taken, "busy", 60, hold=taken.key == str(OTHER))

    for key in (KEY, OTHER):
        await store.queue.wake(key)

    assert [(t.key, t.tries) for t in await _all(store)] == [(str(KEY), 1)]


async def test_a_failure_keeps_the_key_wanted(store: PostgresStore) -> None:
    await store.queue.wake(KEY, {"comment": [1]})
    (taken,) = await _all(store)
    await store.queue.wake(KEY)

    await store.queue.failed(taken, "broke", 60)

    (again,) = await _all(store)
    assert (again.tries, again.hint, again.wanted) == (1, {"comment": [1]}, 2)


async def test_a_timed_wake_waits_and_another_moves_it_forward(store: PostgresStore) -> None:
    await store.queue.wake(KEY, after=60)
    assert await _all(store) == []

    await store.queue.wake(KEY)
    assert [t.key for t in await _all(store)] == [str(KEY)]


async def test_a_timed_wake_never_moves_an_earlier_one_back(store: PostgresStore) -> None:
    await store.queue.wake(KEY)
    await store.queue.wake(KEY, after=60)

    assert [t.key for t in await _all(store)] == [str(KEY)]


async def test_who_lost_the_lease_writes_nothing(store: PostgresStore) -> None:
    """The short-cut finishes by key: the look of the other worker is then called done."""
    await store.queue.wake(KEY)
    old = await store.queue.take("one", lease=0.0)
    assert old is not None
    new = await store.queue.take("two", lease=10)
    assert new is not None

    assert [
        await store.queue.done(old),
        await store.queue.again(old, 1),
        await store.queue.failed(old, "late", 1),
        await store.queue.give_back(old),
    ] == [False] * 4
    assert await store.queue.renew(["one", "two"]) == {"two"}
    assert await store.queue.done(new)


async def test_base_branches_go_first_then_who_waited_longest(store: PostgresStore) -> None:
    for key in (OTHER, KEY, RepositoryKey(on_github(2)), BASE):
        await store.queue.wake(key)

    assert [t.key for t in await _all(store)] == [
        str(BASE),
        str(OTHER),
        str(KEY),
        str(RepositoryKey(on_github(2))),
    ]


async def test_many_wakes_at_once_neither_lock_each_other_nor_get_lost(
    store: PostgresStore, database_url: str
) -> None:
    """The short-cut wakes keys in the order given: two transactions then wait for each other."""
    keys = [PullKey(on_github(1), number) for number in range(20)]
    begun = time.monotonic()
    async with PostgresStore(database_url) as replica:
        for _ in range(10):  # by two bots, in an order of its own each
            await asyncio.gather(
                *(
                    each.queue.wake_all(
                        {key: {"comment": [n]} for key in keys[:: 1 if n % 2 else -1]}
                    )
                    for n in range(20)
                    for each in (store, replica)
                )
            )

    seconds = time.monotonic() - begun
    print(f"400 times 20 wakes of shared keys: {8000 / seconds:,.0f} a second")
    taken = await _all(store)
    assert {(t.wanted, len(t.hint["comment"])) for t in taken} == {(20, 20)}
    assert len(taken) == 20


async def test_deliveries_a_second(store: PostgresStore) -> None:
    body = json.dumps({"text": "x" * 8000}).encode()

    async def sender(worker: int) -> None:
        for number in range(100):
            delivery = Delivered(
                guid=f"{worker}-{number}", event="push", action="", headers={}, body=body
            )
            await store.deliveries.add(
                delivery, {PullKey(on_github(worker), number): {"comment": [1]}}
            )

    begun = time.monotonic()
    await asyncio.gather(*(sender(worker) for worker in range(10)))
    seconds = time.monotonic() - begun

    print(f"deliveries of 8 KB, each with a wake: {1000 / seconds:,.0f} a second")
    assert (await store.queue.backlog()).due == 1000


async def test_the_index(store: PostgresStore) -> None:
    at = datetime(2026, 11, 20, tzinfo=UTC)
    tags = ["refs/tags/a/v1"]
    drafts = {"drafts/a/v1": "aaa"}
    baseline = Adoption(at, REPOSITORY.installed_at, 3, drafts, frozenset(tags), None, 8, [5, 7])

    assert await store.repositories.adoption(on_github(1)) is None
    adopted = await store.repositories.adopt(
        REPOSITORY, at, drafts, tags, highest=8, open_numbers=[5, 7]
    )
    assert adopted == baseline
    # The first sight counts, whatever a later one says.
    assert await store.repositories.adopt(REPOSITORY, datetime.now(UTC), {}) == baseline
    assert await store.repositories.adoption(on_github(1)) == baseline


HOUR = timedelta(hours=1)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
NUMBERED = Adoption(NOON, NOON, 3, {}, frozenset(), None, 8, [5, 7])
MERGED_BEFORE: dict[str, tuple[int, bool]] = {
    "closed when the bot came": (6, True),
    "the newest, closed when the bot came": (8, True),
    "open when the bot came": (5, False),
    "opened since": (9, False),
}


@pytest.mark.parametrize("ahead", [-HOUR, HOUR], ids=["forge behind", "forge ahead"])
@pytest.mark.parametrize(("number", "before"), MERGED_BEFORE.values(), ids=MERGED_BEFORE)
def test_what_was_merged_before_is_told_by_numbers(
    number: int, before: bool, ahead: timedelta
) -> None:
    """Short-cut refused: comparing the forge's clock with ours."""
    assert NUMBERED.merged_before(number, NOON + ahead) is before


def test_a_repository_adopted_without_numbers_keeps_its_time() -> None:
    """Short-cut refused: a missing number taken for 0, which publishes all that ever was merged."""
    old = replace(NUMBERED, highest=None, open=())

    assert old.merged_before(1, NOON - HOUR)
    assert not old.merged_before(1, NOON)


async def test_revisions_keep_the_tag_that_was_made(store: PostgresStore) -> None:
    """The short-cut writes what was seen last: a tag that was replaced is then as we made it."""
    made = Revision("aaa", "tag1", 7)
    await store.revisions.keep_revision(on_github(1), "net/core", 1, Revision("aaa"))
    await store.revisions.keep_revision(on_github(1), "net/core", 1, made)
    await store.revisions.keep_revision(on_github(1), "net/core", 1, Revision("aaa", "tag2", 8))
    await store.revisions.keep_revision(on_github(1), "net/core", 1, Revision("bbb", "tag3", 9))

    assert await store.revisions.revisions(on_github(1), ["net/core"]) == {"net/core": {1: made}}
    await store.revisions.show_revision(on_github(1), "net/core", 1, "none")
    assert (await store.revisions.revisions(on_github(1), ["net/core"]))["net/core"][
        1
    ].shown == "none"
    assert await store.revisions.revisions(on_github(2), ["net/core"]) == {}


async def test_tips_are_told_newest_first(store: PostgresStore) -> None:
    """The short-cut keeps the first time: a branch that came back to a tip is not there then."""
    for sha in ("a", "b", "b", "a", "c", "a"):
        await store.revisions.saw_tip(on_github(1), "main", sha)
    await store.revisions.saw_tip(on_github(1), "other", "z")

    assert await store.revisions.tips(on_github(1), "main") == ("a", "c", "b")
    for number in range(60):
        await store.revisions.saw_tip(on_github(1), "main", f"t{number}")
    kept = await store.revisions.tips(on_github(1), "main")
    assert (len(kept), kept[0]) == (MOST_TIPS, "t59")


async def test_proposals_stand_in_line_in_the_order_they_asked(store: PostgresStore) -> None:
    for number in (9, 3, 9, 5):
        await store.revisions.ask_publish(on_github(1), "main", number)
    await store.revisions.ask_publish(on_github(1), "other", 4)
    await store.revisions.published(on_github(1), "main", 3)

    assert await store.revisions.asked_publish(on_github(1), "main") == (9, 5)
    assert [await store.revisions.queued(on_github(1), "main", n) for n in (9, 3)] == [True, False]


async def test_settled_proposals(store: PostgresStore) -> None:
    for number in (1, 2, 2):
        await store.proposals.settle(on_github(1), number, merged=True)

    assert await store.proposals.settled(on_github(1), {2: True, 3: True}) == {2}
    assert await store.proposals.settled(on_github(1), {}) == set()
    assert await store.proposals.settled(on_github(2), {1: True, 2: True}) == set()


async def test_a_closed_proposal_that_is_merged_after_all_is_not_settled(
    store: PostgresStore,
) -> None:
    """Fails when "settled" is kept as a state: reopened and merged, it would never be tagged."""
    await store.proposals.settle(on_github(1), 5, merged=False)
    assert await store.proposals.settled(on_github(1), {5: False}) == {5}

    assert await store.proposals.settled(on_github(1), {5: True}) == set()
    await store.proposals.settle(on_github(1), 5, merged=True)
    await store.proposals.settle(on_github(1), 5, merged=False)  # an older look that ends late
    assert await store.proposals.settled(on_github(1), {5: True}) == {5}


async def test_events_and_comments_are_kept_once_and_never_changed(store: PostgresStore) -> None:
    """Fails when a second copy of an event replaces the first, or proposals share a memory."""
    hold = Held(person="a", at=datetime.now(UTC), comment=3, reason="wait")
    await store.proposals.keep(
        on_github(1), 7, log=frozenset({hold, Answered(comment=3)}), written={9: Written("x")}
    )
    await store.proposals.keep(
        on_github(1), 7, log=frozenset({hold}), written={10: Written("y", {"kind": "answer"})}
    )
    await store.proposals.keep(on_github(1), 7, gone=[9])

    kept = frozenset({hold, Answered(comment=3)})
    assert await store.proposals.remembered(on_github(1), 7) == (
        kept,
        {10: Written("y", {"kind": "answer"})},
    )
    assert await store.proposals.remembered(on_github(1), 8) == (frozenset(), {})
    assert await store.proposals.remembered(on_github(2), 7) == (frozenset(), {})


async def test_a_refusal_counts_for_its_head_and_base_only(store: PostgresStore) -> None:
    await store.proposals.refuse(on_github(1), 7, "head", "base", Refusal("no"))
    await store.proposals.refuse(on_github(1), 7, "head2", "base", Refusal("never", "digest"))

    assert [
        await store.proposals.refusal(on_github(1), 7, head, base)
        for head, base in (("head2", "base"), ("head", "base"), ("head2", "base2"))
    ] == [Refusal("never", "digest"), None, None]


async def test_the_audit_trail_only_grows(store: PostgresStore, database_url: str) -> None:
    """The short-cut trusts the code: anything with the password could then rewrite the past."""
    done = [("Merge", {"head": "aaa"}), ("Tag", {"head": "bbb"})]
    await store.audit.add("key", done, actor="approver")
    await store.audit.add("key", [])

    found = [entry[1:] for entry in await store.audit.entries("key")]
    assert found == [("approver", "Merge", {"head": "aaa"}), ("approver", "Tag", {"head": "bbb"})]
    for query in ("DELETE FROM audit", "UPDATE audit SET actor = 'x'", "TRUNCATE audit"):
        with pytest.raises(psycopg.errors.RaiseException, match="entries are only ever added"):
            await _rows(database_url, query)
    assert [entry[1:] for entry in await store.audit.entries("key")] == found


async def test_old_deliveries_are_forgotten(store: PostgresStore, database_url: str) -> None:
    await store.deliveries.add(DELIVERY, {})

    assert [await store.deliveries.forget(), await store.deliveries.forget(days=0)] == [0, 1]
    assert await _rows(database_url, "SELECT guid FROM delivery") == []


async def test_replicas_that_start_together_migrate_once(database_url: str) -> None:
    steps = await asyncio.gather(*(migrate(database_url) for _ in range(4)))

    assert sorted(steps) == [0, 0, 0, len(STEPS)]


async def test_a_database_of_a_newer_version_is_refused(database_url: str) -> None:
    await migrate(database_url)
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        await connection.execute("INSERT INTO migration VALUES (99)")

    with pytest.raises(
        StoreError,
        match=rf"had {len(STEPS) + 1} migrations and this bot knows {len(STEPS)}.*Run that version",
    ):
        await migrate(database_url)


async def test_a_dead_database_is_an_error_of_ours_and_passes() -> None:
    with EmbeddedPostgres() as server:
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
        PostgresStore(database_url) as here,
        PostgresStore(database_url) as there,
        there.queue.listening() as woken,
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


async def test_many_wakes_at_once_wait_their_turn(database_url: str) -> None:
    """Short-cut refused: a statement and a connection for each, and the pool's patience for all."""
    many: dict[Key, Hint] = {
        PullKey(on_github(1), number): {"comment": [number]} for number in range(20)
    }
    async with PostgresStore(database_url, patience=1) as store:
        await store.queue.wake_all(many)
        async with _locked(database_url, PullKey(on_github(1), 0)):
            waking = [
                asyncio.create_task(store.queue.wake_all({k: {"review": [n]} for k in many}))
                for n in range(200)
            ]
            await asyncio.sleep(2)  # twice the patience
            async with asyncio.timeout(60):  # whoever looks goes on
                assert (await store.queue.backlog()).waiting == 20
        await asyncio.gather(*waking)

        taken = {t.key: t for t in await _all(store)}

    # All of them came, in a few statements.
    assert len(taken) == 20
    for key in many:
        assert taken[str(key)].hint["review"] == list(range(200))
        assert 2 <= taken[str(key)].wanted <= 6


async def test_many_deliveries_at_once_wait_their_turn(database_url: str) -> None:
    """Short-cut refused: the pool's patience; a burst is answered as if there were no database."""
    async with PostgresStore(database_url, connections=4, patience=1) as store:
        await store.queue.wake(OTHER)
        async with _locked(database_url, OTHER):
            storing = [
                asyncio.create_task(
                    store.deliveries.add(replace(DELIVERY, guid=f"many-{n}"), {OTHER: {}})
                )
                for n in range(200)
            ]
            await asyncio.sleep(2)
            async with asyncio.timeout(60):  # a worker may ask meanwhile
                assert await store.queue.take("another") is None
        assert all(await asyncio.gather(*storing))

    (row,) = await _rows(database_url, "SELECT count(*) FROM delivery")
    assert row == (200,)


async def test_a_wake_that_is_given_up_leaves_those_of_others(database_url: str) -> None:
    async with PostgresStore(database_url) as store:
        await store.queue.wake(OTHER)
        async with _locked(database_url, OTHER):
            one = asyncio.create_task(store.queue.wake(OTHER))
            others = [asyncio.create_task(store.queue.wake(KEY)) for _ in range(3)]
            await asyncio.sleep(0.05)
            others[0].cancel()
            one.cancel()
        await asyncio.gather(*others[1:])

        assert {t.key for t in await _all(store)} == {str(KEY), str(OTHER)}


async def test_proposals_of_one_package_are_told_apart_by_base_and_told_of_each_other(
    store: PostgresStore,
) -> None:
    """The short-cut wakes everybody at every look, or nobody when one is closed."""
    for number, branch in ((1, "one"), (2, "two"), (3, "three")):
        await store.proposals.keep_open(on_github(7), 7, branch, [number], str(number) * 40)

    first = await store.proposals.keep_touching(on_github(7), 1, "main", ["net/core", "net/edge"])
    second = await store.proposals.keep_touching(on_github(7), 2, "main", ["net/core"])
    third = await store.proposals.keep_touching(on_github(7), 3, "other", ["net/core"])
    again = await store.proposals.keep_touching(on_github(7), 2, "main", ["net/core"])
    closed = await store.proposals.keep_touching(on_github(7), 1, "main", [])

    assert (dict(first.also), first.news) == ({}, frozenset())
    assert (dict(second.also), second.news) == ({"net/core": (1,)}, frozenset({(7, "one")}))
    assert (dict(third.also), third.news) == ({}, frozenset())
    assert (dict(again.also), again.news) == ({"net/core": (1,)}, frozenset())
    assert (dict(closed.also), closed.news) == ({}, frozenset({(7, "two")}))

    await store.proposals.keep_touching(on_github(7), 1, "main", ["net/core"])
    await store.proposals.forget_touching(on_github(7), [2, 3])
    assert (
        dict((await store.proposals.keep_touching(on_github(7), 2, "main", ["net/core"])).also)
        == {}
    )


async def test_one_more_of_many_is_news_for_nobody(store: PostgresStore) -> None:
    """The short-cut wakes all others of a commit and of a package for each that is opened."""
    proposals, told, shared = store.proposals, [], []
    for number in range(1, 11):
        found = await proposals.keep_open(on_github(7), 7, str(number), [number], "a" * 40)
        shared.append((len(found.now), len(found.news)))
        told.append(
            len((await proposals.keep_touching(on_github(7), number, "main", ["net/core"])).news)
        )
    assert shared == [(n, n if n <= 6 else 0) for n in range(10)]
    assert told == [0, 1, 2, 3, 4, 5, 6, 0, 0, 0]

    left = []
    for number in range(10, 4, -1):
        await proposals.keep_touching(on_github(7), number, "main", [])
        left.append(len((await proposals.keep_open(on_github(7), 7, str(number), [], "")).news))
    assert left == [0, 0, 0, 6, 5, 4]


async def test_paths_that_are_no_text_are_kept_as_text(store: PostgresStore) -> None:
    """Fails when the database is given half characters: every look at the proposal then breaks."""
    odd = b"net/c\xffre".decode("utf-8", "surrogateescape")
    for number in (1, 2):
        await store.proposals.keep_open(on_github(7), 7, str(number), [number], str(number) * 40)

    await store.proposals.keep_touching(on_github(7), 1, "main", [odd])

    assert dict((await store.proposals.keep_touching(on_github(7), 2, "main", [odd])).also) == {
        "net/c?re": (1,)
    }


async def test_the_same_number_at_two_forges_is_two_repositories(store: PostgresStore) -> None:
    """Fails when anything is kept by the number alone."""
    hold = Held(person="a", at=datetime.now(UTC), comment=3, reason="wait")
    here, there = on_github(42), RepositoryId("gitlab", 42)
    for each, name in ((here, "acme/blueprints"), (there, "acme/others")):
        served = _Repository(id=each, full_name=name)
        await store.repositories.adopt(served, datetime.now(UTC), {name: "draft"})
    await store.revisions.keep_revision(there, "net/core", 1, Revision("aaa"))
    await store.revisions.saw_tip(there, "main", "aaa")
    await store.revisions.ask_publish(there, "main", 7)
    await store.proposals.keep(there, 7, log=frozenset({hold}), written={9: Written("x")})
    await store.proposals.settle(there, 7, merged=True)
    await store.proposals.settle_until(there, "main", datetime.now(UTC))
    await store.proposals.refuse(there, 7, "head", "base", Refusal("no"))
    await store.proposals.refuse_push(there, "ref", "sha", PushRefusal("no", 3))
    await store.proposals.keep_open(there, 42, "change", [7], "aaa")
    await store.proposals.keep_touching(there, 7, "main", ["net/core"])
    about = replace(DELIVERY, forge="gitlab", repository=there)
    await store.deliveries.add(about, {PullKey(there, 7): {}})

    async def known(id_: RepositoryId) -> tuple[object, ...]:
        adoption = await store.repositories.adoption(id_)
        return (
            adoption and dict(adoption.drafts),
            await store.revisions.revisions(id_, ["net/core"]),
            [each async for each in store.revisions.all_revisions(id_)],
            await store.revisions.tips(id_, "main"),
            await store.revisions.asked_publish(id_, "main"),
            await store.proposals.remembered(id_, 7),
            await store.proposals.settled(id_, {7: True}),
            await store.proposals.settled_until(id_, "main"),
            await store.proposals.refusal(id_, 7, "head", "base"),
            await store.proposals.push_refusal(id_, "ref", "sha"),
            (await store.proposals.keep_open(id_, 42, "other", [8], "aaa")).now,
            dict((await store.proposals.keep_touching(id_, 8, "main", ["net/core"])).also),
            len(await store.deliveries.since(id_, datetime(2026, 1, 1, tzinfo=UTC))),
        )

    nothing: tuple[object, ...] = (
        {},
        [],
        (),
        (),
        (frozenset(), {}),
        set(),
        None,
        None,
        None,
        (),
        {},
        0,
    )
    assert await known(here) == ({"acme/blueprints": "draft"}, *nothing)
    for one, other in zip(await known(there), ({"acme/others": "draft"}, *nothing), strict=True):
        assert one != other or one == {"acme/others": "draft"}
    taken = await store.queue.take("test")
    assert taken is not None
    assert taken.key == "gitlab:42:pull:7"
    await store.queue.failed(taken, "no adapter", 60)
    assert [f.repository for f in await store.queue.failing()] == ["acme/others"]


async def test_what_one_forge_serves_is_not_ended_by_another(store: PostgresStore) -> None:
    """Fails when installations are counted over all forges: each would end what others serve."""
    here, there = on_github(42), RepositoryId("gitlab", 42)
    for each in (here, there):
        await store.repositories.adopt(_Repository(id=each), datetime.now(UTC), {})

    assert await store.repositories.only_installations("github", []) == ("acme/blueprints",)
    assert await store.repositories.installations("github") == set()
    assert await store.repositories.repositories("gitlab", 3) == {there}
    assert await store.repositories.only_repositories("gitlab", 3, [here]) == ("acme/blueprints",)
    assert await store.repositories.repositories("gitlab", 3) == set()


async def test_rows_of_before_there_was_a_second_forge_are_of_github(database_url: str) -> None:
    """Fails when the migration leaves what was known without a forge, or to every forge."""
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        await connection.execute("CREATE TABLE migration (step int PRIMARY KEY)")
        for number, step in enumerate(STEPS[: STEPS.index(IDENTITY)], start=1):
            await connection.execute(step)
            await connection.execute("INSERT INTO migration VALUES (%s)", [number])
        await connection.execute(
            "INSERT INTO adoption (repository, full_name, installation, adopted, installed, drafts)"
            " VALUES (42, 'acme/blueprints', 3, now(), now(), '{}')"
        )
        await connection.execute("INSERT INTO revision VALUES (42, 'net/core', 1, 'aaa')")

    async with PostgresStore(database_url) as store:
        published = {"net/core": {1: Revision("aaa")}}
        assert await store.revisions.revisions(on_github(42), ["net/core"]) == published
        assert await store.revisions.revisions(RepositoryId("gitlab", 42), ["net/core"]) == {}
        assert await store.repositories.repositories("github", 3) == {on_github(42)}
        # What an older replica goes on writing is found as well.
        await _rows(
            database_url,
            "INSERT INTO candidate (repository, base, proposal) VALUES (42, 'main', 7)"
            " ON CONFLICT (repository, base, proposal) DO NOTHING RETURNING 1",
        )
        assert await store.revisions.asked_publish(on_github(42), "main") == (7,)
