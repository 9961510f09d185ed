"""Releases of tags, and titles and texts that say that nobody should use the revision any more.

People make releases too. A mark changes title and text alone, and all that people wrote comes back
once it is taken away: what a long title lost stands in the text meanwhile, as a comment of HTML.
"""

import re
from abc import ABC, abstractmethod
from typing import Any, ClassVar
from urllib.parse import quote, unquote

from bot.forges.port import ForgeMissingError, ForgeRefusedError
from lifecycle import limits


class Releases(ABC):
    """Releases of one repository: what is the same at every forge."""

    text: ClassVar[str] = "body"
    """The field that holds the text of a release."""

    @abstractmethod
    async def _read_release(self, tag: str) -> dict[str, Any]:
        """The release of a tag; `ForgeMissingError` for none."""

    @abstractmethod
    async def _new_release(self, tag: str, title: str, body: str) -> None:
        """Ask for a release; refused where there is one."""

    @abstractmethod
    async def _write_release(self, found: dict[str, Any], title: str, body: str) -> None:
        """Change title and text, and nothing else of it."""

    async def has_release(self, tag: str) -> bool:
        """Whether a tag has a release."""
        return await self._release(tag) is not None

    async def _release(self, tag: str) -> dict[str, Any] | None:
        try:
            found = await self._read_release(tag)
        except ForgeMissingError:
            return None
        return found if found["tag_name"] == tag else None

    async def is_marked(self, tag: str, mark: str) -> bool | None:
        """Whether a release says so; None for none."""
        found = await self._release(tag)
        return None if found is None else is_titled(found["name"], mark)

    async def mark_release(self, tag: str, mark: str, note: str, *, off: bool = False) -> None:
        """Change title and text of a release, where there is one that does not say so yet."""
        found = await self._release(tag)
        if found is None or is_titled(found["name"], mark) is not off:
            return
        title, body = retold(found["name"] or tag, found[self.text], mark, note, off=off)
        await self._write_release(found, title, body)

    async def make_release(self, tag: str, title: str, body: str) -> None:
        """Make a release; where somebody made one already, that one stays as it is."""
        try:
            await self._new_release(tag, title, body)
        except ForgeRefusedError:
            if not await self.has_release(tag):
                raise


def is_titled(title: str | None, mark: str) -> bool:
    """Whether a title ends in a mark."""
    return (title or "").endswith(_behind(mark))


def retold(title: str, body: str | None, mark: str, note: str, *, off: bool) -> tuple[str, str]:
    """Title and text with a mark and its note, or without them again.

    Args:
        title: As it is.
        body: The text as it is.
        mark: The word behind the title.
        note: What stands above the text with it, where there is room for both.
        off: They are taken away.
    """
    if not off:
        room = _MOST_TITLE - len(_behind(mark))
        whole = "" if len(title) <= room else f"<!-- title: {quote(title, safe=' ')} -->"
        return title[:room] + _behind(mark), _with(body or "", note, whole)
    text, short = _without(body or "", note), title.removesuffix(_behind(mark))
    found = _WHOLE.search(text)
    whole = unquote(found["title"]) if found else ""
    if found is None or len(title) < _MOST_TITLE or not whole.startswith(short):
        return short, text
    return whole, text[: found.start()] + text[found.end() :]


def _with(body: str, *notes: str) -> str:
    """Put notes above a text, as many as there is room for; those behind go first."""
    for note in reversed(notes):
        text = "\n\n".join(part for part in (note, body) if part)
        body = text if len(text) <= limits.TEXT else body
    return body


def _without(body: str, note: str) -> str:
    """Take a note away, as it was put there; forges may end lines otherwise."""
    lines = r"\r?\n".join(map(re.escape, note.split("\n")))
    return re.sub(rf"\A{lines}(\r?\n){{0,2}}", "", body)


_WHOLE = re.compile(r"<!-- title: (?P<title>[^<>]+) -->(\r?\n){0,2}")

_MOST_TITLE = 250
"""Characters; GitLab takes 255."""


def _behind(mark: str) -> str:
    return f" ({mark})"
