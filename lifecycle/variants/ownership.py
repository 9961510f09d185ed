"""Whose a revision is: what a variant works on, what it adopts, and what becomes of the rest.

Porch writes owners into objects of its cluster. Here they are written down with what the bot does,
and read from Porch's own trailers in a repository that its controllers wrote.
"""

from enum import StrEnum
from typing import Final

from lifecycle.variants import naming
from lifecycle.variants.facts import DraftFacts, RevisionStage, VariantFacts
from lifecycle.variants.values import VariantSpec

_NUMBERLESS: Final = -1


class GivenUp(StrEnum):
    """What becomes of a revision that its variant wants no more."""

    DISCARDED = "discarded"
    """It goes: nobody has published it."""
    DELETION_PROPOSED = "deletion proposed"
    """Its deletion is proposed."""
    RELEASED = "released"
    """It stays, and is the variant's no more."""
    LEFT = "left"
    """Nothing: that is under way."""


def owned(facts: VariantFacts, owners: frozenset[str]) -> bool:
    """Tell whether the variant is among the owners of something."""
    return facts.variant.name in owners


def foreign(facts: VariantFacts) -> bool:
    """Tell whether the package is somebody else's, and stays so."""
    if facts.variant.spec.adopts:
        return False
    if facts.published is not None:
        return not owned(facts, facts.published.owners)
    return facts.present


def ours(facts: VariantFacts) -> list[DraftFacts]:
    """Return the open drafts that are the variant's, or become so; the newest first."""
    found = [
        each
        for each in facts.drafts
        if each.open and not each.empty and (owned(facts, each.owners) or facts.variant.spec.adopts)
    ]
    return sorted(found, key=_age, reverse=True)


def _age(draft: DraftFacts) -> tuple[int, str]:
    number = draft.workspace.removeprefix(naming.WORKSPACE)
    return (int(number) if number.isdecimal() and number.isascii() else _NUMBERLESS, draft.branch)


def given_up(spec: VariantSpec, stage: RevisionStage) -> GivenUp:
    """Tell what becomes of a variant's revision that it wants no more."""
    if not spec.deletes:
        return GivenUp.RELEASED
    match stage:
        case RevisionStage.PUBLISHED:
            return GivenUp.DELETION_PROPOSED
        case RevisionStage.DELETION_PROPOSED | RevisionStage.CLOSED:
            return GivenUp.LEFT
        case _:
            return GivenUp.DISCARDED
