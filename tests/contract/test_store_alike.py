"""The store in memory answers as PostgreSQL does, whatever it is asked and in which order."""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

import pytest

from bot.keys import BaseKey, Key, ProposalKey, PullKey, RepositoryKey
from bot.store.hints import Hint
from bot.store.values import (
    Backlog,
    Delivered,
    Failing,
    MergeRefusal,
    Revision,
    SchedulingOrder,
    Taken,
)
from lifecycle.events import CommentAnswered, Event, Held
from lifecycle.facts.commits import PushRefusal
from lifecycle.facts.conversation import Written
from lifecycle.identity import RepositoryId
from tests.contract.stores import Repository, Stored, opened

STEPS = 250
IDS = (RepositoryId("github", 1), RepositoryId("github", 2), RepositoryId("gitlab", 1))
KEYS: tuple[Key, ...] = (
    *(PullKey(IDS[0], number) for number in range(40)),
    BaseKey(IDS[1], "main"),
    ProposalKey(IDS[2], 1, "b"),
    RepositoryKey(IDS[2]),
)
AT = datetime(2026, 1, 1, tzinfo=UTC)
EVENTS: tuple[Event, ...] = (
    CommentAnswered(comment=1),
    Held(person="a", at=AT, comment=2, reason="x"),
)

Asked = Callable[[Stored], Awaitable[Any]]
"""One operation, asked of each store."""


@dataclass
class _Asking:
    """Draws operations; what was taken is taken of both under the same name."""

    draw: random.Random
    owners: list[Taken] = field(default_factory=list)
    count: int = 0

    def next(self) -> Asked:
        """The next operation."""
        part = self.draw.choice(
            [self.work, self.proposals] * 2 + [self.deliveries, self.repositories, self.revisions]
        )
        self.count += 1
        return part()

    def hint(self) -> Hint:
        names = self.draw.sample(("comment", "head", "rerun"), self.draw.randrange(3))
        drawn = {n: self.draw.choices(range(3), k=self.draw.randrange(3)) for n in names}
        return Hint.from_json(drawn)

    def wakes(self) -> dict[Key, Hint]:
        return {key: self.hint() for key in self.draw.sample(KEYS, self.draw.randrange(1, 3))}

    def work(self) -> Asked:
        after, lease = self.draw.choice((0.0, 1800.0, 7200.0)), self.draw.choice((0.0, 1800.0))
        owner = f"w{self.count}"
        taken = self.draw.choice(self.owners[-5:]) if self.owners else None
        wakes, hold = self.wakes(), self.draw.random() < 0.5
        order = SchedulingOrder(
            {str(id_): self.draw.randrange(3) for id_ in self.draw.sample(IDS, 2)},
            frozenset(map(str, self.draw.sample(IDS, self.draw.randrange(2)))),
        )
        asked: list[Asked] = [
            lambda s: s.store.queue.wake_all(wakes, after=after),
            lambda s: s.store.queue.take(owner, lease),
            lambda s: s.store.queue.take(owner, lease, order),
            lambda s: s.store.queue.backlog(),
            lambda s: s.store.queue.failing(),
            lambda s: s.store.queue.next_due(order),
            lambda s: s.an_hour_passes(),
        ]
        if taken is not None:
            asked += [
                lambda s: s.store.queue.done(taken),
                lambda s: s.store.queue.done(taken, after=after),
                lambda s: s.store.queue.again(taken, after),
                lambda s: s.store.queue.failed(taken, f"e{after}", after, hold=hold),
                lambda s: s.store.queue.give_back(taken),
                lambda s: s.store.queue.renew([taken.owner], 1800),
            ]
        return self.draw.choice(asked)

    def deliveries(self) -> Asked:
        about = self.draw.choice((*IDS, None))
        given = Delivered(
            guid=str(self.draw.randrange(9)),
            event="push",
            action="",
            headers={"n": str(self.count)},
            body=b"%d" % self.count,
            repository=about,
        )
        wakes = self.wakes()
        return self.draw.choice(
            (
                lambda s: s.store.deliveries.add(given, wakes),
                lambda s: s.store.deliveries.since(IDS[0], datetime(2020, 1, 1, tzinfo=UTC), 3),
            )
        )

    def repositories(self) -> Asked:
        id_, installation = self.draw.choice(IDS), self.draw.choice((3, 4))
        given = Repository(id_, f"acme/{self.count}", installation)
        drafts = {"drafts/a": str(self.count)}
        ids = self.draw.sample(IDS, 2)
        return self.draw.choice(
            (
                lambda s: s.store.repositories.adopt(
                    given, AT, drafts, {"t": "a"}, open_numbers=[1]
                ),
                lambda s: s.store.repositories.complete_tags(id_, {"t": "b"}),
                lambda s: s.store.repositories.rename(given),
                lambda s: s.store.repositories.adoption(id_),
                lambda s: s.store.repositories.reach(id_),
                lambda s: s.store.repositories.baseline(id_, [""]),
                lambda s: s.store.repositories.dashboard(id_),
                lambda s: s.store.repositories.keep_dashboard(id_, installation),
                lambda s: s.store.repositories.installations(id_.forge),
                lambda s: s.store.repositories.repositories(id_.forge, installation),
                lambda s: _set(s.store.repositories.only_installations(id_.forge, [installation])),
                lambda s: _set(
                    s.store.repositories.only_repositories(id_.forge, installation, ids)
                ),
                lambda s: s.store.repositories.lost(id_),
            )
        )

    def revisions(self) -> Asked:
        id_, base = self.draw.choice(IDS), self.draw.choice(("main", "other"))
        number, package = self.draw.randrange(4), self.draw.choice(("", "net", "net/core"))
        made = Revision(
            self.draw.choice("ab"), self.draw.choice(("", "t")), self.draw.choice((None, 7))
        )

        async def every(stored: Stored) -> list[tuple[str, int, Revision]]:
            return [each async for each in stored.store.revisions.all_revisions(id_)]

        return self.draw.choice(
            (
                lambda s: s.store.revisions.ask_publish(id_, base, number),
                lambda s: s.store.revisions.asked_publish(id_, base),
                lambda s: s.store.revisions.queued(id_, base, number),
                lambda s: s.store.revisions.published(id_, base, number),
                lambda s: s.store.revisions.keep_revision(id_, package, number + 1, made),
                lambda s: s.store.revisions.show_revision(id_, package, number + 1, "none"),
                lambda s: s.store.revisions.revisions(id_, [package, "net"]),
                every,
                lambda s: s.store.revisions.saw_tip(id_, base, str(number)),
                lambda s: s.store.revisions.tips(id_, base),
            )
        )

    def proposals(self) -> Asked:
        draw = self.draw
        id_, base = draw.choice(IDS[:2]), draw.choice(("main", "other"))
        number, sha = draw.randrange(12), draw.choice("ab")
        branch, numbers = draw.choice("xyz"), draw.sample(range(12), draw.randrange(3))
        packages = draw.sample(("net", "net/core", "a"), draw.randrange(3))
        log = frozenset(draw.sample(EVENTS, draw.randrange(3)))
        written = {number: Written(str(self.count), {"n": self.count})}
        until, merged = AT + timedelta(hours=number), draw.random() < 0.5
        given = (id_, number, sha, base)
        waits = draw.choice(((None,), (1800.0, 7200.0), (0.0, None)))
        return draw.choice(
            (
                lambda s: s.store.proposals.keep(id_, number, log, written, [number + 1]),
                lambda s: s.store.proposals.remembered(id_, number),
                lambda s: s.store.proposals.settle(id_, number, merged=merged),
                lambda s: s.store.proposals.settled(id_, dict.fromkeys(range(12), merged)),
                lambda s: s.store.proposals.settle_until(id_, base, until),
                lambda s: s.store.proposals.settled_until(id_, base),
                lambda s: s.store.proposals.refuse(*given, MergeRefusal("no", sha), waits),
                lambda s: s.store.proposals.refusal(*given),
                lambda s: s.store.proposals.forget_refusal(id_, number),
                lambda s: s.store.proposals.refuse_push(id_, base, sha, PushRefusal("no", number)),
                lambda s: s.store.proposals.push_refusal(id_, base, sha),
                lambda s: s.store.proposals.forget_push_refusals(id_, base),
                *[lambda s: s.store.proposals.keep_open(id_, 1, branch, numbers, sha)] * 4,
                lambda s: s.store.proposals.keep_open(id_, 2, branch, [number], sha),
                lambda s: s.store.proposals.drop_open(id_, number),
                *[lambda s: s.store.proposals.keep_touching(id_, number, base, packages)] * 8,
                lambda s: s.store.proposals.forget_touching(id_, range(number)),
            )
        )


async def _set(names: Awaitable[tuple[str, ...]]) -> set[str]:
    """Names that come in no order."""
    return set(await names)


def _told(value: Any) -> Any:
    """An answer without what no contract fixes: time of day, parts of a second, order in a hint."""
    match value:
        case bool() | int() | str() | bytes() | None | Enum():
            return value
        case float():
            return round(value / 600)  # seconds: the operations take far less
        case datetime():
            # The one in memory has its own day, which is in the year of AT; the other has today.
            times = range(AT.year, datetime.now(UTC).year + 2)
            return value if value == AT or value.year not in times else "a time"
        case Taken(key=key, wanted=wanted, hint=hint, tries=tries, heard=heard):
            return (key, wanted, hint, tries, heard is None)
        case Failing() | Backlog():
            return tuple(_told(getattr(value, f.name)) for f in fields(value))
        case _ if is_dataclass(value):
            return {f.name: _told(getattr(value, f.name)) for f in fields(value)}
        case dict():
            return {key: _told(each) for key, each in value.items()}
        case set() | frozenset():
            return sorted((_told(each) for each in value), key=repr)
        case list() | tuple():
            return [_told(each) for each in value]
    raise AssertionError(value)


@pytest.mark.parametrize("seed", range(3))
async def test_both_answer_the_same(seed: int, database_url: str) -> None:
    """The short-cut is a store that is right for what somebody thought of, one call at a time."""
    asking = _Asking(random.Random(seed))
    async with opened("memory", "") as memory, opened("postgresql", database_url) as database:
        for step in range(STEPS):
            ask = asking.next()
            one, other = await ask(memory), await ask(database)
            assert _told(one) == _told(other), f"seed {seed}, operation {step}"
            if isinstance(one, Taken):
                asking.owners.append(one)
