"""The simulated system: forge, bots and database on one drawn loop, and how time passes for them.

Drawn histories and the stories in simulated time share it; they differ in what people do and in
what goes wrong.
"""

import heapq
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any, TypeVar

from bot.forges.github.deliveries import GitHubWebhooks
from bot.forges.port import BotIdentity
from bot.forges.webhooks import Delivery, WebhookError, WebhookReader
from bot.git.port import Mirrors
from bot.http.webhooks import Bodies, BodyLimits, WebhookEndpoint, WebhookSource
from bot.render.port import Renderer
from bot.sandbox.faults.hooks import OutgoingHook
from bot.store.port import Store
from bot.store.values import StoreError
from tests.simulation.forge import SimulatedForge
from tests.simulation.oracle import STALE
from tests.simulation.ports import Gate
from tests.simulation.replica import Replica, World, stamped_and_sound
from tests.simulation.scheduler import DrawnLoop, Owner, SimulatedClock
from tests.simulation.setting import BOT
from tests.simulation.weather import Weather

T = TypeVar("T")

READER: WebhookReader = GitHubWebhooks(())

ENDLESS = 60_000
"""Steps of tasks without time passing, after which something goes round in circles. To catch up
with nineteen merge requests, after a day without a webhook, takes more than 20,000."""

LONGEST_LOOK = 300
"""Seconds after which time may jump though somebody looks."""

CAUGHT_UP = 4.0
"""Seconds after which the forge answers nothing from before any more."""


class EndlessError(Exception):
    """Something goes round in circles without time passing."""


@dataclass(order=True)
class Due:
    """Something that happens at its time."""

    at: float
    order: int
    act: Callable[[], None] = field(compare=False)


class System:
    """A forge, its bots and their database; a subclass sets `forge` and `store`.

    Args:
        draw: Where the order of tasks comes from, and all else that is drawn.
        latency: How long the next call takes, in seconds.

    Attributes:
        forge: The forge.
        store: The database that there is now.
        replicas: Bots at work.
        broke: What broke a look that should not have: a bug.
        beyond: What git in memory could not tell.
    """

    forge: SimulatedForge
    store: Store
    workers = 2
    """Keys that a bot looks at at a time."""
    reader: WebhookReader = READER
    """Reads webhooks."""
    me: BotIdentity = BotIdentity(BOT, "")
    """Who the bot is to it."""

    def __init__(self, draw: Random, latency: Callable[[], float] = lambda: 0.0) -> None:
        self.draw = draw
        self.loop = DrawnLoop(lambda n: int(self.draw.random() * n))
        self.clock = SimulatedClock(self.loop, draw)
        self._agenda: list[Due] = []
        self._order = count()
        self._names = count(1)
        self._endless = ENDLESS
        self.weather = Weather(self.loop, latency, self.kill)
        self.replicas: list[Replica] = []
        self.broke: list[str] = []
        self.looking: dict[str, Owner] = {}
        self.beyond: list[str] = []

    # --- bots -----------------------------------------------------------------------------------

    def start(self) -> None:
        """Start a bot."""
        world = World(
            self.loop,
            self.forge,
            self.store,
            self.weather,
            self.draw,
            self.broke,
            self.looking,
            self.beyond,
            self._mirrors,
            self._renderer,
        )
        self.replicas.append(Replica(world, f"bot{next(self._names)}", self.workers))

    def kill(self, name: str) -> None:
        """End a bot at once."""
        for replica in [r for r in self.replicas if r.name == name]:
            self.replicas.remove(replica)
            replica.kill()

    def _mirrors(self, name: str, clock: SimulatedClock) -> Mirrors:
        return self.forge.mirrors(name, clock)

    def _renderer(self, _store: Store, _clock: SimulatedClock, _gate: Gate) -> Renderer:
        """What renders for one bot."""
        return stamped_and_sound()

    @contextmanager
    def happening(self) -> Iterator[None]:
        """Everything happens inside the block; at its end the bots do."""
        with self.loop.current():
            try:
                yield
            finally:
                for replica in self.replicas:
                    replica.kill()
                self.loop.run(ENDLESS)

    # --- webhooks -------------------------------------------------------------------------------

    def send(self) -> None:
        """What becomes of the webhooks that the forge has made."""
        waiting = self.forge.deliveries
        while waiting:
            hook = waiting.popleft()
            for late in self._fates(hook):
                self._deliver(hook, late)

    def _fates(self, _hook: OutgoingHook) -> Iterable[float]:
        """After how many seconds a webhook comes, each time that it does."""
        return (0.0,)

    def _deliver(self, hook: OutgoingHook, late: float) -> None:
        if late:
            self.later(late, lambda: self._arrive(hook))
        else:
            self._arrive(hook)

    def _arrive(self, hook: OutgoingHook) -> None:
        if self.replicas:
            replica = self.replicas[int(self.draw.random() * len(self.replicas))]
            replica.start(self._take(replica, hook))
        else:
            self.weather.tally["webhook while no bot ran"] += 1

    async def _take(self, replica: Replica, hook: OutgoingHook) -> None:
        delivery = self._read(hook)
        if delivery is not None and delivery.group:
            delivery = await self._of_group(replica, delivery)
        if delivery is None:
            return
        stored = delivery.stored(self.reader.forge, hook.body)
        try:
            await replica.store.deliveries.add(stored, delivery.wakes)
        except StoreError:
            self.weather.tally["webhook refused: no database"] += 1

    def _read(self, hook: OutgoingHook) -> Delivery | None:
        """Read a webhook as the bot does; None for one that is refused."""
        headers = {name.lower(): value for name, value in hook.headers.items()}
        return self.reader.read_verified(headers, hook.body, self.me)

    async def _of_group(self, replica: Replica, delivery: Delivery) -> Delivery | None:
        """What counts of a group's webhook, as the bot's server has it; None for a refused one."""
        covers = replica.forges.covers
        source = WebhookSource(self.reader, replica.forges.identity, covers=covers)
        endpoint = WebhookEndpoint(source, replica.store, Bodies(BodyLimits()), clock=replica.clock)
        try:
            return await endpoint._of_group(delivery, 0)
        except WebhookError:
            return None

    # --- time -----------------------------------------------------------------------------------

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        """Have something happen after some time."""
        heapq.heappush(self._agenda, Due(self.loop.now + seconds, next(self._order), act))

    def rest(self, most: int = ENDLESS) -> bool:
        """Let everything go on without time passing; whether nothing is ready any more.

        Webhooks of what was done just now are on their way from the beginning: sent after `most`
        steps, they would never meet a look that goes on.
        """
        self.send()
        done = self.loop.run(most)
        self.send()
        while self.loop.is_ready and most == ENDLESS:
            self.loop.run(most)
            self.send()
            if self.loop.steps > self._endless:
                raise EndlessError
        if done and not self.loop.is_ready and self.is_idle:
            self._is_quiet()
        return done

    def go_on(self) -> None:
        """Let everything go on without time passing, for as many steps as may be at a time."""
        self._endless = self.loop.steps + ENDLESS
        self.rest()

    @property
    def is_idle(self) -> bool:
        """No bot looks at anything."""
        return all(r.is_idle for r in self.replicas)

    def _is_quiet(self) -> None:
        """Nothing goes on; for who has to know."""

    def pass_time(self, seconds: float) -> None:
        """Let time pass, as it does for everybody."""
        end = self.loop.now + seconds
        self._endless = self.loop.steps + ENDLESS + int(seconds * 40)
        while True:
            self.rest()
            at = self.next_at(end)
            if at > end:
                break
            self._advance(at)
            if at == end:
                self.rest()
                break
        self._advance(end)
        if seconds >= CAUGHT_UP:
            self.catch_up()

    def pass_to_next(self, until: float) -> None:
        """Let what is ready go on, and time pass to what happens next, or to a moment."""
        self.go_on()
        self._advance(min(self.next_at(until), until))
        self.go_on()

    def catch_up(self) -> None:
        """All of the forge shows what is so now."""
        self.forge.past.now += STALE + 1
        self.rest()

    def next_at(self, default: float) -> float:
        """When something happens next."""
        return min((t for t in self._next() if t is not None), default=default)

    def _next(self) -> list[float | None]:
        """When something may happen next; the polls of idle bots are skipped."""
        agenda = self._agenda[0].at if self._agenda else None
        if not self.replicas:
            return [agenda]
        if not self.is_idle or self.weather.away:
            return [agenda, self.loop.next_timer()]
        due = self.now(self.store.queue.next_due())
        if due == 0.0:  # and nobody has taken it: whoever could not reach the database polls
            return [agenda, self.loop.next_timer()]
        return [
            agenda,
            None if due is None else self.loop.now + due + 0.002,
            self.loop.next_timer(skip=True),
        ]

    def now(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """What a coroutine gives that only lets others run."""
        while True:
            try:
                coroutine.send(None)
            except StopIteration as end:
                result: T = end.value
                return result

    def _advance(self, until: float) -> None:
        self.loop.advance(until)
        while self._agenda and self._agenda[0].at <= self.loop.now:
            heapq.heappop(self._agenda).act()
        self.weather.away = {p: t for p, t in self.weather.away.items() if t > self.loop.now}

    def skip(self, seconds: float) -> None:
        """Let much time pass at once, once everything rests.

        No bot can renew its lease on what it looks at while time jumps.
        """
        self.pass_time(30.0)
        for _ in range(LONGEST_LOOK):
            if self.is_idle:
                break
            self.pass_time(1.0)
        self._advance(self.loop.now + seconds)
        self.pass_time(30.0)
