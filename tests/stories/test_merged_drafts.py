"""Branches of drafts that stay when their proposals were merged by hand."""

import pytest

from tests.stories.world import World, minutes_pass, package, resized


@pytest.mark.simulated_time("a day passes")
@pytest.mark.parametrize("method", ["squash", "rebase"])
def test_what_was_merged_by_hand_is_not_proposed_again(play: World, method: str) -> None:
    """The short-cut looks for commits that the base branch does not have: squashed or rebased it
    has none of them. So every sweep from the moment that nothing is left to say of the proposal
    opens another one, in the name of whoever pushed the branch."""
    branch = "drafts/net/core/w"
    number = play.proposes(branch, package("net/core"))
    play.owner.merges(number, method)
    play.author.waits_for_summary(number, "Merged, but not published")
    play.rests()
    minutes_pass(play, 25 * 60)
    here = play.repository.id
    play.wake(f"{play.name}:{here}:proposal:{here}:{branch}")  # as the sweep of all branches does
    play.rests()
    assert [each.number for each in play.author.pulls(every=True)] == [number]

    play.author.pushes(branch, resized("net/core", 9), base=branch)
    assert play.author.pull_of(branch).number != number
