"""The processes of the bot, in memory."""

from dataclasses import dataclass, field, replace
from datetime import timedelta

from bot.store.values import Replica
from tests.memory.statements import Statements


@dataclass
class MemoryReplicas:
    """`bot.store.port.Replicas`.

    Attributes:
        statements: What each of its statements does first.
    """

    statements: Statements
    _seen: dict[str, tuple[Replica, float]] = field(default_factory=dict)

    async def beat(self, name: str, host: str, parts: str, version: str) -> None:
        await self.statements.begin()
        new = Replica(name, host, parts, version, self.statements.now(), 0.0)
        known = self._seen.get(name)
        self._seen[name] = (known[0] if known else new, self.statements.seconds())

    async def gone(self, name: str) -> None:
        await self.statements.begin()
        self._seen.pop(name, None)

    async def seen(self) -> tuple[Replica, ...]:
        await self.statements.begin()
        now = self.statements.seconds()
        found = [replace(each, silent=now - at) for each, at in self._seen.values()]
        return tuple(sorted(found, key=lambda each: (each.started, each.name)))

    async def forget(self, days: float = 1) -> None:
        await self.statements.begin()
        until = self.statements.seconds() - timedelta(days=days).total_seconds()
        self._seen = {name: row for name, row in self._seen.items() if row[1] >= until}
