"""Labels, reactions, edits, timeline events and review comments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bot.sandbox.records.accounts import User


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
class LastEdit:
    """The last edit of a text, however soon after it was written."""

    editor: User
    at: datetime


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
class ReviewComment:
    """A remark at a line of a file.

    Attributes:
        first: The first of several lines; None for one line.
        answers: Number of the remark that it answers.
        review: Number of the review that it came with.
    """

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
    first: int | None = None
    review: int | None = None
    edit: LastEdit | None = None
