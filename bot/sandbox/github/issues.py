"""GitHub's operations on the conversation: issue, comments, reactions, labels."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from bot.sandbox.api import ApiResponse
from bot.sandbox.fields import BodyFields, moment, parsed
from bot.sandbox.github import pull_json as more
from bot.sandbox.github.routing import ApiRequest, page, route
from bot.sandbox.records.accounts import Role
from bot.sandbox.records.repository import Comment, Pull, Thread

_REPO = "/repos/{owner}/{repo}"
_ISSUE = f"{_REPO}/issues/{{issue_number}}"
_COMMENT = f"{_REPO}/issues/comments/{{comment_id}}"


def _thread(request: ApiRequest) -> Thread:
    return request.state.issues.find(request.repo, request.number("issue_number"))


def _comment(request: ApiRequest) -> Comment:
    return request.state.talk.find(request.repo, request.number("comment_id"))


def _since(request: ApiRequest) -> datetime:
    text = request.query.get("since")
    if not text:
        return datetime.fromtimestamp(0, UTC)
    return moment(text)


@route("GET", f"{_REPO}/issues/comments")
def list_repo_comments(request: ApiRequest) -> ApiResponse:
    """Comments of all conversations, by id or by the time they changed."""
    since, query = _since(request), request.query
    found = [comment for comment in request.repo.comments.values() if comment.updated_at >= since]
    if query.get("sort") == "updated":
        descending = query.get("direction", "desc") == "desc"
        found.sort(key=lambda c: (c.updated_at, c.id), reverse=descending)
    else:
        descending = query.get("sort") == "created" and query.get("direction", "desc") == "desc"
        found.sort(key=lambda c: c.id, reverse=descending)
    return _comments(request, found)


@route("GET", f"{_ISSUE}/comments")
def list_comments(request: ApiRequest) -> ApiResponse:
    """Comments of one conversation, oldest first."""
    since = _since(request)
    return _comments(request, [c for c in _thread(request).comments if c.updated_at >= since])


def _comments(request: ApiRequest, found: list[Comment]) -> ApiResponse:
    listed = page(request, found)
    body = [more.comment(request.links, comment) for comment in listed.body]
    return ApiResponse(body=body, headers=listed.headers)


@route("POST", f"{_ISSUE}/comments")
def create_comment(request: ApiRequest) -> ApiResponse:
    """Write a comment."""
    made = request.state.talk.comment(_thread(request), request.user, request.required("body"))
    body = more.comment(request.links, made)
    return ApiResponse(status=201, body=body, headers={"Location": body["url"]})


@route("GET", _COMMENT)
def get_comment(request: ApiRequest) -> ApiResponse:
    """One comment."""
    return ApiResponse(body=more.comment(request.links, _comment(request)))


@route("PATCH", _COMMENT)
def update_comment(request: ApiRequest) -> ApiResponse:
    """Change a comment's text."""
    comment = _comment(request)
    request.state.talk.edit(comment, request.user, request.required("body"))
    return ApiResponse(body=more.comment(request.links, comment))


@route("DELETE", _COMMENT)
def delete_comment(request: ApiRequest) -> ApiResponse:
    """Take a comment away."""
    request.state.talk.delete(_comment(request), request.user)
    return ApiResponse(status=204)


@route("GET", f"{_COMMENT}/reactions")
def list_comment_reactions(request: ApiRequest) -> ApiResponse:
    """Reactions on a comment."""
    return _reactions(request, _comment(request))


@route("POST", f"{_COMMENT}/reactions")
def create_comment_reaction(request: ApiRequest) -> ApiResponse:
    """React to a comment: 201 for a new reaction, 200 for one that is there."""
    return _react(request, _comment(request))


@route("DELETE", f"{_COMMENT}/reactions/{{reaction_id}}")
def delete_comment_reaction(request: ApiRequest) -> ApiResponse:
    """Take a reaction back."""
    reaction_id = request.number("reaction_id")
    request.state.talk.unreact(_comment(request), request.user, reaction_id)
    return ApiResponse(status=204)


@route("GET", f"{_ISSUE}/reactions")
def list_reactions(request: ApiRequest) -> ApiResponse:
    """Reactions on a pull request."""
    return _reactions(request, _thread(request))


@route("POST", f"{_ISSUE}/reactions")
def create_reaction(request: ApiRequest) -> ApiResponse:
    """React to a pull request."""
    return _react(request, _thread(request))


def _reactions(request: ApiRequest, on: Comment | Thread) -> ApiResponse:
    content = request.query.get("content")
    found = [r for r in on.reactions if not content or r.content == content]
    return page(request, [more.reaction(request.links, r) for r in found])


def _react(request: ApiRequest, on: Comment | Thread) -> ApiResponse:
    made, fresh = request.state.talk.react(on, request.user, request.required("content"))
    return ApiResponse(status=201 if fresh else 200, body=more.reaction(request.links, made))


@route("GET", f"{_REPO}/issues")
def list_issues(request: ApiRequest) -> ApiResponse:
    """Issues and pull requests, newest first."""
    query, since = request.query, _since(request)
    state, sort = query.get("state", "open"), query.get("sort", "created")
    labels = {name.lower() for name in query.get("labels", "").split(",") if name}
    people = {key: query[key].lower() for key in ("creator", "assignee") if query.get(key)}
    found = [
        thread
        for thread in request.repo.threads
        if (request.repo.has_issues or isinstance(thread, Pull))
        and state in ("all", thread.state)
        and thread.updated_at >= since
        and labels <= {label.name.lower() for label in thread.labels}
        and _with_people(thread, people)
    ]
    keys = {"updated": "updated_at", "comments": "comments"}
    found.sort(
        key=lambda t: (_sortable(getattr(t, keys.get(sort, "created_at"))), t.number),
        reverse=query.get("direction", "desc") == "desc",
    )
    listed = page(request, found)
    body = [more.issue(request.links, thread) for thread in listed.body]
    return ApiResponse(body=body, headers=listed.headers)


def _sortable(value: datetime | list[Comment]) -> float:
    return float(len(value)) if isinstance(value, list) else value.timestamp()


def _with_people(thread: Thread, people: Mapping[str, str]) -> bool:
    creator, assignee = people.get("creator"), people.get("assignee")
    assigned = {who.login.lower() for who in thread.assignees}
    if creator is not None and thread.user.login.lower() != creator:
        return False
    if assignee in (None, "*", "none"):
        return assignee is None or bool(assigned) is (assignee == "*")
    return assignee in assigned


@route("POST", f"{_REPO}/issues")
def create_issue(request: ApiRequest) -> ApiResponse:
    """Open an issue; labels and people count for who may triage."""
    fields, user = request.fields, request.user
    title = request.required("title")
    labels, people = fields.names("labels"), _people(request)
    made = request.state.issues.open(request.repo, user, title, request.text("body"))
    if request.state.role(request.repo, user) >= Role.TRIAGE or user.app is not None:
        request.state.talk.add_labels(made, user, labels or [])
        request.state.talk.assign(made, user, people or [])
    body = more.issue(request.links, made)
    return ApiResponse(status=201, body=body, headers={"Location": body["url"]})


def _people(request: ApiRequest) -> list[str] | None:
    one, several = request.text("assignee"), request.fields.texts("assignees")
    return several if several is not None or one is None else [one]


@route("GET", _ISSUE)
def get_issue(request: ApiRequest) -> ApiResponse:
    """An issue, or the issue that a pull request is too."""
    return ApiResponse(body=more.issue(request.links, _thread(request)))


@route("PATCH", _ISSUE)
def update_issue(request: ApiRequest) -> ApiResponse:
    """Change title, text, state, labels or assignees."""
    thread, labels = _thread(request), request.fields.names("labels")
    people = _people(request)
    request.state.issues.edit(
        thread,
        request.user,
        title=request.text("title"),
        body=request.text("body"),
        state=request.text("state"),
        reason=request.text("state_reason"),
    )
    if labels is not None:
        request.state.talk.set_labels(thread, request.user, labels)
    if people is not None:
        request.state.talk.set_assignees(thread, request.user, people)
    return ApiResponse(body=more.issue(request.links, thread))


@route("POST", f"{_ISSUE}/assignees")
def add_assignees(request: ApiRequest) -> ApiResponse:
    """Assign people."""
    thread = _thread(request)
    request.state.talk.assign(thread, request.user, _people(request) or [])
    return ApiResponse(status=201, body=more.issue(request.links, thread))


@route("DELETE", f"{_ISSUE}/assignees")
def remove_assignees(request: ApiRequest) -> ApiResponse:
    """Take people off."""
    thread = _thread(request)
    request.state.talk.unassign(thread, request.user, _people(request) or [])
    return ApiResponse(body=more.issue(request.links, thread))


@route("PUT", f"{_ISSUE}/lock")
def lock(request: ApiRequest) -> ApiResponse:
    """Let only who may write speak."""
    request.state.issues.lock(_thread(request), request.user, locked=True)
    return ApiResponse(status=204)


@route("DELETE", f"{_ISSUE}/lock")
def unlock(request: ApiRequest) -> ApiResponse:
    """Let everybody speak again."""
    request.state.issues.lock(_thread(request), request.user, locked=False)
    return ApiResponse(status=204)


@route("GET", f"{_ISSUE}/labels")
def list_issue_labels(request: ApiRequest) -> ApiResponse:
    """Labels on a pull request."""
    return _labels(request, _thread(request))


@route("POST", f"{_ISSUE}/labels")
def add_labels(request: ApiRequest) -> ApiResponse:
    """Put labels on."""
    thread = _thread(request)
    request.state.talk.add_labels(thread, request.user, _given(request))
    return _labels(request, thread)


@route("PUT", f"{_ISSUE}/labels")
def set_labels(request: ApiRequest) -> ApiResponse:
    """Make the labels exactly these."""
    thread = _thread(request)
    request.state.talk.set_labels(thread, request.user, _given(request))
    return _labels(request, thread)


@route("DELETE", f"{_ISSUE}/labels")
def remove_labels(request: ApiRequest) -> ApiResponse:
    """Take all labels off."""
    request.state.talk.set_labels(_thread(request), request.user, [])
    return ApiResponse(status=204)


@route("DELETE", f"{_ISSUE}/labels/{{name}}")
def remove_label(request: ApiRequest) -> ApiResponse:
    """Take one label off; answers those left."""
    thread = _thread(request)
    request.state.talk.remove_label(thread, request.user, request.params["name"])
    return _labels(request, thread)


def _labels(request: ApiRequest, thread: Thread) -> ApiResponse:
    return page(request, [more.label(request.links, thread.repo, made) for made in thread.labels])


def _given(request: ApiRequest) -> list[str]:
    # GitHub takes a bare list too, which is what PyGithub sends.
    bare = request.raw.lstrip().startswith(b"[")
    fields = BodyFields({"labels": parsed(request.raw)}) if bare else request.fields
    return fields.names("labels") or []


@route("GET", f"{_REPO}/labels")
def list_labels(request: ApiRequest) -> ApiResponse:
    """Labels of a repository."""
    repo = request.repo
    return page(request, [more.label(request.links, repo, made) for made in repo.labels.values()])


@route("POST", f"{_REPO}/labels")
def create_label(request: ApiRequest) -> ApiResponse:
    """Make a label."""
    made = request.state.talk.create_label(
        request.repo,
        request.required("name"),
        request.text("color") or "",
        request.text("description"),
    )
    body = more.label(request.links, request.repo, made)
    return ApiResponse(status=201, body=body, headers={"Location": body["url"]})


@route("GET", f"{_REPO}/labels/{{name}}")
def get_label(request: ApiRequest) -> ApiResponse:
    """One label."""
    found = request.state.talk.label(request.repo, request.params["name"])
    return ApiResponse(body=more.label(request.links, request.repo, found))


@route("PATCH", f"{_REPO}/labels/{{name}}")
def update_label(request: ApiRequest) -> ApiResponse:
    """Change a label."""
    found = request.state.talk.label(request.repo, request.params["name"])
    request.state.talk.edit_label(
        found,
        request.repo,
        request.text("new_name") or request.text("name"),
        request.text("color"),
        request.text("description"),
    )
    return ApiResponse(body=more.label(request.links, request.repo, found))


@route("DELETE", f"{_REPO}/labels/{{name}}")
def delete_label(request: ApiRequest) -> ApiResponse:
    """Take a label away."""
    found = request.state.talk.label(request.repo, request.params["name"])
    request.state.talk.delete_label(request.repo, found)
    return ApiResponse(status=204)
