"""Answers to commands."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lifecycle import limits
from lifecycle.facts.commits import PushRefusal
from lifecycle.facts.conversation import ReviewState
from lifecycle.facts.packages import Touched
from lifecycle.facts.proposal import Proposal, Stage
from lifecycle.messages import checks, drafts, gates, origins, rights, summary
from lifecycle.messages.findings import findings, severity_first
from lifecycle.messages.markdown import (
    change_lines,
    change_list,
    code,
    number,
    people,
    quote,
    sentence,
    some,
    typed,
)
from lifecycle.messages.proposed import every, revisions
from lifecycle.policy import AccessRule, BrokenPolicy, Policy
from lifecycle.rights import Refused, Unsure, Verdict

if TYPE_CHECKING:
    from lifecycle.approvals import Fallen
    from lifecycle.events import Approval
    from lifecycle.judgement import Judgement

ALTERED_ANSWER = "Somebody else edited this answer, so its original text is no longer known."
APPROVED_AND_REJECTED = (
    "The same comment also rejects the proposal, so the approval does not count."
)
NOTHING_TO_UNAPPROVE = "You have no approval here to remove."
BEFORE_THE_RULES = (
    "`.porchbot.yaml` changed after you wrote this, and only the new version makes your comment a"
    " command, so nothing was done. Comment again."
)
PARTLY_BEFORE_THE_RULES = (
    "`.porchbot.yaml` changed after you wrote this, and only the new version makes another line of"
    " your comment a command, so that line was not acted on. Comment it again."
)
WHILE_OBSERVING = (
    "The bot only observed when you wrote this, or when it last looked at this pull request (`mode:"
    " observe`), and commands from that time are not carried out. It is active now: comment again."
)
WHILE_BROKEN = (
    "The configuration cannot be read, so only an administrator can do this until it is fixed."
)
RENDER_OF_FORK = (
    "`/render` refused: the branch is in a fork, and the bot pushes to this repository only. The"
    " check `porchbot/render` shows what differs and the commands that render it."
)
EDITED = (
    "Commands in edited comments and reviews are ignored, because the edit hides what was asked"
    " first."
    " Write a new comment instead."
)
SENT_BACK_SINCE = (
    "`/propose` refused: `/reject` sent this back to draft after you wrote that. Comment"
    " `/propose` again."
)
NOTHING_TO_PROPOSE = (
    "`/propose` refused: this draft changes no package yet. Push a change to its branch, or comment"
    " `/set`, `/eval` or `/upgrade`, and propose it then."
)
APPROVE_UNJUDGED = (
    "`/approve` refused: a function could not be run, so there is no result to approve yet."
    " Approve again when `porchbot/validate` shows a result."
)


def approve_unjudged(policy: BrokenPolicy) -> str:
    """The answer to `/approve` while nothing can be judged."""
    return (
        f"`/approve` refused: {gates.configuration_broken(policy)}. Fix it there, as the summary"
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
    found = list(logins)
    hold = "holds" if len(found) == 1 else "hold"
    return (
        f"your hold is removed, but {people(found)} still {hold} this. Removing another person's"
        " hold takes write access."
    )


def answer(login: str, texts: Sequence[str]) -> str:
    """One answer to one comment."""
    return (f"@{login} " + "\n\n".join(map(sentence, texts)))[: limits.TEXT]


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
        f"{code(head[:10])} is about to be replaced by a render commit, and approvals do not"
        " carry over. Review the new head and approve that."
    )


def head_moved(head: str) -> str:
    """An approval whose writer may not have seen the head."""
    return (
        f"the branch moved to {code(head[:10])} while you wrote this, or afterwards. Review that"
        " commit and approve again."
    )


def other_commit(named: str, head: str) -> str:
    """An approval of a commit that is not what would be published."""
    return (
        f"`/approve` refused: you approved {code(named[:10])}, and what would be published is"
        f" {code(head[:10])}. Review that and approve again."
    )


def other_head(named: str, head: str) -> str:
    """A draft that moved on from the commit that was to be proposed."""
    return (
        f"`/propose` refused: you named {code(named[:10])}, and the draft now is at"
        f" {code(head[:10])}. Review that and propose again."
    )


def approve_contradicted(state: ReviewState) -> str:
    """`/approve` in the text of a review that says otherwise, or is dismissed."""
    why = "is dismissed" if state is ReviewState.DISMISSED else "requests changes"
    return (
        f"`/approve` refused: the review that contains it {why}. Submit a review that approves, or"
        " comment `/approve`."
    )


def done_in_review(words: Iterable[str]) -> str:
    """What was asked for in a review was done, and there is nothing else to say.

    Args:
        words: The commands.
    """
    return f"done: {' and '.join(typed(word) for word in words)}."


def rejected_notice(owners: Iterable[str], login: str, reason: str) -> str:
    """The answer to `/reject`, which is written for whoever has to go on."""
    others = " ".join(f"@{owner}" for owner in sorted(owners) if owner != login)
    said = summary.rejected(login, reason)
    text = f"{said}. This is a draft again: push your changes, then comment `/propose`."
    return f"{others}: {text}" if others else text


def approved_too_early(why: "Fallen") -> str:
    """An approval given before what stands here now."""
    return f"`/approve` refused: {gates.FALLEN[why]}. Review the current state and approve again."


def wrong_stage(command: str, stage: Stage) -> str:
    """A command, named by its word, that means nothing at this stage."""
    word = typed(f"{command}")
    match stage:
        case Stage.DRAFT:
            return f"{word} is for proposals, and this is a draft. Comment `/propose` first."
        case Stage.PROPOSED:
            return (
                f"{word} does not apply to a proposal that is still open, so nothing was done."
                " `/help` lists the commands that do."
            )
        case Stage.MERGED:
            return (
                f"{word} is for open proposals, and this one is merged. Comment `/why` to see what"
                " it is waiting for."
            )
        case Stage.PUBLISHED:
            return f"{word} comes too late: this is already published. Open a new pull request."
        case Stage.CLOSED:
            return f"{word} is for open proposals, and this one is closed. Reopen it first."


def on_dashboard(command: str, words: Sequence[str], *, where: str = "") -> str:
    """A command about a pull request, on the dashboard issue.

    Args:
        command: Its word.
        words: Of the commands that are for the dashboard.
        where: What answers it instead, as a sentence; "" where only its pull request does.
    """
    there = some(typed(f"{word}") for word in words)
    return (
        f"{typed(f'{command}')} refused: it is for a pull request, and this is the dashboard."
        f" {where or 'Comment it on the pull request.'} Here you can use {there}."
    )


ON_ANY = "Comment it on any pull request, also on one that is merged or closed."
"""Where a command is given that is about a published revision."""

ON_ONE = (
    "What each pull request waits for is listed above; for all of its gates, comment it on the pull"
    " request."
)
"""Where `/why` is answered."""


def nothing_held() -> str:
    """`/unhold` of what is published and was not held any more."""
    return "Nothing is on hold: this is already published."


def button_of_several(numbers: Iterable[int]) -> str:
    """A button of a check, whose commit several pull requests propose."""
    found = ", ".join(f"#{n}" for n in sorted(numbers))
    return (
        f"This button cannot tell which pull request is meant: the commit is part of {found}."
        " Comment the command on the one you mean."
    )


def of_published(word: str, head_ref: str) -> str:
    """A command that pushes, where packages are published from the branch itself."""
    return (
        f"{typed(word)} refused: packages are published from {code(head_ref)}, and the bot changes"
        " such a branch only through pull requests. Make the changes on a separate branch and"
        " propose them from there."
    )


def access_refused(command: str, refused: Refused, proposal: Proposal) -> str:
    """Somebody without the right, and who has it."""
    word = typed(f"{command}")
    if refused.is_author and isinstance(proposal.rules.policy, Policy):
        rule = AccessRule(sources=refused.sources)
        who = rights.somebody(rule, None, sorted(proposal.people.authors))
        return (
            f"{word} refused: you wrote, pushed or requested part of this, and authors cannot"
            f" approve their own work here. To get it approved, ask {who}."
        )
    fix = "Ask one of them." if refused.sources else "Change `access` in one of the two files."
    return f"{word} refused: {rights.only(refused)}. {fix}"


def access_unsure(command: str, found: Unsure) -> str:
    """Nobody can tell whether somebody has the right: nothing was done."""
    return (
        f"{typed(f'{command}')} was not carried out, because the bot cannot tell whether you are"
        f" allowed to: {rights.unsure(found)}. Comment again once that is fixed."
    )


def lacking(verdict: Verdict, proposal: Proposal) -> str:
    """What a command takes that somebody lacks; "" where they may use it."""
    if isinstance(verdict, Unsure):
        return rights.unsure(verdict)
    if not isinstance(verdict, Refused):
        return ""
    if verdict.is_author and isinstance(proposal.rules.policy, Policy):
        rule = AccessRule(sources=verdict.sources)
        return f"only for {rights.somebody(rule, None, sorted(proposal.people.authors))}"
    return f"only for {rights.needed(verdict)}"


def not_understood(problem: str, usage: str = "") -> str:
    """A word that is nearly a command, or a command with arguments it does not take.

    Args:
        problem: What is wrong, as a clause in Markdown.
        usage: How the command is written, such as "hold [reason]"; "" where that is not told.
    """
    end = "" if problem.endswith("?") else "."
    how = f" It is written `/{usage}`." if " " in usage else ""
    return f"not understood: {problem}{end}{how} `/help` lists the commands."


def help_text(rows: Sequence[tuple[Sequence[str], str, str]]) -> str:
    """What this person can ask for here, and what takes somebody else.

    Args:
        rows: The ways in which each command is written, what it does, and who may use it; "" where
            this person may.
    """
    may = [f"- {_ways(ways)}: {what}" for ways, what, lacks in rows if not lacks]
    others = [f"- {_ways(ways)}: {what} ({lacks})" for ways, what, lacks in rows if lacks]
    return "\n".join(
        ["you can use these commands here, each at the start of a line:", "", *may]
        + (["", "You cannot use these here:", "", *others] if others else [])
    )


def _ways(ways: Sequence[str]) -> str:
    """How a command is written, then its aliases."""
    return ", ".join(f"`/{way}`" for way in ways)


def why(proposal: Proposal, judgement: "Judgement", about: str) -> str:
    """The answer to `/why`: all gates, or what is said about one gate or field."""
    if about:
        named = tuple(gate for gate in judgement.gates if gate.name == about)
        gate = summary.gate_list(replace(judgement, gates=named))
        return _about(proposal, about, gate)
    told = (_standing(proposal, judgement), drafts.waiting_list(proposal))
    return "\n\n".join(filter(None, told))


def _standing(proposal: Proposal, judgement: "Judgement") -> str:
    if proposal.stage is Stage.PUBLISHED:
        return f"{_what(proposal)} is published."
    if not proposal.content.touched:
        return (
            checks.propose_elsewhere(proposal)
            if proposal.content.elsewhere
            else checks.NO_PACKAGE_SUMMARY
        )
    if not judgement.open:
        return f"{_what(proposal)}: every gate has passed.\n\n{summary.gate_list(judgement)}"
    count = number(len(judgement.open), "gate")
    return f"{_what(proposal)} is waiting for {count}.\n\n{summary.gate_list(judgement)}"


def _what(proposal: Proposal) -> str:
    return f"**{quote(revisions(proposal))}**"


def _about(proposal: Proposal, about: str, gate: str) -> str:
    """What findings and changes say about a field, however much of its name was given."""
    found = [
        each
        for v in proposal.verdicts
        for each in v.findings
        if about in each.place.field or about in each.place.path
    ]
    changed = proposal.changes_about(about)
    lines = change_lines(changed)
    if not (found or lines or gate):
        return (
            f"nothing found about {code(about)}, and this pull request does not change it."
            " `/why` alone"
            " lists what is missing."
        )
    parts = [f"about {code(about)}:", *filter(None, [gate])]
    if found:
        parts.append("**Findings**\n\n" + findings(sorted(found, key=severity_first)))
    if lines:
        parts.append("**Changes**\n\n" + "\n".join(change_list(lines)))
    if count := sum(len(each) for _, each in changed):
        known = proposal.lookups.origins.get(about, ())
        parts.append("**Set by**\n\n" + origins.listed(known, count))
    return "\n\n".join(parts)
