"""Webhooks of GitLab's projects, which their Maintainers may change: over HTTP, as they come."""

import json
from typing import Any

import pytest

from bot.forges.gitlab.hooks import (
    GROUP,
    INSTANCE,
    PROJECT,
    HookOwner,
    HookSecrets,
    OurHooks,
)
from bot.sandbox.rules.context import FileChange
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
        owner.client()
        .projects.get(other.id)
        .hooks.create(to.settings(HookOwner(PROJECT, other.id)))
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
    wait_for("GitLab to send them", lambda: len(_answers(play, hook.id)) >= 2 or None, 60)
    assert set(_answers(play, made.id)) == {403}

    play.sweep("deliveries")
    wait_for("the webhook to be set again", lambda: not hook.template or None, 60)
    other_project = owner.client().projects.get(other.id)
    other_project.issues.create({"title": "Send it as it is"})
    wait_for("GitLab to send it", lambda: 202 in _answers(play, hook.id) or None, 60)
    play.rests()
    assert play.failing() == []


def test_a_webhook_from_before_gets_a_secret_of_its_own(play: World) -> None:
    """Short-cuts refused: what comes by it is refused, and nothing is heard until an operator sets
    it up again; it stays, and so does what whoever has one like it may say of other projects."""
    assert isinstance(play, RealWorld)
    (hook,) = _hooks(play, play.repository.id).values()
    hook.url = hook.url.partition("?")[0]
    hook.token, hook.signing_token = SECRET, ""

    play.author.pushes(BRANCH, package("net/core"))
    play.author.pull_of(BRANCH)
    play.rests()
    assert set(_answers(play, hook.id)) == {202}
    play.sweep("deliveries")
    wait_for("the webhook to be set anew", lambda: hook.token != SECRET or None, 60)
    assert hook.url.endswith(f"?for=project-{play.repository.id}&secret=" + hook.url[-8:])
    assert hook.signing_token

    heard = len(_answers(play, hook.id))
    play.author.pushes("drafts/net/more/first", package("net/more"))
    play.author.pull_of("drafts/net/more/first")
    play.rests()
    assert len(_answers(play, hook.id)) > heard
    assert set(_answers(play, hook.id)) == {202}
    assert play.failing() == []


def test_a_groups_webhook_tells_of_its_projects_and_of_no_other(play: World) -> None:
    """Short-cuts refused: a webhook for each project, and none for one that is made later; whatever
    an Owner of any group has GitLab say."""
    state = play.forge.state
    state.data.gitlab.tier = "premium"
    state.organizations.add("team", admins=("owner",))
    inside = state.add_repository("team", "pkg")
    state.add_member(inside, NAME, "maintain")
    change = FileChange(path="README.md", content=b"Hello\n")
    with state.lock:
        state.commit_files(inside, "main", [change], "Begin", actor=state.user("owner"))
    play.sweep("changes")
    play.rests()
    owner: Any = play.owner
    group = owner.client().groups.get("team")
    (ours,) = _hooks(play, play.repository.id).values()
    to = OurHooks(ours.url.partition("?")[0], HookSecrets("gitlab", (SECRET.encode(),)))
    made = group.hooks.create(to.settings(HookOwner(GROUP, group.id)))

    there = owner.client().projects.get(inside.id)
    _pushes(there, BRANCH)
    wait_for("the draft", lambda: there.mergerequests.list(state="opened") or None, 60)
    wait_for("what GitLab told", lambda: _answers(play, made.id) or None, 60)
    assert set(_answers(play, made.id)) == {202}

    about = {"id": play.repository.id, "default_branch": "main"}
    said = {"object_kind": "push", "ref": "refs/heads/main", "before": "", "after": ""}
    (hook,) = state.data.gitlab.group_hooks.values()
    hook.template = json.dumps({**said, "project": about})
    there.issues.create({"title": "Send it"})
    wait_for("GitLab to send it", lambda: 403 in _answers(play, made.id) or None, 60)


def test_a_project_made_later_in_a_group_is_served_at_once(play: World) -> None:
    """Short-cuts refused: a group's webhook that tells what happens in its projects alone; an event
    of a new project that is dropped because nobody serves that yet. A sweep found it then, up to a
    quarter of an hour later."""
    state = play.forge.state
    state.data.gitlab.tier = "premium"
    state.organizations.add("team", admins=("owner",))
    owner: Any = play.owner
    client = owner.client()
    group = client.groups.get("team")
    group.members.create({"user_id": state.user(NAME).id, "access_level": 40})
    (ours,) = _hooks(play, play.repository.id).values()
    to = OurHooks(ours.url.partition("?")[0], HookSecrets("gitlab", (SECRET.encode(),)))
    made = group.hooks.create(to.settings(HookOwner(GROUP, group.id)))
    play.rests()

    given = {"name": "later", "namespace_id": group.id}
    later = client.projects.create(given)

    wait_for("what GitLab told", lambda: _answers(play, made.id) or None, 60)
    assert _answers(play, made.id) == [202]
    assert isinstance(play, RealWorld)
    served = f"SELECT 1 FROM served WHERE number = {later.id}"
    wait_for("the bot to serve it", lambda: play.database(served) or None, 60)
    assert not to.otherwise(group.hooks.get(made.id).attributes, HookOwner(GROUP, group.id))


def test_a_system_hook_tells_of_a_push_of_many_branches(play: World) -> None:
    """Short-cuts refused: a push of more than three branches, of which no project's webhook tells,
    is found by a sweep; the system hook counts for nothing."""
    state = play.forge.state
    state.data.gitlab.admins.add(state.user("owner").id)
    (ours,) = _hooks(play, play.repository.id).values()
    to = OurHooks(ours.url.partition("?")[0], HookSecrets("gitlab", (SECRET.encode(),)))
    owner: Any = play.owner
    # Of merge requests in system hooks only one old example is known to hold the sandbox against.
    owner.client().hooks.create({**to.settings(INSTANCE), "merge_requests_events": False})
    (hook,) = state.data.gitlab.system_hooks.values()

    author = play.author
    branches = [f"drafts/net/{name}/first" for name in "abcd"]
    clone = author._clone(author.clone_url)
    for branch in branches:
        author.git(clone, "switch", "--quiet", "--force-create", branch, "origin/main")
        for path, text in package(f"net/{branch[11]}").items():
            (clone / path).parent.mkdir(parents=True, exist_ok=True)
            (clone / path).write_text(text)
        author.git(clone, "add", "--all")
        who = ("-c", "user.name=author", "-c", "user.email=author@users.example")
        author.git(clone, *who, "commit", "--quiet", "--message", "Add")
    author.git(clone, "push", "--quiet", "origin", *branches)

    for branch in branches:
        author.pull_of(branch)
    assert 202 in _answers(play, hook.id)


def _pushes(project: Any, branch: str) -> None:
    """Push a package to a branch, by the API."""
    actions = [
        {"action": "create", "file_path": path, "content": text}
        for path, text in package("net/core").items()
    ]
    body = {"branch": branch, "start_branch": "main", "commit_message": "Add", "actions": actions}
    project.commits.create(body)
