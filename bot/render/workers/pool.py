"""The worker processes of the renderer, and whose turn it is.

Rules:
- A worker renders one package at a time. Repositories take turns, whatever they ask for, and so do
  the looks at one repository; and one repository never has all of the workers, nor one look all
  that its repository may have, so that another's package need not wait for one of its.
- A package goes to the worker that had it last, if that is free: it remembers the files. Else to
  one that had another of the repository, to a new one, to the one used longest ago.
- Workers start when they are needed, and end when nobody has needed them for a while; then the
  process that they are forked from ends as well.
- One that used too much, or whose package nobody waits for any more, is ended, and another takes
  its place.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from bot import metrics
from bot.clock import SYSTEM, Clock
from bot.overtaken import LOOK
from bot.render.workers.capacity import MEMORY_BYTES
from bot.render.workers.process import (
    ForkServer,
    FunctionsSlowError,
    OverLimitError,
    WorkerProcess,
)
from bot.tasks import end

SECONDS: Final = 30.0
"""Processor time for one package: 2,500 files that nobody has read before take 2 s."""

WALL: Final = 4.0
"""How many times its limit a worker has by the clock, which gets no processor, or sleeps."""

IDLE: Final = 300.0
"""Seconds without work until workers end: they start in 10 ms, the first of them in 300 ms."""

GRACE: Final = 0.3
"""Seconds for a worker to drop a package that nobody waits for: to start anew takes as long."""

_REMEMBERED: Final = 20  # packages that a worker may still remember files of


@dataclass(frozen=True, slots=True)
class _Asker:
    """For whom a package is rendered.

    Attributes:
        repository: Whose package it is.
        look: Which look; None where there is none.
    """

    repository: str
    look: int | None


_Looks: TypeAlias = OrderedDict[_Asker, deque["asyncio.Future[None]"]]


class _Seat:
    """A worker, and what it rendered last.

    Attributes:
        worker: The process.
        packages: Repository and path, the last one last.
        since: When it was used last.
    """

    def __init__(self, worker: WorkerProcess) -> None:
        self.worker = worker
        self.packages: OrderedDict[tuple[str, str], None] = OrderedDict()
        self.since = 0.0

    def takes(self, package: tuple[str, str]) -> None:
        self.packages[package] = None
        self.packages.move_to_end(package)
        if len(self.packages) > _REMEMBERED:
            self.packages.popitem(last=False)

    def warmth(self, package: tuple[str, str]) -> tuple[bool, bool]:
        """How much it may remember of a package: of itself, of others of the repository."""
        return package in self.packages, any(each[0] == package[0] for each in self.packages)


class Workers:
    """Worker processes.

    Args:
        most: How many at a time; at least 2.
        memory_bytes: Of data that one may have.
        seconds: Of processor time for one package.
        wall: How many times that it may take by the clock.
        grace: Seconds for a worker to drop a package that nobody waits for.
        idle: Seconds without work until they end.
        clock: By which that is counted.
    """

    def __init__(
        self,
        most: int,
        *,
        memory_bytes: int = MEMORY_BYTES,
        seconds: float = SECONDS,
        wall: float = WALL,
        grace: float = GRACE,
        idle: float = IDLE,
        clock: Clock = SYSTEM,
    ) -> None:
        self.memory_bytes = memory_bytes
        self.seconds = seconds
        self._wall = wall
        self._grace = grace
        self._most = most
        self._idle = idle
        self._clock = clock
        self._server: ForkServer | None = None
        self._closed = False
        self._free: list[_Seat] = []
        self._busy: set[_Seat] = set()
        self._turns = 0  # given, and not yet given back
        self._having: Counter[str | _Asker] = Counter()
        self._waiting: OrderedDict[str, _Looks] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._resting: asyncio.Task[None] | None = None

    @property
    def pids(self) -> tuple[int, ...]:
        """Numbers of the workers' processes."""
        return tuple(sorted(seat.worker.pid for seat in (*self._free, *self._busy)))

    @asynccontextmanager
    async def turn(self, repository: str, package: str) -> AsyncIterator[WorkerProcess]:
        """A worker for one package, when it is its turn.

        Left by an exception, the worker has to drop what it does, or is ended.

        Args:
            repository: Whose package it is.
            package: Its path there.

        Raises:
            OSError: No process can be started.
        """
        look = LOOK.get(None)
        asker = _Asker(repository, None if look is None else id(look))
        await self._wait(asker)
        seat: _Seat | None = None
        try:
            seat = await self._take((repository, package))
            seat.worker.begin()
            yield seat.worker
        except BaseException as error:
            if seat is None:
                self._over(asker)
            elif seat.worker.asked:
                self._spawn(self._dropped(asker, seat, error))
            else:
                self._back(asker, seat)
            raise
        else:
            self._back(asker, seat)

    async def close(self) -> None:
        """End all of them; no other is started."""
        self._closed = True
        await end([*self._tasks, *([self._resting] if self._resting else [])])
        for seat in (*self._free, *self._busy):
            await seat.worker.end()
        self._free.clear()
        self._busy.clear()
        if self._server is not None:
            self._server.close()

    async def _wait(self, asker: _Asker) -> None:
        """Wait for the turn."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        looks = self._waiting.setdefault(asker.repository, OrderedDict())
        looks.setdefault(asker, deque()).append(turn)
        self._next()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._over(asker)
            raise

    def _next(self) -> None:
        """Give turns: to each repository in its order, and to each of its looks in theirs."""
        while self._turns < self._most:
            asker = next(
                (a for looks in self._waiting.values() for a in looks if self._may(a)), None
            )
            if asker is None:
                return
            looks = self._waiting.pop(asker.repository)
            waiting = looks.pop(asker)
            turn = waiting.popleft()
            if waiting:
                looks[asker] = waiting  # at the end: the others come first
            if looks:
                self._waiting[asker.repository] = looks  # likewise
            if not turn.done():
                self._turns += 1
                self._having[asker.repository] += 1
                self._having[asker] += 1
                turn.set_result(None)

    def _may(self, asker: _Asker) -> bool:
        """Whether somebody has fewer than all that others would have to wait for."""
        of_repository = max(1, self._most - 1)
        of_look = of_repository if asker.look is None else max(1, of_repository - 1)
        return self._having[asker.repository] < of_repository and self._having[asker] < of_look

    def _over(self, asker: _Asker) -> None:
        """A turn is over."""
        self._turns -= 1
        for each in (asker.repository, asker):
            self._having[each] -= 1
            if not self._having[each]:
                del self._having[each]
        self._next()
        if not self._turns and self._resting is None:
            self._resting = asyncio.create_task(self._rest())

    async def _take(self, package: tuple[str, str]) -> _Seat:
        """A worker that is free, or a new one."""
        for gone in [seat for seat in self._free if not seat.worker.lives]:
            self._free.remove(gone)
            await gone.worker.end()  # what leads to it is still open
        best = max(self._free, key=lambda seat: seat.warmth(package), default=None)
        room = len(self._free) + len(self._busy) < self._most
        if best is None or (room and not any(best.warmth(package))):
            seat = _Seat(await self._started())
        else:
            # Of those that are as warm, the one used longest ago: others stay warm for their own.
            alike = [s for s in self._free if s.warmth(package) == best.warmth(package)]
            seat = min(alike, key=lambda each: each.since)
            self._free.remove(seat)
        self._busy.add(seat)
        seat.takes(package)
        return seat

    async def _started(self) -> WorkerProcess:
        if self._closed:
            raise ChildProcessError("the bot ends")
        if self._server is None or not self._server.lives:
            if self._server is not None:
                self._server.close()
            self._server = ForkServer(self.memory_bytes, self.seconds, self._wall)
        return await self._server.fork()

    def _back(self, asker: _Asker, seat: _Seat) -> None:
        """Take a worker back, unless it holds so much memory that a new one is better."""
        if seat.worker.holds > self.memory_bytes // 4:
            metrics.RENDER_WORKERS_ENDED.labels("grown").inc()
            self._spawn(self._ended(asker, seat))
            return
        self._busy.discard(seat)
        seat.since = self._clock.monotonic()
        self._free.append(seat)
        self._over(asker)

    async def _dropped(self, asker: _Asker, seat: _Seat, error: BaseException) -> None:
        why = "crashed"
        if isinstance(error, OverLimitError):
            why = str(error)
        elif isinstance(error, asyncio.CancelledError | FunctionsSlowError):
            if await seat.worker.drop(self._grace):
                self._back(asker, seat)
                return
            why = "overtaken" if isinstance(error, asyncio.CancelledError) else "functions"
        metrics.RENDER_WORKERS_ENDED.labels(why).inc()
        await self._ended(asker, seat)

    async def _ended(self, asker: _Asker, seat: _Seat) -> None:
        try:
            await seat.worker.end()
        finally:
            self._busy.discard(seat)
            self._over(asker)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _rest(self) -> None:
        """End workers that nobody has needed for a while, and at last what they come from."""
        try:
            while self._turns or self._free:
                now = self._clock.monotonic()
                old = [seat for seat in self._free if now - seat.since >= self._idle]
                self._free = [seat for seat in self._free if seat not in old]
                for seat in old:
                    await seat.worker.end()
                if self._turns or self._free:
                    await self._clock.sleep(self._idle / 4)
            if self._server is not None and not self._busy:
                self._server.close()
                self._server = None
        finally:
            self._resting = None
