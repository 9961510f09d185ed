"""A memory that is bounded: what was used longest ago goes first."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Keys to values; holds no truth, for any of it may be gone.

    Args:
        most: Keys that are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[K, V] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K) -> V | None:
        """What is kept of a key; None when nothing is."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def put(self, key: K, value: V) -> None:
        """Keep a value, in place of what was there."""
        self._kept[key] = value
        self._kept.move_to_end(key)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def drop(self, key: K) -> None:
        """Forget a key, where it is known."""
        self._kept.pop(key, None)

    def drop_oldest(self, goes: Callable[[V], bool]) -> None:
        """Forget what was used longest ago, and what comes after it, up to what is to stay."""
        while self._kept and goes(next(iter(self._kept.values()))):
            self._kept.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()

    def keys(self) -> tuple[K, ...]:
        """All keys, the one used longest ago first."""
        return tuple(self._kept)
