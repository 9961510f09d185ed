"""What the allocator of the C library does with memory that was freed: it gives it back.

Left alone, glibc raises two bounds to the largest block that was ever freed, up to 32 MiB: blocks
below the first are cut from a heap that only shrinks at its end, and it shrinks once twice as much
is free there. An answer of a forge is a megabyte, so that after one list of pull requests all texts
of answers lie in that heap, between what stays. It also begins a heap for each thread. With the
bounds that it starts with, and one heap, what a look took is given back after it (ADR 86).
"""

import ctypes
from typing import Final

_TRIM, _MMAP, _ARENAS = -1, -3, -8
"""M_TRIM_THRESHOLD, M_MMAP_THRESHOLD and M_ARENA_MAX of glibc's malloc.h."""

BOUND: Final = 128 * 1024
"""Bytes: what glibc starts with for both, and says in mallopt(3)."""


def gives_back() -> None:
    """Have freed memory given back from now on; other C libraries do so, or know nothing of it."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for what, bound in ((_MMAP, BOUND), (_TRIM, BOUND), (_ARENAS, 1)):
            mallopt(what, bound)
