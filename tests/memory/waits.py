"""What proposals wait for, in memory."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from bot.logs import redacted
from bot.store.values import Parked, VariantWait, Wait, Waiting
from lifecycle.identity import RepositoryId
from tests.memory.statements import Statements, kept


@dataclass
class _Proposal:
    """A proposal that waits."""

    key: str
    merged: bool
    waits: dict[str, tuple[datetime, Wait]]


@dataclass
class MemoryWaits:
    """`bot.store.port.Waits`.

    Attributes:
        statements: What each of its statements does first.
        named: The name of a repository.
        served: Whether a repository is served.
    """

    statements: Statements
    named: Callable[[RepositoryId], str]
    served: Callable[[RepositoryId], bool]
    _waiting: dict[tuple[RepositoryId, int], _Proposal] = field(default_factory=dict)

    async def keep(
        self,
        repository_id: RepositoryId,
        key: str,
        waits: Mapping[int, Sequence[Wait]],
        merged: Collection[int] = (),
    ) -> None:
        await self.statements.begin()
        now = self.statements.now()
        before = {
            at: each
            for at, each in self._waiting.items()
            if at[0] == repository_id
            and ((each.key == key and not each.merged) or waits.get(at[1]) or at[1] in merged)
        }
        for at in before:
            del self._waiting[at]
        for number, each in waits.items():
            known = before.get((repository_id, number))
            since = {gate: at for gate, (at, _) in known.waits.items()} if known else {}
            rows = {wait.gate: (since.get(wait.gate, now), kept(wait)) for wait in each}
            if rows:
                found = _Proposal(key, number in merged, rows)
                self._waiting[repository_id, number] = found

    async def forget(self, repository_id: RepositoryId, there: Collection[int]) -> None:
        await self.statements.begin()
        for id_, number in list(self._waiting):
            known = self._waiting[id_, number]
            if id_ == repository_id and number not in there and not known.merged:
                del self._waiting[id_, number]

    async def counts(self) -> dict[str, int]:
        await self.statements.begin()
        return dict(
            Counter(
                reason
                for (id_, _), each in self._waiting.items()
                if self.served(id_)
                for reason in {wait.reason for _, wait in each.waits.values()}
            )
        )

    async def of(self, repository_id: RepositoryId) -> tuple[Waiting, ...]:
        await self.statements.begin()
        return self._shown(lambda id_, _: id_ == repository_id)

    async def parked(
        self, repository_id: RepositoryId, kinds: Collection[str], key: str = ""
    ) -> tuple[Parked, ...]:
        await self.statements.begin()
        return tuple(
            Parked(number, each.key, frozenset(each.waits))
            for (id_, number), each in sorted(self._waiting.items(), key=lambda row: row[0][1])
            if id_ == repository_id
            and each.merged
            and (not key or each.key == key)
            and all(gate.partition(" ")[0] in kinds for gate in each.waits)
        )

    async def page(
        self, after: tuple[int, int] | None = None, most: int = 50
    ) -> tuple[Waiting, ...]:
        await self.statements.begin()
        found = self._shown(
            lambda id_, number: self.served(id_) and (after is None or (id_.number, number) > after)
        )
        return found[:most]

    def _shown(self, wanted: Callable[[RepositoryId, int], bool]) -> tuple[Waiting, ...]:
        """Those that are wanted, by repository and number."""
        rows = [
            ((id_.number, number), id_, each)
            for (id_, number), each in self._waiting.items()
            if wanted(id_, number)
        ]
        rows.sort(key=lambda row: row[0])
        return tuple(
            Waiting(
                place=place,
                repository=self.named(id_),
                number=place[1],
                key=each.key,
                waits=tuple(sorted(each.waits.values(), key=lambda w: (w[0], w[1].gate))),
            )
            for place, id_, each in rows
        )


@dataclass
class MemoryVariantWaits:
    """`bot.store.port.VariantWaits`.

    Attributes:
        statements: What each of its statements does first.
    """

    statements: Statements
    _waiting: dict[RepositoryId, dict[tuple[str, str, str], VariantWait]] = field(
        default_factory=dict
    )

    async def keep(self, repository_id: RepositoryId, waits: Sequence[VariantWait]) -> None:
        await self.statements.begin()
        before, now = self._waiting.get(repository_id, {}), self.statements.now()
        found: dict[tuple[str, str, str], VariantWait] = {}
        for each in waits:
            place = (each.package, each.variant, each.file)
            known = before.get(place)
            same = known is not None and known.state == each.state
            since = known.since if known is not None and same else now
            found[place] = replace(each, since=since, why=redacted(each.why))
        self._waiting[repository_id] = found

    async def of(self, repository_id: RepositoryId) -> tuple[VariantWait, ...]:
        await self.statements.begin()
        found = self._waiting.get(repository_id, {})
        return tuple(found[place] for place in sorted(found))
