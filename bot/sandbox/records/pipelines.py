"""Pipelines of GitLab and the statuses in them; nothing here runs a job."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from bot.sandbox.records.accounts import User


@dataclass(slots=True, eq=False, kw_only=True)
class JobStatus:
    """A commit status: what somebody says of a commit under a name.

    Attributes:
        state: `created`, `pending`, `running`, `success`, `failed`, `canceled` or `skipped`.
        retried: Whether a newer status of the same name stands in its place.
    """

    id: int
    pipeline: Pipeline
    name: str
    state: str
    user: User
    created_at: datetime
    description: str | None = None
    target_url: str | None = None
    coverage: float | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    retried: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class Pipeline:
    """All statuses of a commit on a branch; the sandbox knows `external` ones and those of CI."""

    id: int
    iid: int
    ref: str
    sha: str
    source: str
    user: User
    created_at: datetime
    updated_at: datetime
    statuses: list[JobStatus] = field(default_factory=list)

    @property
    def latest(self) -> list[JobStatus]:
        """Its statuses without those that newer ones replaced, oldest first."""
        return [status for status in self.statuses if not status.retried]

    @property
    def state(self) -> str:
        """What its statuses come to together.

        Source: https://docs.gitlab.com/api/pipelines/ (values of `status`)
        """
        found = {status.state for status in self.latest}
        if not found:
            return "created"
        if found == {"skipped"}:
            return "skipped"
        if "running" in found or (found & {"pending", "created"} and found & _ENDED):
            return "running"
        if found & {"pending", "created"}:
            return "pending"
        return next(word for word in ("failed", "canceled", "success") if word in found)


_ENDED = {"success", "failed", "canceled"}
FINISHED = frozenset(_ENDED | {"skipped"})
"""States that a status never leaves: who writes again makes another one."""


@dataclass(slots=True, eq=False, kw_only=True)
class Environment:
    """Where something is deployed to."""

    id: int
    name: str
    created_at: datetime
    external_url: str | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Deployment:
    """A commit that was deployed, or shall be."""

    id: int
    iid: int
    environment: Environment
    sha: str
    ref: str
    tag: bool
    status: str
    user: User
    created_at: datetime
    updated_at: datetime
