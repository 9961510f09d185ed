"""GitLab's JSON for people, groups and projects: one function for each entity of its API."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from bot.sandbox.api import Links
from bot.sandbox.gitlab import levels
from bot.sandbox.records.accounts import Organization, User
from bot.sandbox.records.gitlab import PREMIUM, ULTIMATE, AccessLevel, level_of
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.context import Context

Json = dict[str, Any]

SETTINGS: Json = {
    "allow_merge_on_skipped_pipeline": None,
    "analytics_access_level": "enabled",
    "auto_cancel_pending_pipelines": "enabled",
    "auto_devops_deploy_strategy": "continuous",
    "auto_devops_enabled": False,
    "autoclose_referenced_issues": True,
    "build_git_strategy": "fetch",
    "build_timeout": 3600,
    "builds_access_level": "enabled",
    "ci_config_path": None,
    "container_registry_access_level": "enabled",
    "container_registry_enabled": True,
    "emails_disabled": False,
    "emails_enabled": True,
    "environments_access_level": "enabled",
    "feature_flags_access_level": "enabled",
    "forking_access_level": "enabled",
    "group_runners_enabled": True,
    "issues_access_level": "enabled",
    "issue_branch_template": None,
    "jobs_enabled": True,
    "keep_latest_artifact": True,
    "lfs_enabled": True,
    "merge_commit_template": None,
    "merge_method": "merge",
    "merge_requests_access_level": "enabled",
    "merge_requests_enabled": True,
    "only_allow_merge_if_all_discussions_are_resolved": False,
    "only_allow_merge_if_pipeline_succeeds": False,
    "packages_enabled": True,
    "pages_access_level": "enabled",
    "printing_merge_request_link_enabled": True,
    "public_jobs": True,
    "releases_access_level": "enabled",
    "remove_source_branch_after_merge": True,
    "repository_access_level": "enabled",
    "request_access_enabled": True,
    "resolve_outdated_diff_discussions": False,
    "restrict_user_defined_variables": True,
    "security_and_compliance_access_level": "private",
    "service_desk_enabled": False,
    "shared_runners_enabled": True,
    "snippets_access_level": "enabled",
    "snippets_enabled": True,
    "squash_commit_template": None,
    "squash_option": "default_off",
    "suggestion_commit_message": None,
    "warn_about_potentially_unwanted_characters": True,
    "wiki_access_level": "enabled",
    "wiki_enabled": True,
}
"""Settings of a project as they are at first; `Project.settings` holds what was changed."""

PREMIUM_SETTINGS: Json = {
    "merge_pipelines_enabled": False,
    "merge_trains_enabled": False,
    "requirements_enabled": True,
}
"""Settings that are there with Premium only."""

ULTIMATE_SETTINGS: Json = {"only_allow_merge_if_all_status_checks_passed": False}
"""Settings that are there with Ultimate only."""


def stamp(when: datetime) -> str:
    """A time as the API writes it: `2026-11-21T10:00:00.000Z`."""
    return when.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def stamp_or_none(when: datetime | None) -> str | None:
    """A time, or null."""
    return None if when is None else stamp(when)


def hook_stamp(when: datetime) -> str:
    """A time as payloads of webhooks write it: `2026-11-21 10:00:00 UTC`."""
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def avatar(links: Links, who: User) -> str:
    """Address of an account's picture."""
    return f"{links.web}/avatars/u/{who.id}"


def user(links: Links, who: User) -> Json:
    """Entity `UserBasic`: who it is, in lists and inside other answers."""
    return {
        "id": who.id,
        "username": who.login,
        "public_email": "",
        "name": who.name,
        "state": "active",
        "locked": False,
        "avatar_url": avatar(links, who),
        "web_url": f"{links.web}/{quote(who.login)}",
    }


def user_or_none(links: Links, who: User | None) -> Json | None:
    """Entity `UserBasic`, or null."""
    return None if who is None else user(links, who)


def hook_user(links: Links, who: User) -> Json:
    """A person as payloads of webhooks tell."""
    return {
        "id": who.id,
        "name": who.name,
        "username": who.login,
        "avatar_url": avatar(links, who),
        "email": "[REDACTED]",
    }


def public_user(links: Links, who: User) -> Json:
    """Entity `User`."""
    words = ("bio", "location", "skype", "linkedin", "twitter", "discord", "website_url", "github")
    more = ("job_title", "pronouns", "organization")
    return user(links, who) | {
        "created_at": stamp(who.created_at),
        **dict.fromkeys((*words, *more), ""),
        "bot": who.kind == "Bot",
        "work_information": None,
        "local_time": None,
        "followers": 0,
        "following": 0,
        "is_followed": False,
    }


def current_user(links: Links, who: User, *, admin: bool, now: datetime) -> Json:
    """Entity `UserPublic`, of who asks; for administrators with their flag."""
    made = public_user(links, who) | {
        "last_sign_in_at": stamp(who.created_at),
        "confirmed_at": stamp(who.created_at),
        "last_activity_on": now.date().isoformat(),
        "email": who.email,
        "commit_email": who.email,
        "theme_id": 3,
        "color_scheme_id": 1,
        "projects_limit": 100_000,
        "current_sign_in_at": stamp(now),
        "identities": [],
        "can_create_group": True,
        "can_create_project": True,
        "two_factor_enabled": False,
        "external": False,
        "private_profile": False,
        "preferred_language": "en",
        "scim_identities": [],
        "shared_runners_minutes_limit": None,
        "extra_shared_runners_minutes_limit": None,
    }
    return made | {"is_admin": True} if admin else made


def project_url(links: Links, repo: Repository) -> str:
    """Address of a project in the API."""
    return f"{links.api}/projects/{repo.id}"


def project_html(links: Links, repo: Repository) -> str:
    """Address of a project's page."""
    return f"{links.web}/{repo.full_name}"


def namespace(state: Context, links: Links, owner: User) -> Json:
    """Entity `NamespaceBasic`: the group or person that a project belongs to."""
    group = state.data.organizations.get(owner.login.lower())
    parent = group.parent.account.id if group and group.parent else None
    kind, prefix = ("group", "groups/") if group else ("user", "")
    return {
        "id": owner.id,
        "name": owner.name,
        "path": owner.login.rpartition("/")[2],
        "kind": kind,
        "full_path": owner.login,
        "parent_id": parent,
        "avatar_url": None if group else avatar(links, owner),
        "web_url": f"{links.web}/{prefix}{owner.login}",
    }


def simple_project(state: Context, links: Links, repo: Repository) -> Json:
    """Entity `BasicProjectDetails`, as lists with `simple=true` hold it."""
    host = links.web.partition("://")[2]
    owner = repo.owner
    readme = None if not repo.refs else f"{project_html(links, repo)}/-/blob/HEAD/README.md"
    return {
        "id": repo.id,
        "description": repo.description,
        "name": repo.name,
        "name_with_namespace": f"{owner.login.replace('/', ' / ')} / {repo.name}",
        "path": repo.name,
        "path_with_namespace": repo.full_name,
        "created_at": stamp(repo.created_at),
        "default_branch": repo.default_branch if repo.refs else None,
        "tag_list": repo.topics,
        "topics": repo.topics,
        "ssh_url_to_repo": f"git@{host}:{repo.full_name}.git",
        "http_url_to_repo": f"{project_html(links, repo)}.git",
        "web_url": project_html(links, repo),
        "readme_url": readme,
        "forks_count": sum(r.parent is repo for r in state.data.repositories.values()),
        "avatar_url": None,
        "star_count": 0,
        "last_activity_at": stamp(repo.updated_at),
        "visibility": "private" if repo.private else "public",
        "namespace": namespace(state, links, owner),
    }


def known_settings(state: Context, repo: Repository) -> Json:
    """The settings that a project's tier has, as they are at first."""
    made = dict(SETTINGS)
    for tier, more in ((PREMIUM, PREMIUM_SETTINGS), (ULTIMATE, ULTIMATE_SETTINGS)):
        made |= more if levels.has_tier(state, repo, tier) else {}
    return made


def project(state: Context, links: Links, repo: Repository, viewer: User | None) -> Json:
    """Entity `Project`, as one who sees it gets it; `permissions` only for who is signed in."""
    url = project_url(links, repo)
    parts = ("issues", "merge_requests", "labels", "events", "members")
    made = simple_project(state, links, repo)
    made |= {"_links": {"self": url, "repo_branches": f"{url}/repository/branches"}}
    made["_links"] |= {part: f"{url}/{part}" for part in parts}
    made |= known_settings(state, repo)
    made |= {
        "archived": repo.archived,
        "can_create_merge_request_in": levels.reads_code(state, repo, viewer),
        "creator_id": repo.owner.id,
        "empty_repo": not repo.refs,
        "import_status": "none",
        "issues_enabled": repo.has_issues,
        "issues_access_level": "enabled" if repo.has_issues else "disabled",
        "open_issues_count": sum(i.state == "open" for i in repo.issues.values()),
        "repository_object_format": "sha1",
        "shared_with_groups": [_share(state, path, role) for path, role in repo.shares.items()],
        "updated_at": stamp(repo.updated_at),
    }
    made |= repo.gitlab.settings
    if repo.owner.kind != "Organization":
        made["owner"] = user(links, repo.owner)
    if repo.parent is not None:
        made["forked_from_project"] = simple_project(state, links, repo.parent)
    if viewer is not None:
        made["permissions"] = _permissions(state, repo, viewer)
    return made


def _share(state: Context, path: str, role: Any) -> Json:
    account = state.data.organizations[path].account
    return {
        "group_id": account.id,
        "group_name": account.name,
        "group_full_path": account.login,
        "group_access_level": int(level_of(role)),
        "expires_at": None,
    }


def _permissions(state: Context, repo: Repository, viewer: User) -> Json:
    own = repo.members.get(viewer.login)
    member = level_of(own) if own else AccessLevel.NO_ACCESS
    direct = AccessLevel.OWNER if viewer is repo.owner else member
    group = state.data.organizations.get(repo.owner.login.lower())
    of_group = level_of(group.role(repo.id, viewer)) if group else AccessLevel.NO_ACCESS

    def shown(level: AccessLevel) -> Json | None:
        return {"access_level": int(level), "notification_level": 3} if level else None

    return {"project_access": shown(direct), "group_access": shown(of_group)}


def hook_project(state: Context, links: Links, repo: Repository) -> Json:
    """A project as payloads of webhooks tell."""
    simple = simple_project(state, links, repo)
    return {
        "id": repo.id,
        "name": repo.name,
        "description": repo.description or "",
        "web_url": simple["web_url"],
        "avatar_url": None,
        "git_ssh_url": simple["ssh_url_to_repo"],
        "git_http_url": simple["http_url_to_repo"],
        "namespace": repo.owner.name,
        "visibility_level": 0 if repo.private else 20,
        "path_with_namespace": repo.full_name,
        "default_branch": repo.default_branch,
        "ci_config_path": None,
        "homepage": simple["web_url"],
        "url": simple["ssh_url_to_repo"],
        "ssh_url": simple["ssh_url_to_repo"],
        "http_url": simple["http_url_to_repo"],
    }


def hook_repository(links: Links, repo: Repository) -> Json:
    """The short form of a project that payloads hold beside the long one."""
    html = project_html(links, repo)
    host = links.web.partition("://")[2]
    return {
        "name": repo.name,
        "url": f"git@{host}:{repo.full_name}.git",
        "description": repo.description or "",
        "homepage": html,
        "git_http_url": f"{html}.git",
        "git_ssh_url": f"git@{host}:{repo.full_name}.git",
        "visibility_level": 0 if repo.private else 20,
    }


def group(links: Links, made: Organization) -> Json:
    """Entity `Group`."""
    account = made.account
    return {
        "id": account.id,
        "web_url": f"{links.web}/groups/{account.login}",
        "name": account.name,
        "path": account.login.rpartition("/")[2],
        "description": "",
        "visibility": "public",
        "share_with_group_lock": False,
        "require_two_factor_authentication": False,
        "two_factor_grace_period": 48,
        "project_creation_level": "developer",
        "auto_devops_enabled": None,
        "subgroup_creation_level": "maintainer",
        "emails_disabled": False,
        "mentions_disabled": None,
        "lfs_enabled": True,
        "default_branch_protection": 2,
        "avatar_url": None,
        "request_access_enabled": True,
        "full_name": account.login.replace("/", " / "),
        "full_path": account.login,
        "created_at": stamp(account.created_at),
        "parent_id": made.parent.account.id if made.parent else None,
    }
