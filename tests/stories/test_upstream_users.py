"""What is used in other repositories: not deleted, and told only to whom it concerns."""

from typing import Any

from tests.stories.github_people import repository_at_github
from tests.stories.test_withdrawal import UPSTREAM, WITHDRAWN, lists, publishes
from tests.stories.world import package, resized


def uses(play: Any, name: str, *people: str) -> None:
    """A repository that the bot serves too, with a package made from net/core@v1."""
    state = play.forge.state
    other = state.add_repository("acme", name, private=True)
    for login in {"owner", *people}:
        state.add_member(other, login, "admin" if login == "owner" else "read")
    used = UPSTREAM.replace("REPO", play.forge.clone_url("acme", "blueprints"))
    kptfile = package("edge")["edge/Kptfile"] + used
    place: Any = repository_at_github(play.owner, f"acme/{name}")
    place.create_file("edge/Kptfile", "Edge", kptfile, branch="main")
    state.install(play.app, other)
    play.rests()
    play.sweep()
    play.rests()


def test_a_revision_that_another_repository_uses_stays(play: Any) -> None:
    """The short-cut looks into its own repository, or tells everybody who uses what."""
    play.repository.private = True
    publishes(play)
    uses(play, "clusters", "approver")
    uses(play, "secret")
    number = play.proposes("drafts/net/edge/w", resized("net/edge", 3))

    play.approver.says(number, "/delete net/core@v1 it was broken")

    said = play.author.waits_for_answer(number, "`net/core/v1` is the upstream of")
    assert "`acme/clusters: edge` and 1 package in repositories that you may not see" in said
    assert "secret" not in said

    by_hand = lists(play, WITHDRAWN)
    play.approver.says(by_hand, "/approve")
    told = play.author.waits_for_summary(by_hand, "is the upstream of")
    assert "secret" not in told
    play.rests()
    assert set(play.author.tags()) == {"net/core/v1"}
