"""The tokens of a module of Rego."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from fnrunner.builtin.confined.rego.syntax import Place, RegoError

KEYWORDS: Final = frozenset(
    ("as", "default", "else", "false", "import", "not", "null", "package", "some", "true", "with")
)
"""Words that are keywords in every version of the language."""

NEW_KEYWORDS: Final = frozenset(("contains", "every", "if", "in"))
"""Words that became keywords; until then `import future.keywords` made them so."""

END: Final = "end"

_TOKEN: Final = re.compile(
    r"""
    (?P<space>[ \t\r]+) | (?P<newline>\n) | (?P<comment>\#[^\n]*)
  | (?P<interpolated>\$["`])
  | (?P<string>"(?:\\.|[^"\\\n])*") | (?P<raw>`[^`]*`)
  | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<sign>:=|==|!=|<=|>=|[-=<>+*/%&|,;:.(){}\[\]])
    """,
    re.VERBOSE,
)
_ESCAPE: Final = re.compile(r'\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}|(?P<wrong>.))')


@dataclass(frozen=True, slots=True)
class Token:
    """A token.

    Attributes:
        kind: "word", "number", "string", "raw", "sign" or `END`.
        text: As it is written.
        at: Where it begins.
        spaced: Whether blanks or comments stand before it.
        first: Whether it is the first one of its line.
    """

    kind: str
    text: str
    at: Place
    spaced: bool
    first: bool


def read(module: str) -> list[Token]:
    """Return the tokens of a module; the last one is its end.

    Raises:
        RegoError: Something is no token.
    """
    return list(_tokens(module))


def _tokens(module: str) -> Iterator[Token]:
    position, line, begin = 0, 1, 0
    spaced = first = True
    while position < len(module):
        at = line, position - begin + 1
        match = _TOKEN.match(module, position)
        if match is None:
            raise RegoError(at, _unknown(module[position]))
        kind, text = str(match.lastgroup), match[0]
        position = match.end()
        if kind in ("space", "newline", "comment"):
            spaced, first = True, first or kind == "newline"
        else:
            _check(kind, text, at)
            yield Token(kind, text, at, spaced, first)
            spaced = first = False
        if "\n" in text:
            line += text.count("\n")
            begin = match.start() + text.rindex("\n") + 1
    yield Token(END, "", (line, position - begin + 1), True, True)


def _unknown(letter: str) -> str:
    if letter in '"`':
        return f"the string that begins here with {letter} is not closed. Close it"
    return f"{letter!r} is not part of the language. Remove it"


def _check(kind: str, text: str, at: Place) -> None:
    if kind == "interpolated":
        raise RegoError(at, 'template strings ($"…") are not supported here. Use sprintf')
    if kind == "number" and re.match(r"0\d", text):
        raise RegoError(at, f"the number {text} begins with 0. Remove the 0")
    if kind == "string":
        wrong = next((each["wrong"] for each in _ESCAPE.finditer(text) if each["wrong"]), None)
        if wrong is not None:
            raise RegoError(
                at, f"\\{wrong} is not an escape in a string. Write \\\\{wrong}, or use `…`"
            )
