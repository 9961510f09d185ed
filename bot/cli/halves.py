"""Splits work in two: one half in this process, the other in a forked child.

Rules
- Only a process of one thread may be forked, and only on the command line is there one.
- What the child cannot do is done here after all, so an error is raised here.
"""

import marshal
import os
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
Made = TypeVar("Made", bytes, tuple[bytes, list[str]])


def pays() -> bool:
    """Tell whether a second process can work meanwhile, and may be forked."""
    if not hasattr(os, "fork") or threading.active_count() > 1:
        return False
    affinity = getattr(os, "sched_getaffinity", None)
    return (len(affinity(0)) if affinity else os.cpu_count() or 1) > 1


def both(work: Callable[[T], Made], first: T, second: T) -> tuple[Made, Made]:
    """Return what `work` makes of either half, the second made by another process meanwhile.

    Args:
        work: It must not depend on what was done with the other half, and doing it again must
            come to the same: writing a file is well, appending to it is not.
        first: One half.
        second: The other.
    """
    if not pays():
        return work(first), work(second)
    source, target = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(source)
            with os.fdopen(target, "wb") as pipe:
                marshal.dump(work(second), pipe)
            status = 0
        finally:  # never return into the code of the parent, nor flush what it has buffered
            os._exit(status)
    os.close(target)
    with os.fdopen(source, "rb") as pipe:
        try:
            ours = work(first)
            theirs = pipe.read()
        finally:
            pipe.close()  # a child that still writes ends by that
            _, ended = os.waitpid(child, 0)
    if ended != 0:
        return ours, work(second)
    made: Made = marshal.loads(theirs)  # noqa: S302 - written by our own child
    return ours, made
