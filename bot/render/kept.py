"""Files read before, kept for the next rendering by a process that lives on.

A push changes a few files of a package, and reading YAML is nearly all that rendering again costs.
What was read follows from a file's path and bytes alone, so it is kept by these and holds no
truth: without it everything is read again. What is kept with a file is what was made of it since,
such as its comments and the lines that functions are sent.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TypeAlias

from cadlib.errors import PackageError
from cadlib.limits import PackageLimits
from cadlib.yaml import Stream
from cadlib.yaml.bulk import Serial, read_one

LIMIT_BYTES = 5 * 1024 * 1024 // 2
"""How much text is kept: some 3,000 files; with what is made of it, thirty times that."""

_Key: TypeAlias = tuple[str, bytes, int]


class CachingReader(Serial):
    """Reads files, and those that it has read before only once; safe in several threads.

    What it returns is shared: nobody may change a value in it.

    Args:
        limit_bytes: How much text is kept; what was used longest ago goes first. A package that
            is larger is not kept at all, since each file of it would push out the next.
    """

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self._limit = limit_bytes
        self._limits: dict[PackageLimits, int] = {}  # numbered: to hash them takes long
        self._streams: OrderedDict[_Key, Stream] = OrderedDict()
        self._lock = Lock()
        self.used_bytes = 0

    def read(
        self, files: Mapping[str, bytes], limits: PackageLimits
    ) -> Sequence[Stream | PackageError]:
        """Read each file; what is wrong with one stands in its place."""
        if sum(map(len, files.values())) > self._limit:
            return super().read(files, limits)
        which = self._limits.setdefault(limits, len(self._limits))
        keys = [(path, data, which) for path, data in files.items()]
        with self._lock:
            found = {key: known for key in keys if (known := self._streams.get(key)) is not None}
            for key in found:
                self._streams.move_to_end(key)
        return [found.get(key) or self._read(key, limits) for key in keys]

    def _read(self, key: _Key, limits: PackageLimits) -> Stream | PackageError:
        path, data, _ = key
        stream = read_one(path, data, limits)
        if isinstance(stream, Stream):
            self._keep(key, stream)
        return stream

    def _keep(self, key: _Key, stream: Stream) -> None:
        with self._lock:
            if key in self._streams:  # another thread read it meanwhile
                return
            self._streams[key] = stream
            self.used_bytes += len(stream.data)
            while self.used_bytes > self._limit:
                self.used_bytes -= len(self._streams.popitem(last=False)[1].data)
