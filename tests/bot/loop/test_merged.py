"""Merged proposals that may want something are found, and the settled ones not listed for ever."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import cast

from bot.forges.port import Forge, ListedProposal
from bot.loop.merged import OVERLAP, MergedList
from bot.store.port import Proposals
from lifecycle.access import Person
from lifecycle.names import Sha
from tests.ids import on_github

INSTALLED = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
MERGED = ListedProposal(
    number=0,
    title="t",
    author=Person(1, "ann", False),
    draft=False,
    open=False,
    head=Sha("a" * 40),
    head_ref="topic",
    head_repository=1,
    base_ref="main",
    merge_commit=Sha("b" * 40),
    merged_at=INSTALLED,
    updated_at=INSTALLED,
)


@dataclass
class Ends:
    """A forge's list and the database, in memory."""

    pulls: list[ListedProposal]
    done: set[int] = field(default_factory=set)
    until: datetime | None = None
    listed: list[int] = field(default_factory=list)

    async def merged_proposals(self, base: str, since: datetime) -> tuple[ListedProposal, ...]:
        found = tuple(p for p in reversed(self.pulls) if p.updated_at >= since)
        self.listed = [p.number for p in found]
        return found

    async def settled(self, _: int, proposals: Mapping[int, bool]) -> set[int]:
        return self.done & proposals.keys()

    async def settled_until(self, _: int, base: str) -> datetime | None:
        return self.until

    async def settle_until(self, _: int, base: str, until: datetime) -> None:
        self.until = max(until, self.until or until)


def merged_at(hour: int) -> ListedProposal:
    at = INSTALLED + hour * HOUR
    return replace(MERGED, number=hour, merged_at=at, updated_at=at)


async def waiting(ends: Ends, *asked: int) -> list[int]:
    listed = MergedList(on_github(1), INSTALLED, cast(Forge, ends), cast(Proposals, ends))
    return [p.number for p in await listed.waiting("main", asked)]


async def test_what_is_settled_is_not_listed_for_ever() -> None:
    """The short-cut lists all that were ever merged, or the newest hundred and forgets the rest."""
    ends = Ends([merged_at(hour) for hour in range(1, 301)])
    assert await waiting(ends) == list(range(300, 0, -1))  # the database was lost: all of them
    ends.done = set(range(1, 301))
    assert await waiting(ends) == []
    assert await waiting(ends) == []
    assert ends.listed == [300]  # what changed in the overlap

    late = replace(merged_at(299), number=500, updated_at=merged_at(300).updated_at - OVERLAP / 2)
    ends.pulls.insert(-1, late)
    assert await waiting(ends) == [500]


async def test_one_that_is_not_settled_is_listed_until_it_is() -> None:
    """The short-cut remembers when it listed: what waits for an approval is lost."""
    ends = Ends([merged_at(hour) for hour in range(1, 11)], set(range(1, 11)) - {4})
    for _ in range(3):
        assert await waiting(ends) == [4]
    assert 1 not in ends.listed
    ends.done.add(4)
    await waiting(ends)
    assert await waiting(ends) == []
    assert ends.listed == [10]
    assert await waiting(ends, 10) == [10]  # in line, settled or not


async def test_what_was_merged_before_the_installation_is_not_ours() -> None:
    """The short-cut takes any merged proposal that is not settled: old ones get tags."""
    old = replace(merged_at(2), merged_at=INSTALLED - HOUR)
    assert await waiting(Ends([old])) == []
