"""GitLab's JSON for releases, deployments and environments, and the payloads that tell of them."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from bot.sandbox import refnames
from bot.sandbox.api import Links
from bot.sandbox.gitlab import commit_json
from bot.sandbox.gitlab import json as basic
from bot.sandbox.gitlab.conversation_events import repo_of
from bot.sandbox.gitlab.deliveries import HookEvent, payload
from bot.sandbox.gitlab.json import Json, hook_stamp, stamp, stamp_or_none
from bot.sandbox.records.memory import Happening
from bot.sandbox.records.pipelines import Deployment, Environment
from bot.sandbox.records.repository import Release, Repository
from bot.sandbox.rules.context import Context
from bot.sandbox.rules.state import ForgeState

_FORMATS = ("zip", "tar.gz", "tar.bz2", "tar")


def release(state: Context, links: Links, repo: Repository, found: Release) -> Json:
    """Entity `Release`."""
    html, path = basic.project_html(links, repo), f"/{repo.full_name}/-"
    made: Json = {
        "tag_name": found.tag,
        "name": found.name,
        "description": found.body,
        "description_html": f'<p dir="auto">{escape(found.body or "")}</p>',
        "created_at": stamp(found.created_at),
        "released_at": stamp_or_none(found.published_at),
        "upcoming_release": False,
        "author": basic.user(links, found.author),
        "commit_path": f"{path}/commit/{found.target}",
        "tag_path": f"{path}/tags/{found.tag}",
        "assets": _assets(html, repo, found),
        "evidences": [],
        "_links": {
            "self": f"{html}/-/releases/{found.tag}",
            "edit_url": f"{html}/-/releases/{found.tag}/edit",
        },
    }
    if refnames.tag_ref(found.tag) in repo.refs:
        commit = state.git(repo).commit(found.target)
        made["commit"] = commit_json.commit(links, repo, commit)
    return made


def environment(repo: Repository, found: Environment) -> Json:
    """Entity `Environment`."""
    return {
        "id": found.id,
        "name": found.name,
        "slug": found.name.lower().replace("/", "-")[:24],
        "external_url": found.external_url,
        "state": "available",
        "tier": "production" if found.name.startswith("prod") else "other",
        "created_at": stamp(found.created_at),
        "updated_at": stamp(found.created_at),
        "enable_advanced_logs_querying": False,
        "logs_api_path": f"/{repo.full_name}/-/logs/k8s.json?environment_name={found.name}",
        "auto_stop_at": None,
    }


def deployment(links: Links, repo: Repository, found: Deployment) -> Json:
    """Entity `Deployment`."""
    return {
        "id": found.id,
        "iid": found.iid,
        "ref": found.ref,
        "sha": found.sha,
        "created_at": stamp(found.created_at),
        "updated_at": stamp(found.updated_at),
        "status": found.status,
        "user": basic.user(links, found.user),
        "environment": environment(repo, found.environment),
        "deployable": None,
    }


@payload("release")
def release_told(state: ForgeState, links: Links, happening: Happening) -> Iterator[HookEvent]:
    """A release: made, changed, taken away."""
    found, repo = happening.extra["release"], repo_of(happening)
    html, commit = basic.project_html(links, repo), state.git(repo).commit(found.target)
    body = {
        "object_kind": "release",
        "id": found.id,
        "created_at": hook_stamp(found.created_at),
        "description": found.body or "",
        "name": found.name,
        "released_at": hook_stamp(found.published_at),
        "tag": found.tag,
        "project": basic.hook_project(state, links, repo),
        "url": f"{html}/-/releases/{found.tag}",
        "action": happening.action,
        "assets": _assets(html, repo, found),
        "commit": {
            "id": commit.sha,
            "message": commit.message,
            "title": commit.message.split("\n")[0],
            "timestamp": commit.author.when.isoformat(),
            "url": f"{html}/-/commit/{commit.sha}",
            "author": {"name": commit.author.name, "email": commit.author.email},
        },
    }
    yield HookEvent(
        event="Release Hook", flag="releases_events", body=body, action=happening.action or ""
    )


@payload("deployment")
def deployment_told(state: ForgeState, links: Links, happening: Happening) -> Iterator[HookEvent]:
    """A deployment whose state changed."""
    found, repo = happening.extra["deployment"], repo_of(happening)
    html, commit = basic.project_html(links, repo), state.git(repo).commit(found.sha)
    body = {
        "object_kind": "deployment",
        "status": found.status,
        "status_changed_at": hook_stamp(found.updated_at),
        "deployment_id": found.id,
        "deployable_id": None,
        "deployable_url": None,
        "environment": found.environment.name,
        "environment_tier": "production",
        "environment_slug": found.environment.name,
        "environment_external_url": found.environment.external_url,
        "project": basic.hook_project(state, links, repo),
        "short_sha": found.sha[:8],
        "user": basic.hook_user(links, found.user),
        "user_url": f"{links.web}/{found.user.login}",
        "commit_url": f"{html}/-/commit/{found.sha}",
        "commit_title": commit.message.split("\n")[0],
        "ref": found.ref,
    }
    yield HookEvent(
        event="Deployment Hook", flag="deployment_events", body=body, action=found.status
    )


def _assets(html: str, repo: Repository, found: Release) -> Json:
    archive = f"{html}/-/archive/{found.tag}/{repo.name}-{found.tag}"
    sources = [{"format": kind, "url": f"{archive}.{kind}"} for kind in _FORMATS]
    return {"count": len(sources), "links": [], "sources": sources}
