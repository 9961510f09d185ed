"""What the C library keeps of what was freed, in a process of its own."""

import platform
import subprocess
import sys

import pytest

_HOLDS = """
import sys
from pathlib import Path
from bot.allocator import gives_back

def held():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(each.split()[1]) for each in lines if each.startswith("VmRSS:"))

if sys.argv[1] == "gives back":
    gives_back()
large = b"x" * 2**23
del large
before, texts, kept = held(), [], []
for n in range(64):
    texts.append(b"x" * 2**19)
    kept.append(bytes([n]) * 2**12)
most = held() - before
texts.clear()
print(most, held() - before)
"""
"""Answers of half a mebibyte come and go; a little of what was made of each stays. KiB are told."""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_what_was_freed_is_given_back() -> None:
    """Short-cuts refused: nothing is set; or what is freed is given back at the end of a heap
    alone, where what stays lies behind it."""

    def held(how: str) -> tuple[int, int]:
        told = subprocess.run(
            [sys.executable, "-c", _HOLDS, how], check=True, capture_output=True, text=True
        ).stdout.split()
        return int(told[0]), int(told[1])

    most, left = held("gives back")
    assert most > 30_000
    assert left < 3_000
    assert held("as it is")[1] > 20_000, "then nothing has to be set any more"
