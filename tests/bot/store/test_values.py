"""What the store's values tell."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.store.values import Adoption

HOUR = timedelta(hours=1)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
NUMBERED = Adoption(NOON, NOON, 3, {}, {}, None, 8, [5, 7])
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
