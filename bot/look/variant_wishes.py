"""Asks whether a rule for variants wants now what the bot once made for it.

Who made something tells nothing of whether it is still wanted: a pull request may be opened again
whose rule is gone, or whose upstream was withdrawn since.
"""

from dataclasses import dataclass, replace
from typing import Protocol

from bot.clock import Offload
from bot.forges.port import ListedProposal, Repository
from bot.look import variant_trails
from bot.look.reader import Basis, MirrorReader
from lifecycle.automatic import ByItself
from lifecycle.facts.packages import NotByRule
from lifecycle.facts.proposal import Proposal
from lifecycle.names import Sha
from lifecycle.needs import needs_of
from lifecycle.policy import Policy
from lifecycle.variants.trailer import Trail


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeForVariant:
    """A pull request that the bot alone made for a variant.

    Attributes:
        repository: Where it is.
        package: The package.
        pull: The pull request.
        base: What it is compared with; of what is merged, the base right before.
        trail: What its commits say.
    """

    repository: Repository
    package: str
    pull: ListedProposal
    base: Sha
    trail: Trail


class VariantWishes(Protocol):
    """What rules for variants want now, wherever they stand."""

    async def unwanted(self, made: MadeForVariant) -> NotByRule | None:
        """Tell why no rule wants just this: package, upstream revision and content; None: one does.

        Raises:
            ForgeBusyError, GitBusyError: That cannot be told now.
        """


async def asked(
    wishes: VariantWishes | None,
    repository: Repository,
    reader: MirrorReader,
    pull: ListedProposal,
    basis: Basis,
    p: Proposal,
    offload: Offload,
) -> Proposal:
    """Return a proposal that is none of a variant where no rule wants it now.

    Args:
        wishes: Knows what is wanted; None where nobody can tell, so that nothing is.
        repository: Where the proposal is.
        reader: Reads git.
        pull: The pull request.
        basis: What it is compared with.
        p: All that is known of it.
        offload: Where git is read.
    """
    policy, package = p.rules.policy, p.content.variant
    if not package or not isinstance(policy, Policy):
        return p
    by_rule = (need.automatic for need in needs_of(p, policy, rules=False))
    if ByItself.VARIANT not in by_rule:
        return p  # it takes approvals whatever is wanted
    base, why = basis.base or Sha(""), NotByRule.UNTOLD
    if wishes is not None:
        alone = await offload(
            variant_trails.made_alone,
            reader,
            pull.head,
            Sha(p.content.origin),
            pull.head_ref,
            package,
        )
        if isinstance(alone, Trail):
            made = MadeForVariant(
                repository=repository, package=package, pull=pull, base=base, trail=alone
            )
            unwanted = await wishes.unwanted(made)
            if unwanted is None:
                return p
            why = unwanted
    return replace(p, content=replace(p.content, variant="", not_by_rule=why))
