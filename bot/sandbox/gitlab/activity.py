"""GitLab's log of a project: who pushed which branch, from what to what.

Source: https://docs.gitlab.com/api/events/#list-all-visible-events-for-a-project
"""

from __future__ import annotations

from bot.sandbox import refnames
from bot.sandbox.api import ApiResponse
from bot.sandbox.gitlab import json as basic
from bot.sandbox.gitlab.json import Json, stamp
from bot.sandbox.gitlab.routing import CODE, ApiRequest, page, route
from bot.sandbox.records.refs import Activity, ActivityKind

_ACTIONS = {
    ActivityKind.BRANCH_CREATION: ("created", "pushed new"),
    ActivityKind.BRANCH_DELETION: ("removed", "deleted"),
}
_PUSHED = ("pushed", "pushed to")

MANY = 4
"""Branches that a push has moved where its entry names none: GitLab tells those one by one that are
three or fewer."""


@route("GET", "/projects/{id}/events", CODE)
def list_events(request: ApiRequest) -> ApiResponse:
    """Pushes to branches, newest first unless asked otherwise: this forge logs nothing else."""
    given, repo = request.input, request.project
    action, sort = given.text("action"), given.choice("sort", ("asc", "desc")) or "desc"
    before, after = given.day("before"), given.day("after")
    found = [
        each
        for each in repo.activity
        if each.ref.startswith(refnames.branch_ref(""))
        and request.state.activity_shown(each)
        and (before is None or each.timestamp.date() < before)
        and (after is None or each.timestamp.date() > after)
    ]
    shown = found if action in (None, "pushed") else []
    ordered = shown if sort == "asc" else shown[::-1]
    return page(request, ordered, lambda each: _event(request, each))


def _event(request: ApiRequest, pushed: Activity) -> Json:
    action, name = _ACTIONS.get(pushed.kind, _PUSHED)
    made, gone = action == "created", action == "removed"
    branch = refnames.branch_name(pushed.ref)
    return {
        "id": pushed.id,
        "project_id": request.project.id,
        "action_name": name,
        "target_id": None,
        "target_iid": None,
        "target_type": None,
        "author_id": pushed.actor.id,
        "target_title": None,
        "created_at": stamp(pushed.timestamp),
        "author": basic.user(request.links, pushed.actor),
        "imported": False,
        "imported_from": "none",
        "push_data": {
            "commit_count": 0 if gone else 1,
            "action": action,
            "ref_type": "branch",
            "commit_from": None if made else pushed.before,
            "commit_to": None if gone or not branch else pushed.after,
            "ref": branch or None,
            "commit_title": None,
            "ref_count": None if branch else MANY,
        },
        "author_username": pushed.actor.login,
    }
