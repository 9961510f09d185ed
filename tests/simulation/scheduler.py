"""An event loop whose order and time are drawn: no sockets, no threads, no waiting.

Which of the tasks that are ready goes on next is drawn from the generator that is given; time
stands still while any is ready, and then goes on to the next that was waited for.
"""

import asyncio
import contextvars
import heapq
import random
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from types import BuiltinFunctionType, coroutine
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)

MOMENT = 1e-6
"""Seconds that a step of a task takes: no two things happen at exactly the same time."""

IDLE = 3.0
"""Longest wait, in seconds, that an idle worker repeats; whoever skips time skips those."""


@dataclass(eq=False)
class Owner:
    """Whose tasks they are: a process that may be killed.

    Attributes:
        name: For the trace.
        alive: Nothing that belongs to it may reach the world any more once it is not.
        still: None of its tasks goes on, until it does.
    """

    name: str
    alive: bool = True
    still: bool = False
    _tasks: list["asyncio.Task[Any]"] = field(default_factory=list)
    _room: int = 64

    @property
    def tasks(self) -> list["asyncio.Task[Any]"]:
        """Those that have not ended, the oldest first."""
        return [task for task in self._tasks if not task.done()]

    def add(self, task: "asyncio.Task[Any]") -> None:
        """One more; those that have ended are dropped now and then."""
        self._tasks.append(task)
        if len(self._tasks) > self._room:
            self._tasks = self.tasks
            self._room = 2 * len(self._tasks) + 64


OWNER: contextvars.ContextVar[Owner | None] = contextvars.ContextVar("owner", default=None)


class DrawnTask(asyncio.Task[Any]):
    """A task whose hash is its number: sets of tasks are gone through in the same order again."""

    number = 0

    def __hash__(self) -> int:
        return self.number


class Wait:
    """What is to be called later; as much of `asyncio.TimerHandle` as anybody asks for.

    Attributes:
        seconds: How long it was to be waited for.
    """

    __slots__ = ("_cancelled", "_when", "call", "seconds")

    def __init__(self, when: float, seconds: float, call: "Call") -> None:
        self._when = when
        self.seconds = seconds
        self.call = call
        self._cancelled = False

    def when(self) -> float:
        """The loop's time at which it ends."""
        return self._when

    def cancel(self) -> None:
        """Drop it; the heap of waits forgets it when its time comes."""
        self._cancelled = True

    def cancelled(self) -> bool:
        """Whether it was dropped."""
        return self._cancelled


Call = tuple[Callable[..., object], tuple[Any, ...], contextvars.Context]
"""What is to be called, with what, and in which context."""


class DrawnLoop(asyncio.BaseEventLoop):
    """Implements what asyncio's tasks, futures and locks ask of a loop.

    Callbacks of futures keep the order that asyncio promises; steps of tasks are drawn.

    Attributes:
        draw: Gives the number of the next of so many tasks.
        now: Seconds since the beginning.
        stays: Tells whether a task that lets others run is drawn again at once.
        steps: Of tasks, so far.
        broken: What nobody caught.
    """

    def __init__(self, draw: Callable[[int], int]) -> None:
        # Nothing of the base class is set up: it would take threads' places and watch for children.
        self.draw = draw
        self.stays: Callable[[], bool] = lambda: False
        self.now = 0.0
        self.steps = 0
        self.broken: list[str] = []
        self._promised: deque[Call] = deque()
        self._tasks: list[Call] = []
        self._standing: list[Call] = []
        self._timers: list[tuple[float, int, Wait]] = []
        self._order = count()

    def __del__(self) -> None:
        """Nothing is open."""

    # What asyncio asks for.

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def time(self) -> float:
        return self.now

    def call_soon(  # type: ignore[override]  # nobody cancels what is called soon
        self,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> None:
        call = callback, args, contextvars.copy_context() if context is None else context
        kind = type(callback)
        if kind is _STEP or (kind is BuiltinFunctionType and callback.__name__ == "task_wakeup"):
            self._tasks.append(call)  # asyncio promises no order among steps of tasks
        else:
            self._promised.append(call)

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> Wait:
        call = callback, args, contextvars.copy_context() if context is None else context
        wait = Wait(self.now + max(0.0, delay), delay, call)
        heapq.heappush(self._timers, (wait.when(), next(self._order), wait))
        return wait

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> Wait:
        return self.call_later(when - self.now, callback, *args, context=context)

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self,
        coro: Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
    ) -> "asyncio.Task[T]":
        task = DrawnTask.__new__(DrawnTask)
        task.number = next(self._order)  # before it begins: asyncio keeps a set of all tasks
        task.__init__(coro, loop=self, name=name or "", context=context)  # type: ignore[misc]
        owner = OWNER.get()
        if owner is not None:
            owner.add(task)
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.broken.append(f"{context.get('message')}: {context.get('exception')!r}")

    # What the simulation does with it.

    @coroutine
    def others_go_on(self) -> Generator[None, None, None]:
        """Let other tasks run, unless this one is drawn again: then nobody has to be asked."""
        if self.stays():
            self.steps += 1
            self.now += MOMENT
        else:
            yield

    @property
    def is_ready(self) -> bool:
        """Something can go on without time passing."""
        return bool(self._promised or self._tasks)

    def next_timer(self, *, skip: bool = False) -> float | None:
        """When the next wait ends; None where nobody waits.

        Args:
            skip: Leave out the waits that idle workers repeat.
        """
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        if not skip:
            return self._timers[0][0] if self._timers else None
        ends = (w for w, _, h in self._timers if h.seconds > IDLE and not h.cancelled())
        return min(ends, default=None)

    def advance(self, until: float) -> None:
        """Let time pass, and end the waits that are over by then."""
        self.now = max(self.now, until)
        while self._timers and self._timers[0][0] <= self.now:
            wait = heapq.heappop(self._timers)[2]
            if not wait.cancelled():
                self._promised.append(wait.call)

    def run(self, most: int) -> bool:
        """Go on without time passing.

        Args:
            most: Steps of tasks to take.

        Returns:
            Whether nothing is ready any more.
        """
        tasks, promised, draw = self._tasks, self._promised, self.draw
        while True:
            while promised:
                call, args, context = promised.popleft()
                try:
                    context.run(call, *args)
                except Exception as error:
                    self.broken.append(f"{call}: {error!r}")
            count = len(tasks)
            if not count:
                return True
            if most <= 0:
                return False
            most -= 1
            self.steps += 1
            self.now += MOMENT
            at = draw(count) if count > 1 else 0
            tasks[at], tasks[-1] = tasks[-1], tasks[at]
            call, args, context = tasks.pop()
            owner = context.get(OWNER)
            if owner is not None and owner.still:
                self._standing.append((call, args, context))
            else:
                context.run(call, *args)

    def go_on(self) -> None:
        """Tasks that stood still with their process are ready again, where that goes on."""
        self._tasks += self._standing
        self._standing.clear()

    @contextmanager
    def current(self) -> Iterator[None]:
        """Asyncio takes this for its running loop inside the block, and lists no tasks."""
        # A weak set of all tasks, which nobody asks for here; Python 3.12 calls it otherwise.
        name = "_all_tasks" if hasattr(asyncio.tasks, "_all_tasks") else "_scheduled_tasks"
        every: Any = getattr(asyncio.tasks, name)
        every.add = _unlisted
        asyncio.events._set_running_loop(self)
        try:
            yield
        finally:
            asyncio.events._set_running_loop(None)
            del every.add


def _unlisted(_: object) -> None:
    """Take a task for none."""


class _Probe:
    """Tells the type by which asyncio asks a loop to take a task's step."""

    def get_debug(self) -> bool:
        return False

    def call_soon(self, callback: object, *_: object, context: object = None) -> None:
        self.seen = type(callback)


def _step_type() -> type:
    async def nothing() -> None:
        """Never run."""

    probe, coroutine = _Probe(), nothing()
    task = asyncio.Task(coroutine, loop=probe)  # type: ignore[arg-type]
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    coroutine.close()
    return probe.seen


_STEP = _step_type()


@dataclass
class SimulatedClock:
    """Implements `bot.clock.Clock` by a loop's time.

    Attributes:
        loop: Whose time it is.
        drawn: Where random numbers come from.
        wrong: Seconds by which the time of day is off; a machine's clock may jump.
    """

    loop: DrawnLoop
    drawn: random.Random
    wrong: float = 0.0
    _told: tuple[float, datetime] = (0.0, BEGINNING)

    def now(self) -> datetime:
        """The time of day; many ask for it before any of it has passed."""
        seconds = self.loop.now + self.wrong
        if seconds != self._told[0]:
            self._told = seconds, BEGINNING + timedelta(seconds=seconds)
        return self._told[1]

    def monotonic(self) -> float:
        """Seconds since the beginning."""
        return self.loop.now

    async def sleep(self, seconds: float) -> None:
        """Wait; 0 lets other tasks run."""
        if seconds > 0:
            await asyncio.sleep(seconds)
        else:
            await self.loop.others_go_on()

    def random(self) -> float:
        """Drawn from the history's seed."""
        return self.drawn.random()
