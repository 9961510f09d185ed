"""What passes between the bot and a worker process of the renderer.

A frame is a fixed head that says its kind and how long its parts are, and two parts: values, and
bytes. The bot's values are pickled. A worker has read what strangers wrote, so what it says is
JSON and is read with suspicion.
"""

import socket
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

_HEAD: Final = struct.Struct("!BIQ")
HEAD_BYTES: Final = _HEAD.size

OUT_OF_MEMORY: Final = 86
"""Exit status of a worker that went over its limit of memory; Python's own are 1 and 2."""


class FrameKind(IntEnum):
    """What a frame is."""

    # From the bot
    RENDER = 1  # render a package: the values of `RenderRequest`, and its files
    COMPARE = 2  # tell what changed between two trees: the same
    OUTCOME = 3  # what came of a call
    NOT_RUN = 4  # the function cannot be run now, and why
    DROP = 5  # nobody waits for this any more
    MERGE = 6  # merge what two branches made of a package: the same, and the files of the other
    DRAFT = 7  # make a draft: the values of `DraftWork`, and its files
    FETCHED = 8  # a package that was asked for: commit, ref, and its files
    NOT_FETCHED = 9  # it cannot be fetched, and why
    # From a worker
    CALL = 10  # run a function: its image, and the list of resources
    VERDICT = 11  # it, as `bot.render.encoded` has it; and whether it may leave memory
    CHANGES = 12  # what changed, likewise
    DROPPED = 13
    MERGED = 15  # a merged package, as `bot.render.merging` has it
    BROKEN = 14  # a bug: its traceback
    FETCH = 16  # fetch a package: repository, folder, ref


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame.

    Attributes:
        kind: What it is.
        values: Its first part.
        data: Its second part.
    """

    kind: FrameKind
    values: bytes = b""
    data: bytes | memoryview = b""


def head(kind: FrameKind, values: bytes, size: int) -> bytes:
    """Return the head of a frame and its first part; `size` bytes must follow."""
    return _HEAD.pack(kind, len(values), size) + values


def lengths(data: bytes | bytearray) -> tuple[FrameKind, int, int]:
    """Read the head of a frame: what it is, and how long its parts are.

    Raises:
        ValueError: There is no such kind.
    """
    kind, values, size = _HEAD.unpack(data)
    return FrameKind(kind), values, size


def send(connection: socket.socket, frame: Frame) -> None:
    """Send a frame; blocks."""
    connection.sendall(head(frame.kind, frame.values, len(frame.data)))
    if frame.data:
        connection.sendall(frame.data)


def receive(connection: socket.socket) -> Frame | None:
    """Receive a frame; blocks. None once the other end is closed."""
    begun = _exactly(connection, HEAD_BYTES)
    if begun is None:
        return None
    kind, values, size = lengths(begun)
    first = _exactly(connection, values)
    data = _exactly(connection, size)
    if first is None or data is None:
        return None
    return Frame(kind, bytes(first), memoryview(data))


def _exactly(connection: socket.socket, size: int) -> bytearray | None:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        count = connection.recv_into(view)
        if not count:
            return None
        view = view[count:]
    return data
