"""What the forge remembers: users, repositories, pull requests, reviews, comments, checks.

Longer than 400 lines: the records name each other.

These records change in place, under the forge's one lock (`State.lock`); everything else about
the forge is a rule in `state`, `pulls`, `talk` or `checks`. They hold no open file and no git
process, so that the whole memory can be copied to answer with facts of earlier.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Any

from bot.sandbox.check_records import Status, Suites
from bot.sandbox.protection import Protection, Ruleset
from bot.sandbox.records.refs import Refs


class Role(IntEnum):
    """What a user may do in a repository; a greater role includes the lesser."""

    NONE = 0
    READ = 1
    TRIAGE = 2
    WRITE = 3
    MAINTAIN = 4
    ADMIN = 5

    @property
    def word(self) -> str:
        """The role's name as the forge writes it: `maintain`."""
        return self.name.lower()


class ActivityKind(StrEnum):
    """How a ref came to change, in GitHub's words."""

    PUSH = "push"
    FORCE_PUSH = "force_push"
    BRANCH_DELETION = "branch_deletion"
    BRANCH_CREATION = "branch_creation"
    PR_MERGE = "pr_merge"
    MERGE_QUEUE_MERGE = "merge_queue_merge"


@dataclass(slots=True, eq=False)
class User:
    """An account. An App acts through an account of type Bot named `<slug>[bot]`.

    Attributes:
        kind: `User`, `Organization` or `Bot`.
    """

    id: int
    login: str
    name: str
    created_at: datetime
    app: App | None = None
    kind: str = "User"

    @property
    def email(self) -> str:
        """The address that the forge writes into commits it makes for this account."""
        return f"{self.id}+{self.login}@users.noreply.sandbox.example"


@dataclass(slots=True, eq=False, kw_only=True)
class Team:
    """A team of an organization; `roles` are what it may do, by the repository's id."""

    id: int
    name: str
    slug: str
    created_at: datetime
    members: list[User] = field(default_factory=list)
    roles: dict[int, Role] = field(default_factory=dict)


@dataclass(slots=True, eq=False, kw_only=True)
class Organization:
    """What an account of type Organization holds: members (`admin`, `member`) and teams."""

    account: User
    members: dict[str, str] = field(default_factory=dict)
    teams: dict[str, Team] = field(default_factory=dict)


@dataclass(slots=True, eq=False, kw_only=True)
class App:
    """A GitHub App as registered: its key's public half, what it may do and hear."""

    id: int
    slug: str
    name: str
    owner: User
    client_id: str
    public_key: str
    permissions: dict[str, str]
    events: tuple[str, ...]
    webhook_url: str | None
    webhook_secret: str
    hook_id: int
    created_at: datetime


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
class Installation:
    """An App on an account, for chosen repositories."""

    id: int
    app: App
    account: User
    permissions: dict[str, str]
    events: tuple[str, ...]
    created_at: datetime
    repositories: list[Repository] = field(default_factory=list)
    suspended_at: datetime | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class InstallationToken:
    """A token of an installation; worth nothing from `expires_at` on."""

    installation: Installation
    expires_at: datetime
    permissions: dict[str, str]
    repository_ids: tuple[int, ...] | None
    revoked: bool = False


@dataclass(slots=True, eq=False)
class Label:
    """A label of a repository; pull requests point at it."""

    id: int
    name: str
    color: str
    description: str | None


@dataclass(slots=True, eq=False)
class Reaction:
    """One user's one emoji on a comment or on a pull request."""

    id: int
    user: User
    content: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Edit:
    """The last edit of a text, however soon after it was written."""

    editor: User
    at: datetime


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
    edit: Edit | None = None


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
    edit: Edit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEvent:
    """Something that happened to a pull request.

    Attributes:
        id: The forge's number of it.
        kind: GitHub's name of the event in a timeline, such as `base_ref_changed`; `opened` and
            `pushed` are told to people only.
        actor: Who did it.
        at: When.
        text: What people read in the conversation, after the actor's name.
        detail: What the event's kind adds: `before` and `after` (commits of a forced push, names
            of a base branch, titles), `commit` (of a merge), `review` (number of a dismissed one)
            and its `message`.
    """

    id: int
    kind: str
    actor: User
    at: datetime
    text: str
    detail: Mapping[str, Any] = field(default_factory=dict)


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
    edit: Edit | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Issue(Thread):
    """An issue; `state_reason` says why it is closed, or that it was reopened."""

    state_reason: str | None = None


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


@dataclass(slots=True, eq=False, kw_only=True)
class ReviewComment:
    """A remark at a line of a file; `answers` is the number of the remark that it answers."""

    id: int
    user: User
    body: str
    path: str
    line: int | None
    side: str
    commit_id: str
    answers: int | None
    created_at: datetime
    updated_at: datetime
    edit: Edit | None = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """One change of a ref: who, when, from what to what."""

    id: int
    before: str
    after: str
    ref: str
    timestamp: datetime
    kind: ActivityKind
    actor: User


@dataclass(slots=True, eq=False, kw_only=True)
class Repository:
    """A repository and all that hangs on it.

    `refs` mirrors the bare repository's refs (full name to object id, a tag object's own id for
    annotated tags); `State` keeps the two equal, so that reading a ref starts no process.

    The rules keep these beside what they index, so that no request reads everything:

    Attributes:
        statuses: Commit statuses by commit, the oldest first.
        open_pulls: Those of `pulls` that are open.
        pulls_by_head: Pull requests by the name of their head branch, whatever its repository.
        comments: Comments of all conversations, by number.
        activity_by_ref: Those of `activity` that are about one ref.
        contributors: Numbers of the accounts that had a pull request merged.
        last_number: The newest number of an issue or pull request.
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
    parent: Repository | None = None
    members: dict[str, Role] = field(default_factory=dict)
    refs: Refs = field(default_factory=Refs)
    pulls: dict[int, Pull] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    suites: Suites = field(default_factory=Suites)
    statuses: dict[str, list[Status]] = field(default_factory=dict)
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
        return self.refs.get(f"refs/heads/{name}")


@dataclass(slots=True)
class Data:
    """The forge's whole memory; one deep copy of it is one moment of the forge."""

    users: dict[str, User] = field(default_factory=dict)
    organizations: dict[str, Organization] = field(default_factory=dict)
    repositories: dict[int, Repository] = field(default_factory=dict)
    apps: dict[int, App] = field(default_factory=dict)
    installations: dict[int, Installation] = field(default_factory=dict)
    moved: dict[str, int] = field(default_factory=dict)
    """Full names that repositories had before, in small letters, to the repository's id."""
    user_tokens: dict[str, User] = field(default_factory=dict)
    installation_tokens: dict[str, InstallationToken] = field(default_factory=dict)
    last_id: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that webhooks may tell; `extra` holds what the event's payload needs besides.

    Keys of `extra`, by kind: push, create, delete: `change`; pull_request: `pull`, and
    `before`/`after`, `label`, `assignee`, `reviewer` or `changes`; issues: `issue`, and `label`,
    `assignee` or `changes`; pull_request_review: `review`; issue_comment: `comment`, `changes`;
    check_run: `run`; check_suite: `suite`; status: `status`; installation: `installation`;
    installation_repositories: `installation`, `added` or `removed`; installation_target:
    `installation`, `changes`; repository: `changes`, `old_owner`.
    """

    kind: str
    action: str | None
    repo: Repository | None
    sender: User
    extra: Mapping[str, Any]
