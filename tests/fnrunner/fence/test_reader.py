"""What functions in sandboxes wrote is read elsewhere, within limits, and no longer than may be."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fnrunner.builtin import frames
from fnrunner.builtin.frames import CallStatus, WorkerAnswer
from fnrunner.builtin.pool import Builtin
from fnrunner.choose import runners
from fnrunner.contract import results
from fnrunner.contract.errors import (
    FunctionFailedError,
    FunctionStoppedError,
    FunctionTimeoutError,
    MessageTooLargeError,
)
from fnrunner.contract.run import MIB, Identified
from fnrunner.fence.reader import OutputReader
from fnrunner.fence.sandbox import Ended, Used
from fnrunner.settings import read
from tests.fnrunner import sandboxes

LIST = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"
HARD = b"kind: ResourceList\nitems: []\nresults:\n" + b"- {a: [b, [c]]}\n" * 300_000
BOMB = b'kind: ResourceList\nitems: []\nresults:\n- message: &a "%b"\n' % (
    b"x" * 200_000
) + b"".join(b"- {message: x, tags: {a: [%b]}}\n" % b",".join([b"*a"] * 900) for _ in range(10))
DEEP = b"kind: ResourceList\nitems: " + b"[" * 200_000


def ended(output: bytes, status: int = 1, log: str = "words") -> Ended:
    return Ended(output, log, status, Used(None, None, 0.1, len(output)))


@asynccontextmanager
async def reading(memory_bytes: int = 1024 * MIB) -> AsyncIterator[tuple[OutputReader, Builtin]]:
    workers = Builtin(running=2, memory_bytes=memory_bytes)
    try:
        yield OutputReader(workers), workers
    finally:
        await workers.close()


async def test_nobody_waits_for_what_is_hard_to_read() -> None:
    """Short-cut: read it in the event loop, or in a thread: a list of 5 MB held all for 12 s."""
    async with reading() as (reader, workers):
        hard = asyncio.create_task(reader.outcome("f", ended(HARD), "", 3600))
        await asyncio.sleep(0)  # it has begun
        (busy,) = workers._workers - set(workers._free)
        os.kill(busy.pid, signal.SIGSTOP)  # however long the others take
        for _ in range(3):
            assert (await workers.run("no-op", LIST)).resources
        assert not hard.done()
        hard.cancel()
        await asyncio.gather(hard, return_exceptions=True)


async def test_reading_ends_with_its_callers_time() -> None:
    async with reading() as (reader, _):
        for status in (0, 1):
            output = HARD.replace(b"kind: ResourceList", b'"kind": ResourceList')
            with pytest.raises(FunctionTimeoutError):
                await reader.outcome("f", ended(output, status), "", 0.05)


@pytest.mark.parametrize("output", [BOMB, DEEP], ids=["aliases", "depth"])
async def test_what_takes_too_much_to_read_is_a_refusal_without_results(output: bytes) -> None:
    """Short-cut: believe that what is short to write is short to read. 300 kB stood for 2 GB."""
    async with reading(64 * MIB) as (reader, workers):
        found = await reader.outcome("f", ended(output), "sha256:a", 600)
        assert (found.failed, found.exit_code, found.results) == (True, 1, ())
        assert found.log.startswith("words")
        assert found.resources == results.resource_list(())
        quoted = output.replace(b"kind: ResourceList", b'"kind": ResourceList')
        with pytest.raises(
            FunctionFailedError, match=r"its output (cannot be read|is not a Resou)"
        ):
            await reader.outcome("f", ended(quoted, 0), "", 600)
        assert not (await workers.run("no-op", LIST)).failed


async def test_a_refusal_in_words_starts_no_process() -> None:
    async with reading() as (reader, workers):
        found = await reader.outcome("f", ended(b" \n"), "")
        assert (found.failed, found.log, workers.pids) == (True, "words", ())


@pytest.fixture
def folder() -> Iterator[Path]:
    with sandboxes.open_folder() as found:
        yield found


@asynccontextmanager
async def guarded(folder: Path, script: str, calls: str) -> AsyncIterator[Identified]:
    """The runner as it is served, with an executable called f."""
    sandboxes.sandbox(groups=False)
    path = folder / "f"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    text = f"version: 1\nexecutables: [{{name: f, path: {path}}}]\n{calls}"
    settings = read(text.encode(), "runner.yaml")
    async with runners(settings) as found:
        yield found


@pytest.mark.parametrize("status", [0, 1])
async def test_what_is_longer_than_a_message_is_not_heard_out(folder: Path, status: int) -> None:
    """Short-cut: keep 64 MiB of it, and read all that a function that failed wrote."""
    script = f"yes -- '- kind: A'; exit {status}"
    async with guarded(folder, script, "calls: {message: 100Ki, time: 60s}") as runner:
        with pytest.raises(FunctionStoppedError) as caught:
            await runner.run("f", LIST)
    assert (caught.value.limit, caught.value.allowed) == ("output", "100 KiB")


async def test_a_small_call_is_not_kept_waiting_by_a_large_output(folder: Path) -> None:
    """Short-cut: as above; here with a function in its sandbox, and all that guards a call."""
    script = "echo kind: ResourceList; echo results:; yes -- '- {a: [b, [c]]}' | head -n 300000"
    async with guarded(folder, f"{script}; exit 1", "calls: {time: 600s, running: 1}") as runner:
        hard = asyncio.create_task(runner.run("f", LIST))
        for number in range(5):
            text = LIST.replace(b"[]", b"[{kind: A%d}]" % number)
            assert (await runner.run("no-op", text)).resources
        assert not hard.done()
        hard.cancel()
        await asyncio.gather(hard, return_exceptions=True)


async def test_a_builtin_function_writes_no_more_than_a_message_either() -> None:
    """Short-cut: bound what comes out of sandboxes; scripts print into the runner's memory."""
    script = (
        "apiVersion: v1\nkind: ResourceList\nitems: []\nfunctionConfig:\n  kind: StarlarkRun\n"
        "  metadata: {name: a}\n  source: |\n    big = {'kind': 'A', 'apiVersion': 'v1',"
        " 'metadata': {'name': 'x' * 300000}}\n    ctx.resource_list['items'] = [big]\n"
    )
    workers = Builtin(running=1, message_bytes=200_000)
    try:
        with pytest.raises(MessageTooLargeError, match=r"take 300\d\d\d bytes, at most 200000 are"):
            await workers.run("starlark", script.encode())
    finally:
        await workers.close()


def test_an_answer_is_cut_to_what_can_travel() -> None:
    """Short-cut: let a worker send what it likes, to be cut by who serves everybody."""
    many = tuple({"message": "\U0001f600" * 100} for _ in range(5000))
    given = WorkerAnswer(
        kind=CallStatus.FAILED, resources=b"x" * 2000, log="l" * 3 * MIB, results=many
    )
    cut = frames.within(given, 1000)
    sent = frames.answer(cut)

    assert len(sent) <= frames.longest(1000) + frames.ANSWER_HEAD
    assert (cut.kind, len(cut.log)) == (CallStatus.FAILED, MIB)
    assert 100 < len(cut.results) < 5000
    assert cut.results[-1]["message"] == (
        f"{5001 - len(cut.results)} more results do not fit into the response"
    )
    done = WorkerAnswer(kind=CallStatus.DONE, resources=b"x" * 2000)
    assert frames.within(done, 1000) == WorkerAnswer(kind=CallStatus.TOO_LARGE, log="2000")
    assert frames.within(done, 2000) == done
