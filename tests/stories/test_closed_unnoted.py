"""What people close before the bot has noted that it opened it stays closed, whatever it was."""

import pytest

from tests.stories.calls import OPEN
from tests.stories.test_upstreams import publishes
from tests.stories.test_variants import RULES, SHOP, variant
from tests.stories.world import World, minutes_pass, package, resized

pytestmark = [pytest.mark.both_forges, pytest.mark.simulated_time("minutes pass")]


def loses_an_answer(play: World) -> None:
    """The bot does not hear that the forge opened what it opens next."""
    play.forge.faults.fail(play.call(OPEN), 502, caller=play.caller, carried_out=True)


def closes(play: World, branch: str) -> int:
    """Somebody closes what the bot opened; its number."""
    number = int(play.author.pull_of(branch).number)
    play.owner.closes(number)
    return number


def opened(play: World, branch: str) -> list[int]:
    """Numbers of all that was opened from branches that begin so, half an hour later."""
    play.rests()
    minutes_pass(play, 30)
    play.sweep()
    play.rests()
    return [p.number for p in play.author.pulls(every=True) if p.head_ref.startswith(branch)]


def test_a_package_of_a_variant_is_not_proposed_again(stage: World) -> None:
    """The short-cut takes what it has not noted for what it has not opened."""
    play = stage
    play.start_bot()
    publishes(play, "net/base", package("net/base"), 1)
    play.rests()
    loses_an_answer(play)
    play.owner.pushes("main", {".porchbot.yaml": RULES, **variant()})
    number = closes(play, f"{SHOP}-1")
    assert opened(play, SHOP) == [number]


def test_a_branch_that_somebody_pushed_is_not_proposed_again(stage: World) -> None:
    """The short-cut proposes each draft branch that has no open pull request."""
    play, branch = stage, "drafts/net/new/w"
    play.start_bot()
    play.rests()
    loses_an_answer(play)
    play.author.pushes(branch, package("net/new"))
    number = closes(play, branch)
    assert opened(play, branch) == [number]


@pytest.mark.parametrize(
    ("command", "branch"),
    [
        ("/rollback net/core@v1 slow", "drafts/net/core/rollback-v1"),
        ("/set --package net/core --propose data.size=7", "drafts/net/core/set"),
        ("/edit net/core", "drafts/net/core/edit"),
    ],
    ids=["rollback", "set", "edit"],
)
def test_a_draft_of_a_command_is_not_proposed_again(
    stage: World, command: str, branch: str
) -> None:
    """The short-cut knows open pull requests alone, as the story of boxes says."""
    play = stage
    play.start_bot()
    for size in (1, 2):
        publishes(play, "net/core", {**package("net/core"), **resized("net/core", size)}, size)
    play.rests()
    asked = play.proposes("drafts/net/edge/w", resized("net/edge", 3))
    loses_an_answer(play)
    play.owner.says(asked, command)
    number = closes(play, branch)
    play.author.waits_for_answer(asked, f"#{number}")
    assert opened(play, branch) == [number]
