"""Texts about a package's open drafts, for who asks on the dashboard issue."""

from collections.abc import Sequence

from lifecycle.facts.open_drafts import DraftUpdate
from lifecycle.messages.markdown import code, one_line, place
from lifecycle.names import DRAFTS


def none(package: str) -> str:
    """There is no open draft of a package."""
    shown = one_line(package) or "the root package"
    folder = f"{DRAFTS}{one_line(package)}/" if package else DRAFTS
    return (
        f"there is no open draft of {shown}: no pull request from a branch in {folder} of this"
        " repository. Open one with `/edit`, or move the package to an upstream with"
        " `/rebase <package> onto <upstream>`"
    )


def several(package: str, numbers: Sequence[int]) -> str:
    """There are several open drafts of a package."""
    listed = ", ".join(f"#{number}" for number in numbers)
    return (
        f"{one_line(package) or 'the root package'} has several open drafts: {listed}. Write the"
        " command under the one that you mean"
    )


def of_others(number: int, packages: Sequence[str]) -> str:
    """The draft changes other packages as well."""
    listed = ", ".join(one_line(each) or "the root package" for each in packages)
    return f"#{number} changes {listed} as well. Write the command there"


def nothing(package: str, base_ref: str) -> str:
    """There is no such package, and no open draft of it."""
    shown = one_line(package) or "the root package"
    return (
        f"there is no package {shown} on {one_line(base_ref)}, and no open draft of it. Check the"
        " path"
    )


def unpublished(package: str) -> str:
    """There is no draft, and nothing was published: there is nothing to compare."""
    shown = one_line(package) or "the root package"
    return (
        f"{shown} has no open draft, and no published revision to compare with. Publish it, or open"
        " a draft of it"
    )


def up_to_date(found: DraftUpdate) -> str:
    """The answer to `/rebase <package>` where there is nothing to do."""
    return f"{place(found.number)} is up to date: it contains all of {code(found.base_ref)}."


def updated(found: DraftUpdate) -> str:
    """The answer to `/rebase <package>` that was done."""
    return (
        f"{place(found.number)}: merged {code(found.base_ref)} into {code(found.head_ref)}. The new"
        " head is now rendered and checked; packages that this changes need approval again."
    )
