"""A private repository on a plan without drafts, protection and rulesets: what falls back."""

import pytest

from tests.stories.people import wait_for
from tests.stories.real import RealWorld
from tests.stories.world import package

pytestmark = [pytest.mark.real_parts, pytest.mark.only_github("drafts that a plan lacks")]
BRANCH = "drafts/net/core/w"


def test_without_drafts_and_rules_a_package_is_published_all_the_same(stage: RealWorld) -> None:
    """The short-cut fails at each look: the forge refuses to tell of rules, and to open a draft.

    Another one says nothing of it: people rely on a check that binds nobody.
    """
    stage.repository.private = stage.repository.limited = True
    stage.start_bot()
    stage.rests()
    author = stage.author
    author.pushes(BRANCH, package("net/core"))
    pull = author.pull_of(BRANCH)
    assert (pull.draft, pull.title.startswith("Draft: ")) == (False, True)
    author.waits_for_check(pull.number, "porchbot/validate", "success")
    author.says(pull.number, "/propose")
    wait_for(
        "the proposal",
        lambda: not author.pull(pull.number).title.startswith("Draft: ") or None,
    )
    author.says(pull.number, "/reject not yet")
    wait_for("the draft", lambda: author.pull(pull.number).title.startswith("Draft: ") or None)
    author.says(pull.number, "/propose")
    wait_for(
        "the proposal",
        lambda: not author.pull(pull.number).title.startswith("Draft: ") or None,
    )
    stage.rests()
    warned = author.summary(pull.number)
    assert "`main` does not require the check `porchbot/publish`, so *Merge* also works" in warned
    assert "(for a private repository, GitHub has rulesets on paid plans only)." in warned
    stage.approver.says(pull.number, "/approve")
    author.waits_for_tag("net/core/v1")
