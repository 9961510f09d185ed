"""What sweeps have had looked at, in memory."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from bot.keys import Key
from bot.store.values import Swept, Watched
from lifecycle.identity import RepositoryId
from tests.memory.index import MemoryRepositories
from tests.memory.proposals import MemoryProposals
from tests.memory.statements import Statements, kept

NEVER = Watched(asked=-inf, swept=-inf)


@dataclass
class MemorySweeps:
    """`bot.store.port.Sweeps`.

    Attributes:
        statements: What each of its statements does first.
        repositories: Which are or were served.
        proposals: What looks have told.
    """

    statements: Statements
    repositories: MemoryRepositories
    proposals: MemoryProposals
    # Repository to key to state, and when.
    _swept: dict[RepositoryId, dict[str, tuple[str, float]]] = field(default_factory=dict)
    # Here `asked` and `swept` are moments, not how long ago they were.
    _watched: dict[RepositoryId, Watched] = field(default_factory=dict)
    _marks: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)

    async def known(self, repository_id: RepositoryId) -> dict[str, Swept]:
        await self.statements.begin()
        now = self.statements.seconds()
        return {
            key: Swept(state, now - at)
            for key, (state, at) in self._swept.get(repository_id, {}).items()
        }

    async def keep(
        self, repository_id: RepositoryId, states: Mapping[str, str], there: Collection[str]
    ) -> None:
        await self.statements.begin()
        before = self._swept.get(repository_id, {})
        now = self.statements.seconds()
        kept = {key: row for key, row in before.items() if key in there}
        self._swept[repository_id] = kept | {key: (state, now) for key, state in states.items()}

    async def forget(self, key: Key | None = None) -> None:
        await self.statements.begin()
        for known in self._swept.values():
            for each in [one for one in known if key is None or one == str(key)]:
                del known[each]

    async def packages(self, repository_id: RepositoryId) -> dict[int, frozenset[str]]:
        await self.statements.begin()
        return self.proposals.packages_of(repository_id)

    async def heads_touching(
        self, repository_id: RepositoryId, packages: Collection[str]
    ) -> frozenset[tuple[int, str]]:
        await self.statements.begin()
        touching = self.proposals.packages_of(repository_id).items()
        numbers = [number for number, changed in touching if changed & set(packages)]
        heads = (self.proposals.head_of(repository_id, number) for number in numbers)
        return frozenset(head for head in heads if head is not None)

    async def approved(
        self, repository_id: RepositoryId, numbers: Collection[int]
    ) -> frozenset[int]:
        await self.statements.begin()
        return frozenset(n for n in numbers if self.proposals.is_approved(repository_id, n))

    async def watched(self, forge: str) -> dict[RepositoryId, Watched]:
        await self.statements.begin()
        now = self.statements.seconds()
        return {
            id_: replace(seen, asked=now - seen.asked, swept=now - seen.swept)
            for id_, seen in self._watched.items()
            if id_.forge == forge and id_ in self.repositories.names
        }

    async def watch(self, repository_id: RepositoryId, seen: Watched, *, asked: bool) -> None:
        await self.statements.begin()
        before = self._watched.get(repository_id, NEVER)
        self._watched[repository_id] = replace(
            before,
            listed=kept(seen.listed),
            shown=kept(seen.shown),
            validator=kept(seen.validator),
            quiet=seen.quiet,
            asked=self.statements.seconds() if asked else before.asked,
        )

    async def swept(self, repository_id: RepositoryId, version: str, *, waits: bool) -> None:
        await self.statements.begin()
        self._watched[repository_id] = replace(
            self._watched.get(repository_id, NEVER),
            swept=self.statements.seconds(),
            version=kept(version),
            waits=waits,
        )

    async def mark(self, forge: str, sweep: str) -> Mapping[str, Any]:
        await self.statements.begin()
        return kept(dict(self._marks.get((forge, sweep), {})))  # type: ignore[no-any-return] # a copy of it

    async def marks(self, sweep: str) -> Mapping[str, Mapping[str, Any]]:
        await self.statements.begin()
        return {f: kept(dict(mark)) for (f, name), mark in self._marks.items() if name == sweep}

    async def keep_mark(self, forge: str, sweep: str, mark: Mapping[str, Any]) -> None:
        await self.statements.begin()
        self._marks[forge, sweep] = kept(dict(mark))
