"""The keys of dashboards: what a repository's dashboard issue tells is put together and written.

It costs a request for every hundred open proposals, one for the issue and a fetch, so it is
neither written at once nor often: what happens within `GATHER` seconds is told together, and the
next look comes `PACE` seconds after the last. What is told at once all the same, such as a thaw,
has consequences that show a little later: they are told after `GATHER` seconds as well. What it
tells of revisions and waits is the index's, which never decides anything.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import structlog

from bot import config, keys
from bot.forges.port import ForgeRefusedError, ListedProposal, Repository
from bot.git.port import BRANCHES, GitBusyError, History
from bot.look import rules
from bot.loop import branches, discovering, rolling_back
from bot.loop.dry_merges import DryMerges
from bot.loop.repository import ServedRepository
from bot.loop.serving import Serving
from bot.recent import Recent
from bot.store.hints import NOTHING, Hint, Press
from bot.store.port import Queue, Store
from bot.store.values import VariantWait, Waiting
from lifecycle import names, timing
from lifecycle.boxes import Tick
from lifecycle.events import REPOSITORY, Log
from lifecycle.facts.overview import (
    ListedChange,
    ListedPackage,
    ListedStage,
    ListedVariant,
    ListedWait,
    Overview,
)
from lifecycle.identity import RepositoryId
from lifecycle.ledger import ListedState, held, withdrawn
from lifecycle.messages import dashboard as texts
from lifecycle.policy import BrokenPolicy, Policy
from lifecycle.variants import naming

log = structlog.get_logger()

GATHER = 20.0
"""Seconds after news until it is told: a push, its rendering and its approval are told at once."""

PACE = 300.0
"""Seconds between two looks: with five hundred proposals each costs seven requests, which is less
than a fiftieth of what the forge grants."""

MOST_PACED = 10_000
"""Repositories whose last look is remembered."""


class DashboardHandler:
    """Handles the keys of dashboards.

    Args:
        serving: Finds their repositories.
        store: The database.
    """

    def __init__(self, serving: Serving, store: Store) -> None:
        self._serving = serving
        self._store = store
        self._looked: Recent[RepositoryId, tuple[float, Log]] = Recent(MOST_PACED)
        self._merges = DryMerges(serving.around)
        self._freed: Recent[RepositoryId, frozenset[str]] = Recent(MOST_PACED)
        self._boxes: Recent[RepositoryId, bool] = Recent(MOST_PACED)

    async def handle(self, key: keys.DashboardKey, hint: Hint = NOTHING) -> float | None:
        """Write a dashboard, or say how long to put that off."""
        served = await self._serving.of(key.repository)
        if not served.repository.has_issues:
            return None
        now, last = served.clock.monotonic(), self._looked.get(key.repository)
        frozen, _ = await self._store.proposals.remembered(key.repository, REPOSITORY)
        # What was frozen is written at once: whoever stops a repository wants to be sure of it. So
        # is a box that was ticked: it is free again.
        early = last is not None and now < last[0] + PACE
        freed = self._freed.get(key.repository) or frozenset()
        stopped = served.talk.boxes.stopped
        known = last is not None and frozen == last[1] and stopped == self._stopped(key)
        if last is not None and early and known and hint.pressed <= freed:
            return last[0] + PACE - now
        # Only what was told is remembered: a write that failed must not wait for the next pace, nor
        # one whose answer was lost.
        self._looked.drop(key.repository)
        again = await self._told(served, hint.pressed | freed)
        self._boxes.put(key.repository, stopped)
        self._freed.put(key.repository, hint.pressed)
        # What follows from a thaw, or a box, is not there yet: it must not wait for the next pace.
        self._looked.put(key.repository, (now - PACE + GATHER if early else now, frozen))
        return again

    async def _told(self, served: ServedRepository, pressed: Collection[str]) -> float | None:
        """As `_write`; nothing where the bot observes, or may not write issues."""
        if self._serving.observes or await served.offload(
            branches.observes, served.mirror, served.repository.default_branch
        ):
            return None
        try:
            return await self._write(served, [Tick.of(Press.of(each).button) for each in pressed])
        except ForgeRefusedError as error:
            # Nobody waits for it; `porchbot doctor` names the permission.
            log.warning("dashboard not written", repository=str(served.id), error=str(error))
            return None

    def _stopped(self, key: keys.DashboardKey) -> bool:
        """Whether it said last that boxes are stopped."""
        return self._boxes.get(key.repository) or False

    async def _write(self, served: ServedRepository, heard: Collection[Tick]) -> float | None:
        """Write it; seconds after which there may be more to tell, None where nothing is left.

        Args:
            served: Where.
            heard: Boxes that deliveries told of.
        """
        # Branches as this process fetched them last may be old: another replica looked at what
        # came. Where git is away these will do: what is frozen is told in any case.
        with suppress(GitBusyError):
            await served.looker.fetcher.fetch(BRANCHES, served.clock.monotonic() - GATHER)
        frozen, now = await served.freezes.recall(), served.clock.now()
        standing = timing.standing_freezes(frozen, now)
        around = self._serving.around
        overview = await self._overview(served)
        behind, again = await discovering.behind(served, self._store, around, self._merges)
        overview = replace(
            overview,
            packages=await rolling_back.offered(served, self._store, around, overview.packages),
            frozen=standing,
            behind=behind,
            cloneable=await discovering.cloneable(served, self._store, around),
            waiting=tuple(_variant(each) for each in await self._store.variant_waits.of(served.id)),
            boxes=served.talk.boxes,
        )
        if frozen or not overview.empty or await served.dashboard.find() is not None:
            room = served.dashboard.room(frozen, now)
            text = await served.offload(texts.dashboard, overview, room)
            told = served.forge.terms.said(text)
            await served.dashboard.write(texts.TITLE, told, frozen, now, heard)
        return again

    async def _overview(self, served: ServedRepository) -> Overview:
        me, store = served.id, self._store
        pulls, touched, waits, published = await asyncio.gather(
            served.forge.open_proposals(),
            store.sweeps.packages(me),
            store.waits.of(me),
            self._published(served),
        )
        return await served.offload(_read, served, pulls, touched, waits, published)

    async def _published(self, served: ServedRepository) -> Mapping[str, set[int]]:
        """Package to its numbers, as far as the bot knows of them."""
        found: dict[str, set[int]] = defaultdict(set)
        for ref in served.adoption.tags or ():
            if parsed := names.parse_tag(ref):
                found[parsed[0]].add(parsed[1])
        async for package, number, _ in self._store.revisions.all_revisions(served.id):
            found[package].add(number)
        return found


async def tell(queue: Queue, repository: Repository) -> None:
    """Ask for a dashboard to be written: something happened that it tells."""
    if repository.has_issues:
        await queue.wake(keys.DashboardKey(repository.id), after=GATHER)


def _read(
    served: ServedRepository,
    pulls: Sequence[ListedProposal],
    touched: Mapping[int, frozenset[str]],
    waits: Sequence[Waiting],
    published: Mapping[str, set[int]],
) -> Overview:
    default = served.repository.default_branch
    bases = branches.published_from(served.mirror, default)
    drafts = branches.drafts(served.mirror)
    old = served.adoption.drafts
    proposed = {pull.head_ref for pull in pulls if pull.head_repository == served.id.number}
    with served.mirror.open() as git:
        packages = [
            _package(git, base, package, published.get(package, set()), default)
            for base in sorted(bases)
            for package in _units(git, base, default, published)
        ]
        deletions = _deletions(git, published, proposed)
    return Overview(
        packages=tuple(packages),
        deletions=deletions,
        changes=(
            *_changes(pulls, touched, waits, bases),
            *(
                ListedChange(number=0, title=ref, stage=ListedStage.DRAFT)
                for ref, sha in sorted(drafts.items())
                if ref not in proposed and old.get(ref) != sha
            ),
        ),
    )


def _package(
    git: History, base: str, package: str, numbers: Collection[int], default: str
) -> ListedPackage:
    """A package with its newest revision that was not withdrawn, and what the ledger says."""
    listed = rules.listed(partial(_file, git), git.ref(names.branch_ref(base)) or "", package)
    entries = {} if isinstance(listed, BrokenPolicy) else listed
    gone, hold = withdrawn(entries), held(entries)
    return ListedPackage(
        package=package,
        branch="" if base == default else base,
        revision=max(set(numbers) - gone, default=0),
        deprecated={
            n: each.reason for n, each in entries.items() if each.state is ListedState.DEPRECATED
        },
        held=None if hold is None else (hold[0], hold[1].reason),
        withdrawn=len(gone),
        gone=frozenset(gone),
    )


def _file(git: History, commit: str, path: str) -> bytes | None:
    return config.fetch(git.blob, commit, path)


def _deletions(
    git: History, published: Mapping[str, Collection[int]], proposed: Collection[str]
) -> tuple[str, ...]:
    """Revisions whose deletion was proposed with Porch: its branches, without a pull request."""
    found = []
    for ref in git.refs(names.branch_ref(names.DELETIONS.rstrip("/"))):
        branch = names.branch_name(ref)
        revision = names.parse_tag(names.tag_ref(branch.removeprefix(names.DELETIONS)))
        if revision and branch not in proposed and revision[1] in published.get(revision[0], ()):
            found.append(names.spelled(*revision))
    return tuple(found)


def _units(
    git: History, base: str, default: str, published: Mapping[str, Collection[int]]
) -> Sequence[str]:
    """The packages that are released by themselves on a branch, sorted."""
    tip = git.ref(names.branch_ref(base))
    if tip is None:
        return ()
    policy = config.read(config.fetch(git.blob, tip, config.CONFIG))
    known = policy if isinstance(policy, Policy) else Policy()
    tags = [names.tag_ref(names.spelled(p, max(numbers))) for p, numbers in published.items()]
    there = git.difference("", tip).packages
    return sorted(names.units(there, known, base, default, tags))


def _changes(
    pulls: Sequence[ListedProposal],
    touched: Mapping[int, frozenset[str]],
    waits: Sequence[Waiting],
    bases: Iterable[str],
) -> Iterable[ListedChange]:
    """Open proposals that concern packages, and those that were merged and still wait."""
    by_number = {each.number: _waits(each) for each in waits}
    shown = set(bases)
    for pull in pulls:
        if pull.base_ref in shown and (pull.number in touched or pull.number in by_number):
            yield ListedChange(
                number=pull.number,
                title=pull.title,
                stage=ListedStage.DRAFT if pull.draft else ListedStage.PROPOSED,
                packages=tuple(sorted(touched.get(pull.number, ()))),
                waits=by_number.get(pull.number, ()),
                variant=naming.is_variants(pull.head_ref),
                head=pull.head,
            )
    still = {pull.number for pull in pulls}
    for number, found in sorted(by_number.items()):
        if number not in still:
            yield ListedChange(number=number, title="", stage=ListedStage.MERGED, waits=found)


def _variant(wait: VariantWait) -> ListedVariant:
    return ListedVariant(
        package=wait.package,
        variant=wait.variant,
        file=wait.file,
        state=wait.state,
        why=wait.why,
        since=wait.since or datetime.min.replace(tzinfo=UTC),
    )


def _waits(waiting: Waiting) -> tuple[ListedWait, ...]:
    return tuple(
        ListedWait(gate=wait.gate, actual=wait.actual, since=since) for since, wait in waiting.waits
    )
