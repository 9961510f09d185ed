"""The ledger: numbers that it lists stay used, whatever became of their tags."""

import pytest

from tests.stories.people import wait_for
from tests.stories.world import CONFIG, Staging, World, package, resized, seconds_pass

LEDGER = ".porchbot/ledger/net/core.yaml"
WITHDRAWN = "revisions:\n  7: {state: withdrawn, reason: it was broken}\n"


@pytest.mark.both_forges
def test_numbers_in_the_ledger_of_a_package_are_never_given_again(play: World) -> None:
    """The short-cut counts tags: without the database the number of a withdrawn one comes again."""
    play.owner.pushes("main", {LEDGER: WITHDRAWN})
    play.rests()
    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.approver.says(number, "/approve")

    play.author.waits_for_tag("net/core/v8")
    assert set(play.author.tags()) == {"net/core/v8"}


@pytest.mark.both_forges
def test_a_ledger_that_cannot_be_read_publishes_nothing(play: World) -> None:
    """The short-cut takes it for empty: a number that is used may be given again."""
    play.owner.pushes("main", {LEDGER: "revisions: [7]\n"})
    play.rests()
    play.author.pushes("drafts/net/core/w", package("net/core"))
    number = play.author.pull_of("drafts/net/core/w").number
    play.owner.says(number, "/propose")  # until it is mended it takes an administrator
    play.author.waits_for_summary(number, LEDGER)
    play.rests()
    assert play.author.tags() == {}

    play.owner.pushes("main", {LEDGER: WITHDRAWN})
    seconds_pass(play.forge, 1)
    wait_for("the reading", lambda: LEDGER not in play.author.summary(number) or None)
    play.approver.says(number, "/approve")
    play.author.waits_for_tag("net/core/v8")


@pytest.mark.both_forges
def test_another_package_is_not_held_up(play: World) -> None:
    """The short-cut reads all ledgers for each proposal: one broken one stops the repository."""
    play.owner.pushes("main", {LEDGER: "revisions: [7]\n"})
    play.rests()
    number = play.proposes("drafts/net/edge/w", resized("net/edge", 3))
    play.approver.says(number, "/approve")

    play.author.waits_for_tag("net/edge/v1")


@pytest.mark.both_forges
def test_what_is_proposed_to_another_branch_is_not_taken_from_it(staged: Staging) -> None:
    """The short-cut looks at its own base: the branch moves under the other pull request."""
    with staged(CONFIG + "packages: [{directory: .}, {directory: ., branch: release-1}]\n") as play:
        main = play.owner.branches()["main"]
        play.owner.points("release-1", main)
        play.start_bot()
        number = play.proposes("drafts/net/core/w", package("net/core"))
        play.approver.says(number, "/approve")
        play.author.waits_for_tag("net/core/v1")
        play.rests()
        edge = play.proposes("drafts/net/edge/w", resized("net/edge", 3))
        play.approver.says(edge, "/delete net/core@v1 broken")
        pull = play.author.pull_of("deletionProposed/net/core/v1")
        play.author.waits_for_answer(edge, f"#{pull.number} withdraws")
        play.rests()

        play.author.pushes("people/w", resized("net/edge", 4), base="release-1")
        other = play.author.opens("people/w", "t", base="release-1")
        play.rests()
        play.approver.says(other.number, "/delete net/core@v1 broken")
        play.author.waits_for_answer(other.number, f"#{pull.number} withdraws")
        assert play.author.pull(pull.number).head == pull.head
