"""What became of the boxes of the dashboard issue that were ticked."""

from collections.abc import Iterator, Sequence

from lifecycle import boxes, limits
from lifecycle.facts.boxes import BegunBox, BoxWaves
from lifecycle.messages import rights
from lifecycle.messages.markdown import code, person, some, typed
from lifecycle.rights import Refused
from lifecycle.terms import kept

TITLE = "What became of the boxes that were ticked above, the newest first:"

NOTHING_STOPPED = (
    "`/continue` refused: no box of the dashboard waits because another one failed. There is"
    " nothing more to do; to begin something, tick its box."
)

MOST_NAMED = 5
"""Commands that are named of those that wait."""

LOST = (
    "; **somebody ticked it, and the bot was not told who: nothing was done. Tick it again, or"
    " comment the command**"
)
"""Stands at a box whose delivery was lost."""


def more(command: str) -> str:
    """Say how to get at boxes that have no room.

    Args:
        command: What they do.
    """
    return (
        "they move up as the ones above are done, and"
        f" `porchbot rpkg {command} --selector` reaches all of them"
    )


def answered(command: str, login: str, answer: str) -> str:
    """The line of one box, with what its command came to."""
    said = without_address(answer, login)
    return f"- {typed(command.removeprefix('/'))}, ticked by {person(login)}: {said}"


def without_address(answer: str, login: str) -> str:
    """An answer in one line, which does not begin with whom it is for."""
    return " ".join(answer.removeprefix(f"@{login} ").split())


def passed_on(command: str, login: str) -> str:
    """The line of a box about a proposal, where its command is judged and answered."""
    return f"- {_about(command)}, ticked by {person(login)}: passed on to the pull request."


def left_out(command: str, failed: Sequence[BegunBox]) -> str:
    """The line of a box that is not begun, because of what its package was made from."""
    why = f"its package is made from one that failed ({_named(failed)})" if failed else _CIRCLE
    return (
        f"- {typed(command.removeprefix('/'))}: nothing was done, because {why}. Fix that, then"
        " tick the box again."
    )


_CIRCLE = "its package is, through others, its own upstream"


def _about(command: str) -> str:
    """A command about a proposal, as `Tick` has it, and the proposal."""
    said, _, proposal = command.removeprefix("/").partition(" #")
    return f"{typed(said)} in #{proposal}" if proposal else typed(said)


def _named(found: Sequence[BegunBox]) -> str:
    return some(typed(each.command) for each in found[:MOST_NAMED])


def bulk_refused(command: str, refused: Refused) -> str:
    """Somebody who may give a command, but not by a box."""
    return (
        f"{typed(command)} refused: with boxes, {rights.only(refused)} (`access.bulk`). Comment the"
        " command instead."
    )


def goes_on(waves: BoxWaves) -> str:
    """What going on leaves."""
    return (
        f"skipped: {_named(waves.failed)}, and the packages made from what failed."
        f" {_boxes(len(waves.waiting))} waited; those that are not skipped begin now."
    )


def failed_since(failed: Sequence[BegunBox]) -> str:
    """Somebody said to go on before all of it had failed."""
    return (
        f"{typed(boxes.GO_ON)} refused: something failed after you commented. What failed by now:"
        f" {_reasons(failed)}. Comment {typed(boxes.GO_ON)} again to skip it."
    )


def unseen(command: str) -> str:
    """Whoever ticked a box to go on had another line before them than what failed by now."""
    return (
        f"- {typed(command.removeprefix('/'))}: nothing was done, because what failed is not what"
        " the box said. Check what failed, then tick it again."
    )


def _boxes(count: int) -> str:
    return f"{count} {'box' if count == 1 else 'boxes'}"


def _wait(count: int) -> str:
    return f"{_boxes(count)} {'waits' if count == 1 else 'wait'}"


def waves(found: BoxWaves) -> str:
    """How far boxes are, as a paragraph; "" where none waits."""
    if not found.waiting:
        return ""
    wait = _wait(len(found.waiting))
    if found.stopped:
        return (
            f"**Stopped: {wait}.** {_reasons(found.failed)}. Fix that, or comment"
            f" {typed(boxes.GO_ON)} to skip it and the packages made from it, and begin the others."
        )
    there = ", ".join(f"#{each.number}" for each in found.open if each.number)
    where = f" Open: {there}." if there else ""
    return (
        f"**{wait}.** At most {boxes.MOST_OPEN} drafts that boxes began are open at a time, and a"
        f" package comes after those that it is made from.{where} The next one begins whenever one"
        " is merged."
    )


def _reasons(failed: Sequence[BegunBox]) -> str:
    said = [f"{typed(each.command)}: {each.failed.rstrip('.')}" for each in failed[:MOST_NAMED]]
    more = len(failed) - len(said)
    return "; ".join([*said, *([f"and {more} more"] if more else [])])


def going_on(found: BoxWaves) -> Iterator[str]:
    """The box with which boxes go on that were stopped; reasons as far as a box's line has room."""
    if found.stopped:
        begun = f"{typed(boxes.GO_ON)}: boxes wait, because "
        reasons = (_reasons(found.failed), f"{_named(found.failed)} failed", "others failed")
        lines = (f"{begun}{why}" for why in reasons)
        yield f"[ ] {next(line for line in lines if boxes.gives(line))}{boxes.UNSEALED}"


LONG_REASON = "it was refused for a reason that is told in full where its box was answered"
"""Why a box failed whose refusal is too long to be repeated."""


def closed(proposal: int) -> str:
    """Why a box failed: somebody closed its draft."""
    return f"#{proposal} was closed without being merged"


def broken(proposal: int, check: str) -> str:
    """Why a box failed: a check of ours did."""
    return f"{code(check)} failed in #{proposal}"


def of_nobody(command: str) -> str:
    """The line of a box of which nobody can tell who ticked it."""
    return (
        f"- {_about(command)}: nothing was done, because GitHub does not say who"
        " ticked the box. Tick it again, or comment the command."
    )


def of_altered(command: str) -> str:
    """The line of a box with which something stands that the bot did not write."""
    what = _about(command) if command.removeprefix("/") else "a box"
    return (
        f"- {what}: nothing was done, because the text of the issue is not as the bot wrote it:"
        " somebody changed the line of the box, or another one. Tick the box of the issue as it is"
        " now, or comment the command."
    )


def lines(body: str) -> tuple[str, ...]:
    """Return the lines of the comment as it is, which are in the forge's words already."""
    return tuple(kept(each) for each in body.split("\n") if each.startswith("- "))


def progress(found: Sequence[str], how: str = "") -> str:
    """Return the text of the comment; the oldest lines are left out where there are too many.

    Args:
        found: Its lines, the newest first.
        how: How far those are that wait.
    """
    text = (f"{how}\n\n" if how else "") + TITLE + "\n"
    for each in found:
        if len(text) + len(each) + 1 > limits.TEXT:
            break
        text += f"\n{each}"
    return text
