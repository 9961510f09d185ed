"""What was merged before the bot came is left alone, and nothing else, whatever the clocks say."""

import pytest

from tests.stories.people import wait_for
from tests.stories.world import World, package


def _merged_by_hand(play: World, name: str) -> int:
    """The number of a proposal that its owner merges at once."""
    play.author.pushes(f"change/{name}", package(f"net/{name}"))
    made = play.author.opens(f"change/{name}", name)
    play.owner.merges(made.number)
    return int(made.number)


@pytest.mark.parametrize("hours", [-1, 1], ids=["forge-ahead", "forge-behind"])
def test_our_clock_is_an_hour_off(stage: World, hours: int) -> None:
    """Short-cut refused: comparing when the forge says it was merged with when we say we came."""
    before = _merged_by_hand(stage, "before")
    stage.start_bot()
    wait_for("the adoption", lambda: stage.is_adopted() or None)
    stage.rests()
    stage.stop_bot()
    stage.moves_adoption(hours)
    since = _merged_by_hand(stage, "since")  # never seen open: no record of ours tells

    stage.start_bot()

    stage.author.waits_for_answer(since, "not published")
    stage.rests()
    assert stage.author.answers(before) == []
    assert stage.author.tags() == {}
