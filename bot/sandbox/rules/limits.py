"""Limits of texts and paths, with GitHub's messages.

Source: docs/design.md, "GitHub: checks and statuses"; titles and bodies count characters, checks
count bytes.
"""

from __future__ import annotations

from bot.sandbox.errors import custom, plain, unprocessable

LONGEST_TITLE = 256
LONGEST_BODY = 65_536
LONGEST_OUTPUT = 65_535  # bytes of a check run's summary and of its text
LONGEST_MESSAGE = 64 * 1024  # bytes of an annotation's message and of its raw details
LONGEST_NOTE_TITLE = 255  # characters of an annotation's title


def check_title(resource: str, title: str | None) -> None:
    """Refuse a title that is too long; 422."""
    if title is not None and len(title) > LONGEST_TITLE:
        text = f"title is too long (maximum is {LONGEST_TITLE} characters)"
        raise custom(resource, text, "title")


def check_body(resource: str, body: str | None) -> None:
    """Refuse a body that is too long; 422."""
    if body is not None and len(body) > LONGEST_BODY:
        text = f"body is too long (maximum is {LONGEST_BODY} characters)"
        raise custom(resource, text, "body")


def check_review(body: str) -> None:
    """Refuse a review's body that is too long; 422 in the shape of reviews."""
    if len(body) > LONGEST_BODY:
        raise unprocessable(f"Body is too long (maximum is {LONGEST_BODY} characters)")


def check_bytes(resource: str, field: str, text: str | None, most: int) -> None:
    """Refuse a text of too many bytes; 422."""
    if text is not None and len(text.encode()) > most:
        raise custom(resource, f"{field} exceeds a maximum bytesize of {most}", field)


def check_path(path: str) -> None:
    """Refuse a path that no tree can hold; 422."""
    parts = path.split("/")
    if any(part.lower() in ("", ".", "..", ".git") or len(part) > 255 for part in parts):
        raise plain("tree.path contains a malformed path component")
