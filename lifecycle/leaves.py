"""The tree of rules below the gate of approvals, each leaf with its reason in words."""

from lifecycle.approvals import Approvals
from lifecycle.judgement import GateState, Leaf
from lifecycle.messages import rights as texts
from lifecycle.needs import Need
from lifecycle.rights import Allowed, Unsure, Verdict


def leaves(standing: Approvals) -> tuple[Leaf, ...]:
    """Return a leaf for each rule; none where one rule alone says it all."""
    first = standing.needs[0]
    plain = len(standing.needs) == 1 and not first.unsure and not first.automatic
    if plain and standing.needs[0].owned is None:
        return ()
    return tuple(_rule(need) for need in standing.needs)


def _rule(need: Need) -> Leaf:
    state = GateState.WAITS if need.missing else GateState.HOLDS
    if need.automatic:
        return Leaf(state, texts.by_itself(need.packages, need.rule, need.automatic))
    below = (_person(login, verdict) for login, verdict in need.verdicts.items())
    return Leaf(state, texts.asked(need), tuple(below))


def _person(login: str, verdict: Verdict) -> Leaf:
    match verdict:
        case Allowed(source):
            return Leaf(GateState.HOLDS, texts.counts(login, source))
        case Unsure():
            return Leaf(GateState.WAITS, texts.cannot_tell(login, verdict))
        case _:
            return Leaf(GateState.BLOCKED, texts.counts_not(login, verdict))
