"""Packages are rendered in processes of their own: what one takes is its own affair."""

import asyncio
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bot.clock import SYSTEM
from bot.overtaken import LOOK, CurrentLook
from bot.render.renderer import CachingRenderer
from bot.render.workers.maker import WorkerMaker
from lifecycle.policy import Policy
from tests.bot.render.workers.bench import (
    CONFIG,
    Bench,
    Trees,
    bench,
    parent,
    processor,
    runs,
    until,
)

LARGE = CONFIG + b"data:\n" + b"".join(b"  k%d: 'v'\n" % n for n in range(120_000))
"""Within every limit of packages: 240,000 nodes, read in a second into more than 40 MiB."""

LARGER = LARGE.replace(b"'v'", b"'%s'" % (b"v" * 20))
"""Reading it takes more than 120 MiB. A new worker holds some 22, and is kept where that is less
than a quarter of what it may take."""

LATE = r"""
import ast, gc, importlib, importlib.util, re, sys; gc.disable()
OTHERS = {*sys.stdlib_module_names, "_distutils_hack"}
from bot.render.workers import forkserver
[importlib.import_module(name) for name in forkserver.IMPORTED_LATE]
for name, module in sorted(sys.modules.items()):
    file = str(getattr(module, "__file__", None))
    ours = file.endswith(".py") and name.partition(".")[0] not in OTHERS
    text = open(file).read() if ours else ""
    late = re.search(r"(^[ \t]+|: *)(import|from) ", text, re.MULTILINE)
    for function in ast.walk(ast.parse(text if late else "")):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for found in ast.walk(function):
            wanted = [each.name for each in found.names] if isinstance(found, ast.Import) else []
            if isinstance(found, ast.ImportFrom):
                path = "." * found.level + (found.module or "")
                wanted = [importlib.util.resolve_name(path, module.__package__)]
            for each in wanted:
                there = each in sys.modules or each.partition(".")[0] in sys.stdlib_module_names
                if not there and importlib.util.find_spec(each) is not None:
                    print(each)
"""
"""Prints what the modules that a worker is forked with import later, and it does not have."""

PROBE = """
import os
from fnrunner.builtin.confined import fence
before = os.readlink("/proc/self/ns/net")
fence.leave_network()
if os.readlink("/proc/self/ns/net") != before:
    print("network")
os.fchdir(fence.empty_root())
try:
    os.chroot(".")
except PermissionError:
    pass
else:
    print("root")
"""
"""Prints what this machine lets a process give up: a container may have no namespaces for it."""


@pytest.mark.parametrize(
    ("seconds", "memory", "message"),
    [
        (0.2, 1024, "the package took more than 0.2 s to render"),
        (30, 112, "the package took more than 112 MB to render"),
    ],
)
async def test_a_package_that_takes_too_much_is_told_so_and_others_are_rendered(
    seconds: float, memory: int, message: str
) -> None:
    """The short-cut bounds what is read: this package is within every bound, and still too much."""
    async with bench(seconds=seconds, memory=memory) as at:
        at.functions.gate.set()
        fine = await at.verdict("first")
        (first,) = at.workers.pids

        verdict = await at.verdict("large", LARGER)

        assert [(f.message, str(f.place)) for f in verdict.blocking] == [
            (message, "net/large/Kptfile")
        ]
        assert (verdict.complete, verdict.broken) == (False, "")
        assert fine.complete
        assert (await at.verdict("second")).complete
        assert first not in at.workers.pids


async def test_a_repository_never_has_all_workers_and_takes_turns_with_others() -> None:
    """The short-cut is one line for all: another's push waits behind each of the many packages."""
    async with bench() as at:
        one = {asyncio.create_task(at.verdict(f"p{n}")) for n in range(6)}
        await at.functions.called.wait()
        at.functions.called.clear()

        other = asyncio.create_task(
            at.verdict("q", CONFIG.replace(b"a}", b"q}"), repository="other")
        )
        await at.functions.called.wait()

        assert len(at.functions.began) == 2
        assert b"name: q" in at.functions.began[1]
        at.functions.gate.set()
        assert (await other).complete
        assert all([(await each).complete for each in one])


async def looking(at: Bench, *trees: str) -> None:
    """Render packages for one look, all at once."""

    async def pushed(_: str) -> bool:
        return False

    LOOK.set(CurrentLook(SYSTEM, lambda: None, pushed, lambda: pushed("")))
    await asyncio.gather(*(at.verdict(tree, _named(tree)) for tree in trees))


def _named(tree: str) -> bytes:
    return CONFIG.replace(b"a}", tree.encode() + b"}")


async def test_the_looks_at_one_repository_take_turns_and_none_has_all() -> None:
    """The short-cut is a line for each repository: who proposes 100 packages comes first."""
    async with bench(most=4) as at:
        many = asyncio.create_task(looking(at, *(f"p{n}" for n in range(6))))
        while len(at.functions.began) < 2:
            await at.functions.called.wait()
            at.functions.called.clear()

        other = asyncio.create_task(looking(at, "q"))
        while len(at.functions.began) < 3:
            await at.functions.called.wait()
            at.functions.called.clear()

        assert b"name: q" in at.functions.began[2]
        at.functions.gate.set()
        await other
        await many


async def test_functions_that_never_end_do_not_hold_a_worker() -> None:
    """The short-cut bounds each call: a pipeline of a thousand takes hours within that bound."""
    async with bench(function_seconds=0.2) as at:
        verdict = await asyncio.wait_for(at.verdict(), 60)
        (first,) = at.workers.pids
        at.functions.gate.set()

        assert [f.message for f in verdict.blocking] == [
            "the functions of the package took more than 0.2 s together"
        ]
        patient = CachingRenderer(WorkerMaker(at.functions, at.workers))
        second = await replace(at, renderer=patient).verdict("second")
        assert second.complete
        assert {*second.seconds} == {"", *second.versions}
        assert second.seconds[""] >= sum(second.seconds[image] for image in second.versions) > 0
        assert at.workers.pids == (first,)


async def test_a_hostile_package_slows_no_other_repository() -> None:
    """The short-cut renders in the order of arrival: the last to come waits for all time limits."""
    async with bench() as at:
        at.functions.gate.set()
        hostile = [
            asyncio.create_task(at.verdict(f"h{n}", LARGE + b"# %d\n" % n, repository="hostile"))
            for n in range(2)
        ]
        await until(lambda: bool(at.workers._busy))
        (seat,) = at.workers._busy
        os.kill(seat.worker.pid, signal.SIGSTOP)  # it takes longer than all others

        fine = await asyncio.wait_for(at.verdict("fine", repository="fine"), 60)

        assert fine.complete
        assert not all(each.done() for each in hostile)
        os.kill(seat.worker.pid, signal.SIGKILL)
        for each in hostile:
            each.cancel()
        await asyncio.gather(*hostile, return_exceptions=True)


async def test_nothing_of_the_bot_is_in_the_environment_of_a_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The short-cut forks the bot: tokens and the database's address are in its memory."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://bot:hunter2@db")
    monkeypatch.setenv("PORCHBOT_GITHUB_PRIVATE_KEY", "hunter2")
    async with bench() as at:
        at.functions.gate.set()
        await at.verdict()
        of = [*at.workers.pids, parent(at.workers.pids[0])]
        said = [Path(f"/proc/{pid}/environ").read_bytes() for pid in of]
        open_files = os.listdir(f"/proc/{at.workers.pids[0]}/fd")

    assert len(said) == 2
    assert all(b"hunter2" not in each and b"PATH=" in each for each in said)
    assert len(open_files) == 4  # nothing but itself, twice; complaints; the bot


async def test_a_worker_can_reach_nothing_but_the_bot() -> None:
    """The short-cut trusts the parser: a flaw in it reads the bot's key and tells it by network."""
    async with bench() as at:
        at.functions.gate.set()
        assert (await at.verdict()).complete
        (pid,) = at.workers.pids
        status = dict(
            line.split(":\t", 1)
            for line in Path(f"/proc/{pid}/status").read_text().splitlines()
            if ":\t" in line
        )
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")  # the kernel's filter
        if os.geteuid():  # whom the system lets neither leave files nor look at those who did
            return
        alone = os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net")
        empty = os.listdir(f"/proc/{pid}/root") == []
    machine = subprocess.run([sys.executable, "-P", "-c", PROBE], capture_output=True, check=True)
    assert [alone, empty] == [b"network" in machine.stdout, b"root" in machine.stdout]
    assert not empty or set(status["Uid"].split()) == {"65534"}


def test_nothing_is_left_to_import_when_a_worker_begins() -> None:
    """Fails where a function imports what the process it is forked from has not: there are no
    files to import it from, and its package cannot be rendered."""
    said = subprocess.run(
        [sys.executable, "-P", "-c", LATE], capture_output=True, text=True, check=True
    )

    assert said.stdout.split() == ["cronsim.explain"]  # no rendering asks for it


async def test_a_worker_that_is_killed_costs_nothing() -> None:
    """Fails when one that the system ends, for want of memory, fails the look or the check."""
    async with bench() as at:
        asked = asyncio.create_task(at.verdict())
        await at.functions.called.wait()
        (pid,) = at.workers.pids
        os.kill(pid, signal.SIGKILL)
        at.functions.gate.set()

        assert (await asked).complete
        assert len(at.functions.began) == 2


async def test_a_package_whose_worker_ends_each_time_is_told_so() -> None:
    async with bench() as at:
        asked = asyncio.create_task(at.verdict())
        for _ in range(2):
            await at.functions.called.wait()
            at.functions.called.clear()
            os.kill(at.workers.pids[0], signal.SIGKILL)
            at.functions.gate.set()
            at.functions.gate.clear()

        (found,) = (await asked).blocking

        assert found.message == "the package could not be rendered: its process ended by signal 9"


async def test_workers_come_back_when_what_they_are_forked_from_dies() -> None:
    async with bench() as at:
        at.functions.gate.set()
        await at.verdict("one")
        (old,) = at.workers.pids
        server = parent(old)
        os.kill(server, signal.SIGKILL)
        # It dies with its parent, but a little later: until then it may render as well.
        await until(lambda: not runs(old))

        assert (await at.verdict("two")).complete
        (new,) = {*at.workers.pids} - {old}
        assert parent(new) != server


async def test_a_rendering_that_nobody_waits_for_frees_its_worker() -> None:
    """The short-cut lets it end by itself: pushes one after the other fill all workers."""
    async with bench() as at:
        asked = asyncio.create_task(at.verdict("old"))
        also = asyncio.create_task(at.verdict("old"))
        await at.functions.called.wait()
        pids = at.workers.pids
        asked.cancel()
        await asyncio.sleep(0)
        also.cancel()
        await asyncio.gather(asked, also, return_exceptions=True)
        at.functions.gate.set()

        assert (await at.verdict("new")).complete
        assert at.workers.pids == pids  # it remembers files: it is asked before it is ended
        assert len(at.functions.began) == 2


async def test_one_that_goes_on_all_the_same_is_ended() -> None:
    async with bench(grace=0.3) as at:
        at.functions.gate.set()
        asked = asyncio.create_task(at.verdict("large", LARGE * 2))
        await until(lambda: bool(at.workers.pids))
        (pid,) = at.workers.pids
        os.kill(pid, signal.SIGSTOP)  # it hears of nothing, however long its package takes
        await asyncio.sleep(0.05)
        asked.cancel()

        assert (await at.verdict("new")).complete
        assert pid not in at.workers.pids


async def test_a_package_goes_to_the_worker_that_remembers_it() -> None:
    """The short-cut takes any that is free: each has to read what another has read."""
    async with bench(3) as at:
        had: dict[str, set[int]] = {}
        for turn in range(3):
            for name in ("a", "b"):
                async with at.workers.turn(name, "net") as worker:
                    had.setdefault(name, set()).add(worker.pid)
            if turn == 0:
                async with at.workers.turn("a", "other") as worker:
                    assert worker.pid in had["a"]

        assert [len(pids) for pids in had.values()] == [1, 1]
        assert had["a"] != had["b"]


async def test_a_worker_reads_a_file_once() -> None:
    """Fails when each push reads the whole package again: 2 s for 2,500 files."""
    async with bench() as at:
        at.functions.gate.set()
        used, large = [], b"".join(LARGE.splitlines(keepends=True)[:40_000])
        for turn in range(2):
            files = {"a.yaml": large, "b.yaml": b"# %d\n" % turn + CONFIG.replace(b"a}", b"b}")}
            trees = Trees("acme", {str(turn): files})
            await at.renderer.verdict(trees, "net/core", str(turn), "", Policy())
            used.append(processor(at.workers.pids[0]))

        assert used[1] - used[0] < used[0] / 2


async def test_workers_that_nobody_needs_end() -> None:
    """Fails when a bot at rest holds the memory of everything it has rendered."""
    async with bench(idle=0.02) as at:
        one = asyncio.create_task(at.verdict("one"))
        await at.functions.called.wait()
        server = parent(at.workers.pids[0])  # at work it does not end
        at.functions.gate.set()
        await one
        await until(lambda: not Path(f"/proc/{server}").exists())
        await until(lambda: at.workers.pids == ())

        assert (await at.verdict("two")).complete


HOSTILE = {
    "aliases that stand for billions": b"a: &a [x, x]\n"
    + b"".join(b"b%d: &b%d [*%s, *%s]\n" % (n, n, b, b) for n, b in enumerate([b"a"] * 20)),
    "nesting that ends the stack": b"a: " + b"[" * 100_000,
    "mappings within mappings": b"".join(b" " * n + b"a:\n" for n in range(2_000)),
    "a scalar of 4 MB": CONFIG + b"data: {a: '" + b"x" * 4_000_000 + b"'}\n",
    "a scalar that folds a million times": CONFIG + b"data:\n  a: >\n" + b"   x\n\n" * 100_000,
    "merges of merges": b"a: &a {x: 1}\n"
    + b"".join(b"m%d: &m%d {<<: [*a, *a]}\n" % (n, n) for n in range(5_000)),
    "spaces and quotes for regular expressions": CONFIG
    + b"data: {a: '"
    + b" " * 200_000
    + b"\\"
    + b"a" * 200_000
    + b"'}\n",
    "comments for every line": CONFIG + b"data:\n" + b"  # a\n" * 100_000 + b"  a: b\n",
    "documents without end": b"---\n" * 50_000,
    "tags": b"a: !!python/object/apply:os.system ['true']\nb: !<" + b"x" * 100_000 + b"> 1\n",
    "a number of a million digits": CONFIG + b"data: {a: " + b"9" * 1_000_000 + b"}\n",
}


async def test_whatever_a_package_holds_there_is_a_verdict() -> None:
    """The short-cut lets what the parser does not end with end the look: no check ever comes."""
    async with bench(seconds=5) as at:
        at.functions.gate.set()
        hostile = [
            at.verdict(f"h{n}", b"# comment\n" + data) for n, data in enumerate(HOSTILE.values())
        ]
        *verdicts, other = await asyncio.gather(*hostile, at.verdict("fine", repository="other"))

    assert (other.complete, other.blocking) == (True, ())
    for name, verdict in zip(HOSTILE, verdicts, strict=True):
        assert not verdict.broken, name
        assert verdict.complete or verdict.blocking, name
