"""The process that worker processes are forked from: it has read our code, and nothing else.

`python -P -m bot.render.workers MEMORY_BYTES`, with a socket as standard input: each
byte brings the connection of a worker to start. What is told back is lines of JSON: `{"pid": N}`
in the order of the requests, and `{"ended": N, "status": S}`.

It keeps starting a worker cheap, and what they share is in memory once.

A worker runs our code alone. Behind the flaws that our parsers may have stands a fence: no network,
an empty root, and no way to start a program (`fnrunner.builtin.confined.fence`), as far as the
machine lets us. So whatever is imported late elsewhere is imported here.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
from typing import Final

from bot.render.workers import work
from fnrunner.builtin.confined import fence

_PR_SET_PDEATHSIG: Final = 1
_OPEN_FILES: Final = 32
# Resources are trees, which go without the collector; what a bug leaves in circles still goes.
_COLLECT_AFTER: Final = (200_000, 20, 50)

IMPORTED_LATE: Final = (
    "_strptime",
    "cadlib.kptfile.edit",
    "cadlib.versions",
    "cadlib.yaml.holds",
    "cadlib.yaml.nodes",
    *(f"encodings.{name}" for name in ("ascii", "idna", "latin_1", "raw_unicode_escape")),
    *(f"encodings.{name}" for name in ("unicode_escape", "utf_16", "utf_32", "utf_8_sig")),
    "pathspec",
    "ruamel.yaml.mergevalue",
    "yaml.cyaml",
    "yaml.error",
)
"""Modules that functions import when they need them; a worker has no files to import them from."""


def main() -> None:
    """Fork workers until standard input is closed; they end with this process."""
    _end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt at the keyboard is the bot's
    memory_bytes = int(sys.argv[1])
    for name in IMPORTED_LATE:
        importlib.import_module(name)
    fence.leave_network()
    root = fence.empty_root()
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)
    gc.enable()  # `__main__` has stopped it
    woken, wakes = socket.socketpair()
    wakes.setblocking(False)
    signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    with socket.socket(fileno=0) as control, contextlib.suppress(ConnectionError):
        while True:
            ready, _, _ = select.select([control, woken], [], [])
            if woken in ready:
                woken.recv(4096)
                _tell_ended(control)
            if control in ready:
                said, connections, _, _ = socket.recv_fds(control, 1, 1)
                if not said:
                    return
                _fork(control, connections[0], memory_bytes, root)


def _fork(control: socket.socket, connection: int, memory_bytes: int, root: int | None) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            _work(connection, memory_bytes, root)
        finally:
            os._exit(1)
    os.close(connection)
    _tell(control, {"pid": pid})


def _work(connection: int, memory_bytes: int, root: int | None) -> None:
    """Be a worker: what it may use is bounded before it reads anything."""
    _end_with_parent()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDWR)
    fence.shut(root)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    kept = os.dup2(connection, 3)
    os.closerange(4, 1024)
    for what, limit in (
        # Address space would count what is set aside and never used.
        (resource.RLIMIT_DATA, memory_bytes),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
    ):
        resource.setrlimit(what, (limit, limit))
    with socket.socket(fileno=kept) as opened:
        work.serve(opened)
    os._exit(0)


def _tell_ended(control: socket.socket) -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            _tell(control, {"ended": pid, "status": os.waitstatus_to_exitcode(status)})


def _tell(control: socket.socket, said: dict[str, int]) -> None:
    control.sendall(json.dumps(said).encode() + b"\n")


def _end_with_parent() -> None:
    """Have the system end this process with the one that started it, in the middle of anything."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
