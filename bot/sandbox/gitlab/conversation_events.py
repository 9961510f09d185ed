"""Payloads of webhooks about merge requests, notes, issues, emoji and pipelines.

Source: https://docs.gitlab.com/user/project/integrations/webhook_events/
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from bot.sandbox.api import Links
from bot.sandbox.git.objects import Commit
from bot.sandbox.gitlab import json as basic
from bot.sandbox.gitlab import merge_request_json as more
from bot.sandbox.gitlab import note_json as talk
from bot.sandbox.gitlab import status_json
from bot.sandbox.gitlab.deliveries import HookEvent, payload
from bot.sandbox.gitlab.json import Json, hook_stamp
from bot.sandbox.gitlab.rules import merge_status, pipelines, threads
from bot.sandbox.records.accounts import User
from bot.sandbox.records.memory import Happening
from bot.sandbox.records.merge_requests import MergeRequest, Note
from bot.sandbox.records.repository import Issue, Repository, Thread
from bot.sandbox.records.talk import Label
from bot.sandbox.rules.state import ForgeState

_STATE_IDS = {"opened": 1, "closed": 2, "merged": 3}


@payload("merge_request")
def merge_request(state: ForgeState, links: Links, happening: Happening) -> Iterator[HookEvent]:
    """A merge request: opened, changed, approved, merged, closed."""
    mr, extra = happening.extra["merge_request"], happening.extra
    own = _merge_request(state, links, mr) | {"action": happening.action}
    for key in ("oldrev", "system_action"):
        if key in extra:
            own[key] = extra[key]
    own["system"] = "system_action" in extra
    labels = [_label(mr.repo, one) for one in mr.labels]
    body = _head(state, links, happening, "merge_request") | {
        "object_attributes": own,
        "labels": labels,
        "changes": _changes(links, mr.repo, extra.get("changes", {})),
        "repository": basic.hook_repository(links, mr.repo),
    }
    if mr.assignees:
        body["assignees"] = [basic.hook_user(links, one) for one in mr.assignees]
    if mr.requested_reviewers:
        body["reviewers"] = [
            basic.hook_user(links, one)
            | {
                "state": mr.reviews_by[one.id].state if one.id in mr.reviews_by else "unreviewed",
                "re_requested": False,
            }
            for one in mr.requested_reviewers
        ]
    yield HookEvent(
        event="Merge Request Hook",
        flag="merge_requests_events",
        body=body,
        action=happening.action or "",
        system=True,
    )


@payload("note")
def note(state: ForgeState, links: Links, happening: Happening) -> Iterator[HookEvent]:
    """A note that somebody wrote, or changed."""
    found: Note = happening.extra["note"]
    own = _note(links, found) | {"action": happening.action}
    confidential = found.internal
    kind = "confidential_note" if confidential else "note"
    body = _head(state, links, happening, "note") | {
        "event_type": kind,
        "project_id": found.thread.repo.id,
        "object_attributes": own,
        "repository": basic.hook_repository(links, found.thread.repo),
        **_carrier(state, links, found.thread),
    }
    yield HookEvent(
        event="Confidential Note Hook" if confidential else "Note Hook",
        flag="confidential_note_events" if confidential else "note_events",
        body=body,
        action=happening.action or "",
    )


@payload("issue")
def issue(state: ForgeState, links: Links, happening: Happening) -> Iterator[HookEvent]:
    """An issue: opened, changed, closed."""
    found: Issue = happening.extra["issue"]
    body = _head(state, links, happening, "issue") | {
        "object_attributes": _issue(links, found) | {"action": happening.action},
        "labels": [_label(found.repo, one) for one in found.labels],
        "changes": _changes(links, found.repo, happening.extra.get("changes", {})),
        "repository": basic.hook_repository(links, found.repo),
        "assignees": [basic.hook_user(links, one) for one in found.assignees],
    }
    yield HookEvent(
        event="Issue Hook", flag="issues_events", body=body, action=happening.action or ""
    )


@payload("emoji")
def emoji(state: ForgeState, links: Links, happening: Happening) -> Iterator[HookEvent]:
    """An emoji: awarded or revoked."""
    reaction, on = happening.extra["reaction"], happening.extra["on"]
    on_note = isinstance(on, Note)
    thread = on.thread if on_note else on
    place = _thread_url(links, thread) + (f"#note_{on.id}" if on_note else "")
    made = hook_stamp(reaction.created_at)
    body = _head(state, links, happening, "emoji") | {
        "event_type": happening.action,
        "project_id": thread.repo.id,
        "object_attributes": {
            "user_id": reaction.user.id,
            "created_at": made,
            "id": reaction.id,
            "name": reaction.content,
            "awardable_type": talk.awardable(on),
            "awardable_id": on.id,
            "updated_at": made,
            "action": happening.action,
            "awarded_on_url": place,
        },
        **_carrier(state, links, thread),
    }
    if on_note:
        body["note"] = _note(links, on)
    yield HookEvent(
        event="Emoji Hook", flag="emoji_events", body=body, action=happening.action or ""
    )


@payload("pipeline")
def pipeline(state: ForgeState, links: Links, happening: Happening) -> Iterator[HookEvent]:
    """A pipeline whose state changed."""
    found, repo = happening.extra["pipeline"], repo_of(happening)
    over = status_json.finished(found)
    commit = state.git(repo).commit(found.sha)
    opened = [
        mr
        for target in state.data.repositories.values()
        for mr in target.open_pulls.values()
        if isinstance(mr, MergeRequest) and pipelines.head_pipeline(mr) is found
    ]
    body = {
        "object_kind": "pipeline",
        "object_attributes": {
            "id": found.id,
            "iid": found.iid,
            "name": None,
            "ref": found.ref,
            "tag": False,
            "sha": found.sha,
            "before_sha": "0" * 40,
            "source": found.source,
            "status": found.state,
            "detailed_status": {"success": "passed"}.get(found.state, found.state),
            "stages": ["external"],
            "created_at": hook_stamp(found.created_at),
            "finished_at": hook_stamp(over) if over else None,
            "duration": 0,
            "queued_duration": 0,
            "protected_ref": False,
            "variables": [],
            "url": f"{basic.project_html(links, repo)}/-/pipelines/{found.id}",
        },
        "merge_request": _of_pipeline(state, links, opened[0]) if opened else None,
        "user": basic.hook_user(links, found.user),
        "project": basic.hook_project(state, links, repo),
        "commit": _commit(links, repo, commit),
        "builds": [
            {
                "id": status.id,
                "stage": "external",
                "name": status.name,
                "status": status.state,
                "created_at": hook_stamp(status.created_at),
                "started_at": hook_stamp(status.started_at) if status.started_at else None,
                "finished_at": hook_stamp(status.finished_at) if status.finished_at else None,
                "duration": 0.0,
                "queued_duration": 0.0,
                "failure_reason": "api_failure" if status.state == "failed" else None,
                "when": "on_success",
                "manual": False,
                "allow_failure": False,
                "user": basic.hook_user(links, status.user),
                "runner": None,
                "artifacts_file": {"filename": None, "size": None},
                "environment": None,
            }
            for status in found.latest
        ],
    }
    yield HookEvent(event="Pipeline Hook", flag="pipeline_events", body=body, action=found.state)


def _head(state: ForgeState, links: Links, happening: Happening, kind: str) -> Json:
    return {
        "object_kind": kind,
        "event_type": kind,
        "user": basic.hook_user(links, happening.sender),
        "project": basic.hook_project(state, links, repo_of(happening)),
    }


def _merge_request(state: ForgeState, links: Links, mr: MergeRequest) -> Json:
    repo, source = mr.repo, mr.head_repo or mr.repo
    head = pipelines.head_pipeline(mr)
    version = mr.versions[-1]
    return _thread(mr) | {
        "head_pipeline_id": head.id if head else None,
        "merge_commit_sha": mr.merge_commit_sha if mr.merged else None,
        "merge_error": mr.merge_error,
        "merge_params": {"force_remove_source_branch": str(int(mr.remove_source))},
        "merge_status": merge_status.merge_status(state, mr),
        "merge_user_id": mr.merged_by.id if mr.merged_by else None,
        "merge_when_pipeline_succeeds": mr.order is not None,
        "source_branch": mr.head_ref,
        "source_project_id": mr.head_repo.id if mr.head_repo else None,
        "state_id": _STATE_IDS[mr.word],
        "target_branch": mr.base_ref,
        "target_project_id": repo.id,
        "url": more.url(links, mr),
        "source": basic.hook_project(state, links, source),
        "target": basic.hook_project(state, links, repo),
        "last_commit": _commit(links, source, state.git(repo).commit(mr.head_sha))
        | {"title": state.git(repo).commit(mr.head_sha).message.split("\n")[0]},
        "work_in_progress": mr.draft,
        "draft": mr.draft,
        "reviewer_ids": [one.id for one in mr.requested_reviewers],
        "labels": [_label(repo, one) for one in mr.labels],
        "state": mr.word,
        "blocking_discussions_resolved": threads.all_resolved(mr),
        "first_contribution": False,
        "detailed_merge_status": merge_status.detailed(state, mr),
        "prepared_at": None if mr.preparing else hook_stamp(version.created_at),
        "target_branch_protected": False,
    }


def _thread(thread: Thread) -> Json:
    edit, people = thread.edit, [one.id for one in thread.assignees]
    return {
        "assignee_id": people[0] if people else None,
        "assignee_ids": people,
        "author_id": thread.user.id,
        "created_at": hook_stamp(thread.created_at),
        "description": thread.body,
        "id": thread.id,
        "iid": thread.number,
        "last_edited_at": hook_stamp(edit.at) if edit else None,
        "last_edited_by_id": edit.editor.id if edit else None,
        "milestone_id": None,
        "time_estimate": 0,
        "title": thread.title,
        "updated_at": hook_stamp(thread.updated_at),
        "updated_by_id": edit.editor.id if edit else None,
        "total_time_spent": 0,
        "time_change": 0,
        "human_total_time_spent": None,
        "human_time_change": None,
        "human_time_estimate": None,
    }


def _issue(links: Links, found: Issue) -> Json:
    closed = found.state != "open"
    return _thread(found) | {
        "closed_at": hook_stamp(found.closed_at) if found.closed_at else None,
        "confidential": False,
        "discussion_locked": found.locked or None,
        "due_date": None,
        "moved_to_id": None,
        "duplicated_to_id": None,
        "project_id": found.repo.id,
        "relative_position": 0,
        "state_id": 2 if closed else 1,
        "url": _thread_url(links, found),
        "labels": [_label(found.repo, one) for one in found.labels],
        "state": "closed" if closed else "opened",
        "severity": "unknown",
        "customer_relations_contacts": [],
    }


def _note(links: Links, found: Note) -> Json:
    thread = found.thread
    at = None if found.position is None else talk.position(found.position)
    written = None if found.original is None else talk.position(found.original)
    return {
        "attachment": None,
        "author_id": found.user.id,
        "change_position": None,
        "commit_id": None,
        "created_at": hook_stamp(found.created_at),
        "discussion_id": found.discussion,
        "id": found.id,
        "internal": found.internal,
        "line_code": found.line_code,
        "note": found.body,
        "noteable_id": thread.id,
        "noteable_type": "MergeRequest" if isinstance(thread, MergeRequest) else "Issue",
        "original_position": written,
        "position": at,
        "project_id": thread.repo.id,
        "resolved_at": hook_stamp(found.resolved_at) if found.resolved_at else None,
        "resolved_by_id": found.resolved_by.id if found.resolved_by else None,
        "resolved_by_push": None,
        "st_diff": None,
        "system": found.system,
        "type": found.kind,
        "updated_at": hook_stamp(found.updated_at),
        "updated_by_id": None,
        "description": found.body,
        "url": f"{_thread_url(links, thread)}#note_{found.id}",
    }


def _carrier(state: ForgeState, links: Links, thread: Thread) -> Json:
    """What a note or an emoji stands at, as payloads hold it."""
    if isinstance(thread, MergeRequest):
        return {"merge_request": _merge_request(state, links, thread)}
    return {"issue": _issue(links, thread)} if isinstance(thread, Issue) else {}


def _of_pipeline(state: ForgeState, links: Links, mr: MergeRequest) -> Json:
    return {
        "id": mr.id,
        "iid": mr.number,
        "title": mr.title,
        "source_branch": mr.head_ref,
        "source_project_id": mr.head_repo.id if mr.head_repo else None,
        "target_branch": mr.base_ref,
        "target_project_id": mr.repo.id,
        "state": mr.word,
        "merge_status": merge_status.merge_status(state, mr),
        "detailed_merge_status": merge_status.detailed(state, mr),
        "url": more.url(links, mr),
    }


def _commit(links: Links, repo: Repository, commit: Commit) -> Json:
    return {
        "id": commit.sha,
        "message": commit.message,
        "title": commit.message.split("\n")[0],
        "timestamp": commit.author.when.isoformat(),
        "url": f"{basic.project_html(links, repo)}/-/commit/{commit.sha}",
        "author": {"name": commit.author.name, "email": "[REDACTED]"},
    }


def _thread_url(links: Links, thread: Thread) -> str:
    folder = "merge_requests" if isinstance(thread, MergeRequest) else "issues"
    return f"{basic.project_html(links, thread.repo)}/-/{folder}/{thread.number}"


def _label(repo: Repository, found: Label) -> Json:
    at = hook_stamp(repo.created_at)
    return {
        "id": found.id,
        "title": found.name,
        "color": found.color,
        "project_id": repo.id,
        "created_at": at,
        "updated_at": at,
        "template": False,
        "description": found.description,
        "type": "ProjectLabel",
        "group_id": None,
    }


def _changes(links: Links, repo: Repository, changes: dict[str, dict[str, Any]]) -> Json:
    return {
        field: {when: _plain(links, repo, value) for when, value in change.items()}
        for field, change in changes.items()
    }


def _plain(links: Links, repo: Repository, value: object) -> object:
    if isinstance(value, datetime):
        return hook_stamp(value)
    if isinstance(value, Label):
        return _label(repo, value)
    if isinstance(value, User):
        return basic.hook_user(links, value)
    return [_plain(links, repo, one) for one in value] if isinstance(value, list) else value


def repo_of(happening: Happening) -> Repository:
    """The project that a happening is in."""
    if happening.repo is None:
        raise ValueError(f"{happening.kind} happens in a project")
    return happening.repo
