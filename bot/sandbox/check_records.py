"""What the forge remembers of checks: suites, runs, annotations, commit statuses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.sandbox.model import App, Repository, User


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """A remark of a check run at lines of a file, as the App sent it."""

    path: str
    start_line: int
    end_line: int
    annotation_level: str
    message: str
    start_column: int | None = None
    end_column: int | None = None
    title: str | None = None
    raw_details: str | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class CheckSuite:
    """All check runs of one App on one commit.

    `rerequested` holds from the wish for another run until the App answers with one.
    """

    id: int
    repo: Repository
    app: App
    head_sha: str
    head_branch: str | None
    before: str | None
    created_at: datetime
    updated_at: datetime
    runs: list[CheckRun] = field(default_factory=list)
    rerequested: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class CheckRun:
    """One check of an App on a commit; once completed it stays so."""

    id: int
    suite: CheckSuite
    name: str
    status: str
    conclusion: str | None
    started_at: datetime
    completed_at: datetime | None
    details_url: str
    external_id: str
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations: list[Annotation] = field(default_factory=list)
    actions: list[dict[str, str]] = field(default_factory=list)

    @property
    def head_sha(self) -> str:
        """The commit that it speaks of."""
        return self.suite.head_sha


@dataclass(slots=True, eq=False, kw_only=True)
class Status:
    """A commit status; the newest for a context counts."""

    id: int
    sha: str
    state: str
    context: str
    description: str | None
    target_url: str | None
    creator: User
    created_at: datetime


class Suites:
    """The check suites of a repository, found by number, by commit and by their runs' numbers."""

    def __init__(self) -> None:
        self._by_id: dict[int, CheckSuite] = {}
        self._by_commit: dict[str, list[CheckSuite]] = {}
        self._runs: dict[int, CheckRun] = {}

    def __iter__(self) -> Iterator[CheckSuite]:
        return iter(self._by_id.values())

    def add(self, suite: CheckSuite) -> None:
        """Remember a suite that has no runs yet."""
        self._by_id[suite.id] = suite
        self._by_commit.setdefault(suite.head_sha, []).append(suite)

    def add_run(self, run: CheckRun) -> None:
        """Remember a check run, in its suite too."""
        run.suite.runs.append(run)
        self._runs[run.id] = run

    def get(self, suite_id: int) -> CheckSuite | None:
        """A suite by its number."""
        return self._by_id.get(suite_id)

    def run(self, run_id: int) -> CheckRun | None:
        """A check run by its number."""
        return self._runs.get(run_id)

    def on(self, sha: str) -> list[CheckSuite]:
        """Suites of a commit, the oldest first."""
        return self._by_commit.get(sha, [])
