"""The function runner that the bot starts for itself: kept running, watched, replaced."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import structlog

from bot.http.ready import MissingError
from bot.own_runner import OwnRunner, end_left_over, own_runner
from bot.runner_watch import WatchedRunner
from fnrunner.contract.errors import RunnerBusyError
from fnrunner.contract.run import CallLimits
from fnrunner.wire.client import Client

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")

LIST = b"""apiVersion: config.kubernetes.io/v1
kind: ResourceList
items: []
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: labels}
  data: {a: b}
"""
LABELS = "set-labels:v0.2"


async def test_it_is_not_given_the_secrets_of_the_bot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cut: start it as any other process, which inherits all."""
    of_people = ("GITHUB_TOKEN", "GH_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
    ours = ("PORCHBOT_WEBHOOK_SECRETS", "PORCHBOT_GITHUB_PRIVATE_KEY", "DATABASE_URL")
    for secret in (*ours, *of_people):
        monkeypatch.setenv(secret, "hunter2")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.corp:3128")
    started = OwnRunner(f"unix:{tmp_path}/runner.sock", (), tmp_path)
    await started.start()
    try:
        async with Client(f"unix:{tmp_path}/runner.sock", patience=60) as client:
            assert await client.is_ready(60)
        given = Path(f"/proc/{started.pid}/environ").read_bytes().split(b"\0")
    finally:
        started.kill()
        await started.end()

    assert b"HTTPS_PROXY=http://proxy.corp:3128" in given  # images are fetched through it
    assert [each for each in given if b"hunter2" in each] == []


async def _until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(120):
        while not true():
            await asyncio.sleep(0.02)


@asynccontextmanager
async def _harmed(
    state: Path, harm: signal.Signals, returns: list[str], *, seconds: float, strikes: int
) -> AsyncIterator[tuple[int, OwnRunner, WatchedRunner, asyncio.Task[None]]]:
    """A runner of our own that is harmed and then watched, more closely than it would be.

    Gives the process that was harmed, and what watches as well.
    """

    async def back() -> bool:
        returns.append("back")
        return True

    limits = CallLimits(seconds=60)
    async with own_runner((), state) as own, Client(own.address, limits, patience=60) as client:
        assert await client.is_ready(60)
        first = own.pid
        assert first is not None
        watched = WatchedRunner(client, every=0.1, seconds=seconds, strikes=strikes)
        os.kill(first, harm)
        watching = asyncio.create_task(watched.watch(back, own))
        try:
            yield first, own, watched, watching
        finally:
            watching.cancel()


async def test_one_that_is_killed_is_back_and_runs_functions(tmp_path: Path) -> None:
    """Short-cut refused: what waits for its return waits out its pause, fifteen seconds or more."""
    returns: list[str] = []
    killed = _harmed(tmp_path, signal.SIGKILL, returns, seconds=60, strikes=1)
    async with killed as (first, own, watched, _):
        await _until(lambda: own.pid != first and returns)

        assert not (await watched.run(LABELS, LIST)).failed
        assert list(tmp_path.glob("runner-*.json")) != []
    assert list(tmp_path.glob("runner-*.json")) == []


async def test_one_that_hangs_is_broken_and_replaced(tmp_path: Path) -> None:
    """Short-cut refused: the time limit of the call, whose end is blamed on the package."""
    returns: list[str] = []
    hung = _harmed(tmp_path, signal.SIGSTOP, returns, seconds=1, strikes=3)
    async with hung as (first, own, watched, watching):
        with pytest.raises(RunnerBusyError, match="does not answer health checks"):
            await watched.run(LABELS, LIST)
        await _until(lambda: returns)
        watching.cancel()  # who looks so closely takes a busy machine for a runner that hangs

        assert own.pid != first
        assert not (await watched.run(LABELS, LIST)).failed


class Told(Client):
    """A client whose health checks are answered from a list."""

    def __init__(self, answers: list[bool], asked: Callable[[int], None]) -> None:
        super().__init__("unix:/nowhere")
        self._answers = answers
        self._asked = asked
        self._count = 0

    async def is_ready(self, seconds: float = 1.0, service: str = "") -> bool:
        if self._count == len(self._answers):
            raise EOFError
        self._count += 1
        self._asked(self._count)
        return self._answers[self._count - 1]


@dataclass
class Number:
    """A process that is only a number; ending it is noted, and starts the next one."""

    pid: int = 1
    answered: bool = True
    killed: list[int] = field(default_factory=list)

    def kill(self) -> None:
        self.killed.append(self.pid)
        self.pid += 1


SILENT = {
    "one that answered before": ([True, False, False, False, True], [1]),
    "one that is started has longer": ([False] * 17, [1]),
    "and not for ever": ([False] * 18, [1, 2]),
    "once it answered, it has not": ([False] * 17 + [True] + [False] * 3, [1, 2]),
    "what it missed is forgotten": ([False, False, True, False, False, True], []),
}


@pytest.mark.parametrize(("answers", "killed"), SILENT.values(), ids=SILENT)
async def test_one_that_starts_is_not_taken_for_one_that_hangs(
    answers: list[bool], killed: list[int]
) -> None:
    """Short-cut refused: counting checks from the death of the one before; on a busy machine, what
    was started in its place is killed before it can answer."""
    process = Number()

    async def back() -> bool:
        return True

    async with Told(answers, lambda _: None) as client:
        with pytest.raises(EOFError):
            await WatchedRunner(client, every=0, strikes=3).watch(back, process)

    assert process.killed == killed


async def test_one_that_is_back_before_a_health_check_failed_is_noticed() -> None:
    """Short-cut refused: its return is noticed only where a health check failed."""
    process, returns = Number(), list[int]()

    async def back() -> bool:
        returns.append(process.pid)
        return True

    def dies_and_is_started(count: int) -> None:
        process.pid = min(count + 1, 2)

    async with Told([True] * 3, dies_and_is_started) as client:
        with pytest.raises(EOFError):
            await WatchedRunner(client, every=0).watch(back, process)

    assert returns == [2]


async def test_one_that_has_not_answered_yet_is_given_its_time() -> None:
    """Short-cut refused: three checks from the start, on a machine that is too busy to start it."""
    process = Number(answered=False)

    async def back() -> bool:
        return True

    async with Told([False] * 14, lambda _: None) as client:
        with pytest.raises(EOFError):
            await WatchedRunner(client, every=0, strikes=3).watch(back, process)

    assert process.killed == []


async def test_a_bot_does_not_end_because_its_runner_starts_slowly(tmp_path: Path) -> None:
    """Short-cut refused: a limit on the start, after which the bot ends, and begins anew."""
    returns: list[str] = []

    async def back() -> bool:
        returns.append("back")
        return True

    with structlog.testing.capture_logs() as said:
        own_one = own_runner((), tmp_path, start=0)
        async with own_one as own, Client(own.address, patience=60) as client:
            assert not own.answered
            watched = WatchedRunner(client, every=0.05, seconds=60, strikes=3)
            watching = asyncio.create_task(watched.watch(back, own))
            await _until(lambda: returns)
            assert not (await watched.run(LABELS, LIST)).failed
            watching.cancel()
    assert [each["event"] for each in said][:1] == [
        "the function runner does not answer yet; what needs it waits"
    ]


async def test_one_that_ends_whenever_it_is_started_ends_the_bot(tmp_path: Path) -> None:
    """Short-cut refused: to wait for ever for what was set up wrongly."""
    with pytest.raises(OSError, match="the function runner ended 3 times as it was started"):
        async with own_runner(("--config", str(tmp_path / "none")), tmp_path):
            pass


async def test_one_that_is_away_is_logged_once_and_then_seldom() -> None:
    """Short-cut refused: a line for each check, one each three seconds."""

    async def back() -> bool:
        return True

    answers = [*[False] * 50, True, *[False] * 50]
    with structlog.testing.capture_logs() as said:
        async with Told(answers, lambda _: None) as client:
            with pytest.raises(EOFError):
                await WatchedRunner(client, every=0, strikes=3).watch(back)
    assert [each["event"] for each in said] == [
        "the function runner does not answer health checks",
        "the function runner answers again",
        "the function runner does not answer health checks",
    ]


async def test_one_that_died_by_itself_has_time_to_start() -> None:
    """Short-cut refused: only one started after a hang has it."""
    process = Number()

    def died(count: int) -> None:
        process.pid = 2 if count > 1 else 1

    async def back() -> bool:
        return True

    async with Told([True, *[False] * 14], died) as client:
        with pytest.raises(EOFError):
            await WatchedRunner(client, every=0, strikes=3).watch(back, process)

    assert process.killed == []


async def test_one_of_somebody_else_that_hangs_is_waited_for(tmp_path: Path) -> None:
    """Short-cuts refused: a call that waits for its own limit, and one that believes in it."""
    returns: list[str] = []
    patient, hasty = CallLimits(seconds=3600), CallLimits(seconds=0.2)

    async def back() -> bool:
        returns.append("back")
        return True

    async with (
        own_runner((), tmp_path) as theirs,
        Client(theirs.address, patient, patience=60) as client,
        Client(theirs.address, hasty) as other,
    ):
        watched = WatchedRunner(client, every=0.05, seconds=0.5, strikes=2)
        watching = asyncio.create_task(watched.watch(back))
        assert await other.is_ready(60)  # connected
        assert theirs.pid is not None
        os.kill(theirs.pid, signal.SIGSTOP)
        try:
            async with asyncio.timeout(60):
                with pytest.raises(RunnerBusyError):
                    await watched.run(LABELS, LIST)
            with pytest.raises(RunnerBusyError):  # its own time is up first
                await WatchedRunner(other, seconds=0.5).run(LABELS, LIST)
            with pytest.raises(MissingError, match="does not answer health checks"):
                await watched.check()
            before = len(returns)
        finally:
            os.kill(theirs.pid, signal.SIGCONT)
        await _until(lambda: len(returns) > before)
        watching.cancel()  # who looks so closely takes a busy machine for a runner that hangs

        assert not (await watched.run(LABELS, LIST)).failed


async def test_the_next_bot_ends_a_runner_that_hangs(tmp_path: Path) -> None:
    """Short-cut refused: closing its input, which what hangs does not notice."""
    script = (
        "import asyncio, sys, pathlib\n"
        "from bot.own_runner import OwnRunner\n"
        "async def main():\n"
        "    runner = OwnRunner('unix:' + sys.argv[1] + '/s', (), pathlib.Path(sys.argv[1]))\n"
        "    await runner.start()\n"
        "    print(runner.pid, flush=True)\n"
        "    await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE
    ) as bot:
        assert bot.stdout is not None
        hung = int(await asyncio.to_thread(bot.stdout.readline))
        os.kill(hung, signal.SIGSTOP)
        end_left_over(tmp_path)
        assert Path(f"/proc/{hung}/stat").exists()  # its bot lives: it is not ours
        bot.kill()

    end_left_over(tmp_path)

    def gone() -> bool:
        try:
            return Path(f"/proc/{hung}/stat").read_text().rpartition(") ")[2][0] == "Z"
        except OSError:
            return True

    await _until(gone)
    assert list(tmp_path.glob("runner-*.json")) == []


async def test_what_waits_is_told_until_it_can_be() -> None:
    """Short-cut refused: telling of the return once, while the database is away as well."""
    tried: list[str] = []

    async def back() -> bool:
        tried.append("back")
        return len(tried) == 3

    async with Told([False, *[True] * 6], lambda _: None) as client:
        with pytest.raises(EOFError):
            await WatchedRunner(client, every=0, strikes=3).watch(back)

    assert len(tried) == 3
