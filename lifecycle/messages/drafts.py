"""Texts of `/init`, `/clone`, `/edit`, `/upgrade`, `/rebase onto`, `/eval` and `/set`.

What is wrong with a request itself stands in `making`.
"""

import re
from collections.abc import Sequence

from cadlib.diff.secrets import HIDDEN
from lifecycle.facts.drafts import (
    DraftKind,
    DraftRequest,
    DraftState,
    DraftWait,
    token_line,
)
from lifecycle.facts.proposal import Proposal
from lifecycle.ledger import ProposedState
from lifecycle.messages import descriptions
from lifecycle.messages.markdown import (
    code,
    committed,
    name,
    names,
    number,
    one_line,
    person,
    place,
    quote,
    reason,
    remark,
    typed,
)
from lifecycle.messages.timing import moment
from lifecycle.terms import kept


def no_such_conflict(count: int) -> str:
    """The answer where there is no conflict of that number."""
    if not count:
        return (
            f"{_refused('resolve')}: no upgrade here met a conflict. Use {typed('set')} to change a"
            " field."
        )
    return (
        f"{_refused('resolve')}: this pull request has {number(count, 'conflict')}. Read the"
        " numbers in the summary, and comment again."
    )


NOT_TOGETHER = (
    "`/upgrade` refused: several packages are named. Add `--together` for one pull request, or"
    " comment one command for each."
)
CONFLICTS_UNREAD = (
    "`/resolve` refused: the upstream of another upgrade here cannot be read, so the bot cannot"
    " tell which conflict has that number. Comment `/check` once it can be read, or edit the file"
    " and push it."
)


_PACKAGE_FIRST = frozenset({"upgrade", "rebase", "diff"})


def which(word: str, packages: Sequence[str]) -> str:
    """The answer where nobody can tell which package is meant."""
    what = "none" if not packages else f"{len(packages)}: {names(packages)}"
    how = f"{word} <package>" if word in _PACKAGE_FIRST else f"{word} --package <path>"
    return (
        f"{_refused(word)}: the command names no package, and this discussion is about {what}."
        f" Write {typed(how)}."
    )


def too_many(word: str, most: int) -> str:
    """The answer where comments ask for more drafts than one look works out."""
    return (
        f"{_refused(word)}: at most {most} drafts are made at a time. Comment {typed(word)} again"
        " once the others are there."
    )


def not_made(word: str, why: str) -> str:
    """The files cannot be made."""
    return f"{_refused(word)}: {reason(why.rstrip('.'))}. Then comment {typed(word)} again."


def waiting(request: DraftRequest, wait: DraftWait) -> str:
    """A command waits until its upstream can be read; of others nothing does."""
    return (
        f"{typed(str(request.kind))} for {name(request.package)} waits, since {moment(wait.since)}:"
        f" {_source(request)} cannot be read now, its repository or its forge is busy or away"
    )


def waiting_list(proposal: Proposal) -> str:
    """The commands that wait for what cannot be read, a line each; "" for none."""
    waits = proposal.lookups.waiting_drafts.items()
    return "\n".join(f"- ⏳ {waiting(r, wait)}. It is tried again by itself." for r, wait in waits)


def given_up(word: str, request: DraftRequest, wait: DraftWait) -> str:
    """What a command is about could not be read for long."""
    return (
        f"{_refused(word)}: {_source(request)} could not be read in {number(wait.tries, 'attempt')}"
        f" since {moment(wait.since)}; its repository or its forge was busy or away. Once it can"
        f" be read, comment {typed(word)} again."
    )


def _source(request: DraftRequest) -> str:
    if request.upstream:
        return code(request.upstream)
    return f"the upstream of {names((request.package, *request.others))}"


def taken(word: str, there: ProposedState) -> str:
    """The branch holds what the bot did not make, and no pull request proposes it."""
    return (
        f"{_refused(word)}: the branch {code(there.branch)} holds commits that the bot did not"
        " make, and has no open pull request. Open one for it, or delete it if nobody needs it,"
        " and comment again."
    )


def push_refused(word: str, there: ProposedState) -> str:
    """A rule of the forge forbids the push."""
    return (
        f"{_refused(word)}: GitHub refuses a push to {code(there.branch)}:"
        f" {quote(there.refused.rstrip('.'))}. Let an administrator allow the bot to push there,"
        " and comment"
        " again."
    )


def not_pushable(word: str) -> str:
    """The bot may not write to the branch of the pull request."""
    return (
        f"{_refused(word)}: the bot may not push to the branch of this pull request. Comment it"
        " under one whose branch is in this repository, or on the dashboard issue."
    )


def unchanged(word: str, state: DraftState) -> str:
    """There is nothing to change."""
    at = f" at {code(state.version)}" if state.version else " like that"
    every = (state.request.package, *state.request.others)
    are = "is" if len(every) == 1 else "are"
    return f"{typed(word)}: nothing to change; {names(every)} {are} already{at}."


def committed_here(state: DraftState) -> str:
    """It was committed to the branch of the pull request."""
    return f"Committed to this branch: {quote(title(state))}.{_conflicted(state)}"


def opened(state: DraftState) -> str:
    """The draft is there, or was until people closed or merged it."""
    proposal = state.there.number or state.there.ended
    return f"{place(proposal)}: {quote(title(state))}.{_conflicted(state)}"


def _conflicted(state: DraftState) -> str:
    count = len(state.made.conflicts) + state.made.more
    if not count:
        return ""
    return (
        f" {number(count, 'conflict')}: both sides changed the same field, and upstream's value"
        " was taken; the summary there lists what is undecided."
    )


_VERBS = {
    DraftKind.INIT: "Create",
    DraftKind.CLONE: "Clone",
    DraftKind.EDIT: "Edit",
    DraftKind.UPGRADE: "Upgrade",
    DraftKind.REBASE: "Rebase",
    DraftKind.EVAL: "Run",
    DraftKind.SET: "Set",
    DraftKind.RESOLVE: "Resolve",
    DraftKind.ROLLBACK: "Roll back",
    DraftKind.RESUME: "Resume",
}


def title(state: DraftState) -> str:
    """Title of the pull request, and first line of its commit."""
    return committed(_title(state))[:200]


def retitled(state: DraftState, shown: str) -> str:
    """What a title of ours is to say once a further command has changed the draft.

    Args:
        state: What was made.
        shown: The title as it stands; one that people wrote is left as it is.

    Returns:
        "" where it stays.
    """
    new, package = title(state), one_line(state.request.package) or "root package"
    together = _TOGETHER.fullmatch(shown) if not state.request.others else None
    match state.request.kind:
        case DraftKind.UPGRADE | DraftKind.REBASE if together:
            same = shown == f"{together[1]} to {state.version}"
            found = shown if same else f"{together[1]} to several revisions"
        case DraftKind.UPGRADE:
            found = new if shown.rpartition(" to ")[0] == new.rpartition(" to ")[0] else ""
        case DraftKind.SET if shown.startswith("Set ") and shown.endswith(f" in {package}"):
            same = shown.partition(" to ")[0] == new.partition(" to ")[0]
            found = new if same else committed(f"Set several fields in {package}")[:200]
        case DraftKind.EVAL if shown.startswith("Run ") and shown.endswith(f" on {package}"):
            found = committed(f"Run several functions on {package}")[:200]
            found = shown if shown == new else found
        case _:
            found = ""
    return "" if found == shown else found


_TOGETHER = re.compile(r"(Upgrade .+ and [0-9]+ more packages?) to .+", re.ASCII)
"""The title of several that are upgraded together, of which one may go another way later."""


def _title(state: DraftState) -> str:
    request = state.request
    package, verb = one_line(request.package) or "root package", _VERBS[request.kind]
    match request.kind:
        case DraftKind.CLONE | DraftKind.REBASE:
            word = "from" if request.kind is DraftKind.CLONE else "onto"
            # With a blank: "@v1" would name somebody.
            place_, _, ref = one_line(request.upstream).rpartition("@")
            return f"{verb} {package} {word} {place_ or ref}{f' {ref}' if place_ else ''}"
        case DraftKind.UPGRADE:
            more = len(request.others)
            also = f" and {number(more, 'more package')}" if more else ""
            return f"{verb} {package}{also} to {state.version or 'the newest upstream'}"
        case DraftKind.EVAL:
            return f"{verb} {one_line(request.function)} on {package}"
        case DraftKind.SET:
            where = f"{one_line(request.resource)} " if request.resource else ""
            return f"{verb} {where}{one_line(request.field)} to {_value(state)} in {package}"
        case DraftKind.RESOLVE:
            return f"{verb} conflict {request.revision} of {package} with {_value(state)}"
        case DraftKind.ROLLBACK:
            return f"{verb} {package} to v{request.revision}"
        case _:
            return f"{verb} {package}{f' v{request.revision}' if request.revision else ''}"


def _value(state: DraftState) -> str:
    """What somebody asked for; a value of a Secret is told in its file alone."""
    return HIDDEN if state.made.private else one_line(state.request.value)


def commit_message(state: DraftState, asked: int, trailer: str, resolved: str = "") -> str:
    """Message of the commit.

    Args:
        state: What was made.
        asked: Number of the comment, or of the box, that asked for it.
        trailer: As Porch writes it.
        resolved: The line of the conflict that it resolves; "" for none.
    """
    lines = "\n".join(filter(None, (token_line(asked, state.request), resolved)))
    return f"{title(state)}\n\n{lines}\n\n{kept(trailer)}"


def body(state: DraftState, asker: str, where: int) -> str:
    """Text of the pull request.

    Args:
        state: What was made.
        asker: Login of whoever asked.
        where: Number of the pull request or issue where they did.
    """
    ready = "" if state.request.ready else " Comment `/propose` once it is ready."
    lines = [
        f"{quote(title(state))}, asked for by {person(asker)} in {place(where)}.",
        "",
        f"Push to this branch to change it further.{ready} Comment `/help` for all commands.",
    ]
    if state.request.kind is DraftKind.ROLLBACK:
        lines[2:2] = [
            f"All files are as in {state.version}, `upstreamLock` included. Once this is merged,"
            f" {code(state.ledger)} holds the package there: no upgrade and no variant proposes"
            f" anything newer until {typed('resume ' + (state.request.package or '.'))}.",
            *([f"Reason: {remark(state.request.reason)}"] if state.request.reason else []),
            "",
        ]
    if state.request.others:
        every = (state.request.package, *state.request.others)
        lines[2:2] = [f"Packages: {', '.join(map(name, every))}.", ""]
    if count := len(state.made.conflicts) + state.made.more:
        lines += ["", descriptions.conflicted(count, "draft was made"), _DECIDE]
    return "\n".join(lines)


_DECIDE = (
    f"Comment {typed('resolve 1 local')}, `upstream` or a value for each number, or edit the files."
)


def _refused(word: str) -> str:
    return f"{typed(word)} refused"
