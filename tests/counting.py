"""How much work a piece of code does, counted: the same however slow or busy the machine is.

Tests of growth count lines or calls of our own code. What runs by the way is not counted: imports
of other packages, garbage collection, what measuring coverage puts into functions. Only where the
work is done in C, by regular expressions for instance, is there nothing to count: there, two sizes
are timed beside each other, and the room between what passes and what fails is wide.
"""

import gc
import multiprocessing
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from time import thread_time
from types import FrameType
from typing import Any

_ROOT = Path(__file__).resolve().parent.parent
# Beside our folders: methods that dataclasses and named tuples of ours have.
OURS = (
    *(f"{_ROOT / folder}/" for folder in ("bot", "cadlib", "fnrunner", "lifecycle")),
    "<string>",
    "/dataclasses.py",
)


def lines(work: Callable[[], object], within: Sequence[str] = OURS) -> int:
    """Count the lines that a piece of work runs; those of a comprehension each time round.

    Args:
        work: Runs in this thread; what it does in others is not counted.
        within: Parts of the paths of the files whose lines count.
    """
    count = 0
    counted = _counted(within)

    def traced(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if event == "line":
            count += 1
        return traced

    def called(frame: FrameType, _event: str, _: object) -> Any:
        return traced if counted(frame.f_code.co_filename) else None

    before = sys.gettrace()
    with _no_collection():
        sys.settrace(called)
        try:
            work()
        finally:
            sys.settrace(before)
    return count


def calls(work: Callable[[], object], within: Sequence[str] = OURS) -> int:
    """Count the calls that code makes, of functions in C too, here and in threads that begin.

    Args:
        work: Runs in this thread.
        within: Parts of the paths of the files that make the calls.
    """
    count = 0
    counted = _counted(within)

    def seen(frame: FrameType, event: str, given: Any) -> None:
        nonlocal count
        if event not in ("call", "c_call") or not counted(frame.f_code.co_filename):
            return
        if not str(getattr(given, "__module__", None)).startswith("slipcover"):
            count += 1

    before, everywhere = sys.getprofile(), threading.getprofile()
    with _no_collection():
        threading.setprofile(seen)
        sys.setprofile(seen)
        try:
            work()
        finally:
            sys.setprofile(before)
            threading.setprofile(everywhere)
    return count


def peak_memory(work: Callable[[], object]) -> int:
    """Measure the most bytes that Python held at once for a piece of work, in a process of its own.

    Here it would count what other threads and what measures coverage allocate meanwhile, and what
    the work imports, if no test before has.

    Args:
        work: A function of a module, which is imported by name there. It is done twice, and
            measured the second time.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as process:
        return process.submit(_peak_memory, work).result()


def _peak_memory(work: Callable[[], object]) -> int:
    work()
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    return peak


def assert_in_proportion(
    work: Callable[[int], Callable[[], object]],
    size: int,
    count: Callable[[Callable[[], object]], int] = lines,
) -> None:
    """Assert that eight times the size takes less than twelve times the work.

    Quadratic work takes up to 64 times as much. Fails as well where the work is not seen: less
    than one for each.

    Args:
        work: Makes the work of a size. Each is done once, since work may remember.
        size: The smaller one.
        count: Says how much work it is.
    """
    few, many = count(work(size)), count(work(8 * size))
    assert size <= few
    assert many < 12 * few, f"{size}: {few}, {8 * size}: {many}"


def assert_seconds_in_proportion(
    work: Callable[[int], Callable[[], object]], size: int, rounds: int = 12
) -> None:
    """Assert that sixteen times the size takes less than 64 times as long, for work done in C.

    Quadratic work takes up to 256 times as long. It is the thread's processor time, the shortest
    of each size, and only what is too slow in all rounds is; a busy machine slows both alike. What
    takes a twentieth of a second is quick enough, whatever the smaller size took.

    Args:
        work: Makes the work of a size.
        size: The smaller one.
        rounds: How often both are done before it is called too slow.
    """
    small = large = float("inf")
    for _ in range(rounds):
        small = min(small, _seconds(work(size)))
        large = min(large, _seconds(work(16 * size)))
        if large < max(64 * small, 0.05):
            return
    raise AssertionError(f"{size}: {small:.4f} s, {16 * size}: {large:.4f} s")


def _seconds(work: Callable[[], object]) -> float:
    with _no_collection():
        begun = thread_time()
        work()
        return thread_time() - begun


def _counted(within: Sequence[str]) -> Callable[[str], bool]:
    return cache(lambda path: any(part in path for part in within))


@contextmanager
def _no_collection() -> Iterator[None]:
    """What the collector looks through and ends is what all tests before left."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
