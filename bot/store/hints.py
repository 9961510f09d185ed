"""Hints: what the events that woke a key said exists, and the JSON that rows of work keep of it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from bot import tracing

K = TypeVar("K")

MOST_TRACES = 16
"""Spans that a row names, from which on it takes no more: a flood of webhooks would make it long.
The tables' statement counts as well (`bot.store.statements`)."""

MOST_PRESSED = 1_000
"""Buttons and boxes that a row names, from which on it takes no more until some are dealt with: an
edit of the dashboard ticks a hundred, and whoever may edit it may do so again and again. A box that
no row names is told on the dashboard. The tables' statement counts as well."""

NOBODY = "-"
"""In place of a login, where nobody can tell who pressed something."""

SWEEP, PUBLISHING, RUNNER, NEIGHBOUR = "sweep", "publishing", "runner", "neighbour"
OPERATOR, BOX = "operator", "box"
"""What wakes keys beside events: a sweep, a base branch's look, functions that can be run again, a
proposal or repository that has to do with another, the operator's button on `/status`, and a box of
the dashboard that is about a proposal."""

START = "start"
"""A bot starts: sweeps ask for what they would else ask for later."""

HintJSON = Mapping[str, Sequence[Any]]
"""A hint in JSON: a name, such as "comment", to values, such as comment numbers."""


@dataclass(frozen=True, slots=True, order=True)
class Rerun:
    """Somebody pressed Re-run. One text, so that it is taken out of a row as a whole.

    Attributes:
        delivery: The delivery that told it.
        person: Number of who did.
        login: Theirs; "" where the delivery does not say.
    """

    delivery: str
    person: int = 0
    login: str = ""

    def __str__(self) -> str:
        return f"{self.delivery} {self.person} {self.login}" if self.login else self.delivery

    @classmethod
    def of(cls, text: str) -> "Rerun":
        """Read it back; a text from before has the delivery only."""
        match text.split(" "):
            case [delivery, person, login] if person.isdecimal():
                return cls(delivery, int(person), login)
            case _:
                return cls(text)


@dataclass(frozen=True, slots=True, order=True)
class Press:
    """Somebody pressed a button of a check, or ticked a box. One text, as of `Rerun`.

    Attributes:
        delivery: The delivery that told it.
        person: Number of who did; 0 where nobody can tell.
        login: Theirs.
        button: The button's identifier; of a box its command, in which there may be blanks.
    """

    delivery: str
    person: int
    login: str
    button: str

    def __str__(self) -> str:
        return f"{self.delivery} {self.person} {self.login} {self.button}"

    @property
    def number(self) -> int:
        """Its number among comments: negative, and no forge gives it."""
        return -int(hashlib.sha256(str(self).encode()).hexdigest()[:12], 16)

    @classmethod
    def of(cls, text: str) -> "Press":
        """Read it back.

        Raises:
            ValueError: It is none.
        """
        delivery, person, login, button = text.split(" ", 3)
        return cls(delivery, int(person), login, button)


@dataclass(frozen=True, slots=True)
class Hint:
    """What the events that woke a key said exists.

    Each is a set, and what a look has dealt with is taken out of its row again; so what may be
    asked for twice is kept as the deliveries that asked.

    Attributes:
        heads: Commits.
        comments: Comment numbers.
        reviews: Review numbers.
        numbers: Proposals to look at even if they are closed; of a dashboard's key issues with
            comments.
        rerun: Deliveries in which somebody pressed Re-run, and who did, as `Rerun` writes them.
        pressed: Buttons of checks that were pressed, and who did, as `Press` writes them.
        everything: Deliveries whose change concerns all of a repository, and no list tells it.
        installations: Where discovery found a repository.
        by: What woke it beside events of the forge: `SWEEP`, `PUBLISHING`, `RUNNER`, `NEIGHBOUR`,
            `OPERATOR` or `BOX`; `START` where a bot starts.
        traces: The spans in which it was woken, as `traceparent` has them; nothing depends on them.
    """

    heads: frozenset[str] = frozenset()
    comments: frozenset[int] = frozenset()
    reviews: frozenset[int] = frozenset()
    numbers: frozenset[int] = frozenset()
    rerun: frozenset[str] = frozenset()
    pressed: frozenset[str] = frozenset()
    everything: frozenset[str] = frozenset()
    installations: frozenset[int] = frozenset()
    by: frozenset[str] = frozenset()
    traces: frozenset[str] = field(default=frozenset(), compare=False)

    def __or__(self, other: "Hint") -> "Hint":
        """What both say exists."""
        return Hint(*(getattr(self, name) | getattr(other, name) for name in _NAMES.values()))

    def to_json(self) -> dict[str, list[Any]]:
        """Write it as a row of work keeps it; what is empty is left out."""
        named = {key: sorted(getattr(self, name)) for key, name in _NAMES.items()}
        return {key: values for key, values in named.items() if values}

    @classmethod
    def from_json(cls, row: HintJSON) -> "Hint":
        """Read it from a row of work."""
        return cls(
            heads=frozenset(map(str, row.get("head", ()))),
            comments=frozenset(map(int, row.get("comment", ()))),
            reviews=frozenset(map(int, row.get("review", ()))),
            numbers=frozenset(map(int, row.get("number", ()))),
            rerun=frozenset(map(str, row.get("rerun", ()))),
            pressed=frozenset(map(str, row.get("pressed", ()))),
            everything=frozenset(map(str, row.get("everything", ()))),
            installations=frozenset(map(int, row.get("installation", ()))),
            by=frozenset(map(str, row.get("by", ()))),
            traces=frozenset(map(str, row.get("trace", ()))),
        )


_NAMES = {
    "head": "heads",
    "comment": "comments",
    "review": "reviews",
    "number": "numbers",
    "rerun": "rerun",
    "pressed": "pressed",
    "everything": "everything",
    "installation": "installations",
    "by": "by",
    "trace": "traces",
}
"""Name in JSON to name of the attribute, in the order of the attributes."""

BY_SWEEP = Hint(by=frozenset({SWEEP}))
"""A sweep wants a key looked at, and nothing else does."""

BY_NEIGHBOUR = Hint(by=frozenset({NEIGHBOUR}))
"""What a proposal or a repository has to do with changed elsewhere."""

NOTHING = Hint()
"""Somebody wants a key looked at, and names nothing."""


def traced(wakes: Mapping[K, Hint]) -> Mapping[K, Hint]:
    """The same, and each names the span that is open here, where traces are wanted."""
    here = tracing.traceparent()
    if not here:
        return wakes
    return {key: replace(hint, traces=hint.traces | {here}) for key, hint in wakes.items()}
