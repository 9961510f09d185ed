"""The keys of base branches: merging and tagging, one proposal at a time."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import structlog

from bot import keys
from bot.forges.port import ForgeBusyError, ForgeMissingError, ListedProposal
from bot.git.port import Scope
from bot.look.assemble import Looked
from bot.loop import branches, locks, variant_telling
from bot.loop.dashboards import tell
from bot.loop.echoes import Echoes
from bot.loop.repository import ServedRepository, head_of
from bot.loop.serving import Serving
from bot.loop.settle import Rest, Settling
from bot.loop.sweep import wake_related
from bot.loop.trouble import SomeFailedError
from bot.outcomes import ActionOutcome, Report
from bot.store.hints import NOTHING, PUBLISHING, Hint
from bot.store.port import Store
from bot.store.values import StoreError
from lifecycle import names
from lifecycle.actions import Action, Merge, Tag, for_publishing
from lifecycle.decide import decide
from lifecycle.facts.proposal import Proposal
from lifecycle.kinds import OF_BASE

log = structlog.get_logger()

MOST_WOKEN = 20
"""Proposals that are told when another one published their content as well."""

SHORT_WAIT = 2.0
"""Seconds until a merge is tried again of which nobody is told: over before that could be shown."""


@dataclass(frozen=True, slots=True)
class _Listed:
    """What may be to publish on a branch, as it was listed.

    Attributes:
        since: When that began, in monotonic seconds.
        waiting: Merged proposals without a tag.
        named: Those in line; None for one that is gone.
    """

    since: float
    waiting: list[ListedProposal]
    named: list[ListedProposal | None]


class Publishing:
    """Handles the keys of base branches.

    Args:
        serving: Finds their repositories.
        settling: Brings each proposal to rest.
        store: The database.
    """

    def __init__(self, serving: Serving, settling: Settling, store: Store) -> None:
        self._serving = serving
        self._settling = settling
        self._store = store

    async def handle(self, key: keys.BaseKey, hint: Hint) -> float | None:
        """Merge and tag, one proposal at a time; merges made meanwhile first, in their order.

        Returns:
            Seconds after which to look again; None when nothing is left to publish.

        Raises:
            SomeFailedError: Some were not published.
        """
        wait: float | None = None
        failed: dict[int, Exception] = {}
        served, listed = await self._listed(key, failed)
        since = listed.since
        touched = await self._store.sweeps.packages(served.id)
        with served.publishes(key.branch):
            pulls = await self._to_publish(served, key.branch, listed)
            for pull in pulls:
                again = None
                with _by_itself(pull.number, failed):
                    async with served.lock(head_of(served.key_of(pull))):
                        one = PublishingReconciler(served, self._store, key.branch, pull, hint)
                        again = await self._settling.settle(one, since)
                since = served.clock.monotonic()
                if again is not None:
                    wait = again if wait is None else min(wait, again)
        if pulls:  # others may be made of it: what it is made of itself is known by then
            await self._index(served, key.branch)
            found = {each for pull in pulls for each in touched.get(pull.number, ())}
            await variant_telling.tell_users(self._store, served, found)
        default = served.repository.default_branch
        if key.branch == default:
            await variant_telling.tell(self._store.queue, served)
        if key.branch in await served.offload(branches.published_from, served.mirror, default):
            await variant_telling.tell_sharing(self._store, served)
        if failed:
            raise SomeFailedError(failed)
        return wait

    async def _listed(
        self, key: keys.BaseKey, failed: dict[int, Exception]
    ) -> tuple[ServedRepository, _Listed]:
        """The repository as the forge has it now, and what may be to publish in it.

        What is published is judged by the rules of its default branch. Whether that, or its name,
        is another by now is asked for beside all else, which is asked for again where it is.
        """
        known = await self._serving.of(key.repository)
        beside = asyncio.create_task(self._ask(known, key.branch, failed))
        try:
            served = await self._serving.renewed(key.repository)
            if served is known:
                return served, await beside
        finally:
            beside.cancel()
            await asyncio.gather(beside, return_exceptions=True)
        failed.clear()
        return served, await self._ask(served, key.branch, failed)

    async def _ask(
        self, served: ServedRepository, branch: str, failed: dict[int, Exception]
    ) -> _Listed:
        """Fetch a branch and ask what may be to publish; what cannot be read is in `failed`."""
        since = served.clock.monotonic()
        with served.publishes(branch):
            asked = await self._store.revisions.asked_publish(served.id, branch)
            waiting, named, _ = await asyncio.gather(
                served.merged.waiting(branch, asked),
                asyncio.gather(*(self._asked(served, branch, number, failed) for number in asked)),
                served.looker.fetcher.fetch(Scope(frozenset({branch})), since),
            )
        return _Listed(since, waiting, named)

    async def _to_publish(
        self, served: ServedRepository, branch: str, listed: _Listed
    ) -> list[ListedProposal]:
        """Proposals to merge or tag, in order."""
        waiting = listed.waiting
        tip = await served.offload(branches.tip, served.mirror, branch)
        if tip is not None:
            await self._store.revisions.saw_tip(served.id, branch, tip)
            await self._index(served, branch)
        if len(waiting) > 1:
            order = await served.offload(branches.first_parent_order, served.mirror, branch)
            waiting.sort(key=lambda p: (order.get(str(p.merge_commit), len(order)), p.number))
        known = {p.number for p in waiting}
        return waiting + [p for p in listed.named if p is not None and p.number not in known]

    async def _index(self, served: ServedRepository, branch: str) -> None:
        """Keep the index of upstreams; what cannot be read for it keeps nothing from publishing."""
        tip = await served.offload(branches.tip, served.mirror, branch)
        try:
            if tip is not None:
                await locks.index(served, self._store.upstreams, branch, tip)
        except StoreError:
            raise
        except Exception:
            log.exception("upstreams not read", branch=branch)

    async def _asked(
        self, served: ServedRepository, branch: str, number: int, failed: dict[int, Exception]
    ) -> ListedProposal | None:
        """A proposal in line; None, and out of the line, when the forge has it no more."""
        with _by_itself(number, failed):
            try:
                return await served.forge.proposal(number)
            except ForgeMissingError as error:
                log.warning("taken out of the line", number=number, branch=branch, error=str(error))
                await self._store.revisions.published(served.id, branch, number)
        return None


class PublishingReconciler:
    """One proposal while it is merged and tagged.

    Args:
        served: Its repository.
        store: The database.
        base: The branch that it is published on.
        pull: The proposal.
        hint: What woke the base branch's key.
    """

    looks = OF_BASE

    def __init__(
        self, served: ServedRepository, store: Store, base: str, pull: ListedProposal, hint: Hint
    ) -> None:
        self._served = served
        self._store = store
        self._base = base
        self._pull = pull
        self._branch = served.key_of(pull)
        self.hint = hint
        self._merged: frozenset[str] = frozenset()
        self.key = str(self._branch)
        self.waiting = f"{self.key}#{pull.number}"

    @property
    def echoes(self) -> Echoes:
        """What was done last in the repository."""
        return self._served.echoes

    async def look(self, since: float) -> Looked | Rest:
        """Read the facts; a merge from before the baseline wants nothing."""
        number = self._pull.number
        looked = await self._served.looker.look(
            head_of(self._branch),
            self._served.adoption,
            frozenset({number}),
            rerun=False,
            publishing=True,
            heads=self._merged,  # git need not be asked whether anything changed
            since=since,
        )
        if looked.again is not None:
            return Rest(looked.again)
        if number in looked.late:
            return Rest(self.echoes.wait_on(self.waiting))
        if all(p.place.number != number for p in looked.facts.proposals):
            late = await self._shown_late()
            if late is not None:
                return Rest(late)
            # Merged before the baseline: it carries no record of ours.
            await self._store.proposals.settle(self._served.id, number, merged=True)
            return await self._done()
        return looked

    def decide(self, looked: Looked) -> Sequence[Action]:
        """What belongs to publishing; the proposal's own look does the rest."""
        return for_publishing(decide(looked.facts, publishing=True), self._pull.number)

    async def perform(
        self, actions: Sequence[Action], looked: Looked, report: Report
    ) -> ActionOutcome | Rest:
        """Carry out actions, and wake those for whom a tag is news."""
        outcome = await self._served.performer.perform(actions, looked, report, NOTHING)
        made = {report.of(action).commit for action in actions if isinstance(action, Merge)}
        self._merged |= made - {""}
        await tell(self._store.queue, self._served.repository)
        if any(isinstance(action, Tag) for action in actions):
            # Other proposals of these packages name the next number, which this has taken.
            tagged = {names.parse_tag(a.ref) for a in actions if isinstance(a, Tag)}
            packages = {each[0] for each in tagged if each}
            await wake_related(self._store, self._served.id, packages)
            await self._wake_published(looked.facts.proposals)
            if outcome is ActionOutcome.DONE:
                await self._store.proposals.forget_refusal(self._served.id, self._pull.number)
                return await self._done()
        return outcome

    async def rest(self, looked: Looked) -> Rest:
        """Nothing is left to publish now; what else is left is for the proposal's own look.

        That look tells of a merge that is to be tried later, and asks for it when it is time.
        """
        left = looked.retries.get(self._pull.number)
        return await self._done() if left is None or left > SHORT_WAIT else Rest(left)

    async def _done(self) -> Rest:
        """Take the proposal out of the line."""
        await self._store.revisions.published(self._served.id, self._base, self._pull.number)
        await self._store.queue.wake(self._branch, _by_publishing(self._pull.number))
        return Rest()

    async def _wake_published(self, proposals: Iterable[Proposal]) -> None:
        """Wake proposals that were merged and not published, and now are with others."""
        numbers = {
            int(source[1:])
            for p in proposals
            for t in p.content.touched
            if t.unpublished is not None
            for source in t.unpublished.sources
            if source[1:].isdecimal()
        }
        for number in sorted(numbers)[:MOST_WOKEN]:
            with suppress(ForgeMissingError):  # what a commit's message names need not be there
                key = await self._served.branch_of(number)
                await self._store.queue.wake(key, _by_publishing(number))

    async def _shown_late(self) -> float | None:
        """Seconds until git may show a merge that the forge tells of; None to wait no longer."""
        served = self._served
        wanted = [self._pull.merge_commit] if self._pull.merge_commit else []
        if await served.offload(branches.has_all, served.mirror, wanted):
            self.echoes.news(self.waiting)
            return None
        return self.echoes.wait(self.waiting)


def _by_publishing(number: int) -> Hint:
    return Hint(numbers=frozenset({number}), by=frozenset({PUBLISHING}))


@contextmanager
def _by_itself(number: int, failed: dict[int, Exception]) -> Iterator[None]:
    """Whatever breaks for one proposal inside the block keeps no other back, and is told."""
    try:
        yield
    except Exception as error:
        rest = isinstance(error, ForgeBusyError) and error.after
        if rest or isinstance(error, StoreError):
            raise  # that would break for any of them
        log.error("not published", number=number, exc_info=True)
        failed[number] = error
