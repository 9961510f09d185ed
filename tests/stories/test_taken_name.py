"""Whoever takes over the name of a repository says nothing of it."""

import pytest

from tests.stories.world import CONFIG, World, package

BRANCH = "drafts/net/core/first"


@pytest.mark.both_forges
def test_whoever_takes_over_the_name_of_a_repository_gives_it_no_rules(play: World) -> None:
    """The short-cut asks the forge by the number and git by the name of an hour ago: what somebody
    made at that name has rules by which nobody has to approve, and the proposal is merged."""
    number = play.proposes(BRANCH, package("net/core"))
    state, renamed = play.forge.state, play.repository
    play.forge.faults.hooks.drop("*", None)
    state.admin.rename(renamed, "platform")
    taken = state.fork(renamed, "acme", "blueprints")
    state.add_member(taken, "author", "admin")
    if play.name == "gitlab":
        state.add_member(taken, play.caller, "maintain")
    else:
        state.install(play.app, renamed, taken)
    play.author.pushes("main", {".porchbot.yaml": CONFIG.replace("require: 1", "require: 0")})

    play.wake(f"{play.name}:{renamed.id}:proposal:{renamed.id}:{BRANCH}")
    play.rests()
    assert not renamed.pulls[number].merged

    play.forge.faults.hooks.clear()
    play.approver.at("acme/platform").says(number, "/approve")
    play.rests()
    assert "refs/tags/net/core/v1" in renamed.refs
    assert "refs/tags/net/core/v1" not in taken.refs
    assert play.failing() == []
