"""Texts about time: windows, freezes, exceptions, and moments as people read them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo

from lifecycle.events import Frozen, Overridden, content
from lifecycle.facts.checks import AwaitedCheck
from lifecycle.messages.markdown import code, name, person, quote, some, some_lines, typed
from lifecycle.windows import Window, WindowKind

OPEN = "no window prevents publishing now"
WINDOW_WHO = (
    "nobody: it continues automatically. To publish sooner, an approver can comment `/override"
    " window <reason>`"
)
FREEZE_WHO = (
    "anyone who may freeze. To publish only this one, an approver can comment `/override freeze"
    " <reason>`"
)
UNREAD_WANTED = (
    "access to it: grant the App the permission Issues (read and write), or turn off issues in the"
    " repository"
)
UNREAD_WHO = "an administrator of the repository, or nobody: the bot retries automatically"
NEVER_OVERRIDDEN = (
    "`/override` refused: it only works for `window`, `freeze` and `check:<name>` of"
    " `publish.checks`."
    " Approval, rendering and validation cannot be overridden."
)
NOTHING_FROZEN = (
    "nothing is frozen by a comment. To change a window, edit `publish.windows` in"
    " `.porchbot.yaml`."
)
TOO_MUCH_FROZEN = (
    "`/freeze` refused: so much is frozen already that the bot cannot record another freeze."
    " Comment"
    " `/thaw` for what is over, or freeze everything instead of many folders: `/freeze . <reason>`."
)


def moment(at: datetime, zone: tzinfo = UTC) -> str:
    """A moment on the clock of a zone, and in UTC where that is another."""
    there, utc = at.astimezone(zone), at.astimezone(UTC)
    if zone is UTC:
        return f"{utc:%a %Y-%m-%d %H:%M} UTC"
    return f"{there:%a %Y-%m-%d %H:%M} {zone} ({utc:%a %Y-%m-%d %H:%M} UTC)"


def closed(closing: Sequence[Window]) -> str:
    """Which windows keep it from being published, and why there are such windows."""
    return "; ".join(dict.fromkeys(map(_closing, closing)))


def _closing(window: Window) -> str:
    where = _place(window.paths)
    if window.kind is WindowKind.FREEZE:
        return f"{where} is frozen by a window: {quote(window.reason)}"
    return f"{where} is outside its publishing windows: {quote(window.reason)}"


def _place(paths: Sequence[str]) -> str:
    return "everything" if "" in paths else some(paths, write=name)


def opens(closing: Sequence[Window], at: datetime | None) -> str:
    """What is waited for, by the clock of the first of the windows."""
    if at is None:
        return "a change to `publish.windows` in `.porchbot.yaml`, because nothing there ends this"
    return f"wait until {moment(at, closing[0].zone)}"


def frozen(freezes: Iterable[Frozen]) -> str:
    """Who froze what, and why."""
    return "; ".join(
        f"{person(each.person)} froze {_place([each.path])}"
        + (f" until {moment(each.until)}" if each.until else "")
        + f": {quote(each.reason)}"
        for each in freezes
    )


def unread(error: str) -> str:
    """Why nobody can tell what is frozen."""
    return f"the dashboard issue, which keeps what is frozen, cannot be read: {quote(error)}"


def thaw(freezes: Sequence[Frozen]) -> str:
    """What ends freezes."""
    ends = [each.until for each in freezes if each.until]
    if len(ends) == len(freezes):
        return f"`/thaw`, or wait until {moment(max(ends))}"
    return "`/thaw`"


def excepted(exceptions: Iterable[Overridden], trees: Mapping[str, str]) -> str:
    """What a published proposal was let past, by whom and why; "" for nothing.

    Args:
        exceptions: That were made for it.
        trees: Of its packages, as they were published.
    """
    found = [
        f"{code(each.gate)}, by {person(each.person)}: {quote(each.reason)}"
        for each in exceptions
        if each.trees == content(trees)
    ]
    return "\n".join(["**Exceptions**", "", *some_lines(found)]) if found else ""


def overridden(exceptions: Iterable[Overridden], past: str) -> str:
    """Who let a proposal past a gate, and what it says."""
    by = "; ".join(f"{person(each.person)}: {quote(each.reason)}" for each in exceptions)
    return f"overridden by {by} ({past})"


def freeze_done(freeze: Frozen, folder: str = "") -> str:
    """The answer to `/freeze`.

    Args:
        freeze: What is frozen now.
        folder: What the reason begins with, where that is a folder that may have been meant.
    """
    until = f" until {moment(freeze.until)}" if freeze.until else ""
    ends = typed(f"thaw {freeze.path}/" if freeze.path else "thaw")
    only = (
        f" A folder needs a slash at its end: to freeze only {name(folder)}, comment {ends}, and"
        f" then {typed(f'freeze {folder}/ <reason>')}."
        if folder
        else ""
    )
    return (
        f"{_place([freeze.path])} is frozen{until}: {quote(freeze.reason)}. While it is"
        f" frozen, the bot merges and tags nothing there. Comment {ends} to end this.{only}"
    )


def over(until: datetime) -> str:
    """The answer to `/freeze` with an end that has come."""
    return f"`/freeze` refused: {moment(until)} is in the past. Give a later time, or leave it out."


def frozen_twice(path: str) -> str:
    """The answer to a second `/freeze` of one folder in one comment."""
    what = name(path) if path else "everything"
    return (
        f"`/freeze` refused: this comment freezes {what} already. Write the second one in a comment"
        " of its own."
    )


def nothing_there(path: str, reason: str, nearest: Sequence[str]) -> str:
    """The answer to `/freeze` of a folder without packages."""
    near = some(typed(f"freeze {folder}/ …") for folder in nearest)
    everything = typed(f"freeze . {path} {reason}")
    return (
        f"`/freeze` refused: there is no package in or above {code(path)}, so nothing is frozen."
        f" Name a folder with packages, such as {near}, or freeze everything: {everything}."
    )


def thawed(freezes: Sequence[Frozen]) -> str:
    """The answer to `/thaw`."""
    return "thawed: " + "; ".join(
        f"{_place([each.path])}, which {person(each.person)} had frozen" for each in freezes
    )


def still_frozen(path: str, freezes: Sequence[Frozen]) -> str:
    """The answer to `/thaw` of something else than what is frozen."""
    there = some(_place([each.path]) for each in freezes)
    return (
        f"`/thaw` refused: {name(path)} itself is not frozen. Frozen: {there}. Give one of these,"
        " or no folder to thaw all."
    )


def no_such_gate(gate: str, there: Sequence[str]) -> str:
    """The answer to `/override` of a gate that does not wait."""
    waits = f" Gates that can be overridden here: {some(there, write=code)}." if there else ""
    return (
        f"`/override` refused: {code(gate)} does not prevent publishing here; `/why` lists what"
        f" does.{waits}"
    )


def stopped_since(gate: str) -> str:
    """The answer to `/override` that something younger than the comment makes too little."""
    return (
        f"`/override` refused: {code(gate)} prevents publishing for a new reason since you wrote"
        " this; `/why` lists it. Comment again to override that too."
    )


def override_done(gate: str, *, missing: bool) -> str:
    """The answer to `/override`."""
    more = " It takes effect once somebody else does the same." if missing else ""
    return (
        f"the exception from {code(gate)} is recorded for this proposal with its current"
        f" content.{more}"
    )


def outside_wanted(check: AwaitedCheck) -> str:
    """What a check of others has to say, and who has to say it."""
    return "success on the head commit" + (f", by the App {code(check.app)}" if check.app else "")


def outside_who(check: AwaitedCheck, spelled: str) -> str:
    """Who can make a check of others pass, or let the proposal past it."""
    who = f"the App {code(check.app)}" if check.app else f"whatever reports {code(check.name)}"
    return (
        f"{who}. To publish without it, an approver can comment"
        f" {typed(f'override {spelled} <reason>')}"
    )
