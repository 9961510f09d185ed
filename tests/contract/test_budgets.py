"""What any store promises of budgets: all replicas together take no more than there is."""

import asyncio

from bot.store.buckets import UNTOLD, Bucket, Draw, ReportedLimit
from tests.contract.stores import Stored

WINDOW = Bucket("core", 1_000)
FEW = Bucket("content", 10, 0.001)
MOMENT = Bucket("minute", 300, 10.0)


async def test_of_many_who_take_at_once_no_more_get_some_than_there_are(stored: Stored) -> None:
    """The short-cut reads what is left and then writes: two replicas take the same tokens."""

    waits = await asyncio.gather(
        *(stored.store.budgets.take("a", [Draw(FEW, 1)]) for _ in range(30))
    )

    assert sorted(wait > 0 for wait in waits) == [False] * 10 + [True] * 20
    assert await stored.store.budgets.take("another", [Draw(FEW, 10)]) == 0


async def test_all_is_taken_or_nothing(stored: Stored) -> None:
    """The short-cut takes bucket by bucket: what was taken of the first is lost."""
    assert await stored.store.budgets.take("a", [Draw(FEW, 10)]) == 0

    wait = await stored.store.budgets.take("a", [Draw(WINDOW, 5), Draw(FEW, 1)])

    assert 900 < wait <= 1_000
    assert (await stored.store.budgets.left())["a", "core"] == (1_000, 1_000)


async def test_what_is_kept_for_others_is_not_taken(stored: Stored) -> None:

    assert await stored.store.budgets.take("a", [Draw(FEW, 8, 0.2)]) == 0
    assert await stored.store.budgets.take("a", [Draw(FEW, 1, 0.2)]) > 0
    assert await stored.store.budgets.take("a", [Draw(FEW, 1)]) == 0


async def test_tokens_come_back_with_time_up_to_the_size(stored: Stored) -> None:
    assert await stored.store.budgets.take("a", [Draw(MOMENT, 300)]) == 0
    wait = await stored.store.budgets.take("a", [Draw(MOMENT, 100)])
    assert 9 < wait <= 10

    await stored.an_hour_passes()

    assert await stored.store.budgets.take("a", [Draw(MOMENT, 300)]) == 0
    assert await stored.store.budgets.take("a", [Draw(MOMENT, 100)]) > 0


async def test_what_the_forge_says_is_left_counts(stored: Stored) -> None:
    """The short-cut counts for itself: what people and other programs asked for is not seen."""
    assert await stored.store.budgets.take("a", [Draw(WINDOW, 1)]) == 0

    wait = await stored.store.budgets.take(
        "a", [Draw(WINDOW, 5)], [ReportedLimit("core", 15_000, 3, 1_800)]
    )

    assert 1_700 < wait <= 1_800
    assert (await stored.store.budgets.left())["a", "core"] == (3, 15_000)
    # An answer from before, and one that does not know yet of all that is under way.
    assert (
        await stored.store.budgets.take(
            "a", [Draw(WINDOW, 4)], [ReportedLimit("core", 15_000, 900, -1_000)]
        )
        > 0
    )
    assert (
        await stored.store.budgets.take(
            "a", [Draw(WINDOW, 3)], [ReportedLimit("core", 15_000, 50, 1_800)]
        )
        == 0
    )
    assert (
        await stored.store.budgets.take(
            "a", [Draw(WINDOW, 1)], [ReportedLimit("core", 15_000, 50, 1_800)]
        )
        > 0
    )
    # One that did not count what was thought to be taken.
    assert (
        await stored.store.budgets.take(
            "a", [Draw(WINDOW, 200)], [ReportedLimit("core", 15_000, 300, 1_800)]
        )
        == 0
    )
    assert (await stored.store.budgets.left())["a", "core"] == (0, 15_000)


async def test_a_window_begins_anew_when_it_has_ended(stored: Stored) -> None:
    assert (
        await stored.store.budgets.take(
            "a", [Draw(WINDOW, 1)], [ReportedLimit("core", 500, 0, 1_800)]
        )
        > 0
    )

    await stored.an_hour_passes()

    assert (await stored.store.budgets.left())["a", "core"] == (500, 500)
    assert await stored.store.budgets.take("a", [Draw(WINDOW, 500)]) == 0
    assert await stored.store.budgets.take("a", [Draw(WINDOW, 1)]) == UNTOLD
    assert (
        await stored.store.budgets.take(
            "a", [Draw(WINDOW, 1)], [ReportedLimit("core", 500, 400, 3_600)]
        )
        == 0
    )


async def test_a_pause_is_everybodys_and_the_longest_counts(stored: Stored) -> None:
    """The short-cut keeps it in the process that was told: the others go on asking."""
    await stored.store.budgets.pause("a", 1_800)
    await stored.store.budgets.pause("a", 60)

    wait = await stored.store.budgets.take("a", [Draw(WINDOW, 1)])

    assert 1_700 < wait <= 1_800
    assert (await stored.store.budgets.left())["a", "core"] == (0, 1_000)
    assert await stored.store.budgets.take("b", [Draw(WINDOW, 1)]) == 0
    await stored.an_hour_passes()
    assert await stored.store.budgets.take("a", [Draw(WINDOW, 1)]) == 0


async def test_a_window_of_which_nothing_is_told_begins_anew_after_an_hour(stored: Stored) -> None:
    """The short-cut waits to be told: a server without limits tells nothing, and after the first
    5,000 requests nothing was asked of it any more."""
    assert await stored.store.budgets.take("a", [Draw(WINDOW, 1_000)]) == 0
    assert await stored.store.budgets.take("a", [Draw(WINDOW, 1)]) == UNTOLD

    for _ in range(2):
        await stored.an_hour_passes()

        assert await stored.store.budgets.take("a", [Draw(WINDOW, 999)]) == 0
        assert await stored.store.budgets.take("a", [Draw(WINDOW, 1)]) == 0
        assert await stored.store.budgets.take("a", [Draw(WINDOW, 1)]) == UNTOLD


async def test_what_somebody_says_stops_nobody_for_longer_than_an_hour(stored: Stored) -> None:
    """The short-cut believes any time: one answer that was read by a wrong clock, or a pause that a
    proxy made up, stops all replicas for days."""
    days = 3 * 24 * 3_600
    await stored.store.budgets.pause("a", days)
    assert await stored.store.budgets.take("a", [Draw(WINDOW, 1)]) <= 3_600
    assert (
        await stored.store.budgets.take("b", [Draw(WINDOW, 1)], [ReportedLimit("core", 9, 0, days)])
        > 9
    )

    for _ in range(2):
        await stored.an_hour_passes()

    assert await stored.store.budgets.take("a", [Draw(WINDOW, 1)]) == 0
    assert await stored.store.budgets.take("b", [Draw(WINDOW, 9)]) == 0
    assert (
        0
        < await stored.store.budgets.take("b", [Draw(WINDOW, 1)], [ReportedLimit("core", 9, 0, 8)])
        <= 8
    )
