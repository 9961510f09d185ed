"""Annotations of check runs, and commit statuses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from bot.sandbox.records.accounts import User


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
class CommitStatus:
    """A commit status; the newest for a context counts."""

    id: int
    sha: str
    state: str
    context: str
    description: str | None
    target_url: str | None
    creator: User
    created_at: datetime
