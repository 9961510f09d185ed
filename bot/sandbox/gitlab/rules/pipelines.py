"""Commit statuses and the external pipelines that they make.

Source: https://docs.gitlab.com/api/commits/#set-commit-pipeline-status, `CommitStatus` and
`Ci::Pipelines::AddJobService` of GitLab: a status that is not finished changes by its state
machine; a finished one is replaced by a new one of its name.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.sandbox import refnames
from bot.sandbox.git import history
from bot.sandbox.gitlab.errors import bad_request, missing
from bot.sandbox.records.accounts import User
from bot.sandbox.records.pipelines import FINISHED, JobStatus, Pipeline
from bot.sandbox.records.repository import Pull, Repository
from bot.sandbox.rules.context import Context

STATES = ("pending", "running", "success", "failed", "canceled", "skipped")
LONGEST_NAME = 255
_EVENTS = {
    "pending": ("enqueue", {"created", "skipped", "manual", "scheduled"}),
    "running": ("run", {"pending"}),
    "success": ("success", {"created", "pending", "running"}),
    "failed": ("drop", {"created", "pending", "running"}),
    "canceled": ("cancel", {"created", "pending", "running"}),
    "skipped": ("skip", {"created", "pending"}),
}
"""State wanted: the name of its transition, and the states it starts from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRequest:
    """A status as somebody sends it; None leaves a field as it is."""

    sha: str
    state: str
    name: str
    ref: str | None = None
    pipeline_id: int | None = None
    description: str | None = None
    target_url: str | None = None
    coverage: float | None = None


def post(state: Context, repo: Repository, user: User, wish: StatusRequest) -> JobStatus:
    """Set a status: change the one of this name and person that is not finished, or make one.

    Raises:
        RefusedError: 400 for a transition that there is not (nothing changes then), 404 for a
            commit or a branch that is not there.
    """
    if state.git(repo).kind(wish.sha) != "commit":
        raise missing("Commit")
    if len(wish.name) > LONGEST_NAME:
        words = f"name is too long (maximum is {LONGEST_NAME} characters)"
        raise bad_request(f"400 Bad request - {words}")
    pipeline = _pipeline(state, repo, user, wish)
    before = pipeline.state
    found = next(
        (s for s in pipeline.latest if s.name == wish.name and s.user is user and _going(s)), None
    )
    if found is None:
        found = _status(state, pipeline, user, wish.name)
    _turn(state, found, wish)
    if found not in pipeline.statuses:
        for other in pipeline.latest:
            other.retried = other.retried or other.name == wish.name
        pipeline.statuses.append(found)
    pipeline.updated_at = state.now()
    repo.gitlab.pipelines.setdefault(pipeline.id, pipeline)
    if pipeline.state != before:
        state.emit("pipeline", pipeline.state, repo, pipeline.user, pipeline=pipeline)
    return found


def on_commit(repo: Repository, sha: str) -> list[Pipeline]:
    """Pipelines of a commit, newest first."""
    return [p for p in reversed(repo.gitlab.pipelines.values()) if p.sha == sha]


def head_pipeline(pull: Pull) -> Pipeline | None:
    """The pipeline that counts for a merge request: the newest of its branch at its head.

    That of a fork's branch is the fork's: a status in the project it comes to makes none for it.
    """
    if pull.head_repo is None:
        return None
    found = on_commit(pull.head_repo, pull.head_sha)
    return next((p for p in found if p.ref == pull.head_ref), None)


def train(state: Context, mr: Pull, user: User, sha: str) -> Pipeline:
    """The pipeline of what a car of a merge train would make."""
    ref = f"refs/merge-requests/{mr.number}/train"
    begun = made(state, mr.repo, user, ref, sha, "merge_request_event")
    mr.repo.gitlab.pipelines[begun.id] = begun
    state.emit("pipeline", begun.state, mr.repo, user, pipeline=begun)
    return begun


def _pipeline(state: Context, repo: Repository, user: User, wish: StatusRequest) -> Pipeline:
    known = on_commit(repo, wish.sha)
    if wish.pipeline_id is not None:
        found = next((p for p in known if p.id == wish.pipeline_id), None)
        if found is None:
            raise missing("Pipeline")
        return found
    ref = wish.ref or (known[0].ref if known else None) or _branch_with(state, repo, wish.sha)
    if ref is None:
        raise missing("References for commit")
    found = next((p for p in known if p.ref == ref), None)
    if found is not None:
        return found
    return made(state, repo, user, ref, wish.sha, "external")


def made(state: Context, repo: Repository, user: User, ref: str, sha: str, source: str) -> Pipeline:
    """A new pipeline, which its first status makes known."""
    now, number = state.now(), len(repo.gitlab.pipelines) + 1
    return Pipeline(
        id=state.next_id(),
        iid=number,
        ref=ref,
        sha=sha,
        source=source,
        user=user,
        created_at=now,
        updated_at=now,
    )


def _branch_with(state: Context, repo: Repository, sha: str) -> str | None:
    at = repo.refs.branches_at(sha)
    if at:
        return sorted(at)[0]
    heads = repo.refs.below(refnames.branch_ref(""))
    git = state.git(repo)
    names = (h for h in heads if history.contains(git, repo.refs[h], sha))
    found = next(names, None)
    return refnames.branch_name(found) if found is not None else None


def _going(status: JobStatus) -> bool:
    return status.state in ("pending", "running")


def _status(state: Context, pipeline: Pipeline, user: User, name: str) -> JobStatus:
    return JobStatus(
        id=state.next_id(),
        pipeline=pipeline,
        name=name,
        state="created",
        user=user,
        created_at=state.now(),
    )


def _turn(state: Context, status: JobStatus, wish: StatusRequest) -> None:
    event, start = _EVENTS[wish.state]
    current = status.state
    if wish.state == "running" and current == "created":
        current = "pending"  # GitLab enqueues it first
    if current not in start:
        raise bad_request(
            f"Cannot transition status via :{event} from :{current}"
            f' (Reason(s): Status cannot transition via "{event}")'
        )
    status.state = wish.state
    for field in ("description", "target_url", "coverage"):
        value = getattr(wish, field)
        if value is not None:
            setattr(status, field, value)
    if wish.state == "running":
        status.started_at = state.now()
    if wish.state in FINISHED:
        status.finished_at = state.now()
