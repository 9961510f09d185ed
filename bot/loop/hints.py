"""What the events that woke a key said exists, read from the work table and written back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SWEEP, PUBLISHING, RUNNER, NEIGHBOUR = "sweep", "publishing", "runner", "neighbour"
"""What wakes keys beside events: a sweep, a base branch's look, functions that can be run again, a
proposal that has to do with another."""


@dataclass(frozen=True, slots=True)
class Hint:
    """What the events that woke a key said exists.

    Attributes:
        heads: Commits.
        comments: Comment numbers.
        reviews: Review numbers.
        numbers: Pull requests to look at even if they are closed.
        rerun: Somebody pressed Re-run.
        everything: What changed concerns all of a repository, and no list tells it.
        installations: Where discovery found a repository.
        by: Which of our own looks woke it: `SWEEP`, `PUBLISHING`, `RUNNER` or `NEIGHBOUR`; none
            of them when an event of the forge did.
    """

    heads: frozenset[str] = frozenset()
    comments: frozenset[int] = frozenset()
    reviews: frozenset[int] = frozenset()
    numbers: frozenset[int] = frozenset()
    rerun: bool = False
    everything: bool = False
    installations: frozenset[int] = frozenset()
    by: frozenset[str] = frozenset()


def decode(hint: Mapping[str, Sequence[Any]]) -> Hint:
    """Read a hint as the work table keeps it."""
    return Hint(
        heads=frozenset(map(str, hint.get("head", ()))),
        comments=frozenset(map(int, hint.get("comment", ()))),
        reviews=frozenset(map(int, hint.get("review", ()))),
        numbers=frozenset(map(int, hint.get("number", ()))),
        rerun=bool(hint.get("rerun")),
        everything=bool(hint.get("everything")),
        installations=frozenset(map(int, hint.get("installation", ()))),
        by=frozenset(map(str, hint.get("by", ()))),
    )


def encode(hint: Hint) -> dict[str, Any]:
    """Write a hint as the work table keeps it."""
    encoded: dict[str, Any] = {
        "head": sorted(hint.heads),
        "comment": sorted(hint.comments),
        "review": sorted(hint.reviews),
        "number": sorted(hint.numbers),
        "rerun": [True] if hint.rerun else [],
        "by": sorted(hint.by),
    }
    return {name: value for name, value in encoded.items() if value}
