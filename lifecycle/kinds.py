"""What stands beside each action: its name, what it writes to, which look does it, in which order.

mypy checks that each class of `Action` is `Described`: one that misses a part does not pass.
"""

import hashlib
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import ClassVar, Protocol


class Repeat(StrEnum):
    """What doing an action a second time does, where the forge still shows what was before."""

    HARMLESS = "harmless"
    """Nothing that anybody would notice."""
    NOTICED = "noticed"
    """A second comment, run, commit or request: while the forge may be late, it is waited for."""


class Look(StrEnum):
    """Which look carries an action out."""

    PROPOSAL = "proposal"
    """The look at the proposal's head branch; publishing leaves it for that."""
    PROPOSAL_FIRST = "proposal first"
    """The same, and nothing is published before: it may be what takes an approval back."""
    BASE = "base"
    """The look at the base branch, which publishes one proposal at a time."""
    EITHER = "either"
    """Whichever look finds it; before publishing as well as beside it."""


OF_PROPOSAL = frozenset({Look.PROPOSAL, Look.PROPOSAL_FIRST, Look.EITHER})
"""What the look at a head branch carries out: it never merges or tags, whatever was decided."""

OF_BASE = frozenset({Look.BASE, Look.EITHER})
"""What the look at a base branch carries out."""


class ActionOrder(StrEnum):
    """How an action goes out with the actions beside it."""

    TOGETHER = "together"
    """At the same time as those beside it: it only reports, and nothing builds on it."""
    ONE_WRITE = "one write"
    """With those of its kind beside it, all or none where there are many."""
    ONE_BY_ONE = "one by one"
    """After what stands before it, and only if that was done."""


class Urgency(IntEnum):
    """Who goes first where the forge grants fewer requests than are wanted; lower does."""

    FIRST = 0
    """Somebody waits for it: an acknowledgement, an answer, a merge, a tag."""
    NORMAL = 1
    """What shows the state of things: checks, summaries, renderings."""
    LATER = 2
    """What nobody asked for: sweeps, neighbours, tidying up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What holds for every action of one class; each part has to be given but the last.

    Attributes:
        name: In the audit trail and in metrics; never changed once it was released.
        repeat: What doing it twice does.
        look: Which look carries it out.
        order: How it goes out with others.
        urgency: Whether its requests go before others; as its look's where that is more urgent.
    """

    name: str
    repeat: Repeat
    look: Look
    order: ActionOrder
    urgency: Urgency = Urgency.NORMAL


@dataclass(frozen=True, slots=True)
class Write:
    """What one action writes, and to what.

    Attributes:
        place: Names one thing at the forge, in git or in the database, inside one repository.
        value: What is written there, as far as two writes to one place can differ; the same again
            is a repetition.
        makes_after: Set where the forge makes a new one each time, on no condition: the newest that
            is there, 0 for none. Whoever asks for it claims that first, so that there is one
            (ADR 24).
        subject: What people see it as, where that has several places: a check has many runs.
    """

    place: tuple[str | int, ...]
    value: tuple[str | int, ...] = ()
    makes_after: int | None = None
    subject: tuple[str | int, ...] = ()

    @property
    def claim(self) -> str:
        """What is claimed before something new is made: a digest of 64 hex digits."""
        return hashlib.sha256(repr((self.place, self.makes_after)).encode()).hexdigest()


class Described(Protocol):
    """What every action says of itself."""

    KIND: ClassVar[Kind]

    @property
    def writes(self) -> Write:
        """What it writes, and to what."""
