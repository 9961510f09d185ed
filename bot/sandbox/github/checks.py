"""GitHub's operations on check runs, check suites and commit statuses."""

from __future__ import annotations

from bot.sandbox.api import ApiResponse
from bot.sandbox.errors import RefusedError, plain
from bot.sandbox.fields import BodyFields
from bot.sandbox.github import check_json
from bot.sandbox.github.routing import ApiRequest, page, route
from bot.sandbox.records.checks import Annotation
from bot.sandbox.records.repository import CheckRun, CheckSuite
from bot.sandbox.rules.checks import CheckRunFields

_REPO = "/repos/{owner}/{repo}"
_RUN = f"{_REPO}/check-runs/{{check_run_id}}"
_SUITE = f"{_REPO}/check-suites/{{check_suite_id}}"


def _run(request: ApiRequest) -> CheckRun:
    return request.state.checks.find(request.repo, request.number("check_run_id"))


def _suite(request: ApiRequest) -> CheckSuite:
    return request.state.checks.find_suite(request.repo, request.number("check_suite_id"))


@route("POST", f"{_REPO}/check-runs")
def create_check_run(request: ApiRequest) -> ApiResponse:
    """Make a check run."""
    sha = request.required("head_sha")
    run = request.state.checks.create(request.repo, request.app, sha, _wish(request))
    body = check_json.check_run(request.state, request.links, run)
    return ApiResponse(status=201, body=body, headers={"Location": body["url"]})


@route("PATCH", _RUN)
def update_check_run(request: ApiRequest) -> ApiResponse:
    """Change a check run of the App's own."""
    run = _run(request)
    if run.suite.app is not request.app:
        raise RefusedError(
            403,
            f"Invalid app_id `{request.app.id}` - check run can only be modified by the GitHub"
            " App that created it.",
        )
    request.state.checks.update(run, _wish(request))
    return ApiResponse(body=check_json.check_run(request.state, request.links, run))


@route("GET", _RUN)
def get_check_run(request: ApiRequest) -> ApiResponse:
    """One check run."""
    return ApiResponse(body=check_json.check_run(request.state, request.links, _run(request)))


@route("GET", f"{_RUN}/annotations")
def list_annotations(request: ApiRequest) -> ApiResponse:
    """Annotations of a check run, in the order they came."""
    return page(request, check_json.check_annotations(request.links, _run(request)))


@route("POST", f"{_RUN}/rerequest")
def rerequest_run(request: ApiRequest) -> ApiResponse:
    """Ask for one check again."""
    request.state.checks.rerequest(_run(request), request.user)
    return ApiResponse(status=201, body={})


@route("POST", f"{_REPO}/check-suites")
def create_suite(request: ApiRequest) -> ApiResponse:
    """Make the App's suite of a commit: 201, or 200 when it is there."""
    sha = request.required("head_sha")
    suite, fresh = request.state.checks.suite(request.repo, request.app, sha)
    body = check_json.check_suite(request.state, request.links, suite)
    return ApiResponse(status=201 if fresh else 200, body=body)


@route("GET", _SUITE)
def get_suite(request: ApiRequest) -> ApiResponse:
    """One check suite."""
    return ApiResponse(body=check_json.check_suite(request.state, request.links, _suite(request)))


@route("GET", f"{_SUITE}/check-runs")
def list_suite_runs(request: ApiRequest) -> ApiResponse:
    """Check runs of a suite, newest first."""
    found = [
        check_json.check_run(request.state, request.links, run)
        for run in sorted(_suite(request).runs, key=lambda run: -run.id)
    ]
    return page(request, found, lambda part: {"total_count": len(found), "check_runs": part})


@route("POST", f"{_SUITE}/rerequest")
def rerequest_suite(request: ApiRequest) -> ApiResponse:
    """Ask for a whole suite again."""
    request.state.checks.rerequest_suite(_suite(request), request.user)
    return ApiResponse(status=201, body={})


@route("POST", f"{_REPO}/statuses/{{sha}}")
def create_status(request: ApiRequest) -> ApiResponse:
    """Put a status on a commit."""
    made = request.state.checks.add_status(
        request.repo,
        request.params["sha"],
        request.user,
        state=request.required("state"),
        context=request.text("context") or "default",
        description=request.text("description"),
        target_url=request.text("target_url"),
    )
    body = check_json.status(request.links, request.repo, made)
    return ApiResponse(status=201, body=body, headers={"Location": body["url"]})


def _wish(request: ApiRequest) -> CheckRunFields:
    fields, output = request.fields, request.fields.inner("output")
    if output is not None:
        lacking = [name for name in ("title", "summary") if name not in output]
        if lacking and (request.method == "POST" or "summary" in lacking):
            raise plain(f'Invalid request.\n\n"{lacking[0]}" wasn\'t supplied.')
    output = output or BodyFields({})
    actions = [
        {key: action.required(key) for key in ("label", "description", "identifier")}
        for action in fields.objects("actions")
    ]
    return CheckRunFields(
        name=fields.text("name"),
        status=fields.text("status"),
        conclusion=fields.text("conclusion"),
        started_at=fields.when("started_at"),
        completed_at=fields.when("completed_at"),
        details_url=fields.text("details_url"),
        external_id=fields.text("external_id"),
        title=output.text("title"),
        summary=output.text("summary"),
        text=output.text("text"),
        annotations=[_annotation(note) for note in output.objects("annotations")],
        actions=actions if "actions" in fields else None,
    )


def _annotation(given: BodyFields) -> Annotation:
    start, end = given.number("start_line"), given.number("end_line")
    for name, value in (("start_line", start), ("end_line", end)):
        if value is None:
            raise plain(f'Invalid request.\n\n"{name}" wasn\'t supplied.')
    return Annotation(
        path=given.required("path"),
        start_line=start or 0,
        end_line=end or 0,
        annotation_level=given.required("annotation_level"),
        message=given.required("message"),
        start_column=given.number("start_column"),
        end_column=given.number("end_column"),
        title=given.text("title"),
        raw_details=given.text("raw_details"),
    )
