"""Texts of `/diff`: what changes in a pull request, or in a package."""

from collections.abc import Sequence

from cadlib.diff.values import Change
from lifecycle import limits
from lifecycle.facts.open_drafts import PackageDiff
from lifecycle.facts.proposal import Proposal
from lifecycle.messages.markdown import change_lines, code, name, names, number, place


def not_here(word: str, package: str) -> str:
    """The answer where a pull request does not change the package that is named."""
    return (
        f"`/{word}` refused: this pull request does not change {name(package)}. Name a package that"
        " it changes, or comment on the dashboard issue."
    )


def diff(proposal: Proposal, revision: int, package: str | None = None) -> str:
    """The answer to `/diff`: every change that there is room for.

    Args:
        proposal: Whose changes.
        revision: What they are compared with; 0 for the merge base.
        package: The package that is asked about; None for all.
    """
    if revision:
        found = proposal.lookups.compared.get(revision, {})
        changes = [(package, found[package]) for package in sorted(found)]
        since = f"since v{revision}"
        if not changes:
            packages = names(t.package for t in proposal.content.touched) or "nothing here"
            return (
                f"there is no v{revision} of {packages} to compare with. Name a revision that has"
                " a tag; `/diff` alone compares with the base branch."
            )
    else:
        changes = [(v.package, v.diff) for v in proposal.verdicts]
        since = f"against the merge base with {code(proposal.place.base_ref)}"
    changes = [each for each in changes if package in (None, each[0])]
    return changes_since(changes, since)


def package_diff(found: PackageDiff) -> str:
    """The answer to `/diff <package>` on the dashboard issue."""
    since = f"since v{found.revision}"
    if not found.revision:
        since = f"against the merge base with {code(found.base_ref)}"
    also = f" (also open: {', '.join(map(place, found.others))})" if found.others else ""
    where = f"in {place(found.number)}{also}" if found.number else f"on {code(found.base_ref)}"
    return (
        f"{name(found.package)} {where}: {changes_since([(found.package, found.changes)], since)}"
    )


def changes_since(changes: Sequence[tuple[str, Sequence[Change]]], since: str) -> str:
    """Every change of packages that there is room for."""
    lines = change_lines(changes)
    if not lines:
        return f"no resources or fields changed {since}."
    return f"{number(len(lines), 'change')} {since}:\n\n" + "\n".join(_fitting(lines))


def _fitting(lines: Sequence[str]) -> list[str]:
    """As many lines of a list as an answer holds; the rest is counted."""
    shown: list[str] = []
    room = limits.TEXT - 500
    for line in lines:
        item = f"- {code(line)}"
        room -= len(item) + 1
        if room < 0:
            break
        shown.append(item)
    left = len(lines) - len(shown)
    return [*shown, f"- and {left} more"] if left else shown
