"""Bounded caches of a git repository, keyed by object id.

What an object says never changes, so that nothing here can be wrong; it is dropped when it grows.
"""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from bot.git.objects import Entries
from bot.git.port import Commit, Difference, TrialMerge

T = TypeVar("T")

MIB = 1024**2

MOST_WRITTEN = 5_000
"""Commits and tags of the bot's own that are known as such, until they are forgotten."""


class ObjectCache(Generic[T]):
    """A cache of values by object id, bounded by size, shared by all looks.

    It is bounded by bytes, not by how many there are: whoever pushes decides how large one is.

    Args:
        most: Bytes in all.
        size: About how many bytes a value takes.
    """

    def __init__(self, most: int, size: Callable[[T], int]) -> None:
        self._most = most
        self._size = size
        self._bytes = 0
        self._values: dict[str, T] = {}
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """About how many bytes it takes now."""
        return self._bytes

    def get_or(self, key: str, make: Callable[[], T]) -> T:
        """The value, made the first time; one that would take a quarter of all is not kept."""
        found = self._values.get(key)
        if found is None:
            found = make()
            size = _EACH + self._size(found)
            if size > self._most // 4:
                return found
            with self._lock:
                if self._bytes + size > self._most:
                    self._values.clear()
                    self._bytes = 0
                if key not in self._values:
                    self._bytes += size
                self._values[key] = found
        return found


_EACH = 300
"""Bytes that a value takes with its key, whatever it holds."""


def _of_entries(entries: Entries) -> int:
    return sum(250 + len(name) for _, _, name in entries)


def _of_difference(difference: Difference) -> int:
    return sum(250 + len(p) for p in (*difference.files, *difference.packages))


def _of_merge(merged: TrialMerge) -> int:
    return _of_difference(merged.difference) + sum(60 + len(p) for p in merged.conflicts)


def _of_commit(commit: "Commit") -> int:
    texts = len(commit.message) + len(commit.author)
    return 800 + 4 * texts + 100 * len(commit.parents)


class Blobs:
    """A cache of small blobs."""

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


class MirrorCaches:
    """The caches of one mirror, dropped when it is cloned again.

    Attributes:
        commits: Commits that are in it.
        bases: Merge bases of two commits.
        held: Whether the history of one commit holds another.
        listed: Commits of one that another lacks, by what git was asked.
        differences: What differs between two trees.
        merges: What merging one commit into another would give.
        too_slow: Heads, each with its merge bases, that git did not merge in time.
    """

    def __init__(self) -> None:
        self.commits: ObjectCache[Commit] = ObjectCache(24 * MIB, _of_commit)
        self.bases: ObjectCache[tuple[str, ...]] = ObjectCache(
            2 * MIB, lambda bases: 100 * len(bases)
        )
        self.held: ObjectCache[bool] = ObjectCache(2 * MIB, lambda _: 0)
        self.listed: ObjectCache[tuple[str, ...]] = ObjectCache(
            2 * MIB, lambda commits: 100 * len(commits)
        )
        self.differences: ObjectCache[Difference] = ObjectCache(8 * MIB, _of_difference)
        self.merges: ObjectCache[TrialMerge] = ObjectCache(8 * MIB, _of_merge)
        self.too_slow: set[str] = set()  # each cost seconds: there are never many
        self._written: dict[str, None] = {}

    def write(self, sha: str) -> None:
        """Note that the bot wrote a commit or a tag."""
        if len(self._written) >= MOST_WRITTEN:
            self._written = {}  # replaced, for threads; a push of one of these starts git
        self._written[sha] = None

    def wrote(self, sha: str) -> bool:
        """Whether the bot wrote a commit or a tag; no longer so once there were many since."""
        return sha in self._written


BLOBS = Blobs(32 * MIB, 256 * 1024)
ENTRIES: ObjectCache[Entries] = ObjectCache(64 * MIB, _of_entries)
