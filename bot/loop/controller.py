"""The loop: for each key that is woken, look, decide, perform, and again until nothing is left.

The only place, beside the gRPC service, where any exception is caught: it becomes "something
broke".
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any
from weakref import WeakValueDictionary

import structlog

from bot import config, keys, metrics
from bot.forges.port import (
    Forge,
    ForgeBusyError,
    ForgeMissingError,
    ForgeRefusedError,
    Forges,
    PullRequest,
    Repository,
)
from bot.git.mirror import GitRefusedError, Mirror, Mirrors
from bot.git.objects import Signature
from bot.git.process import GitBusyError, MissingObjectError, TooLargeError
from bot.git.refs import BRANCHES, Scope
from bot.look.assemble import Head, Looked, Looker, of_head
from bot.look.patience import WAITS
from bot.loop import audited, trouble
from bot.loop.discovery import Discovery
from bot.loop.merged import MergedList
from bot.loop.work import LONGEST, Failed, LookAgain, Result, Settled, Work
from bot.perform import Outcome, Performer
from bot.render.port import Renderer
from bot.store.port import Store
from bot.store.values import Adoption, Revision, StoreError
from bot.store.wakes import united
from lifecycle import names
from lifecycle.actions import (
    Action,
    AskPublish,
    DeleteBranch,
    Forget,
    Keep,
    Merge,
    OpenProposal,
    PushRender,
    Reply,
    Restore,
    Say,
    SetCheck,
    SetDraft,
    Tag,
)
from lifecycle.decide import decide
from lifecycle.facts import Facts, Proposal, Stage
from lifecycle.identity import RepositoryId
from lifecycle.merges import Doubt
from lifecycle.names import Sha
from lifecycle.policy import Policy

log = structlog.get_logger()

MOST_ROUNDS = 12
"""Rounds of one look; the longest honest chain (draft, render, propose, tidy) takes six."""

MOST_WOKEN = 20
"""Proposals that are told when another one published their content as well."""

RUNNER_WAIT = 15.0
"""Seconds before functions that could not be run are tried again, doubled each time: runners come
back, and a hundred proposals must not use up the forge's rate limit meanwhile."""

GONE_TRIES = 3
"""Looks that must have failed before what is missing counts as gone: about seven seconds."""

FRESH = 5.0
"""Seconds that git as it was fetched serves the further rounds of one look."""

PUBLISHING_WAIT = 1.0
"""Most seconds that a sweep lets publishing go first: people wait for a tag, nobody for a sweep."""

LOGGED_WITHIN = timedelta(days=1)
"""How long after a merge sweeps go on asking the forge what brought it in."""

BUSY_WAIT = 1.0
"""Seconds before a merge is tried again after "Base branch was modified"."""


class NotServedError(Exception):
    """A repository is in no installation of ours: there is nothing to do until it is again."""


class SomeFailedError(Exception):
    """Some of several proposals failed; the others were done.

    Attributes:
        failed: Number to what went wrong.
    """

    def __init__(self, failed: Mapping[int, Exception]) -> None:
        super().__init__("; ".join(f"#{number}: {error}" for number, error in failed.items()))
        self.failed = failed


@dataclass(frozen=True, slots=True)
class Hint:
    """What the events that woke a key said exists.

    Attributes:
        heads: Commits.
        comments: Comment numbers.
        reviews: Review numbers.
        numbers: Pull requests to look at even if they are closed.
        rerun: Somebody pressed Re-run.
        installations: Where discovery found a repository.
    """

    heads: frozenset[str] = frozenset()
    comments: frozenset[int] = frozenset()
    reviews: frozenset[int] = frozenset()
    numbers: frozenset[int] = frozenset()
    rerun: bool = False
    installations: frozenset[int] = frozenset()


@dataclass(slots=True)
class _Room:
    """Everything about one repository."""

    repository: Repository
    adoption: Adoption
    forge: Forge
    mirror: Mirror
    looker: Looker
    performer: Performer
    merged: MergedList
    # The last action done in each slot: wanted again at once, the forge's answer is old.
    done: dict[tuple[object, ...], tuple[object, ...]] = field(default_factory=dict)
    stale: dict[str, int] = field(default_factory=dict)
    # Looks at one head take turns in this process: the second would only do what the first does.
    turns: WeakValueDictionary[Head, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    publishing: set[str] = field(default_factory=set)
    calm: asyncio.Event = field(default_factory=asyncio.Event)
    branches: dict[int, keys.ProposalKey] = field(default_factory=dict)

    def turn(self, head: Head) -> asyncio.Lock:
        """Held during a look at a head."""
        return self.turns.setdefault(head, asyncio.Lock())

    @contextmanager
    def publishes(self, branch: str) -> Iterator[None]:
        """Publishing on a base branch goes on inside the block."""
        self.publishing.add(branch)
        self.calm.clear()
        try:
            yield
        finally:
            self.publishing.discard(branch)
            if not self.publishing:
                self.calm.set()

    async def calms(self) -> None:
        """Wait for publishing to end, but not for long."""
        if self.publishing:
            with suppress(TimeoutError):
                async with asyncio.timeout(PUBLISHING_WAIT):
                    await self.calm.wait()


class Controller:
    """Handles keys.

    Args:
        forges: The forge that is served.
        mirrors: All mirrors.
        renderer: Renders and validates.
        store: The database.
        record_keys: For hidden records, newest first.
        instance: Name of this bot in its markers.
    """

    def __init__(
        self,
        forges: Forges,
        mirrors: Mirrors,
        renderer: Renderer,
        store: Store,
        record_keys: Sequence[bytes],
        instance: str,
    ) -> None:
        self._forges = forges
        self._mirrors = mirrors
        self._renderer = renderer
        self._store = store
        self._keys = record_keys
        self._instance = instance
        self._discovery = Discovery(forges, store)
        self._runner_returns = 0
        # Keys of what waits for functions that could not be run, and how often it was looked at;
        # not with the room, which is forgotten whenever something in its repository fails.
        self._unjudged: dict[str, int] = {}
        self._rooms: dict[RepositoryId, _Room] = {}
        self._entering: dict[RepositoryId, asyncio.Lock] = {}

    async def work(self, work: Work) -> Result:
        """Bring one key to rest, and sort what went wrong by who must act."""
        try:
            with metrics.LOOK_SECONDS.labels(type(work.key).__name__).time():
                after = await self.handle(work.key, _decode(work.hint))
        except NotServedError as error:
            log.info("not looked at", key=str(work.key), reason=str(error))
            return Settled()
        except ForgeBusyError as error:
            metrics.failed(work.key, "busy")
            return Failed(str(error), error.after or None)
        except (GitBusyError, MissingObjectError) as error:
            # A repository that was renamed has another address: it is asked for at the next try.
            self._forget_room(work.key)
            metrics.failed(work.key, "git")
            return Failed(str(error))
        except (ForgeRefusedError, GitRefusedError, TooLargeError) as error:
            # A fresh token sees nothing for a moment, and names change (trap 14).
            self._forget_room(work.key)
            if isinstance(error, ForgeMissingError) and await self._is_gone(work):
                return Settled()
            metrics.failed(work.key, "refused")
            return await self._broke("needs an operator", work, error)
        except SomeFailedError as error:
            self._forget_room(work.key)
            metrics.failed(work.key, "some")
            return await self._broke("some were not published", work, error)
        except StoreError as error:  # it passes: one line, and nothing that people could do
            metrics.failed(work.key, "database")
            return Failed(str(error))
        except Exception as error:  # whatever breaks, other keys go on, and people are told
            metrics.failed(work.key, "broke")
            return await self._broke("look broke", work, error)
        return Settled() if after is None else LookAgain(after)

    async def _broke(self, what: str, work: Work, error: Exception) -> Failed:
        """A look failed for a reason that does not pass: log it, and show it to people."""
        incident = trouble.incident(work.key)
        known = ForgeRefusedError | GitRefusedError | SomeFailedError | TooLargeError
        bug = not isinstance(error, known)
        log.error(what, key=str(work.key), incident=incident, error=str(error), exc_info=bug)
        missing = isinstance(error, ForgeMissingError)
        if work.tries >= trouble.TRIES and not missing:
            try:
                await self._show_trouble(work.key, incident, error)
            except Exception as second:  # what broke the look may break this as well
                log.warning("not shown to people", incident=incident, error=str(second))
        named = f"{type(error).__name__}: {error}" if bug else str(error)
        return Failed(f"{named} ({incident})")

    async def _show_trouble(self, key: keys.Key, incident: str, error: Exception) -> None:
        """Say in the checks of the proposals that a key is about that it fails."""
        if isinstance(key, keys.InstallationsKey | keys.InstallationKey):
            return
        forge = (await self._room(key.repository)).forge
        match key:
            case keys.ProposalKey():
                pulls = of_head(await forge.open_proposals(), _head(key))
            case keys.PullKey(_, number):
                pulls = (await forge.proposal(number),)
            case keys.BaseKey(repository, branch):
                numbers: Iterable[int] = await self._store.revisions.asked_publish(
                    repository, branch
                )
                if isinstance(error, SomeFailedError):
                    failed = error.failed.items()
                    numbers = [n for n, e in failed if not isinstance(e, trouble.PASSING)]
                pulls = tuple([await forge.proposal(number) for number in numbers])
            case _:
                return  # about no proposal: it is shown to the operator
        said = str(error) if isinstance(error, TooLargeError) else ""
        told = await trouble.show(forge, pulls, incident, datetime.now(UTC), said)
        if told:
            log.info("shown to people", incident=incident, numbers=told)

    async def _is_gone(self, work: Work) -> bool:
        """Whether what a key names is gone: asking for it ends, until something wakes it.

        A repository that cannot be reached is not served until discovery finds it again.
        """
        if work.tries < GONE_TRIES:
            return False
        if isinstance(work.key, keys.InstallationsKey):
            return False
        if not isinstance(work.key, keys.InstallationKey):
            try:
                await self._renewed(work.key.repository)
            except ForgeMissingError:
                await self._store.repositories.lost(work.key.repository)
            except (ForgeBusyError, ForgeRefusedError, GitBusyError, GitRefusedError):
                return False
        log.warning("gone; not asked for again until something wakes it", key=str(work.key))
        return True

    def _forget_room(self, key: keys.Key) -> None:
        """Ask anew where a repository is, before the next look at anything in it."""
        if not isinstance(key, keys.InstallationsKey | keys.InstallationKey):
            self._rooms.pop(key.repository, None)

    async def handle(self, key: keys.Key, hint: Hint) -> float | None:
        """Bring one key to rest.

        Returns:
            Seconds after which to look again; None when it has settled.
        """
        match key:
            case keys.InstallationsKey():
                await self._discovery.installations()
                return None
            case keys.InstallationKey(number):
                await self._discovery.repositories(number)
                return None
            case keys.RepositoryKey(repository):
                room = await self._renewed(repository, hint.installations)
                await room.calms()
                await self._sweep(room)
                return None
            case keys.PullKey(repository, number):
                room = await self._room(repository)
                await self._store.queue.wake(
                    await self._branch_of(room, number),
                    _encode(replace(hint, numbers=hint.numbers | {number})),
                )
                return None
            case keys.CommitKey(repository, sha):
                await self._wake_heads(await self._room(repository), sha, hint)
                return None
            case keys.ProposalKey(repository):
                room = await self._room(repository)
                async with room.turn(_head(key)):
                    return await self._settle(room, key, hint)
            case keys.BaseKey(repository, branch):
                room = await self._room(repository)
                with room.publishes(branch):
                    return await self._publish(room, branch)

    async def runner_is_back(self) -> None:
        """Look at once at what a function could not be run on."""
        self._runner_returns += 1
        waiting = tuple(self._unjudged)
        await self._store.queue.wake_all({keys.parse(name): {} for name in waiting})
        for name in waiting:
            self._unjudged.pop(name, None)

    # --- one proposal ---

    async def _settle(self, room: _Room, key: keys.ProposalKey, hint: Hint) -> float | None:
        head = _head(key)
        name = str(key)
        if hint.rerun:
            room.done.clear()
        rerun, since, returns = hint.rerun, monotonic(), self._runner_returns
        for _ in range(MOST_ROUNDS):
            looked = await room.looker.look(
                head, room.adoption, hint.numbers, rerun=rerun, since=since
            )
            if looked.again is not None:
                return looked.again
            actions = decide(looked.facts)
            rerun = False
            for other in sorted(looked.news, key=str):
                await self._store.queue.wake(other)
            if not actions:
                await self._close(room, looked.facts)
                if any(map(_unjudged, looked.facts.proposals)):
                    if returns != self._runner_returns:
                        return BUSY_WAIT  # it came back while we looked
                    self._unjudged[name] = tries = self._unjudged.get(name, -1) + 1
                    return min(LONGEST, RUNNER_WAIT * 2.0 ** min(tries, 10))
                self._unjudged.pop(name, None)
                if looked.late:
                    return _soon(room, name)
                return await self._waits_for_hint(room, name, looked, hint)
            if self._is_stale(room, actions):
                return self._wait(room, name)
            room.stale.pop(name, None)  # there is news: what follows may be shown late once more
            outcome = await self._do(room, name, actions, looked)
            if outcome is Outcome.WAIT:
                return BUSY_WAIT
            if any(isinstance(action, AskPublish) for action in actions):
                # The base's look takes over, and wakes this key when it is done.
                return await self._waits_for_hint(room, name, looked, hint)
            since = _since(since, outcome, actions)
        log.error("does not settle", key=name)
        return 60.0

    async def _do(
        self, room: _Room, key: str, actions: Sequence[Action], looked: Looked
    ) -> Outcome:
        outcome = await room.performer.perform(actions, looked)
        if outcome is Outcome.DONE:
            for action in actions:
                metrics.ACTIONS.labels(type(action).__name__).inc()
                slot = _slot(action)
                if slot:
                    room.done[slot[0]] = slot[1]
        facts = await asyncio.to_thread(audited.digest, looked.facts)
        await self._store.audit.add(
            key,
            [
                (
                    type(a).__name__,
                    {"values": audited.values(a), "facts": facts, "outcome": outcome.name},
                )
                for a in actions
            ],
        )
        return outcome

    def _is_stale(self, room: _Room, actions: Iterable[Action]) -> bool:
        """The decision repeats what was done last in its slot: the forge shows an older state."""
        return any(
            slot is not None and room.done.get(slot[0]) == slot[1] for slot in map(_slot, actions)
        )

    def _wait(self, room: _Room, key: str) -> float | None:
        """Look again after 1, 2, 4, 8 s; then believe what is shown, or leave it to the sweep."""
        tries = room.stale.get(key, 0)
        if tries >= len(WAITS):
            room.stale.pop(key, None)
            room.done.clear()
            return 0.0
        room.stale[key] = tries + 1
        return WAITS[tries]

    async def _waits_for_hint(
        self, room: _Room, key: str, looked: Looked, hint: Hint
    ) -> float | None:
        heads_there = await asyncio.to_thread(_has_all, room.mirror, hint.heads)
        newest = max(looked.seen_comments, default=0)
        comments_there = all(c in looked.seen_comments or c < newest for c in hint.comments)
        if heads_there and comments_there and hint.reviews <= looked.seen_reviews:
            room.stale.pop(key, None)
            return None
        tries = room.stale.get(key, 0)
        if tries >= len(WAITS):
            room.stale.pop(key, None)
            return None
        room.stale[key] = tries + 1
        return WAITS[tries]

    async def _close(self, room: _Room, facts: Facts) -> None:
        """Closed proposals with nothing left to do are not looked at again unless named."""
        for proposal in facts.proposals:
            if proposal.closed and not _unjudged(proposal) and not _may_be_told(proposal):
                await self._store.proposals.settle(
                    room.repository.id, proposal.number, merged=proposal.merged
                )

    # --- publishing ---

    async def _publish(self, room: _Room, branch: str) -> float | None:
        """Merge and tag, one proposal at a time; merges made meanwhile first, in their order."""
        wait: float | None = None
        since = monotonic()
        failed: dict[int, Exception] = {}
        for pull in await self._to_publish(room, branch, since, failed):
            again = None
            with _by_itself(pull.number, failed):
                async with room.turn(_head(_key_of(room, pull))):
                    again = await self._publish_one(room, branch, pull, since)
            since = monotonic()
            if again is not None:
                wait = again if wait is None else min(wait, again)
        if failed:
            raise SomeFailedError(failed)
        return wait

    async def _to_publish(
        self, room: _Room, branch: str, since: float, failed: dict[int, Exception]
    ) -> list[PullRequest]:
        """Proposals to merge or tag, in order; those that cannot be read are added to `failed`."""
        repository = room.repository.id
        asked = await self._store.revisions.asked_publish(repository, branch)
        waiting, named, _ = await asyncio.gather(
            room.merged.waiting(branch, asked),
            asyncio.gather(*(self._asked(room, branch, number, failed) for number in asked)),
            room.looker.near.fetch(Scope(frozenset({branch})), since),
        )
        tip = await asyncio.to_thread(_tip, room.mirror, branch)
        if tip is not None:
            await self._store.revisions.saw_tip(repository, branch, tip)
        if len(waiting) > 1:
            order = await asyncio.to_thread(_first_parent_order, room.mirror, branch)
            waiting.sort(key=lambda p: (order.get(str(p.merge_commit), len(order)), p.number))
        known = {p.number for p in waiting}
        return waiting + [p for p in named if p is not None and p.number not in known]

    async def _asked(
        self, room: _Room, branch: str, number: int, failed: dict[int, Exception]
    ) -> PullRequest | None:
        """A proposal in line; None, and out of the line, when the forge has it no more."""
        with _by_itself(number, failed):
            try:
                return await room.forge.proposal(number)
            except ForgeMissingError as error:
                log.warning("taken out of the line", number=number, branch=branch, error=str(error))
                await self._store.revisions.published(room.repository.id, branch, number)
        return None

    async def _publish_one(
        self, room: _Room, branch: str, pull: PullRequest, since: float
    ) -> float | None:
        key = _key_of(room, pull)
        for _ in range(MOST_ROUNDS):
            numbers = frozenset({pull.number})
            looked = await room.looker.look(
                _head(key), room.adoption, numbers, rerun=False, publishing=True, since=since
            )
            if looked.again is not None:
                return looked.again
            if pull.number in looked.late:
                return _soon(room, f"{key}#{pull.number}")
            if all(p.number != pull.number for p in looked.facts.proposals):
                late = await self._shown_late(room, f"{key}#{pull.number}", pull)
                if late is not None:
                    return late
                # Merged before the baseline: it carries no record of ours.
                await self._store.proposals.settle(room.repository.id, pull.number, merged=True)
                break
            actions = _publishing(decide(looked.facts, publishing=True), pull.number)
            if not actions:
                break
            if self._is_stale(room, actions):
                return self._wait(room, f"{key}#{pull.number}")
            room.stale.pop(f"{key}#{pull.number}", None)
            outcome = await self._do(room, str(key), actions, looked)
            if outcome is Outcome.WAIT:
                return BUSY_WAIT
            if any(isinstance(action, Tag) for action in actions):
                # Other proposals of these packages name the next number, which this has taken.
                await self._store.queue.wake(keys.RepositoryKey(room.repository.id))
                await self._wake_published(room, looked.facts.proposals)
                if outcome is Outcome.DONE:
                    break  # what is left is for the proposal's own look, woken below
            since = _since(since, outcome, actions)
        await self._store.revisions.published(room.repository.id, branch, pull.number)
        await self._store.queue.wake(key, _encode(Hint(numbers=frozenset({pull.number}))))
        return None

    async def _wake_published(self, room: _Room, proposals: Iterable[Proposal]) -> None:
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
                key = await self._branch_of(room, number)
                await self._store.queue.wake(key, _encode(Hint(numbers=frozenset({number}))))

    async def _shown_late(self, room: _Room, name: str, pull: PullRequest) -> float | None:
        """Seconds until git may show a merge that the forge tells of; None to wait no longer."""
        wanted = [pull.merge_commit] if pull.merge_commit else []
        tries = room.stale.pop(name, 0)
        if tries >= len(WAITS) or await asyncio.to_thread(_has_all, room.mirror, wanted):
            return None
        room.stale[name] = tries + 1
        return WAITS[tries]

    # --- repositories ---

    async def _sweep(self, room: _Room) -> None:
        """Wake everything in a repository that could have been missed."""
        await self._store.proposals.forget_push_refusals(room.repository.id)  # rules change
        room.looker.near.forget()
        pulls, _ = await asyncio.gather(
            room.forge.open_proposals(), room.looker.near.fetch(BRANCHES, monotonic())
        )
        me = room.repository.id
        await self._store.proposals.forget_touching(me, [p.number for p in pulls])
        woken = {
            keys.ProposalKey(me, p.head_repository, p.head_ref)
            for p in pulls
            if p.head_repository is not None
        }
        default = room.repository.default_branch
        bases = {p.base_ref for p in pulls} | await asyncio.to_thread(
            _publish_branches, room.mirror, default
        )
        for branch, sha in (await asyncio.to_thread(_drafts, room.mirror)).items():
            if room.adoption.drafts.get(branch) != sha:
                woken.add(keys.ProposalKey(me, me.number, branch))
        await self._look_at_lost_tags(room)
        bases_woken = {keys.BaseKey(me, branch) for branch in bases}
        await self._store.queue.wake_all({key: {} for key in woken | bases_woken})

    async def _look_at_lost_tags(self, room: _Room) -> None:
        """Wake published proposals whose tag is not what it was when we saw it last."""
        me = room.repository.id
        there = await asyncio.to_thread(room.mirror.tags, await room.forge.token())
        odd = [
            each async for each in self._store.revisions.all_revisions(me) if _is_news(there, *each)
        ]
        if odd:  # some may have been made since the tags were listed
            there = await asyncio.to_thread(room.mirror.tags, await room.forge.token())
        for package, number, revision in odd:
            shown = _shown(there, package, number, revision)
            if shown == revision.shown:
                continue
            log.info("tag", package=package, revision=number, made=revision.tag, shown=shown)
            await self._store.revisions.show_revision(me, package, number, shown)
            if revision.proposal is not None:
                await self._store.queue.wake(keys.PullKey(me, revision.proposal))

    async def _wake_heads(self, room: _Room, sha: str, hint: Hint) -> None:
        await self._store.queue.wake_all(
            {
                keys.ProposalKey(room.repository.id, p.head_repository, p.head_ref): _encode(hint)
                for p in await room.forge.open_proposals()
                if p.head == sha and p.head_repository is not None
            }
        )

    async def _branch_of(self, room: _Room, number: int) -> keys.ProposalKey:
        """The head branch of a pull request, which never changes."""
        if number not in room.branches:
            pull = await room.forge.proposal(number)
            room.branches[number] = _key_of(room, pull)
        return room.branches[number]

    async def _room(self, repository_id: RepositoryId) -> _Room:
        return self._rooms.get(repository_id) or await self._renewed(repository_id)

    async def _renewed(
        self, repository_id: RepositoryId, installations: frozenset[int] = frozenset()
    ) -> _Room:
        """The room, as the forge names the repository now: names and installations change.

        Args:
            repository_id: Which.
            installations: Where discovery found it.

        Raises:
            NotServedError: It is out of our reach and was before, or of a forge that is not served.
            ForgeMissingError: It is out of our reach; discovery is asked to find it.
        """
        if (
            repository_id.forge != self._forges.name
        ):  # the number would name another's repository at ours
            raise NotServedError(
                f"repository {repository_id} is of a forge that is not served here"
            )
        adoption = await self._store.repositories.adoption(repository_id)
        if adoption is not None:
            if adoption.gone is not None:
                raise NotServedError(f"repository {repository_id} is in no installation of ours")
            installations |= {adoption.installation}
        for number in sorted(installations, reverse=True):  # a later one has a higher number
            with suppress(ForgeMissingError):
                return await self._enter(await self._forges.repository_by_id(repository_id, number))
        self._rooms.pop(repository_id, None)
        await self._store.queue.wake(keys.InstallationsKey())
        raise ForgeMissingError("find a repository", f"{repository_id} is not installed")

    async def _hear(self, repository: Repository) -> None:
        """Wake what was told about a repository before it was adopted, which woke nothing then."""
        wakes: dict[keys.Key, Mapping[str, Sequence[Any]]] = {}
        for headers, body in await self._store.deliveries.since(
            repository.id, repository.installed_at
        ):
            for key, hint in self._forges.wakes_of(headers, body).items():
                wakes[key] = united(wakes.get(key, {}), hint)
        await self._store.queue.wake_all(wakes)

    async def _enter(self, repository: Repository) -> _Room:
        """Make ready for a repository; the first time, take its state as the baseline."""
        async with self._entering.setdefault(repository.id, asyncio.Lock()):
            known = self._rooms.get(repository.id)
            if known is not None and known.repository == repository:
                return known
            forge = self._forges.of(repository)
            mirror = self._mirrors.of(repository.id, repository.clone_url)
            adoption = await self._store.repositories.adoption(repository.id)
            if adoption is not None:
                await self._store.repositories.rename(repository)
            else:
                adoption = await self._adopt(repository, forge, mirror)
            me = await self._forges.identity()
            who = Signature(me.login, me.address)
            room = _Room(
                repository,
                adoption,
                forge,
                mirror,
                Looker(
                    repository,
                    forge,
                    mirror,
                    self._renderer,
                    self._store,
                    self._keys,
                    me.login,
                    self._instance,
                ),
                Performer(
                    repository.id,
                    forge,
                    mirror,
                    self._renderer,
                    self._store,
                    self._keys[0],
                    who,
                    self._instance,
                ),
                MergedList(repository.id, repository.installed_at, forge, self._store.proposals),
            )
            self._rooms[repository.id] = room
            return room

    async def _adopt(self, repository: Repository, forge: Forge, mirror: Mirror) -> Adoption:
        """Take what a repository is now as its baseline."""
        # In this order: what is opened or merged meanwhile counts as done after the baseline, or
        # as part of it, and never as both or neither.
        highest = await forge.highest_number()
        open_numbers = sorted(p.number for p in await forge.open_proposals())
        token = await forge.token()
        await asyncio.to_thread(mirror.fetch, token, None, BRANCHES)
        drafts = await asyncio.to_thread(_drafts, mirror)
        there = await asyncio.to_thread(mirror.tags, token)
        tags = [ref for ref in there if names.parse_tag(ref)]
        adoption = await self._store.repositories.adopt(
            repository,
            datetime.now(UTC),
            drafts,
            tags,
            highest=highest,
            open_numbers=open_numbers,
            heads=await asyncio.to_thread(_publish_heads, mirror, repository.default_branch),
        )
        log.info("adopted", repository=repository.full_name, drafts=len(drafts), highest=highest)
        await self._hear(repository)
        return adoption


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


def _key_of(room: _Room, pull: PullRequest) -> keys.ProposalKey:
    """The key of a pull request's head branch; a fork that is gone has number 0."""
    return keys.ProposalKey(room.repository.id, pull.head_repository or 0, pull.head_ref)


def _head(key: keys.ProposalKey) -> Head:
    return Head(key.head_repository or None, key.branch)


def _publishing(actions: Sequence[Action], number: int) -> list[Action]:
    """The part of a decision that belongs to publishing; the proposal's own look does the rest.

    An unanswered command comes first: it may be the one that takes an approval back, or that asks
    for one more try of a merge that the forge refused.
    """
    if any(isinstance(a, Keep | Reply | Restore | SetDraft | PushRender | Forget) for a in actions):
        return []
    about: list[Action] = [
        a
        for a in actions
        if isinstance(a, SetCheck | Tag) or (isinstance(a, Merge) and a.number == number)
    ]
    return about if any(isinstance(a, Merge | Tag) for a in about) else []


def _slot(action: Action) -> tuple[tuple[object, ...], tuple[object, ...]] | None:
    """What an action writes to, and what it writes; None where repeating is harmless."""
    match action:
        case SetCheck():
            return ("check", action.head, action.name), (action.external_id,)
        case Say():
            return ("say", action.number), (action.body, repr(action.record))
        case Reply():
            return ("reply", action.number, repr(action.record)), ()
        case SetDraft():
            return ("draft", action.number), (action.draft,)
        case OpenProposal():
            return ("open", action.head_ref, action.base_ref), ()
        case PushRender():
            return ("push", action.head_ref), (action.head,)
        case Merge():
            return ("merge", action.number), (action.head, action.base)
        case Tag():
            return ("tag", action.ref), ()
        case DeleteBranch():
            return ("delete", action.head_ref), (action.head,)
        case _:
            return None


def _decode(hint: Mapping[str, Sequence[Any]]) -> Hint:
    return Hint(
        heads=frozenset(map(str, hint.get("head", ()))),
        comments=frozenset(map(int, hint.get("comment", ()))),
        reviews=frozenset(map(int, hint.get("review", ()))),
        numbers=frozenset(map(int, hint.get("number", ()))),
        rerun=bool(hint.get("rerun")),
        installations=frozenset(map(int, hint.get("installation", ()))),
    )


def _encode(hint: Hint) -> dict[str, Any]:
    encoded: dict[str, Any] = {
        "head": sorted(hint.heads),
        "comment": sorted(hint.comments),
        "review": sorted(hint.reviews),
        "number": sorted(hint.numbers),
        "rerun": [True] if hint.rerun else [],
    }
    return {name: value for name, value in encoded.items() if value}


def _since(since: float, outcome: Outcome, actions: Iterable[Action]) -> float:
    """When git must have been fetched for the next round: what we push, the mirror has already.

    A merge is made by the forge, and what was refused shows that somebody else was faster.
    """
    merged = any(isinstance(action, Merge) for action in actions)
    now = monotonic()
    return since if outcome is Outcome.DONE and not merged and now - since < FRESH else now


def _unjudged(proposal: Proposal) -> bool:
    """A function could not be run on what may still be published; a runner heals by itself."""
    if proposal.stage in {Stage.PUBLISHED, Stage.CLOSED}:
        return False
    return any(verdict.broken for verdict in proposal.verdicts)


def _may_be_told(proposal: Proposal) -> bool:
    """The forge may still log what brought a merge in: sweeps go on asking for a while."""
    merged = proposal.merged_at
    return (
        proposal.doubt is Doubt.BASE
        and merged is not None
        and datetime.now(UTC) - merged < LOGGED_WITHIN
    )


def _soon(room: _Room, name: str) -> float:
    """Seconds until the forge is asked again for what it shows late."""
    tries = room.stale.get(name, 0)
    room.stale[name] = tries + 1
    return WAITS[min(tries, len(WAITS) - 1)]


def _is_news(there: Mapping[str, Sha], package: str, number: int, revision: Revision) -> bool:
    """Whether a tag of ours is not what it was when we saw it last."""
    return bool(revision.tag) and _shown(there, package, number, revision) != revision.shown


def _shown(there: Mapping[str, Sha], package: str, number: int, revision: Revision) -> str:
    """The object that a tag names now, "none" where it is gone; "" for the one that we made."""
    named = there.get(f"refs/tags/{names.spelled(package, number)}", "none")
    return "" if named == revision.tag else named


def _tip(mirror: Mirror, branch: str) -> str | None:
    """Where a branch is."""
    with mirror.open() as git:
        return git.ref(f"refs/heads/{branch}")


def _has_all(mirror: Mirror, commits: Iterable[str]) -> bool:
    with mirror.open() as git:
        return all(git.has(commit) for commit in commits)


def _first_parent_order(mirror: Mirror, branch: str) -> Mapping[str, int]:
    """Commit to its place on the first-parent line of a branch, oldest lowest."""
    with mirror.open() as git:
        tip = git.ref(f"refs/heads/{branch}")
        line = git.first_parents(tip, "", limit=500) if tip else ()
    return {str(commit.sha): place for place, commit in enumerate(line)}


def _publish_branches(mirror: Mirror, default: str) -> set[str]:
    """The branches that packages are published from, as the default branch configures them."""
    with mirror.open() as git:
        tip = git.ref(f"refs/heads/{default}")
        policy = config.read(git.blob(tip, config.CONFIG)) if tip else None
    return {default, *(policy.branches if isinstance(policy, Policy) else ())}


def _publish_heads(mirror: Mirror, default: str) -> Mapping[str, str]:
    """Where the branches are that packages are published from."""
    branches = _publish_branches(mirror, default)
    with mirror.open() as git:
        tips = {branch: git.ref(f"refs/heads/{branch}") for branch in branches}
    return {branch: str(sha) for branch, sha in tips.items() if sha}


def _drafts(mirror: Mirror) -> Mapping[str, str]:
    """Draft branches and where they are."""
    with mirror.open() as git:
        return {
            ref.removeprefix("refs/heads/"): str(sha)
            for ref, (sha, _) in git.refs("refs/heads/drafts").items()
        }
