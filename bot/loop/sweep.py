"""The sweep of a repository: wakes what changed without an event that told of it (ADR 23)."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

import structlog

from bot import keys
from bot.extends import MOST_FILES, FileReference
from bot.forges.port import ForgeBusyError, ForgeRefusedError, ListedProposal
from bot.git.port import BRANCHES
from bot.look.defaults import MOST_DEFAULTS
from bot.loop import branches, changed, parked, variant_telling
from bot.loop.dashboards import tell
from bot.loop.merged import OVERLAP
from bot.loop.onboarding import Onboarding
from bot.loop.repository import PUBLISHING_WAIT, ServedRepository
from bot.loop.serving import Serving
from bot.store.hints import BY_SWEEP, PUBLISHING, Hint
from bot.store.port import Store
from bot.store.values import Revision, Swept
from lifecycle import names, timing
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha

log = structlog.get_logger()

AT_ONCE = 20
"""Looks that a sweep asks for at once."""

PACE = 2.0
"""Seconds between the looks that it asks for beyond that: with eight requests each, 500 proposals
take a quarter of an hour and leave most of what the forge allows to people's own changes."""

UNKNOWN = timedelta(days=1)
"""How far back closed proposals are listed where nobody knows which were looked at."""


class SweepHandler:
    """Handles the keys of repositories.

    Args:
        serving: Finds them, and adopts those that are new.
        store: The database.
        version: Of this bot.
        onboarding: Proposes a configuration where there is none; None to leave that.
    """

    def __init__(
        self,
        serving: Serving,
        store: Store,
        version: str = "",
        onboarding: Onboarding | None = None,
    ) -> None:
        self._serving = serving
        self._store = store
        self._version = version
        self._onboarding = onboarding

    async def handle(self, key: keys.RepositoryKey, hint: Hint) -> float | None:
        """Sweep a repository as the forge names it now, or say how long to put that off."""
        if self._serving.publishes(key.repository):
            return PUBLISHING_WAIT
        served = await self._serving.renewed(key.repository, hint.installations)
        found = bool(hint.installations)  # by a sweep of the forge; an event tells what it is about
        everything = bool(hint.everything)
        waits = await sweep(served, self._store, everything=everything, closed=found)
        await self._store.sweeps.swept(key.repository, self._version, waits=waits)
        if self._onboarding is not None:
            await self._onboarding.propose(served)
        await tell(self._store.queue, served.repository)
        await variant_telling.tell(self._store.queue, served)
        return None


async def sweep(
    served: ServedRepository, store: Store, *, everything: bool = False, closed: bool = False
) -> bool:
    """Wake what has changed in a repository since a sweep last had it looked at.

    Args:
        served: The repository.
        store: The database.
        everything: Something changed that no list tells: all is to be looked at.
        closed: Look at closed proposals that changed, too.

    Returns:
        Whether something that no list tells may let one of its proposals through.
    """
    me = served.id
    served.looker.fetcher.forget()
    with suppress(ForgeRefusedError):  # looks say so, and publish nothing
        await served.freezes.recall()
    pulls, _ = await asyncio.gather(
        served.forge.open_proposals(),
        served.looker.fetcher.fetch(BRANCHES, served.clock.monotonic()),
    )
    tags = await served.offload(served.mirror.tags, await served.forge.git_credentials())
    await store.proposals.forget_touching(me, [p.number for p in pulls])
    await store.waits.forget(me, [p.number for p in pulls])
    packages, known, approved = await asyncio.gather(
        store.sweeps.packages(me),
        store.sweeps.known(me),
        store.sweeps.approved(me, [p.number for p in pulls]),
    )
    seen, bases, rules = await _seen(served, pulls, packages, tags)
    refused = await store.proposals.forget_push_refusals(me)  # rules change
    waits = parked.by_key(await store.waits.parked(me, timing.KINDS))
    again = {key for key in waits if parked.asks_again(waits[key], known.get(key))}
    told = served.forge.tells_objections
    objected = frozenset[int]() if told else parked.objected(await store.waits.of(me))
    anyhow = {key for key in seen if everything or key.ref in refused or str(key) in again} | {
        served.key_of(p) for p in pulls if p.number in approved or p.number in objected
    }
    woken = changed.to_look_at(seen, known, anyhow, served.clock.now())
    await _wake(store, woken, BY_SWEEP)
    await store.queue.wake_all(
        {keys.BaseKey(me, ref): BY_SWEEP for ref in bases | {p.base_ref for p in pulls}}
    )
    queued = await served.offload(branches.merge_groups, served.mirror)
    await store.queue.wake_all({keys.GroupKey(me, branch): BY_SWEEP for branch in queued})
    states = {str(key): seen[key].state for key in woken}
    alone = {key: each for key, each in waits.items() if key not in set(map(str, seen))}
    now = served.clock.now()
    merged = list(alone) if everything else parked.to_look_at(alone, known, rules, now)
    await _wake(store, list(map(keys.parse, merged)), BY_SWEEP)
    states |= dict.fromkeys(merged, rules)
    before = {k: each for k, each in known.items() if isinstance(keys.parse(k), keys.PullKey)}
    listed: Collection[str] = before
    if closed:
        news, listed = await _look_at_closed(served, store, before)
        states |= news
    there = [*map(str, seen), *listed, *alone]
    await store.sweeps.keep(me, states, there)
    await _look_at_lost_tags(served, store, tags)
    return bool(approved or objected or refused or waits) or any(
        each.unattended for each in seen.values()
    )


async def _look_at_closed(
    served: ServedRepository, store: Store, before: Mapping[str, Swept]
) -> tuple[dict[str, str], list[str]]:
    """Wake closed proposals that changed: what is said on one shows in no list of open ones.

    Args:
        served: The repository.
        store: The database.
        before: Keys of those that sweeps had looked at, and when each had changed.

    Returns:
        What is seen of those that were woken, by their keys, and the keys of all that are listed.
    """
    now = served.clock.now()
    last = max((datetime.fromisoformat(each.state) for each in before.values()), default=None)
    since = last - OVERLAP if last else max(served.adoption.at, now - UNKNOWN)
    pulls = await served.forge.closed_proposals(since)
    listed = {keys.PullKey(served.id, pull.number): pull.updated_at for pull in pulls}
    news = [
        key
        for key, at in listed.items()
        if changed.is_news(before.get(str(key)), at.isoformat(), at, now)
    ]
    await _wake(store, news, BY_SWEEP)
    return {str(key): listed[key].isoformat() for key in news}, [str(key) for key in listed]


async def _seen(
    served: ServedRepository,
    pulls: Sequence[ListedProposal],
    packages: Mapping[int, frozenset[str]],
    tags: Mapping[str, Sha],
) -> tuple[dict[keys.ProposalKey, changed.BranchState], set[str], str]:
    """Key of each head branch to what is seen of it; the branches that are published from; rules.

    What rules extend is fetched between; of rules that stay unread nothing is known, and the sweep
    of everything else goes on.
    """
    for _ in range(MOST_FILES):
        needed: set[FileReference] = set()
        found = await served.offload(_see, served, pulls, packages, tags, needed)
        for reference in sorted(needed, key=str)[:MOST_DEFAULTS]:
            try:
                await served.looker.extended.fetch(reference)
            except ForgeBusyError as error:
                log.warning("defaults not read", reference=reference.shown, error=str(error))
        if not needed:
            return found
    return await served.offload(_see, served, pulls, packages, tags, needed)


def _see(
    served: ServedRepository,
    pulls: Sequence[ListedProposal],
    packages: Mapping[int, frozenset[str]],
    tags: Mapping[str, Sha],
    needed: set[FileReference],
) -> tuple[dict[keys.ProposalKey, changed.BranchState], set[str], str]:
    default = served.repository.default_branch
    there = branches.drafts(served.mirror).items()
    drafts = {ref: sha for ref, sha in there if served.adoption.drafts.get(ref) != sha}
    digests = changed.tags_of(frozenset().union(*packages.values()), tags)
    with served.mirror.open() as git:
        around = changed.JudgementContext(
            git=git,
            default=default,
            packages=packages,
            tags=digests,
            files=served.looker.reader(git, served.adoption).file,
            needed=needed,
        )
        seen = changed.see(served.id, pulls, drafts, around)
        bases = branches.published_from(served.mirror, default)
        return seen, bases, around.digest(bases)


async def _wake(store: Store, found: Sequence[keys.Key], hint: Hint) -> None:
    """Ask for looks, the first of them at once."""
    for first in range(0, len(found), AT_ONCE):
        some: dict[keys.Key, Hint] = dict.fromkeys(found[first : first + AT_ONCE], hint)
        await store.queue.wake_all(some, after=PACE * first)


async def wake_related(store: Store, repository: RepositoryId, packages: Collection[str]) -> None:
    """Wake the proposals of some packages: a tag was made, and they name another number now."""
    heads = await store.sweeps.heads_touching(repository, packages)
    found = sorted((keys.ProposalKey(repository, *head) for head in heads), key=str)
    await _wake(store, found, Hint(by=frozenset({PUBLISHING})))


async def _look_at_lost_tags(
    served: ServedRepository, store: Store, there: Mapping[str, Sha]
) -> None:
    """Wake published proposals whose tag is not what it was when we saw it last."""
    me = served.id
    odd = [each async for each in store.revisions.all_revisions(me) if _is_news(there, *each)]
    if odd:  # some may have been made since the tags were listed
        there = await served.offload(served.mirror.tags, await served.forge.git_credentials())
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
    named = there.get(names.tag_ref(names.spelled(package, number)), "none")
    return "" if named == revision.tag else named
