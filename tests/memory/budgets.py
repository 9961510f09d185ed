"""Budgets in memory."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.store.buckets import Buckets, Draw, ReportedLimit
from tests.memory.statements import Statements


@dataclass
class MemoryBudgets:
    """`bot.store.port.Budgets`.

    Attributes:
        statements: What each of its statements does first.
    """

    statements: Statements
    _accounts: defaultdict[str, Buckets] = field(default_factory=lambda: defaultdict(Buckets))

    async def take(
        self, account: str, draws: Sequence[Draw], told: Sequence[ReportedLimit] = ()
    ) -> float:
        await self.statements.begin()
        return self._accounts[account].take(draws, told, self.statements.seconds())

    async def pause(self, account: str, seconds: float) -> None:
        await self.statements.begin()
        buckets = self._accounts[account]
        buckets.paused = max(buckets.paused, self.statements.seconds() + seconds)

    async def left(self) -> Mapping[tuple[str, str], tuple[float, float]]:
        await self.statements.begin()
        now = self.statements.seconds()
        return {
            (account, name): (0.0 if buckets.paused > now else tokens, size)
            for account, buckets in self._accounts.items()
            for name, (tokens, size) in buckets.left(now).items()
        }
