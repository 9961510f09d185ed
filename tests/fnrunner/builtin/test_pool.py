"""The builtin functions in worker processes: answers, limits, and that nothing is left behind.

Longer than 400 lines: one pool, and all that may happen to it.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from cadlib.stream import resourcelist
from fnrunner.builtin.frames import CallStatus
from fnrunner.builtin.lookup import get, names
from fnrunner.builtin.memory import ItemCache
from fnrunner.builtin.pool import GRACE, Builtin
from fnrunner.builtin.version import digest, version
from fnrunner.builtin.work import answer, evaluate
from fnrunner.builtin.worker import BuiltinWorkerProcess
from fnrunner.contract.errors import (
    FunctionNotFoundError,
    FunctionStoppedError,
    FunctionTimeoutError,
    ResourcesRefusedError,
    RunnerBrokenError,
    RunnerBusyError,
)
from fnrunner.contract.run import MIB
from tests.counting import lines
from tests.fnrunner.builtin.test_memory import TEXT, example
from tests.fnrunner.calls import items

PATIENCE = 60.0  # seconds; what is waited for takes some tenths of one on a machine of its own


def request(name: str = "set-labels", text: str = TEXT) -> bytes:
    return resourcelist.encode(items(text), example(name))


@asynccontextmanager
async def pool(
    running: int = 1, memory_bytes: int = 1024 * MIB, grace: float = GRACE
) -> AsyncIterator[Builtin]:
    """A runner that is closed in the end, and leaves no process."""
    runner = Builtin(running=running, memory_bytes=memory_bytes, grace=grace)
    try:
        yield runner
    finally:
        pids = runner.pids
        await runner.close()
        assert not any(map(alive, pids))


async def test_workers_that_nobody_calls_end_and_others_start() -> None:
    """Fails when a runner at rest holds what its workers remember."""
    runner = Builtin(running=2, idle=0.05)
    runner.start()
    begun = runner.pids
    await until(lambda: not runner.pids)
    await until(lambda: not any(map(alive, begun)))

    call = asyncio.create_task(runner.run("set-labels", request()))
    await asyncio.sleep(0)  # it has begun; once it is over, its worker may end at any moment
    first = runner.pids
    assert not (await call).failed
    await until(lambda: not runner.pids)
    await runner.close()

    assert first
    assert not any(map(alive, first))


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return state(pid) != "Z"


def state(pid: int) -> str:
    """The state of a process: "T" when it is stopped; "" when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.01)


async def hang(runner: Builtin) -> int:
    """Stop the one worker of a runner, so that its next call does not end."""
    await runner.run("set-labels", request())
    (pid,) = runner.pids
    os.kill(pid, signal.SIGSTOP)
    await until(lambda: state(pid) == "T")
    return pid


async def test_a_worker_answers_as_the_function_itself() -> None:
    """Short-cut: send items, and lose results, logs and failures on the way."""
    async with pool() as runner:
        for name in names():
            given = request(name)
            here = evaluate(name, get(name), given, ItemCache())
            there = await runner.run(name, given)

            assert (there.resources, there.log, there.failed) == (
                here.resources, here.log, here.failed,
            )  # fmt: skip
            assert [dict(each) for each in there.results] == [dict(each) for each in here.results]
            assert there.digest == f"builtin:{name}/1@{version()}"


async def test_a_call_whose_time_is_up_is_ended_and_others_go_on() -> None:
    """Short-cut: answer the caller, and leave the function running in the only worker."""
    async with pool() as runner:
        pid = await hang(runner)
        with pytest.raises(FunctionTimeoutError) as caught:
            await runner.run("set-labels", request(), seconds=0.2)
        assert str(caught.value).startswith(
            'function "set-labels": it did not finish within 0.2 seconds.'
        )
        assert not (await runner.run("set-labels", request())).failed
        await until(lambda: not alive(pid))


async def test_a_call_whose_caller_goes_away_is_ended_soon() -> None:
    async with pool() as runner:
        pid = await hang(runner)
        call = asyncio.ensure_future(runner.run("set-labels", request()))
        await asyncio.sleep(0.05)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: not alive(pid))
        assert not (await runner.run("set-labels", request())).failed


async def test_a_call_that_ends_soon_keeps_its_worker_though_its_caller_went_away() -> None:
    """Short-cut: start a new process for everybody who loses patience."""
    async with pool(grace=60) as runner:
        await runner.run("set-labels", request())
        before = runner.pids
        call = asyncio.ensure_future(runner.run("set-labels", request()))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert not (await runner.run("set-labels", request())).failed
        assert runner.pids == before


async def test_a_caller_who_goes_away_while_waiting_takes_nobodys_turn() -> None:
    async with pool() as runner:
        await hang(runner)
        first = asyncio.ensure_future(runner.run("set-labels", request(), seconds=0.3))
        await asyncio.sleep(0.05)
        second = asyncio.ensure_future(runner.run("set-labels", request()))
        third = asyncio.ensure_future(runner.run("set-labels", request()))
        await asyncio.sleep(0.05)
        second.cancel()
        with pytest.raises(FunctionTimeoutError):
            await first
        assert not (await third).failed


async def test_too_much_memory_is_named_and_the_next_call_is_none_the_worse() -> None:
    """Short-cut: let the process die, or go on in one that is short of memory."""
    many = b"items: [" + b"{a: [b, c, d]}, " * 200_000 + b"]"
    async with pool(memory_bytes=64 * MIB) as runner:
        with pytest.raises(FunctionStoppedError) as caught:
            await runner.run("set-labels", b"kind: ResourceList\n" + many)
        assert str(caught.value) == (
            'function "set-labels": it was stopped because it exceeded its limit of memory: 64 MiB'
            " allowed."
            " Give it fewer resources, or ask an operator for a higher limit."
        )
        assert not (await runner.run("set-labels", request())).failed


async def test_a_worker_that_goes_round_without_memory_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cut: wait for the worker to notice: Python 3.11 may look for a handler for ever."""
    (tmp_path / "sitecustomize.py").write_text(
        "from fnrunner.builtin.memory import ItemCache\n"
        "def decode(*_):\n"
        "    held = []\n"
        "    while True:\n"
        "        try:\n"
        "            held.append(bytes(100_000))\n"
        "        except MemoryError:\n"
        "            continue\n"
        "ItemCache.decode = decode\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    async with pool(memory_bytes=128 * MIB) as runner:
        with pytest.raises(FunctionStoppedError, match="exceeded its limit of memory: 128 MiB"):
            await runner.run("set-labels", request())


@pytest.mark.parametrize(
    ("number", "error", "text"),
    [
        (signal.SIGKILL, FunctionStoppedError, "exceeded its limit of memory"),
        (signal.SIGTERM, RunnerBrokenError, "its process ended by signal 15"),
    ],
)
async def test_a_worker_that_ends_in_a_call_is_replaced(
    number: signal.Signals, error: type[Exception], text: str
) -> None:
    """Short-cut: wait for ever for the answer."""
    async with pool() as runner:
        pid = await hang(runner)
        call = asyncio.ensure_future(runner.run("set-labels", request()))
        await asyncio.sleep(0.05)
        os.kill(pid, number)
        os.kill(pid, signal.SIGCONT)
        with pytest.raises(error, match=text):
            await call
        assert not (await runner.run("set-labels", request())).failed


async def test_a_worker_that_ended_between_calls_is_not_missed() -> None:
    async with pool() as runner:
        await runner.run("set-labels", request())
        (pid,) = runner.pids
        os.kill(pid, signal.SIGKILL)
        await until(lambda: not alive(pid))
        assert not (await runner.run("set-labels", request())).failed


async def test_a_call_for_which_there_is_no_process_may_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Short-cut: call it a bug, and lose the turn."""

    def none(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    runner = Builtin(running=1)
    with monkeypatch.context() as patched:
        patched.setattr(subprocess, "Popen", none)
        for _ in range(2):
            with pytest.raises(RunnerBusyError, match="no process can be started"):
                await runner.run("no-op", request("no-op"))
    assert not (await runner.run("no-op", request("no-op"))).failed
    await runner.close()


async def test_calls_are_answered_first_come_first_served() -> None:
    """Short-cut: let the newest call take the worker that has just become free."""
    order: list[int] = []

    async def call(runner: Builtin, number: int) -> None:
        await runner.run("set-labels", request())
        order.append(number)

    async with pool() as runner:
        await asyncio.gather(*(call(runner, number) for number in range(40)))
    assert order == list(range(40))


async def test_no_more_run_at_a_time_than_may() -> None:
    async with pool(running=2) as runner:
        outcomes = await asyncio.gather(*(runner.run("set-labels", request()) for _ in range(20)))
        assert len({outcome.resources for outcome in outcomes}) == 1
        assert 1 <= len(runner.pids) <= 2


async def test_one_that_is_closed_ends_its_calls_and_takes_no_more() -> None:
    """Short-cut: end the workers, and leave those waiting who wait."""
    runner = Builtin(running=1)
    pid = await hang(runner)
    calls = [asyncio.ensure_future(runner.run("set-labels", request())) for _ in range(3)]
    await asyncio.sleep(0.05)
    await runner.close()
    said = await asyncio.gather(*calls, return_exceptions=True)
    assert [str(each) for each in said] == [
        'function "set-labels": the runner ends. Try again in 1 seconds.'
    ] * 3
    with pytest.raises(RunnerBusyError, match="the runner ends"):
        await runner.run("set-labels", request())
    assert not alive(pid)
    assert not runner.pids


REFUSED: dict[str, tuple[str, bytes, type[Exception], str]] = {
    "another function": (
        "registry.corp/set-labels:v9", b"", FunctionNotFoundError,
        'function "registry.corp/set-labels:v9": no runner provides it.'
        " Check its registry, name and tag in the Kptfile.",
    ),
    "no ResourceList": (
        "set-labels:v0.2", b"kind: Pod\n", ResourcesRefusedError,
        'function "set-labels:v0.2": its input is not a valid ResourceList: kind: the kind'
        " is 'Pod', not 'ResourceList'. Correct what the function writes. Fix the resources named.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("image", "data", "error", "text"), REFUSED.values(), ids=REFUSED)
async def test_what_is_refused(image: str, data: bytes, error: type[Exception], text: str) -> None:
    async with pool() as runner:
        with pytest.raises(error) as caught:
            await runner.run(image, data)
        assert str(caught.value) == text


async def test_a_bug_is_answered_too() -> None:
    """Short-cut: let the worker fall over its first bug."""
    worker = BuiltinWorkerProcess(1024 * MIB)
    try:
        broken = await worker.call("no-such-function", b"")
        assert broken.kind is CallStatus.BROKEN
        assert "ModuleNotFoundError" in broken.log
        assert (await worker.call("set-labels", request())).kind is CallStatus.DONE
    finally:
        await worker.end()
    assert answer("no-such-function", b"", ItemCache()).kind is CallStatus.BROKEN


async def test_a_worker_knows_nothing_of_the_runners_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FORGE_TOKEN", "secret")
    async with pool() as runner:
        await runner.run("set-labels", request())
        (pid,) = runner.pids
        assert b"secret" not in Path(f"/proc/{pid}/environ").read_bytes()


PROGRAM = """\
import asyncio, os, signal, sys
from fnrunner.builtin.pool import Builtin

async def main():
    runner = Builtin(running=1)
    await runner.run("set-labels", b"apiVersion: config.kubernetes.io/v1\\nkind: ResourceList\\n")
    os.kill(runner.pids[0], signal.SIGSTOP)  # as one in the middle of a long call
    print(*runner.pids, flush=True)
    {last}

asyncio.run(main())
"""
ENDS = {
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "without closing it": "return",
    "by an error": "raise SystemExit(3)",
}


@pytest.mark.parametrize("last", ENDS.values(), ids=ENDS)
async def test_workers_end_with_the_runner_however_it_ends(last: str) -> None:
    """Short-cut: end them in `close`, which a killed runner does not reach."""
    ended = subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", PROGRAM.format(last=last)],
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    pids = [int(each) for each in ended.stdout.split()]
    assert pids, ended.stderr
    await until(lambda: not any(map(alive, pids)))
    assert "Error" not in ended.stderr.replace("SystemExit", "")


async def test_one_that_nobody_closed_leaves_nothing_behind() -> None:
    runner = Builtin(running=1)
    await runner.run("set-labels", request())
    pids = runner.pids
    del runner
    assert not any(map(alive, pids))


async def test_a_hundred_callers_who_go_away_leave_nothing_behind() -> None:
    async with pool(running=2) as runner:
        calls = [asyncio.ensure_future(runner.run("set-labels", request())) for _ in range(100)]
        for number, call in enumerate(calls):
            if number % 3:
                call.cancel()
            await asyncio.sleep(0)
        for number, call in enumerate(calls):
            with suppress(asyncio.CancelledError):
                assert not (await call).failed
                assert number % 3 == 0
        assert not (await runner.run("set-labels", request())).failed


def test_the_version_follows_the_code(tmp_path: Path) -> None:
    """Short-cut: the version of the package, which stays while somebody works on it."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.py").write_text("1")
    first = digest([tmp_path], ["x==1"])
    assert digest([tmp_path], ["x==1"]) == first
    assert digest([tmp_path], ["x==2"]) != first
    (tmp_path / "a" / "b.py").write_text("2")
    assert digest([tmp_path], ["x==1"]) != first
    (tmp_path / "a" / "b.py").rename(tmp_path / "a" / "c.py")
    renamed = digest([tmp_path], ["x==1"])
    (tmp_path / "a" / "c.py").rename(tmp_path / "c.py")
    assert digest([tmp_path], ["x==1"]) != renamed


def test_the_version_is_found_out_once() -> None:
    assert version() == version()
    assert lines(version) == 0
