"""What is merged and waits for time, or for checks of others: it shows in no list of open ones.

It is settled, as is all that waits for people who speak on it (`lifecycle.timing.KINDS` tells the
two apart), so that a base with thousands of merged proposals is looked at for none of them. The
table of what proposals wait for knows these few: a look at a head branch is at its own as well, and
a sweep has them looked at where something changed that they may wait for.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from bot.loop.changed import is_news, is_old
from bot.store.values import Parked, Swept, Waiting

OBJECTION = "no objection"
"""The gate that a request for changes holds shut."""

CHECKS_AGAIN = 600.0
"""Seconds after which a sweep has what waits for a check looked at again: an event may be lost."""


def by_key(parked: Sequence[Parked]) -> dict[str, frozenset[str]]:
    """Text of the key of each head branch to the gates waited for."""
    found: dict[str, frozenset[str]] = defaultdict(frozenset)
    for each in parked:
        found[each.key] |= each.gates
    return found


def asks_again(waits: Collection[str], before: Swept | None) -> bool:
    """Tell whether a check is waited for that may have ended without an event.

    Args:
        waits: The gates waited for.
        before: What was seen when a sweep last had it looked at.
    """
    checks = any(gate.startswith("check ") for gate in waits)
    return checks and before is not None and before.age > CHECKS_AGAIN


def objected(waiting: Iterable[Waiting]) -> frozenset[int]:
    """Numbers of the proposals that wait for a request for changes to be withdrawn."""
    return frozenset(
        each.number for each in waiting if any(wait.gate == OBJECTION for _, wait in each.waits)
    )


def to_look_at(
    gates: Mapping[str, frozenset[str]], known: Mapping[str, Swept], rules: str, now: datetime
) -> list[str]:
    """What a sweep has to have looked at, where nothing else is seen of the head branch.

    Args:
        gates: Text of a key to the gates waited for.
        known: Text of a key to what was seen when a sweep last had it looked at.
        rules: Digest of the rules of all branches that packages are published from.
        now: The time.
    """
    return [
        key
        for key, waits in sorted(gates.items())
        if is_news(known.get(key), rules, None, now)
        or is_old(key, known[key])
        or asks_again(waits, known[key])
    ]
