"""The release tags of a package: which are ours, which numbers they use up, which are lost.

Rules (docs/design.md, "Release tags"):

1. Only a tag with our signed record counts as published by us, whatever its name, target or date.
   Where one with the record of another porchbot stands on a merge, that merge is published.
2. Every integer tag of a package uses up its number, and so does every number in the ledger and in
   the index.
3. A tag that we made and that is gone or replaced is not made again: its number stays with its
   commit. It is reported, unless the ledger says that the revision was withdrawn; then it is
   reported where the tag is there.
"""

from dataclasses import dataclass
from enum import StrEnum


class TagLoss(StrEnum):
    """How a tag that we made was lost."""

    GONE = "gone"
    REPLACED = "replaced"
    RETURNED = "returned"
    """It is there, though the revision was withdrawn."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """A release tag without our record.

    Attributes:
        name: Such as "net/core/v5".
        before: It was there when the bot came: published before porchbot.
        marked: It has a mark as porchbot makes it, by a key that is none of ours: another bot has
            published this.
    """

    name: str
    before: bool
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Tagging:
    """The release tags of one package.

    Attributes:
        revision: The number it would be, or was, published under; 0 when it is removed.
        tagged: We published it under this number.
        withdrawn: It was published, and the ledger says that it was withdrawn.
        lost: It was published, and this became of its tag.
        tag: The tag object that we made for it, 40 hex digits; "" when that is not known.
        clash: Full name of a ref beside which git cannot hold the tag; "" when there is room.
        foreign: Tags without our record: on the merge result; before a merge the newest tag.
        missing: Names of tags of earlier revisions that we made, and that are gone or replaced.
        listed: Numbers of the package that the ledger lists as withdrawn: their tags may be gone.
        within: A later proposal published the merge result with its own, under this number: which
            one, such as "#12", or "" where that is not known; None when none did.
    """

    revision: int = 0
    tagged: bool = False
    withdrawn: bool = False
    lost: TagLoss | None = None
    tag: str = ""
    clash: str = ""
    foreign: tuple[Foreign, ...] = ()
    missing: tuple[str, ...] = ()
    listed: frozenset[int] = frozenset()
    within: str | None = None
