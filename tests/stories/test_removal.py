"""Removing a package: approved by a rule of its own, refused while others use it."""

import pytest

from tests.stories.people import wait_for
from tests.stories.world import CONFIG, Staging, World, package, seconds_pass

DELETING = CONFIG + '  delete: {require: 2, from: ["role:maintain"]}\n'

UPSTREAM = """\
upstream:
  type: git
  git: {repo: REPO, directory: /net/edge, ref: net/edge/v1}
"""


def _removes(play: World, branch: str, package: str) -> int:
    files = {f"{package}/{name}": None for name in ("Kptfile", "settings.yaml")}
    play.author.pushes(branch, files, message="Remove it")
    number = play.author.pull_of(branch).number
    play.author.says(number, "/propose")
    return int(number)


def _labels(play: World, number: int) -> frozenset[str]:
    return play.author.pull(number).labels


@pytest.mark.both_forges
def test_a_removal_takes_the_approvals_of_deletions(staged: Staging) -> None:
    """The short-cut counts it as a change like any other: one approval removes a package."""
    with staged(DELETING) as play:
        play.start_bot()
        play.rests()
        seconds_pass(play.forge, 1)
        number = _removes(play, "drafts/net/edge/gone", "net/edge")
        play.approver.says(number, "/approve")
        play.author.waits_for_summary(number, "1 of 2")
        play.rests()
        assert not play.author.pull(number).merged
        wait_for(
            "the label", lambda: "porchbot: deletion proposed" in _labels(play, number) or None
        )

        play.owner.says(number, "/approve")
        wait_for("the merge", lambda: play.author.pull(number).merged or None)
        play.rests()

        assert "porchbot: deleted" in _labels(play, number)
        assert play.author.tags() == {}


@pytest.mark.both_forges
def test_what_others_have_as_upstream_is_not_removed(play: World) -> None:
    """The short-cut removes it: what was cloned from it can never be brought up to date."""
    kptfile = package("net/mine")["net/mine/Kptfile"]
    used = UPSTREAM.replace("REPO", play.forge.clone_url("acme", "blueprints"))
    play.owner.pushes("main", {**package("net/mine"), "net/mine/Kptfile": kptfile + used})
    play.rests()
    number = _removes(play, "drafts/net/edge/gone", "net/edge")
    play.approver.says(number, "/approve")
    play.author.waits_for_summary(number, "`net/edge` is the upstream of `net/mine`")
    play.rests()
    assert not play.author.pull(number).merged

    play.author.pushes("drafts/net/edge/gone", {"net/mine/Kptfile": kptfile})
    play.rests()
    assert "is the upstream of" not in play.author.summary(number)
