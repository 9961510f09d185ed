"""What was worked out of texts, kept in memory, bounded in bytes.

Several threads may use one: a list is made of a dictionary in one step.
"""

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class SizeBoundedCache(Generic[K, V]):
    """Values by key; where they take too much, every second one goes.

    Whoever reads more texts in a row than there is room for, again and again, finds some of them
    so. If the oldest went, it would find none: each would be gone when its turn comes.

    Args:
        most: Bytes that they may take.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._values: dict[K, tuple[V, int]] = {}

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """The value of a key; None for one that is not kept."""
        found = self._values.get(key)
        return found[0] if found else None

    def put(self, key: K, value: V, size: int) -> None:
        """Keep a value.

        Args:
            key: Of the value.
            value: Never None.
            size: Bytes that key and value take; of more than there is room for nothing is kept.
        """
        self._values[key] = value, size
        self._size += size
        while self._size > self._most:
            for each in list(self._values)[::2]:
                self._values.pop(each, None)
            # What another thread added just now may be missing from the sum before, not from this.
            self._size = sum(size for _, size in list(self._values.values()))
