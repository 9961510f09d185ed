"""Lines of new keys and elements: borrowed from another document, or written fresh.

Rules: see `cadlib.yaml.borrow`; what nothing lends is written in the style of its neighbours
(`cadlib.yaml.layout`).
"""

from collections.abc import Callable

from cadlib.yaml.borrow import Change, Lender, Like, Model
from cadlib.yaml.emit import DEFAULT_STYLE
from cadlib.yaml.layout import Neighbours
from cadlib.yaml.tree import Document, Node, Value

Entry = Callable[..., list[str]]
"""Writes one new key or element with its value; `emit.entry`, unless a test watches it."""


class Fresh:
    """Writes the new nodes of one document."""

    __slots__ = ("_write", "lender", "near")

    def __init__(self, document: Document, write: Entry, change: Change) -> None:
        self._write = write
        self.lender = Lender(change)
        self.near = Neighbours(document)

    def lines(
        self,
        value: "dict[str, Value] | list[Value]",
        at: int,
        near: Node,
        likes: tuple[Like, ...] = (),
    ) -> str:
        """Return the lines of all keys or elements of a collection.

        Args:
            value: The collection.
            at: Column of its keys or dashes.
            near: A node whose style new lines take.
            likes: Collections of other documents at the matching place.
        """
        if isinstance(value, dict):
            return "".join(
                self.entry(key, item, at, near, self.lender.at_key(likes, key))
                for key, item in value.items()
            )
        models = self.lender.at_items(likes, value)
        return "".join(
            self.entry(None, item, at, near, found)
            for item, found in zip(value, models, strict=True)
        )

    def entry(
        self, key: str | None, value: Value, at: int, near: Node, models: tuple[Model, ...] = ()
    ) -> str:
        """Return the lines of one key or element.

        Args:
            key: The key; None for an element.
            value: Its value.
            at: Column of the key or dash.
            near: A node whose style new lines take.
            models: What may lend the lines.
        """
        lines = self.lender.lines(models, value, at) if models else None
        if lines is None:
            many = isinstance(value, dict | list) or (isinstance(value, str) and "\n" in value)
            style = self.near.style(near, value) if many else DEFAULT_STYLE
            lines = "".join(line + "\n" for line in self._write(key, value, at, style=style))
        return lines
