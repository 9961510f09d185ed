"""GitLab's operations on commit statuses and pipelines.

Source: https://docs.gitlab.com/api/commits/#commit-status, https://docs.gitlab.com/api/pipelines/
"""

from __future__ import annotations

from bot.sandbox import refnames
from bot.sandbox.api import ApiResponse
from bot.sandbox.gitlab import protection, status_json
from bot.sandbox.gitlab.errors import bad_parameter, forbidden, missing
from bot.sandbox.gitlab.routing import CODE, ApiRequest, at_least, page, route
from bot.sandbox.gitlab.rules import merge_requests, merging, pipelines, trains
from bot.sandbox.records.gitlab import AccessLevel
from bot.sandbox.records.pipelines import FINISHED, JobStatus, Pipeline

_PIPELINE = "/projects/{id}/pipelines/{pipeline_id}"


@route("POST", "/projects/{id}/statuses/{sha}", at_least(AccessLevel.DEVELOPER))
def set_status(request: ApiRequest) -> ApiResponse:
    """Set a commit's status."""
    given, repo = request.input, request.project
    state = given.choice("state", pipelines.STATES)
    if state is None:
        raise bad_parameter("state is missing")
    ref = given.text("ref")
    if ref is not None:
        ref = refnames.branch_name(ref)
        may = protection.may_merge(request.state, repo, ref, request.user)
        if protection.branch_rules(repo, ref) and not may:
            raise forbidden()
    wish = pipelines.StatusRequest(
        sha=request.params["sha"],
        state=state,
        name=given.text("name") or given.text("context") or "default",
        ref=ref,
        pipeline_id=given.number("pipeline_id"),
        description=given.text("description"),
        target_url=given.text("target_url"),
        coverage=given.decimal("coverage"),
    )
    made = pipelines.post(request.state, repo, request.user, wish)
    if made.state in FINISHED:
        _merge_waiting(request, made.pipeline)
    return ApiResponse(status=201, body=status_json.status(request.links, made))


def _merge_waiting(request: ApiRequest, pipeline: Pipeline) -> None:
    """Make the merges that waited for a pipeline."""
    for branch in {pull.base_ref for pull in request.project.open_pulls.values()}:
        trains.advance(request.state, request.project, branch)
    for target in list(request.state.data.repositories.values()):
        for mr in merge_requests.of(target):
            if mr.auto_merge is not None and pipelines.head_pipeline(mr) is pipeline:
                merging.due(request.state, mr)


@route("GET", "/projects/{id}/repository/commits/{sha}/statuses", CODE)
def list_statuses(request: ApiRequest) -> ApiResponse:
    """Statuses of a commit; `all` shows those that newer ones replaced too."""
    given, repo = request.input, request.project
    sha = request.state.resolve(repo, request.params["sha"])
    if sha is None:
        raise missing("Commit")
    ref, name, every = given.text("ref"), given.text("name"), given.flag("all")
    number = given.number("pipeline_id")
    order = given.choice("order_by", ("id", "pipeline_id")) or "id"
    sort = given.choice("sort", ("asc", "desc")) or "asc"
    found: list[JobStatus] = [
        status
        for pipeline in pipelines.on_commit(repo, sha)
        if (ref is None or pipeline.ref == ref) and number in (None, pipeline.id)
        for status in (pipeline.statuses if every else pipeline.latest)
        if name is None or status.name == name
    ]
    found.sort(
        key=lambda s: (s.pipeline.id if order == "pipeline_id" else s.id, s.id),
        reverse=sort == "desc",
    )
    return page(request, found, lambda status: status_json.status(request.links, status))


@route("GET", "/projects/{id}/pipelines", CODE)
def list_pipelines(request: ApiRequest) -> ApiResponse:
    """Pipelines of a project, newest first."""
    given, repo = request.input, request.project
    sha, ref, source = given.text("sha"), given.text("ref"), given.text("source")
    word = given.text("status")
    found = [
        pipeline
        for pipeline in reversed(repo.gitlab.pipelines.values())
        if sha in (None, pipeline.sha)
        and ref in (None, pipeline.ref)
        and word in (None, pipeline.state)
        and source in (None, pipeline.source)
    ]
    return page(request, found, lambda p: status_json.simple_pipeline(request.links, p, repo))


def _pipeline(request: ApiRequest) -> Pipeline:
    found = request.project.gitlab.pipelines.get(request.number("pipeline_id"))
    if found is None:
        raise missing("Pipeline")
    return found


@route("GET", _PIPELINE, CODE)
def get_pipeline(request: ApiRequest) -> ApiResponse:
    """A pipeline."""
    found = _pipeline(request)
    return ApiResponse(body=status_json.pipeline(request.links, found, request.project))


@route("DELETE", _PIPELINE, at_least(AccessLevel.OWNER))
def delete_pipeline(request: ApiRequest) -> ApiResponse:
    """Take a pipeline away with its statuses."""
    del request.project.gitlab.pipelines[_pipeline(request).id]
    return ApiResponse(status=204)
