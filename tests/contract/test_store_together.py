"""What several replicas ask of PostgreSQL at the same time, the store in memory explains.

Rounds of operations run together on connections of their own; afterwards there must be an order in
which the store in memory gives the same answers (`tests.contract.linear`).
"""

import asyncio
import copy
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isinf
from typing import Any

import psycopg
import pytest

from bot.keys import BaseKey, Key, PullKey
from bot.store.hints import Hint
from bot.store.port import Store
from bot.store.postgres import PostgresStore
from bot.store.values import Delivered, Taken
from tests.contract.linear import Explained, Operation
from tests.contract.stores import HOUR, Stored, opened
from tests.ids import FIRST
from tests.memory.clock import ManualClock
from tests.memory.store import MemoryStore
from tests.memory.work import MemoryQueue, Row

ROUNDS, TOGETHER, REPLICAS = 20, 3, 2
WAYS = 3
"""How a take sees a key that another statement is at: as it is, not at all, in its old place."""
PATIENCE = 10
"""Looks for all of a round to wait; wakes of one replica may be put together, and wait as one."""

_WAITING = """
SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted AND locktype = 'relation'
"""

KEYS: tuple[Key, ...] = (*(PullKey(FIRST, n) for n in range(4)), BaseKey(FIRST, "main"))

Ask = Callable[[Store, Mapping[str, Taken]], Awaitable[Any]]
"""What is asked of a store, given what was taken of it, by the name of the take."""


@dataclass
class Model:
    """The store in memory, with the time of the database, and what was taken of it."""

    clock: ManualClock = field(default_factory=ManualClock)
    taken: dict[str, Taken] = field(default_factory=dict)
    began: float = 0.0
    due_before: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.store = MemoryStore(self.clock)

    @property
    def queue(self) -> MemoryQueue:
        return self.store.work

    def told(self) -> str:
        """Its state, but for how far apart in a round things happened."""
        rows = sorted(self.queue.rows.items())
        claims = sorted(self.store.claims._taken.items(), key=repr)  # type: ignore[attr-defined]
        rank = {due: place for place, due in enumerate(sorted({row.due for _, row in rows}))}
        known = [
            (k, r.is_wanted, self._missed(r), r.tries, r.error, r.owner, repr(r.hint))
            for k, r in rows
        ]
        when = [(rank[r.due], *map(_half_hour, (r.due, r.held, r.lease))) for _, r in rows]
        return repr((known, when, [(where, _half_hour(at)) for where, at in claims]))

    def _missed(self, row: Row) -> bool:
        """It was woken since it was taken."""
        return row.owner is not None and row.wanted > self.taken[row.owner].wanted


@dataclass
class Drawing:
    """Draws operations; what was taken is taken of both under the same name."""

    draw: random.Random
    taken: list[Taken] = field(default_factory=list)
    count: int = 0

    def round(self) -> list[tuple[Operation[Model], Ask]]:
        """Some that run together."""
        drawn = [self._one() for _ in range(TOGETHER)]
        return [
            (self._operation(name, ask, at, drawn, place), ask)
            for place, (name, ask, at) in enumerate(drawn)
        ]

    def _operation(
        self,
        name: str,
        ask: Ask,
        at: frozenset[str],
        drawn: list[tuple[str, Ask, frozenset[str]]],
        place: int,
    ) -> Operation[Model]:
        """A take may pass over any of what somebody else's statement is at, just then.

        Or it orders it as it was before that statement: PostgreSQL looks again whether a row that
        was changed meanwhile may be taken, and not for its place.
        """
        busy = [at for n, (_, _, at) in enumerate(drawn) if n != place]
        passed = sorted(frozenset[str]().union(*busy))

        async def answers(model: Model, way: int) -> Any:
            ways = [way // WAYS**number % WAYS for number in range(len(passed))]
            found = {key: one for key, one in zip(passed, ways, strict=True) if one}
            queue, before = model.queue, model.due_before
            queue.passed_over = frozenset(key for key, one in found.items() if one == 1)
            stood = {key for key, one in found.items() if one == 2}
            queue.stood = {key: due for key, due in before.items() if key in stood}
            answer = await ask(model.store, model.taken)
            if isinstance(answer, Taken):
                model.taken[answer.owner] = answer
            return _told(answer)

        ways = WAYS ** len(passed) if name == "take" else 1
        stamped = name.startswith(("wake", "deliver", "claim", "hold", "again", "done"))
        return Operation(f"{name} {sorted(at)}", answers, ways, stamped)

    def _one(self) -> tuple[str, Ask, frozenset[str]]:
        self.count += 1
        draw, owner = self.draw, f"w{self.count}"
        kind = draw.choice(
            ["wake", "wake", "take", "take", "take", "deliver", "claim", "hold", "release"]
            + ["done", "again", "failed", "give back", "renew"] * bool(self.taken)
        )
        keys = draw.sample(KEYS, draw.randrange(1, 3))
        wakes = {key: Hint(comments=frozenset({draw.randrange(3)})) for key in keys}
        at = frozenset(str(key) for key in keys)
        place, after = draw.choice("ab"), draw.choice((0.0, 1800.0))
        if kind in ("wake", "take", "deliver", "claim", "hold", "release"):
            delivery = _delivery(draw.randrange(4))
            asks: dict[str, tuple[Ask, frozenset[str]]] = {
                "wake": (lambda s, _: s.queue.wake_all(wakes, after=after), at),
                "take": (lambda s, _: s.queue.take(owner, 1800.0), frozenset()),
                "deliver": (lambda s, _: s.deliveries.add(delivery, wakes), at),
                "claim": (lambda s, _: s.claims.take(FIRST, place, 1800.0), frozenset()),
                "hold": (lambda s, _: s.claims.hold(FIRST, place), frozenset()),
                "release": (lambda s, _: s.claims.give_back(FIRST, place), frozenset()),
            }
            return kind, *asks[kind]
        one, hold = draw.choice(self.taken[-4:]), draw.random() < 0.5
        ends: dict[str, Ask] = {
            "done": lambda s, t: s.queue.done(t[one.owner], after=draw_after),
            "again": lambda s, t: s.queue.again(t[one.owner], after),
            "failed": lambda s, t: s.queue.failed(t[one.owner], "no", after, hold=hold),
            "give back": lambda s, t: s.queue.give_back(t[one.owner]),
            "renew": lambda s, _: s.queue.renew([one.owner], 1800.0),
        }
        draw_after = draw.choice((None, after))
        return kind, ends[kind], frozenset({one.key})


def _delivery(number: int) -> Delivered:
    return Delivered(
        guid=str(number), event="push", action="", headers={}, body=b"", repository=None
    )


def _told(answer: Any) -> Any:
    match answer:
        # How often it was wanted tells nobody anything: wakes may be put together.
        case Taken(key=key, hint=hint, tries=tries, owner=owner):
            return (key, hint, tries, owner)
        case set():
            return sorted(answer)
    return answer


def _half_hour(moment: float) -> float:
    return moment if isinf(moment) else round(moment / 1800.0)


def _copied(model: Model) -> Model:
    """A copy; what never changes is shared, and what no operation here is about."""
    about = ("statements", "work", "queue", "deliveries", "claims")
    others = [each for name, each in vars(model.store).items() if name not in about]
    shared = [*others, *model.taken.values(), model.clock.drawn]
    return copy.deepcopy(model, {id(each): each for each in shared})


def _set_time(model: Model, place: int) -> None:
    model.clock.seconds = model.began + place * 1e-4


@pytest.mark.parametrize("seed", range(2))
async def test_what_ran_together_ran_in_some_order(seed: int, database_url: str) -> None:
    """The short-cut asks one thing at a time: what two replicas do to each other is never seen."""
    drawing = Drawing(random.Random(seed))
    explained = Explained([Model()], _copied, Model.told, _set_time)
    async with (
        opened("postgresql", database_url) as first,
        PostgresStore(database_url, patience=60) as second,
    ):
        stores = [first.store, second]
        for step in range(ROUNDS):
            if drawing.draw.random() < 0.2:
                await _an_hour(first, explained)
            for model in explained.states:
                model.began += 1e-2
                model.due_before = {key: row.due for key, row in model.queue.rows.items()}
            drawn = drawing.round()
            taken = {each.owner: each for each in drawing.taken}
            asked = [ask(stores[n % REPLICAS], taken) for n, (_, ask) in enumerate(drawn)]
            answers = await _at_once(database_url, asked)
            drawing.taken += [each for each in answers if isinstance(each, Taken)]
            told = [_told(each) for each in answers]
            before = explained.states
            await explained.explain([operation for operation, _ in drawn], told)
            names = [f"{o.name}: {answer!r}" for (o, _), answer in zip(drawn, told, strict=True)]
            assert explained.states, f"seed {seed}, round {step}: {names}; {before[0].told()}"


async def _at_once(url: str, asked: Sequence[Awaitable[Any]]) -> list[Any]:
    """Let all of it wait for a lock on the tables, so that it really goes on together then."""
    async with await psycopg.AsyncConnection.connect(url) as holder:
        await holder.execute("LOCK TABLE work, claim, delivery IN EXCLUSIVE MODE")
        waiting = asyncio.gather(*asked)
        for _ in range(PATIENCE):
            row = await (await holder.execute(_WAITING)).fetchone()
            if row and row[0] >= len(asked):
                break
            await asyncio.sleep(0.002)
        await holder.commit()
        return await waiting


async def _an_hour(stored: Stored, explained: Explained[Model]) -> None:
    await stored.an_hour_passes()
    for model in explained.states:
        model.began += HOUR
