"""What functions found out about values that they may be given again, object for object.

Most resources of a package come back with each call, and `fnrunner.builtin.memory` has the same
objects for the same text. Values are shared and never changed, so what follows from one alone
need not be worked out again.
"""

from functools import lru_cache
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

MOST: Final = 5_000
"""Values that one keeps: as many resources as `ItemCache` remembers, about."""


class AnswerCache(Generic[T]):
    """Answers by object."""

    def __init__(self) -> None:
        # The object stays as long as its answer: its id would be another's.
        self._known: dict[int, tuple[object, T]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def get(self, value: object) -> T | None:
        """Return the answer for this very object, or None for none."""
        found = self._known.get(id(value))
        return None if found is None else found[1]

    def keep(self, value: object, answer: T) -> None:
        """Keep an answer; all are forgotten when there are too many."""
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[id(value)] = value, answer


@lru_cache(maxsize=16)
def answers(function: str, config: str) -> AnswerCache[Any]:  # noqa: ARG001 - the key
    """Return the answers of a function with one configuration; those used last are kept.

    Args:
        function: Its name, and what the answers are about.
        config: Its configuration, as text that tells apart what differs.
    """
    return AnswerCache()
