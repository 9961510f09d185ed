"""Processor time of the bot by itself, where the sandbox forge runs in the same process.

The bot's is what its loop, the work that it hands to threads and the git that it starts take; the
rest is the forge's.
"""

import asyncio
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_OURS = ("bot.git.", "bot.upstream.")
"""Modules whose processes are the bot's."""


@dataclass(slots=True)
class Spent:
    """Seconds of the processor.

    Attributes:
        own: The bot's, its git among them.
        git: Of these, in git.
        all: Of this process and all that it started and that ended.
    """

    own: float = 0.0
    git: float = 0.0
    all: float = 0.0


class Meter:
    """Counts while it is entered; `offload` is what the bot is given to hand work to threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads = self._git = 0.0

    async def offload(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """As `bot.clock.in_thread`."""
        return await asyncio.to_thread(self._timed, work, *args, **kwargs)

    def _timed(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        began = time.thread_time()
        try:
            return work(*args, **kwargs)
        finally:
            with self._lock:
                self._threads += time.thread_time() - began

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count the git that the bot starts, by what the system says when it has ended."""
        meter, plain = self, subprocess.Popen

        class Counted(plain):  # type: ignore[misc, valid-type]  # of bytes and of text alike
            def __init__(self, *arguments: Any, **more: Any) -> None:
                by = str(sys._getframe(1).f_globals.get("__name__"))
                self._ours = by.startswith(_OURS)
                super().__init__(*arguments, **more)

            def _try_wait(self, wait_flags: int) -> tuple[int, int]:
                try:
                    pid, status, used = os.wait4(self.pid, wait_flags)
                except ChildProcessError:
                    return self.pid, 0
                if pid and self._ours:
                    with meter._lock:
                        meter._git += used.ru_utime + used.ru_stime
                return pid, status

        subprocess.Popen = Counted  # type: ignore[misc]
        try:
            yield
        finally:
            subprocess.Popen = plain  # type: ignore[misc]

    def now(self) -> Spent:
        """What was spent until now; asked for in the thread of the loop."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        with self._lock:
            own = time.thread_time() + self._threads + self._git
            whole = time.process_time() + ended.ru_utime + ended.ru_stime
            return Spent(own, self._git, whole)
