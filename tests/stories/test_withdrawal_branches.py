"""Withdrawals and branches: whose the branch of a proposal is, and what other branches use."""

import pytest

from tests.stories.people import wait_for
from tests.stories.test_withdrawal import LEDGER, UPSTREAM, WITHDRAWN, lists, publishes
from tests.stories.world import CONFIG, Staging, World, package, resized, seconds_pass

UNRENDERED = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more\n"


def test_a_branch_of_somebody_else_is_left_alone(play: World) -> None:
    """The short-cut pushes over it: commits of people are lost."""
    publishes(play)
    branch = "deletionProposed/net/core/v1"
    mine = play.author.pushes(branch, {"notes.txt": "mine"})
    number = play.proposes("drafts/net/edge/w", resized("net/edge", 3))
    play.approver.says(number, "/delete net/core@v1")
    play.author.waits_for_answer(number, "holds commits that the bot did not make")
    assert play.author.branches()[branch] == mine


def test_a_rendering_over_commits_of_somebody_else_is_left_alone(play: World) -> None:
    """The short-cut asks who made the tip: what stands below it is lost."""
    publishes(play)
    branch = "deletionProposed/net/core/v1"
    play.author.pushes(branch, {"net/edge/more.yaml": UNRENDERED})
    draft = play.author.opens(branch).number
    play.author.says(draft, "/render")
    play.author.waits_for_check(draft, "porchbot/render", "success")
    play.rests()
    rendered = play.author.branches()[branch]
    number = play.proposes("drafts/net/edge/w", resized("net/edge", 3))
    play.approver.says(number, "/delete net/core@v1")
    play.author.waits_for_answer(number, "holds commits that the bot did not make")
    assert play.author.branches()[branch] == rendered


@pytest.mark.only_github("commits that the forge signs")
def test_where_commits_have_to_be_signed_the_forge_makes_that_of_the_ledger(play: World) -> None:
    """The short-cut pushes it: the command is refused for ever."""
    publishes(play)
    play.forge.state.rules.add(
        play.repository, ["deletionProposed/**"], required_signatures=True, bypass=[]
    )
    number = play.proposes("drafts/net/edge/w", resized("net/edge", 3))
    play.approver.says(number, "/delete net/core@v1 it was broken")
    pull = play.author.pull_of("deletionProposed/net/core/v1")
    play.author.waits_for_answer(number, f"#{pull.number} withdraws `net/core/v1`")
    play.rests()
    assert play.forge.state.rules.verified(play.repository, play.author.pull(pull.number).head)
    assert "reason: it was broken" in play.author.reads(LEDGER, "deletionProposed/net/core/v1")
    play.owner.says(pull.number, "/approve")
    wait_for("the tag's end", lambda: play.author.tags() == {} or None)
    play.rests()


def test_what_another_branch_uses_is_not_withdrawn(staged: Staging) -> None:
    """The short-cut looks at the base alone: a release is left without its upstream."""
    with staged(CONFIG + "packages: [{directory: .}, {directory: ., branch: release-1}]\n") as play:
        play.start_bot()
        play.rests()
        publishes(play)
        play.owner.makes_ref("heads/release-1", play.owner.branches()["main"])
        used = UPSTREAM.replace("REPO", play.forge.clone_url("acme", "blueprints"))
        kptfile = package("net/mine")["net/mine/Kptfile"] + used
        play.owner.pushes("release-1", {**package("net/mine"), "net/mine/Kptfile": kptfile})
        play.rests()
        number = play.proposes("drafts/net/edge/w", resized("net/edge", 3))
        play.approver.says(number, "/delete net/core@v1 it was broken")
        said = "`net/core/v1` is the upstream of `release-1:net/mine`"
        play.author.waits_for_answer(number, said)

        by_hand = lists(play, WITHDRAWN)
        play.approver.says(by_hand, "/approve")
        play.author.waits_for_summary(by_hand, said)
        play.rests()
        assert set(play.author.tags()) == {"net/core/v1"}


def test_a_number_of_another_branch_is_not_given_again(staged: Staging) -> None:
    """The short-cut reads the ledger of the base: without the database v1 is free on a release."""
    with staged(CONFIG + "packages: [{directory: .}, {directory: ., branch: release-1}]\n") as play:
        play.owner.makes_ref("heads/release-1", play.owner.branches()["main"])
        play.owner.pushes("main", {LEDGER: WITHDRAWN})
        play.start_bot()
        play.rests()
        seconds_pass(play.forge, 1)
        play.author.pushes("people/w", package("net/core"), base="release-1")
        pull = play.author.opens("people/w", "t", base="release-1")
        play.rests()
        play.approver.says(pull.number, "/approve")
        play.author.waits_for_tag("net/core/v2")
