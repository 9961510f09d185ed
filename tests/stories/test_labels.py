"""Labels, as people see them: they follow the stage, and putting one on does nothing."""

import pytest

from tests.stories.people import wait_for
from tests.stories.world import World, package


@pytest.mark.both_forges
def test_labels_follow_the_stage_and_are_no_commands(play: World) -> None:
    """The short-cut takes a label for a command: anybody who may triage would publish."""
    author, owner = play.author, play.owner

    def shows(number: int, *labels: str) -> None:
        def ready() -> bool | None:
            there = author.pull(number).labels
            return there == set(labels) or None

        wait_for(f"the labels {labels}", ready)

    author.pushes("drafts/net/core/w", package("net/core"))
    number = author.pull_of("drafts/net/core/w").number
    shows(number, "porchbot: draft")
    owner.puts_labels(number, "a bug", "porchbot: published")
    shows(number, "a bug", "porchbot: draft")
    author.says(number, "/propose")
    shows(number, "a bug", "porchbot: proposed")
    owner.takes_label(number, "porchbot: proposed")
    owner.puts_labels(number, "porchbot: draft")
    shows(number, "a bug", "porchbot: proposed")
    assert author.tags() == {}

    play.approver.says(number, "/approve")
    author.waits_for_tag("net/core/v1")
    shows(number, "a bug", "porchbot: published")
    play.rests()
    assert play.failing() == []


@pytest.mark.only_github("labels that are refused alone")
def test_a_forge_that_refuses_labels_keeps_nothing_back(play: World) -> None:
    """The short-cut fails the look: packages wait for a label."""
    refused = "POST /repos/{owner}/{repo}/issues/{issue_number}/labels"
    play.forge.faults.fail(refused, 403, {"message": "Forbidden"}, times=None)

    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.approver.says(number, "/approve")
    play.author.waits_for_tag("net/core/v1")
    play.rests()

    assert play.failing() == []
    assert play.author.pull(number).labels == frozenset()
    tried = [c for c in play.forge.faults.calls("porchbot[bot]") if c.name == refused]
    assert len(tried) == 1
