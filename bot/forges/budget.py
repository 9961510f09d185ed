"""Asking a forge no more than it grants: who may ask next, and who has to wait.

Tokens are taken from buckets that all replicas share (`bot.store.port.Budgets`). What waits in this
process is asked for together, in one statement; who goes first is decided here: what people wait
for, then whose repository had least. A short wait is waited out where it is; a long one puts the
key off until then, so that nothing fails and nothing is asked in vain (ADR 27).
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import count
from math import inf

import structlog

from bot.clock import SYSTEM, Clock
from bot.forges.ahead import PLENTY, TokensAhead
from bot.forges.port import ForgeBusyError
from bot.logs import Seldom
from bot.store.buckets import WINDOW, Bucket, Buckets, Draw, ReportedLimit
from bot.store.port import Budgets
from bot.store.values import StoreError
from bot.tasks import wait_for
from lifecycle.kinds import Urgency

log = structlog.get_logger()

PATIENCE = 20.0
"""Seconds that a request waits where it is: a look that is put off begins anew, and has then asked
for everything in vain; and none may hold its key for long."""

STEP = 0.05
"""Seconds after which those who wait are sorted again; whoever comes has that done at once."""

AT_ONCE = 16
"""Requests under way of one account in one process: six processes stay below GitHub's hundred, and
what an answer says is left lacks no more than these."""

KEPT: Mapping[Urgency, float] = {Urgency.FIRST: 0.1, Urgency.NORMAL: 0.2, Urgency.LATER: 0.4}
"""Share of each bucket that is left to what is more urgent, and to who had little lately."""

FRESH, FORGOTTEN = 60.0, 6.0
"""Tokens that a repository may have had lately to be served from what is kept; and how many of them
count no more each second. So a busy one keeps no idle one waiting: a look takes about 20."""

QUIET, HOUR = 300.0, 3_600.0
"""The same for an hour: who has had so many, evenly spread, is no idle one either. Otherwise a few
requests a second, such as anybody's comments cause, use up the hour of all others."""

ALONE = 0.2
"""Share of each limit that one process takes while there is no database to share it by: five of
them stay within it."""

MOST_PLACES = 5_000
"""Repositories and keys whose use is remembered."""


@dataclass(frozen=True, slots=True)
class RequestPurpose:
    """For whom the forge is asked.

    Attributes:
        place: The repository, as `bot.keys.place_of` has it.
        urgency: What waits for it.
        key: What of the repository, such as one proposal; "" for the repository as a whole.
    """

    place: str = ""
    urgency: Urgency = Urgency.LATER
    key: str = ""


_NOBODY = RequestPurpose()
_asker: ContextVar[RequestPurpose] = ContextVar("asker", default=_NOBODY)


def asker_now() -> RequestPurpose:
    """For whom the forge is asked here."""
    return _asker.get()


@contextmanager
def asking(asker: RequestPurpose) -> Iterator[None]:
    """Whatever asks the forge inside the block does it for this one."""
    token = _asker.set(asker)
    try:
        yield
    finally:
        _asker.reset(token)


@contextmanager
def more_urgent(urgency: Urgency) -> Iterator[None]:
    """What is asked inside the block is at least so urgent."""
    now = asker_now()
    with asking(replace(now, urgency=min(now.urgency, urgency))):
        yield


class BudgetSpentError(ForgeBusyError):
    """What the forge grants is used up, or it asked for a pause: it was not asked at all."""


@dataclass(slots=True)
class _Waiting:
    """One request that waits.

    Attributes:
        asker: For whom.
        draws: What it takes.
        number: In the order of coming.
        granted: Tells when it may go, or that it may not.
    """

    asker: RequestPurpose
    draws: Sequence[Draw]
    number: int
    since: float
    granted: "asyncio.Future[None]"

    def needs_all_of(self, other: "_Waiting") -> bool:
        """It takes tokens of every bucket that the other one does."""
        mine = {draw.bucket.name for draw in self.draws}
        return mine.issuperset(draw.bucket.name for draw in other.draws)


@dataclass(slots=True)
class _Use:
    """What a repository or a key has had: its next turn, and its tokens of late."""

    turn: float = 0.0
    tokens: float = 0.0
    hour: float = 0.0
    at: float = 0.0

    @property
    def is_little(self) -> bool:
        """It had little lately."""
        return self.tokens < FRESH and self.hour < QUIET


class Account:
    """Requests that count for one account of the forge.

    Args:
        name: Of the account, alike in all replicas.
        budgets: What they share; None asks without limit.
        clock: For waits.
    """

    def __init__(self, name: str, budgets: Budgets | None, *, clock: Clock = SYSTEM) -> None:
        self._name = name
        self._budgets = budgets
        self._clock = clock
        self._alone = Buckets()
        self._ahead = TokensAhead()
        self._no_database = Seldom()
        self._told: dict[str, ReportedLimit] = {}
        self._waiting: list[_Waiting] = []
        self._serving: asyncio.Task[None] | None = None
        self._uses: dict[str, _Use] = {}
        self._turn = 0.0
        self._under_way = 0
        self._numbers = count()
        self._came = asyncio.Event()

    def told(self, told: ReportedLimit) -> None:
        """The forge said what is left; from any thread."""
        self._told[told.bucket] = told
        if told.left < PLENTY * told.limit:
            self._ahead.drop()

    @asynccontextmanager
    async def granted(self, wanted: str, draws: Sequence[Draw]) -> AsyncIterator[None]:
        """Wait until a request may be made, which is made inside the block.

        Args:
            wanted: What it is for, as in errors.
            draws: What it takes.

        Raises:
            BudgetSpentError: That would take longer than `PATIENCE`; `after` says how long.
        """
        if self._budgets is None or not draws:
            yield
            return
        await self._wait(wanted, draws)
        try:
            yield
        finally:
            self._under_way -= 1
            self._came.set()

    async def _wait(self, wanted: str, draws: Sequence[Draw]) -> None:
        asker = asker_now()
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        now = self._clock.monotonic()
        waiting = _Waiting(asker, draws, next(self._numbers), now, granted)
        use = self._use(asker.place)
        use.turn = max(use.turn, self._turn)  # what it did not ask for before is no credit
        self._waiting.append(waiting)
        self._came.set()
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve())
        try:
            await granted
        except _LaterError as later:
            raise BudgetSpentError(wanted, later.reason, later.after) from None
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled() and granted.exception() is None:
                self._under_way -= 1  # granted, and given up in the same moment
                self._came.set()
            raise
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    async def pause(self, seconds: float) -> None:
        """The forge asked for a pause: no replica asks it before that is over, or for an hour."""
        if self._budgets is None:
            return
        seconds = min(WINDOW, seconds)
        self._alone.paused = max(self._alone.paused, self._clock.monotonic() + seconds)
        self._ahead.drop()
        log.warning("the forge asks for a pause", account=self._name, seconds=round(seconds))
        try:
            await self._budgets.pause(self._name, seconds)
        except StoreError as error:
            log.warning("pause not shared", account=self._name, error=str(error))

    async def _serve(self) -> None:
        """Grant to those who wait, the first ones first, until nobody does."""
        while self._waiting:
            self._came.clear()
            if self._under_way >= AT_ONCE:
                await self._came.wait()
                continue
            try:
                wait = await self._serve_some()
            except Exception as error:  # whoever waits is told; the next one begins anew
                self._refuse(self._waiting, error)
                raise
            if wait:
                await wait_for(self._came, min(max(wait, 0.001), STEP), self._clock)

    async def _serve_some(self) -> float:
        """Grant to the first that may go; gives 0, or seconds until one of them may.

        Who has to wait keeps those behind it waiting that need all that it needs, and nobody else;
        the others leave it what it needs of what they take.
        """
        least, passed = inf, list[_Waiting]()
        while left := [w for w in self._waiting if not any(map(w.needs_all_of, passed))]:
            first = min(left, key=self._order)
            kept = self._kept(first.asker)
            together = [w for w in left if self._kept(w.asker) == kept]
            together = sorted(together, key=self._order)[: AT_ONCE - self._under_way]
            wait = await self._take(together, passed)
            if wait and len(together) > 1:
                together = [first]
                wait = await self._take(together, passed)
            if not wait:
                self._granted(together)
                return 0.0
            if wait + self._clock.monotonic() - first.since > PATIENCE:
                later = _LaterError("the limit is used up for now", wait)
                behind = [w for w in self._waiting if w.needs_all_of(first)]
                self._refuse([w for w in behind if self._kept(w.asker) >= kept], later)
                return 0.0
            least = min(least, wait)
            passed.append(first)
        return least if passed else 0.0

    async def _take(self, together: Sequence[_Waiting], passed: Sequence[_Waiting]) -> float:
        draws: dict[str, Draw] = {}
        for waiting in together:
            kept = self._kept(waiting.asker)
            for draw in waiting.draws:
                known = draws.get(draw.bucket.name)
                tokens = draw.tokens + (known.tokens if known else 0)
                keep = max([kept, *(self._needed(each, draw.bucket) for each in passed)])
                draws[draw.bucket.name] = Draw(draw.bucket, tokens, keep)
        if self._ahead.covers(draws, self._now()):
            return 0.0
        told, self._told = self._told, {}
        try:
            return await self._ask_for(draws, list(told.values()))
        except StoreError as error:
            self._told = told | self._told
            if times := self._no_database.times():
                log.warning("limits kept alone", reason=str(error), times=times)
            return self._alone.take([_share(draw) for draw in draws.values()], (), self._now())

    async def _ask_for(self, draws: Mapping[str, Draw], told: Sequence[ReportedLimit]) -> float:
        """Take tokens, and some ahead where there are plenty."""
        assert self._budgets is not None  # noqa: S101 (for mypy: nobody waits without)
        more = self._ahead.wanted(draws)
        dropped = self._ahead.dropped
        if any(more.values()):
            with_more = [
                replace(d, tokens=d.tokens + more[name], keep=max(d.keep, PLENTY))
                for name, d in draws.items()
            ]
            if not await self._budgets.take(self._name, with_more, told):
                self._ahead.took(more, self._now(), dropped)
                return 0.0
            self._ahead.drop()
            told = ()
        wait = await self._budgets.take(self._name, list(draws.values()), told)
        if not wait:
            self._ahead.took({}, self._now(), dropped)
        return wait

    def _needed(self, waiting: _Waiting, bucket: Bucket) -> float:
        """The share of a bucket that must stay for one that waits."""
        tokens = [d.tokens for d in waiting.draws if d.bucket.name == bucket.name]
        return self._kept(waiting.asker) + sum(tokens) / bucket.size if tokens else 0.0

    def _order(self, waiting: _Waiting) -> tuple[bool, int, float, int]:
        """Who had little lately goes first: an idle repository waits for none that is busy."""
        use = self._use(waiting.asker.place)
        return (not use.is_little, waiting.asker.urgency, use.turn, waiting.number)

    def _granted(self, together: Sequence[_Waiting]) -> None:
        for waiting in together:
            tokens = max(draw.tokens for draw in waiting.draws)
            use = self._use(waiting.asker.place)
            self._turn = max(self._turn, use.turn)
            use.turn += tokens
            for each in (use, self._use(_key(waiting.asker))):
                each.tokens += tokens
                each.hour += tokens
            if not waiting.granted.done():
                self._under_way += 1
                waiting.granted.set_result(None)
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    def _refuse(self, refused: Sequence[_Waiting], error: Exception) -> None:
        for waiting in list(refused):
            if not waiting.granted.done():
                waiting.granted.set_exception(error)
            self._waiting.remove(waiting)

    def _kept(self, asker: RequestPurpose) -> float:
        """The share that is left to others.

        Nothing for a repository that had little lately; of a busy one half of it for what had
        little itself, so that one proposal does not keep its neighbours from being published.
        """
        if self._use(asker.place).is_little:
            return 0.0
        return KEPT[asker.urgency] / (2 if self._use(_key(asker)).is_little else 1)

    def _use(self, place: str) -> _Use:
        now = self._now()
        use = self._uses.pop(place, None) or _Use(at=now)
        use.tokens = max(0.0, use.tokens - FORGOTTEN * (now - use.at))
        use.hour = max(0.0, use.hour - QUIET / HOUR * (now - use.at))
        use.at = now
        self._uses[place] = use
        if len(self._uses) > MOST_PLACES:
            del self._uses[next(iter(self._uses))]
        return use

    def _now(self) -> float:
        return self._clock.monotonic()


class _LaterError(Exception):
    """It would take too long."""

    def __init__(self, reason: str, after: float) -> None:
        super().__init__(reason)
        self.reason = reason
        self.after = after


def _key(asker: RequestPurpose) -> str:
    """What the use of a key is kept under, beside that of its repository."""
    return f"{asker.place} {asker.key}"


def _share(draw: Draw) -> Draw:
    """What a process takes by itself: its share of the bucket, and of what comes back."""
    bucket = draw.bucket
    return replace(draw, bucket=replace(bucket, size=bucket.size * ALONE, rate=bucket.rate * ALONE))
