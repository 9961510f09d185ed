"""Histories on PostgreSQL and git on disk."""

from tests.simulation.history import Simulation, play
from tests.simulation.manner import CALM
from tests.simulation.real import RealSetting

FIRST = range(10)
"""Steps of the history that are taken: all of them take minutes on a busy machine."""


def test_a_history_goes_on_real_things() -> None:
    """The short-cut leaves the real ones to the stories: nothing drawn ever runs on them.

    What happens in it may differ from memory: calls take their turns otherwise.
    """
    with RealSetting() as real:
        there = play("1", FIRST, real)

    assert [str(v) for v in there.violations] == []
    assert len(there.steps) == len(FIRST)
    assert there.tally["publish: tags made"]


def test_what_is_published_is_tagged_in_git_on_disk() -> None:
    """The short-cut plays histories on it in which nothing is ever published."""
    with RealSetting() as real:
        told = Simulation("7", how=CALM, real=real)
        with told.happening():
            told.begin()
            told.pass_time(10)
            with told.forge.change():
                files: dict[str, bytes | None] = {"app/a.yaml": b"# stamped\nvalue: v9\n"}
                told.hands.commit("bob", "w", files, "x", onto=told.hands.tip("main"))
                pull = told.hands.open("bob", "w", "main", "Change")
            told.pass_time(10)
            with told.forge.change():
                told.hands.say("cat", pull, "/approve", "approve")
            told.pass_time(10)

    assert "refs/tags/app/v1" in told.repo.refs
    assert told.oracle.judge() == []
