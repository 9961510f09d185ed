"""*Ready for review*, pressed on the forge: it proposes, so it is held to `access.propose`.

Only where the configuration writes that rule for what is proposed; without one the forge's own rule
says the same as ours. It is judged at each look, as approvals are, by the rules and rights of now.
Whoever may not gets a notice, once for each press, and the proposal is a draft again; whoever
presses again is answered again.
"""

from dataclasses import dataclass

from lifecycle.access import AccessAction
from lifecycle.actions import SetDraft
from lifecycle.facts.conversation import ReadyForReview
from lifecycle.facts.proposal import Proposal
from lifecycle.policy import Policy
from lifecycle.rights import ActionTarget, Refused, Verdict, authorise, facts_of


@dataclass(frozen=True, slots=True)
class ReadyPress:
    """A press that a written rule is about.

    Attributes:
        last: Who pressed, and when.
        policy: The rules.
        places: The folders whose rule is written; "" for the repository.
    """

    last: ReadyForReview
    policy: Policy
    places: tuple[str, ...]

    @property
    def occasion(self) -> str:
        """What a notice of it is remembered by."""
        return f"ready {self.last.id}"


def pressed(proposal: Proposal) -> ReadyPress | None:
    """Return what made an open proposal ready, where a written rule says who may."""
    last, policy = proposal.talk.readied, proposal.rules.policy
    if last is None or proposal.place.draft or proposal.place.closed:
        return None
    if not isinstance(policy, Policy) or not proposal.content.approvable:
        return None
    if last.at < proposal.times.installed_at:
        return None
    every = proposal.content.places or ("",)
    places = tuple(place for place in every if policy.writes(AccessAction.PROPOSE, place))
    return ReadyPress(last, policy, places) if places else None


def verdict(proposal: Proposal) -> Verdict | None:
    """Return what the rules say of whoever pressed; None where none is written, or nobody did."""
    found = pressed(proposal)
    if found is None:
        return None
    known = facts_of(proposal, found.policy)
    return authorise(found.last.person, AccessAction.PROPOSE, ActionTarget(found.places), known)


def undone(proposal: Proposal) -> list[SetDraft]:
    """Return the action that takes a press back which the rules do not allow."""
    if isinstance(verdict(proposal), Refused):
        return [SetDraft(proposal.place.number, draft=True)]
    return []
