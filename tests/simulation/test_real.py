"""Histories on PostgreSQL and git on disk go as they do in memory."""

from tests.simulation.history import play
from tests.simulation.real import RealSetting

FIRST = range(10)
"""Steps of the history that are taken: all of them take minutes on a busy machine."""


def test_a_history_goes_on_real_things_as_in_memory() -> None:
    """The short-cut leaves the real ones to the stories: nothing drawn ever runs on them."""
    with RealSetting() as real:
        there = play("3", FIRST, real)
    here = play("3", FIRST)

    assert [str(v) for v in there.violations] == []
    assert there.steps == here.steps
    assert there.tally["publish: tagged"] == here.tally["publish: tagged"]
