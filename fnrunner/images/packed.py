"""Compressed layer streams, with limits on compressed and uncompressed size.

Rules
- Bytes that are sent may not be far more than what they hold, and members of a compressed stream
  are counted: an archive of empty ones takes hours and no room.
- A stream ends when the caller is no longer waiting for it.
"""

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Final, Protocol, cast

import zstandard

from fnrunner.contract.run import MIB

_SENT_PIECE: Final = 64 * 1024
_IN_VAIN: Final = 4 * MIB  # bytes sent beyond twice what came out of them
_WINDOW: Final = 128 * MIB  # memory that a zstd stream may ask for; `zstd --ultra` does
_HEADER: Final = MIB  # bytes of one entry's headers; real ones have a few hundred
_MORE: Final = "Make it smaller, or ask an operator to raise the limit"


class StoppedError(Exception):
    """Nobody waits for what is unpacked any more."""


class LayerError(Exception):
    """A layer cannot be unpacked safely.

    Attributes:
        reason: Why.
        fix: What to do.
    """

    def __init__(self, reason: str, fix: str = "Rebuild it") -> None:
        super().__init__(f"{reason}. {fix}.")
        self.reason = reason
        self.fix = fix


class LayerStream(Protocol):
    """What layers are read from."""

    def read(self, size: int, /) -> bytes:
        """Return some bytes, at most so many; none at the end."""


class Sent:
    """Counts what is read of layers as they are sent, and what came out of it."""

    def __init__(self, limit: int, stopped: Callable[[], bool]) -> None:
        self._left = limit
        self._stopped = stopped
        self._in_vain = _IN_VAIN

    def add(self, size: int) -> None:
        """Count bytes that were sent."""
        if self._stopped():
            raise StoppedError
        self._left -= size
        self._in_vain -= size
        if self._left < 0:
            raise LayerError("its layers are larger than allowed", _MORE)
        if self._in_vain < 0:
            raise LayerError("a layer is compressed to more bytes than it holds")

    def holds(self, size: int) -> None:
        """Count bytes that came out."""
        if self._stopped():
            raise StoppedError
        self._in_vain += 2 * size


class Limited:
    """A stream that ends in an error after so many bytes, and sooner within one header."""

    def __init__(self, inner: LayerStream, limit: int, sent: Sent) -> None:
        self._inner = inner
        self._left = limit
        self._sent = sent
        self._header: int | None = None

    @contextmanager
    def header(self) -> Iterator[None]:
        """Bound what is read until the end of the block."""
        self._header = _HEADER
        try:
            yield
        finally:
            self._header = None

    def read(self, size: int) -> bytes:
        """Return some bytes.

        Raises:
            LayerError: There are too many.
        """
        data = self._inner.read(size)
        self._sent.holds(len(data))
        self._left -= len(data)
        if self._left < 0:
            raise LayerError("a layer unpacks to more bytes than are allowed", _MORE)
        if self._header is not None:
            self._header -= len(data)
            if self._header < 0:
                raise LayerError("a layer has a header longer than any file needs")
        return data


class _Counted:
    """A layer as it is sent, each byte counted."""

    def __init__(self, layer: IO[bytes], sent: Sent) -> None:
        self._layer = layer
        self._sent = sent

    def read(self, size: int = -1) -> bytes:
        data = self._layer.read(_SENT_PIECE if size < 0 else min(size, _SENT_PIECE))
        self._sent.add(len(data))
        return data


class _Gzip:
    """What a gzip stream holds, whose members are counted: one that is empty brings nothing.

    Source: RFC 1952; zeros behind the last member are passed over, as gzip(1) does.
    """

    def __init__(self, inner: LayerStream, members: int) -> None:
        self._inner = inner
        self._members = members
        self._left = members
        self._rest = b""
        self._stream: zlib._Decompress | None = None

    def read(self, size: int) -> bytes:
        while True:
            self._rest = self._rest or self._inner.read(_SENT_PIECE)
            if self._stream is None:
                if not self._behind():
                    return b""
                self._begin()
            assert self._stream is not None  # noqa: S101 - just begun
            if not self._rest:
                raise EOFError("it ends within its compressed data")
            data = self._stream.decompress(self._rest, size)
            self._rest = self._stream.unconsumed_tail
            if self._stream.eof:
                self._rest = self._stream.unused_data
                self._stream = None
            if data:
                return data

    def _behind(self) -> bool:
        """Go to the next member, past zeros; return whether there is one."""
        while self._left < self._members and not (rest := self._rest.lstrip(b"\0")):
            self._rest = self._inner.read(_SENT_PIECE)
            if not self._rest:
                return False
        if self._left < self._members:
            self._rest = rest
        return bool(self._rest)

    def _begin(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise LayerError(f"a layer is compressed in more than {self._members} members")
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)


@contextmanager
def plain(layer: IO[bytes], sent: Sent, members: int) -> Iterator[LayerStream]:
    """Give the archive itself; what it is compressed with, its first bytes say.

    Args:
        layer: As it is sent.
        sent: Counts its bytes.
        members: How many compressed streams it may consist of.
    """
    begin = layer.tell()
    magic = layer.read(4)
    layer.seek(begin)
    counted = _Counted(layer, sent)
    if magic[:2] == b"\x1f\x8b":
        yield _Gzip(counted, members)
    elif magic == b"\x28\xb5\x2f\xfd":
        decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
        whole = cast(IO[bytes], counted)  # of which it only reads
        with decompressor.stream_reader(whole, read_across_frames=True, closefd=False) as reader:
            yield reader
    else:
        yield counted
