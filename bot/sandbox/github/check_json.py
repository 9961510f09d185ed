"""GitHub's JSON for check suites, check runs, annotations and commit statuses."""

from __future__ import annotations

from urllib.parse import quote

from bot.sandbox.api import Links
from bot.sandbox.github import commit_json, pull_json
from bot.sandbox.github import json as basic
from bot.sandbox.github.json import Json, stamp, stamp_or_none
from bot.sandbox.records.checks import CommitStatus
from bot.sandbox.records.repository import CheckRun, CheckSuite, Repository
from bot.sandbox.rules import checks as rules
from bot.sandbox.rules.ids import node_id
from bot.sandbox.rules.state import ForgeState


def check_run(state: ForgeState, links: Links, run: CheckRun) -> Json:
    """Schema `check-run`."""
    suite = run.suite
    url = f"{basic.repo_url(links, suite.repo)}/check-runs/{run.id}"
    made: Json = {
        "id": run.id,
        "head_sha": run.head_sha,
        "node_id": node_id("CR", run.id),
        "external_id": run.external_id,
        "url": url,
        "html_url": f"{basic.repo_html(links, suite.repo)}/runs/{run.id}",
        "details_url": run.details_url,
        "status": run.status,
        "conclusion": run.conclusion,
        "started_at": stamp(run.started_at),
        "completed_at": stamp_or_none(run.completed_at),
        "output": {
            "title": run.title,
            "summary": run.summary,
            "text": run.text,
            "annotations_count": len(run.annotations),
            "annotations_url": f"{url}/annotations",
        },
        "name": run.name,
        "check_suite": {"id": suite.id},
        "app": basic.app(links, suite.app),
        "pull_requests": _pulls(state, links, suite),
    }
    return made


def webhook_check_run(state: ForgeState, links: Links, run: CheckRun) -> Json:
    """Schema `check-run-with-simple-check-suite`."""
    suite = run.suite
    status, conclusion = rules.suite_verdict(suite)
    return check_run(state, links, run) | {
        "check_suite": {
            "id": suite.id,
            "node_id": node_id("CS", suite.id),
            "head_branch": suite.head_branch,
            "head_sha": suite.head_sha,
            "status": status,
            "conclusion": conclusion,
            "url": f"{basic.repo_url(links, suite.repo)}/check-suites/{suite.id}",
            "before": suite.before,
            "after": suite.head_sha,
            "pull_requests": [
                pull_json.minimal_pull(links, p) for p in state.checks.pulls_of(suite)
            ],
            "app": basic.app(links, suite.app),
            "created_at": stamp(suite.created_at),
            "updated_at": stamp(suite.updated_at),
        },
        "actions": list(run.actions),
    }


def check_suite(state: ForgeState, links: Links, suite: CheckSuite) -> Json:
    """Schema `check-suite`."""
    status, conclusion = rules.suite_verdict(suite)
    url = f"{basic.repo_url(links, suite.repo)}/check-suites/{suite.id}"
    head = state.git(suite.repo).commit(suite.head_sha)
    return {
        "id": suite.id,
        "node_id": node_id("CS", suite.id),
        "head_branch": suite.head_branch,
        "head_sha": suite.head_sha,
        "status": status,
        "conclusion": conclusion,
        "url": url,
        "before": suite.before,
        "after": suite.head_sha,
        "pull_requests": _pulls(state, links, suite),
        "app": basic.app(links, suite.app),
        "repository": basic.simple_repository(links, suite.repo),
        "created_at": stamp(suite.created_at),
        "updated_at": stamp(suite.updated_at),
        "head_commit": commit_json.simple_commit(state, head),
        "latest_check_runs_count": len(suite.runs),
        "check_runs_url": f"{url}/check-runs",
        "rerequestable": True,
        "runs_rerequestable": True,
    }


def check_annotations(links: Links, run: CheckRun) -> list[Json]:
    """Schema `check-annotation`, in the order they were sent."""
    html = basic.repo_html(links, run.suite.repo)
    return [
        {
            "path": note.path,
            "start_line": note.start_line,
            "end_line": note.end_line,
            "start_column": note.start_column,
            "end_column": note.end_column,
            "annotation_level": note.annotation_level,
            "title": note.title,
            "message": note.message,
            "raw_details": note.raw_details,
            "blob_href": f"{html}/blob/{run.head_sha}/{quote(note.path)}",
        }
        for note in run.annotations
    ]


def status(links: Links, repo: Repository, made: CommitStatus, *, simple: bool = False) -> Json:
    """Schema `status`, or `simple-commit-status` inside a combined status."""
    whole: Json = {
        "url": f"{basic.repo_url(links, repo)}/statuses/{made.sha}",
        "avatar_url": f"{links.web}/avatars/u/{made.creator.id}",
        "id": made.id,
        "node_id": node_id("SC", made.id),
        "state": made.state,
        "description": made.description,
        "target_url": made.target_url,
        "context": made.context,
        "created_at": stamp(made.created_at),
        "updated_at": stamp(made.created_at),
    }
    return whole if simple else whole | {"creator": basic.user(links, made.creator)}


def _pulls(state: ForgeState, links: Links, suite: CheckSuite) -> list[Json]:
    return [pull_json.minimal_pull(links, pull) for pull in state.checks.pulls_of(suite)]
