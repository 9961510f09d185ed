"""The loop: who is woken is looked at, whatever happens meanwhile, and never by two at once.

Longer than 400 lines: one loop, and all that may happen to it.
"""

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bot.clock import SYSTEM, Clock, SystemClock
from bot.http.ready import MissingError
from bot.keys import Key, PullKey
from bot.loop.work import (
    Failed,
    Handler,
    LookAgain,
    PutOff,
    Result,
    Settled,
    Worker,
    WorkItem,
    backoff,
)
from bot.overtaken import holds_its_key
from bot.store.hints import NOTHING, Hint
from bot.store.postgres import PostgresStore
from bot.store.values import Delivered
from bot.tasks import AGAIN, end
from tests.bot.loop.test_overtaken import Quick
from tests.ids import on_github
from tests.memory.clock import ManualClock
from tests.memory.store import MemoryStore

CHECKOUT = Path(__file__).resolve().parents[3]
KEY = PullKey(on_github(1), 7)

WORKER = """
import asyncio, gc, sys
gc.disable()
from bot.store.postgres import PostgresStore
from bot.loop.work import Settled, Worker

async def main(url, name, seconds):
    async def look(work):
        print(name, "begins", work.key, flush=True)
        await asyncio.sleep(float(seconds))
        print(name, "ends", work.key, flush=True)
        return Settled()
    async with PostgresStore(url, patience=60) as store:
        await Worker(store, look, name, lease=1.0).run(4)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[PostgresStore]:
    async with PostgresStore(database_url, patience=60) as opened:
        yield opened


@pytest.fixture
def process(database_url: str) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a worker in a process of its own."""
    started: list[subprocess.Popen[str]] = []

    def start(name: str, seconds: float) -> subprocess.Popen[str]:
        worker = subprocess.Popen(
            [sys.executable, "-c", WORKER, database_url, name, str(seconds)],
            cwd=CHECKOUT,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        )
        started.append(worker)
        return worker

    yield start
    for worker in started:
        worker.kill()
        worker.wait()
        if worker.stdout:
            worker.stdout.close()


@asynccontextmanager
async def working(
    store: PostgresStore,
    handler: Handler,
    *,
    name: str = "one",
    lease: float = 60,
    grace: float = 1,
    clock: Clock = SYSTEM,
) -> AsyncIterator[Worker]:
    """A worker that runs meanwhile."""
    worker = Worker(store, handler, name, lease=lease, grace=grace, clock=clock)
    running = asyncio.create_task(worker.run(4))
    try:
        yield worker
    finally:
        await end([running])


async def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until something is so; fail when it does not come."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)


class Looks:
    """A handler that notes its looks and answers from a list; the last answer stays.

    Args:
        answers: What each look says; an exception is raised.
        wait: Seconds each look takes.
        held: They take until `let_go` is set, too.
    """

    def __init__(self, *answers: Result | Exception, wait: float = 0, held: bool = False) -> None:
        self._answers = list(answers) or [Settled()]
        self._wait = wait
        self.let_go = asyncio.Event()
        if not held:
            self.let_go.set()
        self.seen: list[WorkItem] = []
        self.times: list[tuple[float, float]] = []
        self.ended = 0
        self.most = Counter[Key]()
        self._now = Counter[Key]()

    async def __call__(self, work: WorkItem) -> Result:
        began = time.monotonic()
        self.seen.append(work)
        self._now[work.key] += 1
        self.most[work.key] = max(self.most[work.key], self._now[work.key])
        try:
            await asyncio.sleep(self._wait)
            await self.let_go.wait()
        finally:
            self._now[work.key] -= 1
            self.times.append((began, time.monotonic()))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        self.ended += 1
        if isinstance(answer, Exception):
            raise answer
        return answer


async def _at_rest(store: PostgresStore) -> bool:
    return (await store.queue.backlog()).waiting == 0


async def _rest(store: PostgresStore, seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not await _at_rest(store):
            await asyncio.sleep(0.01)


async def test_a_wake_while_a_look_runs_causes_another_after_it(store: PostgresStore) -> None:
    """The short-cut drops a wake for a key that is being looked at."""
    looks = Looks(held=True)
    async with working(store, looks):
        await store.queue.wake(KEY, Hint(comments=frozenset({1})))
        await until(lambda: len(looks.seen) == 1)
        await store.queue.wake(KEY, Hint(comments=frozenset({2})))
        looks.let_go.set()
        await _rest(store)

    assert [work.hint for work in looks.seen] == [
        Hint(comments=frozenset({1})),
        Hint(comments=frozenset({2})),
    ]
    assert looks.most[KEY] == 1


async def test_many_wakes_while_a_look_runs_cause_one_more(store: PostgresStore) -> None:
    looks = Looks(held=True)
    async with working(store, looks):
        await store.queue.wake(KEY)
        await until(lambda: len(looks.seen) == 1)
        await asyncio.gather(*(store.queue.wake(KEY) for _ in range(50)))
        looks.let_go.set()
        await _rest(store)

    assert len(looks.seen) == 2


async def _failed_often(database_url: str) -> None:
    """The next failure backs off for a quarter of an hour: what is at rest soon waited for none."""
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        await connection.execute("UPDATE work SET tries = 20, failing = now() - interval '1 hour'")


async def test_a_wake_while_a_look_fails_is_answered_at_once(
    store: PostgresStore, database_url: str
) -> None:
    looks = Looks(RuntimeError("broke"), Settled(), held=True)
    await store.queue.wake(KEY, Hint(comments=frozenset({1})))
    await _failed_often(database_url)
    async with working(store, looks):
        await until(lambda: len(looks.seen) == 1)
        await store.queue.wake(KEY, Hint(comments=frozenset({2})))
        looks.let_go.set()
        await _rest(store)

    # What the failed look was told is told again.
    assert [(sorted(w.hint.comments), w.tries) for w in looks.seen] == [([1], 20), ([1, 2], 21)]


async def test_a_wake_while_a_key_backs_off_is_answered_at_once(
    store: PostgresStore, database_url: str
) -> None:
    """The short-cut schedules a retry as a job of its own: newer wakes queue behind it."""
    looks = Looks(Failed("busy"), Settled())
    await store.queue.wake(KEY)
    await _failed_often(database_url)
    async with working(store, looks) as worker:
        await until(lambda: looks.ended == 1 and worker.busy == 0)
        await store.queue.wake(KEY)
        await _rest(store)

    assert len(looks.seen) == 2


async def test_a_wait_that_the_forge_asked_for_is_kept_whatever_wakes(store: PostgresStore) -> None:
    looks = Looks(PutOff("rate limit", after=0.5), Settled())
    async with working(store, looks):
        await store.queue.wake(KEY)
        await until(lambda: looks.ended == 1)
        await asyncio.sleep(0.05)
        await store.queue.wake(KEY)
        await _rest(store)

    (_, refused), (again, _) = looks.times
    assert again - refused >= 0.45


async def test_a_failure_is_tried_again_by_itself(store: PostgresStore) -> None:
    looks = Looks(ValueError("broke"), Settled())
    async with working(store, looks):
        await store.queue.wake(KEY)
        await _rest(store)

    assert [work.tries for work in looks.seen] == [0, 1]


async def test_looking_again_has_the_same_hint_and_counts_as_no_failure(
    store: PostgresStore,
) -> None:
    looks = Looks(LookAgain(0.02), LookAgain(0.02), Settled())
    async with working(store, looks):
        await store.queue.wake(KEY, Hint(heads=frozenset({"aaa"})))
        await _rest(store)

    assert [(work.hint, work.tries) for work in looks.seen] == [
        (Hint(heads=frozenset({"aaa"})), 0)
    ] * 3


async def test_what_opens_by_time_alone_is_looked_at_then(store: PostgresStore) -> None:
    """The short-cut waits for the next event, which never comes."""
    looks = Looks(Settled(after=0.2), Settled())
    async with working(store, looks):
        await store.queue.wake(KEY)
        await _rest(store)

    (_, ended), (again, _) = looks.times
    assert again - ended >= 0.15


async def test_two_workers_never_share_a_key(database_url: str) -> None:
    looks = Looks(wait=0.005)
    async with (
        PostgresStore(database_url, patience=60) as one,
        PostgresStore(database_url, patience=60) as two,
        working(one, looks, name="one"),
        working(two, looks, name="two"),
    ):
        for _ in range(30):
            await one.queue.wake_all(
                {PullKey(on_github(1), number): NOTHING for number in range(6)}
            )
            await asyncio.sleep(0.004)
        await _rest(one)

    assert set(looks.most.values()) == {1}
    assert len(looks.most) == 6


async def test_a_lost_lease_ends_the_look_and_another_takes_over(
    store: PostgresStore, database_url: str
) -> None:
    """The short-cut never looks at its lease again: both finish, and the slow one wins."""
    slow, quick = Looks(wait=60), Looks()
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as sql:
        # It renews its lease soon, which does not end by itself.
        async with working(store, slow, name="slow", grace=0, clock=Quick()) as worker:
            await store.queue.wake(KEY)
            await until(lambda: len(slow.seen) == 1)
            # As if the machine had slept through its lease and another had taken the key.
            await sql.execute("UPDATE work SET owner = 'another', lease = now() + interval '1 h'")
            await until(lambda: worker.busy == 0)

        await sql.execute("UPDATE work SET lease = now()")
        async with working(store, quick, name="quick"):
            await _rest(store)

    assert (len(slow.seen), slow.ended, quick.ended) == (1, 0, 1)


async def test_a_lease_is_renewed_while_a_look_takes_long(
    store: PostgresStore, database_url: str
) -> None:
    looks = Looks(held=True)
    async with (
        await psycopg.AsyncConnection.connect(database_url, autocommit=True) as sql,
        working(store, looks, clock=Quick()),
        working(store, looks, name="other", clock=Quick()),
    ):
        await store.queue.wake(KEY)
        await until(lambda: len(looks.seen) == 1)
        leases: set[tuple[str, datetime]] = set()
        async with asyncio.timeout(60):
            while len(leases) < 3:
                leases |= set(await (await sql.execute("SELECT owner, lease FROM work")).fetchall())
                await asyncio.sleep(0.01)
        looks.let_go.set()
        await _rest(store)

    assert len({owner for owner, _ in leases}) == 1  # whoever gets it keeps it
    assert looks.ended == 1


class Standing(SystemClock):
    """Whoever waits by it waits for ever, so that nothing is renewed; it can be put forward."""

    ahead = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead

    async def sleep(self, seconds: float) -> None:
        await asyncio.Event().wait()


async def test_who_stood_still_knows_that_another_has_its_key(
    store: PostgresStore, database_url: str
) -> None:
    """The short-cut writes on until the next renewal: over what another replica wrote by then. The
    other short-cut asks the database before each write, however fresh the lease is."""
    knows, clock, ended = list[bool](), Standing(), asyncio.Event()

    def has_it(owner: str) -> None:
        with psycopg.connect(database_url, autocommit=True) as sql:
            sql.execute("UPDATE work SET owner = %s", (owner,))

    async def look(_: WorkItem) -> Result:
        for owner, ahead in (("another", 29), ("one/1", 31), ("another", 31)):
            has_it(owner)
            clock.ahead += ahead
            knows.append(await holds_its_key())
        ended.set()
        return Settled()

    await store.queue.wake(KEY)
    async with working(store, look, lease=60, clock=clock):
        await ended.wait()

    assert knows == [True, True, False]


@pytest.mark.parametrize("when", ["at its end", "as it is renewed", "as its end is recorded"])
async def test_a_key_that_somebody_else_got_is_looked_at_once_more(
    store: PostgresStore, database_url: str, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut lets whoever lost a key go, or whoever is ended while that is recorded: a
    comment that was on its way when another replica read goes over theirs, and stays so until a
    sweep comes by."""
    looks, clock = list[str](), Standing() if when == "at its end" else Quick()
    done = store.queue.done

    async def hangs(*given: Any, **more: Any) -> bool:
        if when == "as its end is recorded" and len(looks) == 1:
            await asyncio.Event().wait()
        return await done(*given, **more)

    async def look(work: WorkItem) -> Result:
        looks.append(str(work.key))
        if len(looks) == 1:
            with psycopg.connect(database_url, autocommit=True) as sql:  # another one, to its end
                sql.execute(
                    "UPDATE work SET owner = NULL, lease = NULL, seen = wanted, due = 'infinity'"
                )
            if when == "as it is renewed":
                await asyncio.Event().wait()
        return Settled()

    monkeypatch.setattr(store.queue, "done", hangs)
    await store.queue.wake(KEY)
    async with working(store, look, clock=clock):
        await until(lambda: len(looks) == 2)
        await _rest(store)

    assert looks == [str(KEY), str(KEY)]


async def test_a_killed_worker_is_taken_over_after_its_lease(
    store: PostgresStore, process: Callable[..., subprocess.Popen[str]]
) -> None:
    """The short-cut marks a key as running until its worker says otherwise: for ever."""
    await store.queue.wake(KEY)
    killed = process("killed", 60)
    assert killed.stdout is not None
    assert await asyncio.to_thread(killed.stdout.readline) == f"killed begins {KEY}\n"
    killed.send_signal(signal.SIGKILL)

    looks = Looks()
    begun = time.monotonic()
    async with working(store, looks):
        await _rest(store)

    print(f"taken over {time.monotonic() - begun:.2f} s after kill -9, with a lease of 1 s")
    assert [work.key for work in looks.seen] == [KEY]


async def test_two_hundred_deliveries_then_a_kill_and_all_are_done(
    store: PostgresStore, process: Callable[..., subprocess.Popen[str]]
) -> None:
    """The short-cut keeps the queue in memory: a restart asks people to comment again."""
    keys = [PullKey(on_github(1), number) for number in range(200)]
    for number, key in enumerate(keys):
        delivery = Delivered(guid=str(number), event="e", action="", headers={}, body=b"{}")
        await store.deliveries.add(delivery, {key: Hint(comments=frozenset({number}))})
    killed = process("killed", 0.05)
    assert killed.stdout is not None
    # Nobody reads what it says in the end: it comes no further, whenever it is killed.
    fcntl.fcntl(killed.stdout, fcntl.F_SETPIPE_SZ, 4096)
    for _ in range(50):
        await asyncio.to_thread(killed.stdout.readline)
    killed.send_signal(signal.SIGKILL)
    said, _ = await asyncio.to_thread(killed.communicate)
    assert said.count("ends") < 150

    looks = Looks()
    async with working(store, looks):
        await _rest(store, 120)

    done_before = 200 - len(looks.seen)
    assert 0 < done_before < 200
    assert all(work.hint == Hint(comments=frozenset({work.key.number})) for work in looks.seen)  # type: ignore[union-attr] # all are PullKey


async def test_stopping_lets_looks_end_and_takes_no_more(store: PostgresStore) -> None:
    """Fails when whoever ends the worker, and cancels it again meanwhile, cuts the wait short."""
    looks = Looks(held=True)
    async with working(store, looks, grace=60):
        await store.queue.wake_all({PullKey(on_github(1), number): NOTHING for number in range(10)})
        await until(lambda: len(looks.seen) == 4)
        asyncio.get_running_loop().call_later(2 * AGAIN, looks.let_go.set)

    assert (looks.ended, len(looks.seen)) == (4, 4)
    assert (await store.queue.backlog()).due == 6


async def test_stopping_gives_back_what_does_not_end(store: PostgresStore) -> None:
    looks = Looks(wait=60)
    async with working(store, looks, grace=0.1):
        await store.queue.wake(KEY, Hint(comments=frozenset({1})))
        await until(lambda: len(looks.seen) == 1)

    taken = await store.queue.take("next")
    assert taken is not None
    assert (looks.ended, taken.key, taken.hint) == (0, str(KEY), Hint(comments=frozenset({1})))


async def test_a_busy_key_does_not_starve_the_others(store: PostgresStore) -> None:
    order: list[int] = []

    async def handler(work: WorkItem) -> Result:
        assert isinstance(work.key, PullKey)
        order.append(work.key.number)
        if work.key.number == 0 and len(order) < 50:
            await store.queue.wake(work.key)
        return Settled()

    await store.queue.wake(PullKey(on_github(1), 0))
    for number in range(1, 9):
        await store.queue.wake(PullKey(on_github(1), number))
    async with working(store, handler):
        await _rest(store)

    assert set(order[:20]) == set(range(9))


@pytest.mark.parametrize(("failing", "least"), [(0, 1), (0.3, 1), (7, 7), (1000, 900)])
def test_a_key_waits_as_long_as_it_has_been_failing(failing: float, least: float) -> None:
    """The short-cut counts failures: ten people who comment in an outage make it wait for hours."""
    assert backoff(failing, 0.0) == least
    assert least < backoff(failing, 0.5) <= least * 1.1


async def test_looks_a_second_and_the_time_from_wake_to_look(store: PostgresStore) -> None:
    waits: list[float] = []
    began: dict[Key, float] = {}

    async def handler(work: WorkItem) -> Result:
        waits.append(time.monotonic() - began[work.key])
        return Settled()

    async with working(store, handler):
        await asyncio.sleep(0.1)
        for number in range(50):
            key = PullKey(on_github(1), number)
            began[key] = time.monotonic()
            await store.queue.wake(key)
            await asyncio.sleep(0.005)
        await _rest(store)
        idle = sorted(waits)
        keys: Sequence[Key] = [PullKey(on_github(2), number) for number in range(200)]
        began |= dict.fromkeys(keys, time.monotonic())
        await store.queue.wake_all(dict.fromkeys(keys, NOTHING))
        begun = time.monotonic()
        await until(lambda: len(waits) == 250, 120)
        seconds = time.monotonic() - begun

    print(f"wake to look: p50 {idle[25] * 1000:.1f} ms, p98 {idle[48] * 1000:.1f} ms")
    print(f"taken, looked at and done: {200 / seconds:,.0f} a second with 4 workers")


async def _takes(worker: Worker) -> bool:
    try:
        await worker.check()
    except MissingError:
        return False
    return True


async def test_whether_keys_are_taken() -> None:
    """Short-cuts refused: a loop that hangs looks alive; one that has no room looks dead."""
    clock = ManualClock()
    store, ends = MemoryStore(clock), asyncio.Event()

    async def look(work: WorkItem) -> Settled:
        await ends.wait()
        return Settled()

    worker = Worker(store, look, "test", clock=clock)
    with pytest.raises(MissingError, match="no key was asked for yet"):
        await worker.check()
    running = asyncio.create_task(worker.run(1))
    async with asyncio.timeout(60):
        while not await _takes(worker):
            await asyncio.sleep(0)
    store.statements.reachable = False
    clock.seconds += 1000
    with pytest.raises(MissingError, match=r"no key was asked for in \d+ s"):
        await worker.check()
    store.statements.reachable = True
    await store.queue.wake_all({KEY: NOTHING, PullKey(on_github(2), 7): NOTHING})
    while worker.busy < 2:
        await asyncio.sleep(0)
    clock.seconds += 1000
    await worker.check()  # it has no room
    ends.set()
    await end([running])
