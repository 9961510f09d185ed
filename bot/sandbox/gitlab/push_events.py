"""Payloads of pushes: `Push Hook` for branches, `Tag Push Hook` for tags.

Source: https://docs.gitlab.com/user/project/integrations/webhook_events/#push-events
"""

from __future__ import annotations

from collections.abc import Iterator

from bot.sandbox import refnames
from bot.sandbox.api import Links
from bot.sandbox.git import history
from bot.sandbox.git.objects import Commit
from bot.sandbox.git.protocol import Git
from bot.sandbox.gitlab import json as basic
from bot.sandbox.gitlab import protection
from bot.sandbox.gitlab.deliveries import HookEvent, payload
from bot.sandbox.gitlab.json import Json
from bot.sandbox.records.accounts import User
from bot.sandbox.records.memory import Happening
from bot.sandbox.records.refs import ZERO, RefChange
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.state import ForgeState

MOST_COMMITS = 20
"""So many of the newest commits are in a payload."""


@payload("push")
def pushed(state: ForgeState, links: Links, happening: Happening) -> Iterator[HookEvent]:
    """What one changed ref is told as; refs of other kinds are not told."""
    change: RefChange = happening.extra["change"]
    repo = happening.repo
    if repo is None or not (refnames.is_branch(change.ref) or refnames.is_tag(change.ref)):
        return
    yield told(state, links, repo, change, happening.sender)


@payload("repository_update")
def updated(state: ForgeState, links: Links, happening: Happening) -> Iterator[HookEvent]:
    """What a whole push is told as, to system hooks alone: however many refs it changed.

    Source: https://docs.gitlab.com/administration/system_hooks/#repository-update-events
    """
    repo, actor = happening.repo, happening.sender
    changes: tuple[RefChange, ...] = happening.extra["changes"]
    seen = [c for c in changes if refnames.is_branch(c.ref) or refnames.is_tag(c.ref)]
    if repo is None or not seen:
        return
    body: Json = {
        "event_name": "repository_update",
        "user_id": actor.id,
        "user_name": actor.name,
        "user_email": "",
        "user_avatar": basic.avatar(links, actor),
        "project_id": repo.id,
        "project": basic.hook_project(state, links, repo),
        "changes": [{"before": c.before, "after": c.after, "ref": c.ref} for c in seen],
        "refs": [c.ref for c in seen],
    }
    yield HookEvent(event="System Hook", flag="repository_update_events", body=body, system=True)


def told(
    state: ForgeState, links: Links, repo: Repository, change: RefChange, actor: User
) -> HookEvent:
    """The payload of one changed branch or tag."""
    git, tags = state.git(repo), refnames.is_tag(change.ref)
    shas = [] if tags or change.deletes else _new_commits(git, repo, change)
    newest = shas[-MOST_COMMITS:]
    kind = "tag_push" if tags else "push"
    rules = protection.tag_rules if tags else protection.branch_rules
    name = refnames.tag_name(change.ref) if tags else refnames.branch_name(change.ref)
    message = None
    if tags and not change.deletes and git.kind(change.after) == "tag":
        message = git.tag(change.after).message.removesuffix("\n")
    body: Json = {
        "object_kind": kind,
        "event_name": kind,
        "before": change.before,
        "after": change.after,
        "ref": change.ref,
        "ref_protected": bool(rules(repo, name)),
        "checkout_sha": None if change.deletes else state.peel(repo, change.after),
        "message": message,
        "user_id": actor.id,
        "user_name": actor.name,
        "user_username": actor.login,
        "user_email": "",
        "user_avatar": basic.avatar(links, actor),
        "project_id": repo.id,
        "project": basic.hook_project(state, links, repo),
        "commits": [_commit(git, links, repo, git.commit(sha)) for sha in newest],
        "total_commits_count": len(shas),
        "push_options": {},
        "repository": basic.hook_repository(links, repo),
    }
    return HookEvent(
        event="Tag Push Hook" if tags else "Push Hook",
        flag=f"{kind}_events",
        body=body,
        branch="" if tags else name,
        system=True,
    )


def _new_commits(git: Git, repo: Repository, change: RefChange) -> list[str]:
    """Commits that a push brought to a branch, oldest first; a new branch's, its own."""
    base: str | None = change.before
    if change.before == ZERO:
        base = repo.branch(repo.default_branch)
        if change.ref == refnames.branch_ref(repo.default_branch):
            base = None
    if base is None:
        return list(history.ancestors(git, change.after))[::-1]
    if git.kind(base) != "commit":
        return [change.after]
    return history.commits_between(git, base, change.after)


def _commit(git: Git, links: Links, repo: Repository, made: Commit) -> Json:
    parent = made.parents[0] if made.parents else None
    files = git.diff(parent, made.sha)
    paths: dict[str, list[str]] = {"added": [], "modified": [], "removed": []}
    for file in files:
        paths.get(file.status, paths["modified"]).append(file.path)
    return {
        "id": made.sha,
        "message": made.message,
        "title": made.subject,
        "timestamp": made.committer.when.isoformat(),
        "url": f"{basic.project_html(links, repo)}/-/commit/{made.sha}",
        "author": {"name": made.author.name, "email": made.author.email},
        **paths,
    }
