"""GitHub's JSON for people, Apps, repositories, commits and refs: one function for each schema.

Longer than 400 lines: a function for each schema, which use each other.

Each function names the schema of GitHub's description that it fills.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from bot.sandbox.api import Links
from bot.sandbox.records.accounts import App, Role, User
from bot.sandbox.records.memory import Installation
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.ids import node_id

Json = dict[str, Any]


def stamp(when: datetime) -> str:
    """A time as GitHub writes it: `2026-11-21T10:00:00Z`."""
    return when.astimezone(UTC).isoformat(timespec="seconds").removesuffix("+00:00") + "Z"


def stamp_or_none(when: datetime | None) -> str | None:
    """A time, or null."""
    return None if when is None else stamp(when)


def user_node_id(who: User) -> str:
    """Global id of an account."""
    return node_id({"Bot": "BOT", "Organization": "O"}.get(who.kind, "U"), who.id)


def user(links: Links, who: User) -> Json:
    """Schema `simple-user`."""
    login = quote(who.login)
    url = f"{links.api}/users/{login}"
    page = f"apps/{who.app.slug}" if who.app else login
    return {
        "login": who.login,
        "id": who.id,
        "node_id": user_node_id(who),
        "avatar_url": f"{links.web}/avatars/u/{who.id}",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{links.web}/{page}",
        "followers_url": f"{url}/followers",
        "following_url": url + "/following{/other_user}",
        "gists_url": url + "/gists{/gist_id}",
        "starred_url": url + "/starred{/owner}{/repo}",
        "subscriptions_url": f"{url}/subscriptions",
        "organizations_url": f"{url}/orgs",
        "repos_url": f"{url}/repos",
        "events_url": url + "/events{/privacy}",
        "received_events_url": f"{url}/received_events",
        "type": who.kind,
        "user_view_type": "public",
        "site_admin": False,
    }


def user_or_none(links: Links, who: User | None) -> Json | None:
    """Schema `nullable-simple-user`."""
    return None if who is None else user(links, who)


def full_user(links: Links, who: User, repositories: int) -> Json:
    """Schema `public-user`."""
    return {
        **user(links, who),
        "name": who.name,
        "company": None,
        "blog": "",
        "location": None,
        "email": None,
        "hireable": None,
        "bio": None,
        "twitter_username": None,
        "public_repos": repositories,
        "public_gists": 0,
        "followers": 0,
        "following": 0,
        "created_at": stamp(who.created_at),
        "updated_at": stamp(who.created_at),
    }


def organization(links: Links, who: User) -> Json:
    """Schema `organization-simple`."""
    url = f"{links.api}/orgs/{quote(who.login)}"
    return {
        "login": who.login,
        "id": who.id,
        "node_id": user_node_id(who),
        "url": url,
        "repos_url": f"{url}/repos",
        "events_url": f"{url}/events",
        "hooks_url": f"{url}/hooks",
        "issues_url": f"{url}/issues",
        "members_url": url + "/members{/member}",
        "public_members_url": url + "/public_members{/member}",
        "avatar_url": f"{links.web}/avatars/u/{who.id}",
        "description": "",
    }


def app(links: Links, made: App) -> Json:
    """Schema `integration`."""
    return {
        "id": made.id,
        "client_id": made.client_id,
        "slug": made.slug,
        "node_id": node_id("A", made.id),
        "owner": user(links, made.owner),
        "name": made.name,
        "description": "",
        "external_url": f"{links.web}/{made.owner.login}",
        "html_url": f"{links.web}/apps/{made.slug}",
        "created_at": stamp(made.created_at),
        "updated_at": stamp(made.created_at),
        "permissions": dict(made.permissions),
        "events": list(made.events),
    }


def installation(links: Links, made: Installation) -> Json:
    """Schema `installation`."""
    return {
        "id": made.id,
        "client_id": made.app.client_id,
        "account": user(links, made.account),
        "repository_selection": "selected",
        "access_tokens_url": f"{links.api}/app/installations/{made.id}/access_tokens",
        "repositories_url": f"{links.api}/installation/repositories",
        "html_url": f"{links.web}/settings/installations/{made.id}",
        "app_id": made.app.id,
        "app_slug": made.app.slug,
        "target_id": made.account.id,
        "target_type": made.account.kind,
        "permissions": dict(made.permissions),
        "events": list(made.events),
        "created_at": stamp(made.created_at),
        "updated_at": stamp(made.created_at),
        "single_file_name": None,
        "has_multiple_single_files": False,
        "single_file_paths": [],
        "suspended_by": user_or_none(links, made.account if made.suspended_at else None),
        "suspended_at": stamp_or_none(made.suspended_at),
    }


_REPOSITORY_URLS = {
    "archive_url": "/{archive_format}{/ref}",
    "assignees_url": "/assignees{/user}",
    "blobs_url": "/git/blobs{/sha}",
    "branches_url": "/branches{/branch}",
    "collaborators_url": "/collaborators{/collaborator}",
    "comments_url": "/comments{/number}",
    "commits_url": "/commits{/sha}",
    "compare_url": "/compare/{base}...{head}",
    "contents_url": "/contents/{+path}",
    "contributors_url": "/contributors",
    "deployments_url": "/deployments",
    "downloads_url": "/downloads",
    "events_url": "/events",
    "forks_url": "/forks",
    "git_commits_url": "/git/commits{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "hooks_url": "/hooks",
    "issue_comment_url": "/issues/comments{/number}",
    "issue_events_url": "/issues/events{/number}",
    "issues_url": "/issues{/number}",
    "keys_url": "/keys{/key_id}",
    "labels_url": "/labels{/name}",
    "languages_url": "/languages",
    "merges_url": "/merges",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "pulls_url": "/pulls{/number}",
    "releases_url": "/releases{/id}",
    "stargazers_url": "/stargazers",
    "statuses_url": "/statuses/{sha}",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "tags_url": "/tags",
    "teams_url": "/teams",
    "trees_url": "/git/trees{/sha}",
}


def repo_url(links: Links, repo: Repository) -> str:
    """A repository's place in the API."""
    return f"{links.api}/repos/{repo.full_name}"


def repo_html(links: Links, repo: Repository) -> str:
    """A repository's page."""
    return f"{links.web}/{repo.full_name}"


def simple_repository(links: Links, repo: Repository) -> Json:
    """Schema `minimal-repository`, as far as it is required."""
    url = repo_url(links, repo)
    return {
        "id": repo.id,
        "node_id": node_id("R", repo.id),
        "name": repo.name,
        "full_name": repo.full_name,
        "private": repo.private,
        "owner": user(links, repo.owner),
        "html_url": repo_html(links, repo),
        "description": repo.description,
        "fork": repo.parent is not None,
        "url": url,
        **{name: url + rest for name, rest in _REPOSITORY_URLS.items()},
    }


def repository(links: Links, repo: Repository) -> Json:
    """Schema `repository` (and `repository-webhooks`)."""
    html = repo_html(links, repo)
    host = links.web.partition("://")[2]
    pulls = len(repo.open_pulls)
    return {
        **simple_repository(links, repo),
        "git_url": f"git://{host}/{repo.full_name}.git",
        "ssh_url": f"git@{host}:{repo.full_name}.git",
        "clone_url": f"{html}.git",
        "svn_url": html,
        "mirror_url": None,
        "homepage": None,
        "language": None,
        "license": None,
        "size": 0,
        "forks": 0,
        "forks_count": 0,
        "stargazers_count": 0,
        "watchers": 0,
        "watchers_count": 0,
        "open_issues": pulls,
        "open_issues_count": pulls,
        "default_branch": repo.default_branch,
        "has_issues": repo.has_issues,
        "has_projects": False,
        "has_wiki": False,
        "has_pages": False,
        "has_downloads": True,
        "has_discussions": False,
        "archived": repo.archived,
        "disabled": False,
        "allow_forking": True,
        "is_template": False,
        "web_commit_signoff_required": False,
        "topics": repo.topics,
        "visibility": "private" if repo.private else "public",
        "pushed_at": stamp(repo.pushed_at),
        "created_at": stamp(repo.created_at),
        "updated_at": stamp(repo.updated_at),
    }


def push_repository(links: Links, repo: Repository) -> Json:
    """The repository as webhook `push` spells it: times in epoch seconds, owner with a name."""
    whole = repository(links, repo)
    whole["owner"] = {**whole["owner"], "name": repo.owner.login, "email": None}
    return whole | {
        "created_at": int(repo.created_at.timestamp()),
        "pushed_at": int(repo.pushed_at.timestamp()),
        "stargazers": 0,
        "master_branch": repo.default_branch,
    }


def rights(role: Role) -> Json:
    """What somebody may do in a repository, spelled out."""
    return {
        "admin": role >= Role.ADMIN,
        "maintain": role >= Role.MAINTAIN,
        "push": role >= Role.WRITE,
        "triage": role >= Role.TRIAGE,
        "pull": role >= Role.READ,
    }


def full_repository(links: Links, repo: Repository, role: Role) -> Json:
    """Schema `full-repository`, with what the caller may do."""
    whole = repository(links, repo) | {
        "permissions": rights(role),
        "allow_merge_commit": True,
        "allow_squash_merge": True,
        "allow_rebase_merge": True,
        "allow_auto_merge": False,
        "delete_branch_on_merge": False,
        "allow_update_branch": True,
        "subscribers_count": 0,
        "network_count": 0,
    }
    if repo.parent is not None:
        whole["parent"] = whole["source"] = repository(links, repo.parent)
    return whole
