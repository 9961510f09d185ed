"""What looks at proposals of one commit read of one another."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import pytest

from bot.forges.port import Conversation, Forge, ListedProposal
from bot.keys import ProposalKey
from bot.look.sharing import Overlaps, SharedReadings
from bot.look.states import HeadBranch, HeadState, KnownOfCommit, PullState
from bot.store.port import LookProposals
from lifecycle.facts.commits import MOST_SHARED
from lifecycle.facts.head import Facts
from lifecycle.names import Sha
from tests.bot.look.test_pulls import OURS
from tests.ids import on_github
from tests.lifecycle.samples import FACTS
from tests.memory.clock import ManualClock
from tests.memory.store import MemoryStore

HERE = on_github(1)
BEFORE, HEAD = Sha("b" * 40), Sha("a" * 40)
MINE = HeadBranch(1, "topic")


@dataclass
class _Forge:
    """A forge with open proposals at one commit."""

    pulls: Mapping[int, ListedProposal]
    asked: list[int] = field(default_factory=list)

    async def proposal(self, number: int) -> ListedProposal:
        self.asked.append(number)
        return self.pulls[number]

    async def proposals_at(self, head: Sha) -> tuple[ListedProposal, ...]:
        return tuple(pull for pull in self.pulls.values() if pull.head == head)

    async def open_proposals(self) -> tuple[ListedProposal, ...]:
        return tuple(pull for pull in self.pulls.values() if pull.open)


class _Commit:
    """A commit that some branches beside `MINE` are proposed at, and looks of `MINE` at it."""

    def __init__(self, branches: int) -> None:
        self.clock = ManualClock()
        self.read: list[HeadBranch] = []
        self.news = set[ProposalKey]()
        pulls = {
            number: replace(OURS, number=number, head_ref=f"twin{number}")
            for number in range(100, 100 + branches)
        }
        self.forge = _Forge(pulls)
        self._proposals = cast(LookProposals, MemoryStore(self.clock).proposals)
        self._overlaps = Overlaps(
            HERE, cast(Forge, self.forge), self._proposals, self.clock, self._wake
        )

    async def look(self, kept: SharedReadings | None) -> tuple[Facts, ...] | None:
        mine = PullState(
            pull=OURS,
            conversation=cast(Conversation, None),
            comments=(),
            required=(),
            queued=False,
            kept=frozenset(),
            written={},
        )
        state = HeadState(
            pulls=(OURS,), relevant=(mine,), open_head=HEAD, checks=(), statuses=None, rerun=False
        )
        return await self._overlaps.same_commit(
            MINE, state, self._read, kept, self.clock.monotonic()
        )

    async def _wake(self, keys: Collection[ProposalKey]) -> None:
        self.news |= set(keys)

    async def _read(self, told: Mapping[HeadBranch, KnownOfCommit]) -> list[Facts]:
        self.read += told
        return [replace(FACTS, head_ref=there.ref) for there in told]

    def knows(self) -> None:
        """The index hears of them."""
        for branch in {pull.head_ref for pull in self.forge.pulls.values()}:
            numbers = [n for n, pull in self.forge.pulls.items() if pull.head_ref == branch]
            self.kept(branch, numbers, HEAD)

    def kept(self, branch: str, numbers: Sequence[int], commit: Sha) -> None:
        """A look at a branch had the index know what it found."""
        asyncio.run(self._proposals.keep_open(HERE, 1, branch, numbers, commit))


def test_what_was_read_since_a_look_began_serves_it() -> None:
    """Fails when each look reads all others, or a look believes what was read before it began."""
    commit = _Commit(2)
    commit.knows()
    shared = SharedReadings(commit.clock.monotonic())
    asyncio.run(commit.look(shared))
    assert (len(commit.read), shared.used) == (2, False)

    second = SharedReadings(shared.since, None, shared.of)
    found = asyncio.run(commit.look(second))
    assert (len(commit.read), second.used, len(found or ())) == (2, True, 2)
    assert commit.forge.asked == [100, 101]

    commit.clock.seconds += 1
    late = SharedReadings(commit.clock.monotonic(), None, shared.of)
    asyncio.run(commit.look(late))
    assert (len(commit.read), late.used) == (4, False)


def test_what_was_read_of_another_commit_serves_nobody() -> None:
    """Fails when proposals are known by their numbers alone: each push leaves what was read."""
    commit = _Commit(1)
    commit.knows()
    kept = SharedReadings(commit.clock.monotonic())
    asyncio.run(commit.look(kept))
    stale = {n: replace(each, commit=BEFORE) for n, each in kept.of.items()}

    asyncio.run(commit.look(SharedReadings(kept.since, None, stale)))

    assert len(commit.read) == 2


def test_the_proposals_of_one_branch_are_read_together() -> None:
    """Fails when a branch is read once for each of its proposals."""
    commit = _Commit(2)
    commit.forge.pulls = {n: replace(p, head_ref="twin") for n, p in commit.forge.pulls.items()}
    commit.knows()

    found = asyncio.run(commit.look(None))

    assert (commit.read, len(found or ())) == ([HeadBranch(1, "twin")], 1)


def test_who_shared_a_commit_is_looked_for_at_the_next_one() -> None:
    """Fails when the index alone tells who is at a commit that several were just pushed to: it
    hears of them one by one, and the checks are written anew for each."""
    commit = _Commit(2)

    assert asyncio.run(commit.look(SharedReadings(0.0))) == ()
    found = asyncio.run(commit.look(SharedReadings(0.0, BEFORE)))
    later = asyncio.run(commit.look(None))

    assert len(found or ()) == len(later or ()) == 2


def test_a_crowd_that_the_forge_told_of_is_known_later() -> None:
    """Fails when a crowd is told once and not kept: the next look shows what one alone comes to."""
    commit = _Commit(MOST_SHARED + 1)

    assert asyncio.run(commit.look(SharedReadings(0.0, BEFORE))) is None
    assert asyncio.run(commit.look(None)) is None


@pytest.mark.parametrize("came", [MOST_SHARED, MOST_SHARED + 1])
def test_who_is_left_behind_is_told_by_the_look_that_finds_where_the_others_are(came: int) -> None:
    """Fails when the index is told where others are by now, and nobody else is: their own looks
    find nothing new, and who stays waits for them until the next sweep."""
    commit = _Commit(came)
    commit.kept("stays", [99], BEFORE)
    for number, pull in commit.forge.pulls.items():
        commit.kept(pull.head_ref, [number], BEFORE)

    asyncio.run(commit.look(SharedReadings(0.0, BEFORE)))

    assert commit.news == {ProposalKey(HERE, 1, "stays")}


@pytest.mark.parametrize("more", [0, MOST_SHARED - 1])
def test_who_shares_a_commit_with_one_that_is_there_no_more_is_told(more: int) -> None:
    """Fails when the index forgets one that the forge tells closed, and nobody is told: its own
    look finds nothing to forget, and the others wait for it until the next sweep."""
    commit = _Commit(2 + more)
    commit.knows()
    commit.forge.pulls = {n: replace(pull, open=n != 100) for n, pull in commit.forge.pulls.items()}

    asyncio.run(commit.look(None))

    assert {key.branch for key in commit.news} >= {f"twin{n}" for n in range(101, 102 + more)}
