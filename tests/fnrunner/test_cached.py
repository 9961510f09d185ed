"""The cache of answers: what makes two calls the same, and what is kept of them.

Longer than 400 lines: one cache, and what makes two calls differ.
"""

import asyncio
import multiprocessing
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from fnrunner.answers import DiskAnswers, MemoryAnswers
from fnrunner.cached import Cached
from fnrunner.contract.errors import (
    FunctionNotFoundError,
    FunctionTimeoutError,
    FunctionUnavailableError,
)
from fnrunner.contract.policy import RunnerPolicy
from fnrunner.contract.run import FunctionOutcome, Granted, ResourceLimits


@dataclass
class Counting:
    """Runs one function, slowly if told to, and counts."""

    digest: str = "sha256:a"
    answers: str = ""  # what it says it ran; "" for `digest`
    failed: bool = False
    pause: float = 0.0
    ran: list[tuple[str, bytes]] = field(default_factory=list)
    stopped: int = 0

    async def identity(self, image: str) -> str:
        if image == "unknown":
            raise FunctionNotFoundError(image)
        return self.digest

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        self.ran.append((image, resources))
        try:
            async with asyncio.timeout(seconds):
                await asyncio.sleep(self.pause)
        except TimeoutError as error:
            raise FunctionTimeoutError(image, seconds or 0) from error
        except asyncio.CancelledError:
            self.stopped += 1
            raise
        results = ({"message": "no", "severity": "error"},) if self.failed else ()
        answer = b"%b after %d" % (resources, len(self.ran))
        return FunctionOutcome(answer, "said", self.failed, results, self.answers or self.digest)


def cached(
    inner: Counting, granted: Mapping[str, Granted] | None = None, disk: DiskAnswers | None = None
) -> Cached:
    return Cached(
        inner, lambda image, _: (granted or {}).get(image, Granted()), MemoryAnswers(), disk
    )


async def test_the_same_is_run_once_and_anything_else_again() -> None:
    """Short-cut: a key of the image's name: a moved tag, other limits get the old answer."""
    inner, granted = Counting(), {"f:v1": Granted()}
    runner = cached(inner, granted)
    first = await runner.run("f:v1", b"items")
    assert await runner.run("f:v1", b"items") == first
    assert len(inner.ran) == 1

    await runner.run("f:v1", b"other")
    inner.digest = "sha256:b"
    await runner.run("f:v1", b"items")
    granted["f:v1"] = Granted(bounds=ResourceLimits(seconds=1))
    await runner.run("f:v1", b"items")
    granted["f:v1"] = Granted(environment={"A": "b"})
    await runner.run("f:v1", b"items")
    assert len(inner.ran) == 5


async def test_two_names_of_one_digest_share_an_answer() -> None:
    inner = Counting()
    runner = cached(inner)
    assert await runner.run("f:v1", b"x") == await runner.run("f:latest", b"x")
    assert len(inner.ran) == 1


async def test_impure_functions_are_run_each_time() -> None:
    inner = Counting()
    runner = cached(inner, {"f": Granted(pure=False)})
    assert await runner.run("f", b"x") != await runner.run("f", b"x")


async def test_what_is_granted_to_a_digest_counts() -> None:
    """Short-cut: ask for the grant by name only, and keep the answers of an impure build."""
    inner, granted = Counting(), Granted(pure=False)
    policy = RunnerPolicy(grants=(("sha256:a", granted),))
    runner = Cached(inner, policy.granted, MemoryAnswers())
    assert await runner.run("r.io/f:v1", b"x") != await runner.run("r.io/f:v1", b"x")

    inner.digest = "sha256:b"
    assert await runner.run("r.io/f:v1", b"x") == await runner.run("r.io/f:v1", b"x")


async def test_an_answer_is_not_kept_for_what_did_not_give_it() -> None:
    """Short-cut: keep it under the digest that was looked up, though the tag has moved since."""
    inner = Counting(answers="sha256:moved")
    runner = cached(inner)
    await runner.run("f", b"x")
    await runner.run("f", b"x")
    assert len(inner.ran) == 2


async def test_a_refusal_is_kept_whole_and_an_error_is_not(tmp_path: Path) -> None:
    inner, disk = Counting(failed=True), DiskAnswers(tmp_path)
    first = await cached(inner, disk=disk).run("f", b"x")
    again = await cached(inner, disk=disk).run("f", b"x")
    disk.close()
    assert again == first
    assert again.failed
    assert again.results[0]["message"] == "no"

    slow = Counting(pause=600)
    runner = cached(slow)
    for _ in range(2):
        with pytest.raises(FunctionTimeoutError):
            await runner.run("f", b"x", seconds=0.01)
    assert len(slow.ran) == 2
    with pytest.raises(FunctionNotFoundError):
        await runner.run("unknown", b"x")


async def test_the_same_call_at_the_same_time_is_run_once() -> None:
    inner = Counting(pause=0.05)
    runner = cached(inner)
    answers = await asyncio.gather(*(runner.run("f", b"x") for _ in range(5)))
    assert len(inner.ran) == 1
    assert len(set(map(id, answers))) == 1


async def test_who_goes_away_stops_it_only_if_nobody_else_waits() -> None:
    """Short-cut: cancel the shared call with the first who goes, under all others."""
    inner = Counting(pause=0.2)
    runner = cached(inner)
    first, second = (asyncio.create_task(runner.run("f", b"x")) for _ in range(2))
    await asyncio.sleep(0.02)
    first.cancel()
    assert (await second).log == "said"
    assert (len(inner.ran), inner.stopped) == (1, 0)

    inner.pause = 600
    alone = asyncio.create_task(runner.run("f", b"y"))
    await asyncio.sleep(0.02)
    alone.cancel()
    async with asyncio.timeout(60):
        while not inner.stopped:
            await asyncio.sleep(0.01)


async def test_who_has_more_time_does_not_share_the_end_of_who_has_less() -> None:
    inner = Counting(pause=0.2)
    runner = cached(inner)
    hasty = asyncio.create_task(runner.run("f", b"x", seconds=0.05))
    await asyncio.sleep(0.01)
    patient = await runner.run("f", b"x", seconds=600)
    assert patient.log == "said"
    with pytest.raises(FunctionTimeoutError):
        await hasty


def test_memory_forgets_what_was_used_longest_ago() -> None:
    memory = MemoryAnswers(limit_bytes=25_000)
    for name in "abc":
        memory.put(name, FunctionOutcome(name.encode() * 10_000))
        memory.get("a")
    assert memory.get("a") is not None
    assert memory.get("b") is None
    assert memory.get("c") is not None
    assert memory.used_bytes <= 25_000
    memory.put("large", FunctionOutcome(b"x" * 30_000))
    assert memory.get("large") is None
    assert memory.get("a") is not None


def test_memory_counts_what_an_answer_takes_besides_its_text() -> None:
    """Short-cut: count the text alone: a million tiny answers then take a gigabyte."""
    memory = MemoryAnswers(limit_bytes=100_000)
    for number in range(1000):
        memory.put(str(number), FunctionOutcome(b"x"))
    assert sum(memory.get(str(number)) is not None for number in range(1000)) < 100


def test_the_disk_stays_within_its_bound(tmp_path: Path) -> None:
    disk = DiskAnswers(tmp_path, limit_bytes=20_000)
    for number in range(400):
        disk.put(str(number), FunctionOutcome(str(number).encode() * 7, log=f"{number}"))
    with sqlite3.connect(tmp_path / "answers.sqlite") as database:
        held, count = database.execute("SELECT sum(size), count(*) FROM answers").fetchone()
    database.close()
    assert 0 < held < 25_000
    assert 0 < count < 400
    assert disk.get("399") is not None
    assert disk.get("0") is None
    disk.close()


def test_the_disk_forgets_what_was_used_longest_ago(tmp_path: Path) -> None:
    """Short-cut: what was put there longest ago, however often it was asked for since."""
    disk = DiskAnswers(tmp_path)
    for key in ("old", "older"):
        disk.put(key, FunctionOutcome(bytes(range(256)) * 8))
    with sqlite3.connect(tmp_path / "answers.sqlite") as database:
        database.execute("UPDATE answers SET used = used - 7200 WHERE key = 'older'")
        database.execute("UPDATE answers SET used = used - 3600 WHERE key = 'old'")
        (size,) = database.execute("SELECT size FROM answers LIMIT 1").fetchone()
    database.close()
    assert disk.get("older") is not None
    disk.close()

    disk = DiskAnswers(tmp_path, limit_bytes=int(size * 2.5))
    disk.put("new", FunctionOutcome(bytes(range(256)) * 8))
    kept = [key for key in ("old", "older", "new") if disk.get(key) is not None]
    disk.close()
    assert kept == ["older", "new"]


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 100])
def test_a_broken_database_is_begun_anew(tmp_path: Path, damage: bytes) -> None:
    file = tmp_path / "answers.sqlite"
    disk = DiskAnswers(tmp_path)
    disk.put("a", FunctionOutcome(b"x"))
    disk.close()
    for each in tmp_path.iterdir():
        each.unlink()
    file.write_bytes(damage)
    disk = DiskAnswers(tmp_path)
    assert disk.get("a") is None
    disk.put("a", FunctionOutcome(b"y"))
    assert disk.get("a") == FunctionOutcome(b"y")
    disk.close()


def test_an_entry_that_cannot_be_read_is_no_answer(tmp_path: Path) -> None:
    disk = DiskAnswers(tmp_path)
    disk.put("a", FunctionOutcome(b"x"))
    database = sqlite3.connect(tmp_path / "answers.sqlite")
    with database:
        database.execute("UPDATE answers SET answer = ?", (b"rubbish",))
    database.close()
    assert disk.get("a") is None
    disk.put("a", FunctionOutcome(b"y"))
    assert disk.get("a") == FunctionOutcome(b"y")
    disk.close()


def test_what_is_kept_outlives_a_call_that_comes_after_the_end(tmp_path: Path) -> None:
    """Short-cut: take a closed database for a broken one, and remove what others share."""
    disk = DiskAnswers(tmp_path)
    disk.put("a", FunctionOutcome(b"x"))
    disk.close()
    assert disk.get("a") is None
    disk.put("b", FunctionOutcome(b"y"))
    disk = DiskAnswers(tmp_path)
    assert disk.get("a") == FunctionOutcome(b"x")
    disk.close()


def test_a_database_that_is_held_is_not_removed(tmp_path: Path) -> None:
    """Short-cut: begin anew after any error, under the process that holds the database."""
    DiskAnswers(tmp_path).close()
    holder = sqlite3.connect(tmp_path / "answers.sqlite", isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    holder.execute("INSERT INTO answers VALUES ('held', x'00', 1, 0)")
    before = (tmp_path / "answers.sqlite").stat().st_ino
    with pytest.raises(OSError, match="cannot be opened: database is locked"):
        DiskAnswers(tmp_path, wait=0.1)
    assert (tmp_path / "answers.sqlite").stat().st_ino == before
    holder.close()


def test_a_folder_that_takes_no_database_is_an_error_with_its_path() -> None:
    with pytest.raises(OSError, match=r"cache\.folder /proc/self: answers\.sqlite cannot be"):
        DiskAnswers(Path("/proc/self"))


def test_a_folder_below_a_file_is_an_error_with_its_path_and_a_remedy(tmp_path: Path) -> None:
    """Short-cut: say "[Errno 20] Not a directory", and no more."""
    (tmp_path / "file").touch()
    said = r"cache\.folder .*/file/answers: it cannot be made: Not a directory\. Make it writable"
    with pytest.raises(OSError, match=said):
        DiskAnswers(tmp_path / "file/answers")


def _open(folder: str, both: Barrier) -> None:
    for number in range(20):
        both.wait(60)
        DiskAnswers(Path(folder, str(number)), wait=60).close()


def test_processes_make_it_at_the_same_time(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    both = context.Barrier(2)
    each = [context.Process(target=_open, args=(str(tmp_path), both)) for _ in range(2)]
    for process in each:
        process.start()
    for process in each:
        process.join(60)
    assert [process.exitcode for process in each] == [0, 0]


def _write(folder: str, name: str) -> None:
    disk = DiskAnswers(Path(folder), wait=60)
    for number in range(50):
        disk.put(f"{name}{number}", FunctionOutcome(name.encode() * 1000))
        assert disk.get(f"{name}{number}") is not None
    disk.close()


def test_processes_share_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=_write, args=(str(tmp_path), name)) for name in "ab"]
    for each in both:
        each.start()
    for each in both:
        each.join(60)
    assert [each.exitcode for each in both] == [0, 0]
    disk = DiskAnswers(tmp_path)
    assert all(disk.get(f"{name}{number}") for name in "ab" for number in range(50))
    disk.close()


def test_one_answer_that_cannot_be_read_takes_no_other_along(tmp_path: Path) -> None:
    """Short-cut: begin the whole database anew, which all processes share."""
    disk = DiskAnswers(tmp_path)
    for key in ("a", "b"):
        disk.put(key, FunctionOutcome(key.encode()))
    database = sqlite3.connect(tmp_path / "answers.sqlite")
    with database:
        database.execute("UPDATE answers SET answer = x'00' WHERE key = 'a'")
    database.close()

    assert [disk.get(key) for key in ("a", "b")] == [None, FunctionOutcome(b"b")]
    disk.put("a", FunctionOutcome(b"again"))
    assert disk.get("a") == FunctionOutcome(b"again")
    disk.close()


def test_a_database_that_cannot_be_begun_anew_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short-cut: let the call fail for which an answer was looked up."""
    disk = DiskAnswers(tmp_path)

    def broken(*_: object) -> None:
        raise sqlite3.DatabaseError("malformed")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk, "_get", broken)
    monkeypatch.setattr(disk, "_open", full)
    assert disk.get("a") is None
    disk.put("a", FunctionOutcome(b"x"))
    assert disk.get("a") is None
    disk.close()


class Held(Counting):
    """Runs one function until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = asyncio.Event()
        self.given: list[float | None] = []

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        self.given.append(seconds)
        async with asyncio.timeout(seconds):
            await self.let_go.wait()
        return await super().run(image, resources)


async def test_a_deadline_is_its_own_callers_alone() -> None:
    """Short-cut: run it with the first caller's time; who joined then starts anew, or fails."""
    inner = Held()
    runner = cached(inner)
    hasty = asyncio.create_task(runner.run("f", b"x", seconds=0.02))
    await asyncio.sleep(0)
    patient = asyncio.create_task(runner.run("f", b"x", seconds=60))
    later = asyncio.create_task(runner.run("f", b"x", seconds=0.03))
    for each in (hasty, later):
        with pytest.raises(FunctionTimeoutError, match=r"within 0\.0\d seconds"):
            await each
    inner.let_go.set()

    assert (await patient).log == "said"
    assert len(inner.given) == 1


@pytest.mark.parametrize("which", [0, 1])
async def test_whoever_goes_away_leaves_the_run_to_the_other(which: int) -> None:
    inner = Held()
    runner = cached(inner)
    both = [asyncio.create_task(runner.run("f", b"x", seconds=60)) for _ in range(2)]
    await asyncio.sleep(0.01)
    both[which].cancel()
    await asyncio.sleep(0.01)
    inner.let_go.set()

    assert (await both[1 - which]).log == "said"
    assert len(inner.given) == 1


async def test_who_comes_after_the_last_has_left_does_not_get_its_end() -> None:
    """Short-cut: join a run that is being stopped."""
    inner = Held()
    runner = cached(inner)
    with pytest.raises(FunctionTimeoutError):
        await runner.run("f", b"x", seconds=0.01)
    inner.let_go.set()
    assert (await runner.run("f", b"x", seconds=60)).log == "said"


async def test_a_slow_image_is_each_callers_own_wait() -> None:
    """Short-cut: bring it within the shared run, which has no deadline to speak of."""
    inner = Counting()
    waited: list[float | None] = []

    async def ready(_: str, seconds: float | None) -> None:
        waited.append(seconds)
        if seconds is not None and seconds < 1:
            raise FunctionUnavailableError("f", "still being pulled", "Try again", passing=True)

    runner = Cached(inner, lambda *_: Granted(), MemoryAnswers(), ready=ready)
    hasty, patient = (runner.run("f", b"x", seconds=each) for each in (0.5, 60.0))
    found = await asyncio.gather(hasty, patient, return_exceptions=True)
    assert isinstance(found[0], FunctionUnavailableError)
    assert isinstance(found[1], FunctionOutcome)
    assert len(waited) == 2
    await runner.run("f", b"x", seconds=0.5)  # kept: nothing has to be brought
    assert len(waited) == 2
