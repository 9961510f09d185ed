"""When a look comes back by itself: what time changes, and what the forge may tell late."""

import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from bot.store.values import Wait
from lifecycle import timing
from lifecycle.due import due
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal
from lifecycle.merges import UnknownRules

LOGGED_WITHIN = timedelta(days=1)
"""How long after a merge the forge is asked again what brought it in."""

FIRST = 60.0
"""Seconds after a merge when it is asked first; then when twice the time has passed, and so on."""

SPREAD = 60
"""Seconds over which those are looked at that one moment lets through: a window opens for the whole
repository, and each look takes some requests."""


def may_be_told(proposal: Proposal, now: datetime) -> bool:
    """Whether the forge may still log what brought a merge in."""
    merged = proposal.place.merged_at
    return (
        proposal.content.doubt is UnknownRules.BASE
        and merged is not None
        and now - merged < LOGGED_WITHIN
    )


def seconds(
    facts: Facts, now: datetime, open_gates: Mapping[int, Sequence[Wait]], key: str
) -> float | None:
    """Seconds after which to look again though nothing happened; None for never.

    What waits comes a little after the moment, each key at its own second; what may be published
    now, and may not then, comes at the moment.

    Args:
        facts: As they were read.
        now: The time.
        open_gates: Number of a proposal to what it waits for.
        key: Whose look it is.
    """
    waiting = [n for n, each in open_gates.items() if timing.on_people(w.gate for w in each)]
    moment = due(facts, waiting=waiting)
    later = zlib.crc32(key.encode()) % SPREAD if any(open_gates.values()) else 0
    waits = [] if moment is None else [max(0.0, (moment - now).total_seconds()) + later]
    for proposal in facts.proposals:
        merged = proposal.place.merged_at
        if merged is not None and may_be_told(proposal, now):
            waits.append(max(FIRST, (now - merged).total_seconds()))
    return min(waits, default=None)


def sooner(one: float | None, other: float | None) -> float | None:
    """The shorter of two waits; None waits for ever."""
    return min((each for each in (one, other) if each is not None), default=None)
