"""Texts of `/rebase`: bringing a proposal up to date with its base branch."""

from collections.abc import Iterable

from lifecycle.facts.commits import PushRefusal
from lifecycle.facts.packages import Touched
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.update import BaseUpdate, UpdateConflict
from lifecycle.messages import gates
from lifecycle.messages.markdown import MOST_LISTED, code, names, number, reason, shell

UNRELATED = "the two branches share no history"
SEVERAL = "they were merged into each other more than once, so there is no single merge base"
TOO_SLOW = "git takes too long to compute the merge"
SAME_LINES = "changed on both sides, in the same or adjacent lines"


def by_hand(base_ref: str) -> str:
    """How to do the same without the bot."""
    merge = code(f"git fetch origin && {shell('git', 'merge', f'origin/{base_ref}')}")
    return f"{merge}, resolve the conflicts, and push"


def of_fork(base_ref: str) -> str:
    """The answer to `/rebase` where the branch is in a fork."""
    return (
        "`/rebase` refused: the branch is in a fork, and the bot pushes to this repository only."
        f" Merge {code(base_ref)} of this repository into the branch yourself, or press *Update"
        " branch*, and push."
    )


def refused(refusal: PushRefusal, base_ref: str) -> str:
    """The answer to `/rebase` where a rule of the forge forbids the push."""
    return (
        f"`/rebase` refused: {gates.push_refused(refusal)}. Merge {code(base_ref)} into this branch"
        " yourself, or let an administrator allow the bot to push to it, then comment `/rebase`"
        " again."
    )


def unknown(base_ref: str) -> str:
    """The answer to `/rebase` where nobody worked the merge out."""
    return (
        f"`/rebase` refused: what {code(base_ref)} changed could not be read. Comment `/rebase`"
        " again, or merge it yourself."
    )


def up_to_date(base_ref: str) -> str:
    """The answer to `/rebase` where there is nothing to do."""
    return f"Already up to date: this branch contains all of {code(base_ref)}."


def updated(proposal: Proposal) -> str:
    """The answer to `/rebase` that was done."""
    both = [t.package for t in proposal.content.touched if t.outdated]
    by_field = f", and {names(both)} merged by resource and field" if both else ""
    place = proposal.place
    return (
        f"Merged {code(place.base_ref)} at {code(place.base[:10])} into this branch{by_field}. The"
        " new head is now rendered and checked; packages that this changes need approval again."
    )


def impossible(update: BaseUpdate, base_ref: str) -> str:
    """The answer to `/rebase` where the two cannot be merged."""
    hand = f"Nothing was pushed. By hand: {by_hand(base_ref)}."
    if update.problem:
        why = reason(update.problem)
        return f"`/rebase` refused: {code(base_ref)} cannot be merged: {why}. {hand}"
    shown = update.conflicts[:MOST_LISTED]
    more = len(update.conflicts) - len(shown) + update.more
    count = number(len(update.conflicts) + update.more, "conflict")
    lines = [f"- {conflict(each, base_ref)}" for each in shown]
    lines += [f"- and {more} more"] if more else []
    said = "\n".join(lines)
    return f"`/rebase` refused: {count} with {code(base_ref)}. {hand}\n\n{said}"


def conflict(each: UpdateConflict, base_ref: str) -> str:
    """One conflict: file, resource, field, and the three values."""
    place = " ".join(code(part) for part in (each.path, each.resource, each.field) if part)
    if not each.base and not each.ours and not each.theirs:
        return f"{place}: {reason(each.reason)}"
    values = (
        f"was {code(each.base)}, here {code(each.ours)}, in {code(base_ref)} {code(each.theirs)}"
    )
    return f"{place}: {values}" + ("" if each.field else f" ({reason(each.reason)})")


def outdated(touched: Iterable[Touched], base_ref: str, update: BaseUpdate | None) -> str:
    """Which packages the base branch changed meanwhile, and what keeps them from being merged."""
    said = gates.outdated(touched, base_ref)
    if update is None or update.possible:
        return said
    if update.problem:
        return f"{said}; it cannot be merged: {reason(update.problem)}"
    if not update.conflicts:
        return said
    shown = [conflict(each, base_ref) for each in update.conflicts[:_FEW]]
    more = len(update.conflicts) - len(shown) + update.more
    shown += [f"and {more} more"] if more else []
    return f"{said}; conflicts: {'; '.join(shown)}"


_FEW = 5


def wanted(base_ref: str, update: BaseUpdate | None, *, command: bool) -> str:
    """How to bring a proposal up to date: by hand where the bot cannot, or may not."""
    if update is None or update.possible:
        return gates.merge_base_wanted(base_ref, command=command)
    return f"{code(base_ref)} merged into this branch by hand: {by_hand(base_ref)}"
