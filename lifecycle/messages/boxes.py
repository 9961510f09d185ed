"""What became of the boxes of the dashboard issue that were ticked."""

from collections.abc import Sequence

from lifecycle import limits
from lifecycle.messages.markdown import person, typed
from lifecycle.terms import kept

TITLE = "What became of the boxes that were ticked above, the newest first:"


LOST = (
    "; **it was ticked, and the forge did not tell by whom: nothing was done. Tick it again, or"
    " comment the command**"
)
"""Stands at a box whose delivery was lost."""


def answered(command: str, login: str, answer: str) -> str:
    """The line of one box, with what its command came to."""
    said = " ".join(answer.removeprefix(f"@{login} ").split())
    return f"- {typed(command.removeprefix('/'))}, ticked by {person(login)}: {said}"


def of_nobody(command: str) -> str:
    """The line of a box of which nobody can tell who ticked it."""
    return (
        f"- {typed(command.removeprefix('/'))}: nothing was done, because GitHub does not say who"
        " ticked the box. Tick it again, or comment the command."
    )


def of_altered(command: str) -> str:
    """The line of a box beside which stands what the bot did not write."""
    what = typed(command.removeprefix("/")) if command.removeprefix("/") else "a box"
    return (
        f"- {what}: nothing was done, because the line of the box is not as the bot wrote it."
        " Tick the box of the issue as it is now, or comment the command."
    )


def lines(body: str) -> tuple[str, ...]:
    """Return the lines of the comment as it is, which are in the forge's words already."""
    return tuple(kept(each) for each in body.split("\n") if each.startswith("- "))


def progress(found: Sequence[str]) -> str:
    """Return the text of the comment; the oldest lines are left out where there are too many."""
    text = TITLE + "\n"
    for each in found:
        if len(text) + len(each) + 1 > limits.TEXT:
            break
        text += f"\n{each}"
    return text
