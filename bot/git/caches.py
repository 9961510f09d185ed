"""What a process keeps of git repositories, by object id: one room for all of it.

What an object says never changes, so that nothing here can be wrong, and all of it can be read
again. What was used longest ago goes first, of whatever repository and kind (ADR 86).
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from bot.git.objects import Entries
from bot.git.port import Commit, Difference, TrialMerge

T = TypeVar("T")

MIB = 1024**2

MOST_KEPT: Final = 6 * MIB
"""Bytes that a process keeps of all its mirrors: a package that is looked at takes some 9 KiB
(docs/figures.md), and what is in use at once is the packages of a few waves."""

MOST_OF_ONE: Final = MOST_KEPT // 3
"""Bytes of one value: a folder of 8,000 packages is kept, beside that of another commit."""

MOST_OF_BLOB: Final = 256 * 1024
"""Bytes of one file: larger ones are not kept."""


class BoundedCache:
    """Values of all kinds, bounded by the bytes that they take together.

    It is bounded by bytes, not by how many there are: whoever pushes decides how large one is.

    Args:
        most: Bytes in all.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[object, tuple[object, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """About how many bytes it takes now."""
        return self._bytes

    def get(self, key: object) -> object | None:
        """What is kept of a key; None when nothing is."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def keep(self, key: object, value: object, size: int) -> None:
        """Keep a value of some bytes; what was used longest ago makes room for it."""
        with self._lock:
            _, before = self._kept.pop(key, (None, 0))
            self._kept[key] = value, size
            self._bytes += size - before
            while self._bytes > self._most:
                _, (_, gone) = self._kept.popitem(last=False)
                self._bytes -= gone


SHARED_CACHE = BoundedCache(MOST_KEPT)


class ObjectCache(Generic[T]):
    """Values of one kind by object id, shared by all looks.

    Args:
        size: About how many bytes a value takes.
        most: Bytes of one value; what takes more is not kept.
        room: Where they are kept beside others.
    """

    def __init__(
        self,
        size: Callable[[T], int],
        *,
        most: int = MOST_OF_ONE,
        room: BoundedCache = SHARED_CACHE,
    ) -> None:
        self._size = size
        self._most = most
        self._room = room

    def get(self, key: str) -> T | None:
        """The value, if it is kept."""
        return self._room.get((self, key))  # type: ignore[return-value]  # as `keep` left it

    def keep(self, key: str, value: T) -> None:
        """Keep a value that is not large."""
        size = _EACH + self._size(value)
        if size <= self._most:
            self._room.keep((self, key), value, size)

    def get_or(self, key: str, make: Callable[[], T]) -> T:
        """The value, made where it is not kept."""
        found = self.get(key)
        if found is None:
            found = make()
            self.keep(key, found)
        return found


_EACH = 300
"""Bytes that a value takes with its key, whatever it holds."""


def _of_nothing(_: bool) -> int:
    return 0


def _of_ids(ids: tuple[str, ...]) -> int:
    return 100 * len(ids)


def _of_entries(entries: Entries) -> int:
    return sum(250 + len(name) for _, _, name in entries)


def _of_difference(difference: Difference) -> int:
    return sum(250 + len(p) for p in (*difference.files, *difference.packages))


def _of_merge(merged: TrialMerge) -> int:
    return _of_difference(merged.difference) + sum(60 + len(p) for p in merged.conflicts)


def _of_commit(commit: Commit) -> int:
    texts = len(commit.message) + len(commit.author)
    return 800 + 4 * texts + 100 * len(commit.parents)


class MirrorCaches:
    """What is kept of one mirror, others when it is cloned again.

    Args:
        room: Where it is kept beside that of others.

    Attributes:
        commits: Commits that are in it.
        bases: Merge bases of two commits.
        held: Whether the history of one commit holds another.
        listed: Commits of one that another lacks, by what git was asked.
        differences: What differs between two trees.
        merges: What merging one commit into another would give.
        written: Commits and tags that the bot wrote; a push of one that is forgotten starts git.
        too_slow: Heads, each with its merge bases, that git did not merge in time.
    """

    def __init__(self, room: BoundedCache = SHARED_CACHE) -> None:
        self.commits: ObjectCache[Commit] = ObjectCache(_of_commit, room=room)
        self.bases: ObjectCache[tuple[str, ...]] = ObjectCache(_of_ids, room=room)
        self.held: ObjectCache[bool] = ObjectCache(_of_nothing, room=room)
        self.listed: ObjectCache[tuple[str, ...]] = ObjectCache(_of_ids, room=room)
        self.differences: ObjectCache[Difference] = ObjectCache(_of_difference, room=room)
        self.merges: ObjectCache[TrialMerge] = ObjectCache(_of_merge, room=room)
        self.written: ObjectCache[bool] = ObjectCache(_of_nothing, room=room)
        self.too_slow: set[str] = set()  # each cost seconds: there are never many


BLOBS: ObjectCache[bytes] = ObjectCache(len, most=MOST_OF_BLOB)
ENTRIES: ObjectCache[Entries] = ObjectCache(_of_entries)
