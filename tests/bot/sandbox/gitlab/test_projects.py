"""Projects, members, groups and tokens, driven with python-gitlab."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import gitlab
import pytest

from bot.sandbox.records.accounts import Role
from tests.bot.sandbox.gitlab.conftest import refusal
from tests.bot.sandbox.gitlab.inprocess import client
from tests.bot.sandbox.gitlab.lab import Lab


def test_settings_are_kept_and_those_of_a_higher_edition_are_not(lab: Lab) -> None:
    """The short-cut answers what it was sent and keeps nothing."""
    project = lab.as_("maintainer").projects.get("owner/catalog")
    project.merge_method = "ff"
    project.only_allow_merge_if_pipeline_succeeds = True
    project.only_allow_merge_if_all_discussions_are_resolved = True
    project.squash_option = "never"
    project.merge_trains_enabled = True
    project.save()

    seen = lab.as_("author").projects.get("owner/catalog")
    assert (seen.merge_method, seen.squash_option) == ("ff", "never")
    assert seen.only_allow_merge_if_pipeline_succeeds is True
    assert seen.only_allow_merge_if_all_discussions_are_resolved is True
    assert not hasattr(seen, "merge_trains_enabled")
    project.merge_method = "octopus"
    assert refusal(project.save) == (400, "merge_method does not have a valid value")
    seen.description = "mine"
    assert refusal(seen.save) == (403, "403 Forbidden")


def test_a_project_is_found_under_its_old_path_by_readers_only(lab: Lab) -> None:
    """The short-cut forgets old paths, or lets changes go through them."""
    owner = lab.as_("owner")
    project = owner.projects.get("owner/catalog")
    project.path = "packages"
    project.save()

    assert owner.projects.get("owner/packages").id == lab.repo.id
    assert owner.projects.get("owner/catalog").path_with_namespace == "owner/packages"
    old = owner.projects.get("owner/catalog", lazy=True)
    status, said = refusal(lambda: old.branches.create({"branch": "x", "ref": "main"}))
    assert (status, said) == (405, "Non GET methods are not allowed for moved projects")
    project.archive()
    assert owner.projects.get(lab.repo.id).archived is True
    late = lab.project("author")
    assert refusal(lambda: late.branches.create({"branch": "x", "ref": "main"}))[0] == 403
    project.unarchive()
    assert late.branches.create({"branch": "x", "ref": "main"}).name == "x"


def test_a_list_of_projects_is_of_those_that_one_is_asked_for(lab: Lab) -> None:
    """The short-cut lists what somebody may merely see among their memberships."""
    lab.forge.state.add_repository("outsider", "other")
    author = lab.as_("author")

    def paths(**asked: Any) -> list[str]:
        found = author.projects.list(get_all=True, **asked)
        return sorted(p.path_with_namespace for p in found)

    assert paths() == ["outsider/other", "owner/catalog"]
    assert paths(membership=True, simple=True) == ["owner/catalog"]
    assert paths(min_access_level=40) == []
    lab.clock.move(hours=1)
    since = (lab.clock() - timedelta(minutes=30)).isoformat()
    assert paths(last_activity_after=since) == []
    keyset = author.projects.list(
        order_by="id", pagination="keyset", per_page=1, get_all=True, sort="asc"
    )
    assert [p.path for p in keyset] == ["catalog", "other"]


def test_members_inherit_from_groups_above_and_from_shares(lab: Lab) -> None:
    """The short-cut knows direct members alone."""
    state = lab.forge.state
    for login in ("lead", "worker", "helper"):
        state.add_user(login)
    state.organizations.add("acme", admins=("lead",))
    state.organizations.add("acme/net", roles={"worker": Role.WRITE})
    team = state.organizations.add("acme/team", roles={"helper": Role.MAINTAIN})
    repo = state.add_repository("acme/net", "vlans", private=True)
    lead = lab.as_("lead").projects.get("acme/net/vlans")
    lead.share(team.id, 30)

    levels = {m.username: m.access_level for m in lead.members_all.list(get_all=True)}
    assert levels == {"lead": 50, "worker": 30, "helper": 30}
    assert lead.members.list() == []
    assert lead.members_all.get(state.user("worker").id).access_level == 30
    nobody = state.user("author").id
    assert refusal(lambda: lead.members_all.get(nobody))[0] == 404
    assert refusal(lambda: lab.as_("author").projects.get(repo.id))[0] == 404
    added = lead.members.create({"user_id": nobody, "access_level": 20})
    assert (added.username, added.access_level) == ("author", 20)
    again = {"user_id": nobody, "access_level": 30}
    assert refusal(lambda: lead.members.create(again)) == (409, "Member already exists")
    below = lab.as_("lead").groups.create(
        {"name": "Edge", "path": "edge", "parent_id": state.user("acme/net").id}
    )
    assert below.full_path == "acme/net/edge"
    assert {m.username: m.access_level for m in below.members_all.list(get_all=True)} == {
        "lead": 50,
        "worker": 30,
    }
    assert refusal(lambda: lab.as_("helper").groups.create({"name": "x", "path": "ACME"}))[0] == 400
    group = lab.as_("lead").groups.get("acme/net")
    assert (group.parent_id, [p.path for p in group.projects.list()]) == (
        state.user("acme").id,
        ["vlans"],
    )


def test_a_fork_belongs_to_who_made_it(lab: Lab) -> None:
    """The short-cut forgets where it came from, or lets two have one path."""
    made = lab.project("outsider").forks.create({})

    assert made.path_with_namespace == "outsider/catalog"
    assert made.forked_from_project["id"] == lab.repo.id
    assert [f.id for f in lab.project("owner").forks.list()] == [made.id]
    assert refusal(lambda: lab.project("outsider").forks.create({}))[0] == 409


def test_a_new_project_has_its_default_branch_protected(lab: Lab) -> None:
    """The short-cut leaves `main` open to Developers, which GitLab never does."""
    made = lab.as_("owner").projects.create({"name": "New one", "initialize_with_readme": True})

    assert made.path_with_namespace == "owner/new-one"
    rule = made.protectedbranches.get("main")
    assert [a["access_level"] for a in rule.push_access_levels] == [40]
    assert [a["access_level_description"] for a in rule.merge_access_levels] == ["Maintainers"]
    status, said = refusal(lambda: lab.as_("owner").projects.create({"name": "New one"}))
    assert (status, said["path"]) == (400, ["has already been taken"])  # type: ignore[index]


def test_a_project_token_is_a_bot_that_rotates_itself(lab: Lab) -> None:
    """The short-cut lets the old value live on, or lets the bot leave its level."""
    project, today = lab.project("maintainer"), lab.clock().date()
    wish = {
        "name": "porchbot",
        "scopes": ["api", "write_repository"],
        "access_level": 30,
        "expires_at": (today + timedelta(days=30)).isoformat(),
    }
    made = project.access_tokens.create(wish)
    bot = client(lab.forge, made.token)
    bot.auth()

    assert str(bot.user and bot.user.username).startswith(f"project_{lab.repo.id}_bot_")
    seen = bot.projects.get(lab.repo.id)
    assert seen.permissions["project_access"]["access_level"] == 30
    assert refusal(lambda: seen.hooks.list())[0] == 403
    renewed = bot.personal_access_tokens.get("self")
    renewed.rotate(self_rotate=True)
    fresh = renewed.token
    assert refusal(bot.auth) == (401, "invalid_token")
    client(lab.forge, fresh).auth()
    far = wish | {"expires_at": (today + timedelta(days=400)).isoformat()}
    assert refusal(lambda: project.access_tokens.create(far))[0] == 400
    assert refusal(lambda: project.access_tokens.create(wish | {"access_level": 50}))[0] == 400


def test_a_service_account_is_made_by_those_who_own_the_place(lab: Lab) -> None:
    """The short-cut lets anybody make accounts."""
    state = lab.forge.state
    state.organizations.add("acme", admins=("owner",))
    group = lab.as_("owner").groups.get("acme")
    account = group.service_accounts.create({"name": "Porchbot", "username": "porchbot"})
    token = account.access_tokens.create({"name": "bot", "scopes": ["api"]}).token
    bot = client(lab.forge, token)
    bot.auth()

    assert isinstance(bot.user, gitlab.v4.objects.CurrentUser)
    assert bot.user.username == "porchbot"
    assert bot.user.bot is True
    other = lab.as_("author").groups.get("acme")
    assert refusal(lambda: other.service_accounts.create({}))[0] == 403
    state.data.gitlab.admins.add(state.user("author").id)
    path = "/service_accounts"
    assert lab.as_("author").http_post(path)["name"] == "Service account user"  # type: ignore[index]
    with pytest.raises(gitlab.GitlabHttpError, match="403"):
        lab.as_("owner").http_post(path)
