"""What any store promises of work and deliveries (`bot/store/port.py`); the index beside it.

Longer than 400 lines: a test for each method of two protocols.
"""

import ast
import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, get_type_hints

import psycopg
import pytest

from bot.keys import (
    BaseKey,
    InstallationsKey,
    Key,
    ProposalKey,
    PullKey,
    RepositoryKey,
    Sweep,
    SweepKey,
)
from bot.store import port
from bot.store.hints import MOST_PRESSED, NOTHING, Hint
from bot.store.values import Delivered, Failing, SchedulingOrder, Taken
from lifecycle.identity import GITHUB, RepositoryId
from tests.contract.stores import Repository, Stored
from tests.ids import FIRST, on_github

KEY = ProposalKey(FIRST, 1, "drafts/net/core/v1")
OTHER = PullKey(FIRST, 7)
DELIVERIES = SweepKey(Sweep.DELIVERIES, GITHUB)
BASE = BaseKey(FIRST, "main")
DELIVERY = Delivered(
    guid="72d3162e-cc78-11e3-81ab-4c9367dc0958",
    event="push",
    action="",
    headers={"x-github-event": "push"},
    body=b'{"ref": "refs/heads/main"}',
)
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


# --- work -----------------------------------------------------------------------------------------


async def test_wakes_of_one_key_are_one_row_and_their_hints_are_put_together(
    stored: Stored,
) -> None:
    """The short-cut keeps the last hint: the comment of the first event is then forgotten."""
    queue = stored.store.queue
    await queue.wake(KEY, Hint(comments=frozenset({1}), heads=frozenset({"aaa"})))
    await queue.wake(KEY, Hint(comments=frozenset({2, 1}), reviews=frozenset({9})))
    await queue.wake(KEY)

    (taken,) = await stored.take_all()

    assert taken.hint == Hint(
        comments=frozenset({1, 2}), heads=frozenset({"aaa"}), reviews=frozenset({9})
    )
    assert taken.wanted == 3


async def test_spans_that_wake_a_key_are_kept_up_to_a_bound(stored: Stored) -> None:
    """The short-cut keeps them all: while the bot is down each webhook writes a longer row."""
    queue = stored.store.queue
    for number in range(40):
        await queue.wake(KEY, Hint(comments=frozenset({number}), traces=frozenset({f"{number}"})))

    (taken,) = await stored.take_all()

    assert taken.hint.traces == {str(number) for number in range(16)}
    assert taken.hint.comments == set(range(40))


async def test_what_people_pressed_is_kept_up_to_a_bound(stored: Stored) -> None:
    """The short-cut keeps it all: who may edit the dashboard makes its row as long as they like.
    Or takes nothing more once it was full."""
    queue = stored.store.queue
    most = frozenset(f"d 5 ann {number}" for number in range(MOST_PRESSED))
    await queue.wake(KEY, Hint(pressed=most))
    await queue.wake(KEY, Hint(pressed=frozenset({"e 5 ann x"}), comments=frozenset({7})))

    (taken,) = await stored.take_all()
    assert taken.hint == Hint(pressed=most, comments=frozenset({7}))
    assert await queue.done(taken)

    await queue.wake(KEY, Hint(pressed=frozenset({"f 5 ann y"})))
    assert [t.hint.pressed for t in await stored.take_all()] == [{"f 5 ann y"}]


async def test_wakes_that_name_nothing_are_put_together(stored: Stored) -> None:
    """The short-cut unites lists that hold nothing: the hint is then NULL, and no wake is kept."""
    for _ in range(2):
        await stored.store.queue.wake(KEY, Hint(comments=frozenset()))

    assert [(t.hint, t.wanted) for t in await stored.take_all()] == [(NOTHING, 2)]


async def test_a_wake_during_a_look_causes_another_with_what_is_new(stored: Stored) -> None:
    """The short-cut deletes the row, or writes `seen = wanted`: the second wake is lost."""
    queue = stored.store.queue
    await queue.wake(KEY, Hint(comments=frozenset({1}), heads=frozenset({"aaa"})))
    (taken,) = await stored.take_all()
    await queue.wake(KEY, Hint(comments=frozenset({2}), heads=frozenset({"aaa"})))

    assert await queue.done(taken)

    (again,) = await stored.take_all()
    assert (again.wanted, again.hint) == (2, Hint(comments=frozenset({2})))
    assert await queue.done(again)
    assert await stored.take_all() == []
    assert await queue.next_due() is None


async def test_what_counts_each_time_is_not_lost_while_the_last_is_dealt_with(
    stored: Stored,
) -> None:
    """The short-cut keeps a flag: a rule that changes during a sweep is then never swept for."""
    queue = stored.store.queue
    await queue.wake(KEY, Hint(everything=frozenset({"one"}), rerun=frozenset({"one"})))
    (taken,) = await stored.take_all()
    await queue.wake(KEY, Hint(everything=frozenset({"two"})))

    assert await queue.done(taken)

    assert [t.hint for t in await stored.take_all()] == [Hint(everything=frozenset({"two"}))]


async def test_looking_again_drops_what_was_dealt_with(stored: Stored) -> None:
    """Short-cut refused: who waits for an hour runs what was pressed at each further look."""
    told = Hint(comments=frozenset({1}), rerun=frozenset({"a", "b"}))
    await stored.store.queue.wake(KEY, told)
    (taken,) = await stored.take_all()

    assert await stored.store.queue.again(taken, 3600, Hint(rerun=frozenset({"a"})))

    await stored.an_hour_passes()
    left = Hint(comments=frozenset({1}), rerun=frozenset({"b"}))
    assert [t.hint for t in await stored.take_all()] == [left]


async def test_what_is_named_again_during_a_look_is_named_to_the_next(stored: Stored) -> None:
    """The short-cut takes out all that the look began with: a closed proposal that somebody
    comments on again meanwhile is not looked at, and the command has no answer."""
    queue = stored.store.queue
    first = Hint(comments=frozenset({1}), numbers=frozenset({7}), installations=frozenset({9}))
    await queue.wake(KEY, first)
    (taken,) = await stored.take_all()
    again = replace(first, comments=frozenset({2}))
    await queue.wake(KEY, again)
    await queue.done(taken)
    (second,) = await stored.take_all()
    assert second.hint == again
    await queue.done(second)
    await queue.wake(KEY)
    assert [t.hint for t in await stored.take_all()] == [NOTHING]


async def test_looking_again_keeps_the_hint(stored: Stored) -> None:
    await stored.store.queue.wake(KEY, Hint(comments=frozenset({1})))
    (taken,) = await stored.take_all()

    await stored.store.queue.again(taken, 3600)

    assert await stored.take_all() == []
    await stored.an_hour_passes()
    assert [(t.hint, t.tries) for t in await stored.take_all()] == [
        (Hint(comments=frozenset({1})), 0)
    ]


async def test_settled_until_a_time(stored: Stored) -> None:
    queue = stored.store.queue
    await queue.wake(KEY)
    (taken,) = await stored.take_all()

    await queue.done(taken, after=3600)

    assert await stored.take_all() == []
    due = await queue.next_due()
    assert due is not None
    assert 3500 < due <= 3600
    await stored.an_hour_passes()
    (again,) = await stored.take_all()
    await queue.done(again)
    assert await queue.next_due() is None


async def test_a_wake_cuts_a_wait_short_but_not_the_one_the_forge_asked_for(
    stored: Stored,
) -> None:
    queue = stored.store.queue
    await queue.wake_all({KEY: NOTHING, OTHER: NOTHING})
    for taken in await stored.take_all():
        await queue.failed(taken, "busy", 60, hold=taken.key == str(OTHER))

    await queue.wake_all({KEY: NOTHING, OTHER: NOTHING})

    assert [(t.key, t.tries) for t in await stored.take_all()] == [(str(KEY), 1)]


async def test_how_long_a_key_fails_does_not_depend_on_how_often(stored: Stored) -> None:
    """The short-cut counts failures, of which every wake makes one more."""
    queue = stored.store.queue

    async def looks() -> Taken:
        await queue.wake(KEY)
        (taken,) = await stored.take_all()
        return taken

    first = await looks()
    await queue.failed(first, "put off", 0, hold=True)
    second = await looks()
    assert first.failing == second.failing == 0  # to be put off is no failure
    await queue.failed(second, "broke", 60)
    for _ in range(5):
        again = await looks()
        assert 0 <= again.failing < 60
        await queue.failed(again, "broke", 60)
    await stored.an_hour_passes()
    await queue.failed(await looks(), "broke", 60)
    late = await looks()
    assert 3600 <= late.failing < 3660
    await queue.done(late)
    assert (await looks()).failing == 0


async def test_keys_that_nobody_wants_any_more_are_forgotten(stored: Stored) -> None:
    """The short-cut keeps a row for each branch that there ever was, or forgets what waits."""
    queue = stored.store.queue
    await queue.wake_all({KEY: NOTHING, OTHER: NOTHING, BASE: NOTHING, DELIVERIES: NOTHING})
    kept: dict[str, Taken] = {}
    for taken in await stored.take_all():
        match taken.key:
            case key if key == str(KEY):
                await queue.done(taken)
            case key if key == str(OTHER):
                await queue.done(taken, after=8 * 3600)
            case key if key == str(BASE):
                await queue.failed(taken, "broke", 8 * 3600)
            case key:
                kept[key] = taken  # still looked at
    assert await queue.forget(days=1 / 24) == 0
    await stored.an_hour_passes()
    await stored.an_hour_passes()

    assert await queue.forget(days=1 / 24) == 1

    assert await queue.renew([each.owner for each in kept.values()]) == {
        each.owner for each in kept.values()
    }
    assert [each.key for each in await queue.failing()] == [str(BASE)]
    due = await queue.next_due()
    assert due is not None
    assert due < 7 * 3600
    await queue.wake(KEY, Hint(comments=frozenset({1})))
    assert str(KEY) in {each.key for each in await stored.take_all()}


async def test_a_failure_keeps_the_key_wanted(stored: Stored) -> None:
    await stored.store.queue.wake(KEY, Hint(comments=frozenset({1})))
    (taken,) = await stored.take_all()
    await stored.store.queue.wake(KEY)

    await stored.store.queue.failed(taken, "broke", 60)

    (again,) = await stored.take_all()
    assert (again.tries, again.hint, again.wanted) == (1, Hint(comments=frozenset({1})), 2)


async def test_a_timed_wake_waits_and_another_moves_it_forward(stored: Stored) -> None:
    await stored.store.queue.wake(KEY, after=60)
    assert await stored.take_all() == []

    await stored.store.queue.wake(KEY)
    assert [t.key for t in await stored.take_all()] == [str(KEY)]


async def test_a_timed_wake_never_moves_an_earlier_one_back(stored: Stored) -> None:
    await stored.store.queue.wake(KEY)
    await stored.store.queue.wake(KEY, after=60)

    assert [t.key for t in await stored.take_all()] == [str(KEY)]


async def test_who_lost_the_lease_writes_nothing(stored: Stored) -> None:
    """The short-cut finishes by key: the look of the other worker is then called done."""
    queue = stored.store.queue
    await queue.wake(KEY)
    old = await queue.take("one", lease=0.0)
    assert old is not None
    new = await queue.take("two", lease=600)
    assert new is not None

    assert [
        await queue.done(old),
        await queue.again(old, 1),
        await queue.failed(old, "late", 1),
        await queue.give_back(old),
    ] == [False] * 4
    assert await queue.renew(["one", "two"]) == {"two"}
    assert await queue.done(new)


async def test_a_lease_keeps_others_away_until_it_ends(stored: Stored) -> None:
    """The short-cut never gives a key to a second worker: that of a process that died is stuck."""
    queue = stored.store.queue
    await queue.wake(KEY)
    taken = await queue.take("one", lease=1800)
    assert taken is not None

    assert await queue.take("two") is None
    await stored.an_hour_passes()
    assert await queue.renew(["one"], lease=1800) == {"one"}  # nobody else has it yet
    assert await queue.take("two") is None
    await stored.an_hour_passes()
    after = await queue.take("two")
    assert after is not None
    assert (after.key, after.owner) == (str(KEY), "two")


async def test_what_a_process_had_is_taken_early_once_it_listens_no_more(stored: Stored) -> None:
    """Short-cuts: the whole lease is waited for, whoever died; whoever is late with renewing, for
    its machine is slow, loses what it is at.
    """
    queue = stored.store.queue
    lease = 4500
    async with queue.listening("one") as heard:
        await asyncio.wait_for(heard.wait(), 60)
        await queue.wake(KEY)
        assert await queue.take("one/1", lease) is not None
        await stored.an_hour_passes()  # a fifth of it is left
        assert await queue.take("two/1", lease) is None
        assert await queue.renew(["one/1"], lease) == {"one/1"}

    assert await queue.take("two/1", lease) is None  # as fresh as that of one who connects anew
    await stored.an_hour_passes()
    async with asyncio.timeout(60):  # until the database has noticed
        while (taken := await queue.take("two/1", lease)) is None:
            await asyncio.sleep(0.02)
    assert (taken.key, taken.owner) == (str(KEY), "two/1")


async def test_what_is_given_back_may_be_taken_at_once(stored: Stored) -> None:
    queue = stored.store.queue
    await queue.wake(KEY, Hint(comments=frozenset({1})))
    taken = await queue.take("one")
    assert taken is not None
    assert await queue.take("two") is None

    assert await queue.give_back(taken)

    assert await queue.take("two") == replace(taken, owner="two")


async def test_news_are_what_was_told_since_and_nobody_elses(stored: Stored) -> None:
    queue = stored.store.queue
    await queue.wake(KEY, Hint(comments=frozenset({1}), heads=frozenset({"a"})))
    taken = await queue.take("one", lease=1800)
    assert taken is not None
    assert await queue.news(taken) == Hint()

    await queue.wake(KEY, Hint(comments=frozenset({1, 2}), heads=frozenset({"b"})))

    assert await queue.news(taken) == Hint(comments=frozenset({2}), heads=frozenset({"b"}))
    await stored.an_hour_passes()
    await queue.take("two")
    assert await queue.news(taken) == Hint()


async def test_base_branches_go_first_then_who_waited_longest(stored: Stored) -> None:
    for key in (OTHER, KEY, RepositoryKey(on_github(2)), BASE):
        await stored.store.queue.wake(key)

    assert [t.key for t in await stored.take_all()] == [
        str(BASE),
        str(OTHER),
        str(KEY),
        str(RepositoryKey(on_github(2))),
    ]


async def test_how_long_ago_a_webhook_came_is_known_to_the_look_that_answers_it(
    stored: Stored,
) -> None:
    """Short-cuts refused: the last webhook's time, a sweep's, or one that was answered before."""
    store = stored.store
    await store.queue.wake(KEY)
    await store.deliveries.add(DELIVERY, {KEY: NOTHING})
    (first,) = await stored.take_all()
    assert first.heard is not None
    assert 0 <= first.heard < 60
    await store.queue.again(first, 0)
    (second,) = await stored.take_all()
    assert second.heard is not None
    assert first.heard <= second.heard < 60
    await store.queue.done(second)

    await store.queue.wake(KEY)
    (by_itself,) = await stored.take_all()

    assert by_itself.heard is None


async def test_whose_turn_it_is_goes_before_everything_else(stored: Stored) -> None:
    """The short-cut takes by priority first: a repository of many bases is in front of all."""
    busy, idle = on_github(1), on_github(2)
    queue = stored.store.queue
    await queue.wake_all({BaseKey(busy, f"release-{n}"): NOTHING for n in range(500)})
    await queue.wake(PullKey(idle, 1))
    await queue.wake(InstallationsKey(GITHUB))

    order = SchedulingOrder({str(busy): 2, "github:app": 1})
    keys = [await queue.take(f"w{n}", order=order) for n in range(3)]

    assert [taken and taken.key for taken in keys] == [
        str(PullKey(idle, 1)),
        str(InstallationsKey(GITHUB)),
        str(BaseKey(busy, "release-0")),
    ]


async def test_of_who_has_enough_nothing_is_taken_nor_waited_for(stored: Stored) -> None:
    """The short-cut only puts it last: it then fills the slot that is kept for others."""
    queue, order = stored.store.queue, SchedulingOrder(full=frozenset({str(FIRST)}))
    await queue.wake(KEY)

    assert (await queue.take("one", order=order), await queue.next_due(order)) == (None, None)

    await queue.wake(PullKey(on_github(2), 1))

    taken = await queue.take("two", order=order)
    assert taken is not None
    assert taken.key == str(PullKey(on_github(2), 1))
    assert await queue.next_due() == 0


async def test_of_a_forge_that_has_enough_nothing_is_taken_nor_waited_for(stored: Stored) -> None:
    """The short-cut compares places alone."""
    queue, order = stored.store.queue, SchedulingOrder(full=frozenset({GITHUB}))
    await queue.wake(KEY)

    assert (await queue.take("one", order=order), await queue.next_due(order)) == (None, None)
    assert await queue.take("two", order=SchedulingOrder(full=frozenset({"gitlab"}))) is not None


async def test_how_much_work_there_is_and_what_keeps_failing(stored: Stored) -> None:
    """The short-cut counts rows: those at rest, and those that wait, would be work to do."""
    queue = stored.store.queue
    await stored.store.repositories.adopt(Repository(), LONG_AGO, {})
    await queue.wake_all(
        {KEY: NOTHING, OTHER: NOTHING, BASE: NOTHING, InstallationsKey(GITHUB): NOTHING}
    )
    taken = {each.key: each for each in await stored.take_all(lease=4000)}
    await queue.done(taken[str(KEY)])
    await queue.failed(taken[str(OTHER)], "x" * 3000, 7200)
    await queue.failed(taken[str(InstallationsKey(GITHUB))], "no answer", 0)

    backlog = await queue.backlog()
    assert (backlog.waiting, backlog.due, backlog.taken, backlog.failing) == (3, 1, 1, 2)
    assert 0 <= backlog.oldest < 60
    assert {kind: (e.waiting, e.due, e.taken, e.failing) for kind, e in backlog.kinds.items()} == {
        "base": (1, 0, 1, 0),
        "pull": (1, 0, 0, 1),
        "installations": (1, 1, 0, 1),
    }
    await stored.an_hour_passes()
    assert 3600 <= (await queue.backlog()).oldest < 3660

    longest, shorter = sorted(await queue.failing(), key=lambda each: -len(each.error))
    assert replace(longest, again=0) == Failing(str(OTHER), "acme/blueprints", 1, "x" * 2000, 0)
    assert 3500 < longest.again <= 3600
    assert shorter == Failing(str(InstallationsKey(GITHUB)), "", 1, "no answer", 0)
    again = await queue.take("again")
    assert again is not None
    await queue.failed(again, "no answer", 0)
    assert [each.tries for each in await queue.failing(1)] == [2]


async def test_who_listens_hears_of_work(stored: Stored) -> None:
    """The short-cut sets the event for wakes alone: what is put off or given back waits."""
    queue = stored.store.queue
    async with queue.listening("one") as woken:

        async def heard() -> bool:
            was = woken.is_set()
            woken.clear()
            return was

        await queue.wake(KEY)
        assert await heard()
        taken = await queue.take("one")
        assert taken is not None
        await queue.failed(taken, "busy", 0)
        assert await heard()
        taken = await queue.take("one")
        assert taken is not None
        await queue.give_back(taken)
        assert await heard()


async def test_of_many_who_take_at_once_each_gets_a_key_of_its_own(stored: Stored) -> None:
    """The short-cut reads and then writes: two workers take the same key between the two."""
    keys: dict[Key, Hint] = {PullKey(FIRST, number): NOTHING for number in range(10)}
    await stored.store.queue.wake_all(keys)

    taken = await asyncio.gather(*(stored.store.queue.take(f"w{n}") for n in range(15)))

    assert sorted(t.key for t in taken if t) == sorted(map(str, keys))


# --- deliveries -----------------------------------------------------------------------------------


async def test_a_delivery_is_stored_with_its_wakes_or_not_at_all(stored: Stored) -> None:
    """The short-cut is two statements: a kill between them loses the wake of a stored delivery."""
    about = replace(DELIVERY, repository=FIRST)
    no_number: Any = float("nan")  # nor does JSON have it
    broken: dict[Key, Hint] = {KEY: Hint(comments=frozenset({no_number}))}

    with pytest.raises((psycopg.DataError, ValueError), match=r"(?i)json"):
        await stored.store.deliveries.add(about, broken)

    assert await stored.store.deliveries.since(FIRST, LONG_AGO) == ()
    assert await stored.take_all() == []


async def test_a_repeated_delivery_is_stored_once_and_wakes_again(stored: Stored) -> None:
    await stored.store.repositories.adopt(Repository(), LONG_AGO, {})
    about = replace(DELIVERY, repository=FIRST)
    first = await stored.store.deliveries.add(about, {KEY: NOTHING})
    (taken,) = await stored.take_all()
    await stored.store.queue.done(taken)

    again = await stored.store.deliveries.add(about, {KEY: NOTHING})

    assert (first, again) == (True, False)
    assert [t.key for t in await stored.take_all()] == [str(KEY)]
    told = await stored.store.deliveries.since(FIRST, LONG_AGO)
    assert told == ((DELIVERY.headers, DELIVERY.body),)


async def test_a_delivery_that_wakes_nothing_is_stored(stored: Stored) -> None:
    about = replace(DELIVERY, repository=FIRST)
    assert await stored.store.deliveries.add(about, {})
    assert len(await stored.store.deliveries.since(FIRST, LONG_AGO)) == 1


async def test_the_same_guid_of_two_forges_is_two_deliveries(stored: Stored) -> None:
    add = stored.store.deliveries.add
    assert [await add(replace(DELIVERY, forge=forge), {}) for forge in ("github", "gitlab")] == [
        True,
        True,
    ]


async def test_a_delivery_wakes_only_what_is_served(stored: Stored) -> None:
    """The short-cut wakes whatever a webhook names: a lost repository is asked for for ever."""
    store = stored.store

    async def wakes(number: int) -> bool:
        about = replace(DELIVERY, guid=str(number), repository=FIRST)
        await store.deliveries.add(about, {KEY: NOTHING})
        return bool(await stored.take_all())

    assert not await wakes(1)  # never adopted
    await store.repositories.adopt(Repository(), LONG_AGO, {})
    assert await wakes(2)
    await stored.an_hour_passes()
    for taken in await stored.take_all():
        await store.queue.done(taken)
    await store.repositories.lost(FIRST)
    assert not await wakes(3)
    assert len(await store.deliveries.since(FIRST, LONG_AGO)) == 3


async def test_when_the_bot_ceased_to_observe_is_told_to_all_processes(stored: Stored) -> None:
    """Short-cuts: each start ends a trial anew; the last word of a process that observes does."""
    told = stored.store.repositories.observing
    first, later = LONG_AGO, LONG_AGO + timedelta(hours=1)

    assert await told(False, first) is None
    await told(True, first)
    await told(True, first)
    assert [await told(False, at) for at in (later, later + timedelta(hours=1))] == [later] * 2
    await told(True, later)
    assert await told(False, later + timedelta(hours=2)) == later + timedelta(hours=2)


async def test_when_the_bot_ceased_to_observe_outlives_the_database(stored: Stored) -> None:
    """The short-cut keeps it in the database alone, also while processes run that know it."""
    told = stored.store.repositories.observing

    assert await told(False, datetime.now(UTC), LONG_AGO) == LONG_AGO
    assert await told(False, datetime.now(UTC)) == LONG_AGO


async def test_a_trial_ends_once_and_not_in_the_future(stored: Stored) -> None:
    """Short-cuts: a database that was restored to a day of the trial ends it when that is seen,
    though a process knows when it did; the time of a clock that is days ahead is told on."""
    told = stored.store.repositories.observing
    now = datetime.now(UTC)

    await told(True, LONG_AGO)  # as the backup has it
    ended = LONG_AGO + timedelta(hours=1)
    assert await told(False, now, ended) == ended
    assert await told(False, now) == ended

    await told(True, now)
    ahead = now + timedelta(days=2)
    assert await told(False, ahead) == ahead
    assert await told(False, now) == now


async def test_a_name_means_the_repository_that_it_meant_first(stored: Stored) -> None:
    """The short-cut takes the name: who takes it over is let in as well."""
    other, third = RepositoryId(GITHUB, 71), RepositoryId("gitlab", 71)
    named = stored.store.repositories.let_in

    assert [await named(FIRST, "Acme/Net", other), await named(FIRST, "acme/net", other)] == [
        True,
        True,
    ]
    assert not await named(FIRST, "acme/net", third)
    assert await named(FIRST, "acme/other", third)
    assert await named(other, "acme/net", third)
    assert await named(FIRST, "acme/net", other)


async def test_what_was_told_of_a_repository_is_read_again_newest_first(stored: Stored) -> None:
    deliveries = stored.store.deliveries
    for number in range(4):
        about = on_github(1 + number % 2)
        each = replace(DELIVERY, guid=str(number), body=b"%d" % number, repository=about)
        await deliveries.add(each, {})

    assert [body for _, body in await deliveries.since(on_github(2), LONG_AGO)] == [b"3", b"1"]
    assert [body for _, body in await deliveries.since(on_github(2), LONG_AGO, 1)] == [b"3"]
    later = datetime.now(UTC) + timedelta(days=20_000)
    assert await deliveries.since(on_github(2), later) == ()


async def test_what_came_in_is_known(stored: Stored) -> None:
    """The short-cut asks by the id alone: another forge's delivery would never be taken in."""
    deliveries = stored.store.deliveries
    await deliveries.add(DELIVERY, {KEY: NOTHING})

    assert await deliveries.known("github", [DELIVERY.guid, "other"]) == {DELIVERY.guid}
    assert await deliveries.known("gitlab", [DELIVERY.guid]) == frozenset()
    assert await deliveries.known("github", []) == frozenset()


async def test_old_deliveries_are_forgotten(stored: Stored) -> None:
    deliveries = stored.store.deliveries
    await deliveries.add(replace(DELIVERY, repository=FIRST), {})

    assert [await deliveries.forget(), await deliveries.forget(days=0)] == [0, 1]
    assert await deliveries.since(FIRST, LONG_AGO) == ()


# --- all of it ------------------------------------------------------------------------------------


def _parts() -> dict[str, type]:
    """Attribute of a store to its protocol."""
    return get_type_hints(port.Store)


def _promised() -> set[tuple[str, str]]:
    return {
        (part, method)
        for part, protocol in _parts().items()
        for method, member in vars(protocol).items()
        if callable(member) and not method.startswith("_")
    }


def _called(source: str, parts: Mapping[str, type]) -> set[tuple[str, str]]:
    """What tests ask of a part: `….queue.take`, or `queue.take` of a name for the part."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            match node.value:
                case ast.Attribute(attr=part) | ast.Name(id=part) if part in parts:
                    found.add((part, node.attr))
    return found


def test_every_method_of_every_protocol_is_tested() -> None:
    """Fails when a method is added to a protocol, and no contract test calls it."""
    here = Path(__file__)
    beside = ("test_store_index.py", "test_store_upstreams.py", "test_budgets.py")
    sources = [here.read_text(), *(here.with_name(name).read_text() for name in beside)]

    assert Protocol in port.Queue.__mro__
    assert len(_promised()) > 50
    assert _promised() - set().union(*(_called(each, _parts()) for each in sources)) == set()


async def test_numbers_above_what_a_word_holds_are_kept(stored: Stored) -> None:
    large = RepositoryId("github", 2**62)
    await stored.store.queue.wake(PullKey(large, 2**40))
    assert [t.key for t in await stored.take_all()] == [str(PullKey(large, 2**40))]


async def test_when_sweeps_last_came_to_rest(stored: Stored) -> None:
    """Short-cut refused: when they were last asked for; one that fails all day looks well then."""
    queue, one, two = stored.store.queue, RepositoryKey(FIRST), RepositoryKey(on_github(2))
    await queue.wake_all({KEY: NOTHING, one: NOTHING, two: NOTHING, DELIVERIES: NOTHING})
    taken = {each.key: each for each in await stored.take_all()}
    await queue.done(taken[str(one)])
    await queue.done(taken[str(DELIVERIES)], after=600)
    await queue.failed(taken[str(two)], "no answer", 1200)

    deliveries, repository = await queue.rested()

    assert (deliveries.sweep, deliveries.keys) == ("deliveries", 1)
    assert deliveries.last == deliveries.oldest is not None
    assert deliveries.due is not None
    assert 540 < deliveries.due <= 600
    assert (repository.sweep, repository.keys) == ("repository", 2)
    assert repository.last is not None
    assert repository.due is not None
    assert 1140 < repository.due <= 1200
