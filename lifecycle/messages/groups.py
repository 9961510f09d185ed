"""Texts of the checks of merge groups."""

from collections.abc import Sequence

from lifecycle.messages.gates import used_by
from lifecycle.messages.markdown import names, number

NOT_READY = "Waiting: a pull request in the queue is not ready"
SHARED = "Waiting: this commit is also proposed elsewhere"
UNJUDGED = "Waiting for the function runner"
RULES_BEFORE = (
    "A change ahead of it in the queue changes the rules for it. It is checked against the new"
    " rules once that is merged: add it to the queue again then."
)


def behind(proposal: int) -> str:
    """It would be merged together with packages that were judged by other rules."""
    return (
        f"#{proposal} changes the rules or the ledger, and changes of packages ahead of it in the"
        " queue were judged without that. Add it to the queue again once those are merged."
    )


def used(found: Sequence[tuple[str, Sequence[str], int]]) -> str:
    """What goes is used by what stays."""
    return (
        f"{used_by(found)}. Give these another upstream first, or take the pull request out of the"
        " queue."
    )


def passed(packages: Sequence[str]) -> str:
    """Title where the group may be merged."""
    return f"Ready to merge: {names(packages)}" if packages else "No packages changed"


def failed(proposal: int, faults: int) -> str:
    """Title where it may not."""
    return f"#{proposal} cannot be merged from the queue: {number(faults, 'problem')}"


def summary(proposal: int, faults: Sequence[str]) -> str:
    """What the merge result comes to."""
    if not faults:
        return (
            f"This is #{proposal} merged with the base branch and with the changes ahead of it in"
            " the queue. The result is rendered, valid and exactly what was approved."
        )
    listed = "\n".join(f"- {fault}" for fault in faults)
    return (
        f"This is #{proposal} merged with the base branch and with the changes ahead of it in the"
        f" queue.\n\n{listed}\n\nThe pull request stays open; see there for what to do."
    )


def not_ready(proposals: Sequence[int]) -> str:
    """Proposals of the group wait for something themselves."""
    listed = ", ".join(f"#{each}" for each in proposals)
    if len(proposals) == 1:
        return f"{listed} itself is not ready: see `porchbot/publish` there."
    return f"{listed} themselves are not ready: see `porchbot/publish` at each."


def shared(proposal: int, others: Sequence[int]) -> str:
    """Proposals have the group's very commit as their head."""
    listed = ", ".join(f"#{each}" for each in others)
    return (
        f"The merge queue is about to merge #{proposal} as this commit, which is the head of"
        f" {listed} too. A check belongs to a commit, so it would pass for both. Close {listed}, or"
        " push another commit there."
    )


def closed(base_ref: str) -> str:
    """Why a proposal by a fork, of the very commit that a queue is about to merge, is closed."""
    return (
        f"This pull request proposes the commit that the merge queue of `{base_ref}` is about to"
        " merge. A check belongs to a commit, so the queue's checks would pass this pull request"
        " too. The bot closed it. To propose the changes, open another pull request with a commit"
        " of your own."
    )


def not_rendered(packages: Sequence[str]) -> str:
    """The merge result is not its own rendering."""
    return (
        f"{names(packages)}: the merge result is not rendered. Merge the base branch into the pull"
        " request and render it there."
    )


def errors(count: int) -> str:
    """The merge result is not valid."""
    return f"The merge result has {number(count, 'error')}: see `porchbot/validate`."


def otherwise(proposal: int, packages: Sequence[str]) -> str:
    """The merge result is not what was approved."""
    return (
        f"{names(packages)}: the merge result differs from what was approved in #{proposal}:"
        " something else changed it meanwhile. Merge the base branch into the pull request, and"
        " get the result approved."
    )
