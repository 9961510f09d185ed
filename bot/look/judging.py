"""Which files judge proposals, or make the bot draft packages: a change of them changes rules."""

from collections.abc import Iterable

from bot.config import CONFIG, FOLDER
from bot.look import owners
from lifecycle import owners as places
from lifecycle.policy import BrokenPolicy, Policy, VariantUse

CONFIGURATION = (CONFIG, FOLDER)
"""What a proposal changes rules by: the configuration, and the folder of the ledger."""


def paths(policy: Policy | BrokenPolicy) -> tuple[str, ...]:
    """Return the paths of what judges proposals, and of what the bot makes drafts of by itself.

    Args:
        policy: The rules of the base branch.

    Returns:
        Files and folders, relative to the root of the repository.
    """
    variants = policy.variants if isinstance(policy, Policy) else VariantUse()
    makes = (each.rpartition("/")[0] for each in variants.files)
    injects = (each.directory for each in variants.objects if not each.repository)
    return (*CONFIGURATION, *(places.PLACES if owners.named(policy) else ()), *makes, *injects)


def is_rule(path: str, judging: Iterable[str]) -> bool:
    """Tell whether a file is one of those that `paths` names, or stands below one."""
    return any(path == rule or path.startswith(f"{rule}/") for rule in judging)
