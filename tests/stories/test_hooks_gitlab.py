"""Webhooks of GitLab's projects, which their Maintainers may change: over HTTP, as they come."""

import json
from typing import Any

import pytest

from bot.forges.gitlab.hooks import PROJECT, HookSecrets, OurHooks, Speaker
from tests.stories.gitlab_people import NAME
from tests.stories.people import wait_for
from tests.stories.real import RealWorld
from tests.stories.world import SECRET, World, package

pytestmark = [
    pytest.mark.real_parts,
    pytest.mark.parametrize("forge", ["gitlab"], indirect=True),
]

BRANCH = "drafts/net/core/first"


def _hooks(play: World, project: int) -> Any:
    return play.forge.state.data.repositories[project].gitlab.hooks


def _answers(play: World, hook: int) -> list[int]:
    forge: Any = play.forge
    return [sent.status for sent in forge.hooks.sent() if sent.delivery.hook_id == hook]


def test_a_maintainer_of_one_project_says_nothing_of_another(play: World) -> None:
    """The short-cut has one secret for the instance, and believes the body: whoever maintains any
    project that is served gives its webhook a template, and GitLab sends what it says, signed and
    with the right token. The template stays until somebody looks."""
    state = play.forge.state
    state.add_user("mallory")
    other = state.add_repository("acme", "other")
    for login, role in {"owner": "admin", "mallory": "maintain", NAME: "maintain"}.items():
        state.add_member(other, login, role)
    (ours,) = _hooks(play, play.repository.id).values()
    to = OurHooks(ours.url.partition("?")[0], HookSecrets("gitlab", (SECRET.encode(),)))
    owner: Any = play.owner
    made = (
        owner.client().projects.get(other.id).hooks.create(to.settings(Speaker(PROJECT, other.id)))
    )
    play.author.pushes(BRANCH, package("net/core"))
    play.rests()
    said = {
        "object_kind": "merge_request",
        "user": {"id": state.user("approver").id, "username": "approver"},
        "project": {"id": play.repository.id, "path_with_namespace": "acme/blueprints"},
        "object_attributes": {
            "iid": play.author.pull_of(BRANCH).number,
            "action": "approved",
            "source_project_id": play.repository.id,
            "source_branch": BRANCH,
            "target_branch": "main",
        },
    }
    (hook,) = _hooks(play, other.id).values()
    hook.template = json.dumps(said)
    for _ in range(2):
        other_project = owner.client().projects.get(other.id)
        other_project.issues.create({"title": "Send it"})
    wait_for("GitLab to send them", lambda: len(_answers(play, hook.id)) >= 2, 60)
    assert set(_answers(play, made.id)) == {403}

    play.sweep("deliveries")
    wait_for("the webhook to be set again", lambda: not hook.template, 60)
    other_project = owner.client().projects.get(other.id)
    other_project.issues.create({"title": "Send it as it is"})
    wait_for("GitLab to send it", lambda: 202 in _answers(play, hook.id), 60)
    play.rests()
    assert play.failing() == []


def test_a_webhook_from_before_gets_a_secret_of_its_own(play: World) -> None:
    """Short-cuts refused: what comes by it is refused, and nothing is heard until an operator sets
    it up again; it stays, and so does what whoever has one like it may say of other projects."""
    assert isinstance(play, RealWorld)
    (hook,) = _hooks(play, play.repository.id).values()
    hook.url = hook.url.partition("?")[0]
    hook.token, hook.signing_token = SECRET, ""

    number = play.proposes(BRANCH, package("net/core"))
    assert 202 in _answers(play, hook.id)
    play.sweep("deliveries")
    wait_for("the webhook to be set anew", lambda: hook.token != SECRET, 60)
    assert hook.url.endswith(f"?for=project-{play.repository.id}&secret=" + hook.url[-8:])
    assert hook.signing_token

    play.approver.says(number, "/approve")
    play.author.waits_for_tag("net/core/v1")
    play.rests()
    assert set(_answers(play, hook.id)) == {202}
    assert play.failing() == []
