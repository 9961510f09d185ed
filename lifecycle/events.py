"""The kinds of events in the log of a proposal, and their JSON; each is a fact that stays true.

Longer than 400 lines: one list of kinds, each with what its fields mean.

The log is kept twice, in the hidden records of the bot's own comments and in the database, and the
two copies are united before each decision (docs/design.md, "Records and events"). Nothing in it is
a state, so an old copy can neither undo what came later nor take anything away.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from lifecycle.names import Sha
from lifecycle.numbers import review_of
from lifecycle.records import JSON


class CommentLoss(StrEnum):
    """How a comment of ours was tampered with."""

    DELETED = "deleted"
    EDITED = "edited"


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstSeen:
    """The proposal was read for the first time.

    Attributes:
        at: When that was, by our own clock.
        adopted: The proposal was there before the bot came and carries no record of ours: what was
            approved up to then counts for nothing.
        comments: Highest number of a comment that was there then.
        reviews: Highest number of a native review that was there then.
        head: Commit of its head then; "" where the summary comment is older than this event.
        mark: As in `Proposal.head_mark`, then.
    """

    at: datetime
    adopted: bool = False
    comments: int = 0
    reviews: int = 0
    head: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentAnswered:
    """A comment was answered."""

    comment: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One person's approval, and what it binds to (docs/design.md, "Approvals").

    Attributes:
        person: Login, as it was then.
        account: The forge's number of the person, which stays through renames; 0 where an older
            version of the bot did not keep it. As in all words about approval.
        at: When it was given.
        comment: Number of the `/approve` comment, as in `lifecycle.numbers`; 0 for a native review.
        review: Number of the native review, also where its text says `/approve`; 0 for a comment,
            and for a review that only says something.
        head: The commit that was looked at.
        trees: Digest of the tree of each touched package, as `content` makes it.
        digest: Digest of the configuration that judged it.
        beside: Digest of what was changed outside of the packages.
        base_ref: Name of the base branch.
        unpublished: Digest of what stood in the base branch unpublished, and was shown.
        origin: The merge base that it was compared with; "" where an older version of the bot did
            not keep it.
    """

    person: str
    account: int = 0
    at: datetime
    comment: int = 0
    review: int = 0
    head: Sha
    trees: str
    digest: str
    beside: str = ""
    base_ref: str
    unpublished: str = ""
    origin: str = ""

    @property
    def reviewed(self) -> int:
        """Number of the review that gives it, by its verdict or in its text; 0 for a comment."""
        return self.review or review_of(self.comment)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBack:
    """A person's approvals up to here are taken back, by `/unapprove` or `/reject`."""

    person: str
    account: int = 0
    at: datetime
    comment: int


class Fall(StrEnum):
    """Why an approval fell for good; also as in `approvals.Fallen`."""

    EDITED = "edited"
    TREE = "tree"
    BESIDE = "beside"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fell:
    """An approval fell, and nothing brings it back but a new one.

    Attributes:
        person: Who gave it.
        account: As in the approval.
        at: When it was given.
        comment: As in the approval.
        review: As in the approval.
        why: What changed.
    """

    person: str
    account: int = 0
    at: datetime
    comment: int = 0
    review: int = 0
    why: Fall


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A person holds the proposal."""

    person: str
    at: datetime
    comment: int
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unheld:
    """A hold is lifted.

    Attributes:
        person: Who lifted it.
        at: When.
        comment: The `/unhold`.
        every: Everybody's hold, by somebody with write access; otherwise one's own alone.
    """

    person: str
    at: datetime
    comment: int
    every: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A person sent the proposal back."""

    person: str
    at: datetime
    comment: int
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """A merge result was reported as not published."""

    merge: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagePublished:
    """A package was published: whatever becomes of its tag, it is not published again.

    Attributes:
        package: Its path.
        revision: Its number; 0 for its removal, which was judged like any change.
        commit: The merge result.
        tag: The tag object that we made; "" for a removal.
    """

    package: str
    revision: int
    commit: str
    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerKept:
    """An entry that a merge wrote into the ledger was approved, and a tag that goes is gone.

    Attributes:
        package: Path of the package.
        revision: Number of the revision.
        commit: The merge result.
    """

    package: str
    revision: int
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Noticed:
    """People were told of something that happened to their proposal."""

    occasion: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tampered:
    """Somebody deleted or edited a comment of ours: one fresh approval is wanted.

    Attributes:
        comment: Number of our comment.
        what: What became of it.
        edited_at: When it was edited; None when it was deleted.
        comments: Highest number of a comment that was there when we noticed.
        reviews: Highest number of a native review that was there then.
    """

    comment: int
    what: CommentLoss
    edited_at: datetime | None = None
    comments: int
    reviews: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """A person froze the repository, or a part of it, at once.

    Attributes:
        person: Login, as it was then.
        at: When.
        comment: The `/freeze`.
        path: Folder that is frozen with all in it; "" for the whole repository.
        until: When it ends by itself; None for never.
        reason: Why.
    """

    person: str
    at: datetime
    comment: int
    path: str = ""
    until: datetime | None = None
    reason: str = ""

    @property
    def name(self) -> str:
        """What a thaw names it by; one comment may freeze several folders."""
        return f"{self.comment} {self.path}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Thawed:
    """A person lifted freezes, which are named: what nobody had judged by then stays frozen.

    Attributes:
        person: Login, as it was then.
        at: When.
        comment: The `/thaw`; 0 where many are summed up.
        path: Of one by an older version of the bot, which names none: the freezes of exactly this
            folder, as far as they are older; None for all.
        lifts: Names of the freezes that it lifts; empty in one by an older version.
    """

    person: str
    at: datetime
    comment: int
    path: str | None = None
    lifts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Overridden:
    """A person let one proposal past one gate of time or of others.

    Attributes:
        person: Login, as it was then.
        account: The forge's number of the person.
        at: When.
        comment: The `/override`.
        gate: Name of the gate.
        reason: Why.
        trees: Digest of the tree of each touched package, as `content` makes it.
        head: The commit that was looked at.
        base_ref: Name of the base branch.
        windows: Digests of the windows that kept it from being published then; empty in one by an
            older version, which is past none.
    """

    person: str
    account: int = 0
    at: datetime
    comment: int
    gate: str
    reason: str = ""
    trees: str
    head: Sha
    base_ref: str
    windows: tuple[str, ...] = ()


Event = (
    FirstSeen
    | CommentAnswered
    | Approval
    | TakenBack
    | Fell
    | Held
    | Unheld
    | Rejected
    | Reported
    | PackagePublished
    | LedgerKept
    | Noticed
    | Tampered
    | Frozen
    | Thawed
    | Overridden
)

RESTRAINTS = Held | Rejected | TakenBack | Frozen
"""What keeps from being published."""

Log = frozenset[Event]
"""Everything decided about one proposal, in no order."""


REPOSITORY = 0
"""The number under which the database remembers what holds for all proposals of a repository."""

EVER = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
"""Before all that happens at a forge."""


def content(trees: Mapping[str, str]) -> str:
    """Digest of packages and their trees, 64 hex digits: what an approval binds to."""
    return hashlib.sha256(json.dumps(sorted(trees.items())).encode()).hexdigest()


# --- as JSON --------------------------------------------------------------------------------------


_KINDS: Mapping[str, type[Any]] = {
    "seen": FirstSeen,
    "answered": CommentAnswered,
    "approval": Approval,
    "taken back": TakenBack,
    "fell": Fell,
    "held": Held,
    "unheld": Unheld,
    "rejected": Rejected,
    "reported": Reported,
    "tagged": PackagePublished,
    "ledger": LedgerKept,
    "noticed": Noticed,
    "tampered": Tampered,
    "frozen": Frozen,
    "thawed": Thawed,
    "overridden": Overridden,
}
_NAMES: Mapping[type[Any], str] = {kind: name for name, kind in _KINDS.items()}

_READ: Mapping[str, Callable[[Any], object]] = {
    "at": datetime.fromisoformat,
    "edited_at": datetime.fromisoformat,
    "until": datetime.fromisoformat,
    "head": Sha,
    "why": Fall,
    "what": CommentLoss,
    "lifts": tuple,
    "windows": tuple,
}
"""Fields that JSON cannot hold as they are; all others are numbers, text and booleans."""


def encode(event: Event) -> dict[str, JSON]:
    """An event as JSON; what is None is left out."""
    said: dict[str, JSON] = {"kind": _NAMES[type(event)]}
    for name in event.__slots__:
        value = getattr(event, name)
        if isinstance(value, datetime):
            said[name] = value.isoformat()
        elif isinstance(value, tuple):
            said[name] = [*value]
        elif value is not None:
            said[name] = str(value) if isinstance(value, str) else value
    return said


def decode(said: Mapping[str, JSON]) -> Event:
    """Read an event.

    Raises:
        KeyError, TypeError, ValueError: A newer version of the bot wrote it, or it is none.
    """
    kind = _KINDS[str(said["kind"])]
    event: Event = kind(
        **{
            name: _READ[name](value) if name in _READ else value
            for name, value in said.items()
            if name != "kind"
        }
    )
    return event
