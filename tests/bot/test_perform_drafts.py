"""A branch that was pushed is looked at, whatever becomes of its pull request."""

from contextlib import nullcontext
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from bot import keys
from bot.forges.port import ForgeBusyError, ForgeRefusedError
from bot.git.port import GitIdentity
from bot.outcomes import DONE, ActionResult, Report
from bot.perform import Performer
from bot.store.hints import NOTHING
from lifecycle.actions import OpenProposal, PushDraft
from lifecycle.names import Sha
from tests.ids import on_github
from tests.memory.clock import ManualClock
from tests.memory.renderer import MemoryRenderer
from tests.memory.store import MemoryStore

BRANCH = "drafts/a/x"
PUSH = PushDraft(head_ref=BRANCH, tip="", base=Sha("b"), files={}, message="m", asked=1, asker="")
OPEN = OpenProposal(head_ref=BRANCH, base_ref="main", title="t", body="b")


@dataclass
class _Forge:
    """Opens pull requests, or fails."""

    error: Exception | None = None

    async def open_proposal(self, _: OpenProposal) -> int:
        if self.error is not None:
            raise self.error
        return 7


class _Pushing(Performer):
    async def _push_draft(self, action: PushDraft) -> ActionResult:
        assert action == PUSH
        return DONE


@pytest.mark.parametrize(
    ("error", "numbers"),
    [(None, {7}), (ForgeBusyError("open", "502"), set()), (ForgeRefusedError("open", "no"), set())],
    ids=["opened", "broken", "refused"],
)
async def test_a_pushed_branch_is_woken_though_nothing_was_opened(
    error: Exception | None, numbers: set[int]
) -> None:
    """Short-cut refused: it is woken with its pull request alone, and what the bot pushes wakes
    nothing: a branch without one is looked at once a sweep comes by."""
    store, clock, here = MemoryStore(), ManualClock(), on_github(1)
    nothing: Any = None
    forge: Any = _Forge(error)
    who = GitIdentity("porchbot[bot]", "bot@forge.example")
    performer = _Pushing(
        *(here, forge, nothing, MemoryRenderer(), store, b"k" * 32, who, "x"), nothing, clock=clock
    )
    looked: Any = SimpleNamespace(facts=SimpleNamespace(head_ref="other"), read=clock.monotonic())

    with nullcontext() if error is None else pytest.raises(type(error)):
        await performer.perform([PUSH, OPEN], looked, Report(), NOTHING)

    work = await store.queue.take("test")
    assert work is not None
    assert work.key == str(keys.ProposalKey(here, here.number, BRANCH))
    assert work.hint.numbers == numbers
