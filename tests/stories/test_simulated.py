"""The simulated world: a story can fail there, and gets nothing that only the real one has."""

from pathlib import Path

import pytest

from tests.stories.people import WaitedInVainError, wait_for
from tests.stories.rendering import Rendering
from tests.stories.simulated import simulated
from tests.stories.simulated_faults import NotSimulatedError
from tests.stories.world import package

BOT = "porchbot[bot]"
BRANCH = "drafts/net/core/w"


def test_a_wait_for_what_never_happens_ends(rendering: Rendering) -> None:
    """Fails when time passes only while the bot has something to do."""
    with simulated(rendering) as world:
        world.start_bot()
        with pytest.raises(WaitedInVainError, match="for a miracle"):
            wait_for("a miracle", lambda: None)


def test_a_fault_that_no_call_meets_fails_the_story(rendering: Rendering) -> None:
    """Fails when an operation that the bot's port never names is waited for in vain."""
    with (
        pytest.raises(AssertionError, match=r"PUT \*/marge"),
        simulated(rendering) as world,
    ):
        world.forge.faults.fail("PUT */marge", 405, caller=BOT)


def test_a_look_that_breaks_fails_the_story(rendering: Rendering) -> None:
    """Fails when a bug is tried again until it is gone, and nobody hears of it."""

    def breaks() -> None:
        raise ZeroDivisionError("a bug")

    def story() -> None:
        with simulated(rendering) as world:
            world.start_bot()
            world.rests()
            world.forge.faults.before("POST /graphql", breaks, caller=BOT)
            world.proposes(BRANCH, package("net/core"))

    with pytest.raises(AssertionError, match="a bug"):
        story()


def test_what_is_not_simulated_is_refused(rendering: Rendering) -> None:
    """Fails when a fault or a command that does nothing here is taken, and the story is green."""
    with simulated(rendering) as world:
        with pytest.raises(NotSimulatedError):
            world.author.git(Path(), "tag", "v1")
        with pytest.raises(NotSimulatedError):
            world.forge.faults.stale(1.0, caller=BOT)
        with pytest.raises(NotSimulatedError):
            world.forge.faults.freeze(caller=BOT)


def test_webhooks_of_a_bot_that_is_away_are_in_the_forges_log(rendering: Rendering) -> None:
    """Fails when webhooks wait until a bot is there: none would ever have to be fetched."""
    with simulated(rendering) as world:
        world.start_bot()
        world.rests()
        world.stop_bot()
        world.author.pushes(BRANCH, package("net/core"))
        world.rests()
        assert [hook.event for hook in world.failed_webhooks()] == ["push", "check_suite"]
        assert len(world.author.pulls()) == 0
        world.start_bot()
        assert world.author.pull_of(BRANCH).draft
