"""GitLab's JSON for notes, discussions, emoji and issues."""

from __future__ import annotations

from collections.abc import Sequence

from bot.sandbox.api import Links
from bot.sandbox.gitlab import json as basic
from bot.sandbox.gitlab.json import Json, stamp, stamp_or_none
from bot.sandbox.gitlab.merge_request_json import label, references, tasks, votes
from bot.sandbox.gitlab.rules import threads
from bot.sandbox.records.accounts import User
from bot.sandbox.records.merge_requests import MergeRequest, Note, Position
from bot.sandbox.records.repository import Comment, Issue, Thread
from bot.sandbox.records.talk import Reaction


def note(links: Links, found: Note) -> Json:
    """Entity `Note`."""
    on_mr = isinstance(found.thread, MergeRequest)
    made: Json = {
        "id": found.id,
        "type": found.kind,
        "body": found.body,
        "author": basic.user(links, found.user),
        "created_at": stamp(found.created_at),
        "updated_at": stamp(found.updated_at),
        "system": found.system,
        "noteable_id": found.thread.id,
        "noteable_type": "MergeRequest" if on_mr else "Issue",
        "project_id": found.thread.repo.id,
        "commit_id": None,
        "resolvable": found.resolvable,
        "confidential": found.internal,
        "internal": found.internal,
        "imported": False,
        "imported_from": "none",
        "noteable_iid": found.thread.number,
        "attachment": None,
        "commands_changes": {},
    }
    if found.position is not None:
        made["position"] = position(found.position)
    if found.resolvable:
        made |= {
            "resolved": found.resolved_by is not None,
            "resolved_by": basic.user_or_none(links, found.resolved_by),
            "resolved_at": stamp_or_none(found.resolved_at),
        }
    return made


def position(found: Position) -> Json:
    """Where a note stands in a diff."""
    return {
        "base_sha": found.base_sha,
        "start_sha": found.start_sha,
        "head_sha": found.head_sha,
        "old_path": found.old_path,
        "new_path": found.new_path,
        "position_type": found.position_type,
        "old_line": found.old_line,
        "new_line": found.new_line,
        "line_range": dict(found.line_range) if found.line_range else None,
    }


def discussion(links: Links, found: Sequence[Note]) -> Json:
    """Entity `Discussion`; one note without a type stands alone."""
    return {
        "id": found[0].discussion,
        "individual_note": found[0].kind is None,
        "notes": [note(links, one) for one in found],
    }


def emoji(links: Links, on: Comment | Thread, found: Reaction) -> Json:
    """Entity `AwardEmoji`."""
    return {
        "id": found.id,
        "name": found.content,
        "user": basic.user(links, found.user),
        "created_at": stamp(found.created_at),
        "updated_at": stamp(found.created_at),
        "awardable_id": on.id,
        "awardable_type": awardable(on),
        "url": None,
    }


def awardable(on: Comment | Thread) -> str:
    """What carries an emoji, in GitLab's words."""
    if isinstance(on, Comment):
        return "Note"
    return "MergeRequest" if isinstance(on, MergeRequest) else "Issue"


def issue(links: Links, found: Issue, viewer: User | None = None, *, details: bool = False) -> Json:
    """Entity `Issue`."""
    repo = found.repo
    people = [basic.user(links, one) for one in found.assignees]
    own = f"{basic.project_url(links, repo)}/issues/{found.number}"
    closed = found.state != "open"
    return {
        "id": found.id,
        "iid": found.number,
        "project_id": repo.id,
        "title": found.title,
        "description": found.body,
        "state": "closed" if closed else "opened",
        "created_at": stamp(found.created_at),
        "updated_at": stamp(found.updated_at),
        "closed_at": stamp_or_none(found.closed_at),
        "closed_by": None,
        "labels": [label(repo, one) if details else one.name for one in found.labels],
        "milestone": None,
        "assignees": people,
        "author": basic.user(links, found.user),
        "type": "ISSUE",
        "assignee": people[0] if people else None,
        "user_notes_count": sum(not one.system for one in threads.notes(found)),
        "merge_requests_count": 0,
        "upvotes": votes(found, "thumbsup"),
        "downvotes": votes(found, "thumbsdown"),
        "due_date": None,
        "confidential": False,
        "discussion_locked": found.locked or None,
        "issue_type": "issue",
        "web_url": f"{basic.project_html(links, repo)}/-/issues/{found.number}",
        "time_stats": {
            "time_estimate": 0,
            "total_time_spent": 0,
            "human_time_estimate": None,
            "human_total_time_spent": None,
        },
        "task_completion_status": tasks(found),
        "blocking_issues_count": 0,
        "has_tasks": bool(tasks(found)["count"]),
        "task_status": "",
        "_links": {
            "self": own,
            "notes": f"{own}/notes",
            "award_emoji": f"{own}/award_emoji",
            "project": basic.project_url(links, repo),
            "closed_as_duplicate_of": None,
        },
        "references": references(found, "#"),
        "severity": "UNKNOWN",
        "subscribed": viewer is found.user,
        "moved_to_id": None,
        "imported": False,
        "imported_from": "none",
        "service_desk_reply_to": None,
    }
