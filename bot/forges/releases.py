"""Releases of tags, and titles and texts that say that nobody should use the revision any more."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

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
    async def _write_release(
        self, found: dict[str, Any], title: str, body: str, *, off: bool
    ) -> None:
        """Change title and text; with `off` it counts as one like the others again."""

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
        await self._write_release(found, title, body, off=off)

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
