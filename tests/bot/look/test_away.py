"""How often an upstream that cannot be read is tried, and when it is given up."""

from datetime import timedelta

import pytest

from bot.look.away import FIRST, LONGEST, MOST, MOST_KEPT, OLD, TRIES, Away
from lifecycle.facts.drafts import DraftKind, DraftRequest
from tests.memory.clock import ManualClock

CLONE = DraftRequest(kind=DraftKind.CLONE, package="apps/shop", upstream="net/base@v1")


def test_what_cannot_be_read_is_tried_a_few_times_and_given_up() -> None:
    """Short-cuts refused: a try at each look, however many events wake it; a wait without an end;
    a command that is refused after one try, as its comment is old; what was given up stays so."""
    clock = ManualClock()
    away, began, tried = Away(clock), clock.now(), 0
    for _ in range(3600):
        if away.waits(7, CLONE) is None:
            found = away.failed(7, CLONE, began)
            tried += 1
            assert found.since == began
            assert clock.now() < found.again <= clock.now() + MOST
            if found.over:
                break
        clock.seconds += 1.0
    assert away.waits(7, CLONE) is not None
    assert found.over
    assert TRIES <= tried <= TRIES + 5
    assert LONGEST <= clock.now() - began <= LONGEST + MOST
    assert away.waits(7, CLONE) == found  # a look right after it says the same

    clock.seconds += MOST.total_seconds()
    assert away.waits(7, CLONE) is None
    again = away.failed(7, CLONE, clock.now())
    assert (again.tries, again.over, again.since) == (1, False, clock.now())


@pytest.mark.parametrize("lives", [20, 60, 400])
def test_a_process_that_ends_again_and_again_gives_up_as_well(lives: int) -> None:
    """Short-cuts refused: each process counts anew, and none gives up; an old command is refused
    after the first try of a process that has just come up.

    Args:
        lives: Seconds until a process ends, and the next one begins.
    """
    clock = ManualClock()
    asked, away, over = clock.now(), Away(clock), False
    for second in range(2 * 3600):
        if second % lives == 0:
            away = Away(clock)
        if away.waits(7, CLONE) is None:
            found = away.failed(7, CLONE, asked)
            over = found.over
            if over:
                break
        clock.seconds += 1.0
    assert over
    assert found.tries > 1
    assert OLD <= clock.now() - asked <= OLD + timedelta(seconds=max(lives, 120) + 60)


def test_what_came_or_is_not_asked_for_any_more_is_forgotten() -> None:
    """Short-cut refused: since when an earlier one waited counts for one that is said later."""
    clock = ManualClock()
    away = Away(clock)
    away.failed(7, CLONE)
    away.asked(8, [])
    assert away.waits(7, CLONE) is not None
    away.asked(7, [CLONE])
    assert away.waits(7, CLONE) is not None
    away.asked(7, [])
    assert away.waits(7, CLONE) is None
    away.failed(7, CLONE)
    away.came(7, CLONE)
    assert away.waits(7, CLONE) is None


def test_no_more_than_so_many_are_remembered() -> None:
    """Short-cut refused: what is never looked at again is kept for ever."""
    clock = ManualClock()
    away = Away(clock)
    for number in range(MOST_KEPT + 5):
        away.failed(number, CLONE)
    assert away.waits(4, CLONE) is None
    assert away.waits(5, CLONE) is not None
    assert timedelta(0) < FIRST
