"""GitLab's operations on merge requests.

Source: https://docs.gitlab.com/api/merge_requests/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bot.sandbox.api import ApiResponse
from bot.sandbox.gitlab import merge_request_json as more
from bot.sandbox.gitlab.errors import bad_parameter, forbidden, missing
from bot.sandbox.gitlab.routing import CODE, SIGNED_IN, WITH_CODE, ApiRequest, page, route
from bot.sandbox.gitlab.rules import (
    labels,
    merge_requests,
    merge_status,
    merging,
    trains,
)
from bot.sandbox.records.gitlab import AccessLevel
from bot.sandbox.records.merge_requests import MergeRequest
from bot.sandbox.records.repository import Repository, Thread

_LIST = "/projects/{id}/merge_requests"
_MR = f"{_LIST}/{{iid}}"


def at(request: ApiRequest) -> MergeRequest:
    """The merge request of the path; 404 where there is none."""
    return merge_requests.find(request.project, request.number("iid"))


@route("GET", _LIST, CODE)
def list_merge_requests(request: ApiRequest) -> ApiResponse:
    """Merge requests of a project, newest first."""
    return _listed(request, merge_requests.of(request.project))


@route("GET", "/merge_requests", SIGNED_IN)
def list_all(request: ApiRequest) -> ApiResponse:
    """Merge requests of all projects: those one has written unless `scope` says otherwise."""
    found = [
        mr
        for repo in request.state.data.repositories.values()
        if request.reads_code(repo)
        for mr in merge_requests.of(repo)
    ]
    scope = request.input.choice("scope", ("created_by_me", "assigned_to_me", "all"))
    if scope in (None, "created_by_me"):
        found = [mr for mr in found if mr.user is request.user]
    elif scope == "assigned_to_me":
        found = [mr for mr in found if request.user in mr.assignees]
    return _listed(request, found)


def _listed(request: ApiRequest, known: Iterable[MergeRequest]) -> ApiResponse:
    given = request.input
    state = given.choice("state", ("opened", "closed", "locked", "merged", "all"))
    order = given.choice("order_by", ("created_at", "updated_at", "title", "merged_at"))
    sort = given.choice("sort", ("asc", "desc"))
    details = given.flag("with_labels_details") or False
    found = [
        mr
        for mr in known
        if state in (None, "all", mr.word) and _fits(request, mr) and _in_time(request, mr)
    ]
    key = order or "created_at"
    found.sort(key=lambda mr: (_sortable(mr, key), mr.id), reverse=sort != "asc")

    def shown(mr: MergeRequest) -> Any:
        return more.merge_request(request.state, request.links, mr, labels_details=details)

    defaults = {"order_by": key, "sort": sort or "desc", "state": state or "all"}
    return page(request, found, shown, defaults)


def _sortable(mr: MergeRequest, key: str) -> Any:
    value = getattr(mr, key)
    return mr.created_at if value is None else value


def _fits(request: ApiRequest, mr: MergeRequest) -> bool:
    given = request.input
    wanted: Mapping[str, object] = {
        "source_branch": mr.head_ref,
        "target_branch": mr.base_ref,
        "author_username": mr.user.login,
    }
    if any(given.text(name) not in (None, value) for name, value in wanted.items()):
        return False
    numbers: Mapping[str, object] = {
        "author_id": mr.user.id,
        "source_project_id": mr.head_repo.id if mr.head_repo else None,
    }
    if any(given.number(name) not in (None, value) for name, value in numbers.items()):
        return False
    iids, names, search = given.numbers("iids"), given.texts("labels"), given.text("search")
    if iids is not None and mr.number not in iids:
        return False
    if names and not {n.lower() for n in names} <= {one.name.lower() for one in mr.labels}:
        return False
    if search and search.lower() not in f"{mr.title}\n{mr.body or ''}".lower():
        return False
    draft = given.text("wip") or given.text("draft")
    return draft is None or (draft.lower() in ("yes", "true")) == mr.draft


def _in_time(request: ApiRequest, mr: MergeRequest) -> bool:
    given = request.input
    after, before = given.when("updated_after"), given.when("updated_before")
    since, until = given.when("created_after"), given.when("created_before")
    return (
        (after is None or mr.updated_at >= after)
        and (before is None or mr.updated_at <= before)
        and (since is None or mr.created_at >= since)
        and (until is None or mr.created_at <= until)
    )


@route("POST", _LIST, WITH_CODE)
def create(request: ApiRequest) -> ApiResponse:
    """Open a merge request, from the project of the path to itself or to another."""
    given, source = request.input, request.project
    target_id = given.number("target_project_id")
    target = source if target_id is None else _project(request, target_id)
    if target is not source and target not in _kin(request, source):
        raise missing("Project")
    mr = merge_requests.open(
        request.state,
        request.user,
        merge_requests.SourceAndTarget(
            source=source,
            source_branch=given.filled("source_branch"),
            target=target,
            target_branch=given.filled("target_branch"),
        ),
        title=given.filled("title"),
        description=given.text("description"),
        squash=given.flag("squash") or False,
        remove_source=given.flag("remove_source_branch") or False,
        allow_collaboration=given.flag("allow_collaboration") or False,
    )
    _set_others(request, mr)
    return ApiResponse(
        status=201, body=more.whole(request.state, request.links, mr, request.caller.user)
    )


def _project(request: ApiRequest, number: int) -> Repository:
    found = request.state.data.repositories.get(number)
    if found is None or not request.reads_code(found):
        raise missing("Project")
    return found


def _kin(request: ApiRequest, repo: Repository) -> list[Repository]:
    """Projects that a fork may come to: its parent and the forks of that."""
    root = repo.parent or repo
    known = request.state.data.repositories.values()
    return [root, *(other for other in known if other.parent is root)]


@route("GET", _MR, CODE)
def get(request: ApiRequest) -> ApiResponse:
    """A merge request; reading it starts the search whether it can be merged."""
    mr, rebasing = at(request), False
    merge_status.read(request.state, mr)
    if mr.rebasing is not None:
        rebasing = True
        if not request.state.past:
            merging.end_rebase(request.state, mr)
    body = more.whole(request.state, request.links, mr, request.caller.user)
    if request.input.flag("include_rebase_in_progress"):
        body["rebase_in_progress"] = rebasing
    if request.input.flag("include_diverged_commits_count"):
        body["diverged_commits_count"] = merge_status.diverged(request.state, mr)
    return ApiResponse(body=body)


@route("PUT", _MR, WITH_CODE)
def update(request: ApiRequest) -> ApiResponse:
    """Change a merge request; 400 where nothing is to be changed."""
    mr, given, user = at(request), request.input, request.user
    if not any(name in given for name in _EDITABLE):
        raise bad_parameter(
            f"{', '.join(_EDITABLE)} are missing, at least one parameter must be provided"
        )
    merge_requests.may_edit(request.state, mr, user)
    event = given.choice("state_event", ("close", "reopen"))
    for field, name in (("squash", "squash"), ("remove_source", "remove_source_branch")):
        value = given.flag(name)
        if value is not None:
            setattr(mr, field, value)
    locked = given.flag("discussion_locked")
    if locked is not None:
        mr.locked = locked
    merge_requests.edit(
        request.state,
        mr,
        user,
        title=given.text("title"),
        description=given.text("description"),
        target=given.text("target_branch"),
        others=changed_others(request, mr),
    )
    if event == "close":
        merge_requests.close(request.state, mr, user)
    elif event == "reopen":
        merge_requests.reopen(request.state, mr, user)
    return ApiResponse(body=more.whole(request.state, request.links, mr, user))


_EDITABLE = (
    "title",
    "target_branch",
    "description",
    "state_event",
    "labels",
    "add_labels",
    "remove_labels",
    "assignee_id",
    "assignee_ids",
    "reviewer_ids",
    "milestone_id",
    "squash",
    "discussion_locked",
    "remove_source_branch",
    "allow_collaboration",
)


def changed_others(request: ApiRequest, thread: Thread) -> dict[str, Any]:
    """Labels, assignees and reviewers that a request names, changed."""
    given, state, user = request.input, request.state, request.user
    changes: dict[str, Any] = {}
    named = any(name in given for name in ("labels", "add_labels", "remove_labels"))
    if named and request.level >= AccessLevel.REPORTER:
        changes["labels"] = labels.change(
            state,
            thread,
            user,
            exactly=(given.texts("labels") or []) if "labels" in given else None,
            add=given.texts("add_labels") or (),
            remove=given.texts("remove_labels") or (),
        )
    wanted = given.numbers("assignee_ids") if "assignee_ids" in given else None
    if "assignee_id" in given:
        wanted = [given.number("assignee_id") or 0]
    if wanted is not None:
        people = labels.people(state, thread.repo, wanted)
        changes["assignees"] = labels.set_people(state, thread, user, "assignees", people)
    if isinstance(thread, MergeRequest) and "reviewer_ids" in given:
        people = labels.people(state, thread.repo, given.numbers("reviewer_ids") or ())
        changes["reviewers"] = labels.set_people(state, thread, user, "reviewers", people)
    return {name: change for name, change in changes.items() if change is not None}


def _set_others(request: ApiRequest, mr: MergeRequest) -> None:
    """Labels and people of a new one: told with its opening."""
    changed_others(request, mr)


@route("DELETE", _MR, WITH_CODE)
def delete(request: ApiRequest) -> ApiResponse:
    """Take a merge request away, as owners may; its number is never given again."""
    mr = at(request)
    if request.level < AccessLevel.OWNER:
        raise forbidden()
    repo = mr.repo
    del repo.pulls[mr.number]
    repo.open_pulls.pop(mr.number, None)
    repo.pulls_by_head[mr.head_ref].remove(mr)
    return ApiResponse(status=204)


@route("PUT", f"{_MR}/merge", WITH_CODE)
def merge(request: ApiRequest) -> ApiResponse:
    """Merge now, or with `auto_merge` when the checks allow it."""
    mr, given = at(request), request.input
    wish = merging.MergeOptions(
        sha=given.text("sha"),
        squash=given.flag("squash"),
        message=given.text("merge_commit_message"),
        squash_message=given.text("squash_commit_message"),
        remove_source=given.flag("should_remove_source_branch"),
        auto=given.flag("auto_merge") or given.flag("merge_when_pipeline_succeeds") or False,
    )
    merging.merge(request.state, mr, request.user, wish)
    return ApiResponse(body=more.whole(request.state, request.links, mr, request.user))


@route("POST", f"{_MR}/cancel_merge_when_pipeline_succeeds", WITH_CODE)
def cancel_merge(request: ApiRequest) -> ApiResponse:
    """Give up a merge that waits."""
    mr = at(request)
    if mr.car is not None:
        trains.leave(request.state, mr, request.user, "by hand")
    else:
        merging.cancel(request.state, mr, request.user)
    return ApiResponse(status=201, body={"status": "success"})


@route("PUT", f"{_MR}/rebase", WITH_CODE)
def rebase(request: ApiRequest) -> ApiResponse:
    """Begin to rebase the source branch."""
    merging.rebase(request.state, at(request), request.user)
    return ApiResponse(status=202, body={"rebase_in_progress": True})
