"""`mode: observe`: what the bot would have said is shown as neutral checks, and nothing is written.

Rules:

1. A proposal is observed by the rules of its own base, as they were before a merge: what was merged
   meanwhile is no more published when the mode ends.
   And where the bot only observes now, it does nothing about what was merged before either; that is
   not over, and goes on once the mode ends.
2. A check belongs to a commit. Where a head is also proposed to a base that is not observed, the
   checks are that one's.
3. What people said while the bot observed does not count later: they could not see what it would
   have done. The log of the default branch tells when that ended, and the database where the whole
   bot observed (`answers` passes over what is no younger); `lifecycle.assess` sees it by the checks
   at the head as well.
"""

from dataclasses import replace

from lifecycle import checks
from lifecycle.actions import Action
from lifecycle.assess import assess
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal


def observed(proposal: Proposal) -> bool:
    """Whether the bot only observes a proposal."""
    return proposal.rules.policy.observe


def only(facts: Facts) -> bool:
    """Whether everything is observed now, or all proposals are, of which there are some."""
    if facts.watched:
        return True
    return bool(facts.proposals) and all(observed(p) for p in facts.proposals)


def without(facts: Facts) -> Facts:
    """The facts without what is only observed, of heads that share the commit as well."""
    if not any(observed(p) for each in (facts, *facts.others) for p in each.proposals):
        return facts
    others = tuple(without(other) for other in facts.others)
    return replace(
        facts,
        proposals=tuple(p for p in facts.proposals if not observed(p)),
        others=tuple(other for other in others if other.proposals),
    )


def show(facts: Facts) -> list[Action]:
    """The checks of a head that is only observed; none where another base's are shown there."""
    if any(not observed(p) for other in facts.others for p in other.open):
        return []
    every = [assess(each, p) for each in (facts, *facts.others) for p in each.open]
    every.sort(key=lambda one: one.proposal.place.number)
    return [*checks.observed(facts, [(one.proposal, one.judgement) for one in every])]
