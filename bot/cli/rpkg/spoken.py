"""What is said to the bot from a shell, and what it answers: values, and who says it where.

An answer is the bot's own comment with a record of what it answers, and nobody else's: at GitHub an
App's, at GitLab that of the account by which the bot is addressed.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from bot.cli.dropin import CommandFailure
from lifecycle.records import visible

DASHBOARD = '"kind":"dashboard"'
"""What the record of a dashboard issue holds."""

RECENT = timedelta(days=1)
"""How old a comment on the dashboard issue is at most that still counts as asked: whoever gives a
command again later means it anew, and old conversations are not read."""

_REFUSED = re.compile(r"`[/@][^`]*` refused:|not understood", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Said:
    """A comment of the caller's.

    Attributes:
        where: Number of the pull request or issue.
        id: The forge's number of the comment.
        url: Where people read it.
        on_dashboard: It is on the dashboard issue.
    """

    where: int
    id: int
    url: str
    on_dashboard: bool


@dataclass(frozen=True, slots=True)
class Heard:
    """A comment of anybody's.

    Attributes:
        id: The forge's number of it.
        url: Where people read it.
        login: Who wrote it.
        ours: The bot did.
        body: Markdown, as it was written.
        at: When.
    """

    id: int
    url: str
    login: str
    ours: bool
    body: str
    at: datetime


@dataclass(frozen=True, slots=True)
class BotAnswer:
    """What the bot said to a comment.

    Attributes:
        text: Markdown, as people see it.
        refused: Something was refused, or not understood.
    """

    text: str
    refused: bool


class CommandChannel(Protocol):
    """Where the caller speaks: one repository."""

    def me(self) -> str:
        """Login of the caller; "" where the forge does not tell, as of a token of a machine."""

    def dashboard(self) -> int:
        """Number of the dashboard issue.

        Raises:
            CommandFailure: There is none.
        """

    def board(self) -> str:
        """Text of the dashboard issue.

        Raises:
            CommandFailure: There is none.
        """

    def says(self, number: int, text: str, *, on_dashboard: bool) -> Said:
        """Write a comment.

        Args:
            number: Of the pull request or issue.
            text: A command, with its slash.
            on_dashboard: It is the dashboard issue's number.

        Raises:
            CommandFailure: The forge refuses it.
        """

    def wrote(self, text: str) -> str:
        """How a command stands in a comment at this forge."""

    def heard(self, number: int, *, on_dashboard: bool) -> tuple[Heard, ...]:
        """What was said there, oldest first; on the dashboard issue what is `RECENT`.

        Raises:
            CommandFailure: The forge does not tell.
        """


def answer_to(comment: int, heard: Iterable[Heard]) -> BotAnswer | None:
    """Return what the bot answered to just this comment; None where it has not yet."""
    for each in heard:
        if each.ours and _answers(each.body, comment):
            text = visible(_LAST.sub("", each.body)).strip()
            return BotAnswer(text=text, refused=_REFUSED.search(text) is not None)
    return None


def said_before(
    forge: CommandChannel, number: int, text: str, heard: Iterable[Heard], *, on_dashboard: bool
) -> tuple[Said, datetime] | None:
    """Return the caller's newest comment that says just this, and when; None where there is none.

    Args:
        forge: Where.
        number: Of the pull request or issue.
        text: A command, with its slash.
        heard: What was said there.
        on_dashboard: It is the dashboard issue's number.
    """
    me, wanted = forge.me(), forge.wrote(text)
    for each in reversed([*heard]):
        if me and each.login == me and each.body.strip() == wanted:
            return Said(number, each.id, each.url, on_dashboard), each.at
    return None


def refusal(name: str, status: int) -> CommandFailure:
    """What a forge answers that is no success."""
    if status == 401:
        why = "the forge does not know your token. Check it, and that it has not expired"
    elif status == 404:
        why = f"there is no repository {name}, or your token may not read it. Check both"
    elif status == 403:
        why = (
            f"the forge forbids that for {name}. Your token may not write comments there, or has"
            " used up its requests: check what it may do, and otherwise wait for an hour"
        )
    else:
        why = f"the forge answers {status} for {name}. Try again later"
    return CommandFailure(why)


NO_DASHBOARD = (
    "the bot has no dashboard issue there. Enable issues in the repository, or give --on with the"
    " number of a pull request"
)


_LAST = re.compile(
    r"<!-- porchbot:record (\{[ !-;=?-~]*\}) [0-9a-f]{64} -->"
    r"(?:\s*<!-- porchbot-text [0-9a-f]{32} -->)?\s*\Z"
)
"""The record at the end of a comment, behind it at GitLab a seal; what is quoted before is none."""


def _answers(body: str, comment: int) -> bool:
    """Whether a comment is the bot's answer to just this one, as its record says."""
    found = _LAST.search(body)
    try:
        told = json.loads(found[1]) if found else {}
    except ValueError:
        return False
    answered = told.get("answered")
    return isinstance(answered, list) and comment in answered
