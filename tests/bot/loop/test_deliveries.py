"""What the forge could not bring is taken from its log, once, in bounded steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import cast

import pytest

from bot.forges.port import (
    FailedDeliveries,
    FailedDelivery,
    ForgeBusyError,
    ForgeMissingError,
    ForgeRefusedError,
    Forges,
    LoggedDelivery,
)
from bot.keys import Key, PullKey, Sweep
from bot.loop.deliveries import LATE, MOST_BODIES, DeliverySweep
from bot.loop.intervals import JITTER, SOON, Intervals
from bot.store.hints import NOTHING, Hint
from bot.store.values import Delivered
from lifecycle.identity import GITHUB
from tests.ids import FIRST
from tests.memory.clock import ManualClock
from tests.memory.store import MemoryStore

PAGE = 100


@dataclass
class _Log:
    """A forge's log: number of a try to its delivery's id."""

    clock: ManualClock
    tries: dict[int, str] = field(default_factory=dict)
    at: dict[int, datetime] = field(default_factory=dict)
    unheard: set[str] = field(default_factory=set)
    odd: set[str] = field(default_factory=set)
    read: list[int] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    breaks: int = 0
    epoch: int = 0  # pages are named anew in each
    name = GITHUB
    most_parts = 2

    def fails(self, *guids: str) -> None:
        """Tries that nobody took, now."""
        for guid in guids:
            number = max(self.tries, default=10) + 1
            self.tries[number], self.at[number] = guid, self.clock.now()

    async def failed_deliveries(self, page: str = "") -> FailedDeliveries:
        self.pages.append(page)
        epoch, _, number = page.partition("/")
        if page and int(epoch) != self.epoch:
            raise ForgeRefusedError("list", "422 the cursor is not valid")
        below = int(number) if page else 10**9
        found = sorted((n for n in self.tries if n < below), reverse=True)
        shown = [
            FailedDelivery(
                number=n, guid=self.tries[n], at=self.at[n], heard=self.tries[n] not in self.unheard
            )
            for n in found[:PAGE]
        ]
        older = f"{self.epoch}/{found[PAGE - 1]}" if len(found) > PAGE else ""
        return FailedDeliveries(tuple(shown), older)

    async def logged_delivery(self, number: int) -> LoggedDelivery | None:
        self.read.append(number)
        if self.breaks and len(self.read) == self.breaks:
            raise ForgeBusyError("read a delivery", "502")
        guid = self.tries[number]
        if guid.startswith("gone"):
            raise ForgeMissingError("read a delivery", "404")
        if guid in self.odd:
            return None
        wakes: Mapping[Key, Hint] = {PullKey(FIRST, number): NOTHING}
        delivered = Delivered(guid=guid, event="push", action="", headers={}, body=b"{}")
        return LoggedDelivery(delivered, wakes)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store(clock: ManualClock) -> MemoryStore:
    return MemoryStore(clock)


@pytest.fixture
def log(clock: ManualClock) -> _Log:
    return _Log(clock)


def _sweep(log: _Log, store: MemoryStore) -> DeliverySweep:
    return DeliverySweep(cast(Forges, log), store, clock=log.clock)


async def _woken(store: MemoryStore) -> list[int]:
    found: Sequence[str] = []
    while (taken := await store.queue.take(f"test/{len(found)}")) is not None:
        found = [*found, taken.key]
    return sorted(int(key.rpartition(":")[2]) for key in found)


async def test_what_failed_is_taken_in_once_and_wakes_its_keys(
    log: _Log, store: MemoryStore
) -> None:
    """The short-cut reads all that failed: what came by a second try is fetched for nothing."""
    in_already = Delivered(guid="b", event="push", action="", headers={}, body=b"")
    await store.deliveries.add(in_already, {})
    log.unheard = {"c"}
    log.fails("a", "b", "c", "gone", "a", "d")

    assert await _sweep(log, store).run()

    assert log.read == [11, 14, 16]  # "a" was tried twice
    assert await _woken(store) == [11, 16]
    await _sweep(log, store).run()
    assert log.read == [11, 14, 16, 14]
    assert await _woken(store) == []


async def test_a_log_read_to_its_end_is_not_read_again(log: _Log, store: MemoryStore) -> None:
    """The short-cut pages through three days each time; or takes the newest for the end.

    A try that was under way when the log was read comes into it below those that are newer.
    """
    log.fails(*(f"old-{n}" for n in range(250)))
    log.clock.seconds += LATE.total_seconds() + 1
    await _sweep(log, store).run()
    assert len(log.pages) == 3

    log.pages.clear()
    await _sweep(log, store).run()
    assert log.pages == [""]

    log.fails("new")
    late = max(log.tries) + 1
    log.fails("between", "newest")
    del log.tries[late]
    await _sweep(log, store).run()
    log.tries[late] = "between"  # it took ten seconds
    await _sweep(log, store).run()
    assert await store.deliveries.known(GITHUB, ["new", "between", "newest"]) == {
        "new",
        "between",
        "newest",
    }


async def test_a_long_outage_is_taken_in_over_several_sweeps(log: _Log, store: MemoryStore) -> None:
    """The short-cut reads it all in one look, or starts from the newest again and never ends."""
    guids = [f"lost-{n}" for n in range(3 * MOST_BODIES + 50)]
    log.fails(*guids)
    log.clock.seconds += LATE.total_seconds() + 1
    rounds = 0
    ended = False
    while not ended:
        before = len(log.read)
        log.fails(f"meanwhile-{rounds}")
        ended = await _sweep(log, store).run()  # another replica each time
        rounds += 1
        assert len(log.read) - before <= MOST_BODIES + PAGE

    await _sweep(log, store).run()
    assert await store.deliveries.known(GITHUB, guids) == set(guids)
    meanwhile = [f"meanwhile-{n}" for n in range(rounds)]
    assert await store.deliveries.known(GITHUB, meanwhile) == set(meanwhile)
    assert len(log.read) == len(guids) + rounds


async def test_a_forge_that_fails_in_between_loses_none(log: _Log, store: MemoryStore) -> None:
    """The short-cut marks a page before it is taken in."""
    log.fails(*(f"lost-{n}" for n in range(5)))
    log.clock.seconds += LATE.total_seconds() + 1
    log.breaks = 3
    with pytest.raises(ForgeBusyError):
        await _sweep(log, store).run()

    await _sweep(log, store).run()

    assert len(await store.deliveries.known(GITHUB, [f"lost-{n}" for n in range(5)])) == 5


async def test_a_page_that_the_forge_forgot_is_no_end(log: _Log, store: MemoryStore) -> None:
    """The short-cut asks for the old page for ever: nothing is taken in any more."""
    log.fails(*(f"lost-{n}" for n in range(MOST_BODIES + 150)))
    log.clock.seconds += LATE.total_seconds() + 1
    assert not await _sweep(log, store).run()
    log.epoch += 1

    assert await _sweep(log, store).run()
    assert len(log.read) == MOST_BODIES + 150


async def test_what_cannot_be_read_holds_up_nothing(log: _Log, store: MemoryStore) -> None:
    """The short-cut fails at it, each time: what came after it is never taken in."""
    log.fails("odd", "gone", "fine")
    log.odd = {"odd"}

    assert await _sweep(log, store).run()

    assert await store.deliveries.known(GITHUB, ["odd", "gone", "fine"]) == {"fine"}


def test_intervals_are_drawn_apart_and_a_sweep_that_has_not_ended_goes_on_soon() -> None:
    """The short-cut has all replicas and forges ask in the same second."""
    intervals = Intervals(900)
    whole = [intervals.next(Sweep.DELIVERIES, drawn) for drawn in (0.0, 0.5, 1.0)]

    assert whole == pytest.approx([300 * (1 - JITTER), 300, 300 * (1 + JITTER)])
    assert intervals.next(Sweep.DELIVERIES, 0.5, ended=False) == SOON
    assert timedelta(seconds=max(whole)) < timedelta(days=3)  # as long as the log is kept
