"""What a change of the rules would do to other open proposals, each of them judged by both."""

from lifecycle.assess import assess
from lifecycle.facts.effects import VerdictChange
from lifecycle.facts.head import Facts
from lifecycle.messages import summary
from lifecycle.messages.markdown import quote, revisions


def compare(number: int, now: Facts, then: Facts) -> VerdictChange | None:
    """Return how the verdict on a proposal would change; None where it would not.

    Args:
        number: The proposal.
        now: Its facts under the rules as they are.
        then: The same under the rules as they would be.
    """
    before, after = _open(now, number), _open(then, number)
    if before is None or after is None or before == after:
        return None
    what = next(quote(revisions(p)) for p in now.proposals if p.place.number == number)
    return VerdictChange(number, what, before, after)


def _open(facts: Facts, number: int) -> tuple[str, ...] | None:
    """The gates that it waits for, in a few words each; None where the proposal is not there."""
    for proposal in facts.open:
        if proposal.place.number == number:
            if not proposal.content.approvable:
                return ()  # nothing of it waits for a gate
            return tuple(summary.short(gate) for gate in assess(facts, proposal).judgement.open)
    return None
