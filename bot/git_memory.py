"""What is remembered of a git repository while the bot runs: by content, and never much.

What an object says never changes, so that nothing here can be wrong; it is dropped when it grows.
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from bot.difference import Difference, Entries
from bot.git_merge import Merged

if TYPE_CHECKING:
    from bot.git import Commit

T = TypeVar("T")


class Known(Generic[T]):
    """What a git object says never changes: a small memory, shared by all looks."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[str, T] = {}

    def get_or(self, key: str, make: Callable[[], T]) -> T:
        """The value, made the first time."""
        found = self._values.get(key)
        if found is None:
            found = make()
            if len(self._values) >= self._most:
                self._values.clear()
            self._values[key] = found
        return found


class Blobs:
    """Small files that were read: of a package that is looked at again, most have not changed."""

    def __init__(self, most_bytes: int, largest: int) -> None:
        self._most = most_bytes
        self._largest = largest
        self._bytes = 0
        self._values: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def get(self, sha: str) -> bytes | None:
        """The data, if it is kept."""
        return self._values.get(sha)

    def keep(self, sha: str, data: bytes) -> None:
        """Keep data that is not large."""
        if len(data) > self._largest:
            return
        with self._lock:
            if self._bytes + len(data) > self._most:
                self._values.clear()
                self._bytes = 0
            if sha not in self._values:
                self._values[sha] = data
                self._bytes += len(data)


class Kept:
    """What was learnt of one mirror, for as long as it is not made anew.

    Attributes:
        commits: Commits that are in it.
        bases: Merge bases of two commits.
        differences: What differs between two trees.
        merges: What merging one commit into another would give.
        too_slow: Heads, each with its merge bases, that git did not merge in time.
    """

    def __init__(self) -> None:
        self.commits: Known[Commit] = Known(10_000)
        self.bases: Known[tuple[str, ...]] = Known(4_000)
        self.differences: Known[Difference] = Known(64)
        self.merges: Known[Merged] = Known(256)
        self.too_slow: set[str] = set()  # each cost seconds: there are never many


BLOBS = Blobs(32 * 1024**2, 256 * 1024)
ENTRIES: Known[Entries] = Known(20_000)
