"""One proposal while it is merged and tagged: what the next look is told of the last."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bot.forges.port import ListedProposal
from bot.keys import ProposalKey
from bot.look.assemble import Looked
from bot.loop.publishing import PublishingReconciler
from bot.outcomes import ActionOutcome, ActionResult, Report
from bot.store.hints import Hint
from lifecycle.actions import Action
from tests.bot.look.test_asking import HERE, REPOSITORY
from tests.bot.look.test_pulls import OURS
from tests.bot.loop.test_settle import CHECK, MERGE
from tests.lifecycle.samples import PROPOSAL, facts
from tests.memory.clock import ManualClock
from tests.memory.store import MemoryStore


async def test_what_the_bot_merged_is_fetched_without_asking_git_what_changed() -> None:
    """The short-cut asks whether anything did, and then fetches: one answer more to wait for."""
    told: list[Any] = []
    merged = ActionResult(ActionOutcome.DONE, commit="c" * 40)

    class Served:
        """What the reconciler needs of a repository; what it is asked for is taken down."""

        id = HERE
        repository = REPOSITORY
        adoption = None

        @property
        def looker(self) -> "Served":
            return self

        @property
        def performer(self) -> "Served":
            return self

        def key_of(self, pull: ListedProposal) -> ProposalKey:
            return ProposalKey(HERE, HERE.number, pull.head_ref)

        async def look(self, *_: Any, heads: Any, **_more: Any) -> Looked:
            told.append(heads)
            nothing = frozenset[int]()
            return Looked(facts(PROPOSAL), 0.0, nothing, nothing, {}, {}, nothing)

        async def perform(
            self, actions: Sequence[Action], _: Looked, report: Report, _hint: Hint
        ) -> ActionOutcome:
            for action in actions:
                report.note(action, merged)
            return ActionOutcome.DONE

    store: Any = MemoryStore(ManualClock())
    served: Any = Served()
    one = PublishingReconciler(served, store, "main", replace(OURS, number=7), Hint())

    looked: Any = await one.look(0.0)
    await one.perform([CHECK, MERGE], looked, Report())
    await one.look(0.0)

    assert told == [frozenset(), {"c" * 40}]
