"""What keeps variants waiting, in the words of the dashboard issue."""

from collections.abc import Collection, Sequence

from lifecycle import names
from lifecycle.messages.markdown import number

BROKEN = "broken rule"
NOT_MADE = "cannot be made"
REFUSED = "push refused"
SHUT = "not let in"
KEPT_BACK = "not shared"
LATER = "not yet"
CROWDED = "too many branches"
PASSED_OVER = "newer tags"
TROUBLE = "porchbot failed here; it tries again. The operator finds the error in its log."

_MOST_SHOWN = 5
"""Tags of an upstream that are named."""

CREATIONS_AN_HOUR = 360
"""Pull requests and comments that the bot creates in an hour at most, of the 500 of GitHub's."""

CREATIONS = 2
"""What is created for a package at most: its pull request, and the summary in it."""


def push_refused(reason: str) -> str:
    """Say that the forge takes no such push."""
    return f"A rule of the repository refused the push: {reason}"


def shut(source: str) -> str:
    """Say that another repository does not let rules in; nobody learns whether it is there."""
    return (
        "No packages are made there: porchbot does not serve it, or its .porchbot.yaml does not"
        f" list {source} under `variants_from`, with its number if another"
        " repository had that name before."
    )


def kept_back(repositories: Sequence[str], downstream: str) -> str:
    """Say that packages are not made which objects chose that their repository may not read.

    Args:
        repositories: Full names of the repositories of the objects.
        downstream: That of the packages'.
    """
    return (
        f"Packages that resources of {', '.join(repositories)} chose are not made there, because"
        f" these resources are not shared with it. List {downstream} under `upstreams.share` in the"
        " .porchbot.yaml of their repository."
    )


def crowded(left_out: int) -> str:
    """Say that a package has more branches of drafts without a pull request than are looked at.

    Args:
        left_out: The others.
    """
    return (
        f"Not looked at: {number(left_out, 'older draft')} without an open pull request, since"
        " each costs a request. Delete the branches that nobody needs."
    )


def passed_over(
    package: str, numbers: Sequence[int], repository: str, moved: Collection[int] = ()
) -> str:
    """Say that newer tags of an upstream are not followed.

    Args:
        package: Path of the upstream.
        numbers: Those revisions, newest first; at least one.
        repository: Full name of their repository.
        moved: Those of them that were published, and whose tags name something else by now.
    """
    listed = ", ".join(names.shown(package, each) for each in numbers[:_MOST_SHOWN])
    left = len(numbers) - _MOST_SHOWN
    more = f" and {number(left, 'more tag')}" if left > 0 else ""
    return (
        f"Not followed: {listed}{more} in {repository}. {_whose(numbers, moved)}, so no approval is"
        f" known. {'Put back what was moved, publish' if moved else 'Publish'} the change there"
        " with porchbot, or name the revision in the variant."
    )


def _whose(numbers: Sequence[int], moved: Collection[int]) -> str:
    """How tags came to name what was not published."""
    one = len(numbers) == 1
    if not moved:
        what, it = ("this tag", "it") if one else ("these tags", "them")
        return f"Somebody pushed {what}, and porchbot did not publish {it}"
    if len(moved) == len(numbers):
        what, it = ("Its tag was", "it names") if one else ("Their tags were", "they name")
        return f"{what} moved since that was published, and nobody published what {it} now"
    listed = [f"v{each}" for each in numbers if each in moved]
    shown, left = ", ".join(listed[:_MOST_SHOWN]), len(listed) - _MOST_SHOWN
    which = f"{shown} and {left} more" if left > 0 else shown
    return f"Somebody moved the tag of {which} and pushed the rest, and porchbot published none"


def unreachable(repository: str) -> tuple[str, str]:
    """Say that nobody knows which revisions of an upstream were published; problem and fix.

    Args:
        repository: Full name of its repository.
    """
    return (
        f"which revisions were published in {repository} cannot be told now: it is archived, or out"
        " of porchbot's reach",
        "Give porchbot access to it again, or name the revision in the variant",
    )


def moved_meanwhile(package: str, number: int, repository: str) -> tuple[str, str]:
    """Say that a tag moved between being judged and being read; problem and fix.

    Args:
        package: Path of the upstream.
        number: Its revision.
        repository: Full name of its repository.
    """
    return (
        f"the tag of {names.shown(package, number)} in {repository} was moved while it was read",
        "Leave it where it is, or put it back: porchbot looks again with the next sweep",
    )


def none_published(why: str) -> tuple[str, str]:
    """Say that an upstream has no other revision than those; problem and fix."""
    problem, _, fix = why.removesuffix(".").rpartition(". ")
    return problem, fix


def later(count: int) -> str:
    """Say how many packages are still to be looked at, and how long that may take.

    Args:
        count: Those that have no open pull request yet.
    """
    minutes = max(1, round(60 * CREATIONS * count / CREATIONS_AN_HOUR))
    hours, rest = divmod(minutes, 60)
    time = number(minutes, "minute")
    if hours:
        time = f"{hours} h {rest} min" if rest else number(hours, "hour")
    return (
        f"{number(count, 'package')} of variants still have no pull request. The forge allows about"
        " 500 new pull requests and comments an hour, and a package needs up to two of them, so"
        f" this takes up to {time}."
    )


def no_objects_at(repository: str, branch: str) -> tuple[str, str]:
    """A branch of another repository whose resources cannot be used.

    Args:
        repository: Its full name.
        branch: The branch.
    """
    return (
        f"no resources of branch {branch} of {repository} can be used",
        "Name a branch that it publishes packages from, or leave `branch` out",
    )


def no_objects_of(repository: str) -> tuple[str, str]:
    """Say that resources of another repository cannot be used; nobody learns whether it is there.

    Args:
        repository: Its full name.
    """
    return (
        f"no resources of {repository} can be used",
        "Check the name, and let it list this repository in `upstreams.share`",
    )
