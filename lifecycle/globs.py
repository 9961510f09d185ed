"""Patterns of paths as Ruby's `File.fnmatch` reads them, which GitLab matches CODEOWNERS with.

`*`, `?` and `[a-m]` stop at a slash, `**/` does not, and a backslash takes the meaning from what
follows it. Matching takes no regular expressions: a pattern costs at most its length times the
path's.

Source: https://docs.ruby-lang.org/en/3.3/File.html#method-c-fnmatch
"""

from collections.abc import Sequence
from dataclasses import dataclass

FOLDERS = "**"
"""A part of a pattern that stands for any number of folders, where another part follows."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """One character of some, or none of them.

    Attributes:
        ranges: First and last of each range, a single character twice.
        negated: Any other character is meant.
    """

    ranges: tuple[tuple[str, str], ...]
    negated: bool = False

    def has(self, character: str) -> bool:
        """Tell whether a character is meant."""
        return self.negated != any(a <= character <= z for a, z in self.ranges)


ANY = OneOf((), negated=True)
MANY = None
"""Any number of characters."""

Token = str | OneOf | None
Part = str | tuple[Token, ...]
"""A part between slashes: its text where it means only itself, else its tokens."""


def parts(pattern: str) -> tuple[Part, ...]:
    """Split a pattern at the slashes that stand in no class of characters.

    Returns:
        Its parts; `FOLDERS` stands for folders except as the last one.
    """
    found: list[Part] = []
    tokens: list[Token] = []
    raw = ""
    at = 0
    while at <= len(pattern):
        if at == len(pattern) or pattern[at] == "/":
            last = at == len(pattern)
            found.append(FOLDERS if raw == FOLDERS and not last else _plain(tokens))
            tokens, raw, at = [], "", at + 1
            continue
        token, after = _token(pattern, at)
        if token is not MANY or not tokens or tokens[-1] is not MANY:
            tokens.append(token)
        raw += pattern[at:after]
        at = after
    return tuple(found)


def _plain(tokens: Sequence[Token]) -> Part:
    if all(isinstance(token, str) for token in tokens):
        text = "".join(str(token) for token in tokens)
        # What reads like folders and is not, such as `\**`, keeps its tokens.
        return text if text != FOLDERS else tuple(tokens)
    return tuple(tokens)


def _token(pattern: str, at: int) -> tuple[Token, int]:
    """What stands at a place, and where it ends."""
    match pattern[at]:
        case "*":
            return MANY, at + 1
        case "?":
            return ANY, at + 1
        case "[":
            return _class(pattern, at + 1)
        case "\\" if at + 1 < len(pattern):
            return pattern[at + 1], at + 2
        case character:
            return character, at + 1


def _class(pattern: str, at: int) -> tuple[Token, int]:
    """A class of characters, and where it ends; one that is never closed matches nothing.

    A slash belongs to it, though it matches none.
    """
    negated = pattern[at : at + 1] in {"!", "^"}
    at += negated
    ranges: list[tuple[str, str]] = []
    while pattern[at : at + 1] != "]":
        first, at = _member(pattern, at)
        if pattern[at : at + 1] == "-" and pattern[at + 1 : at + 2] not in {"]", ""}:
            last, at = _member(pattern, at + 1)
        else:
            last = first
        if at >= len(pattern):
            return OneOf(()), len(pattern)
        ranges.append((first, last))
    return OneOf(tuple(ranges), negated), at + 1


def _member(pattern: str, at: int) -> tuple[str, int]:
    if pattern[at : at + 1] == "\\":
        at += 1
    return pattern[at : at + 1], at + 1


def matches(pattern: Sequence[Part], path: Sequence[str]) -> bool:
    """Tell whether the parts of a path are meant, going back to the last folders only."""
    at = place = 0
    resume = -1, 0
    while True:
        while at < len(pattern) - 1 and pattern[at] == FOLDERS:
            at += 1
            resume = at, place
        if at < len(pattern) and place < len(path) and _part(pattern[at], path[place]):
            at, place = at + 1, place + 1
            if at == len(pattern) and place == len(path):
                return True
            if at < len(pattern) and place < len(path):
                continue
        if resume[0] < 0 or resume[1] + 1 >= len(path):
            return False
        at, place = resume[0], resume[1] + 1
        resume = at, place


def _part(pattern: Part, text: str) -> bool:
    if isinstance(pattern, str):
        return pattern == text
    at = place = 0
    star, resume = -1, 0
    while place < len(text):
        token = pattern[at] if at < len(pattern) else ""
        if token is MANY:
            star, resume, at = at, place, at + 1
        elif _is(token, text[place]):
            at, place = at + 1, place + 1
        elif star >= 0:
            resume += 1
            at, place = star + 1, resume
        else:
            return False
    return all(token is MANY for token in pattern[at:])


def _is(token: Token, character: str) -> bool:
    return token.has(character) if isinstance(token, OneOf) else token == character
