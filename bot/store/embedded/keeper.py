"""Supervises one embedded PostgreSQL server, and stops it when its parent process has ended.

Started as a program of its own with nothing but the standard library, so that it starts fast and
outlives a `kill -9` of that process. It sees the end by its standard input closing, or by having
got another parent (a forked helper may still hold the pipe), and then stops the server and tidies.
While it lives it holds a lock on the folder: the next server waits until this one has ended.
"""

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import BinaryIO, TypedDict

POLL = 0.5
"""Seconds between looks at who our parent is; the pipe itself is noticed at once."""

STOP = 10.0
"""Seconds that a fast shutdown may take (it writes one checkpoint) before the server is killed."""

ORPHANS = 2.0
"""Seconds that processes of a killed server have to notice it."""

TAKEN = 75
"""Exit status when another server has the folder (EX_TEMPFAIL)."""


class SupervisorArguments(TypedDict):
    """Arguments of the supervisor, as JSON.

    Attributes:
        initialise: Makes the data folder `made`; run when `data` is missing.
        made: Where `initialise` puts it; renamed to `data` when complete.
        data: The data folder.
        server: The server and its arguments.
        environment: All of their environment.
        lock: File that is locked meanwhile.
        log: File that takes their output.
        sockets: Folder of the server's socket; nobody else's.
        remove: Folders to delete when we have ended it.
        patience: Seconds to wait for a server that still has the folder.
        stands_for: Folder that was asked for: if it is gone at the end, so are the data.
    """

    initialise: list[str]
    made: str
    data: str
    server: list[str]
    environment: dict[str, str]
    lock: str
    log: str
    sockets: str
    remove: list[str]
    patience: float
    stands_for: str


def keep(order: SupervisorArguments) -> int:
    """Run the server until our parent is gone or the server has ended.

    Writes a line to standard output when the server has been started (what its files said before
    was about an earlier one), and what it said last when it failed.

    Returns:
        Exit status of the server; `TAKEN` when another one has the folder.
    """
    parent = os.getppid()
    end = time.monotonic() + order["patience"]
    with open(order["lock"], "wb") as lock:
        if not _locked(lock, end) or not _cleared(order["data"], order["sockets"], end):
            return TAKEN
        with open(order["log"], "wb") as log:
            status, told = _initialised(order, log), True
            if not status:
                status, told = _served(order, log, parent)
        if status:
            print(_last_words(order["log"]), flush=True)  # noqa: T201 (for whoever started us)
        # Before the lock is given up: nobody may start in what is being deleted. What ended by
        # itself may be started again.
        orphaned = [] if os.path.exists(order["stands_for"]) else [os.path.dirname(order["lock"])]
        for folder in [*(order["remove"] if told else []), *orphaned]:
            shutil.rmtree(folder, ignore_errors=True)
    return status


def _locked(lock: BinaryIO, end: float) -> bool:
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        else:
            return True


def _cleared(data: str, sockets: str, end: float) -> bool:
    """End what a killed keeper or server left running, and remove the marks of one that is gone.

    We hold the lock, so nobody keeps these any more. Otherwise a second server could start while
    processes of the first still write: PostgreSQL's own guard are the marks that we remove. It
    removes those left over itself unless a process of its own user has that number, which is likely
    where numbers are small, as in a container, or where nobody waits for the dead.
    """
    mark = os.path.join(data, "postmaster.pid")
    begun = time.monotonic()
    while left := _left(data, mark):
        waited = time.monotonic() - begun
        if time.monotonic() > end:
            return False
        for number in left:
            _end(number, first=number == _marked(mark), waited=waited)
        time.sleep(0.05)
    for each in (mark, f"{sockets}/.s.PGSQL.5432.lock", f"{sockets}/.s.PGSQL.5432"):
        with contextlib.suppress(FileNotFoundError):
            os.remove(each)
    return True


def _end(number: int, *, first: bool, waited: float) -> None:
    """Ask a server to end; its processes end by themselves soon after it, or are made to."""
    if first:
        how = signal.SIGINT if waited < STOP / 2 else signal.SIGQUIT
    elif waited > ORPHANS:
        how = signal.SIGKILL
    else:
        return
    with contextlib.suppress(OSError):
        os.kill(number, how)


def _left(data: str, mark: str) -> set[int]:
    """Processes of servers on this data folder."""
    number = _marked(mark)
    found = {number} if number is not None and _is_server(number, data) else set()
    with contextlib.suppress(OSError):  # no /proc: PostgreSQL sees whether its memory is in use
        found |= {int(n) for n in os.listdir("/proc") if n.isdigit() and _is_server(int(n), data)}
    return found


def _marked(mark: str) -> int | None:
    try:
        with open(mark, encoding="utf-8") as lines:
            return int(lines.readline())
    except (FileNotFoundError, ValueError):
        return None


def _is_server(number: int, data: str) -> bool:
    """Whether a process is PostgreSQL's and works in this folder."""
    try:
        with open(f"/proc/{number}/comm", encoding="utf-8") as name:
            if name.read().strip() != "postgres":
                return False
        return os.path.samefile(os.readlink(f"/proc/{number}/cwd"), data)
    except OSError:
        return False  # gone, or another user's


def _initialised(order: SupervisorArguments, log: BinaryIO) -> int:
    if os.path.exists(os.path.join(order["data"], "PG_VERSION")):
        return 0
    # Made beside it and renamed: a kill halfway leaves nothing that looks complete.
    shutil.rmtree(order["made"], ignore_errors=True)
    done = _start(order["initialise"], order, log).wait()
    if done == 0:
        os.rename(order["made"], order["data"])
    return done


def _served(order: SupervisorArguments, log: BinaryIO, parent: int) -> tuple[int, bool]:
    """Run the server; its exit status, and whether we ended it."""
    server = _start(order["server"], order, log)
    print("started", flush=True)  # noqa: T201 (this line is the interface)
    while server.poll() is None and os.getppid() == parent:
        readable, _, _ = select.select([0], [], [], POLL)
        if readable and not os.read(0, 4096):
            break
    told = server.poll() is None
    if told:
        # SIGINT is PostgreSQL's fast shutdown: it does not wait for clients to leave.
        server.send_signal(signal.SIGINT)
        try:
            server.wait(STOP)
        except subprocess.TimeoutExpired:
            # SIGQUIT makes the postmaster end its children too; SIGKILL would leave them.
            server.send_signal(signal.SIGQUIT)
    return server.wait(), told


def _last_words(log: str) -> str:
    with open(log, encoding="utf-8", errors="replace") as text:
        lines = [line.strip() for line in text if line.strip()]
    return "; ".join(lines[-3:])


def _start(
    command: Sequence[str], order: SupervisorArguments, log: BinaryIO
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # noqa: S603 (the programs of the wheel; a list, no shell)
        command,
        env=order["environment"],
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        umask=0o077,
    )


def _ignore(*_: object) -> None:
    """A handler, not SIG_IGN: the server would inherit that."""


if __name__ == "__main__":
    # A terminal's Ctrl-C goes to its whole group: the end of our parent is what counts.
    signal.signal(signal.SIGINT, _ignore)
    signal.signal(signal.SIGTERM, _ignore)
    sys.exit(keep(json.loads(sys.argv[1])))
