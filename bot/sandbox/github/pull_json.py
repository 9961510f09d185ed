"""GitHub's JSON for pull requests and what hangs on them: reviews, comments, labels, checks.

Longer than 400 lines: a function for each schema, which use each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from bot.sandbox.check_records import CheckRun, CheckSuite, Status
from bot.sandbox.git.diffs import FileDiff
from bot.sandbox.git.objects import Commit
from bot.sandbox.github import json as basic
from bot.sandbox.github.json import Json, Links, stamp, stamp_or_none
from bot.sandbox.model import (
    Comment,
    Issue,
    Label,
    Pull,
    Reaction,
    Repository,
    Review,
    Role,
    Thread,
    User,
)
from bot.sandbox.rules import checks as rules
from bot.sandbox.rules.state import State, node_id
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
    state: State, links: Links, made: Pull, mergeable: tuple[bool | None, str] = (None, "unknown")
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


def file(links: Links, repo: Repository, head: str, found: FileDiff) -> Json:
    """Schema `diff-entry`."""
    html, path = basic.repo_html(links, repo), quote(found.path)
    made: Json = {
        "sha": found.sha,
        "filename": found.path,
        "status": found.status,
        "additions": found.additions,
        "deletions": found.deletions,
        "changes": found.additions + found.deletions,
        "blob_url": f"{html}/blob/{head}/{path}",
        "raw_url": f"{html}/raw/{head}/{path}",
        "contents_url": f"{basic.repo_url(links, repo)}/contents/{path}?ref={head}",
    }
    if found.patch:
        made["patch"] = found.patch
    if found.old_path is not None:
        made["previous_filename"] = found.old_path
    return made


def check_run(state: State, links: Links, run: CheckRun) -> Json:
    """Schema `check-run`."""
    suite = run.suite
    url = f"{basic.repo_url(links, suite.repo)}/check-runs/{run.id}"
    made: Json = {
        "id": run.id,
        "head_sha": run.head_sha,
        "node_id": node_id("CR", run.id),
        "external_id": run.external_id,
        "url": url,
        "html_url": f"{basic.repo_html(links, suite.repo)}/runs/{run.id}",
        "details_url": run.details_url,
        "status": run.status,
        "conclusion": run.conclusion,
        "started_at": stamp(run.started_at),
        "completed_at": stamp_or_none(run.completed_at),
        "output": {
            "title": run.title,
            "summary": run.summary,
            "text": run.text,
            "annotations_count": len(run.annotations),
            "annotations_url": f"{url}/annotations",
        },
        "name": run.name,
        "check_suite": {"id": suite.id},
        "app": basic.app(links, suite.app),
        "pull_requests": [minimal_pull(links, p) for p in state.checks.pulls_of(suite)],
    }
    return made


def webhook_check_run(state: State, links: Links, run: CheckRun) -> Json:
    """Schema `check-run-with-simple-check-suite`."""
    suite = run.suite
    status, conclusion = rules.suite_verdict(suite)
    return check_run(state, links, run) | {
        "check_suite": {
            "id": suite.id,
            "node_id": node_id("CS", suite.id),
            "head_branch": suite.head_branch,
            "head_sha": suite.head_sha,
            "status": status,
            "conclusion": conclusion,
            "url": f"{basic.repo_url(links, suite.repo)}/check-suites/{suite.id}",
            "before": suite.before,
            "after": suite.head_sha,
            "pull_requests": [minimal_pull(links, p) for p in state.checks.pulls_of(suite)],
            "app": basic.app(links, suite.app),
            "created_at": stamp(suite.created_at),
            "updated_at": stamp(suite.updated_at),
        },
        "actions": list(run.actions),
    }


def check_suite(state: State, links: Links, suite: CheckSuite) -> Json:
    """Schema `check-suite`."""
    status, conclusion = rules.suite_verdict(suite)
    url = f"{basic.repo_url(links, suite.repo)}/check-suites/{suite.id}"
    head = state.git(suite.repo).commit(suite.head_sha)
    return {
        "id": suite.id,
        "node_id": node_id("CS", suite.id),
        "head_branch": suite.head_branch,
        "head_sha": suite.head_sha,
        "status": status,
        "conclusion": conclusion,
        "url": url,
        "before": suite.before,
        "after": suite.head_sha,
        "pull_requests": [minimal_pull(links, p) for p in state.checks.pulls_of(suite)],
        "app": basic.app(links, suite.app),
        "repository": basic.simple_repository(links, suite.repo),
        "created_at": stamp(suite.created_at),
        "updated_at": stamp(suite.updated_at),
        "head_commit": basic.simple_commit(state, head),
        "latest_check_runs_count": len(suite.runs),
        "check_runs_url": f"{url}/check-runs",
        "rerequestable": True,
        "runs_rerequestable": True,
    }


def check_annotations(links: Links, run: CheckRun) -> list[Json]:
    """Schema `check-annotation`, in the order they were sent."""
    html = basic.repo_html(links, run.suite.repo)
    return [
        {
            "path": note.path,
            "start_line": note.start_line,
            "end_line": note.end_line,
            "start_column": note.start_column,
            "end_column": note.end_column,
            "annotation_level": note.annotation_level,
            "title": note.title,
            "message": note.message,
            "raw_details": note.raw_details,
            "blob_href": f"{html}/blob/{run.head_sha}/{quote(note.path)}",
        }
        for note in run.annotations
    ]


def status(links: Links, repo: Repository, made: Status, *, simple: bool = False) -> Json:
    """Schema `status`, or `simple-commit-status` inside a combined status."""
    whole: Json = {
        "url": f"{basic.repo_url(links, repo)}/statuses/{made.sha}",
        "avatar_url": f"{links.web}/avatars/u/{made.creator.id}",
        "id": made.id,
        "node_id": node_id("SC", made.id),
        "state": made.state,
        "description": made.description,
        "target_url": made.target_url,
        "context": made.context,
        "created_at": stamp(made.created_at),
        "updated_at": stamp(made.created_at),
    }
    return whole if simple else whole | {"creator": basic.user(links, made.creator)}


def commit_files(
    state: State, links: Links, repo: Repository, found: Commit, files: Sequence[FileDiff]
) -> Json:
    """Schema `commit` with its files and counts."""
    added, gone = sum(f.additions for f in files), sum(f.deletions for f in files)
    return basic.commit(state, links, repo, found) | {
        "stats": {"total": added + gone, "additions": added, "deletions": gone},
        "files": [file(links, repo, found.sha, f) for f in files],
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
