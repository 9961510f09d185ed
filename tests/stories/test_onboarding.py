"""A repository with packages and no `.porchbot.yaml`: one is proposed, once."""

import pytest

from tests.stories.people import wait_for
from tests.stories.real import RealWorld
from tests.stories.world import Staging

pytestmark = pytest.mark.real_parts


def test_a_configuration_is_proposed_once_even_after_a_lost_database(staged: Staging) -> None:
    """The short-cut remembers in the database that it asked: lost, everybody is asked again."""
    with staged(None) as stage:  # type: ignore[arg-type] # without a file
        assert isinstance(stage, RealWorld)
        stage.environment["PORCHBOT_ONBOARDING"] = "on"
        stage.start_bot()
        pulls = wait_for(
            "the pull request", lambda: list(stage.author.repository.get_pulls()) or None
        )
        stage.rests()
        (pull,) = pulls
        assert (pull.title, pull.user.login) == ("Configure porchbot", "porchbot[bot]")
        assert not stage.author.pull(pull.number).draft
        assert "- `net/edge`, not published yet" in pull.body
        text = stage.author.reads(".porchbot.yaml", "porchbot/configure")
        assert "  - directory: 'net'\n" in text
        stage.author.waits_for_check(pull.number, "porchbot/publish", None)
        stage.owner.pull(pull.number).edit(state="closed")
        stage.owner.repository.get_git_ref("heads/porchbot/configure").delete()
        stage.stop_bot()
        stage.loses_database()
        stage.start_bot()
        stage.rests()
        stage.sweep()
        stage.rests()
        assert list(stage.author.repository.get_pulls()) == []
        assert stage.author.repository.get_pulls(state="all").totalCount == 1
