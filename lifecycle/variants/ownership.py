"""Whose a revision is: what a variant works on, what it adopts, and what becomes of the rest.

Porch writes owners into objects of its cluster. Here they are written down with what the bot does,
and read from Porch's own trailers in a repository that its controllers wrote.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from lifecycle.variants.facts import OwnedRevision, Stage
from lifecycle.variants.values import VariantSpec


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


@dataclass(frozen=True, slots=True)
class Standing:
    """What a variant has.

    Attributes:
        targets: What it works on: all drafts, or else the newest published revision.
        adopted: Those of its downstream that become its own now.
        elsewhere: Its own that are no revisions of its downstream.
    """

    targets: tuple[OwnedRevision, ...]
    adopted: tuple[OwnedRevision, ...]
    elsewhere: tuple[OwnedRevision, ...]


def standing(owner: str, spec: VariantSpec, revisions: Iterable[OwnedRevision]) -> Standing:
    """Sort revisions by what a variant has to do with them.

    Args:
        owner: What the variant is called among owners.
        spec: What it asks for.
        revisions: Of any packages.
    """
    drafts: list[OwnedRevision] = []
    published: list[OwnedRevision] = []
    adopted: list[OwnedRevision] = []
    elsewhere: list[OwnedRevision] = []
    for each in revisions:
        owned = owner in each.owners
        if each.downstream != spec.downstream:
            elsewhere += [each] if owned else []
            continue
        if not owned and not spec.adopts:
            continue
        adopted += [] if owned else [each]
        (published if each.published else drafts).append(each)
    newest = sorted(published, key=lambda each: -each.number)[:1]
    return Standing(tuple(drafts or newest), tuple(adopted), tuple(elsewhere))


def given_up(spec: VariantSpec, stage: Stage) -> GivenUp:
    """Tell what becomes of a variant's revision that it wants no more."""
    if not spec.deletes:
        return GivenUp.RELEASED
    match stage:
        case Stage.PUBLISHED:
            return GivenUp.DELETION_PROPOSED
        case Stage.DELETION_PROPOSED | Stage.CLOSED:
            return GivenUp.LEFT
        case _:
            return GivenUp.DISCARDED
