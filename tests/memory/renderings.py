"""Renderings in memory."""

from collections import OrderedDict
from dataclasses import dataclass, field

from bot.store.values import KEPT_RENDERINGS, LONGEST_RENDERING
from tests.memory.statements import Statements


@dataclass
class MemoryRenderings:
    """`bot.store.port.Renderings`.

    Attributes:
        statements: What each of its statements does first.
        kept: What is kept by its key, used last at the end; PostgreSQL's knows that to the hour.
    """

    statements: Statements
    kept: OrderedDict[str, bytes] = field(default_factory=OrderedDict)

    async def find(self, key: str) -> bytes | None:
        await self.statements.begin()
        return self.kept.get(key)

    async def keep(self, key: str, data: bytes) -> None:
        await self.statements.begin()
        if len(data) <= LONGEST_RENDERING:
            self.kept[key] = data
            self.kept.move_to_end(key)

    async def trim(self, most_bytes: int = KEPT_RENDERINGS) -> None:
        await self.statements.begin()
        while self.kept and sum(len(data) + 500 for data in self.kept.values()) > most_bytes:
            self.kept.popitem(last=False)
