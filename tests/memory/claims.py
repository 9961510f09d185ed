"""Claims in memory."""

from dataclasses import dataclass, field

from bot.store.values import CLAIM, CLAIMS_KEPT
from lifecycle.identity import RepositoryId
from tests.memory.statements import Statements


@dataclass
class MemoryClaims:
    """`bot.store.port.Claims`.

    Attributes:
        statements: What each of its statements does first.
    """

    statements: Statements
    _taken: dict[tuple[RepositoryId, str], float] = field(default_factory=dict)
    _holders: dict[tuple[RepositoryId, str], str] = field(default_factory=dict)

    async def take(self, repository_id: RepositoryId, place: str, seconds: float = CLAIM) -> bool:
        await self.statements.begin()
        now, at = self.statements.seconds(), self._taken.get((repository_id, place))
        if at is not None and at > now - seconds:
            return False
        self._taken[repository_id, place] = now
        return True

    async def have(self, repository_id: RepositoryId, place: str, holder: str) -> bool:
        await self.statements.begin()
        if (repository_id, place) not in self._taken:
            self._taken[repository_id, place] = self.statements.seconds()
            self._holders[repository_id, place] = holder
        return self._holders.get((repository_id, place), "") == holder

    async def holder(self, repository_id: RepositoryId, place: str) -> str:
        await self.statements.begin()
        taken = (repository_id, place) in self._taken
        return self._holders.get((repository_id, place), "") if taken else ""

    async def hold(self, repository_id: RepositoryId, place: str) -> None:
        await self.statements.begin()
        if (repository_id, place) in self._taken:
            self._taken[repository_id, place] = self.statements.seconds()

    async def give_back(self, repository_id: RepositoryId, place: str) -> None:
        await self.statements.begin()
        self._taken.pop((repository_id, place), None)
        self._holders.pop((repository_id, place), None)

    async def forget(self, seconds: float = CLAIMS_KEPT) -> None:
        await self.statements.begin()
        before = self.statements.seconds() - seconds
        self._taken = {key: at for key, at in self._taken.items() if at > before}
