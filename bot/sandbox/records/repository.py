"""A repository and what hangs on it: issues, pull requests, reviews, check runs, releases.

These records name each other, so they are one module. They change in place, under the forge's one
lock (`ForgeState.lock`); everything else about the forge is a rule in `rules`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from bot.sandbox import refnames
from bot.sandbox.records.accounts import App, Role, User
from bot.sandbox.records.checks import Annotation, CommitStatus
from bot.sandbox.records.gitlab import Project
from bot.sandbox.records.protection import Protection, Ruleset
from bot.sandbox.records.refs import Activity, Refs
from bot.sandbox.records.talk import Label, LastEdit, Reaction, ReviewComment, TimelineEvent


@dataclass(slots=True, eq=False, kw_only=True)
class RepoHook:
    """A webhook that a repository has by itself, without an App."""

    id: int
    repo: Repository
    url: str
    secret: str
    events: tuple[str, ...]
    active: bool
    created_at: datetime
    updated_at: datetime


@dataclass(slots=True, eq=False, kw_only=True)
class Comment:
    """A comment in the conversation of an issue or a pull request."""

    id: int
    thread: Thread
    user: User
    body: str
    created_at: datetime
    updated_at: datetime
    reactions: list[Reaction] = field(default_factory=list)
    edit: LastEdit | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Review:
    """A review; `state` is APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED or PENDING."""

    id: int
    pull: Pull
    user: User
    body: str
    state: str
    commit_id: str
    submitted_at: datetime
    updated_at: datetime
    edit: LastEdit | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Thread:
    """What people talk in: an issue or a pull request. Both share one row of numbers."""

    id: int
    number: int
    repo: Repository
    user: User
    title: str
    body: str | None
    created_at: datetime
    updated_at: datetime
    state: str = "open"
    closed_at: datetime | None = None
    locked: bool = False
    labels: list[Label] = field(default_factory=list)
    assignees: list[User] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    reactions: list[Reaction] = field(default_factory=list)
    events: list[TimelineEvent] = field(default_factory=list)
    edit: LastEdit | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Issue(Thread):
    """An issue; `state_reason` says why it is closed, or that it was reopened."""

    state_reason: str | None = None
    edits: list[LastEdit] = field(default_factory=list)


@dataclass(slots=True, eq=False, kw_only=True)
class Pull(Thread):
    """A pull request. `head_sha` and `base_sha` stand still once it is closed.

    `base_sha` is the base branch's tip when the pull request was opened, retargeted or last
    pushed to: like GitHub's, it does not follow later pushes to the base branch.
    """

    head_repo: Repository | None
    head_ref: str
    head_sha: str
    base_ref: str
    base_sha: str
    draft: bool
    maintainer_can_modify: bool
    merged_at: datetime | None = None
    merged_by: User | None = None
    merge_commit_sha: str | None = None
    reviews: list[Review] = field(default_factory=list)
    remarks: list[ReviewComment] = field(default_factory=list)
    requested_reviewers: list[User] = field(default_factory=list)
    merge_base: str | None = None
    mergeable_for: tuple[str, str] | None = None
    mergeable_reads: int = 0
    mergeable: bool | None = None

    @property
    def merged(self) -> bool:
        """Whether it was merged (a closed one need not be)."""
        return self.merged_at is not None

    @property
    def from_fork(self) -> bool:
        """Whether its head lives in another repository, or in one that is gone."""
        return self.head_repo is not self.repo

    @property
    def head_owner(self) -> str:
        """Login of the head's owner; "unknown" when the fork is gone."""
        return self.head_repo.owner.login if self.head_repo else "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeGroup:
    """The merge of a queue up to one entry, at a branch of its own.

    Attributes:
        ref: Full name of that branch.
        base_sha: What it is built on: the base branch, or the merge of the entry before.
        head_sha: The result.
        built_at: When.
    """

    ref: str
    base_sha: str
    head_sha: str
    built_at: datetime


@dataclass(slots=True, eq=False, kw_only=True)
class QueueEntry:
    """A pull request in a queue."""

    id: int
    pull: Pull
    user: User
    enqueued_at: datetime
    group: MergeGroup | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Release:
    """A release; a draft has no `published_at`, and no tag is made for it."""

    id: int
    tag: str
    target: str
    name: str | None
    body: str | None
    draft: bool
    prerelease: bool
    author: User
    created_at: datetime
    published_at: datetime | None = None


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


@dataclass(slots=True, eq=False, kw_only=True)
class Repository:
    """A repository and all that hangs on it.

    `refs` mirrors the bare repository's refs (full name to object id, a tag object's own id for
    annotated tags); `ForgeState` keeps the two equal, so that reading a ref starts no process.

    The rules keep these beside what they index, so that no request reads everything:

    Attributes:
        statuses: Commit statuses by commit, the oldest first.
        open_pulls: Those of `pulls` that are open.
        pulls_by_head: Pull requests by the name of their head branch, whatever its repository.
        comments: Comments of all conversations, by number.
        activity_by_ref: Those of `activity` that are about one ref.
        contributors: Numbers of the accounts that had a pull request merged.
        last_number: The newest number of an issue or pull request.
        queues: Merge queues by the name of their branch, the front first.
        shares: Groups that the repository is shared with, by their path in small letters, and the
            most that their members may do.
        gitlab: What only a project of GitLab's has.
    """

    id: int
    owner: User
    name: str
    default_branch: str
    private: bool
    created_at: datetime
    updated_at: datetime
    pushed_at: datetime
    description: str | None = None
    archived: bool = False
    limited: bool = False
    """Private, on a plan without drafts and rules."""
    has_issues: bool = True
    topics: list[str] = field(default_factory=list)
    parent: Repository | None = None
    members: dict[str, Role] = field(default_factory=dict)
    shares: dict[str, Role] = field(default_factory=dict)
    gitlab: Project = field(default_factory=Project)
    refs: Refs = field(default_factory=Refs)
    pulls: dict[int, Pull] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    suites: Suites = field(default_factory=Suites)
    statuses: dict[str, list[CommitStatus]] = field(default_factory=dict)
    protections: dict[str, Protection] = field(default_factory=dict)
    rulesets: dict[int, Ruleset] = field(default_factory=dict)
    hooks: dict[int, RepoHook] = field(default_factory=dict)
    releases: dict[int, Release] = field(default_factory=dict)
    activity: list[Activity] = field(default_factory=list)
    open_pulls: dict[int, Pull] = field(default_factory=dict)
    pulls_by_head: dict[str, list[Pull]] = field(default_factory=dict)
    comments: dict[int, Comment] = field(default_factory=dict)
    activity_by_ref: dict[str, list[Activity]] = field(default_factory=dict)
    contributors: set[int] = field(default_factory=set)
    last_number: int = 0
    latest_release: int | None = None
    queues: dict[str, list[QueueEntry]] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        """`owner/name`."""
        return f"{self.owner.login}/{self.name}"

    @property
    def threads(self) -> list[Thread]:
        """Issues and pull requests, by number."""
        both: list[Thread] = [*self.issues.values(), *self.pulls.values()]
        return sorted(both, key=lambda thread: thread.number)

    def next_number(self) -> int:
        """Take the number of a new issue or pull request."""
        self.last_number += 1
        return self.last_number

    def branch(self, name: str) -> str | None:
        """Tip of a branch, or None."""
        return self.refs.get(refnames.branch_ref(name))
