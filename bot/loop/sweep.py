"""The sweep of a repository: wakes whatever an event may have been missed for."""

import asyncio
from collections.abc import Mapping

import structlog

from bot import keys
from bot.git.port import BRANCHES
from bot.loop import branches
from bot.loop.hints import SWEEP, Hint, encode
from bot.loop.repository import ServedRepository
from bot.loop.serving import Serving
from bot.store.port import Store
from bot.store.values import Revision
from lifecycle import names
from lifecycle.names import Sha

log = structlog.get_logger()

BY_SWEEP = encode(Hint(by=frozenset({SWEEP})))


class Sweeps:
    """Handles the keys of repositories.

    Args:
        serving: Finds them, and adopts those that are new.
        store: The database.
    """

    def __init__(self, serving: Serving, store: Store) -> None:
        self._serving = serving
        self._store = store

    async def handle(self, key: keys.RepositoryKey, hint: Hint) -> None:
        """Sweep a repository as the forge names it now; people wait for a tag, nobody for this."""
        served = await self._serving.renewed(key.repository, hint.installations)
        await served.calms()
        await sweep(served, self._store)


async def sweep(served: ServedRepository, store: Store) -> None:
    """Wake everything in a repository that could have been missed."""
    me = served.id
    await store.proposals.forget_push_refusals(me)  # rules change
    served.looker.fetcher.forget()
    pulls, _ = await asyncio.gather(
        served.forge.open_proposals(),
        served.looker.fetcher.fetch(BRANCHES, served.clock.monotonic()),
    )
    await store.proposals.forget_touching(me, [p.number for p in pulls])
    woken = {
        keys.ProposalKey(me, p.head_repository, p.head_ref)
        for p in pulls
        if p.head_repository is not None
    }
    bases = {p.base_ref for p in pulls} | await served.offload(
        branches.published_from, served.mirror, served.repository.default_branch
    )
    for branch, sha in (await served.offload(branches.drafts, served.mirror)).items():
        if served.adoption.drafts.get(branch) != sha:
            woken.add(keys.ProposalKey(me, me.number, branch))
    await _look_at_lost_tags(served, store)
    bases_woken = {keys.BaseKey(me, branch) for branch in bases}
    await store.queue.wake_all(dict.fromkeys(woken | bases_woken, BY_SWEEP))


async def _look_at_lost_tags(served: ServedRepository, store: Store) -> None:
    """Wake published proposals whose tag is not what it was when we saw it last."""
    me = served.id
    there = await served.offload(served.mirror.tags, await served.forge.token())
    odd = [each async for each in store.revisions.all_revisions(me) if _is_news(there, *each)]
    if odd:  # some may have been made since the tags were listed
        there = await served.offload(served.mirror.tags, await served.forge.token())
    for package, number, revision in odd:
        shown = _shown(there, package, number, revision)
        if shown == revision.shown:
            continue
        log.info("tag", package=package, revision=number, made=revision.tag, shown=shown)
        await store.revisions.show_revision(me, package, number, shown)
        if revision.proposal is not None:
            await store.queue.wake(keys.PullKey(me, revision.proposal), BY_SWEEP)


def _is_news(there: Mapping[str, Sha], package: str, number: int, revision: Revision) -> bool:
    """Whether a tag of ours is not what it was when we saw it last."""
    return bool(revision.tag) and _shown(there, package, number, revision) != revision.shown


def _shown(there: Mapping[str, Sha], package: str, number: int, revision: Revision) -> str:
    """The object that a tag names now, "none" where it is gone; "" for the one that we made."""
    named = there.get(f"refs/tags/{names.spelled(package, number)}", "none")
    return "" if named == revision.tag else named
