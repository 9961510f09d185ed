"""Merge requests of GitLab and what is said on them: notes in discussions, approvals, versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bot.sandbox.records.accounts import User
from bot.sandbox.records.pipelines import Pipeline
from bot.sandbox.records.premium import DraftNote
from bot.sandbox.records.repository import Comment, Pull
from bot.sandbox.records.talk import Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A place in a diff: an added line has no old line, a removed one no new line."""

    base_sha: str
    start_sha: str
    head_sha: str
    old_path: str
    new_path: str
    old_line: int | None
    new_line: int | None
    line_range: Mapping[str, Any] | None = None
    position_type: str = "text"


@dataclass(slots=True, eq=False, kw_only=True)
class Note(Comment):
    """A note; those of one discussion have its id.

    Attributes:
        discussion: 40 hex digits.
        kind: GitLab's `type`: `DiffNote`, `DiscussionNote`, or None for one that stands alone.
        system: Whether GitLab wrote it because something happened.
        icon: What a system note is about: `commit`, `title`, `draft` …
        internal: Whether only members from Reporter on see it.
        position: Where it stands in the newest diff that still has its line.
        original: Where it was written.
    """

    discussion: str
    kind: str | None = None
    system: bool = False
    icon: str = ""
    internal: bool = False
    position: Position | None = None
    original: Position | None = None
    line_code: str | None = None
    resolved_by: User | None = None
    resolved_at: datetime | None = None
    last_edited_at: datetime | None = None

    @property
    def resolvable(self) -> bool:
        """Whether it can be resolved: part of a thread of a merge request."""
        return self.kind is not None and not self.system and isinstance(self.thread, Pull)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffVersion:
    """A state of a merge request's diff; every push makes one.

    Attributes:
        base_sha: Merge base of both branches.
        start_sha: Tip of the target branch then.
    """

    id: int
    head_sha: str
    base_sha: str
    start_sha: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Approval:
    """Somebody approved; GitLab does not say which commit."""

    user: User
    at: datetime


@dataclass(frozen=True, slots=True)
class ReviewerState:
    """How a reviewer's review stands, in GitLab's words: `unreviewed`, `requested_changes`."""

    state: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelEvent:
    """A label that was put on (`add`) or taken off (`remove`)."""

    id: int
    user: User
    at: datetime
    label: Label
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoMerge:
    """A merge that waits for its checks, and how it shall be made."""

    user: User
    sha: str
    squash: bool
    message: str | None
    squash_message: str | None
    remove_source: bool


@dataclass(slots=True, eq=False, kw_only=True)
class Car:
    """A merge request's place in a merge train, and the pipeline of what its merge would make."""

    id: int
    order: AutoMerge
    created_at: datetime
    updated_at: datetime
    pipeline: Pipeline


@dataclass(slots=True, eq=False, kw_only=True)
class MergeRequest(Pull):
    """A merge request; `number` is its iid.

    Attributes:
        preparing: Whether GitLab still works out the first diff; readings end that.
        reset_reads: Readings left until approvals that a push takes back are gone; 0 for none.
        rebasing: What the head is rebased by, until somebody reads it; None while nothing is.
    """

    versions: list[DiffVersion] = field(default_factory=list)
    approvals: list[Approval] = field(default_factory=list)
    reviews_by: dict[int, ReviewerState] = field(default_factory=dict)
    label_events: list[LabelEvent] = field(default_factory=list)
    draft_notes: dict[int, DraftNote] = field(default_factory=dict)
    squash: bool = False
    remove_source: bool = False
    squash_commit_sha: str | None = None
    merge_error: str | None = None
    closed_by: User | None = None
    auto_merge: AutoMerge | None = None
    car: Car | None = None
    preparing: bool = True
    reset_reads: int = 0
    rebasing: User | None = None

    @property
    def word(self) -> str:
        """Its state in GitLab's words."""
        if self.merged:
            return "merged"
        return "opened" if self.state == "open" else "closed"

    @property
    def order(self) -> AutoMerge | None:
        """The merge that is to be made later: by itself, or by a train."""
        return self.car.order if self.car else self.auto_merge

    def approved_by(self, user: User) -> bool:
        """Whether somebody's approval stands."""
        return any(approval.user is user for approval in self.approvals)
