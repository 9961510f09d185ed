"""What every statement of the in-memory store does: let others run, and fail while it is away."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from itertools import count
from typing import Any

from bot.clock import Clock
from bot.sayable import sayable
from bot.store.values import StoreError


@dataclass
class Statements:
    """One after another, each all or nothing: what follows `begin` must not wait.

    Attributes:
        clock: Leases, due times and ages go by it, as PostgreSQL's by its own.
        reachable: False makes every statement fail, before it has written anything.
    """

    clock: Clock
    reachable: bool = True
    _places: "count[int]" = field(default_factory=lambda: count(1))

    async def begin(self) -> None:
        """Let other tasks run, as they do while a database answers.

        Raises:
            StoreError: The store is made to be away.
        """
        await self.clock.sleep(0)
        if not self.reachable:
            raise StoreError("The database cannot be reached: it is away. Start it.")

    def place(self) -> int:
        """Higher than any before, for what is kept in order."""
        return next(self._places)

    def now(self) -> datetime:
        """The time of day."""
        return self.clock.now()

    def seconds(self) -> float:
        """For what lies some seconds ahead."""
        return self.clock.monotonic()


def kept(value: Any) -> Any:
    """A value as a database would hold and give it: a copy, and all of its text can be said."""
    if type(value) is str:
        return value if value.isascii() and "\0" not in value else sayable(value)
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is dict or isinstance(value, Mapping):
        return {kept(key): kept(each) for key, each in value.items()}
    if kind is list:
        return [kept(each) for each in value]
    if isinstance(value, tuple):
        return tuple([kept(each) for each in value])
    if kind is frozenset:
        return frozenset([kept(each) for each in value])
    if isinstance(value, Enum):
        return value
    if is_dataclass(value):
        names = _names(kind)  # type: ignore[arg-type]  # types can be hashed
        return kind(**{name: kept(getattr(value, name)) for name in names})
    return sayable(copy.deepcopy(value))


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))


_PLAIN = frozenset({type(None), bool, int, float, bytes, datetime})
