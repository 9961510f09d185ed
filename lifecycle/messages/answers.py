"""Answers to commands."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lifecycle import limits
from lifecycle.facts.head import PushRefusal
from lifecycle.facts.packages import Touched
from lifecycle.facts.proposal import Proposal, Stage
from lifecycle.messages import checks, gates, rights, summary
from lifecycle.messages.findings import findings, severity_first
from lifecycle.messages.markdown import (
    change_lines,
    change_list,
    code,
    every,
    names,
    number,
    people,
    quote,
    revisions,
    some,
)
from lifecycle.policy import AccessRule, BrokenPolicy, Policy
from lifecycle.rights import Refused, Unsure, Verdict

if TYPE_CHECKING:
    from lifecycle.approvals import Fallen
    from lifecycle.events import Approval
    from lifecycle.judgement import Judgement

ALTERED_ANSWER = "this answer was edited by somebody else, and what it said is not known any more."
APPROVED_AND_REJECTED = "The same comment sends it back, so the approval does not count."
NOTHING_TO_UNAPPROVE = "You have no approval here that counts, so there is nothing to take back."
BEFORE_THE_RULES = (
    "`.porchbot.yaml` changed after you wrote this, and your comment is a command only by what it"
    " says, so nothing was done. Comment again."
)
WHILE_BROKEN = (
    "The configuration cannot be read, so nobody can tell whom it names: until that is repaired it"
    " takes an administrator."
)
RENDER_OF_FORK = (
    "`/render` refused: the branch is in a fork, and the bot pushes to this repository only. The"
    " check `porchbot/render` shows what differs and the commands that render it."
)
EDITED = "Edits are not commands: nobody could tell afterwards what was asked. Write a new comment."
APPROVE_UNJUDGED = (
    "`/approve` refused: a function could not be run, so nobody knows yet what would be approved."
    " Approve again when `porchbot/validate` shows a result."
)


def approve_unjudged(policy: BrokenPolicy) -> str:
    """The answer to `/approve` while nothing can be judged."""
    return (
        f"`/approve` refused: {gates.configuration_broken(policy)}. Mend it there, as the summary"
        " says, and approve again."
    )


def render_refused(refused: PushRefusal) -> str:
    """The answer to `/render` where a rule of the forge forbids the push."""
    return (
        f"`/render` refused: {gates.push_refused(refused)}. Commit the rendering yourself (the"
        " check `porchbot/render` shows the commands), or let an administrator allow the bot to"
        " push to this branch, then comment `/render` again."
    )


def still_held(logins: Iterable[str]) -> str:
    """The answer to `/unhold` where holds of others stay."""
    return f"your hold is lifted; {people(logins)} still holds this, which takes write access."


def answer(login: str, texts: Sequence[str]) -> str:
    """One answer to one comment."""
    return (f"@{login} " + "\n\n".join(texts))[: limits.TEXT]


def approved(approval: "Approval", proposal: Proposal, *, merged: bool, blocked: str) -> str:
    """The answer to an accepted `/approve`.

    Args:
        approval: What was approved.
        proposal: The proposal.
        merged: The merge result was approved, not the head.
        blocked: What is still missing; "" when nothing is.
    """
    of = "the merge result" if merged else "head"
    still = f" Still blocked: {blocked}." if blocked else ""
    what = f"{of} {code(approval.head[:10])}: {quote(revisions(proposal))}"
    return f"Approved.{still}\n\nYou approved {what}.{_all(proposal.content.touched)}"


def _all(touched: Sequence[Touched]) -> str:
    """Every package by its name, folded, where the line before names only the first."""
    if len(touched) <= 3:
        return ""
    names_all = every(touched, limits.TEXT // 2)
    return (
        f"\n\n<details><summary>All {len(touched)} packages</summary>\n\n{names_all}\n\n</details>"
    )


def approve_after_render(head: str) -> str:
    """An approval that the coming render commit would void."""
    return (
        f"{code(head[:10])} is about to be replaced by a render commit, and an approval does not"
        " carry over. Look at the new head and approve that."
    )


def head_moved(head: str) -> str:
    """An approval whose writer may not have seen the head."""
    return (
        f"the head moved to {code(head[:10])} after you wrote, or at the same moment. Look at it"
        " and approve again."
    )


def rejected_notice(owners: Iterable[str], login: str, reason: str) -> str:
    """The answer to `/reject`, which is written for whoever has to go on."""
    others = " ".join(f"@{owner}" for owner in sorted(owners) if owner != login)
    said = summary.rejected(login, reason)
    text = f"{said}. It is a draft again: push the changes, then `/propose`."
    return f"{others}: {text}" if others else text


def approved_too_early(why: "Fallen") -> str:
    """An approval given before what stands here now."""
    return f"`/approve` refused: {gates.FALLEN[why]}. Look at it as it is now and approve again."


def wrong_stage(command: str, stage: Stage) -> str:
    """A command, named by its word, that means nothing at this stage."""
    word = code(f"/{command}")
    match stage:
        case Stage.DRAFT:
            return f"{word} is for proposals; this is a draft. `/propose` it first."
        case Stage.PROPOSED:
            return f"{word} is not for a proposal that is still open."
        case Stage.MERGED:
            return (
                f"{word} is for open proposals; this one is merged. `/why` tells what it waits for."
            )
        case Stage.PUBLISHED:
            return f"{word} comes too late: this is published. Open a new proposal."
        case Stage.CLOSED:
            return f"{word} is for open proposals; this one is closed. Reopen it first."


def on_dashboard(command: str, words: Sequence[str]) -> str:
    """A command about a pull request, on the dashboard issue."""
    there = some(code(f"/{word}") for word in words)
    return (
        f"{code(f'/{command}')} refused: it is for a pull request, and this is the dashboard."
        f" Comment it on the pull request. Here you can use {there}."
    )


def nothing_held() -> str:
    """`/unhold` of what is published and was not held any more."""
    return "Nothing is held: this is published."


def button_of_several(numbers: Iterable[int]) -> str:
    """A button of a check, whose commit several pull requests propose."""
    found = ", ".join(f"#{n}" for n in sorted(numbers))
    return (
        f"The button does not say which pull request is meant: the commit is proposed in {found}."
        " Write the command in a comment there."
    )


def of_published(word: str, head_ref: str) -> str:
    """A command that pushes, where packages are published from the branch itself."""
    return (
        f"{code(word)} refused: packages are published from {code(head_ref)}, and the bot changes"
        " such a branch through proposals only. Propose the changes from a branch of their own."
    )


def access_refused(command: str, refused: Refused, proposal: Proposal) -> str:
    """Somebody without the right, and who has it."""
    word = code(f"/{command}")
    if refused.is_author and isinstance(proposal.rules.policy, Policy):
        rule = AccessRule(sources=refused.sources)
        who = rights.somebody(rule, None, sorted(proposal.people.authors))
        return (
            f"{word} refused: you wrote, pushed or asked for a part of this, and authors do not"
            f" approve their own work here. Ask {who}."
        )
    return (
        f"{word} refused: it takes {rights.needed(refused)}, and you have {rights.actual(refused)}."
    )


def access_unsure(command: str, found: Unsure) -> str:
    """Nobody can tell whether somebody has the right: nothing was done."""
    return (
        f"{code(f'/{command}')} was not carried out, because the bot cannot tell whether you may:"
        f" {rights.unsure(found)}. Comment again once that has changed."
    )


def lacking(verdict: Verdict, proposal: Proposal) -> str:
    """What a command takes that somebody lacks; "" where they may use it."""
    if isinstance(verdict, Unsure):
        return rights.unsure(verdict)
    if not isinstance(verdict, Refused):
        return ""
    if verdict.is_author and isinstance(proposal.rules.policy, Policy):
        rule = AccessRule(sources=verdict.sources)
        return rights.somebody(rule, None, sorted(proposal.people.authors))
    return rights.needed(verdict)


def not_understood(problem: str) -> str:
    """A word that is nearly a command, or a command with arguments it does not take.

    Args:
        problem: What is wrong, as a clause in Markdown.
    """
    end = "" if problem.endswith("?") else "."
    return f"not understood: {problem}{end} `/help` lists the commands."


def help_text(rows: Sequence[tuple[Sequence[str], str, str]]) -> str:
    """What this person can ask for here, and what takes somebody else.

    Args:
        rows: The ways in which each command is written, what it does, and what it takes that
            this person lacks; "" where they may.
    """
    may = [f"- {_ways(ways)}: {what}" for ways, what, lacks in rows if not lacks]
    others = [f"- {_ways(ways)}: {what} (takes {lacks})" for ways, what, lacks in rows if lacks]
    return "\n".join(
        ["you can ask for this here, at the start of a line:", "", *may]
        + (["", "This takes somebody else:", "", *others] if others else [])
    )


def _ways(ways: Sequence[str]) -> str:
    """How a command is written, then its aliases."""
    return ", ".join(f"`/{way}`" for way in ways)


def diff(proposal: Proposal, revision: int) -> str:
    """The answer to `/diff`: every change that there is room for.

    Args:
        proposal: Whose changes.
        revision: What they are compared with; 0 for the merge base.
    """
    if revision:
        found = proposal.compared.get(revision, {})
        changes = [(package, found[package]) for package in sorted(found)]
        since = f"since v{revision}"
        if not changes:
            packages = names(t.package for t in proposal.content.touched) or "nothing here"
            return f"there is no v{revision} of {packages} that could be compared."
    else:
        changes = [(v.package, v.diff) for v in proposal.verdicts]
        since = f"against the merge base with {code(proposal.place.base_ref)}"
    lines = change_lines(changes)
    if not lines:
        return f"no resource and no field differs {since}."
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


def why(proposal: Proposal, judgement: "Judgement", about: str) -> str:
    """The answer to `/why`: all gates, or what is said about one field."""
    if about:
        return _about(proposal, about)
    if proposal.stage is Stage.PUBLISHED:
        return f"{quote(revisions(proposal))} is published."
    if not proposal.content.touched:
        return (
            checks.propose_elsewhere(proposal)
            if proposal.content.elsewhere
            else checks.NO_PACKAGE_SUMMARY
        )
    if not judgement.open:
        return f"{quote(revisions(proposal))}: every gate holds.\n\n{summary.gate_list(judgement)}"
    count = number(len(judgement.open), "gate")
    return f"{quote(revisions(proposal))} waits for {count}.\n\n{summary.gate_list(judgement)}"


def _about(proposal: Proposal, about: str) -> str:
    """What findings and changes say about a field, however much of its name was given."""
    found = [
        each
        for v in proposal.verdicts
        for each in v.findings
        if about in each.place.field or about in each.place.path
    ]
    changed = [(v.package, tuple(c for c in v.diff if about in str(c))) for v in proposal.verdicts]
    lines = change_lines(changed)
    if not found and not lines:
        return (
            f"nothing is said about {code(about)}, and this does not change it. `/why` alone"
            " lists what is missing."
        )
    parts = [f"about {code(about)}:"]
    if found:
        parts.append("**Findings**\n\n" + findings(sorted(found, key=severity_first)))
    if lines:
        parts.append("**Changes**\n\n" + "\n".join(change_list(lines)))
    return "\n\n".join(parts)
