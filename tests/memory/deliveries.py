"""Deliveries of the in-memory store."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.keys import Key, RepositoryKey
from bot.store.hints import NOTHING, Hint
from bot.store.values import KEPT_DAYS, Delivered
from lifecycle.identity import RepositoryId
from tests.memory.statements import Statements, kept
from tests.memory.work import MemoryQueue, readable


@dataclass
class _Stored:
    delivery: Delivered
    received: datetime
    place: int
    times: int = 1


@dataclass
class MemoryDeliveries:
    """`bot.store.port.Deliveries`.

    Attributes:
        statements: What each of its statements does first.
        queue: Woken within the same statement.
        served: Whether a repository is served.
        called: What a repository is called that is served; "" for others.
    """

    statements: Statements
    queue: MemoryQueue
    served: Callable[[RepositoryId], bool]
    called: Callable[[RepositoryId], str]
    _stored: dict[tuple[str, str], _Stored] = field(default_factory=dict)

    async def add(self, delivery: Delivered, wakes: Mapping[Key, Hint]) -> bool:
        about = delivery.repository
        if about is not None and delivery.called and self.called(about) != delivery.called:
            wakes = {RepositoryKey(about): NOTHING} | dict(wakes)
        wakes_read = readable(wakes)  # it fails before anything is written
        await self.statements.begin()
        known = self._stored.get((delivery.forge, delivery.guid))
        if known is None:
            self._stored[delivery.forge, delivery.guid] = _Stored(
                kept(delivery), self.statements.now(), self.statements.place()
            )
        else:
            known.times += 1
        if wakes_read and (delivery.repository is None or self.served(delivery.repository)):
            self.queue.woken(wakes_read, heard=self.statements.seconds())
        return known is None

    async def since(
        self, repository_id: RepositoryId, since: datetime, most: int = 200
    ) -> tuple[tuple[Mapping[str, str], bytes], ...]:
        await self.statements.begin()
        told = [
            each
            for each in self._stored.values()
            if each.delivery.repository == repository_id and each.received >= since
        ]
        told.sort(key=lambda each: each.place, reverse=True)
        return tuple((kept(dict(t.delivery.headers)), t.delivery.body) for t in told[:most])

    async def known(self, forge: str, guids: Collection[str]) -> frozenset[str]:
        await self.statements.begin()
        return frozenset(guid for guid in guids if (forge, guid) in self._stored)

    async def forget(self, days: float = KEPT_DAYS) -> int:
        await self.statements.begin()
        until = self.statements.now() - timedelta(days=days)
        old = [name for name, each in self._stored.items() if each.received < until]
        for name in old:
            del self._stored[name]
        return len(old)
