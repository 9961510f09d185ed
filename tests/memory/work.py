"""Work of the in-memory store: one row a key, as `bot.store.statements` has it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from typing import Any

from bot.keys import BaseKey, Key, forge_named, parse, place_of
from bot.store.hints import MOST_PRESSED, MOST_TRACES, NOTHING, Hint, HintJSON, traced
from bot.store.values import (
    KEPT_DAYS,
    LEASE,
    SILENT,
    UNORDERED,
    Backlog,
    Failing,
    Rested,
    SchedulingOrder,
    Taken,
)
from lifecycle.identity import RepositoryId
from tests.memory.statements import Statements, kept

LONGEST_ERROR = 2000
"""Characters that are kept of what went wrong."""

Hints = dict[str, list[Any]]
"""A hint as it is kept: values of JSON."""


@dataclass
class Row:
    """What is known of one key; times are those of the clock, infinite while nothing is wanted."""

    due: float
    hint: Hints
    priority: int
    wanted: int = 1
    seen: int = 0
    held: float = -inf
    lease: float = -inf
    owner: str | None = None
    tries: int = 0
    failing: float = 0.0
    error: str = ""
    heard: float | None = None
    rested: datetime | None = None

    @property
    def is_wanted(self) -> bool:
        """Somebody wants it looked at, now or later."""
        return self.wanted > self.seen

    @property
    def opens(self) -> float:
        """When it may be taken."""
        return max(self.due, self.held, self.lease)

    def rest(self, due: float) -> None:
        """A look came to its end: nobody has it, and it has not failed."""
        self.due, self.tries, self.error, self.held = due, 0, "", -inf
        self.free()

    def free(self) -> None:
        """Nobody has it."""
        self.owner, self.lease = None, -inf


class MemoryQueue:
    """`bot.store.port.Queue`.

    Args:
        statements: What each of its statements does first.
        named: The name of a repository; "" where it was never adopted.

    Attributes:
        rows: What is known of each key, by its text.
        listeners: Who is told of work, with what by.
        passed_over: Keys that no take gives: somebody else's statement is at them just now.
        stood: When keys were due before somebody else's statement changed them: a take orders what
            it found by what it saw, and asks what is there now only whether it may be taken.
    """

    def __init__(self, statements: Statements, named: Callable[[RepositoryId], str]) -> None:
        self._statements = statements
        self._named = named
        self.rows: dict[str, Row] = {}
        self.passed_over: frozenset[str] = frozenset()
        self.stood: Mapping[str, float] = {}
        self.listeners: list[tuple[str, asyncio.Event]] = []

    async def wake(self, key: Key, hint: Hint = NOTHING, *, after: float = 0) -> None:
        await self.wake_all({key: hint}, after=after)

    async def wake_all(self, wakes: Mapping[Key, Hint], *, after: float = 0) -> None:
        if wakes:
            await self._statements.begin()
            self.woken(readable(wakes), after)

    def woken(
        self, wakes: Mapping[Key, Hints], after: float = 0, heard: float | None = None
    ) -> None:
        """Within somebody's statement: ask for keys to be looked at, and tell whoever listens."""
        due = self._statements.seconds() + after
        for key, hint in wakes.items():
            row = self.rows.get(str(key))
            if row is None:
                self.rows[str(key)] = Row(due, hint, int(isinstance(key, BaseKey)), heard=heard)
            else:
                if row.heard is None or not row.is_wanted:
                    row.heard = heard
                row.wanted += 1
                row.due = min(row.due, due)
                most = {"trace": MOST_TRACES, "pressed": MOST_PRESSED}
                full = {name for name in most if len(row.hint.get(name, ())) >= most[name]}
                row.hint = _union(row.hint, {n: hint[n] for n in hint if n not in full})
        self._tell()

    async def take(
        self, owner: str, lease: float = LEASE, order: SchedulingOrder = UNORDERED
    ) -> Taken | None:
        await self._statements.begin()
        now, full = self._statements.seconds(), order.full
        silent = lease * SILENT / LEASE
        ready = [
            (order.ranks.get(place_of(k), 0), -r.priority, self.stood.get(k, r.due), k)
            for k, r in self.rows.items()
            if r.due <= now  # most are not: it is asked first
            and r.is_wanted
            and self._opens(r, silent) <= now
            and k not in self.passed_over
            and not (full and (place_of(k) in full or forge_named(k) in full))
        ]
        if not ready:
            return None
        *_, key = min(ready)
        row = self.rows[key]
        row.owner, row.lease = owner, now + lease
        stored = kept(row.hint)
        return Taken(
            key=key,
            wanted=row.wanted,
            hint=Hint.from_json(stored),
            tries=row.tries,
            owner=owner,
            stored=stored,
            heard=None if row.heard is None else now - row.heard,
            failing=now - row.failing if row.tries else 0.0,
        )

    async def news(self, taken: Taken) -> Hint:
        row = await self._mine(taken)
        return Hint.from_json(_minus(row.hint, taken.stored)) if row else NOTHING

    async def renew(self, owners: Sequence[str], lease: float = LEASE) -> set[str]:
        await self._statements.begin()
        held = [row for row in self.rows.values() if row.owner in owners]
        for row in held:
            row.lease = self._statements.seconds() + lease
        return {row.owner for row in held if row.owner is not None}

    async def done(self, taken: Taken, *, after: float | None = None) -> bool:
        row = await self._mine(taken)
        if row is None:
            return False
        unmoved = row.wanted == taken.wanted
        row.seen = taken.wanted - 1 if unmoved and after is not None else taken.wanted
        again = () if unmoved else ("number", "installation")
        dealt = {name: values for name, values in taken.stored.items() if name not in again}
        row.hint = _minus(row.hint, dealt)
        row.rested = self._statements.now()
        row.heard = None if row.wanted == taken.wanted else self._statements.seconds()
        row.rest(self._next(taken, row, after))
        self._tell_if_wanted(row)
        return True

    async def again(self, taken: Taken, after: float, spent: Hint = NOTHING) -> bool:
        row = await self._mine(taken)
        if row is None:
            return False
        row.hint = _minus(row.hint, spent.to_json())
        row.rest(self._next(taken, row, after))
        self._tell_if_wanted(row)
        return True

    async def failed(self, taken: Taken, error: str, after: float, *, hold: bool = False) -> bool:
        row = await self._mine(taken)
        if row is None:
            return False
        tries = row.tries + (not hold)
        if row.tries == 0:
            row.failing = self._statements.seconds()
        row.rest(self._next(taken, row, after))
        row.tries, row.error = tries, kept(error)[:LONGEST_ERROR]
        row.held = self._statements.seconds() + after if hold else -inf
        self._tell_if_wanted(row)
        return True

    async def give_back(self, taken: Taken) -> bool:
        row = await self._mine(taken)
        if row is not None:
            row.free()
        self._tell()
        return row is not None

    async def forget(self, days: float = KEPT_DAYS) -> int:
        await self._statements.begin()
        before = self._statements.now() - timedelta(days=days)
        gone = [
            key
            for key, row in self.rows.items()
            if not row.is_wanted and row.owner is None and row.rested and row.rested < before
        ]
        for key in gone:
            del self.rows[key]
        return len(gone)

    async def next_due(self, order: SchedulingOrder = UNORDERED) -> float | None:
        await self._statements.begin()
        full = order.full
        wanted = ((k, r) for k, r in self.rows.items() if r.wanted > r.seen)
        opens = min(
            (r.opens for k, r in wanted if not {place_of(k), forge_named(k)} & full), default=None
        )
        return None if opens is None else max(0.0, opens - self._statements.seconds())

    async def backlog(self) -> Backlog:
        await self._statements.begin()
        now = self._statements.seconds()
        kinds: dict[str, list[Row]] = {}
        for key, row in self.rows.items():
            if row.is_wanted:
                kinds.setdefault(key.split(":")[2], []).append(row)
        return Backlog.of({kind: _backlog(rows, now) for kind, rows in kinds.items()})

    async def failing(self, most: int = 100) -> tuple[Failing, ...]:
        await self._statements.begin()
        now = self._statements.seconds()
        rows = [
            (k, r) for k, r in self.rows.items() if r.is_wanted and (r.tries > 0 or r.held > now)
        ]
        rows.sort(key=lambda each: (-each[1].tries, each[0]))
        return tuple(
            Failing(
                key, self._name(key), row.tries, row.error, max(0.0, max(row.due, row.held) - now)
            )
            for key, row in rows[:most]
        )

    async def rested(self) -> tuple[Rested, ...]:
        await self._statements.begin()
        found: dict[str, list[Row]] = {}
        for key, row in self.rows.items():
            _, _, kind, *rest = key.split(":")
            if kind in {"installations", "installation", "sweep", "repository"}:
                found.setdefault(rest[0] if kind == "sweep" else kind, []).append(row)
        now = self._statements.seconds()
        return tuple(_rested(name, rows, now) for name, rows in sorted(found.items()))

    def listening(self, name: str) -> AbstractAsyncContextManager[asyncio.Event]:
        return self._listening(name)

    @asynccontextmanager
    async def _listening(self, name: str) -> AsyncIterator[asyncio.Event]:
        event = asyncio.Event()
        event.set()  # what was said before anybody listened
        self.listeners.append((name, event))
        try:
            yield event
        finally:
            self.listeners.remove((name, event))

    def _opens(self, row: Row, silent: float) -> float:
        """From when on a row may be taken."""
        process = (row.owner or "").partition("/")[0]
        listens = any(name == process for name, _ in self.listeners)
        return max(row.due, row.held, row.lease if listens else row.lease - silent)

    def _tell(self) -> None:
        for _, event in self.listeners:
            event.set()

    def _tell_if_wanted(self, row: Row) -> None:
        if row.due < inf:
            self._tell()

    async def _mine(self, taken: Taken) -> Row | None:
        """The row, while this take still has it."""
        await self._statements.begin()
        row = self.rows.get(taken.key)
        return row if row is not None and row.owner == taken.owner else None

    def _next(self, taken: Taken, row: Row, after: float | None) -> float:
        """When to look again: at once where a wake came meanwhile."""
        now = self._statements.seconds()
        if row.wanted > taken.wanted:
            return now
        return inf if after is None else now + after

    def _name(self, key: str) -> str:
        repository = getattr(parse(key), "repository", None)
        return self._named(repository) if repository is not None else ""


def readable(wakes: Mapping[Key, Hint]) -> dict[Key, Hints]:
    """Hints as JSON gives them back.

    Raises:
        ValueError: They cannot be written as JSON.
    """
    return {
        key: json.loads(json.dumps(kept(hint.to_json()), allow_nan=False))
        for key, hint in traced(wakes).items()
    }


def _rested(name: str, rows: Sequence[Row], now: float) -> Rested:
    times = [row.rested for row in rows if row.rested is not None]
    due = min((row.due for row in rows if row.is_wanted), default=None)
    return Rested(
        sweep=name,
        keys=len(rows),
        last=max(times, default=None),
        oldest=min(times, default=None),
        due=None if due is None else max(0.0, due - now),
    )


def _backlog(rows: Sequence[Row], now: float) -> Backlog:
    begun = [row.due for row in rows if max(row.due, row.lease) <= now]
    return Backlog(
        waiting=len(rows),
        due=sum(row.opens <= now for row in rows),
        taken=sum(row.lease > now for row in rows),
        failing=sum(row.tries > 0 for row in rows),
        oldest=now - min(begun, default=now),
    )


def _union(one: Hints, other: Hints) -> Hints:
    """What both say, name by name, each value once."""
    if all(name in one and _missing(one[name], values) == [] for name, values in other.items()):
        return one
    if not one:
        return other
    both = {name: [*one.get(name, ()), *other.get(name, ())] for name in {**one, **other}}
    return {name: _once(values) for name, values in both.items() if values}


def _minus(one: Hints, other: HintJSON) -> Hints:
    """What a look has not dealt with."""
    left = {name: _missing(other.get(name, ()), values) for name, values in one.items()}
    return {name: values for name, values in left.items() if values}


def _missing(there: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Those of the values that are not there; true is not 1, as in JSON."""
    known = set(map(json.dumps, there))
    return [value for value in values if json.dumps(value) not in known]


def _once(values: Sequence[Any]) -> list[Any]:
    return list({json.dumps(value): value for value in values}.values())
