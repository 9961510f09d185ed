"""What projects of GitLab's paid tiers have, and notes that nobody has published yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from bot.sandbox.records.accounts import User


@dataclass(slots=True, eq=False, kw_only=True)
class ApprovalRule:
    """How many of some people must approve; Premium.

    Attributes:
        users: Who counts; empty for any Developer.
        branches: Names of the protected branches that it is for; empty for all branches.
    """

    id: int
    name: str
    required: int
    users: list[User] = field(default_factory=list)
    branches: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False, kw_only=True)
class StatusCheck:
    """A service that is asked about each merge request, and answers; Ultimate.

    Attributes:
        answers: Number of a merge request to the commit that was answered for, and the answer.
    """

    id: int
    name: str
    url: str
    branches: list[str] = field(default_factory=list)
    answers: dict[int, tuple[str, str]] = field(default_factory=dict)


@dataclass(slots=True, eq=False, kw_only=True)
class DraftNote:
    """A note that its author alone sees, until it is published.

    Attributes:
        discussion: The discussion that it answers; None for one of its own.
        resolves: Whether that is resolved with it.
    """

    id: int
    user: User
    text: str
    created_at: datetime
    discussion: str | None = None
    resolves: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomRole:
    """A role that an instance made up: what an access level may, and something more; Ultimate.

    Attributes:
        base: Number of that level; it is what members of the role have.
        abilities: What they may do beyond that, by the names of the API.
    """

    id: int
    name: str
    base: int
    abilities: tuple[str, ...] = ()
