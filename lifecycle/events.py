"""What was once decided about a proposal: a log of events, each a fact that stays true.

Longer than 400 lines: each kind of event is written, read and replayed, and the three belong
together.

The log is kept twice, in the hidden records of the bot's own comments and in the database, and the
two copies are united before each decision (docs/design.md, "Records and events"). Nothing in it is
a state, so an old copy can neither undo what came later nor take anything away:

1. Union is the union of sets: its order, repetitions and the number of copies make no difference.
2. Replaying sorts by when the forge says that each event happened; no copy is "the newer".
3. An event gives way only to a later word of the same person about the same thing. `compact` leaves
   out what has given way, and replaying what is left, united with any other copy, gives the same.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from lifecycle.names import Sha
from lifecycle.records import JSON


class Lost(StrEnum):
    """What became of a comment of ours."""

    DELETED = "deleted"
    EDITED = "edited"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """We saw this proposal for the first time.

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
class Answered:
    """A comment needs no answer any more."""

    comment: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One person's approval, and what it binds to (docs/design.md, "Approvals").

    Attributes:
        person: Login, as it was then.
        account: The forge's number of the person, which stays through renames; 0 where an older
            version of the bot did not keep it. As in all words about approval.
        at: When it was given.
        comment: Number of the `/approve` comment; 0 for a native review.
        review: Number of the native review; 0 for a comment.
        head: The commit that was looked at.
        trees: Digest of the tree of each touched package, as `content` makes it.
        digest: Digest of the configuration that judged it.
        beside: Digest of what was changed outside of the packages.
        base_ref: Name of the base branch.
        unpublished: Digest of what stood in the base branch unpublished, and was shown.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBack:
    """A person's approvals up to here are taken back, by `/unapprove` or `/reject`."""

    person: str
    account: int = 0
    at: datetime
    comment: int


class Fall(StrEnum):
    """Why an approval fell for good; `Fallen` in `approvals` has the words."""

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
class Tagged:
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
    what: Lost
    edited_at: datetime | None = None
    comments: int
    reviews: int


Event = (
    Seen
    | Answered
    | Approval
    | TakenBack
    | Fell
    | Held
    | Unheld
    | Rejected
    | Reported
    | Tagged
    | Noticed
    | Tampered
)

Log = frozenset[Event]
"""Everything decided about one proposal, in no order."""

_NOBODY: Mapping[int, str] = {}

EVER = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
"""Before all that happens at a forge."""

Order = tuple[datetime, int, int, int, str]

Word = Approval | TakenBack | Fell
"""What a person's approval hangs on: the last of these."""


def content(trees: Mapping[str, str]) -> str:
    """Digest of packages and their trees, 64 hex digits: what an approval binds to."""
    return hashlib.sha256(json.dumps(sorted(trees.items())).encode()).hexdigest()


def order(event: Event) -> Order:
    """When an event happened, among all others: a total order that no copy can change.

    Comments are numbered as they are written. Reviews have numbers of their own; forges tell whole
    seconds, so within one second a review comes before any comment: the later `/unapprove` counts.
    A fall comes right after what fell. Events of equal place are told apart by their text.
    """
    text = json.dumps(encode(event), sort_keys=True)
    match event:
        case Approval() | Fell():
            falls = int(isinstance(event, Fell))
            number = event.comment or event.review
            return (event.at, int(event.comment > 0), number, falls, text)
        case TakenBack() | Held() | Unheld() | Rejected():
            # A comment that approves and sends back in one means the latter.
            return (event.at, 1, event.comment, 2, text)
        case Seen():
            return (event.at, 0, 0, 0, text)
        case _:
            return (EVER, 0, 0, 0, text)


def words(log: Iterable[Event], logins: Mapping[int, str] = _NOBODY) -> dict[str, Word]:
    """Each person's last word about approval, by login.

    A person is an account, whatever its login was or is: who changes it is no second approver. What
    is kept without an account is of whoever has that login, until that one is heard of by account.

    Args:
        log: All that happened.
        logins: Accounts to their present logins, as far as the forge told; others are called as
            they were when they were heard of last.
    """
    last = sorted(_last_words(log), key=order)
    named = {e.account: e.person for e in last if e.account} | dict(logins)
    heard = {e.person: order(e) for e in last if e.account}
    found: dict[str, Word] = {}
    for event in last:
        if not event.account and heard.get(event.person, order(event)) > order(event):
            continue
        person = named.get(event.account, event.person)
        found[person] = replace(event, person=person)
    return found


def _last_words(log: Iterable[Event]) -> set[Word]:
    """The last word of each account under each login: nothing that is united later changes it."""
    found: dict[tuple[str, int], Word] = {}
    for event in sorted((e for e in log if isinstance(e, Approval | TakenBack | Fell)), key=order):
        found[event.person, event.account] = event
    return set(found.values())


def holds(log: Iterable[Event]) -> tuple[Held, ...]:
    """The holds in force, one for each person, oldest first."""
    found: dict[str, Held] = {}
    for event in sorted((e for e in log if isinstance(e, Held | Unheld)), key=order):
        if isinstance(event, Held):
            found.pop(event.person, None)
            found[event.person] = event
        elif event.every:
            found.clear()
        else:
            found.pop(event.person, None)
    return tuple(found.values())


def rejection(log: Iterable[Event]) -> Rejected | None:
    """The last time that the proposal was sent back; None when it never was."""
    return max((e for e in log if isinstance(e, Rejected)), key=order, default=None)


def first_sight(log: Iterable[Event]) -> Seen | None:
    """When the proposal was first seen; of several sightings what is strictest in each.

    The earliest tells the head. Only what is taken over from it as it is decides which one that is:
    otherwise a sighting that `compact` made stricter would lose to another than it did before.
    """
    found = [e for e in log if isinstance(e, Seen)]
    if not found:
        return None
    return replace(
        min(found, key=lambda e: (e.at, e.head, e.mark)),
        adopted=any(e.adopted for e in found),
        comments=max(e.comments for e in found),
        reviews=max(e.reviews for e in found),
    )


def compact(log: Iterable[Event]) -> Log:
    """Leave out what a later word has overruled; replaying gives the same, in any union."""
    given = frozenset(log)
    lasting = Answered | Reported | Tagged | Noticed | Tampered
    kept: set[Event] = {e for e in given if isinstance(e, lasting)}
    kept |= _last_words(given)
    kept |= _last_holds(given)
    kept |= {e for e in (rejection(given), first_sight(given)) if e is not None}
    return frozenset(kept)


def _last_holds(log: Log) -> set[Event]:
    """For each person the last word about their hold, and the last lifting of all of them.

    A lifting of all overrules what came before, also what only another copy knows.
    """
    kept: dict[str, Event] = {}
    every: Event | None = None
    for event in sorted((e for e in log if isinstance(e, Held | Unheld)), key=order):
        if isinstance(event, Unheld) and event.every:
            kept.clear()
            every = event
        else:
            kept[event.person] = event
    return {*kept.values(), *((every,) if every is not None else ())}


# --- as JSON --------------------------------------------------------------------------------------


_KINDS: Mapping[str, type[Any]] = {
    "seen": Seen,
    "answered": Answered,
    "approval": Approval,
    "taken back": TakenBack,
    "fell": Fell,
    "held": Held,
    "unheld": Unheld,
    "rejected": Rejected,
    "reported": Reported,
    "tagged": Tagged,
    "noticed": Noticed,
    "tampered": Tampered,
}
_NAMES: Mapping[type[Any], str] = {kind: name for name, kind in _KINDS.items()}

_READ: Mapping[str, Callable[[Any], object]] = {
    "at": datetime.fromisoformat,
    "edited_at": datetime.fromisoformat,
    "head": Sha,
    "why": Fall,
    "what": Lost,
}
"""Fields that JSON cannot hold as they are; all others are numbers, text and booleans."""


def encode(event: Event) -> dict[str, JSON]:
    """An event as JSON; what is None is left out."""
    said: dict[str, JSON] = {"kind": _NAMES[type(event)]}
    for name in event.__slots__:
        value = getattr(event, name)
        if isinstance(value, datetime):
            said[name] = value.isoformat()
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


def pack(log: Iterable[Event]) -> dict[str, JSON]:
    """A log as JSON, short: comments that are answered are many, and are told by their distance."""
    answered = sorted({e.comment for e in log if isinstance(e, Answered)})
    others = sorted((e for e in log if not isinstance(e, Answered)), key=order)
    steps = [after - before for before, after in zip([0, *answered], answered, strict=False)]
    return {"answered": [*steps], "events": [encode(e) for e in others]}


def unpack(said: Mapping[str, Any]) -> Log:
    """Read what `pack` wrote."""
    found: set[Event] = {decode(e) for e in said["events"]}
    number = 0
    for step in said["answered"]:
        number += int(step)
        found.add(Answered(comment=number))
    return frozenset(found)
