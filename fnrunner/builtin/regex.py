"""Regular expressions of Go, which the catalog's functions use: RE2, linear in the text."""

from functools import lru_cache
from typing import Any

import re2

_QUIET = re2.Options()
_QUIET.log_errors = False  # a mistake in a pattern is told to who wrote it


class PatternError(Exception):
    """A text is no regular expression; the text of the error says why."""


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    try:
        return re2.compile(pattern, _QUIET)
    except re2.error as error:
        reason = error.args[0].decode() if error.args else "unknown reason"
        raise PatternError(f"`{pattern}` is not a valid regular expression: {reason}") from error


def found(pattern: str, text: str) -> bool:
    """Tell whether a pattern matches somewhere in a text.

    Raises:
        PatternError: It is none.
    """
    return _compiled(pattern).search(text) is not None


def fits(pattern: str, text: str) -> bool:
    """Tell whether a pattern matches a whole text; the empty one matches every text.

    Raises:
        PatternError: It is none.
    """
    return not pattern or found(f"^(?:{pattern})$", text)
