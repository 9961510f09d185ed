"""GitHub's operations below `/commits/{ref}`: the commit, its checks and statuses.

It imports `repos`, so that `/commits/{commit_sha}/pulls` is known before the greedy
`/commits/{ref}`, which stands last.
"""

from __future__ import annotations

from bot.sandbox.api import ApiResponse
from bot.sandbox.github import check_json, commit_json
from bot.sandbox.github import json as basic
from bot.sandbox.github.repos import commit_of
from bot.sandbox.github.routing import ApiRequest, page, route

_COMMIT = "/repos/{owner}/{repo}/commits/{ref}"


@route("GET", f"{_COMMIT}/check-runs")
def list_check_runs(request: ApiRequest) -> ApiResponse:
    """Check runs of a commit; the newest of each name unless `filter=all`."""
    repo, query = request.repo, request.query
    sha = commit_of(request, repo, request.params["ref"])
    runs = request.state.checks.runs_on(repo, sha, latest=query.get("filter") != "all")
    name, status, app = query.get("check_name"), query.get("status"), query.get("app_id")
    found = [
        check_json.check_run(request.state, request.links, run)
        for run in runs
        if (not name or run.name == name)
        and (not status or run.status == status)
        and (not app or str(run.suite.app.id) == app)
    ]
    return page(request, found, lambda part: {"total_count": len(found), "check_runs": part})


@route("GET", f"{_COMMIT}/check-suites")
def list_check_suites(request: ApiRequest) -> ApiResponse:
    """Check suites of a commit."""
    repo, query = request.repo, request.query
    sha = commit_of(request, repo, request.params["ref"])
    app = query.get("app_id")
    found = [
        check_json.check_suite(request.state, request.links, suite)
        for suite in repo.suites.on(sha)
        if not app or str(suite.app.id) == app
    ]
    return page(request, found, lambda part: {"total_count": len(found), "check_suites": part})


@route("GET", f"{_COMMIT}/status")
def get_combined_status(request: ApiRequest) -> ApiResponse:
    """The newest status of each context, and what they come to together."""
    repo = request.repo
    sha = commit_of(request, repo, request.params["ref"])
    found = request.state.checks.statuses_on(repo, sha, latest=True)
    words = {status.state for status in found}
    if words & {"error", "failure"}:
        state = "failure"
    else:
        state = "pending" if not found or "pending" in words else "success"
    url = f"{basic.repo_url(request.links, repo)}/commits/{sha}"
    listed = [check_json.status(request.links, repo, status, simple=True) for status in found]
    return page(
        request,
        listed,
        lambda part: {
            "state": state,
            "statuses": part,
            "sha": sha,
            "total_count": len(listed),
            "repository": basic.simple_repository(request.links, repo),
            "commit_url": url,
            "url": f"{url}/status",
        },
    )


@route("GET", f"{_COMMIT}/statuses")
def list_statuses(request: ApiRequest) -> ApiResponse:
    """All statuses of a commit, newest first."""
    repo = request.repo
    sha = commit_of(request, repo, request.params["ref"])
    found = request.state.checks.statuses_on(repo, sha, latest=False)
    return page(request, [check_json.status(request.links, repo, status) for status in found])


@route("GET", _COMMIT)
def get_commit(request: ApiRequest) -> ApiResponse:
    """A commit with its files."""
    repo, state = request.repo, request.state
    git = state.git(repo)
    found = git.commit(commit_of(request, repo, request.params["ref"]))
    files = git.diff(found.parents[0] if found.parents else None, found.sha)
    return ApiResponse(body=commit_json.commit_files(state, request.links, repo, found, files))
