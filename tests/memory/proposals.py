"""What the in-memory store remembers of proposals, and which of them have to do with others."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from bot.store.values import CommitSharers, MergeRefusal, Touching
from lifecycle.events import Log, decode, encode
from lifecycle.facts.commits import PushRefusal
from lifecycle.facts.conversation import Written
from lifecycle.identity import RepositoryId
from lifecycle.records import JSON
from tests.memory.statements import Statements, kept

MOST_AT_A_COMMIT = 6
"""With more others at a commit, one that comes or goes is news for nobody."""

MOST_BEFORE = 7
"""With so many lower numbers at a package, one that comes or goes is news for nobody."""


@dataclass
class _Open:
    """An open proposal: its head branch (repository, name), and where that is."""

    head: tuple[int, str]
    sha: str


@dataclass
class _Refused:
    """A merge that the forge did not make, and when it may be asked again; None: never by time."""

    head: str
    base: str
    refusal: MergeRefusal
    again: float | None

    def alike(self, head: str, base: str, refusal: MergeRefusal) -> bool:
        """Whether the same was asked with the same inputs, and failed in the same kind."""
        mine, other = self.refusal, refusal
        return (self.head, self.base, mine.inputs, mine.obstacle.failure) == (
            head,
            base,
            other.inputs,
            other.obstacle.failure,
        )


@dataclass
class MemoryProposals:
    """`bot.store.port.Proposals`.

    Attributes:
        statements: What each of its statements does first.
    """

    statements: Statements
    # By repository and proposal, but for what belongs to a base branch or a ref.
    _events: dict[tuple[RepositoryId, int], set[str]] = field(default_factory=dict)
    _written: dict[tuple[RepositoryId, int], dict[int, Written]] = field(default_factory=dict)
    _settled: dict[tuple[RepositoryId, int], bool] = field(default_factory=dict)
    _until: dict[tuple[RepositoryId, str], datetime] = field(default_factory=dict)
    _refusals: dict[tuple[RepositoryId, int], _Refused] = field(default_factory=dict)
    _pushes: dict[tuple[RepositoryId, str], tuple[str, PushRefusal]] = field(default_factory=dict)
    _open: dict[RepositoryId, dict[int, _Open]] = field(default_factory=dict)
    # Repository to proposal to base and packages.
    _touching: dict[RepositoryId, dict[int, set[tuple[str, str]]]] = field(default_factory=dict)

    async def keep(
        self,
        repository_id: RepositoryId,
        number: int,
        log: Log = frozenset(),
        written: Mapping[int, Written] | None = None,
        gone: Iterable[int] = (),
    ) -> None:
        texts = {json.dumps(kept(encode(event)), sort_keys=True) for event in log}
        await self.statements.begin()
        self._events.setdefault((repository_id, number), set()).update(texts)
        there = self._written.setdefault((repository_id, number), {})
        for comment in gone:
            there.pop(comment, None)
        for comment, one in (written or {}).items():
            record: dict[str, JSON] = kept(dict(one.record))
            there[comment] = Written(kept(one.body), record)

    async def remembered(
        self, repository_id: RepositoryId, number: int
    ) -> tuple[Log, dict[int, Written]]:
        await self.statements.begin()
        texts = self._events.get((repository_id, number), ())
        return (
            frozenset(decode(json.loads(text)) for text in texts),
            {
                comment: Written(one.body, kept(one.record))
                for comment, one in self._written.get((repository_id, number), {}).items()
            },
        )

    async def settle(self, repository_id: RepositoryId, number: int, *, merged: bool) -> None:
        await self.statements.begin()
        before = self._settled.get((repository_id, number), False)
        self._settled[repository_id, number] = before or merged

    async def settled(self, repository_id: RepositoryId, proposals: Mapping[int, bool]) -> set[int]:
        await self.statements.begin()
        return {
            number
            for number, merged in proposals.items()
            if self._settled.get((repository_id, number)) is not None
            and (self._settled[repository_id, number] or not merged)
        }

    async def settled_until(self, repository_id: RepositoryId, base: str) -> datetime | None:
        await self.statements.begin()
        return self._until.get((repository_id, base))

    async def settle_until(self, repository_id: RepositoryId, base: str, until: datetime) -> None:
        await self.statements.begin()
        before = self._until.get((repository_id, base), until)
        self._until[repository_id, base] = max(before, until)

    async def refuse(
        self,
        repository_id: RepositoryId,
        number: int,
        head: str,
        base: str,
        refusal: MergeRefusal,
        waits: Sequence[float | None] = (None,),
    ) -> None:
        await self.statements.begin()
        known = self._refusals.get((repository_id, number))
        tries = known.refusal.tries + 1 if known and known.alike(head, base, refusal) else 1
        wait = waits[min(tries, len(waits)) - 1]
        self._refusals[repository_id, number] = _Refused(
            head,
            base,
            replace(kept(refusal), tries=tries, left=None),
            None if wait is None else self.statements.seconds() + wait,
        )

    async def refusal(
        self, repository_id: RepositoryId, number: int, head: str, base: str
    ) -> MergeRefusal | None:
        await self.statements.begin()
        known = self._refusals.get((repository_id, number))
        if known is None or (known.head, known.base) != (head, base):
            return None
        if known.again is None:
            return known.refusal
        return replace(known.refusal, left=max(0.0, known.again - self.statements.seconds()))

    async def forget_refusal(self, repository_id: RepositoryId, number: int) -> None:
        await self.statements.begin()
        self._refusals.pop((repository_id, number), None)

    async def refuse_push(
        self, repository_id: RepositoryId, ref: str, sha: str, refusal: PushRefusal
    ) -> None:
        await self.statements.begin()
        self._pushes[repository_id, ref] = (sha, kept(refusal))

    async def push_refusal(
        self, repository_id: RepositoryId, ref: str, sha: str
    ) -> PushRefusal | None:
        await self.statements.begin()
        at, refusal = self._pushes.get((repository_id, ref), ("", None))
        return refusal if at == sha else None

    async def forget_push_refusals(
        self, repository_id: RepositoryId, ref: str | None = None
    ) -> tuple[str, ...]:
        await self.statements.begin()
        here = [r for id_, r in self._pushes if id_ == repository_id]
        found = [r for r in here if (r == ref if ref else not r.startswith("porchbot/"))]
        for each in found:
            del self._pushes[repository_id, each]
        return tuple(found)

    async def keep_open(
        self,
        repository_id: RepositoryId,
        head_repository: int,
        branch: str,
        numbers: Sequence[int],
        sha: str,
    ) -> CommitSharers:
        head = (head_repository, branch)
        await self.statements.begin()
        there = self._open.setdefault(repository_id, {})
        mine = {number: one for number, one in there.items() if one.head == head}
        wanted = {number: _Open(head, sha) for number in numbers}
        changed = bool(mine.keys() - wanted.keys()) or any(
            there.get(number) != one for number, one in wanted.items()
        )
        for number in mine.keys() - wanted.keys():
            del there[number]
        there.update(wanted)

        await self.statements.begin()
        shas = {one.sha for one in mine.values()} | ({sha} if numbers else set())
        others = [(n, o) for n, o in sorted(there.items()) if o.sha in shas and o.head != head]
        now = tuple(n for n, one in others if numbers and one.sha == sha)
        few = {at for at in shas if sum(o.sha == at for _, o in others) <= MOST_AT_A_COMMIT}
        news = {(n, *one.head) for n, one in others if changed and one.sha in few}
        return CommitSharers(now, frozenset(news))

    def lose_open(self, repository_id: RepositoryId) -> None:
        """Know nothing any more of what is open in a repository."""
        self._open.pop(repository_id, None)

    async def drop_open(
        self, repository_id: RepositoryId, number: int
    ) -> frozenset[tuple[int, int, str]]:
        await self.statements.begin()
        there = self._open.get(repository_id, {})
        gone = there.pop(number, None)
        if gone is None:
            return frozenset()

        await self.statements.begin()
        left = {(n, *o.head) for n, o in there.items() if o.sha == gone.sha and o.head != gone.head}
        return frozenset(left if len(left) <= MOST_AT_A_COMMIT else ())

    async def keep_touching(
        self, repository_id: RepositoryId, number: int, base: str, packages: Sequence[str]
    ) -> Touching:
        names = kept(list(packages))
        await self.statements.begin()
        there = self._touching.setdefault(repository_id, {})
        wanted = {(base, package) for package in names}
        changed = wanted ^ there.get(number, set())
        there[number] = wanted

        await self.statements.begin()
        also: dict[str, tuple[int, ...]] = {}
        for place in sorted(wanted):
            others = tuple(self._at(repository_id, place, but=number))
            if others:
                also[place[1]] = others

        await self.statements.begin()
        open_now = self._open.get(repository_id, {})
        news = set()
        for place in changed:
            others = tuple(self._at(repository_id, place, but=number))
            if sum(each < number for each in others) < MOST_BEFORE:
                news |= {open_now[each].head for each in others if each in open_now}
        return Touching(also, frozenset(news))

    async def forget_touching(
        self, repository_id: RepositoryId, open_numbers: Sequence[int]
    ) -> None:
        await self.statements.begin()
        there = self._touching.get(repository_id, {})
        for number in there.keys() - set(open_numbers):
            del there[number]

    def packages_of(self, repository_id: RepositoryId) -> dict[int, frozenset[str]]:
        """Within somebody's statement: what each open proposal changes."""
        there = self._touching.get(repository_id, {})
        return {n: frozenset(p for _, p in places) for n, places in there.items() if places}

    def head_of(self, repository_id: RepositoryId, number: int) -> tuple[int, str] | None:
        """Within somebody's statement: the head branch of an open proposal."""
        found = self._open.get(repository_id, {}).get(number)
        return found.head if found is not None else None

    def is_approved(self, repository_id: RepositoryId, number: int) -> bool:
        """Within somebody's statement: whether anybody ever approved a proposal."""
        texts = self._events.get((repository_id, number), ())
        return any(json.loads(text)["kind"] == "approval" for text in texts)

    def _at(
        self, repository_id: RepositoryId, place: tuple[str, str], *, but: int
    ) -> Iterable[int]:
        """The other proposals that change a package, proposed to a base."""
        touching = self._touching.get(repository_id, {})
        return (n for n, places in sorted(touching.items()) if place in places and n != but)
