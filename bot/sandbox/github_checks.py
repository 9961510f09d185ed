"""GitHub's operations on check runs, check suites and commit statuses."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from bot.sandbox import github_pull_json as more
from bot.sandbox.checks import Wish
from bot.sandbox.errors import RefusedError, plain
from bot.sandbox.model import Annotation, CheckRun, CheckSuite
from bot.sandbox.routing import Answer, Request, page, route

_REPO = "/repos/{owner}/{repo}"
_RUN = f"{_REPO}/check-runs/{{check_run_id}}"
_SUITE = f"{_REPO}/check-suites/{{check_suite_id}}"


def _run(request: Request) -> CheckRun:
    return request.state.checks.find(request.repo, request.number("check_run_id"))


def _suite(request: Request) -> CheckSuite:
    return request.state.checks.find_suite(request.repo, request.number("check_suite_id"))


@route("POST", f"{_REPO}/check-runs")
def create_check_run(request: Request) -> Answer:
    """Make a check run."""
    sha = request.required("head_sha")
    run = request.state.checks.create(request.repo, request.app, sha, _wish(request))
    body = more.check_run(request.state, request.links, run)
    return Answer(status=201, body=body, headers={"Location": body["url"]})


@route("PATCH", _RUN)
def update_check_run(request: Request) -> Answer:
    """Change a check run of the App's own."""
    run = _run(request)
    if run.suite.app is not request.app:
        raise RefusedError(
            403,
            f"Invalid app_id `{request.app.id}` - check run can only be modified by the GitHub"
            " App that created it.",
        )
    request.state.checks.update(run, _wish(request))
    return Answer(body=more.check_run(request.state, request.links, run))


@route("GET", _RUN)
def get_check_run(request: Request) -> Answer:
    """One check run."""
    return Answer(body=more.check_run(request.state, request.links, _run(request)))


@route("GET", f"{_RUN}/annotations")
def list_annotations(request: Request) -> Answer:
    """Annotations of a check run, in the order they came."""
    return page(request, more.check_annotations(request.links, _run(request)))


@route("POST", f"{_RUN}/rerequest")
def rerequest_run(request: Request) -> Answer:
    """Ask for one check again."""
    request.state.checks.rerequest(_run(request), request.user)
    return Answer(status=201, body={})


@route("POST", f"{_REPO}/check-suites")
def create_suite(request: Request) -> Answer:
    """Make the App's suite of a commit: 201, or 200 when it is there."""
    sha = request.required("head_sha")
    suite, fresh = request.state.checks.suite(request.repo, request.app, sha)
    body = more.check_suite(request.state, request.links, suite)
    return Answer(status=201 if fresh else 200, body=body)


@route("GET", _SUITE)
def get_suite(request: Request) -> Answer:
    """One check suite."""
    return Answer(body=more.check_suite(request.state, request.links, _suite(request)))


@route("GET", f"{_SUITE}/check-runs")
def list_suite_runs(request: Request) -> Answer:
    """Check runs of a suite, newest first."""
    found = [
        more.check_run(request.state, request.links, run)
        for run in sorted(_suite(request).runs, key=lambda run: -run.id)
    ]
    return page(request, found, lambda part: {"total_count": len(found), "check_runs": part})


@route("POST", f"{_SUITE}/rerequest")
def rerequest_suite(request: Request) -> Answer:
    """Ask for a whole suite again."""
    request.state.checks.rerequest_suite(_suite(request), request.user)
    return Answer(status=201, body={})


@route("POST", f"{_REPO}/statuses/{{sha}}")
def create_status(request: Request) -> Answer:
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
    body = more.status(request.links, request.repo, made)
    return Answer(status=201, body=body, headers={"Location": body["url"]})


def _wish(request: Request) -> Wish:
    output = request.body().get("output")
    if output is not None and not isinstance(output, dict):
        raise plain("Invalid request.\n\noutput must be an object.")
    output = output or {}
    lacking = [name for name in ("title", "summary") if name not in output]
    if output and lacking and (request.method == "POST" or "summary" in lacking):
        raise plain(f'Invalid request.\n\n"{lacking[0]}" wasn\'t supplied.')
    return Wish(
        name=request.text("name"),
        status=request.text("status"),
        conclusion=request.text("conclusion"),
        started_at=_time(request.text("started_at")),
        completed_at=_time(request.text("completed_at")),
        details_url=request.text("details_url"),
        external_id=request.text("external_id"),
        title=output.get("title"),
        summary=output.get("summary"),
        text=output.get("text"),
        annotations=[_annotation(note) for note in output.get("annotations") or ()],
        actions=request.body().get("actions"),
    )


def _annotation(given: Mapping[str, Any]) -> Annotation:
    for name in ("path", "start_line", "end_line", "annotation_level", "message"):
        if given.get(name) is None:
            raise plain(f'Invalid request.\n\n"{name}" wasn\'t supplied.')
    return Annotation(
        path=given["path"],
        start_line=given["start_line"],
        end_line=given["end_line"],
        annotation_level=given["annotation_level"],
        message=given["message"],
        start_column=given.get("start_column"),
        end_column=given.get("end_column"),
        title=given.get("title"),
        raw_details=given.get("raw_details"),
    )


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise plain(f"Invalid request.\n\n{text} is not a valid date-time.") from None
    return when if when.tzinfo else when.replace(tzinfo=UTC)
