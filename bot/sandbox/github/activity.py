"""GitHub's activity log of a repository: which ref moved, from what to what, by whom and how."""

from __future__ import annotations

from bisect import bisect_left
from datetime import datetime, timedelta

from bot.sandbox import refnames
from bot.sandbox.api import ApiResponse
from bot.sandbox.errors import plain
from bot.sandbox.github import json as basic
from bot.sandbox.github.routing import ApiRequest, cursor_page, route
from bot.sandbox.records.refs import Activity, ActivityKind
from bot.sandbox.records.view import View
from bot.sandbox.rules.ids import node_id

_PERIODS = {"day": 1, "week": 7, "month": 30, "quarter": 90, "year": 365}
"""GitHub's periods, in days."""


@route("GET", "/repos/{owner}/{repo}/activity")
def list_activity(request: ApiRequest) -> ApiResponse:
    """Changes of branches, newest first, page by page with cursors."""
    repo, query = request.repo, request.query
    _check(request)
    ref = query.get("ref")
    whole = ref if not ref or ref.startswith("refs/") else refnames.branch_ref(ref)
    known = repo.activity_by_ref.get(whole, []) if whole else repo.activity
    start = bisect_left(known, _since(request), key=lambda a: a.timestamp)
    found = View(known, range(start, len(known)))

    def wanted(activity: Activity) -> bool:
        return _wanted(activity, request) and request.state.activity_shown(activity)

    ordered = found if query.get("direction") == "asc" else found.backwards()
    listed = cursor_page(request, ordered, lambda a: a.id, wanted)
    return ApiResponse(body=[_activity(request, a) for a in listed.body], headers=listed.headers)


def _check(request: ApiRequest) -> None:
    allowed = {
        "activity_type": {kind.value for kind in ActivityKind},
        "time_period": set(_PERIODS),
        "direction": {"asc", "desc"},
    }
    for name, values in allowed.items():
        value = request.query.get(name)
        if value and value not in values:
            raise plain(f"Invalid request.\n\n{value} is not a possible {name}.")


def _wanted(activity: Activity, request: ApiRequest) -> bool:
    actor, kind = request.query.get("actor"), request.query.get("activity_type")
    return (not actor or activity.actor.login.lower() == actor.lower()) and (
        not kind or activity.kind.value == kind
    )


def _since(request: ApiRequest) -> datetime:
    now, period = request.state.now(), request.query.get("time_period")
    # GitHub looks back a year at most, whatever is asked.
    return now - timedelta(days=_PERIODS[period or "year"])


def _activity(request: ApiRequest, activity: Activity) -> basic.Json:
    return {
        "id": activity.id,
        "node_id": node_id("PSH", activity.id),
        "before": activity.before,
        "after": activity.after,
        "ref": activity.ref,
        "timestamp": basic.stamp(activity.timestamp),
        "activity_type": activity.kind.value,
        "actor": basic.user(request.links, activity.actor),
    }
