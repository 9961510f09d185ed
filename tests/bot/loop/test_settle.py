"""The one loop: look, decide, perform, until nothing is left; what it waits for and writes down."""

import asyncio
from collections.abc import Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from bot.forges.port import ForgeRefusedError
from bot.loop.echoes import GOES_BACK, Echoes
from bot.loop.proposal import ProposalReconciler
from bot.loop.publishing import PublishingReconciler
from bot.loop.settle import (
    BUSY_WAIT,
    FRESH,
    MOST_ROUNDS,
    UNSETTLED_WAIT,
    PredictedLook,
    Rest,
    Settling,
)
from bot.outcomes import DONE, ActionOutcome, ActionResult, Report
from bot.store.hints import Hint, Rerun
from bot.store.values import BEGAN, StoreError
from lifecycle.actions import Action, AskPublish, Keep, Merge, React, Reaction, Reply, SetCheck
from lifecycle.facts.checks import Conclusion, Status
from lifecycle.facts.head import Facts
from lifecycle.kinds import OF_BASE, OF_PROPOSAL, Look
from lifecycle.names import Sha
from lifecycle.policy import MergeMethod
from tests.lifecycle.samples import APPROVER, FACTS, PROPOSAL, changed, facts, said
from tests.memory.clock import ManualClock
from tests.memory.store import MemoryStore

KEEP = Keep(7)
REPLY = Reply(7, "hello", {"comment": 100})
OTHER = Reply(7, "good bye", {"comment": 101})
MERGE = Merge(
    number=7,
    head=Sha("a" * 40),
    base=Sha("b" * 40),
    base_ref="main",
    method=MergeMethod.MERGE,
    title="",
    message="",
)
CHECK = SetCheck(
    head=Sha("a" * 40),
    name="porchbot/publish",
    status=Status.COMPLETED,
    conclusion=Conclusion.SUCCESS,
    title="",
    summary="",
    annotations=(),
    digest="",
    run=1,
)
REFUSED = ForgeRefusedError("write", "403: no")


@dataclass
class Found:
    facts: Facts = FACTS


@dataclass
class Script:
    """A kind of key of its own: what is decided at each look, and how carrying it out goes."""

    decides: list[Sequence[Action]]
    goes: ActionOutcome | Rest | BaseException = ActionOutcome.DONE
    clock: ManualClock = field(default_factory=ManualClock)
    found: Found = field(default_factory=Found)
    hint: Hint = field(default_factory=Hint)
    echoes: Echoes = field(default_factory=Echoes)
    key: str = "github:42:proposal:42:drafts/net/core/w"
    waiting: str = "w"
    looks: Set[Look] = frozenset(Look)
    performed: list[Sequence[Action]] = field(default_factory=list)
    since: list[float] = field(default_factory=list)
    takes: float = 1.0

    async def look(self, since: float) -> Found | Rest:
        self.since.append(since)
        self.clock.seconds += self.takes
        return self.found if self.decides else Rest(3.0)

    def decide(self, _: Found) -> Sequence[Action]:
        return self.decides.pop(0)

    async def perform(
        self, actions: Sequence[Action], _: Found, report: Report
    ) -> ActionOutcome | Rest:
        self.performed.append(actions)
        for action in actions[:-1]:
            report.note(action, DONE)
        with report.breaking(actions[-1:]):
            if isinstance(self.goes, BaseException):
                raise self.goes
        outcome = ActionOutcome.DONE if isinstance(self.goes, Rest) else self.goes
        report.note(
            actions[-1], ActionResult(outcome, "" if outcome is ActionOutcome.DONE else "because")
        )
        return self.goes

    async def rest(self, _: Found) -> Rest:
        return Rest(None)


async def settled(script: Script, store: MemoryStore | None = None) -> float | None:
    settling = Settling((store or MemoryStore(script.clock)).audit, clock=script.clock)
    return await settling.settle(script)


async def test_facts_that_are_older_than_a_write_take_nothing_back() -> None:
    """The short-cut asks when it was decided: a look that takes long reads what is old by then."""
    shown, newer = replace(CHECK, digest="publishing"), replace(CHECK, digest="published")
    script = Script([[shown], [newer], [replace(shown, run=None, after=1)]], takes=2 * GOES_BACK)
    script.echoes = Echoes(script.clock)

    assert await settled(script) == 1.0
    assert script.performed == [[shown], [newer]]


async def test_it_goes_on_until_nothing_is_decided() -> None:
    """The short-cut performs once, and leaves the rest to the echo of what it did."""
    script = Script([[KEEP], [REPLY], []])

    assert await settled(script) is None
    assert script.performed == [[KEEP], [REPLY]]


@pytest.mark.parametrize(
    ("script", "after", "times"),
    [
        (Script([]), 3.0, 0),  # nothing can be decided on what the forge shows
        (Script([[MERGE]], goes=ActionOutcome.WAIT), BUSY_WAIT, 1),
        (Script([[AskPublish(base_ref="main", number=7)]], goes=Rest(5.0)), 5.0, 1),
        (Script([[KEEP]] * 50), UNSETTLED_WAIT, MOST_ROUNDS),  # repeating it harms nobody
    ],
)
async def test_when_it_looks_again(script: Script, after: float, times: int) -> None:
    assert await settled(script) == after
    assert len(script.performed) == times


@pytest.mark.parametrize(
    ("looks", "carried_out"),
    [
        (ProposalReconciler.looks, [[KEEP], [REPLY]]),
        (PublishingReconciler.looks, [[MERGE]]),
    ],
)
async def test_a_look_carries_out_only_what_is_its_own(
    looks: Set[Look], carried_out: list[list[Action]]
) -> None:
    """The short-cut trusts `decide`: a merge decided at a proposal's own look would be made."""
    script = Script([[KEEP, MERGE], [MERGE, REPLY], []], looks=looks)

    await settled(script)

    assert script.performed[: len(carried_out)] == carried_out
    assert all(a.KIND.look in looks for actions in script.performed for a in actions)


def test_each_action_is_carried_out_by_some_look() -> None:
    """Fails when a look is added that no kind of key does: its actions would all be dropped."""
    assert frozenset(Look) == OF_BASE | OF_PROPOSAL
    assert Look.BASE not in ProposalReconciler.looks


async def test_what_was_just_done_is_waited_for_and_then_believed() -> None:
    """Fails when an old answer of the forge makes the bot speak twice, or wait for ever."""
    script = Script([[REPLY], [REPLY]])
    waits = [await settled(script)]
    for _ in range(4):
        script.decides = [[KEEP, REPLY]]
        waits.append(await settled(script))
    assert waits == [1.0, 2.0, 4.0, 8.0, 0.0]
    assert script.performed == [[REPLY]]

    script.decides = [[REPLY], []]
    assert await settled(script) is None
    assert script.performed == [[REPLY], [REPLY]]


async def test_what_was_not_done_is_no_echo() -> None:
    """Fails when what was decided counts as done: after a push that lost, the next would wait."""
    script = Script([[REPLY], [REPLY], []], goes=ActionOutcome.LOOK_AGAIN)

    assert await settled(script) is None
    assert script.performed == [[REPLY], [REPLY]]


@pytest.mark.parametrize("goes", [REFUSED, ActionOutcome.LOOK_AGAIN])
async def test_what_was_done_beside_one_that_was_not_is_not_done_again(
    goes: ActionOutcome | BaseException,
) -> None:
    """Fails when a batch is remembered as a whole: an old answer makes the bot reply twice."""
    script = Script([[REPLY, OTHER]], goes=goes)
    with suppress(ForgeRefusedError):
        await settled(script)
    script.decides, script.goes = [[REPLY, OTHER]], ActionOutcome.DONE
    assert await settled(script) == 1.0
    assert script.performed == [[REPLY, OTHER]]

    script.decides = [[OTHER], []]
    assert await settled(script) is None
    assert script.performed == [[REPLY, OTHER], [OTHER]]


async def test_git_is_fetched_again_after_a_merge_a_loss_or_some_seconds() -> None:
    """Fails when rounds share what the first one fetched: the merge result is not among that."""
    pushed = Script([[KEEP]] * 8)
    await settled(pushed)
    assert pushed.since[: int(FRESH)] == [0.0] * int(FRESH)
    assert pushed.since[int(FRESH)] == FRESH

    merged, lost = Script([[MERGE], []]), Script([[KEEP], []], goes=ActionOutcome.LOOK_AGAIN)
    await settled(merged)
    await settled(lost)
    assert merged.since == lost.since == [0.0, 1.0]


async def entries(script: Script, store: MemoryStore) -> list[tuple[str, dict[str, Any]]]:
    """What came of each action; without the entries from before they were carried out."""
    every = await store.audit.entries(script.key)
    return [(name, dict(kept)) for _, _, name, kept in every if name != BEGAN]


async def test_what_is_about_to_be_done_is_written_down_before() -> None:
    """Fails when entries are written afterwards alone: of a killed bot there would be none."""
    store, seen = MemoryStore(), []

    @dataclass
    class Looking(Script):
        async def perform(
            self, actions: Sequence[Action], looked: Found, report: Report
        ) -> ActionOutcome | Rest:
            seen.append(await store.audit.entries(self.key))
            return await super().perform(actions, looked, report)

    script = Looking([[KEEP, REPLY], [OTHER], []], hint=Hint(by=frozenset({"sweep"})))
    await settled(script, store)

    ((_, _, name, began),) = seen[0]
    assert name == BEGAN
    assert [each["action"] for each in began["actions"]] == ["Keep", "Reply"]
    assert began["actions"][1]["values"]["number"] == 7
    assert (began["asked"], began["outcome"]) == ([{"by": "sweep"}], "BEGAN")
    assert len(began["facts"]) == 64
    ended = [detail["began"] for _, detail in await entries(script, store)]
    assert ended[0] == ended[1] != ended[2]


async def test_what_cannot_be_written_down_is_not_done() -> None:
    """Fails when the trail is written as far as it goes: without a database nobody would know."""
    store = MemoryStore()
    store.statements.reachable = False
    script = Script([[KEEP]])

    with pytest.raises(StoreError):
        await settled(script, store)

    assert script.performed == []


@pytest.mark.parametrize(
    ("goes", "told"),
    [
        (ActionOutcome.DONE, {"outcome": "DONE"}),
        (ActionOutcome.LOOK_AGAIN, {"outcome": "LOOK_AGAIN", "why": "because"}),
        (
            REFUSED,
            {"outcome": "BROKE", "why": f"ForgeRefusedError: {REFUSED}"},
        ),
        (KeyError("hunter2"), {"outcome": "BROKE", "why": "KeyError"}),
        (asyncio.CancelledError(), {"outcome": "BROKE", "why": "CancelledError"}),
    ],
)
async def test_the_audit_trail_says_what_came_of_each_action(
    goes: ActionOutcome | BaseException, told: dict[str, str]
) -> None:
    """Fails when entries are written after all went well: what broke in the middle left none.

    What an exception of our own says may be anybody's secret: its name is kept.
    """
    store = MemoryStore()
    script = Script([[KEEP, REPLY], []], goes=goes)
    if isinstance(goes, BaseException):
        with pytest.raises(type(goes)):
            await settled(script, store)
    else:
        await settled(script, store)

    kept = await entries(script, store)

    assert [name for name, _ in kept] == ["Keep", "Reply"]
    assert kept[0][1]["outcome"] == "DONE"
    assert {n: v for n, v in kept[1][1].items() if n in ("outcome", "why")} == told
    assert all(len(detail["facts"]) == 64 for _, detail in kept)
    assert kept[1][1]["values"]["number"] == 7
    assert "hunter2" not in str(kept)


APPROVED = {"by": "person", "forge": "github", "id": APPROVER.id, "login": APPROVER.login}
ANN = APPROVED | {"comment": 100}
BOB = {"by": "person", "forge": "github", "id": 12, "login": "bob", "rerun": "a-delivery"}


@pytest.mark.parametrize(
    ("action", "hint", "asked"),
    [
        (REPLY, Hint(), [ANN]),  # found by a sweep: still hers
        (React(1, 100, Reaction.DONE), Hint(by=frozenset({"sweep"})), [ANN]),
        (MERGE, Hint(comments=frozenset({100})), [ANN]),
        (MERGE, Hint(comments=frozenset({999})), [{"by": "webhook"}]),  # of another proposal
        (MERGE, Hint(by=frozenset({"sweep"})), [{"by": "sweep"}]),
        (MERGE, Hint(rerun=frozenset({"a-delivery"})), [{"by": "rerun"}]),
        (KEEP, Hint(rerun=frozenset({str(Rerun("a-delivery", 12, "bob"))})), [BOB]),
        (REPLY, Hint(rerun=frozenset({str(Rerun("a-delivery", 12, "bob"))})), [ANN]),
        (replace(MERGE, approvers=(APPROVER.login,)), Hint(by=frozenset({"sweep"})), [APPROVED]),
        (OTHER, Hint(), [{"by": "webhook"}]),
    ],
)
async def test_the_audit_trail_says_who_asked(
    action: Action, hint: Hint, asked: list[dict[str, Any]]
) -> None:
    """Fails when the actor is the bot whoever asked; a login without a number may change hands."""
    store, found = (
        MemoryStore(),
        facts(changed(PROPOSAL, comments=(said(APPROVER, "/approve", 100),))),
    )
    script = Script([[action], []], found=Found(found), hint=hint)

    await settled(script, store)

    assert [detail["asked"] for _, detail in await entries(script, store)] == [asked]


@dataclass
class Showing(Script):
    """What it does has one outcome, which it knows."""

    async def perform(  # type: ignore[override] # says what is so by then
        self, actions: Sequence[Action], found: Found, report: Report
    ) -> PredictedLook[Found]:
        await super().perform(actions, found, report)
        return PredictedLook(found)


async def test_what_is_known_to_be_so_is_decided_on_and_not_read_again() -> None:
    """Short-cuts refused: a second look; an end without a second decision."""
    script = Showing([[CHECK], [KEEP], []])

    assert await settled(script) is None
    assert (script.performed, len(script.since)) == ([[CHECK], [KEEP]], 1)


async def test_what_is_known_and_wanted_again_is_read_again() -> None:
    """The short-cut goes on from what it takes for shown without end, and never asks."""
    script = Showing([[CHECK], [CHECK]])

    assert await settled(script) == 1.0
    assert script.performed == [[CHECK]]
