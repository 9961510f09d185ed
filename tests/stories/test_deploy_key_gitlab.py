"""A project on GitLab's Free tier where nobody but the bot merges, by its deploy key."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from gitlab.exceptions import GitlabAuthenticationError

from bot.forges.gitlab.http import Clients
from bot.forges.gitlab.setting_key import TITLE, KeySetup
from bot.forges.gitlab.setting_projects import ProjectOrGroup
from tests.stories.gitlab_people import GitLabPerson
from tests.stories.real import RealWorld
from tests.stories.world import World, package

pytestmark = [
    pytest.mark.real_parts,
    pytest.mark.parametrize("forge", ["gitlab"], indirect=True),
]


@contextmanager
def _clients(play: RealWorld, owner: GitLabPerson) -> Iterator[tuple[Clients, Clients]]:
    """Of the owner, and of the bot."""
    tokens = (owner.token, play.environment["PORCHBOT_GITLAB_TOKEN"])
    made = [Clients(owner.api_url, lambda each=each: each) for each in tokens]  # type: ignore[misc]
    try:
        yield made[0], made[1]
    finally:
        for each in made:
            each.close()


def _sets_up(play: RealWorld, owner: GitLabPerson) -> list[str]:
    """The owner has the branch left to the bot, as `porchbot setup gitlab` does; what is said."""
    said: list[str] = []
    with _clients(play, owner) as (asks, bot):
        place = ProjectOrGroup("projects", owner.project.attributes)
        KeySetup(asks, bot, said.append, dry_run=False).project(place)
    return said


def test_nobody_but_the_bot_merges_and_who_takes_its_key_away_is_told(play: World) -> None:
    """Short-cuts refused: a Maintainer merges past the bot; so does the bot past its gates, since
    it alone is let in; without the key it tries for ever, says nothing, or publishes half."""
    assert isinstance(play, RealWorld)
    author, approver, owner = play.author, play.approver, play.owner
    assert isinstance(owner, GitLabPerson)
    owner.protects("main", level=40)
    (said,) = _sets_up(play, owner)
    assert said.startswith("Changed: the protected branch main of acme/blueprints")

    first = play.proposes("drafts/net/a/x", package("net/a"))
    for person in (approver, owner):
        with pytest.raises(GitlabAuthenticationError, match="401"):
            person.merges(first)
    assert not author.pull(first).merged
    assert not author.tags()
    approver.says(first, "/approve")
    tag = author.waits_for_tag("net/a/v1")
    assert tag == author.branches()["main"]
    assert author.pull(first).merged_by == "porchbot[bot]"

    (key,) = owner.project.keys.list(get_all=True)
    assert (key.title.startswith(f"{TITLE} "), key.can_push) == (True, True)
    key.delete()
    second = play.proposes("drafts/net/b/x", package("net/b"))
    approver.says(second, "/approve")
    author.waits_for_summary(second, "permission for the bot to merge here")
    play.rests()
    assert author.branches()["main"] == tag
    assert list(author.tags()) == ["net/a/v1"]
    assert play.failing() == []

    (said,) = _sets_up(play, owner)
    assert said.startswith("Changed: the protected branch main of acme/blueprints")
    author.says(second, "/check")
    assert author.waits_for_tag("net/b/v1") == author.branches()["main"]
