"""The process that worker processes are forked from: it has read our code, and nothing else.

`python -P -m bot.render.workers.forkserver MEMORY_BYTES`, with a socket as standard input: each
byte brings the connection of a worker to start. What is told back is lines of JSON: `{"pid": N}`
in the order of the requests, and `{"ended": N, "status": S}`.

It keeps starting a worker cheap, and what they share is in memory once.
"""

import contextlib
import ctypes
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
from typing import Final

from bot.render.workers import work

_PR_SET_PDEATHSIG: Final = 1
_OPEN_FILES: Final = 32
# Resources are trees, which go without the collector; what a bug leaves in circles still goes.
_COLLECT_AFTER: Final = (200_000, 20, 50)


def main() -> None:
    """Fork workers until standard input is closed; they end with this process."""
    _end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt at the keyboard is the bot's
    memory_bytes = int(sys.argv[1])
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)
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
                _fork(control, connections[0], memory_bytes)


def _fork(control: socket.socket, connection: int, memory_bytes: int) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            _work(connection, memory_bytes)
        finally:
            os._exit(1)
    os.close(connection)
    _tell(control, {"pid": pid})


def _work(connection: int, memory_bytes: int) -> None:
    """Be a worker: what it may use is bounded before it reads anything."""
    _end_with_parent()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDWR)
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


if __name__ == "__main__":
    main()
