"""What stands in an expression that tells its cost; its regular expressions are written out.

Matching takes as many steps as the pattern has states, for each character at worst: with a pattern
of ten characters (`(a?){900}b`) and a text of 250,000, that is 20 s, in which nothing else runs.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_MOST_REPEATED: Final = 1000
"""How often RE2 repeats anything at most, groups within groups together."""

_BYTES: Final = 4
"""States that one character takes which need not be ASCII, by its bytes in UTF-8."""

_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]|(?<!\\)\.|\[\^|\\[DSWpP]")

_STATES_OF_PROPERTY: Final = 50
"""By how much a property of Unicode (`\\pL`) is more than other parts of a pattern."""

_TOKEN: Final = re.compile(
    r"""
    //[^\n]*
    | (?P<raw>(?:[rR][bB]?|[bB][rR])(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*'))
    | (?P<text>[bB]?(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}
        |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    | (?P<word>[A-Za-z_]\w*)
    | (?P<mark>\S)
    """,
    re.VERBOSE | re.DOTALL,
)
_REPEATED: Final = re.compile(r"(?P<group>\)?)\{(?P<least>\d+)(?:,(?P<most>\d*))?\}")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


class _Token(NamedTuple):
    kind: str
    text: str


_OPEN: Final = _Token("mark", "(")
_EQUAL: Final = _Token("mark", "=")
_DEEPER: Final = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def states(text: str) -> int | None:
    """Return how many states the regular expressions of an expression have at most together.

    Args:
        text: The expression, which compiles.

    Returns:
        0 where it has none; None where one of them is not written out in it.
    """
    tokens = [*_tokens(text)]
    found = 0
    for index, each in enumerate(tokens):
        if each == _Token("word", "matches") and tokens[index + 1 : index + 2] == [_OPEN]:
            pattern = _pattern(tokens[index + 1 :])
            if pattern is None:
                return None
            found += states_of(pattern)
    return found


def comparisons(text: str) -> int:
    """Return how often an expression may compare lists or mappings.

    What is compared with a text or a number that is written out is none.
    """
    tokens, found = [*_tokens(text)], 0
    for index, each in enumerate(tokens):
        if each == _Token("word", "in"):
            found += 1
        elif index and each == _EQUAL and tokens[index - 1] in (_EQUAL, _Token("mark", "!")):
            beside = (*tokens[max(0, index - 2) : index - 1], *tokens[index + 1 : index + 2])
            found += not any(map(_is_written_out, beside))
    return found


def _is_written_out(token: _Token) -> bool:
    return token.kind in ("raw", "text") or (token.kind == "mark" and token.text.isdigit())


def states_of(pattern: str) -> int:
    """Return how many states a regular expression has at most."""
    one = _BYTES if _NOT_ASCII.search(pattern) else 1
    found, times = one * len(pattern), 1
    for each in _REPEATED.finditer(pattern):
        most = max(1, int(each["least"]), int(each["most"] or 0))
        if each["group"]:
            times *= most
        else:
            found += one * min(most, _MOST_REPEATED)
    wide = _STATES_OF_PROPERTY if re.search(r"\\[pP]", pattern) else 1
    return found * min(times, _MOST_REPEATED) * wide


def _tokens(text: str) -> Iterator[_Token]:
    for each in _TOKEN.finditer(text):
        if each.lastgroup is not None:  # else a comment
            yield _Token(each.lastgroup, each[0])


def _pattern(call: Sequence[_Token]) -> str | None:
    """The last argument of a call that begins with its bracket; None for none that is a text."""
    depth = 0
    for index, each in enumerate(call):
        depth += _DEEPER.get(each.text, 0) if each.kind == "mark" else 0
        if depth == 0:
            before, last = call[index - 2 : index]
            alone = before in (_OPEN, _Token("mark", ","))
            return _said(last) if alone else None
    return None


def _said(token: _Token) -> str | None:
    """What a literal says; None where its escapes may hide a repetition, and for what is none."""
    quoted = token.text.lstrip("rRbB")
    if token.kind == "raw":
        return quoted
    if token.kind != "text":
        return None
    if any(each not in "\\\"'`?nrt" for each in _ESCAPED.findall(quoted)):
        return None
    return _ESCAPED.sub(r"\1", quoted)
