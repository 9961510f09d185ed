"""The databases of a history: new ones, and copies of them."""

import copy
from math import inf
from typing import Any, Protocol

from bot.clock import Clock
from bot.store.port import Store
from tests.memory.store import MemoryStore


class Stores(Protocol):
    """Where a history has its databases from."""

    def empty(self) -> Store:
        """One with nothing in it."""

    def snapshot(self, store: Any) -> Any:
        """What is in it now."""

    def restore(self, saved: Any) -> Store:
        """One that is as it was saved."""

    def end_leases(self, store: Any, name: str) -> None:
        """The leases of a process are over; it does not know."""


class MemoryStores:
    """Databases in memory.

    Args:
        clock: Theirs.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def empty(self) -> MemoryStore:
        """One with nothing in it."""
        return MemoryStore(self._clock)

    def snapshot(self, store: MemoryStore) -> MemoryStore:
        """A copy of it, with no one listening."""
        known = {id(self._clock): self._clock, id(store.work.listeners): []}
        return copy.deepcopy(store, known)

    def restore(self, saved: MemoryStore) -> MemoryStore:
        """A copy of what was saved: it may be restored again."""
        return self.snapshot(saved)

    def end_leases(self, store: MemoryStore, name: str) -> None:
        """The leases of a process are over; it does not know."""
        for row in store.work.rows.values():
            if row.owner is not None and row.owner.startswith(f"{name}/"):
                row.lease = -inf
