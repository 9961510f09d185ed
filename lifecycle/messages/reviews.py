"""Texts of the gate of reviews that the rules of the base branch require."""

from lifecycle.messages.markdown import code, number

REVIEWED = "branch reviews"
IS_REVIEWED = "the branch's required reviews are given"
REVIEW_OBJECTS = "a reviewer requested changes, and the branch's rules require an approving review"
REVIEW_WHO = "somebody whose reviews count for the branch's rules (at least write access)"


def not_reviewed(given: int, wanted: int) -> str:
    """How many approve by a review of the forge, where the branch's rules want more.

    Args:
        given: So many do.
        wanted: So many have to; 0 where the forge does not tell.
    """
    if given < wanted:
        return f"{given} of {number(wanted, 'approving review')}"
    reviews = number(given, "approving review") if given else "no approving review"
    return f"{reviews}, fewer than the branch's rules require"


def reviews_wanted(base_ref: str) -> str:
    """What satisfies the rules of a branch."""
    return (
        f"the reviews that the rules of {code(base_ref)} require: *Files changed → Review changes →"
        " Approve*; `/approve` does not count as a review"
    )
