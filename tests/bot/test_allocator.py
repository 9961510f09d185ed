"""What the C library keeps of what was freed, in a process of its own."""

import ctypes
import os
import subprocess
import sys

import pytest

_FREE = """
import ctypes, sys
from bot.allocator import gives_back

class Info(ctypes.Structure):
    _fields_ = [(f"field{n}", ctypes.c_size_t) for n in range(10)]

mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Info
if sys.argv[1] == "gives back":
    gives_back()
large = b"x" * 2**23
del large
texts, kept = [], []
for n in range(64):
    texts.append(b"x" * 2**19)
    kept.append(bytes([n]) * 2**12)
texts.clear()
print(mallinfo().field8)
"""
"""Answers of half a mebibyte come and go; a little of what was made of each stays. Told are the
bytes that are free in the heap (`fordblks`)."""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="another C library")
def test_what_was_freed_is_given_back() -> None:
    """Short-cuts refused: nothing is set; or what is freed is given back at the end of a heap
    alone, where what stays lies behind it."""

    # `make test` has what is small allocated by the C library too, and in pages of 2 MiB.
    left_out = {"GLIBC_TUNABLES", "PYTHONMALLOC"}
    environment = {name: value for name, value in os.environ.items() if name not in left_out}

    def free(how: str) -> int:
        asked = [sys.executable, "-c", _FREE, how]
        done = subprocess.run(asked, check=True, capture_output=True, text=True, env=environment)
        return int(done.stdout)

    assert free("gives back") < 3_000_000
    assert free("as it is") > 20_000_000, "then nothing has to be set any more"
