"""A part of a list, forwards or backwards, of which only what is read is copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, overload

T = TypeVar("T")


class View(Sequence[T]):
    """A part of a list that costs the same whatever the list's length.

    Args:
        items: The whole list.
        at: Positions in it; None for all.
    """

    def __init__(self, items: Sequence[T], at: range | None = None) -> None:
        self._items = items
        self._at = range(len(items)) if at is None else at

    def __len__(self) -> int:
        return len(self._at)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self._items[at] for at in self._at[index]]
        return self._items[self._at[index]]

    def backwards(self) -> View[T]:
        """The same items, the last one first."""
        return View(self._items, self._at[::-1])
