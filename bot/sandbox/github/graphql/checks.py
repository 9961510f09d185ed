"""Statuses and check runs of a commit in GraphQL: the rollup that `gh pr checks` shows.

Source: GitHub's GraphQL reference, objects StatusCheckRollup, StatusContext, CheckRun.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.sandbox.github import json as basic
from bot.sandbox.github.graphql.connections import QueryError, connection
from bot.sandbox.github.graphql.entries import (
    PULLS,
    Info,
    Resolver,
    need,
    pull_by_id,
    pull_request,
    request_of,
)
from bot.sandbox.records.checks import CommitStatus
from bot.sandbox.records.repository import CheckRun, Pull, Repository
from bot.sandbox.rules.checks import GOOD


@dataclass(frozen=True, slots=True)
class RollupContext:
    """A status or a check run, with the repository that it is of."""

    what: CommitStatus | CheckRun
    repo: Repository

    @property
    def kind(self) -> str:
        """GitHub's name of its type."""
        return "StatusContext" if isinstance(self.what, CommitStatus) else "CheckRun"


@dataclass(frozen=True, slots=True)
class Rollup:
    """All that is said of a commit: the newest status of each context, the newest run of a name."""

    said: tuple[RollupContext, ...]

    @property
    def state(self) -> str:
        """The worst of it, in GitHub's words."""
        words = [_word(each.what) for each in self.said]
        if "ERROR" in words:
            return "ERROR"
        return next((w for w in ("FAILURE", "PENDING") if w in words), "SUCCESS")


def rollup(repo: Repository, sha: str, info: Info) -> Rollup | None:
    """What is said of a commit; None where nothing is."""
    state = request_of(info).state
    statuses = [
        RollupContext(each, repo) for each in state.checks.statuses_on(repo, sha, latest=True)
    ]
    runs = [RollupContext(each, repo) for each in state.checks.runs_on(repo, sha)]
    return Rollup((*statuses, *runs)) if statuses or runs else None


def _word(each: CommitStatus | CheckRun) -> str:
    if isinstance(each, CommitStatus):
        return each.state.upper()
    if each.conclusion is None:
        return "PENDING"
    return "SUCCESS" if each.conclusion in GOOD else "FAILURE"


def _required(said: RollupContext, info: Info, **given: Any) -> bool:
    pull = _pull(said, info, given)
    required = request_of(info).state.rules.required_checks(pull.repo, pull.base_ref)
    what = said.what
    if isinstance(what, CommitStatus):
        return any(name == what.context and app is None for name, app in required)
    return any(name == what.name and app in (None, what.suite.app.id) for name, app in required)


def _pull(said: RollupContext, info: Info, given: Mapping[str, Any]) -> Pull:
    need(info, PULLS)
    wanted, number = given.get("pullRequestId"), given.get("pullRequestNumber")
    if wanted is not None:
        return pull_by_id(info, wanted)
    if number is None:
        message = "A pullRequestId or pullRequestNumber argument must be provided."
        raise QueryError("UNPROCESSABLE", message)
    return pull_request(said.repo, info, number)


def _contexts(found: Rollup, _info: Info, **given: Any) -> Any:
    return connection("contexts", found.said, given)


FIELDS: Mapping[str, Mapping[str, Resolver]] = {
    "StatusCheckRollup": {"contexts": _contexts, "state": lambda r, _info: r.state},
    "StatusContext": {
        "context": lambda s, _info: s.what.context,
        "createdAt": lambda s, _info: basic.stamp(s.what.created_at),
        "description": lambda s, _info: s.what.description,
        "isRequired": _required,
        "state": lambda s, _info: s.what.state.upper(),
        "targetUrl": lambda s, _info: s.what.target_url,
    },
    "CheckSuite": {"app": lambda s, _info: s.app, "workflowRun": lambda _s, _info: None},
    "App": {"name": lambda a, _info: a.name, "slug": lambda a, _info: a.slug},
    "CheckRun": {
        "checkSuite": lambda r, _info: r.what.suite,
        "completedAt": lambda r, _info: basic.stamp_or_none(r.what.completed_at),
        "conclusion": lambda r, _info: r.what.conclusion and r.what.conclusion.upper(),
        "databaseId": lambda r, _info: r.what.id,
        "detailsUrl": lambda r, _info: r.what.details_url,
        "isRequired": _required,
        "name": lambda r, _info: r.what.name,
        "startedAt": lambda r, _info: basic.stamp(r.what.started_at),
        "status": lambda r, _info: r.what.status.upper(),
        "summary": lambda r, _info: r.what.summary,
        "title": lambda r, _info: r.what.title,
    },
}
"""Type and field to what it holds."""
