"""What time alone changes: the next moment at which the same facts are decided in another way.

A rule that asks `Times.looked_at` how late it is has its line here. Nothing tells of such a moment:
who looks has to come back by itself. `tests/lifecycle/test_due.py` finds a rule that has none.
"""

from collections.abc import Collection
from datetime import datetime

from lifecycle import memory, timing, upkeep
from lifecycle.facts.drafts import DraftWait
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal


def due(facts: Facts, *, waiting: Collection[int] = ()) -> datetime | None:
    """Return when to look again, though nothing happened; None when only an event changes anything.

    The moment is after the one that the facts are from.

    Args:
        facts: One head branch with every pull request that proposes it.
        waiting: Numbers of those that people have to do something on (`timing.on_people`): they
            are looked at then, and what time changes until then is left for that look.
    """
    found = [upkeep.doubles_due(proposal) for proposal in facts.proposals]
    found += [
        timing.changes(facts, p, memory.read(p))
        for p in facts.proposals
        if p.place.number not in waiting
    ]
    found += [w.again for p in facts.proposals for w in _waits(p) if not w.over]
    return min((each for each in found if each is not None), default=None)


def _waits(proposal: Proposal) -> list[DraftWait]:
    """What drafts, and conflicts of upgrades, wait for whose upstreams cannot be read."""
    drafts = [each.waits for each in proposal.lookups.drafts.values()]
    upgrades = [each.waits for each in proposal.upgrades.found]
    return [each for each in (*drafts, *upgrades) if each is not None]
