"""Arguments of commands, described as data: each kind takes its part of what follows the word.

Arguments take their parts in the order of the row. One that may stand anywhere, such as an option,
comes first there and takes its part out of the middle. What none of them takes is a mistake.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from lifecycle import names
from lifecycle.messages import parsing as texts

BLANKS = " \t"

MOST_ARGUMENT, MOST_REASON = 256, 500
"""Characters of one argument, and of a reason (docs/design.md, "Commands")."""


def first_word(text: str) -> tuple[str, str]:
    """Return the first word of a text, and what stands behind it without blanks around it.

    People write paths and names as code: backticks around the word are left out.
    """
    word, _, rest = text.partition(" ")
    return bare(word), rest.strip(BLANKS)


def bare(word: str) -> str:
    """Return a word without a pair of backticks around it."""
    return word[1:-1] if len(word) > 2 and word[0] == word[-1] == "`" else word


@dataclass(frozen=True, slots=True)
class TakenArgument:
    """The value of an argument, and the text that it left.

    Attributes:
        value: For the field of the command's class.
        rest: What is left for the arguments after it, without blanks around it.
    """

    value: object
    rest: str


@dataclass(frozen=True, slots=True)
class WrongArgument:
    """The error in the text after a command's word, as a clause in Markdown."""

    problem: str


class Argument(Protocol):
    """One argument of a command."""

    @property
    def name(self) -> str:
        """The field of the command's class that gets its value."""

    @property
    def usage(self) -> str:
        """As shown to people, such as "[reason]"."""

    def take(self, text: str) -> TakenArgument | WrongArgument:
        """Parse this argument off the front of a text, which is "" where nothing is left."""


@dataclass(frozen=True, slots=True)
class OptionalText:
    """An optional argument: all text up to the end of the line.

    Attributes:
        name: As in `Argument`.
        limit: Longest text, in characters.
    """

    name: str
    limit: int

    @property
    def usage(self) -> str:
        """As shown to people."""
        return f"[{self.name}]"

    def take(self, text: str) -> TakenArgument | WrongArgument:
        """Take all of it."""
        return (
            WrongArgument(texts.too_long(self.limit))
            if len(text) > self.limit
            else TakenArgument(text, "")
        )


@dataclass(frozen=True, slots=True)
class OptionalWord:
    """An optional argument: one word without blanks.

    Attributes:
        name: As in `Argument`.
    """

    name: str

    @property
    def usage(self) -> str:
        """As shown to people."""
        return f"[{self.name}]"

    def take(self, text: str) -> TakenArgument | WrongArgument:
        """Take the first word."""
        word, rest = first_word(text)
        if len(word) > MOST_ARGUMENT:
            return WrongArgument(texts.too_long(MOST_ARGUMENT))
        return TakenArgument(word, rest)


@dataclass(frozen=True, slots=True)
class Text:
    """All text up to the end of the line; there has to be some.

    Attributes:
        name: As in `Argument`.
        limit: Longest text, in characters.
    """

    name: str
    limit: int

    @property
    def usage(self) -> str:
        """As shown to people."""
        return f"<{self.name}>"

    def take(self, text: str) -> TakenArgument | WrongArgument:
        """Take all of it."""
        if not text:
            return WrongArgument(texts.missing(self.name))
        return OptionalText(self.name, self.limit).take(text)


@dataclass(frozen=True, slots=True)
class OptionalFolder:
    """An optional argument: a folder of the repository, told by its slash; "." for all of it.

    Attributes:
        name: As in `Argument`.
        otherwise: Its value where it is not there.
        alone: Nothing else may stand here, so that one without a slash is a folder as well.
    """

    name: str
    otherwise: str | None = ""
    alone: bool = False

    @property
    def usage(self) -> str:
        """As shown to people."""
        return f"[{self.name}{'' if self.alone else '/'}]"

    def take(self, text: str) -> TakenArgument | WrongArgument:
        """Take the first word, if it is one."""
        word, rest = first_word(text)
        if not word or not (self.alone or "/" in word or word == "."):
            return TakenArgument(self.otherwise, text)
        path = word.removeprefix("./").rstrip("/")
        if len(word) > MOST_ARGUMENT:
            return WrongArgument(texts.too_long(MOST_ARGUMENT))
        if word in (".", "./"):
            return TakenArgument("", rest)
        if not {"", ".", ".."}.isdisjoint(path.split("/")):
            return WrongArgument(texts.NO_FOLDER)
        return TakenArgument(path, rest)


_UNTIL = re.compile(
    r"until[ \t]+(\d{4}-\d{2}-\d{2})(?:[ \tT]+(\d{2}:\d{2}))?[ \t]*(Z|UTC|[+-]\d{2}:\d{2})?"
    r"(?=[ \t]|$)"
)
_FOR = re.compile(r"for[ \t]+(\d{1,4})(m|h|d|w)(?=[ \t]|$)")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True)
class OptionalEnd:
    """An optional argument: `until <date> [time]`, in UTC or by an offset, or `for <a while>`.

    Attributes:
        name: As in `Argument`.
    """

    name: str

    @property
    def usage(self) -> str:
        """As shown to people."""
        return "[until <date> <time> | for <2h>]"

    def take(self, text: str) -> TakenArgument | WrongArgument:
        """Take the moment, or how long."""
        first = first_word(text)[0]
        if found := _FOR.match(text):
            while_ = timedelta(**{_UNITS[found[2]]: int(found[1])})
            return TakenArgument(while_, text[found.end() :].strip(BLANKS))
        if first == "until":
            found = _UNTIL.match(text)
            moment = found and _moment(*found.groups(""))
            if not found or moment is None:
                return WrongArgument(texts.NO_END)
            return TakenArgument(moment, text[found.end() :].strip(BLANKS))
        return TakenArgument(None, text)


def _moment(day: str, time: str, offset: str) -> datetime | None:
    """A moment of people; None where there is none of that date and time."""
    zone = "+00:00" if offset in ("", "Z", "UTC") else offset
    try:
        return datetime.fromisoformat(f"{day}T{time or '00:00'}{zone}").astimezone(UTC)
    except (ValueError, OverflowError):
        return None


_GATE = re.compile(r'"([^"]{1,256})"|([^\s"]+)')


@dataclass(frozen=True, slots=True)
class GateName:
    """An argument: a gate, as `window` or `check:<name>`; in quotes where there are blanks.

    Attributes:
        name: As in `Argument`.
    """

    name: str

    @property
    def usage(self) -> str:
        """As shown to people."""
        return f"<{self.name}>"

    def take(self, text: str) -> TakenArgument | WrongArgument:
        """Take the first word, or what stands in quotes."""
        found = _GATE.match(text)
        if found is None:
            return WrongArgument(texts.missing(self.name))
        word = found[1] or found[2]
        kind, colon, name = word.partition(":")
        gate = f"check {name}" if kind == "check" and colon else {"windows": "window"}.get(word)
        return TakenArgument(gate or word, text[found.end() :].strip(BLANKS))


_COMMIT = re.compile(r"[0-9a-f]{7,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class OptionalCommit:
    """An optional argument: a commit by its id, or the first 7 digits or more of it.

    Attributes:
        name: As in `Argument`.
    """

    name: str

    @property
    def usage(self) -> str:
        """As shown to people."""
        return "[<commit>]"

    def take(self, text: str) -> TakenArgument | WrongArgument:
        """Take the first word, if it is one."""
        word, rest = first_word(text)
        if not _COMMIT.fullmatch(word.lower()):
            return TakenArgument("", text)
        return TakenArgument(word.lower(), rest)


@dataclass(frozen=True, slots=True)
class RevisionTarget:
    """A revision of a package, as somebody names it.

    Attributes:
        package: Path of the package; None where it is left out.
        revision: Its number; 0 where only the package is named, or nothing.
    """

    package: str | None
    revision: int


_TARGET = re.compile(
    rf"(?:(?P<package>[^@\s]+)[@/])?v?(?P<number>{names.REVISION_NUMBER})", re.ASCII
)


@dataclass(frozen=True, slots=True)
class RevisionName:
    """An argument: a revision such as "net/core@v3", or "v3" where the package is clear.

    Attributes:
        name: As in `Argument`.
        whole: It may be left out, or name a package alone.
    """

    name: str
    whole: bool = False

    @property
    def usage(self) -> str:
        """As shown to people."""
        return "[<package>][@v<N>]" if self.whole else "[<package>@]v<N>"

    def take(self, text: str) -> TakenArgument | WrongArgument:
        """Take the first word."""
        word, rest = first_word(text)
        if not word and self.whole:
            return TakenArgument(RevisionTarget(None, 0), "")
        if not word:
            return WrongArgument(texts.missing(self.usage))
        if len(word) > MOST_ARGUMENT:
            return WrongArgument(texts.too_long(MOST_ARGUMENT))
        found = _TARGET.fullmatch(word)
        package = found["package"] if found else word
        if package is not None:
            package = package.removeprefix("./").strip("/")
            if package != "." and not {"", ".", ".."}.isdisjoint(package.split("/")):
                return WrongArgument(texts.NO_FOLDER)
            package = "" if package == "." else package
        number = int(found["number"]) if found else 0
        behind, further = first_word(rest)
        if not number and (told := names.revision_number(behind)):
            number, rest = told, further  # "net/core v3" is the same revision
        if not number and not self.whole:
            return WrongArgument(texts.missing("revision such as `net/core@v3`"))
        return TakenArgument(RevisionTarget(package, number), rest)


def read(arguments: Sequence[Argument], text: str) -> Mapping[str, object] | WrongArgument:
    """Parse the text after a command's word into the values of its arguments.

    Args:
        arguments: Of the command, in the order in which they take their parts.
        text: Without blanks around it.

    Returns:
        Name of each argument to its value.
    """
    values: dict[str, object] = {}
    for argument in arguments:
        taken = argument.take(text)
        if isinstance(taken, WrongArgument):
            return taken
        values[argument.name], text = taken.value, taken.rest
    usages = [each.usage for each in arguments if each.usage]
    return WrongArgument(texts.superfluous(usages)) if text else values
