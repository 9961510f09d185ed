"""GitHub's JSON for pull requests and what hangs on them: reviews, comments, labels, checks.

Longer than 400 lines: a function for each schema, which use each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from bot.sandbox.api import Links
from bot.sandbox.github import json as basic
from bot.sandbox.github.json import Json, stamp, stamp_or_none
from bot.sandbox.records.accounts import Role, User
from bot.sandbox.records.repository import (
    Comment,
    Issue,
    Pull,
    Repository,
    Review,
    Thread,
)
from bot.sandbox.records.talk import Label, Reaction
from bot.sandbox.rules.ids import node_id
from bot.sandbox.rules.state import ForgeState
from bot.sandbox.rules.talk import CONTENTS


def association(repo: Repository, who: User) -> str:
    """Schema `author-association`; no ground for any decision, as on GitHub."""
    if who is repo.owner:
        return "OWNER"
    if repo.members.get(who.login, Role.NONE) > Role.READ:
        return "COLLABORATOR"
    return "CONTRIBUTOR" if who.id in repo.contributors else "NONE"


def label(links: Links, repo: Repository, made: Label) -> Json:
    """Schema `label`."""
    return {
        "id": made.id,
        "node_id": node_id("LA", made.id),
        "url": f"{basic.repo_url(links, repo)}/labels/{quote(made.name)}",
        "name": made.name,
        "description": made.description,
        "color": made.color,
        "default": False,
    }


def reaction(links: Links, made: Reaction) -> Json:
    """Schema `reaction`."""
    return {
        "id": made.id,
        "node_id": node_id("REA", made.id),
        "user": basic.user(links, made.user),
        "content": made.content,
        "created_at": stamp(made.created_at),
    }


def rollup(url: str, reactions: Sequence[Reaction]) -> Json:
    """Schema `reaction-rollup`."""
    counts = Counter(r.content for r in reactions)
    numbers = {content: counts[content] for content in CONTENTS}
    return {"url": f"{url}/reactions", "total_count": len(reactions), **numbers}


def comment(links: Links, made: Comment) -> Json:
    """Schema `issue-comment`."""
    thread, repo = made.thread, made.thread.repo
    url = f"{basic.repo_url(links, repo)}/issues/comments/{made.id}"
    app = made.user.app
    return {
        "url": url,
        "html_url": f"{_html(links, thread)}#issuecomment-{made.id}",
        "issue_url": f"{basic.repo_url(links, repo)}/issues/{thread.number}",
        "id": made.id,
        "node_id": node_id("IC", made.id),
        "user": basic.user(links, made.user),
        "created_at": stamp(made.created_at),
        "updated_at": stamp(made.updated_at),
        "author_association": association(repo, made.user),
        "body": made.body,
        "reactions": rollup(url, made.reactions),
        "performed_via_github_app": basic.app(links, app) if app else None,
    }


def review(links: Links, made: Review) -> Json:
    """Schema `pull-request-review`."""
    pull = made.pull
    html = f"{_html(links, pull)}#pullrequestreview-{made.id}"
    url = _url(links, pull)
    return {
        "id": made.id,
        "node_id": node_id("PRR", made.id),
        "user": basic.user(links, made.user),
        "body": made.body,
        "state": made.state,
        "html_url": html,
        "pull_request_url": url,
        "author_association": association(pull.repo, made.user),
        "_links": {"html": {"href": html}, "pull_request": {"href": url}},
        "submitted_at": stamp(made.submitted_at),
        "commit_id": made.commit_id,
    }


def webhook_review(links: Links, made: Review) -> Json:
    """A review as webhooks spell it: its state in small letters."""
    return review(links, made) | {
        "state": made.state.lower(),
        "body": made.body or None,
        "updated_at": stamp(made.updated_at),
    }


def issue(links: Links, thread: Thread) -> Json:
    """Schema `issue`, which every pull request is too."""
    api = basic.repo_url(links, thread.repo)
    url = f"{api}/issues/{thread.number}"
    html = _html(links, thread)
    assignees = [basic.user(links, who) for who in thread.assignees]
    made = {
        "id": thread.id,
        "node_id": node_id("PR" if isinstance(thread, Pull) else "I", thread.id),
        "url": url,
        "repository_url": api,
        "labels_url": url + "/labels{/name}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "html_url": html,
        "number": thread.number,
        "state": thread.state,
        "state_reason": thread.state_reason if isinstance(thread, Issue) else None,
        "title": thread.title,
        "body": thread.body,
        "user": basic.user(links, thread.user),
        "labels": [label(links, thread.repo, made) for made in thread.labels],
        "assignee": assignees[0] if assignees else None,
        "assignees": assignees,
        "milestone": None,
        "locked": thread.locked,
        "active_lock_reason": None,
        "comments": len(thread.comments),
        "closed_at": stamp_or_none(thread.closed_at),
        "created_at": stamp(thread.created_at),
        "updated_at": stamp(thread.updated_at),
        "author_association": association(thread.repo, thread.user),
        "reactions": rollup(url, thread.reactions),
        "performed_via_github_app": None,
        "timeline_url": f"{url}/timeline",
    }
    if isinstance(thread, Pull):
        made["draft"] = thread.draft
        made["pull_request"] = {
            "url": _url(links, thread),
            "html_url": html,
            "diff_url": f"{html}.diff",
            "patch_url": f"{html}.patch",
            "merged_at": stamp_or_none(thread.merged_at),
        }
    return made


def simple_pull(links: Links, pull: Pull) -> Json:
    """Schema `pull-request-simple`: what lists hold, without `mergeable`."""
    url, html = _url(links, pull), _html(links, pull)
    api = basic.repo_url(links, pull.repo)
    issue_url = f"{api}/issues/{pull.number}"
    statuses = f"{api}/statuses/{pull.head_sha}"
    assignees = [basic.user(links, who) for who in pull.assignees]
    return {
        "url": url,
        "id": pull.id,
        "node_id": node_id("PR", pull.id),
        "html_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "issue_url": issue_url,
        "commits_url": f"{url}/commits",
        "review_comments_url": f"{url}/comments",
        "review_comment_url": f"{api}/pulls/comments{{/number}}",
        "comments_url": f"{issue_url}/comments",
        "statuses_url": statuses,
        "number": pull.number,
        "state": pull.state,
        "locked": pull.locked,
        "active_lock_reason": None,
        "title": pull.title,
        "user": basic.user(links, pull.user),
        "body": pull.body,
        # GitHub sends null for a description that is not there, against its own description.
        "labels": [
            label(links, pull.repo, made) | {"description": made.description or ""}
            for made in pull.labels
        ],
        "milestone": None,
        "created_at": stamp(pull.created_at),
        "updated_at": stamp(pull.updated_at),
        "closed_at": stamp_or_none(pull.closed_at),
        "merged_at": stamp_or_none(pull.merged_at),
        "merge_commit_sha": pull.merge_commit_sha,
        "assignee": assignees[0] if assignees else None,
        "assignees": assignees,
        "requested_reviewers": [basic.user(links, who) for who in pull.requested_reviewers],
        "requested_teams": [],
        "head": _end(links, pull.head_repo, pull.head_ref, pull.head_sha),
        "base": _end(links, pull.repo, pull.base_ref, pull.base_sha),
        "_links": {
            "self": {"href": url},
            "html": {"href": html},
            "issue": {"href": issue_url},
            "comments": {"href": f"{issue_url}/comments"},
            "review_comments": {"href": f"{url}/comments"},
            "review_comment": {"href": f"{api}/pulls/comments{{/number}}"},
            "commits": {"href": f"{url}/commits"},
            "statuses": {"href": statuses},
        },
        "author_association": association(pull.repo, pull.user),
        "auto_merge": None,
        "draft": pull.draft,
    }


def pull(
    state: ForgeState,
    links: Links,
    made: Pull,
    mergeable: tuple[bool | None, str] = (None, "unknown"),
) -> Json:
    """Schema `pull-request`, with what `Pulls.mergeable` said."""
    files = state.pulls.files(made)
    return simple_pull(links, made) | {
        "merged": made.merged,
        "mergeable": mergeable[0],
        "rebaseable": mergeable[0],
        "mergeable_state": mergeable[1],
        "merged_by": basic.user_or_none(links, made.merged_by),
        "comments": len(made.comments),
        "review_comments": len(made.remarks),
        "maintainer_can_modify": made.maintainer_can_modify,
        "commits": len(state.pulls.commits(made)),
        "additions": sum(f.additions for f in files),
        "deletions": sum(f.deletions for f in files),
        "changed_files": len(files),
    }


def minimal_pull(links: Links, made: Pull) -> Json:
    """Schema `pull-request-minimal`."""

    def end(repo: Repository, ref: str, sha: str) -> Json:
        where = {"id": repo.id, "url": basic.repo_url(links, repo), "name": repo.name}
        return {"ref": ref, "sha": sha, "repo": where}

    return {
        "id": made.id,
        "number": made.number,
        "url": _url(links, made),
        "head": end(made.head_repo or made.repo, made.head_ref, made.head_sha),
        "base": end(made.repo, made.base_ref, made.base_sha),
    }


def _end(links: Links, repo: Repository | None, ref: str, sha: str) -> dict[str, Any]:
    if repo is None:  # the fork is gone
        return {"label": None, "ref": ref, "sha": sha, "user": None, "repo": None}
    return {
        "label": f"{repo.owner.login}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": basic.user(links, repo.owner),
        "repo": basic.repository(links, repo),
    }


def _url(links: Links, made: Pull) -> str:
    return f"{basic.repo_url(links, made.repo)}/pulls/{made.number}"


def _html(links: Links, made: Thread) -> str:
    kind = "pull" if isinstance(made, Pull) else "issues"
    return f"{basic.repo_html(links, made.repo)}/{kind}/{made.number}"
