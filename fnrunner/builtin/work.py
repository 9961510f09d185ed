"""A worker process: runs builtin functions, one after the other, until the runner goes away.

`python -m fnrunner.builtin MEMORY_BYTES MESSAGE_BYTES`, with a socket as standard input.
"""

import contextlib
import ctypes
import gc
import os
import resource
import signal
import socket
import sys
import traceback
from typing import Final

from cadlib.errors import PackageError
from cadlib.stream import resourcelist
from fnrunner.builtin import frames
from fnrunner.builtin.frames import OUT_OF_MEMORY, CallStatus, WorkerAnswer
from fnrunner.builtin.lookup import CatalogFunction, get
from fnrunner.builtin.memory import ItemCache
from fnrunner.contract.errors import ResourcesRefusedError
from fnrunner.contract.run import FunctionOutcome

_PR_SET_PDEATHSIG: Final = 1
# Resources are trees, which go without the collector; it need not look at them a hundred times
# a call. What a bug leaves in circles still goes.
_COLLECT_AFTER: Final = (200_000, 20, 50)


def evaluate(
    image: str, function: CatalogFunction, resources: bytes, memory: ItemCache
) -> FunctionOutcome:
    """Run a function on a ResourceList (YAML, UTF-8), here and now.

    Args:
        image: The function, as it was asked for.
        function: What it means.
        resources: What it works on.
        memory: Items read before.

    Raises:
        ResourcesRefusedError: `resources` is not a ResourceList.
    """
    try:
        parsed = memory.decode(resources)
    except PackageError as error:
        raise ResourcesRefusedError(image, str(error)) from error
    if function.about.written:
        parsed = parsed.with_texts()
    found = function.run(parsed.resources)
    return FunctionOutcome(
        resources=memory.encode(parsed, found.items, found.results),
        log=found.log,
        failed=found.failed,
        results=found.results if found.failed else (),
    )


def answer(name: str, resources: bytes, memory: ItemCache) -> WorkerAnswer:
    """Run a function by its name, and return its answer or its error.

    Raises:
        MemoryError: It went over the limit.
    """
    try:
        if name == frames.READ:
            return read(resources)
        outcome = evaluate(name, get(name), resources, memory)
    except ResourcesRefusedError as error:
        return WorkerAnswer(kind=CallStatus.UNREADABLE, log=str(error.__cause__))
    except MemoryError:
        raise  # there may not be enough left for an answer
    except Exception:
        return WorkerAnswer(kind=CallStatus.BROKEN, log=traceback.format_exc())
    return WorkerAnswer(
        kind=CallStatus.FAILED if outcome.failed else CallStatus.DONE,
        resources=outcome.resources,
        log=outcome.log,
        results=outcome.results,
    )


def read(data: bytes) -> WorkerAnswer:
    """Read what a function of any kind wrote, for its results; nothing of it is remembered."""
    try:
        found = resourcelist.decode(data)
    except PackageError as error:
        return WorkerAnswer(kind=CallStatus.UNREADABLE, log=str(error))
    return WorkerAnswer(kind=CallStatus.DONE, results=tuple(found.results))


def serve(connection: socket.socket, message_bytes: int) -> None:
    """Answer calls until the other end is closed; no list may be longer than a message."""
    memory = ItemCache()
    while head := _exactly(connection, frames.CALL_HEAD):
        lengths = frames.call_lengths(head)
        data = _exactly(connection, sum(lengths))
        name, sent = data[: lengths[0]].decode(), data[lengths[0] :]
        del data
        given = answer(name, sent, memory)
        connection.sendall(frames.answer(frames.within(given, message_bytes), sent))
        del sent, given


def _exactly(connection: socket.socket, size: int) -> bytes:
    """Return so many bytes; none once the other end is closed."""
    data = bytearray(size)
    view = memoryview(data)
    while view:
        count = connection.recv_into(view)
        if not count:
            return b""
        view = view[count:]
    return bytes(data)


def main() -> None:
    """Serve what is connected to standard input, and end with who started this."""
    _end_with_parent()
    memory_bytes, message_bytes = map(int, sys.argv[1:3])
    # Address space would count what Go's runtime sets aside and never uses.
    resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)
    gc.enable()  # `__main__` has stopped it
    # Its end may show while it is read or written: the runner went away in the middle of a call.
    with socket.socket(fileno=0) as connection, contextlib.suppress(ConnectionError):
        try:
            serve(connection, message_bytes)
        except MemoryError:
            os._exit(OUT_OF_MEMORY)  # anything else would take memory


def _end_with_parent() -> None:
    """Have the system end this process with the runner, in the middle of a call, too."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
