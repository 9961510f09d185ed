"""Texts of `/delete` and `/deprecate`: revisions withdrawn or deprecated by pull requests."""

from collections.abc import Sequence

from lifecycle.facts.drafts import token_line
from lifecycle.ledger import (
    LedgerEntry,
    ListedState,
    ProposedState,
    RemovalState,
    RevisionState,
)
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
    remark,
    typed,
    users,
)

NO_REASON = "no reason given"
"""Stands in the ledger where somebody withdraws a revision without saying why."""


def which(word: str, packages: Sequence[str]) -> str:
    """The answer where nobody can tell which package is meant."""
    what = "none" if not packages else f"{len(packages)}: {names(packages)}"
    return (
        f"{_refused(word)}: the command names no package, and this pull request is about {what}."
        f" Write {typed(f'{word} <package>@v<N>')}."
    )


def whole_package(word: str) -> str:
    """The answer where a package is named, and no revision."""
    return (
        f"{_refused(word)}: it needs a revision. Write {typed(f'{word} <package>@v<N>')}. To remove"
        " a package, open a pull request that removes its folder; `/delete` there withdraws its"
        " revisions as well."
    )


def all_listed(state: RemovalState) -> str:
    """The revisions of a package go with it."""
    gone = sum(1 for n in state.entries if n in state.tags)
    return (
        f"{name(state.package)} is removed with {number(gone, 'revision')}: {code(state.path)} here"
        " lists them as withdrawn, and their tags are deleted once this is merged and approved."
    )


def not_pushed(state: RemovalState) -> str:
    """The bot may not write to the branch."""
    return (
        f"{_refused('delete')}: the bot may not push to this branch. List the revisions in"
        f" {code(state.path)} yourself, each with {code('state: withdrawn')} and a reason."
    )


def unlisted(state: RemovalState) -> str:
    """The file cannot be changed."""
    return (
        f"{_refused('delete')}: {code(state.path)} on this branch cannot be read, or has no place"
        " for the entries. Fix it, and comment `/delete` again."
    )


def with_package(state: RemovalState) -> str:
    """Message of the commit that lists the revisions of a package that is removed."""
    return committed(f"Withdraw the revisions of {one_line(state.package) or 'the root package'}")[
        :200
    ]


def too_many(word: str, most: int) -> str:
    """The answer where comments name more revisions than one look reads."""
    return (
        f"{_refused(word)}: at most {most} revisions are looked up at a time. Comment"
        f" {typed(f'{word}')} again for the others."
    )


def unknown(word: str, state: RevisionState) -> str:
    """There is no such revision."""
    return (
        f"{_refused(word)}: there is no tag {code(state.name)}, and there never was. Check the name"
        " of the package and the number; `git tag --list` shows all revisions."
    )


def listed(word: str, state: RevisionState, entry: LedgerEntry) -> str:
    """The ledger says it already, but what it withdraws may still have its tag."""
    why = f"{code(state.name)} is {entry.state} already ({remark(entry.reason)})"
    if entry.state is ListedState.WITHDRAWN and state.tag:
        return (
            f"{_refused(word)}: {why}, and its tag is still there. Approve the merged pull request"
            " that says so, by `/approve` there. A tag that porchbot did not make stays, unless"
            " that entry names it."
        )
    return f"{_refused(word)}: {why}. There is nothing more to do."


def used(state: RevisionState) -> str:
    """Others have it as upstream."""
    return (
        f"{_refused('delete')}: {code(state.name)} is the upstream of"
        f" {users(state.used_by, state.used_unseen)}. Give"
        " these another upstream first, in `upstream` and `upstreamLock` of their Kptfiles."
    )


def broken(word: str, state: RevisionState) -> str:
    """The ledger cannot be read or changed."""
    return (
        f"{_refused(word)}: {code(state.path)} on {code(state.base_ref)} cannot be read, or has no"
        " place for the entry. Fix it there in a pull request, and comment again."
    )


def taken(word: str, there: ProposedState) -> str:
    """The branch holds what the bot did not make."""
    return (
        f"{_refused(word)}: the branch {code(there.branch)} holds commits that the bot did not"
        " make. Delete it if nobody needs them, and comment again."
    )


def push_refused(word: str, there: ProposedState) -> str:
    """A rule of the forge forbids the branch."""
    return (
        f"{_refused(word)}: GitHub refuses the branch {code(there.branch)}:"
        f" {quote(there.refused.rstrip('.'))}. Let an administrator allow the bot to make it, and"
        " comment again."
    )


def proposed(state: RevisionState, there: ProposedState, entry: LedgerEntry) -> str:
    """The pull request is open, or was until people closed it."""
    what = "withdraw" if entry.state is ListedState.WITHDRAWN else "deprecate"
    if there.number:
        return f"#{there.number} {what}s {code(state.name)}, once it is approved and merged."
    return (
        f"#{there.ended} was opened to {what} {code(state.name)}, and is closed. Comment again to"
        " open another one."
    )


def title(state: RevisionState, entry: LedgerEntry) -> str:
    """Title of the pull request, and first line of its commit."""
    shown = f"{one_line(state.package) or 'root package'} v{state.revision}"
    word = "Withdraw" if entry.state is ListedState.WITHDRAWN else "Deprecate"
    return committed(f"{word} {shown}")[:200]


def commit_message(state: RevisionState, asked: int, entry: LedgerEntry) -> str:
    """Message of the commit; `asked` is the number of the comment that asked for it."""
    return f"{title(state, entry)}\n\n{token_line(asked, entry)}"


def body(state: RevisionState, entry: LedgerEntry, asker: str, where: int) -> str:
    """Text of the pull request.

    Args:
        state: The revision.
        entry: What the ledger is to say of it.
        asker: Login of whoever asked.
        where: Number of the pull request, or of the issue, where they did.
    """
    asked = f"{person(asker)} asked for it in {place(where)}: {remark(entry.reason)}"
    if entry.state is ListedState.DEPRECATED:
        return (
            f"{code(state.name)} is deprecated once this is approved and merged. Its tag stays.\n\n"
            f"{asked}"
        )
    tag = (
        f"and its tag is deleted, as long as it points to {code(state.tag)}"
        if state.tag
        else "its tag is gone already"
    )
    return (
        f"{code(state.name)} is withdrawn once this is approved and"
        f" merged, {tag}. Its number is never used again.\n\n{asked}"
    )


def _refused(word: str) -> str:
    return f"{typed(f'{word}')} refused"
