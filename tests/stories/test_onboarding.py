"""A repository with packages and no `.porchbot.yaml`: one is proposed, once."""

import pytest

from tests.stories.calls import OPEN
from tests.stories.people import wait_for
from tests.stories.real import RealWorld
from tests.stories.world import Staging

pytestmark = pytest.mark.real_parts


def _branches(stage: RealWorld) -> list[str]:
    return [*stage.author.branches()]


def test_a_configuration_is_proposed_once_even_after_a_lost_database(staged: Staging) -> None:
    """The short-cut remembers in the database that it asked: lost, everybody is asked again.

    And one that ended between push and pull request takes its own branch for somebody else's.
    """
    with staged(None) as stage:  # type: ignore[arg-type] # without a file
        assert isinstance(stage, RealWorld)
        stage.environment["PORCHBOT_ONBOARDING"] = "on"
        stage.forge.faults.fail(stage.call(OPEN), 403, {"message": "Not now"})
        stage.start_bot()
        wait_for("the branch", lambda: "porchbot/configure" in _branches(stage) or None)
        stage.rests()
        assert stage.author.pulls() == []
        stage.stop_bot()
        stage.loses_database()
        stage.owner.pushes("main", {"README.md": "Packages\n"})
        stage.start_bot()
        pulls = wait_for("the pull request", lambda: stage.author.pulls() or None)
        stage.rests()
        (pull,) = pulls
        assert (pull.title, pull.author) == ("Configure porchbot", "porchbot[bot]")
        assert not stage.author.pull(pull.number).draft
        assert "- `net/edge`, not published yet" in pull.body
        text = stage.author.reads(".porchbot.yaml", "porchbot/configure")
        assert "  - directory: 'net'\n" in text
        stage.author.waits_for_check(pull.number, "porchbot/publish", None)
        stage.author.waits_for_summary(pull.number, "**rules approved**: 0 of 1")
        stage.owner.closes(pull.number)
        stage.owner.deletes("heads/porchbot/configure")
        stage.stop_bot()
        stage.loses_database()
        stage.start_bot()
        stage.rests()
        stage.sweep()
        stage.rests()
        assert stage.author.pulls() == []
        assert len(stage.author.pulls(every=True)) == 1
