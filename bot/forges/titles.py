"""Titles and texts of releases that say that nobody should use the revision any more."""

from lifecycle import limits


def is_titled(title: str | None, mark: str) -> bool:
    """Whether a title ends in a mark."""
    return (title or "").endswith(_behind(mark))


def titled(title: str, mark: str) -> str:
    """Put a mark behind a title."""
    behind = _behind(mark)
    return title[: _MOST_TITLE - len(behind)] + behind


def retold(title: str, body: str | None, mark: str, note: str, *, off: bool) -> tuple[str, str]:
    """Title and text with a mark and its note, or without them again.

    Args:
        title: As it is.
        body: The text as it is.
        mark: The word behind the title.
        note: What stands above the text with it.
        off: They are taken away.
    """
    if off:
        return title.removesuffix(_behind(mark)), unnoted(body, note)
    return titled(title, mark), noted(body, note)


def noted(body: str | None, note: str) -> str:
    """Put a note above a text."""
    return "\n\n".join(part for part in (note, body) if part)[: limits.TEXT]


def unnoted(body: str | None, note: str) -> str:
    """Take a note away from above a text, as it was put there; forges may end lines otherwise."""
    text = (body or "").replace("\r\n", "\n")
    return text.removeprefix(note).lstrip("\n") if text.startswith(note) else body or ""


_MOST_TITLE = 250
"""Characters; GitLab takes 255."""


def _behind(mark: str) -> str:
    return f" ({mark})"
