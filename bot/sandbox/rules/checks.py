"""The forge's rules of checks: suites, runs, annotations, commit statuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.sandbox import refnames
from bot.sandbox.errors import RefusedError, custom, not_found, plain
from bot.sandbox.records.accounts import App, Role, User
from bot.sandbox.records.checks import Annotation, CommitStatus
from bot.sandbox.records.refs import RefChange
from bot.sandbox.records.repository import CheckRun, CheckSuite, Pull, Repository
from bot.sandbox.rules import limits
from bot.sandbox.rules.context import Context

CONCLUSIONS = (
    "action_required",
    "cancelled",
    "failure",
    "neutral",
    "success",
    "skipped",
    "timed_out",
)
STATUSES = ("queued", "in_progress", "completed")
GOOD = ("success", "neutral", "skipped")
"""Conclusions that satisfy a required check."""

_MOST_ANNOTATIONS = 50  # GitHub: annotations in one request
_MOST_ACTIONS = 3  # GitHub: buttons of a check run
_LONGEST_DESCRIPTION = 140  # GitHub: description of a commit status
_MOST_STATUSES = 1000  # GitHub: statuses of one context on one commit


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRunFields:
    """What an App asks of a check run; None leaves a field as it is."""

    name: str | None = None
    status: str | None = None
    conclusion: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    details_url: str | None = None
    external_id: str | None = None
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations: Sequence[Annotation] = ()
    actions: Sequence[Mapping[str, str]] | None = None


class Checks:
    """Check suites, runs and statuses of a forge; the caller holds `ForgeState.lock`."""

    def __init__(self, state: Context) -> None:
        self._state = state

    def suite(self, repo: Repository, app: App, sha: str) -> tuple[CheckSuite, bool]:
        """The App's suite for a commit, made if it is missing; and whether it was made."""
        for old in repo.suites.on(sha):
            if old.app is app:
                return old, False
        if self._state.git(repo).kind(sha) != "commit":
            raise plain(f"No commit found for SHA: {sha}")
        branch = next(iter(repo.refs.branches_at(sha)), None)
        now = self._state.now()
        made = CheckSuite(
            id=self._state.next_id(),
            repo=repo,
            app=app,
            head_sha=sha,
            head_branch=branch,
            before=None,
            created_at=now,
            updated_at=now,
        )
        repo.suites.add(made)
        return made, True

    def create(self, repo: Repository, app: App, sha: str, wish: CheckRunFields) -> CheckRun:
        """Make a check run; its suite comes with it.

        Raises:
            RefusedError: 422 for a commit that is not there or a limit that is passed.
        """
        if not wish.name:
            raise plain('Invalid request.\n\n"name" wasn\'t supplied.')
        _check(wish, None)
        suite, _ = self.suite(repo, app, sha)
        run = CheckRun(
            id=self._state.next_id(),
            suite=suite,
            name=wish.name,
            status="queued",
            conclusion=None,
            started_at=self._state.now(),
            completed_at=None,
            details_url=f"https://{app.slug}.sandbox.example",
            external_id="",
        )
        repo.suites.add_run(run)
        self._apply(run, wish)
        self._tell(run, "created")
        if run.status == "completed":
            self._completed(run)
        return run

    def update(self, run: CheckRun, wish: CheckRunFields) -> None:
        """Change a check run; annotations are added to those it has.

        Raises:
            RefusedError: 422 when a completed run should go back, or a limit is passed.
        """
        _check(wish, run.conclusion)
        was_completed = run.status == "completed"
        if was_completed and wish.conclusion is None and wish.status not in (None, "completed"):
            raise custom("CheckRun", f"a completed check run cannot become {wish.status}", "status")
        self._apply(run, wish)
        if run.status == "completed" and not was_completed:
            self._completed(run)

    def find(self, repo: Repository, run_id: int) -> CheckRun:
        """A check run by its id; 404 when there is none."""
        found = repo.suites.run(run_id)
        if found is None:
            raise not_found()
        return found

    def find_suite(self, repo: Repository, suite_id: int) -> CheckSuite:
        """A check suite by its id; 404 when there is none."""
        found = repo.suites.get(suite_id)
        if found is None:
            raise not_found()
        return found

    def rerequest(self, run: CheckRun, user: User) -> None:
        """Ask the App to run one check again; only that App hears of it.

        The run stands as it was; its suite is queued again, as GitHub's description says.
        """
        if run.status != "completed":
            raise RefusedError(422, "This check run is not yet completed")
        run.suite.rerequested = True
        self._state.emit("check_run", "rerequested", run.suite.repo, user, run=run)

    def press(self, run: CheckRun, user: User, identifier: str) -> None:
        """Press a button of a check; only the App that made it hears of it.

        Raises:
            RefusedError: 404 for a button that it does not have, 403 without write access.
        """
        self._state.need(run.suite.repo, user, Role.WRITE)
        if identifier not in {action["identifier"] for action in run.actions}:
            raise not_found()
        pressed = {"identifier": identifier}
        self._state.emit(
            "check_run", "requested_action", run.suite.repo, user, run=run, pressed=pressed
        )

    def rerequest_suite(self, suite: CheckSuite, user: User) -> None:
        """Ask the App to run a whole suite again; only that App hears of it."""
        suite.rerequested = True
        self._state.emit("check_suite", "rerequested", suite.repo, user, suite=suite)

    def pushed(self, repo: Repository, change: RefChange, actor: User) -> None:
        """Make and request a suite for each App that writes checks, once for each commit."""
        if change.deletes:
            return
        for installation in list(self._state.data.installations.values()):
            app = installation.app
            writes = installation.permissions.get("checks") == "write"
            if repo not in installation.repositories or not writes or installation.suspended_at:
                continue
            suite, fresh = self.suite(repo, app, change.after)
            if fresh:
                suite.before = change.before
                suite.head_branch = refnames.branch_name(change.ref)
                self._state.emit("check_suite", "requested", repo, actor, suite=suite)

    def pulls_of(self, suite: CheckSuite) -> list[Pull]:
        """Open pull requests of the same repository at the suite's commit; none for forks."""
        return [
            pull
            for pull in suite.repo.open_pulls.values()
            if pull.head_sha == suite.head_sha and pull.head_repo is suite.repo
        ]

    def runs_on(self, repo: Repository, sha: str, *, latest: bool = True) -> list[CheckRun]:
        """Check runs on a commit, newest first; `latest` keeps one of a name in each suite."""
        runs = [run for suite in repo.suites.on(sha) for run in suite.runs]
        runs.sort(key=lambda run: -run.id)
        if not latest:
            return runs
        newest: dict[tuple[int, str], CheckRun] = {}
        for run in runs:
            newest.setdefault((run.suite.id, run.name), run)
        return list(newest.values())

    def add_status(
        self,
        repo: Repository,
        sha: str,
        user: User,
        *,
        state: str,
        context: str,
        description: str | None,
        target_url: str | None,
    ) -> CommitStatus:
        """Put a status on a commit."""
        if state not in ("error", "failure", "pending", "success"):
            raise custom("Status", "state is not included in the list", "state")
        if description is not None and len(description) > _LONGEST_DESCRIPTION:
            raise custom(
                "Status",
                f"description is too long (maximum is {_LONGEST_DESCRIPTION} characters)",
                "description",
            )
        if self._state.git(repo).kind(sha) != "commit":
            raise plain(f"No commit found for SHA: {sha}")
        same = [s for s in repo.statuses.get(sha, ()) if s.context == context]
        if len(same) >= _MOST_STATUSES:
            raise custom(
                "Status", "This SHA and context has reached the maximum number of statuses."
            )
        made = CommitStatus(
            id=self._state.next_id(),
            sha=sha,
            state=state,
            context=context,
            description=description,
            target_url=target_url,
            creator=user,
            created_at=self._state.now(),
        )
        repo.statuses.setdefault(sha, []).append(made)
        self._state.emit("status", None, repo, user, status=made)
        return made

    def statuses_on(self, repo: Repository, sha: str, *, latest: bool) -> list[CommitStatus]:
        """Statuses of a commit, newest first; `latest` keeps one of a context."""
        found = repo.statuses.get(sha, [])[::-1]
        if not latest:
            return found
        newest: dict[str, CommitStatus] = {}
        for status in found:
            newest.setdefault(status.context, status)
        return list(newest.values())

    def verdict(self, repo: Repository, sha: str, context: str, app_id: int | None) -> str:
        """How a required check stands: `expected` (nothing yet), `pending`, `failing`, `good`."""
        runs = [
            run
            for run in self.runs_on(repo, sha)
            if run.name == context and (app_id is None or run.suite.app.id == app_id)
        ]
        statuses = [
            s
            for s in self.statuses_on(repo, sha, latest=True)
            if s.context == context and app_id is None
        ]
        if not runs and not statuses:
            return "expected"
        words = [run.conclusion or "pending" for run in runs] + [s.state for s in statuses]
        if all(word in GOOD for word in words):
            return "good"
        return "pending" if "pending" in words else "failing"

    def _apply(self, run: CheckRun, wish: CheckRunFields) -> None:
        for field in (
            "name",
            "started_at",
            "details_url",
            "external_id",
            "title",
            "summary",
            "text",
        ):
            value = getattr(wish, field)
            if value is not None:
                setattr(run, field, value)
        run.annotations += wish.annotations
        if wish.actions is not None:
            run.actions = [dict(action) for action in wish.actions]
        if wish.conclusion is not None or wish.status == "completed":
            run.status, run.conclusion = "completed", wish.conclusion or run.conclusion
            run.completed_at = wish.completed_at or run.completed_at or self._state.now()
        elif wish.status is not None:
            run.status = wish.status
        run.suite.rerequested = False
        run.suite.updated_at = self._state.now()

    def _completed(self, run: CheckRun) -> None:
        self._tell(run, "completed")
        suite = run.suite
        if all(other.status == "completed" for other in suite.runs):
            sender = self._state.app_user(suite.app)
            self._state.emit("check_suite", "completed", suite.repo, sender, suite=suite)

    def _tell(self, run: CheckRun, action: str) -> None:
        sender = self._state.app_user(run.suite.app)
        self._state.emit("check_run", action, run.suite.repo, sender, run=run)


def suite_verdict(suite: CheckSuite) -> tuple[str, str | None]:
    """Status and conclusion of a suite: the worst of the newest run of each name."""
    newest: dict[str, CheckRun] = {}
    for run in sorted(suite.runs, key=lambda run: -run.id):
        newest.setdefault(run.name, run)
    if suite.rerequested or not newest:
        return "queued", None
    if any(run.status != "completed" for run in newest.values()):
        started = any(run.status != "queued" for run in newest.values())
        return ("in_progress" if started else "queued"), None
    order = [
        "failure",
        "timed_out",
        "cancelled",
        "action_required",
        "success",
        "neutral",
        "skipped",
    ]
    found = {run.conclusion for run in newest.values()}
    return "completed", next(word for word in order if word in found)


def _check(wish: CheckRunFields, conclusion: str | None) -> None:
    if wish.status == "completed" and not (wish.conclusion or conclusion):
        raise plain("Invalid request.\n\nconclusion is required when status is completed.")
    if wish.status is not None and wish.status not in STATUSES:
        raise plain(f"Invalid request.\n\n{wish.status} is not a possible status.")
    if wish.conclusion is not None and wish.conclusion not in CONCLUSIONS:
        raise plain(f"Invalid request.\n\n{wish.conclusion} is not a possible conclusion.")
    if len(wish.annotations) > _MOST_ANNOTATIONS:
        raise plain(
            "Invalid request.\n\nNo more than 50 items are allowed;"
            f" {len(wish.annotations)} were supplied."
        )
    limits.check_bytes("CheckRun", "summary", wish.summary, limits.LONGEST_OUTPUT)
    limits.check_bytes("CheckRun", "text", wish.text, limits.LONGEST_OUTPUT)
    if wish.details_url == "":
        raise custom("CheckRun", "details_url must use http or https", "details_url")
    if wish.actions is not None and len(wish.actions) > _MOST_ACTIONS:
        raise plain(f"Invalid request.\n\nNo more than {_MOST_ACTIONS} items are allowed.")
    for note in wish.annotations:
        _check_annotation(note)


def _check_annotation(note: Annotation) -> None:
    if note.annotation_level not in ("notice", "warning", "failure"):
        raise plain(f"Invalid request.\n\n{note.annotation_level} is not a possible level.")
    if note.end_line < note.start_line or note.start_line < 0:
        raise custom("CheckAnnotation", "end_line must not come before start_line", "end_line")
    limits.check_bytes("CheckAnnotation", "message", note.message, limits.LONGEST_MESSAGE)
    limits.check_bytes("CheckAnnotation", "raw_details", note.raw_details, limits.LONGEST_MESSAGE)
    if note.title is not None and len(note.title) > limits.LONGEST_NOTE_TITLE:
        words = f"title exceeds a maximum length of {limits.LONGEST_NOTE_TITLE}"
        raise custom("CheckAnnotation", words, "title")
    columns = note.start_column is not None or note.end_column is not None
    if columns and note.start_line != note.end_line:
        raise custom("CheckAnnotation", "columns need start_line and end_line to be the same")
