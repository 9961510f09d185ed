"""A runner of the builtin functions, in warm worker processes.

Rules:
- A worker runs one function at a time. Calls that find none free wait, first come, first served.
- The worker that was used last is used next: it may remember the resources.
- A worker is ended, and another takes its place, when the time of its call is up, when its
  caller went away and it does not finish soon, and when it went over its limit of memory.
- Workers that nobody has called for a while end: they hold what they remember.
- Workers end with the runner, however that ends.
- What functions of other kinds wrote is read here as well: it may be anything, and take long.
"""

import asyncio
import os
import weakref
from collections.abc import Sequence
from typing import Final

from fnrunner.builtin import frames
from fnrunner.builtin.frames import CallStatus, WorkerAnswer
from fnrunner.builtin.lookup import PREFIXES, find
from fnrunner.builtin.version import behaviour, version
from fnrunner.builtin.worker import MESSAGE_BYTES, BuiltinWorkerEndedError, BuiltinWorkerProcess
from fnrunner.contract.errors import (
    FunctionStoppedError,
    FunctionTimeoutError,
    MessageTooLargeError,
    ResourcesRefusedError,
    RunnerBrokenError,
    RunnerBusyError,
)
from fnrunner.contract.results import Result
from fnrunner.contract.run import MIB, FunctionOutcome

MEMORY_BYTES: Final = 1024 * MIB
GRACE: Final = 0.3
"""Seconds that a call without a caller may go on: to start a worker takes as long as many calls."""
IDLE: Final = 300.0
"""Seconds without a call until workers end; the next call waits a quarter of a second for one."""
_RETRY_AFTER: Final = 1.0  # seconds until another runner has taken this one's place


class Builtin:
    """A runner of the builtin functions. Whoever makes one closes it in the end."""

    def __init__(
        self,
        prefixes: Sequence[str] = PREFIXES,
        *,
        running: int = 4,
        memory_bytes: int = MEMORY_BYTES,
        message_bytes: int = MESSAGE_BYTES,
        idle: float = IDLE,
        grace: float = GRACE,
    ) -> None:
        """Make a runner; its workers start when they are first needed, or with `start`.

        Args:
            prefixes: Registries and folders whose functions the builtin ones stand for; a
                short name means the first.
            running: Functions that run at the same time, each in a worker; at least 1.
            memory_bytes: Memory of one worker.
            message_bytes: Longest list that a function may answer with.
            idle: Seconds without a call until workers end.
            grace: Seconds that a call goes on after its caller went away.
        """
        self._grace = grace
        self._idle = idle
        self._last = 0.0
        self._resting: asyncio.TimerHandle | None = None
        self._prefixes = tuple(prefixes)
        self._most = running
        self._memory_bytes = memory_bytes
        self._message_bytes = message_bytes
        self._turns = asyncio.Semaphore(running)
        self._workers: set[BuiltinWorkerProcess] = set()
        self._free: list[BuiltinWorkerProcess] = []
        self._calls: set[asyncio.Task[WorkerAnswer]] = set()
        self._ending: set[asyncio.Task[int]] = set()
        self._closed = False

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of its workers, sorted."""
        return tuple(sorted(worker.pid for worker in self._workers))

    def start(self) -> None:
        """Start a worker for each core now, so that the first calls need not wait for them."""
        version()
        while len(self._workers) < min(self._most, len(os.sched_getaffinity(0))):
            self._free.append(self._another())
        self._rest_later(asyncio.get_running_loop())

    async def identity(self, image: str) -> str:
        """Return the function and its version, as in `FunctionOutcome.digest`.

        Raises:
            FunctionNotFoundError: No builtin function is meant.
        """
        return _identity(find(image, self._prefixes).name)

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        """Run it; see `Runner.run`.

        Raises:
            FunctionNotFoundError: No builtin function is meant.
            FunctionTimeoutError: It took longer than `seconds`, the wait for its turn included.
            FunctionStoppedError: It went over its limit of memory.
            ResourcesRefusedError: `resources` is not a ResourceList.
            RunnerBusyError: The runner was closed meanwhile, or the system has no process for it.
            RunnerBrokenError: A bug; the cause tells more.
        """
        name = find(image, self._prefixes).name
        return self._outcome(image, name, await self._called(image, name, resources, seconds))

    async def read(
        self, image: str, data: bytes, *, seconds: float | None = None
    ) -> tuple[Result, ...]:
        """Read what a function of another kind wrote.

        Args:
            image: The function, as it was asked for.
            data: What it wrote; anything.
            seconds: How long the caller waits.

        Returns:
            Entries of `results`, as many as can travel.

        Raises:
            ResourcesRefusedError: It is no ResourceList.
            FunctionStoppedError: To read it takes too much memory, or time.
            RunnerBusyError: As `run`.
            RunnerBrokenError: As `run`.
        """
        answer = await self._called(image, frames.READ, data, seconds)
        return self._outcome(image, frames.READ, answer).results

    async def _called(
        self, image: str, name: str, resources: bytes, seconds: float | None
    ) -> WorkerAnswer:
        try:
            async with asyncio.timeout(seconds):
                return await self._answer(image, name, resources)
        except TimeoutError as error:
            raise FunctionTimeoutError(image, seconds or 0) from error
        except BuiltinWorkerEndedError as error:
            if error.over_memory:
                allowed = f"{self._memory_bytes // MIB} MiB"
                raise FunctionStoppedError(image, "memory", allowed) from error
            raise RunnerBrokenError(f'function "{image}"', str(error)) from error

    async def close(self) -> None:
        """End all workers. Calls that run or wait end with RunnerBusyError."""
        self._closed = True
        if self._resting is not None:
            self._resting.cancel()
        for call in self._calls:
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)
        await asyncio.sleep(0)  # the ends of calls are told to `_over`, which lets others in
        for worker in list(self._workers):
            self._end(worker)
        await asyncio.gather(*self._ending)

    async def _answer(self, image: str, name: str, resources: bytes) -> WorkerAnswer:
        """Have a worker answer, once one is free."""
        await self._turns.acquire()
        try:
            if self._closed:
                raise RunnerBusyError(f'function "{image}"', "the runner ends", _RETRY_AFTER)
            worker = self._take()
        except OSError as error:  # too many processes or open files, which passes
            self._turns.release()
            said = f"no process can be started for it: {error.strerror}"
            raise RunnerBusyError(f'function "{image}"', said, _RETRY_AFTER) from error
        except BaseException:
            self._turns.release()
            raise
        # A task of its own, which ends in order when the caller goes away.
        call = asyncio.create_task(worker.call(name, resources))
        self._calls.add(call)
        call.add_done_callback(lambda done: self._over(worker, done))
        try:
            return await asyncio.shield(call)
        except asyncio.CancelledError:
            if call.cancelled():
                raise RunnerBusyError(
                    f'function "{image}"', "the runner ends", _RETRY_AFTER
                ) from None
            call.get_loop().call_later(self._grace, call.cancel)
            raise

    def _take(self) -> BuiltinWorkerProcess:
        if not self._workers:
            self.start()
        while self._free:
            worker = self._free.pop()
            if worker.lives:
                return worker
            self._end(worker)
        return self._another()

    def _another(self) -> BuiltinWorkerProcess:
        worker = BuiltinWorkerProcess(self._memory_bytes, self._message_bytes)
        self._workers.add(worker)
        return worker

    def _over(self, worker: BuiltinWorkerProcess, call: asyncio.Task[WorkerAnswer]) -> None:
        """Take a worker back after a call, unless the call was its last."""
        self._calls.discard(call)
        if call.cancelled() or call.exception() or worker.grown:
            self._end(worker)
        else:
            self._free.append(worker)
        self._turns.release()
        self._rest_later(call.get_loop())

    def _rest_later(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to count the time without a call."""
        self._last = loop.time()
        if self._resting is None and not self._closed:
            self._look_later(loop, self._idle)

    def _look_later(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        # One that nobody closes goes with its workers all the same: the loop must not hold it.
        rest = weakref.WeakMethod(self._rest)
        self._resting = loop.call_later(seconds, lambda: (there := rest()) and there(loop))

    def _rest(self, loop: asyncio.AbstractEventLoop) -> None:
        """End the workers where nobody has called for so long; else look again then."""
        self._resting = None
        left = self._last + self._idle - loop.time()
        if left > 0 or len(self._free) < len(self._workers):
            self._look_later(loop, max(left, self._idle / 4))
            return
        free, self._free = self._free, []
        for worker in free:
            self._end(worker)

    def _end(self, worker: BuiltinWorkerProcess) -> None:
        self._workers.discard(worker)
        ending = asyncio.create_task(worker.end())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    def _outcome(self, image: str, name: str, answer: WorkerAnswer) -> FunctionOutcome:
        match answer.kind:
            case CallStatus.UNREADABLE:
                raise ResourcesRefusedError(image, answer.log)
            case CallStatus.BROKEN:
                raise RunnerBrokenError(f'function "{image}"', "it has a bug") from _Bug(answer.log)
            case CallStatus.TOO_LARGE:
                raise MessageTooLargeError(image, int(answer.log), self._message_bytes)
        return FunctionOutcome(
            resources=answer.resources,
            log=answer.log,
            failed=answer.kind is CallStatus.FAILED,
            results=answer.results,
            digest=_identity(name),
        )


class _Bug(Exception):  # noqa: N818 - it carries the traceback of another process
    """What happened in a worker."""


def _identity(name: str) -> str:
    return f"builtin:{name}/{behaviour(name)}@{version()}"
