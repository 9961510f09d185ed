"""Patterns for the paths of files, as the catalog's functions take them.

Rules:
- `*` is any text without "/", `?` any one character but "/".
- `**` that is a whole part of a path is any number of parts, none too; elsewhere it is `*`.
- `[a-z]` is one of these characters, `[^a-z]` and `[!a-z]` any other but "/".
- `{a,b}` is one of these, patterns themselves. A backslash takes the meaning of what follows.

Source: github.com/bmatcuk/doublestar, README (Patterns), which the catalog uses.
"""

from typing import Any

import re2


def compiled(pattern: str) -> Any:
    """Return a pattern as a regular expression, for `fullmatch`.

    Raises:
        ValueError: It is no such pattern; the text says why.
    """
    options = re2.Options()
    options.log_errors = False
    reader = _Reader(pattern)
    expression = reader.alternatives(end="")
    try:
        return re2.compile(f"(?s){expression}", options)
    except re2.error as error:
        raise ValueError(f"syntax error in pattern: {pattern}") from error


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def alternatives(self, *, end: str) -> str:
        """Return what stands up to `end` ("" for the end of the text) as an expression."""
        found: list[str] = []
        while True:
            if self._at >= len(self._pattern):
                if end:
                    raise self._error()
                return "".join(found)
            character = self._pattern[self._at]
            if end and character == end:
                self._at += 1
                return "".join(found)
            if end and character == ",":
                self._at += 1
                found.append("|")
                continue
            found.append(self._next(character))

    def _next(self, character: str) -> str:
        match character:
            case "*":
                return self._stars()
            case "?":
                self._at += 1
                return "[^/]"
            case "[":
                return self._class()
            case "{":
                self._at += 1
                return f"(?:{self.alternatives(end='}')})"
            case "\\":
                if self._at + 1 >= len(self._pattern):
                    raise self._error()
                self._at += 2
                return str(re2.escape(self._pattern[self._at - 1]))
            case "/" if self._pattern[self._at :] == "/**":
                self._at += 3
                return "(?:/.*)?"
            case _:
                self._at += 1
                return str(re2.escape(character))

    def _stars(self) -> str:
        begin = self._at
        while self._at < len(self._pattern) and self._pattern[self._at] == "*":
            self._at += 1
        before, after = self._pattern[:begin], self._pattern[self._at :]
        whole = self._at - begin == 2 and before[-1:] in ("", "/", "{", ",")
        if whole and after.startswith("/"):
            self._at += 1
            return "(?:[^/]+/)*"
        if whole and (not after or after[0] in ",}"):
            return ".*"
        return "[^/]*"

    def _class(self) -> str:
        """Return a class of characters; a "/" is in none."""
        at = self._at + 1
        negated = self._pattern[at : at + 1] in ("^", "!")
        at += negated
        found = ""
        while at < len(self._pattern) and (self._pattern[at] != "]" or not found):
            character = self._pattern[at]
            if character == "\\":
                at += 1
                character = self._pattern[at : at + 1]
            found += character if character == "-" else str(re2.escape(character))
            at += 1
        if at >= len(self._pattern) or not found:
            raise self._error()
        self._at = at + 1
        return f"[^/{found}]" if negated else f"[{found}]"

    def _error(self) -> ValueError:
        return ValueError(f"syntax error in pattern: {self._pattern}")
