"""What is kept of texts: bounded in bytes, and useful where more is read than there is room for."""

import sys
from concurrent.futures import ThreadPoolExecutor

from lifecycle.commands.kept import SizeBoundedCache


def test_what_is_kept_is_bounded_in_bytes() -> None:
    """Short-cuts count values, however long they are, or never make room again once a value took
    the place of another of its key.
    """
    kept: SizeBoundedCache[int, str] = SizeBoundedCache(10_000)
    for number in range(1_000):
        kept.put(number % 700, "x", 10 if number < 500 else 100)
        assert sum(size for _, size in kept._values.values()) <= 10_000

    assert kept.get(999 % 700) == "x"
    assert kept.get(-1) is None


def test_of_more_than_there_is_room_for_some_is_found_each_time() -> None:
    """The short-cut lets the oldest go: each is gone right before its turn comes again."""
    kept: SizeBoundedCache[int, str] = SizeBoundedCache(1_000)
    found = []
    for _ in range(10):
        found.append(0)
        for number in range(150):
            if kept.get(number) is not None:
                found[-1] += 1
            else:
                kept.put(number, "x", 10)

    assert found[0] == 0
    assert min(found[1:]) >= 15


def test_several_threads_may_use_it() -> None:
    """Short-cuts look for the oldest while another thread adds one (a RuntimeError, by chance), or
    lose for good what two of them added at once to the sum: then more is kept than may be.
    """
    kept: SizeBoundedCache[int, str] = SizeBoundedCache(1_000)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            for work in [pool.submit(_fill, kept, start) for start in range(4)]:
                work.result()
    finally:
        sys.setswitchinterval(interval)
    kept.put(-1, "x", 990)  # makes room, and counts anew

    assert kept._size == sum(size for _, size in kept._values.values()) <= 1_000


def _fill(kept: SizeBoundedCache[int, str], start: int) -> None:
    for number in range(start, 40_000, 4):
        kept.put(number, "x", 10)
        kept.get(number - 8)
