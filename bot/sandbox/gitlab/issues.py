"""GitLab's operations on issues and labels.

Source: https://docs.gitlab.com/api/issues/, https://docs.gitlab.com/api/labels/
"""

from __future__ import annotations

from bot.sandbox.api import ApiResponse
from bot.sandbox.gitlab import merge_request_json as more
from bot.sandbox.gitlab import note_json as talk
from bot.sandbox.gitlab.errors import bad_parameter, forbidden
from bot.sandbox.gitlab.merge_requests import changed_others
from bot.sandbox.gitlab.routing import SEEN, SIGNED_IN, ApiRequest, at_least, page, route
from bot.sandbox.gitlab.rules import issues, labels
from bot.sandbox.records.gitlab import AccessLevel
from bot.sandbox.records.repository import Issue
from bot.sandbox.records.talk import Label

_LIST = "/projects/{id}/issues"
_ISSUE = f"{_LIST}/{{iid}}"
_LABELS = "/projects/{id}/labels"
_LABEL = f"{_LABELS}/{{name}}"
_EDITABLE = (
    "title",
    "description",
    "state_event",
    "labels",
    "add_labels",
    "remove_labels",
    "assignee_ids",
    "assignee_id",
    "discussion_locked",
    "confidential",
    "due_date",
    "milestone_id",
)


@route("GET", _LIST, SEEN)
def list_issues(request: ApiRequest) -> ApiResponse:
    """Issues, newest first."""
    given = request.input
    state = given.choice("state", ("opened", "closed", "all"))
    order = given.choice("order_by", ("created_at", "updated_at", "title")) or "created_at"
    sort = given.choice("sort", ("asc", "desc")) or "desc"
    author, search = given.text("author_username"), given.text("search")
    after, author_id = given.when("updated_after"), given.number("author_id")
    names = {name.lower() for name in given.texts("labels") or ()}
    iids = given.numbers("iids")
    found = [
        issue
        for issue in request.project.issues.values()
        if request.project.has_issues
        and state in (None, "all", "opened" if issue.state == "open" else "closed")
        and (author is None or issue.user.login == author)
        and (author_id is None or issue.user.id == author_id)
        and (after is None or issue.updated_at >= after)
        and (iids is None or issue.number in iids)
        and (not search or search.lower() in f"{issue.title}\n{issue.body or ''}".lower())
        and names <= {one.name.lower() for one in issue.labels}
    ]
    found.sort(key=lambda issue: (getattr(issue, order), issue.id), reverse=sort == "desc")
    details = given.flag("with_labels_details") or False
    defaults = {"order_by": order, "sort": sort, "state": state or "all"}

    def shown(issue: Issue) -> object:
        return talk.issue(request.links, issue, request.caller.user, details=details)

    return page(request, found, shown, defaults)


@route("POST", _LIST, SIGNED_IN)
def create_issue(request: ApiRequest) -> ApiResponse:
    """Open an issue."""
    given = request.input
    made = issues.open(
        request.state,
        request.project,
        request.user,
        given.filled("title"),
        given.text("description"),
    )
    changed_others(request, made)
    return ApiResponse(status=201, body=talk.issue(request.links, made, request.user))


def _issue(request: ApiRequest) -> Issue:
    return issues.find(request.project, request.number("iid"))


@route("GET", _ISSUE, SEEN)
def get_issue(request: ApiRequest) -> ApiResponse:
    """An issue."""
    return ApiResponse(body=talk.issue(request.links, _issue(request), request.caller.user))


@route("PUT", _ISSUE, SIGNED_IN)
def update_issue(request: ApiRequest) -> ApiResponse:
    """Change an issue; 400 where nothing is to be changed."""
    issue, given = _issue(request), request.input
    if not any(name in given for name in _EDITABLE):
        words = "are missing, at least one parameter must be provided"
        raise bad_parameter(f"{', '.join(_EDITABLE)} {words}")
    if issue.user is not request.user and request.level < AccessLevel.REPORTER:
        raise forbidden()
    locked = given.flag("discussion_locked")
    if locked is not None:
        issue.locked = locked
    issues.edit(
        request.state,
        issue,
        request.user,
        title=given.text("title"),
        description=given.text("description"),
        state_event=given.choice("state_event", ("close", "reopen")),
        others=changed_others(request, issue),
    )
    return ApiResponse(body=talk.issue(request.links, issue, request.user))


@route("DELETE", _ISSUE, at_least(AccessLevel.OWNER))
def delete_issue(request: ApiRequest) -> ApiResponse:
    """Take an issue away; its number is never given again."""
    issue = _issue(request)
    for note in issue.comments:
        request.project.comments.pop(note.id, None)
    del request.project.issues[issue.number]
    return ApiResponse(status=204)


@route("GET", _LABELS, SEEN)
def list_labels(request: ApiRequest) -> ApiResponse:
    """Labels of a project, by name."""
    search = (request.input.text("search") or "").lower()
    found = [one for one in request.project.labels.values() if search in one.name.lower()]
    found.sort(key=lambda one: one.name)
    return page(request, found, lambda one: more.label(request.project, one))


@route("POST", _LABELS, at_least(AccessLevel.REPORTER))
def create_label(request: ApiRequest) -> ApiResponse:
    """Make a label; 409 for a name that is taken."""
    given = request.input
    made = labels.create(
        request.state,
        request.project,
        given.filled("name"),
        given.filled("color"),
        given.text("description"),
    )
    return ApiResponse(status=201, body=more.label(request.project, made))


def _label(request: ApiRequest) -> Label:
    return labels.label(request.project, request.params["name"])


@route("GET", _LABEL, SEEN)
def get_label(request: ApiRequest) -> ApiResponse:
    """A label by its name or number."""
    return ApiResponse(body=more.label(request.project, _label(request)))


@route("PUT", _LABEL, at_least(AccessLevel.REPORTER))
def update_label(request: ApiRequest) -> ApiResponse:
    """Change a label's name, color or description."""
    found, given = _label(request), request.input
    new = given.text("new_name")
    if new is not None:
        labels.rename(request.project, found, new)
    found.color = given.text("color") or found.color
    if "description" in given:
        found.description = given.text("description")
    return ApiResponse(body=more.label(request.project, found))


@route("DELETE", _LABEL, at_least(AccessLevel.REPORTER))
def delete_label(request: ApiRequest) -> ApiResponse:
    """Take a label away."""
    labels.delete(request.project, _label(request))
    return ApiResponse(status=204)
