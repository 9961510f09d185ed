"""Arguments of `/rebase`: the package, and `onto` which upstream it goes."""

from dataclasses import dataclass

from lifecycle.commands.draft_grammar import Word, package_path
from lifecycle.commands.grammar import (
    MOST_ARGUMENT,
    TakenArgument,
    WrongArgument,
    first_word,
)
from lifecycle.messages import parsing as texts

_ONTO = "onto"


@dataclass(frozen=True, slots=True)
class OptionalPackage:
    """An optional argument in front of `onto`: the folder of a package; None where it is left out.

    Attributes:
        name: As in `Argument`.
    """

    name: str

    @property
    def usage(self) -> str:
        """As shown to people."""
        return f"[<{self.name}>]"

    def take(self, text: str) -> TakenArgument | WrongArgument:
        """Take the first word, if it is not `onto`."""
        word, rest = first_word(text)
        if word in ("", _ONTO):
            return TakenArgument(None, text)
        path = package_path(word)
        if path is None or "@" in word or len(word) > MOST_ARGUMENT:
            return WrongArgument(texts.ONTO)
        return TakenArgument(path, rest)


@dataclass(frozen=True, slots=True)
class Onto:
    """An optional argument: `onto <upstream>`; "" where it is left out.

    Attributes:
        name: As in `Argument`.
    """

    name: str

    @property
    def usage(self) -> str:
        """As shown to people."""
        return "[onto <upstream>]"

    def take(self, text: str) -> TakenArgument | WrongArgument:
        """Take both words."""
        word, rest = first_word(text)
        if word == _ONTO:
            return Word("upstream").take(rest)
        return WrongArgument(texts.ONTO) if word else TakenArgument("", "")
