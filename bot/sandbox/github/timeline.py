"""GitHub's timeline of a pull request: `/issues/{issue_number}/timeline`."""

from __future__ import annotations

from bot.sandbox.api import ApiResponse
from bot.sandbox.git.objects import Commit
from bot.sandbox.github import commit_json
from bot.sandbox.github import json as basic
from bot.sandbox.github import pull_json as more
from bot.sandbox.github.json import Json
from bot.sandbox.github.routing import ApiRequest, page, route
from bot.sandbox.records.repository import Comment, Pull, Review, Thread
from bot.sandbox.records.talk import TimelineEvent
from bot.sandbox.rules import timeline
from bot.sandbox.rules.ids import node_id


@route("GET", "/repos/{owner}/{repo}/issues/{issue_number}/timeline")
def list_timeline(request: ApiRequest) -> ApiResponse:
    """Events, comments, reviews and commits, oldest first."""
    thread = request.state.issues.find(request.repo, request.number("issue_number"))
    listed = page(request, timeline.items(request.state, thread))
    body = [_item(request, thread, item) for item in listed.body]
    return ApiResponse(body=body, headers=listed.headers)


def _item(request: ApiRequest, thread: Thread, item: timeline.TimelineItem) -> Json:
    match item.what:
        case Comment() as comment:
            made = more.comment(request.links, comment)
            return made | {"event": item.kind, "actor": made["user"]}
        case Review() as review:
            return more.review(request.links, review) | {"event": item.kind}
        case Commit() as commit:
            return commit_json.git_commit(request.links, thread.repo, commit) | {"event": item.kind}
        case TimelineEvent() as event:
            return _event(request, thread, item.kind, event)


def _event(request: ApiRequest, thread: Thread, kind: str, event: TimelineEvent) -> Json:
    """An event with GitHub's common fields, and its own."""
    links, url = request.links, basic.repo_url(request.links, thread.repo)
    commit = event.detail.get("commit") if kind == "merged" else None
    if kind == "head_ref_force_pushed":
        commit = event.detail["after"]
    # The second event of a merge has a number of its own.
    number = event.id if kind == event.kind else event.id + 2**40
    made: Json = {
        "id": number,
        "node_id": node_id("EV", number),
        "url": f"{url}/issues/events/{number}",
        "actor": basic.user(links, event.actor),
        "event": kind,
        "commit_id": commit,
        "commit_url": f"{url}/commits/{commit}" if commit else None,
        "created_at": basic.stamp(event.at),
        "performed_via_github_app": basic.app(links, event.actor.app) if event.actor.app else None,
    }
    match kind:
        case "closed" | "reopened":
            made["state_reason"] = event.detail.get("reason")
        case "renamed":
            made["rename"] = {"from": event.detail["before"], "to": event.detail["after"]}
        case "review_dismissed":
            made["dismissed_review"] = _dismissed(thread, event)
    return made


def _dismissed(thread: Thread, event: TimelineEvent) -> Json:
    reviews = thread.reviews if isinstance(thread, Pull) else []
    found = next((r for r in reviews if r.id == event.detail["review"]), None)
    return {
        "state": event.detail["state"],
        "review_id": event.detail["review"],
        "dismissal_message": event.detail["message"],
    } | ({"dismissal_commit_id": found.commit_id} if found else {})
