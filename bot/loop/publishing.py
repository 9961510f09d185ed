"""Publishing on a base branch: merging and tagging, one proposal at a time."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from time import monotonic

import structlog

from bot import keys
from bot.forges.port import ForgeBusyError, ForgeMissingError, PullRequest
from bot.git.port import Scope
from bot.loop import branches
from bot.loop.hints import Hint, encode
from bot.loop.repository import ServedRepository, head_of
from bot.loop.settle import BUSY_WAIT, MOST_ROUNDS, carry_out, fetched_since, when_stale
from bot.perform import Outcome
from bot.store.port import Store
from bot.store.values import StoreError
from lifecycle.actions import Tag, for_publishing
from lifecycle.decide import decide
from lifecycle.facts import Proposal

log = structlog.get_logger()

MOST_WOKEN = 20
"""Proposals that are told when another one published their content as well."""


class SomeFailedError(Exception):
    """Some of several proposals failed; the others were done.

    Attributes:
        failed: Number to what went wrong.
    """

    def __init__(self, failed: Mapping[int, Exception]) -> None:
        super().__init__("; ".join(f"#{number}: {error}" for number, error in failed.items()))
        self.failed = failed


class Publishing:
    """Publishes on the base branches of one repository.

    Args:
        served: The repository.
        store: The database.
    """

    def __init__(self, served: ServedRepository, store: Store) -> None:
        self._served = served
        self._store = store

    async def publish(self, branch: str) -> float | None:
        """Merge and tag, one proposal at a time; merges made meanwhile first, in their order."""
        wait: float | None = None
        since = monotonic()
        failed: dict[int, Exception] = {}
        for pull in await self._to_publish(branch, since, failed):
            again = None
            with _by_itself(pull.number, failed):
                async with self._served.lock(head_of(self._served.key_of(pull))):
                    again = await self._publish_one(branch, pull, since)
            since = monotonic()
            if again is not None:
                wait = again if wait is None else min(wait, again)
        if failed:
            raise SomeFailedError(failed)
        return wait

    async def _to_publish(
        self, branch: str, since: float, failed: dict[int, Exception]
    ) -> list[PullRequest]:
        """Proposals to merge or tag, in order; those that cannot be read are added to `failed`."""
        repository = self._served.id
        asked = await self._store.revisions.asked_publish(repository, branch)
        waiting, named, _ = await asyncio.gather(
            self._served.merged.waiting(branch, asked),
            asyncio.gather(*(self._asked(branch, number, failed) for number in asked)),
            self._served.looker.fetcher.fetch(Scope(frozenset({branch})), since),
        )
        tip = await asyncio.to_thread(branches.tip, self._served.mirror, branch)
        if tip is not None:
            await self._store.revisions.saw_tip(repository, branch, tip)
        if len(waiting) > 1:
            order = await asyncio.to_thread(
                branches.first_parent_order, self._served.mirror, branch
            )
            waiting.sort(key=lambda p: (order.get(str(p.merge_commit), len(order)), p.number))
        known = {p.number for p in waiting}
        return waiting + [p for p in named if p is not None and p.number not in known]

    async def _asked(
        self, branch: str, number: int, failed: dict[int, Exception]
    ) -> PullRequest | None:
        """A proposal in line; None, and out of the line, when the forge has it no more."""
        with _by_itself(number, failed):
            try:
                return await self._served.forge.proposal(number)
            except ForgeMissingError as error:
                log.warning("taken out of the line", number=number, branch=branch, error=str(error))
                await self._store.revisions.published(self._served.id, branch, number)
        return None

    async def _publish_one(self, branch: str, pull: PullRequest, since: float) -> float | None:
        served = self._served
        key = served.key_of(pull)
        name = f"{key}#{pull.number}"
        for _ in range(MOST_ROUNDS):
            numbers = frozenset({pull.number})
            looked = await served.looker.look(
                head_of(key), served.adoption, numbers, rerun=False, publishing=True, since=since
            )
            if looked.again is not None:
                return looked.again
            if pull.number in looked.late:
                return served.echoes.wait_on(name)
            if all(p.number != pull.number for p in looked.facts.proposals):
                late = await self._shown_late(name, pull)
                if late is not None:
                    return late
                # Merged before the baseline: it carries no record of ours.
                await self._store.proposals.settle(served.id, pull.number, merged=True)
                break
            actions = for_publishing(decide(looked.facts, publishing=True), pull.number)
            if not actions:
                break
            if served.echoes.is_stale(actions):
                return when_stale(served, name)
            served.echoes.news(name)
            outcome = await carry_out(served, self._store, str(key), actions, looked)
            if outcome is Outcome.WAIT:
                return BUSY_WAIT
            if any(isinstance(action, Tag) for action in actions):
                # Other proposals of these packages name the next number, which this has taken.
                await self._store.queue.wake(keys.RepositoryKey(served.id))
                await self._wake_published(looked.facts.proposals)
                if outcome is Outcome.DONE:
                    break  # what is left is for the proposal's own look, woken below
            since = fetched_since(since, outcome, actions)
        await self._store.revisions.published(served.id, branch, pull.number)
        await self._store.queue.wake(key, encode(Hint(numbers=frozenset({pull.number}))))
        return None

    async def _wake_published(self, proposals: Iterable[Proposal]) -> None:
        """Wake proposals that were merged and not published, and now are with others."""
        numbers = {
            int(source[1:])
            for p in proposals
            for t in p.touched
            if t.unpublished is not None
            for source in t.unpublished.sources
            if source[1:].isdecimal()
        }
        for number in sorted(numbers)[:MOST_WOKEN]:
            with suppress(ForgeMissingError):  # what a commit's message names need not be there
                key = await self._served.branch_of(number)
                await self._store.queue.wake(key, encode(Hint(numbers=frozenset({number}))))

    async def _shown_late(self, name: str, pull: PullRequest) -> float | None:
        """Seconds until git may show a merge that the forge tells of; None to wait no longer."""
        wanted = [pull.merge_commit] if pull.merge_commit else []
        if await asyncio.to_thread(branches.has_all, self._served.mirror, wanted):
            self._served.echoes.news(name)
            return None
        return self._served.echoes.wait(name)


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
