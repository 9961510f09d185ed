"""GitLab's operations that read parts of a merge request: versions, commits, files, people, events.

Source: https://docs.gitlab.com/api/merge_requests/
"""

from __future__ import annotations

from bot.sandbox.api import ApiResponse
from bot.sandbox.errors import RefusedError
from bot.sandbox.gitlab import commit_json, status_json
from bot.sandbox.gitlab import json as basic
from bot.sandbox.gitlab import merge_request_json as more
from bot.sandbox.gitlab import note_json as talk
from bot.sandbox.gitlab.errors import missing
from bot.sandbox.gitlab.merge_requests import at
from bot.sandbox.gitlab.routing import CODE, ApiRequest, page, route
from bot.sandbox.gitlab.rules import merge_requests, merging, threads

_MR = "/projects/{id}/merge_requests/{iid}"


@route("GET", f"{_MR}/merge_ref", CODE)
def merge_ref(request: ApiRequest) -> ApiResponse:
    """What a merge would make, without making it."""
    mr, state = at(request), request.state
    base = mr.repo.branch(mr.base_ref)
    found = mr.state == "open" and base and merging.test_merge(state, mr, base, "merge")
    if not found:
        raise RefusedError(400, "Merge request is not mergeable")
    return ApiResponse(body={"commit_id": found})


@route("GET", f"{_MR}/versions", CODE)
def list_versions(request: ApiRequest) -> ApiResponse:
    """States of the diff, newest first."""
    mr = at(request)
    return page(request, mr.versions[::-1], lambda made: more.version(mr, made))


@route("GET", f"{_MR}/versions/{{version_id}}", CODE)
def get_version(request: ApiRequest) -> ApiResponse:
    """A state of the diff, with its commits and files."""
    mr, number = at(request), request.number("version_id")
    made = next((one for one in mr.versions if one.id == number), None)
    if made is None:
        raise missing("Merge Request Diff")
    files = request.state.git(mr.repo).diff(made.base_sha, made.head_sha)
    body = more.version(mr, made) | {
        "commits": [],
        "diffs": [commit_json.diff(file) for file in files],
    }
    return ApiResponse(body=body)


@route("GET", f"{_MR}/commits", CODE)
def list_commits(request: ApiRequest) -> ApiResponse:
    """Commits of a merge request, newest first."""
    mr = at(request)
    found = merging.commits(request.state, mr)[::-1]
    return page(request, found, lambda c: commit_json.commit(request.links, mr.repo, c))


@route("GET", f"{_MR}/diffs", CODE)
def list_diffs(request: ApiRequest) -> ApiResponse:
    """Files that a merge request changes."""
    return page(request, more.files(request.state, at(request)), commit_json.diff)


@route("GET", f"{_MR}/changes", CODE)
def get_changes(request: ApiRequest) -> ApiResponse:
    """A merge request with the files that it changes."""
    mr = at(request)
    body = more.whole(request.state, request.links, mr, request.caller.user)
    files = [commit_json.diff(file) for file in more.files(request.state, mr)]
    return ApiResponse(body=body | {"changes": files, "overflow": False})


@route("GET", f"{_MR}/pipelines", CODE)
def list_pipelines(request: ApiRequest) -> ApiResponse:
    """Pipelines of a merge request's branch at its commits, newest first."""
    mr, repo = at(request), at(request).head_repo
    heads = {version.head_sha for version in mr.versions}
    known = reversed(repo.gitlab.pipelines.values()) if repo else ()
    found = [p for p in known if p.sha in heads and p.ref == mr.head_ref]
    shown = repo or mr.repo
    return page(request, found, lambda p: status_json.simple_pipeline(request.links, p, shown))


@route("GET", f"{_MR}/participants", CODE)
def list_participants(request: ApiRequest) -> ApiResponse:
    """Who takes part: the author, and who wrote a note."""
    mr = at(request)
    found = [mr.user, *mr.assignees, *(n.user for n in threads.notes(mr) if not n.system)]
    return page(request, list(dict.fromkeys(found)), lambda u: basic.user(request.links, u))


@route("GET", f"{_MR}/reviewers", CODE)
def list_reviewers(request: ApiRequest) -> ApiResponse:
    """Who was asked for a review, or gave one, and how it stands."""
    mr = at(request)
    return page(request, mr.requested_reviewers, lambda u: more.reviewer(request.links, mr, u))


@route("GET", f"{_MR}/closes_issues", CODE)
def list_closed_issues(request: ApiRequest) -> ApiResponse:
    """Issues that the merge would close."""
    found = merge_requests.closes(at(request))
    return page(request, found, lambda issue: talk.issue(request.links, issue))


@route("GET", f"{_MR}/resource_label_events", CODE)
def list_label_events(request: ApiRequest) -> ApiResponse:
    """Labels put on and taken off, oldest first."""
    mr = at(request)
    return page(request, mr.label_events, lambda e: more.label_event(request.links, mr, e))


@route("GET", f"{_MR}/resource_state_events", CODE)
def list_state_events(request: ApiRequest) -> ApiResponse:
    """Closed, opened again, merged: oldest first."""
    mr = at(request)
    return page(request, mr.events, lambda e: more.state_event(request.links, mr, e))


@route("GET", "/projects/{id}/repository/commits/{sha}/merge_requests", CODE)
def list_of_commit(request: ApiRequest) -> ApiResponse:
    """Merge requests that a commit came by."""
    repo, sha = request.project, request.params["sha"]
    if request.state.git(repo).kind(sha) != "commit":
        raise missing("Commit")
    found = [mr for mr in merge_requests.of(repo) if merging.holds(request.state, mr, sha)]
    return page(request, found, lambda mr: more.merge_request(request.state, request.links, mr))
