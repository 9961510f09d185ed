"""What a change of the rules would do to other open proposals, each of them judged by both.

Nobody approved the change: what it says is data. Access, windows and checks are judged anew; what
is rendered stays as the rules that hold have it, and functions that the change names are told and
not run.
"""

from dataclasses import replace

from lifecycle.access import Unreadable
from lifecycle.assess import assess
from lifecycle.facts.effects import FunctionsEffect, VerdictChange
from lifecycle.facts.head import Facts
from lifecycle.messages import summary
from lifecycle.messages.markdown import quote
from lifecycle.messages.proposed import revisions
from lifecycle.policy import BrokenPolicy, Policy


def running(tried: Policy | BrokenPolicy, held: Policy | BrokenPolicy) -> Policy | BrokenPolicy:
    """Return the rules by which functions run while others are tried out: those that hold.

    Args:
        tried: The others.
        held: Those that hold; nothing runs where they cannot be read.
    """
    if isinstance(tried, BrokenPolicy) or isinstance(held, BrokenPolicy):
        return held
    return replace(tried, mutators=held.mutators, validators=held.validators, allow=held.allow)


def functions(number: int, now: Facts, then: Facts) -> FunctionsEffect:
    """Return what would run by other rules, which was not tried; arguments as for `compare`."""
    before, after = _policy(now, number), _policy(then, number)
    if before is None or after is None:
        return FunctionsEffect()
    runs = (*after.mutators, *after.validators)
    ran = (*before.mutators, *before.validators)
    return FunctionsEffect(
        more=tuple(sorted({each.image for each in runs if each not in ran})),
        fewer=tuple(sorted({each.image for each in ran if each not in runs})),
        allowed=before.allow != after.allow,
    )


def _policy(facts: Facts, number: int) -> Policy | None:
    found = [p.rules.policy for p in facts.open if p.place.number == number]
    return next((each for each in found if isinstance(each, Policy)), None)


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
    teams = [p.people.teams for p in then.open if p.place.number == number]
    untold = {slug for each in teams for slug in each if each[slug].why is Unreadable.UNTOLD}
    return VerdictChange(number, what, before, after, tuple(sorted(untold)))


def _open(facts: Facts, number: int) -> tuple[str, ...] | None:
    """The gates that it waits for, in a few words each; None where the proposal is not there."""
    for proposal in facts.open:
        if proposal.place.number == number:
            if not proposal.content.approvable:
                return ()  # nothing of it waits for a gate
            return tuple(summary.short(gate) for gate in assess(facts, proposal).judgement.open)
    return None
