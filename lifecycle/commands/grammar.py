"""Arguments of commands, described as data: each kind takes its part of what follows the word.

Arguments take their parts in the order of the row. One that may stand anywhere, such as an option,
comes first there and takes its part out of the middle. What none of them takes is a mistake.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from lifecycle.messages import parsing as texts

BLANKS = " \t"

MOST_ARGUMENT, MOST_REASON = 256, 500
"""Characters of one argument, and of a reason (docs/design.md, "Commands")."""


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
        word, _, rest = text.partition(" ")
        if len(word) > MOST_ARGUMENT:
            return WrongArgument(texts.too_long(MOST_ARGUMENT))
        return TakenArgument(word, rest.strip(BLANKS))


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
    return WrongArgument(texts.superfluous([each.name for each in arguments])) if text else values
