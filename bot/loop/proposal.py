"""The look at one head branch: look, decide, perform, until nothing is left to do."""

import asyncio
from datetime import UTC, datetime, timedelta
from time import monotonic

import structlog

from bot import keys
from bot.look.assemble import Looked
from bot.loop import branches
from bot.loop.hints import Hint
from bot.loop.repository import ServedRepository, head_of
from bot.loop.settle import BUSY_WAIT, MOST_ROUNDS, carry_out, fetched_since, when_stale
from bot.loop.unjudged import Unjudged, is_unjudged
from bot.loop.work import LONGEST
from bot.perform import Outcome
from bot.store.port import Store
from lifecycle.actions import AskPublish
from lifecycle.decide import decide
from lifecycle.facts import Facts, Proposal
from lifecycle.merges import UnknownRules

log = structlog.get_logger()

LOGGED_WITHIN = timedelta(days=1)
"""How long after a merge sweeps go on asking the forge what brought it in."""


async def settle(
    served: ServedRepository, store: Store, unjudged: Unjudged, key: keys.ProposalKey, hint: Hint
) -> float | None:
    """Bring a head branch to rest.

    Returns:
        Seconds after which to look again; None when it has settled.
    """
    head = head_of(key)
    name = str(key)
    if hint.rerun:
        served.echoes.forget()
    rerun, since, returns = hint.rerun, monotonic(), unjudged.returns
    for _ in range(MOST_ROUNDS):
        looked = await served.looker.look(
            head, served.adoption, hint.numbers, rerun=rerun, since=since
        )
        if looked.again is not None:
            return looked.again
        actions = decide(looked.facts)
        rerun = False
        for other in sorted(looked.news, key=str):
            await store.queue.wake(other)
        if not actions:
            await _close(served, store, looked.facts)
            if any(map(is_unjudged, looked.facts.proposals)):
                if returns != unjudged.returns:
                    return BUSY_WAIT  # it came back while we looked
                return unjudged.wait(key, LONGEST)
            unjudged.judged(key)
            if looked.late:
                return served.echoes.wait_on(name)
            return await _waits_for_hint(served, name, looked, hint)
        if served.echoes.is_stale(actions):
            return when_stale(served, name)
        served.echoes.news(name)
        outcome = await carry_out(served, store, name, actions, looked)
        if outcome is Outcome.WAIT:
            return BUSY_WAIT
        if any(isinstance(action, AskPublish) for action in actions):
            # The base's look takes over, and wakes this key when it is done.
            return await _waits_for_hint(served, name, looked, hint)
        since = fetched_since(since, outcome, actions)
    log.error("does not settle", key=name)
    return 60.0


async def _waits_for_hint(
    served: ServedRepository, key: str, looked: Looked, hint: Hint
) -> float | None:
    heads_there = await asyncio.to_thread(branches.has_all, served.mirror, hint.heads)
    newest = max(looked.seen_comments, default=0)
    comments_there = all(c in looked.seen_comments or c < newest for c in hint.comments)
    if heads_there and comments_there and hint.reviews <= looked.seen_reviews:
        served.echoes.news(key)
        return None
    return served.echoes.wait(key)


async def _close(served: ServedRepository, store: Store, facts: Facts) -> None:
    """Closed proposals with nothing left to do are not looked at again unless named."""
    for proposal in facts.proposals:
        if proposal.closed and not is_unjudged(proposal) and not _may_be_told(proposal):
            await store.proposals.settle(served.id, proposal.number, merged=proposal.merged)


def _may_be_told(proposal: Proposal) -> bool:
    """The forge may still log what brought a merge in: sweeps go on asking for a while."""
    merged = proposal.merged_at
    return (
        proposal.doubt is UnknownRules.BASE
        and merged is not None
        and datetime.now(UTC) - merged < LOGGED_WITHIN
    )
