"""The loop that takes work: lease, look, done; who fails waits longer, who is woken goes at once.

The lease is only economy (docs/design.md, "Work"): that two looks at one key never harm comes from
conditional writes at the forge. So a lost lease cancels the look and writes nothing; nobody has to
be sure. A process that stood still, or has no database, asks before each write: a comment cannot be
written on a condition.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from math import inf
from typing import ClassVar

import structlog

from bot import metrics, tracing
from bot.clock import SYSTEM, Clock
from bot.http.ready import MissingError
from bot.keys import Key, ProposalKey, parse
from bot.logs import Seldom
from bot.loop.fairness import FairScheduling
from bot.overtaken import LOOK, CurrentLook
from bot.store.hints import NOTHING, Hint
from bot.store.port import Store
from bot.store.values import LEASE, SchedulingOrder, StoreError, Taken
from bot.tasks import end, to_the_end, wait_for

log = structlog.get_logger()

RENEW = 2.5
"""Seconds between renewals: two may fail before a lease of nine seconds ends."""

POLL = 1.0
"""Seconds after which to look for work unasked: what a lost notification costs."""

LONGEST = 15 * 60.0
"""Seconds between looks at a key that keeps failing (docs/design.md, "Work")."""

SILENT = 10.0
"""Seconds without asking for work, with room for it, after which something is wrong: ten polls."""

MOST_ASIDE = 32
"""Looks that may wait for a rendering beside those that have a place: each holds facts."""

GRACE = 10.0
"""Seconds that looks may take to end when the bot is told to stop; systemd kills after 90."""


@dataclass(frozen=True, slots=True)
class WorkItem:
    """A key to look at.

    Attributes:
        key: Which.
        hint: What the events that woke it said exists.
        tries: Looks in a row that failed before this one.
    """

    key: Key
    hint: Hint
    tries: int


@dataclass(frozen=True, slots=True)
class Settled:
    """Nothing is left to do; `after` says when time alone may change that, in seconds."""

    after: float | None = None


@dataclass(frozen=True, slots=True)
class LookAgain:
    """Not settled, and nothing failed: look again later, with the same hint.

    Attributes:
        after: Seconds.
        spent: What of the hint was dealt with; it would be done again at each further look.
    """

    after: float
    spent: Hint = NOTHING


@dataclass(frozen=True, slots=True)
class Failed:
    """The look failed.

    The next one waits as long as the key has been failing; something that wakes it cuts that short.

    Attributes:
        reason: For the operator.
    """

    reason: str
    after: ClassVar[None] = None


@dataclass(frozen=True, slots=True)
class PutOff:
    """The forge grants nothing more for so many seconds, which no wake shortens; nothing failed.

    Attributes:
        reason: For the operator.
        after: Seconds.
    """

    reason: str
    after: float


Result = Settled | LookAgain | Failed | PutOff

_LOOKED: Mapping[type[Result], str] = {
    Settled: "looked, settled",
    LookAgain: "looked, not settled yet",
    Failed: "look failed",
    PutOff: "look put off",
}

Handler = Callable[[WorkItem], Awaitable[Result]]


class Worker:
    """Takes keys and gives them to a handler, one task a key.

    Args:
        store: Where the work is.
        handler: Brings one key to rest. An exception of it counts as `Failed`.
        name: Of this process, unlike any other's.
        lease: Seconds that a key is ours without renewing.
        grace: Seconds that looks may take to end when we are stopped.
        clock: When leases are renewed, and how long to wait after a failure.

    Attributes:
        aside: Looks that wait for something long, beside those that have a place.
    """

    def __init__(
        self,
        store: Store,
        handler: Handler,
        name: str,
        *,
        lease: float = LEASE,
        grace: float = GRACE,
        clock: Clock = SYSTEM,
    ) -> None:
        self._store = store
        self._handler = handler
        self._name = name
        self._lease = lease
        self._grace = grace
        self._clock = clock
        self._numbers = count(1)
        self._no_database = Seldom()
        self._looks: dict[str, asyncio.Task[None]] = {}
        self._renewed: dict[str, float] = {}  # when that was asked last, by the monotonic clock
        self._scheduling = FairScheduling(1)
        self._most = 1
        self._asked = -inf
        self.aside = 0

    async def run(self, workers: int = 4, forges: int = 1) -> None:
        """Work until cancelled; then let looks end, and give back what does not.

        Args:
            workers: Most keys of one repository at a time; one more is looked at of another.
            forges: How many are served: for each further one there is one more.
        """
        self._most = workers + forges
        room, self._scheduling = asyncio.Semaphore(self._most), FairScheduling(workers)
        renewing = asyncio.create_task(self._renew_all())
        try:
            async with self._store.queue.listening(self._name) as woken:
                while True:
                    await room.acquire()
                    await self._start(room, woken)
        finally:
            await to_the_end(self._stop(renewing))

    async def check(self) -> None:
        """Tell whether keys are taken.

        Raises:
            MissingError: None was asked for since a while, though there was room for one.
        """
        silent = self._clock.monotonic() - self._asked
        if silent > SILENT and self.busy - self.aside < self._most:
            since = "yet" if silent == inf else f"in {silent:.0f} s"
            raise MissingError(f"no key was asked for {since}")

    @property
    def busy(self) -> int:
        """Looks going on."""
        return len(self._looks)

    async def _start(self, room: asyncio.Semaphore, woken: asyncio.Event) -> None:
        """Wait for a key, and begin its look; the semaphore is released at its end."""
        while True:
            woken.clear()  # before asking: a wake while we ask must not be lost
            owner = f"{self._name}/{next(self._numbers)}"
            order, began = self._scheduling.now(), self._clock.monotonic()
            try:
                taken = await self._take(owner, order)
                wait = POLL if taken else await self._store.queue.next_due(order)
                self._asked = self._clock.monotonic()
            except StoreError as error:
                if times := self._no_database.times():
                    log.warning("no database", error=str(error), times=times)
                taken, wait = None, POLL
            if taken is not None:
                break
            soon = min(POLL, POLL if wait is None else wait + 0.001)
            await wait_for(woken, soon, self._clock)
        self._scheduling.began(taken.key)

        def freed() -> None:
            if self._scheduling.ended(taken.key):
                woken.set()  # more of its repository may be due
            room.release()

        place = _Place(self, freed)
        self._renewed[taken.owner] = began
        self._looks[taken.owner] = task = asyncio.create_task(self._look(taken, place))
        task.add_done_callback(lambda _: self._looks.pop(taken.owner, None))
        task.add_done_callback(lambda _: self._renewed.pop(taken.owner, None))
        task.add_done_callback(lambda _: place.end())

    async def _take(self, owner: str, order: SchedulingOrder) -> Taken | None:
        """Take a key; cancelled in the middle, give back what the database gave us."""
        taking = asyncio.ensure_future(self._store.queue.take(owner, self._lease, order))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            with suppress(StoreError):
                taken = await taking
                if taken is not None:
                    await self._store.queue.give_back(taken)
            raise

    async def _look(self, taken: Taken, place: "_Place") -> None:
        begun = self._clock.monotonic()
        pushed, holds = partial(self._pushed, taken), partial(self._holds, taken.owner)
        LOOK.set(CurrentLook(self._clock, place.leave, pushed, holds))
        try:
            result = await self._handle(taken)
            kept = await self._finish(taken, result) or await self._lost(taken)
        except asyncio.CancelledError:
            with suppress(StoreError):
                await to_the_end(self._give_back(taken))
            raise
        except StoreError as error:
            log.warning("look not recorded; it is done again", key=taken.key, error=str(error))
            return
        said = log.warning if isinstance(result, Failed) else log.info
        said(
            _LOOKED[type(result)],
            key=taken.key,
            reason=result.reason if isinstance(result, Failed | PutOff) else None,
            again_in=result.after,
            seconds=round(self._clock.monotonic() - begun, 3),
            lease="kept" if kept else "lost",
        )

    async def _handle(self, taken: Taken) -> Result:
        metrics.look_began(taken.heard, self._clock.monotonic())
        try:
            woken = taken.hint.traces  # by several: none of them is its parent
            with tracing.span("look", root=True, links=woken, key=taken.key, tries=taken.tries):
                return await self._handler(WorkItem(parse(taken.key), taken.hint, taken.tries))
        except Exception as error:  # the controller loop: whatever breaks, other keys go on
            log.exception("look broke", key=taken.key)
            metrics.FAILURES.labels("", "broke").inc()
            return Failed(f"{type(error).__name__}: {error}")

    async def _pushed(self, taken: Taken, head: str) -> bool:
        """Whether another commit than this one was pushed to a head branch since it was taken."""
        if not isinstance(parse(taken.key), ProposalKey):
            return False
        try:
            news = await self._store.queue.news(taken)
        except StoreError:
            return False
        return bool(news.heads - {head})

    async def _holds(self, owner: str) -> bool:
        """Whether a look still has its key; asked only where that was not renewed for long."""
        if self._clock.monotonic() - self._renewed.get(owner, -inf) < self._lease / 2:
            return True
        try:
            return owner in await self._renew([owner])
        except StoreError:
            return False

    async def _renew(self, owners: Sequence[str]) -> set[str]:
        began = self._clock.monotonic()
        kept = await self._store.queue.renew(owners, self._lease)
        self._renewed |= dict.fromkeys(kept & self._looks.keys(), began)
        return kept

    async def _finish(self, taken: Taken, result: Result) -> bool:
        match result:
            case Settled(after):
                return await self._store.queue.done(taken, after=after)
            case LookAgain(after, spent):
                return await self._store.queue.again(taken, after, spent)
            case Failed(reason):
                wait = backoff(taken.failing, self._clock.random())
                return await self._store.queue.failed(taken, reason, wait)
            case PutOff(reason, after):
                return await self._store.queue.failed(taken, reason, after, hold=True)

    async def _give_back(self, taken: Taken) -> None:
        if not await self._store.queue.give_back(taken):
            await self._lost(taken)

    async def _lost(self, taken: Taken) -> bool:
        """Have a key looked at once more that somebody else got: they may not know our last write.

        It may have been on its way when they read, and have gone over theirs.
        """
        await self._store.queue.wake(parse(taken.key))
        return False

    async def _renew_all(self) -> None:
        """Keep the leases of looks going on; end the looks whose lease somebody else has."""
        while True:
            await self._clock.sleep(self._lease * RENEW / LEASE)
            looks = dict(self._looks)
            if not looks:
                continue
            try:
                kept = await self._renew(list(looks))
            except StoreError:
                continue  # the lease may outlast this; if not, the key is somebody else's
            for owner in looks.keys() - kept:
                if not looks[owner].done():
                    log.warning("lease lost", owner=owner)
                    metrics.LEASES_LOST.inc()
                    looks[owner].cancel()

    async def _stop(self, renewing: asyncio.Task[None]) -> None:
        """Take no more; wait a little for looks to end, then give their keys back."""
        looks = list(self._looks.values())
        if looks:
            # In real seconds, not the clock's: so does whoever stops us count before killing.
            await asyncio.wait(looks, timeout=self._grace)
        await end([renewing, *looks])


class _Place:
    """The place of a look among those of a process; it may be left before the look ends."""

    def __init__(self, worker: Worker, freed: Callable[[], None]) -> None:
        self._worker = worker
        self._freed = freed
        self._left = False

    def leave(self) -> None:
        """Let another look have it, while there are not too many that have done so."""
        if not self._left and self._worker.aside < MOST_ASIDE:
            self._left = True
            self._worker.aside += 1
            self._freed()

    def end(self) -> None:
        """The look has ended."""
        if self._left:
            self._worker.aside -= 1
        else:
            self._freed()


def backoff(failing: float, drawn: float) -> float:
    """Seconds to wait after a failure: as long as the key has been failing, 1 s to 15 minutes.

    Waits double where nothing cuts them short. How often it failed does not count: in an outage
    each comment causes a look that fails, and the key would wait long after it.

    Args:
        failing: Seconds since the first of the failures in a row.
        drawn: At random, from 0 to 1: up to a tenth is added, so that keys that failed together are
            not tried together.
    """
    return min(LONGEST, max(1.0, failing)) * (1 + drawn / 10)
