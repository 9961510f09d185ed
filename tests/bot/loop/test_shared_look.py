"""What a look at a proposal may believe that another look read of the same commit."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar, cast

import pytest

from bot.keys import ProposalKey
from bot.look.assemble import Looked
from bot.look.sharing import SharedReadings
from bot.loop.impacts import Impacts
from bot.loop.pressed import Counting, PressFilter
from bot.loop.proposal import ProposalHandler, ProposalReconciler
from bot.loop.repository import ServedRepository, head_of
from bot.loop.shared_commits import SharedCommit, SharedCommits
from bot.loop.unjudged import Unjudged
from bot.store.hints import NOTHING, Hint
from lifecycle.actions import SetCheck
from lifecycle.decide import decide
from lifecycle.facts.head import Facts
from lifecycle.names import Sha
from tests.lifecycle.samples import FACTS
from tests.lifecycle.settling import settled
from tests.memory.clock import ManualClock
from tests.memory.store import MemoryStore

P = ParamSpec("P")
T = TypeVar("T")
KEY = ProposalKey(FACTS.repository_id, FACTS.repository_id.number, FACTS.head_ref)


class _Looks:
    """Looks that find always the same; those that may, believe what another one read."""

    def __init__(self, facts: Facts, clock: ManualClock) -> None:
        self._facts = facts
        self._clock = clock
        self.believed: list[bool] = []

    async def look(self, *_: object, kept: SharedReadings, rerun: bool, **__: object) -> Looked:
        kept.used = kept.since == 0.0
        self.believed.append(kept.used)
        self._clock.seconds += 1
        none = frozenset[int]()
        facts = replace(self._facts, rerun=rerun)
        return Looked(facts, 0.0, none, none, {}, {}, none)


def _look(facts: Facts, shared: SharedCommit, hint: Hint = NOTHING) -> tuple[list[bool], Facts]:
    """Whether each reading believed another look, and what was found."""
    clock = ManualClock()
    looks = _Looks(facts, clock)

    async def offload(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return work(*args, **kwargs)

    async def counting(*_: object) -> Counting:
        return Counting()

    served: Any = SimpleNamespace(
        id=FACTS.repository_id,
        looker=looks,
        adoption=None,
        shared_commits=SharedCommits(),
        clock=clock,
        offload=offload,
    )
    reconciler = ProposalReconciler(
        cast(ServedRepository, served),
        MemoryStore(clock),
        cast(Unjudged, SimpleNamespace(returns=0)),
        cast(Impacts, None),
        cast(PressFilter, SimpleNamespace(counting=counting)),
        KEY,
        hint,
        shared,
        taken=0.0,
    )
    looked = asyncio.run(reconciler.look(0.0))
    assert isinstance(looked, Looked)
    return looks.believed, looked.facts


def test_a_check_is_shown_by_what_was_read_of_all_in_the_same_look() -> None:
    """Fails when a check is written by what another look read: it lets proposals through that were
    held since."""
    assert any(isinstance(each, SetCheck) for each in decide(FACTS))

    assert _look(FACTS, SharedCommit())[0] == [True, False]


def test_where_the_checks_are_right_another_look_is_believed() -> None:
    """Fails when each look of a commit reads all of it again."""
    assert _look(settled(FACTS), SharedCommit())[0] == [True]


PRESSED = Hint(rerun=frozenset({"press"}))


@pytest.mark.parametrize("done", [False, True])
def test_the_checks_are_written_anew_once_for_each_press(done: bool) -> None:
    """Fails when each proposal of the commit writes them for the same press on Re-run, or none
    where the first look believed another one and has to read all again."""
    shared = SharedCommit(reruns={(FACTS.head, "press")} if done else set())

    _, facts = _look(FACTS, shared, PRESSED)

    assert facts.rerun is not done


def test_a_press_is_answered_at_each_commit() -> None:
    """Fails when a branch that moved on answers it at its new commit, and nobody at the old one."""
    shared = SharedCommit(reruns={(Sha("c" * 40), "press")})

    assert _look(FACTS, shared, PRESSED)[1].rerun


def test_who_waits_for_others_of_the_commit_keeps_nothing_from_publishing() -> None:
    """Fails when the branch is taken first: a merge's tag waits for all looks there."""

    async def story() -> tuple[bool, bool]:
        head, branch, commits = head_of(KEY), asyncio.Lock(), SharedCommits()
        async with commits.exclusive(head) as shared:
            commits.learn(head, replace(FACTS, crowded=True), shared)
        served = SimpleNamespace(shared_commits=commits, lock=lambda _: branch, clock=ManualClock())

        async def of(_: object) -> object:
            return served

        handler = ProposalHandler(
            *(cast(Any, each) for each in (SimpleNamespace(of=of), *(None,) * 5))
        )
        async with commits.exclusive(head) as shared:
            waiting = asyncio.create_task(handler.handle(KEY, NOTHING))
            for _ in range(5):
                await asyncio.sleep(0)
            found = shared.looks == 2, branch.locked()
            waiting.cancel()
            await asyncio.wait([waiting])
        return found

    assert asyncio.run(story()) == (True, False)
