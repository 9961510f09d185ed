"""How many requests wait for one another, counted in simulated time in which each takes a second.

Whoever is far from their forge waits for the longest chain of them. Git takes no time here.
"""

from datetime import datetime

import pytest

from bot.sandbox.faults.calls import LoggedCall
from tests.stories.simulated import SimulatedWorld
from tests.stories.world import World, package

pytestmark = pytest.mark.simulated_time("each request takes a second, and nothing else does")

BRANCH = "drafts/net/new/w"


@pytest.fixture
def far(play: SimulatedWorld) -> SimulatedWorld:
    """A world whose forge takes a second for each request, and whose bot has seen a push before."""
    play.author.pushes("drafts/net/old/w", package("net/old"))
    play.rests()
    play.forge.faults.latency = 1.0
    return play


def seconds(play: World, began: datetime) -> int:
    """Whole seconds since then: so many requests came one after the other."""
    return int((play.forge.state.now() - began).total_seconds())


def calls(play: World, mark: int, *, until: str) -> list[LoggedCall]:
    """The bot's requests since the mark, up to the one whose name ends so."""
    made = play.forge.faults.calls(play.caller, since=mark)
    names = [call.name for call in made]
    last = next(i for i, name in enumerate(names) if name.endswith(until))
    return made[: last + 1]


def test_the_first_push_of_a_draft_waits_for_seven_answers_in_turn(far: SimulatedWorld) -> None:
    """Short-cuts, which make eight: who pushed is asked for, or the draft is rendered, which takes
    as long here, once it is known which names of tags are free.
    """
    far.renders_slowly(1)
    began = far.forge.state.now()
    mark = far.forge.faults.mark()
    far.author.pushes(BRANCH, package("net/new"))
    number = far.author.pull_of(BRANCH).number
    far.author.waits_for_check(number, "porchbot/validate", "success")

    assert seconds(far, began) <= 7
    assert len(calls(far, mark, until="/check-runs")) <= 13


def test_an_approval_waits_for_twenty_two_answers_in_turn(far: SimulatedWorld) -> None:
    """The short-cuts ask which others have the same head once all else is known; ask git what
    changed before they fetch what the forge has just merged; and ask what the repository is called
    before they ask for anything in it.
    """
    far.author.pushes(BRANCH, package("net/new"))
    number = far.author.pull_of(BRANCH).number
    far.author.says(number, "/propose")
    far.rests()

    began, mark = far.forge.state.now(), far.forge.faults.mark()
    far.approver.says(number, "/approve")
    far.author.waits_for_tag("net/new/v1")

    assert seconds(far, began) <= 22
    names = [call.name for call in calls(far, mark, until="/git/refs")]
    merged = next(i for i, name in enumerate(names) if name.startswith("PUT "))
    after = [name for name in names[merged:] if name.endswith("git-upload-pack")]
    assert len(after) == 1
