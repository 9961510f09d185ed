"""Gates of time: what keeps a proposal from being published now, and until when."""

from datetime import datetime

from lifecycle.facts.proposal import Proposal
from lifecycle.judgement import Gate, GateState
from lifecycle.messages import timing as texts
from lifecycle.policy import Policy
from lifecycle.windows import Closure, closure


def gates(proposal: Proposal) -> list[Gate]:
    """Return the gates of time; none where no rule of time is about its packages.

    They are asked before the merge and before the tag: what somebody else merged while nothing is
    published is tagged later.
    """
    found = _closure(proposal)
    if found is None or not found.told:
        return []
    if not found.closing:
        return [Gate(name="window", state=GateState.HOLDS, actual=texts.OPEN)]
    return [
        Gate(
            name="window",
            state=GateState.WAITS,
            actual=texts.closed(found.closing),
            wanted=texts.opens(found.closing, found.opens),
            who=texts.WINDOW_WHO,
        )
    ]


def changes(proposal: Proposal) -> datetime | None:
    """Return when time alone changes what the gates say; None for never."""
    found = _closure(proposal)
    return found.changes if found is not None else None


def _closure(proposal: Proposal) -> Closure | None:
    """What windows say; None where they decide nothing."""
    policy, now = proposal.rules.policy, proposal.times.looked_at
    over = proposal.place.closed and (not proposal.place.merged or proposal.once_published)
    if over or not isinstance(policy, Policy) or not policy.calendars or now is None:
        return None
    return closure(policy.calendars, tuple(t.package for t in proposal.content.touched), now)
