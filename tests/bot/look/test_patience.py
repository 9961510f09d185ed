"""How long the bot waits for what the forge should show."""

from bot.look.patience import WAITS, Patience
from tests.memory.clock import ManualClock


def test_what_is_missing_is_waited_for_fifteen_seconds() -> None:
    """Fails when a stale answer is believed at once, or waiting has no end."""
    clock = ManualClock(100.0)
    patience = Patience(clock)
    waits = []
    while (wait := patience.wait(7, ["comment 1"])) is not None:
        waits.append(wait)
        clock.seconds += wait

    assert waits == list(WAITS)
    assert patience.wait(7, ["comment 1"]) is None  # and stays so


def test_what_is_there_again_begins_anew() -> None:
    """Fails when a comment that was shown late once is given up the next time."""
    clock = ManualClock(100.0)
    patience = Patience(clock)
    assert patience.wait(7, ["comment 1"]) == 1
    clock.seconds += 60
    assert patience.wait(7, []) is None
    assert patience.wait(7, ["comment 1"]) == 1
    assert patience.wait(8, ["comment 1"]) == 1
    clock.seconds += 2
    assert patience.wait(7, ["comment 1", "comment 2"]) == 1
