"""Deduplicates work in threads: concurrent callers of one key share one run.

Rules
- What is asked of one host never takes all threads: a host that is slow keeps its own waiting.
- What nobody waits for any more is not begun; what has begun is told to stop. Where whoever waited
  was told to come again, it goes on for a while.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, TypeVar

from fnrunner.contract.errors import RunnerBusyError

T = TypeVar("T")

_RETRY_AFTER: Final = 1.0  # seconds until another runner has taken this one's place


class Stop:
    """Tells work in a thread that the caller is no longer waiting for it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._told: list[Callable[[], None]] = []
        self.set = False

    def calls(self, told: Callable[[], None]) -> None:
        """Have something called, from any thread, when nobody waits any more; at once if so."""
        with self._lock:
            self._told.append(told)
            if not self.set:
                return
        told()

    def now(self) -> None:
        """Say that nobody waits any more."""
        with self._lock:
            self.set = True
            told = tuple(self._told)
        for each in told:
            each()


@dataclass(slots=True, eq=False)
class _Job:
    """Something that is done, or waits to be."""

    work: Callable[[], Any]
    host: str
    loop: asyncio.AbstractEventLoop
    stop: Stop
    waiting: int = 0
    task: asyncio.Task[Any] | None = None
    running: Future[Any] | None = None


@dataclass(slots=True)
class _Gate:
    """How many may be at work for one host, and how many use this."""

    turns: asyncio.Semaphore
    users: int = 0


class SingleFlight:
    """Threads, and what is being done in them by a key."""

    def __init__(
        self, threads: int, name: str, *, each: int | None = None, linger: float = 0.0
    ) -> None:
        """Make them; they start when they are needed.

        Args:
            threads: How much is done at the same time.
            name: What the threads are called.
            each: How much of that for one host; None for as much as there is.
            linger: How long work goes on for callers who were told to come again, in seconds.
        """
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._each = each or threads
        self._linger = linger
        self._jobs: dict[str, _Job] = {}
        self._gates: dict[tuple[int, str], _Gate] = {}

    def close(self) -> None:
        """Do nothing more; what is being done is waited for. May be called from any thread."""
        for job in list(self._jobs.values()):
            if job.running is None and job.task is not None and not job.loop.is_closed():
                job.loop.call_soon_threadsafe(job.task.cancel)
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def do(
        self,
        key: str,
        work: Callable[[], T],
        *,
        host: str = "",
        stop: Stop | None = None,
        seconds: float | None = None,
    ) -> T:
        """Do something, or wait for who does it already.

        Args:
            key: Always stands for the same work.
            work: Done in a thread; its errors are for all who wait.
            host: Whom it asks.
            stop: Is told when nobody waits any more.
            seconds: How long the caller waits, who then comes again; None for as long as it takes.

        Raises:
            RunnerBusyError: It was closed.
            TimeoutError: It is not done in time, and goes on for a while.
        """
        job = self._jobs.get(key)
        loop = asyncio.get_running_loop()
        if job is None or job.loop is not loop or job.stop.set:
            job = self._jobs[key] = _Job(work, host, loop, stop or Stop())
            job.task = loop.create_task(self._done(key, job))
            job.task.add_done_callback(lambda done: done.cancelled() or done.exception())
        assert job.task is not None  # noqa: S101 - made with it
        job.waiting += 1
        linger = 0.0
        try:
            await asyncio.wait({job.task}, timeout=seconds)
            if not job.task.done():
                linger = self._linger
                raise TimeoutError
            if job.task.cancelled():  # its turn never came
                raise _ending()
            result: T = job.task.result()
            return result
        finally:
            job.waiting -= 1
            if linger:
                loop.call_later(linger, self._left, key, job)
            else:
                self._left(key, job)

    def _left(self, key: str, job: _Job) -> None:
        """Stop what nobody waits for any more."""
        if job.waiting or job.task is None or job.task.done():
            return
        if self._jobs.get(key) is job:
            del self._jobs[key]
        if job.running is None or job.running.cancel():
            job.task.cancel()  # nobody has begun it
        job.stop.now()

    async def _done(self, key: str, job: _Job) -> Any:
        try:
            async with self._turn(job):
                try:
                    job.running = self._threads.submit(job.work)
                except RuntimeError as error:
                    raise _ending() from error
                return await asyncio.wrap_future(job.running)
        finally:
            if self._jobs.get(key) is job:
                del self._jobs[key]

    @asynccontextmanager
    async def _turn(self, job: _Job) -> AsyncIterator[None]:
        key = (id(job.loop), job.host)
        gate = self._gates.setdefault(key, _Gate(asyncio.Semaphore(self._each)))
        gate.users += 1
        try:
            async with gate.turns:
                yield
        finally:
            gate.users -= 1
            if not gate.users:
                del self._gates[key]


def _ending() -> RunnerBusyError:
    return RunnerBusyError("the runner", "it is being stopped", _RETRY_AFTER)
