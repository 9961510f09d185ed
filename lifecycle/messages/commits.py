"""Titles and bodies of pull requests, messages of commits and tags."""

from collections.abc import Mapping, Sequence

from lifecycle.facts.packages import Touched
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.verdicts import FunctionVersion
from lifecycle.messages.markdown import (
    committed,
    names,
    number,
    one_line,
    plain_line,
)
from lifecycle.messages.proposed import revisions
from lifecycle.terms import kept


def proposal_title(subjects: Sequence[str], packages: Sequence[str], head_ref: str) -> str:
    """Title of the pull request that the bot opens for a draft: what its commits say they do.

    Args:
        subjects: First lines of its commits, oldest first.
        packages: What it changes.
        head_ref: Its branch.
    """
    said = [title for subject in subjects if (title := plain_line(subject))]
    if said:
        more = f" (and {number(len(said) - 1, 'more commit')})" if len(said) > 1 else ""
        return said[0][: 200 - len(more)] + more
    workspace = head_ref.rsplit("/", 1)[-1]
    shown = ", ".join(one_line(p) or "root package" for p in packages[:3])
    rest = f" and {len(packages) - 3} more" if len(packages) > 3 else ""
    return plain_line(f"{shown}{rest}: {workspace}")[:200]


def proposal_body(packages: Sequence[str], pusher: str) -> str:
    """Text of the pull request that the bot opens for a draft."""
    by = f", pushed by @{pusher}" if pusher else ""
    return (
        f"Draft of {names(packages)}{by}.\n\n"
        "Keep pushing to this branch until it is ready, then comment `/propose` or press"
        " *Ready for review*. Comment `/help` for all commands."
    )


def render_commit(packages: Sequence[str], trailers: Sequence[str]) -> str:
    """Message of a render commit."""
    shown = ", ".join(committed(p) or "root package" for p in packages)
    return f"Render {shown}"[:200] + "\n\n" + kept("\n".join(trailers))


def update_commit(base_ref: str, head_ref: str, trailers: Sequence[str]) -> str:
    """Message of a merge commit that brings a proposal up to date."""
    title = f"Merge {committed(base_ref)} into {committed(head_ref)}"[:200]
    return "\n\n".join([title, kept("\n".join(trailers))]).rstrip()


def merge_title(proposal: Proposal) -> str:
    """First line of the merge commit."""
    shown = ", ".join(
        f"{committed(t.package) or 'root package'} v{t.revision}"
        for t in proposal.content.touched
        if not t.removed
    )
    if not shown and proposal.content.ledger:
        return committed(f"{revisions(proposal)} (#{proposal.place.number})"[:200])
    return (
        f"Publish {shown} (#{proposal.place.number})"
        if shown
        else f"Merge #{proposal.place.number}"
    )


def merge_message(proposal: Proposal, approvers: Sequence[str], trailers: Sequence[str]) -> str:
    """The rest of the merge commit's message, with a trailer for each package."""
    approved = f"Approved by: {', '.join(approvers)}\n" if approvers else ""
    # With words of ours before it: alone on its line a title could be a trailer.
    title = f"Title: {committed(proposal.place.title)}"
    return f"{title}\n{approved}\n" + kept("\n".join(trailers))


def tag_message(
    repository: str,
    proposal: Proposal,
    touched: Touched,
    approvers: Sequence[str],
    versions: Mapping[str, FunctionVersion],
) -> str:
    """Message of a release tag: what stands behind this revision.

    Source: docs/design.md, "Release tags".
    """
    lines = [
        f"{committed(touched.package) or repository} v{touched.revision}",
        "",
        f"Package: {one_line(touched.package) or '.'}",
        f"Revision: v{touched.revision}",
        f"Proposal: {repository}#{proposal.place.number}",
        f"Approved-by: {', '.join(approvers) or 'nobody needed to'}",
        f"Tree: {touched.tree}",
        *(
            one_line(f"Function: {image} ({ran.asked}) {ran.digest}")
            for image, ran in sorted(versions.items())
        ),
    ]
    return "\n".join(lines) + "\n"
