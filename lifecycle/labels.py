"""Labels that mirror the stage of a proposal: output, never a command.

Only our own labels are touched, those that the configuration names now. Who takes one off or puts
another one on finds it put right at the next look; nothing else follows from it.
"""

from lifecycle.actions import SetLabels
from lifecycle.facts.proposal import Proposal, Stage
from lifecycle.policy import Policy, ShownStage
from lifecycle.variants import naming


def mirrored(proposal: Proposal, head_ref: str, *, waits: bool) -> list[SetLabels]:
    """Return the action that makes the labels mirror the stage; none where they do, or may not.

    Args:
        proposal: The proposal.
        head_ref: Its head branch.
        waits: A gate does not hold.
    """
    policy, there = proposal.rules.policy, proposal.place.labels
    if there is None or not isinstance(policy, Policy):
        return []
    if proposal.stage is Stage.MERGED and (proposal.once_published or not waits):
        return []  # its tag is lost, or about to be made
    stage = policy.labels.get(_shown(proposal), "") if _concerns(proposal) else ""
    people = proposal.people
    by_us = people.us != "" and people.author.login == people.us
    machine = by_us and naming.is_variants(head_ref)
    variant = policy.labels.get(ShownStage.VARIANT, "") if machine else ""
    wanted = {label.lower(): label for label in (stage, variant) if label}
    # Forges do not tell labels apart by case.
    ours = {label.lower() for label in policy.labels.values() if label}
    on = {label.lower() for label in there}
    remove = tuple(sorted(label for label in there if label.lower() in ours - wanted.keys()))
    add = tuple(label for name, label in wanted.items() if name not in on)
    return [SetLabels(proposal.place.number, add=add, remove=remove)] if add or remove else []


def _concerns(proposal: Proposal) -> bool:
    return proposal.content.approvable and proposal.stage is not Stage.CLOSED


def _shown(proposal: Proposal) -> ShownStage:
    removes = proposal.content.removal
    match proposal.stage:
        case Stage.DRAFT:
            return ShownStage.DRAFT
        case Stage.MERGED:
            return ShownStage.MERGED
        case Stage.PUBLISHED:
            return ShownStage.DELETED if removes else ShownStage.PUBLISHED
        case _:
            return ShownStage.DELETION_PROPOSED if removes else ShownStage.PROPOSED
