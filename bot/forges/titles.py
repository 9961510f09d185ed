"""Titles and texts of releases that say that nobody should use the revision any more."""

from lifecycle import limits


def is_titled(title: str | None, mark: str) -> bool:
    """Whether a title ends in a mark."""
    return (title or "").endswith(_behind(mark))


def titled(title: str, mark: str) -> str:
    """Put a mark behind a title."""
    behind = _behind(mark)
    return title[: _MOST_TITLE - len(behind)] + behind


def noted(body: str | None, note: str) -> str:
    """Put a note above a text."""
    return "\n\n".join(part for part in (note, body) if part)[: limits.TEXT]


_MOST_TITLE = 250
"""Characters; GitLab takes 255."""


def _behind(mark: str) -> str:
    return f" ({mark})"
