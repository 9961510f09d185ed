"""What serves a function inside its pod, and the folder that it is brought in."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli.root import main
from fnrunner.contract.errors import (
    ClosureError,
    FunctionFailedError,
    FunctionStoppedError,
    FunctionTimeoutError,
    MessageTooLargeError,
)
from fnrunner.contract.run import MIB, CallLimits, FunctionOutcome, ResourceLimits
from fnrunner.pods import closure
from fnrunner.pods import server as pod_server
from fnrunner.pods.server import OWNER, LastSeen, PodProgram, Started, memory_kills
from fnrunner.wire.client import Client
from tests.fnrunner import sandboxes

LIST = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"
PATIENT = ResourceLimits(seconds=60.0)


def sh(
    script: str, bounds: ResourceLimits = PATIENT, message_bytes: int = MIB, **variables: str
) -> Started:
    program = PodProgram(
        argv=("/bin/sh", "-c", script), environment={"PATH": os.environ["PATH"], **variables}
    )
    return Started(program, bounds, message_bytes)


async def gone(pid: int) -> None:
    """Wait until a process has ended, be it reaped or not."""
    for _ in range(600):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except FileNotFoundError:
            return
        if stat.rpartition(")")[2].split()[0] == "Z":
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"process {pid} still runs")


# -- one call -------------------------------------------------------------------------------------


async def test_a_program_reads_the_list_and_answers() -> None:
    outcome = await sh("echo $LEVEL >&2; cat", LEVEL="high").run("f", LIST)
    assert outcome == FunctionOutcome(LIST, "high\n")


async def test_a_large_list_goes_through_a_program_that_answers_as_it_reads() -> None:
    """Fails where all is written before anything is read: both sides wait for ever."""
    data = LIST + b"# " + b"x" * (8 * MIB) + b"\n"
    assert (await sh("cat", message_bytes=16 * MIB).run("f", data)).resources == data


async def test_a_program_need_not_read_what_it_is_sent() -> None:
    script = f"exec <&-; printf '{LIST.decode()}'"
    assert (await sh(script).run("f", LIST * 100_000)).resources == LIST


async def test_a_refusal_keeps_results_words_and_status() -> None:
    outcome = await sh("cat; echo 'results: [{message: no}]'; echo why >&2; exit 9").run("f", LIST)
    assert (outcome.failed, outcome.exit_code, outcome.log) == (True, 9, "why\n")
    assert outcome.results == ({"message": "no"},)


async def test_a_signal_is_a_status_of_its_own() -> None:
    assert (await sh("kill -TERM $$").run("f", LIST)).exit_code == 128 + signal.SIGTERM


async def test_a_program_that_cannot_be_started_is_told() -> None:
    runner = Started(PodProgram(argv=("/none",), environment={}), PATIENT, MIB)
    with pytest.raises(FunctionFailedError, match=r"could not be started: .*No such file"):
        await runner.run("f", LIST)


# -- what is stopped ------------------------------------------------------------------------------


async def test_a_program_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    """Fails where the program alone is ended: its children go on, and hold its pipes open."""
    child = tmp_path / "child"
    script = f"sleep 300 & echo $! > {child}; wait"
    for seconds in (0.5, 2, 8, 32):  # until it comes to that in its time
        with pytest.raises(FunctionTimeoutError, match=rf"within {seconds} seconds"):
            await sh(script, ResourceLimits(seconds=seconds)).run("f", LIST)
        if child.exists():
            break
    await gone(int(child.read_text()))


async def test_children_that_hold_its_pipes_open_do_not_hold_up_the_answer(tmp_path: Path) -> None:
    """Fails where the end of the pipes is waited for, or a child is left to run."""
    script = f"sleep 300 & echo $! > {tmp_path}/child; cat"
    assert (await sh(script).run("f", LIST)).resources == LIST
    await gone(int((tmp_path / "child").read_text()))


async def test_a_caller_who_goes_away_ends_the_program(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    call = asyncio.create_task(sh(f"echo $$ > {begun}; sleep 300").run("f", LIST))
    while not (begun.exists() and begun.read_text().strip()):
        await asyncio.sleep(0.02)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await gone(int(begun.read_text()))


async def test_a_caller_may_go_away_at_any_moment(tmp_path: Path) -> None:
    """Fails where a call that ends while its program is being started leaves it to itself."""
    script = f"sleep 300 & echo $! >> {tmp_path}/children; wait"
    for moment in range(12):
        call = asyncio.create_task(sh(script).run("f", LIST))
        for _ in range(moment):
            await asyncio.sleep(0)
        call.cancel()
        async with asyncio.timeout(60):
            with pytest.raises(asyncio.CancelledError):
                await call
    begun = tmp_path / "children"
    for child in begun.read_text().split() if begun.exists() else ():
        await gone(int(child))


async def test_a_program_that_writes_for_ever_is_stopped() -> None:
    with pytest.raises(FunctionStoppedError, match=r"limit of output: 1 MiB allowed"):
        await sh("yes", ResourceLimits(seconds=60.0, output_bytes=MIB)).run("f", LIST)


async def test_of_much_that_is_said_the_beginning_is_kept() -> None:
    bounds = ResourceLimits(seconds=60.0, log_bytes=10)
    outcome = await sh("printf 0123456789abc >&2; cat", bounds).run("f", LIST)
    assert outcome.log == "0123456789\n… 3 more bytes are not kept\n"


async def test_an_answer_that_cannot_be_sent_is_told() -> None:
    with pytest.raises(MessageTooLargeError):
        await sh("cat", message_bytes=10).run("f", LIST)


async def test_files_are_limited() -> None:
    script = 'until [ "$(ulimit -n)" = 33 ]; do sleep 0.05; done; ulimit -n >&2; cat'
    outcome = await sh(script, ResourceLimits(open_files=33)).run("f", LIST)
    assert outcome.log == "33\n"


@pytest.mark.parametrize(
    "script",
    [
        "echo x >a; ln -s /etc b; mkdir -p c/d; echo y >c/d/e; mkfifo f",
        "mkdir -p a/b; echo x >a/b/c; chmod 0 a/b a",
    ],
)
async def test_what_a_call_wrote_is_not_there_for_the_next(tmp_path: Path, script: str) -> None:
    """Short-cut: end its processes, and leave its files to the next caller."""
    spoilt: list[str] = []
    argv = ("/bin/sh", "-c", f"cd {tmp_path}; ls >&2; {script}; cat")
    program = PodProgram(argv=argv, environment={"PATH": os.environ["PATH"]})
    runner = Started(program, PATIENT, MIB, tmp_path, lambda: spoilt.append("spoilt"))
    for _ in range(2):
        assert (await runner.run("f", LIST)).log == ""
    assert (list(tmp_path.iterdir()), spoilt) == ([], [])


async def test_a_pod_whose_files_cannot_be_removed_takes_no_more_calls(tmp_path: Path) -> None:
    """Short-cut: go on beside what is left."""
    spoilt: list[str] = []
    deep = "import os; [(os.mkdir('d'), os.chdir('d')) for _ in range(1100)]"
    argv = ("/bin/sh", "-c", f'cd {tmp_path}; {sys.executable} -c "{deep}"; cat')
    program = PodProgram(argv=argv, environment={"PATH": os.environ["PATH"]})
    runner = Started(program, PATIENT, MIB, tmp_path, lambda: spoilt.append("spoilt"))
    assert (await runner.run("f", LIST)).resources == LIST
    assert spoilt == ["spoilt"]
    subprocess.run(["rm", "-rf", tmp_path / "d"], check=True)


async def test_one_call_runs_at_a_time(tmp_path: Path) -> None:
    """Fails where calls share the pod's memory."""
    runner = sh(f"mkdir {tmp_path}/here || exit 1; sleep 0.05; rmdir {tmp_path}/here; cat")
    found = await asyncio.gather(*(runner.run("f", LIST) for _ in range(4)))
    assert not any(each.failed for each in found)


async def test_time_in_the_queue_is_time_of_the_call(tmp_path: Path) -> None:
    """Short-cut: count from the call's own turn."""
    until_go = f"until [ -e {tmp_path}/go ]; do sleep 0.05; done"
    runner = sh(f"mkdir {tmp_path}/first || exec sleep 600; {until_go}; cat")
    first = asyncio.create_task(runner.run("f", LIST))
    await asyncio.sleep(0)  # it has its turn
    second = asyncio.create_task(runner.run("f", LIST, seconds=0.3))
    await asyncio.sleep(0.4)
    (tmp_path / "go").touch()
    assert (await first).resources == LIST
    with pytest.raises(FunctionTimeoutError, match=r"within 0\.00\d+ seconds"):  # none is left
        await second


async def test_a_program_that_the_kernel_ends_for_memory_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails where status 137 alone counts: anybody can send that signal."""
    events = tmp_path / "memory.events"
    events.write_text("oom 0\noom_kill 1\noom_group_kill 0\n")
    monkeypatch.setattr(memory_kills, "__defaults__", ((tmp_path / "none", events),))

    assert (await sh("kill -9 $$").run("f", LIST)).exit_code == 137
    with pytest.raises(FunctionStoppedError, match="limit of memory: 512 MiB allowed"):
        await sh(f"echo 'oom_kill 2' > {events}; kill -9 $$").run("f", LIST)


# -- the server -----------------------------------------------------------------------------------


@asynccontextmanager
async def served(folder: Path, *words: str, before: Sequence[str] = ()) -> AsyncIterator[Client]:
    """A client of a server in a process of its own, on a socket in a folder."""
    address = f"unix:{folder}/socket"
    command = before or (sys.executable, "-I", "-m", "fnrunner.pods.server", "--listen", address)
    process = subprocess.Popen([*command, *words], env={"KEPT": "1", "OTHER": "1"})
    try:
        async with Client(address, patience=60.0) as client:
            for _ in range(60):
                if await client.is_ready(1.0):
                    break
                assert process.poll() is None
            yield client
    finally:
        process.terminate()
        status = await asyncio.to_thread(process.wait, 60)
        assert status == (-signal.SIGTERM if before else 0)  # bwrap goes by the signal


async def test_it_is_told_all_by_its_command_line(tmp_path: Path) -> None:
    words = ("--set=A=b=c", "--keep=KEPT", "--keep=MISSING", "--", "/bin/sh", "-c")
    async with served(tmp_path, *words, "/usr/bin/env >&2; cat") as client:
        outcome = await client.run("f", LIST)
    assert outcome.resources == LIST
    assert {"A=b=c", "KEPT=1"} <= set(outcome.log.split())
    assert "OTHER" not in outcome.log
    assert "MISSING" not in outcome.log


def test_only_who_made_it_counts_as_looking() -> None:
    """Fails where any look counts: a kubelet looks every second, for ever."""
    now = 0.0
    seen = LastSeen(lambda: now)
    now = 5.0
    seen.asked("")
    assert seen.ago == 5.0
    seen.asked(OWNER)
    assert seen.ago == 0.0


async def test_it_ends_when_nobody_who_made_it_looks_any_more(tmp_path: Path) -> None:
    program = PodProgram(argv=("/bin/cat",), environment={})
    address = f"unix:{tmp_path}/socket"
    serving = asyncio.create_task(
        pod_server.serve(address, program, PATIENT, CallLimits(), alone=0.5)
    )
    async with Client(address, patience=60.0) as client:
        while not serving.done():
            await client.is_ready(0.2)
            await asyncio.sleep(0.05)
    await serving


# -- the folder -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with sandboxes.open_folder() as path:
        done = CliRunner().invoke(main, ["function-server", "--copy-to", str(path / "porchbot")])
        assert done.exit_code == 0, done.output
        yield path


async def test_it_serves_in_an_image_without_anything(folder: Path) -> None:
    """Fails where the folder needs a libc, an interpreter or a library of the image: the only
    program there is a static busybox. The image's own settings for Python and its loader, and
    processes that a function puts beside itself, are in its way as they are in a pod's."""
    if shutil.which("bwrap") is None:
        pytest.skip("there is no bwrap; `make tools` brings it")
    sandboxes.sandbox(groups=False)
    root = sandboxes.root(folder / "root")
    for name in ("porchbot", "socket"):
        (root / name).mkdir()
    (folder / "socket").mkdir(mode=0o777)
    (folder / "socket").chmod(0o777)
    # Says how many are left of calls before, and leaves one itself once that has begun.
    script = (
        "cat /proc/[0-9]*/comm 2>/dev/null | grep -c sleep >&2; setsid sleep 300 &"
        " until cat /proc/[0-9]*/comm 2>/dev/null | grep -q sleep; do :; done; cat"
    )
    inside = [
        *("bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--as-pid-1"),
        *("--die-with-parent", "--ro-bind", str(root), "/", "--proc", "/proc", "--dev", "/dev"),
        *("--ro-bind", str(folder / "porchbot"), "/porchbot", "--tmpfs", "/tmp"),
        *("--bind", str(folder / "socket"), "/socket", "--clearenv"),
        *("--setenv", "PYTHONHOME", "/none", "--setenv", "PYTHONPATH", "/none"),
        *("--setenv", "LD_LIBRARY_PATH", "/none", "--setenv", "LD_PRELOAD", ""),
        *("/porchbot/lib/ld.so", "--library-path", "/porchbot/lib", "/porchbot/bin/python3"),
        *("-I", "-B", "-X", "utf8", "-m", "fnrunner.pods.server"),
        *("--listen", "unix:/socket/socket", "--set=PATH=/bin"),
    ]

    async with served(folder / "socket", "--", "/bin/sh", "-c", script, before=inside) as client:
        found = [await client.run("f", LIST) for _ in range(3)]

    assert [each.resources for each in found] == [LIST] * 3
    assert [each.log for each in found] == ["0\n"] * 3


def test_what_it_needs_comes_along_and_the_rest_stays(folder: Path) -> None:
    """Fails where the whole environment is copied, or links into it, and where packages are put
    where only some Pythons look: Debian's own never reads `site-packages`."""
    packages = next((folder / "porchbot/lib").glob("python3*"))
    names = {each.name for each in packages.iterdir()}
    assert not {"site-packages", "dist-packages"} & names
    assert {"grpc", "google", "fnrunner", "cadlib"} <= names
    assert not {"kubernetes", "pydantic", "pytest", "psycopg"} & names
    assert not [each for each in (folder / "porchbot").rglob("*") if each.is_symlink()]


def test_a_program_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\n")
    with pytest.raises(ClosureError, match="is not an ELF program"):
        closure._loader(tmp_path / "script")
    with pytest.raises(ClosureError, match="is linked statically"):
        closure._loader(sandboxes.busybox())
