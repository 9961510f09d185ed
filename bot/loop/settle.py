"""Carrying out what was decided, and what is remembered of that."""

import asyncio
from collections.abc import Iterable, Sequence
from time import monotonic

from bot import metrics
from bot.look.assemble import Looked
from bot.loop import audited
from bot.loop.repository import ServedRepository
from bot.perform import Outcome
from bot.store.port import Store
from lifecycle.actions import Action, Merge

MOST_ROUNDS = 12
"""Rounds of one look; the longest honest chain (draft, render, propose, tidy) takes six."""

FRESH = 5.0
"""Seconds that git as it was fetched serves the further rounds of one look."""

BUSY_WAIT = 1.0
"""Seconds before a merge is tried again after "Base branch was modified"."""


async def carry_out(
    served: ServedRepository, store: Store, key: str, actions: Sequence[Action], looked: Looked
) -> Outcome:
    """Carry out actions, count them and write down what came of them."""
    outcome = await served.performer.perform(actions, looked)
    if outcome is Outcome.DONE:
        for action in actions:
            metrics.ACTIONS.labels(action.KIND.name).inc()
        served.echoes.did(actions)
    facts = await asyncio.to_thread(audited.digest, looked.facts)
    await store.audit.add(
        key,
        [
            (
                a.KIND.name,
                {"values": audited.values(a), "facts": facts, "outcome": outcome.name},
            )
            for a in actions
        ],
    )
    return outcome


def when_stale(served: ServedRepository, key: str) -> float:
    """Look again after 1, 2, 4, 8 s; then believe what is shown, or leave it to the sweep."""
    wait = served.echoes.wait(key)
    if wait is None:
        served.echoes.forget()
        return 0.0
    return wait


def fetched_since(since: float, outcome: Outcome, actions: Iterable[Action]) -> float:
    """When git must have been fetched for the next round: what we push, the mirror has already.

    A merge is made by the forge, and what was refused shows that somebody else was faster.
    """
    merged = any(isinstance(action, Merge) for action in actions)
    now = monotonic()
    return since if outcome is Outcome.DONE and not merged and now - since < FRESH else now
