"""Comments that tell people of what happened to their proposal."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from lifecycle import limits
from lifecycle.facts.packages import Touched
from lifecycle.facts.proposal import Proposal
from lifecycle.merges import UnknownRules
from lifecycle.messages import gates, rights
from lifecycle.messages.markdown import (
    code,
    name,
    number,
    person,
    quote,
    sentence,
)
from lifecycle.messages.proposed import revisions

if TYPE_CHECKING:
    from lifecycle.approvals import Approvals
    from lifecycle.judgement import Judgement
    from lifecycle.rights import Refused

_UNKNOWN_RULES: Mapping[UnknownRules, str] = {
    UnknownRules.BASE: "the bot cannot tell what the base branch contained before this merge",
    UnknownRules.RULES: "the rules changed in the same push as this merge",
}


def notice(owners: Iterable[str], text: str) -> str:
    """A comment that tells people of their proposal; they are mentioned."""
    return " ".join([*(f"@{login}" for login in sorted(owners)), sentence(text)])[: limits.TEXT]


def went_out_of_date(touched: Sequence[Touched], base_ref: str, *, command: bool) -> str:
    """The base branch changed a package after the proposal left it."""
    return (
        f"this proposal is out of date: {gates.outdated(touched, base_ref)}. To continue,"
        f" {gates.merge_base_wanted(base_ref, command=command)}."
    )


def rules_merged(approvals: "Approvals", base_ref: str) -> str:
    """Rules were merged past their approvals; they judge what comes now."""
    return (
        f"this merge changed the rules of {code(base_ref)} without the approvals that a"
        f" change to the rules needs: {gates.approvals(approvals)}. They are in force now. To undo"
        " this, revert the pull request. To prevent such merges, require `porchbot/publish`"
        f" for {code(base_ref)}."
    )


def not_proposed(refused: "Refused") -> str:
    """Somebody made a draft ready for review who may not propose it."""
    return (
        f"the bot turned this back into a draft: {rights.only(refused, 'propose it')}. Ask one of"
        " them to comment `/propose`."
    )


def approval_untold(head: str) -> str:
    """A native approval of which the forge does not tell what was approved."""
    return (
        "your approval does not count yet: GitHub does not say which version of this it was given"
        f" for. Review {code(head[:10])}, and comment `/approve`."
    )


def fails_after_push(proposal: Proposal, errors: int) -> str:
    """Somebody who does not own the proposal pushed what fails."""
    return (
        f"`porchbot/validate` fails with {number(errors, 'error')} after a push by"
        f" {person(proposal.people.pushed_by)}, at {code(proposal.place.head[:10])}. The check"
        " shows each one at its line."
    )


def fails_now(proposal: Proposal, errors: int) -> str:
    """The same head passed before: the rules changed, or a function that they name."""
    return (
        f"`porchbot/validate` passed at {code(proposal.place.head[:10])} and now fails there with"
        f" {number(errors, 'error')}. Nobody pushed, so the rules on"
        f" {code(proposal.place.base_ref)} or a function changed. The check shows each one at"
        " its line."
    )


def merged_not_published(proposal: Proposal, judgement: "Judgement") -> str:
    """The report on a merge whose result is not what was approved, or whose tag is lost."""
    if proposal.once_published:
        lost = [
            f"- {gates.tag_lost(t, t.tagging.lost)}. Needed: {gates.tag_restored(t)}."
            for t in proposal.content.touched
            if t.tagging.lost
        ]
        return f"**{gates.tags_wrong(proposal.content.touched)}**\n\n" + "\n".join(lost)
    changed = [
        f"- {name(t.package)} differs from the proposal"
        + (
            f", because {', '.join(t.changed_by)} changed it in the meantime"
            if t.changed_by
            else ""
        )
        for t in proposal.content.touched
        if t.tree != t.head_tree and not t.outside
    ]
    changed += [
        f"- the merge also changed {name(t.package)}, which the proposal does not show"
        for t in proposal.content.touched
        if t.outside
    ]
    if proposal.content.doubt is not None:
        changed.append(f"- {_UNKNOWN_RULES[proposal.content.doubt]}")
    what, why = (
        (
            "**Merged, but not approved**:",
            "Removals, withdrawals and deprecations need approval like any change. `/approve` here"
            " approves this one as it is; to undo a removal, press *Revert*.",
        )
        if proposal.content.untagged
        else (
            "**Merged, but not published**:",
            "Only content that was approved exactly as it is gets tagged. `/approve` here"
            " approves the merge result, which is published once the other gates pass.",
        )
    )
    return (
        f"{what} {quote(revisions(proposal))} at"
        f" {code(str(proposal.place.merge_commit)[:10])}.\n\n"
        + "\n".join([*changed, *(f"- {gate.name}: {gate.actual}" for gate in judgement.open)])
        + f"\n\n{why}"
    )
