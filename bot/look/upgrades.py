"""Upgrades that a proposal holds, and their conflicts, worked out again from its commits.

A commit that changes the lock of a package's upstream is an upgrade, whoever made it and with
whatever tool. So nothing has to be remembered, and `kpt pkg update` is told of as `/upgrade` is.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import structlog

from bot.clock import Clock, Offload
from bot.forges.port import Repository
from bot.git.port import History, MissingObjectError
from bot.look.away import Away, AwayError
from bot.look.drafted_from import MOST_BYTES, DraftUpstreams
from bot.look.reader import MirrorReader
from bot.render.port import DraftSides, Renderer
from bot.upstream.port import Upstreams
from cadlib.errors import PackageError
from cadlib.kptfile import reader as kptfiles
from cadlib.kptfile.values import GitRef, Kptfile
from lifecycle import authors
from lifecycle.access import Person
from lifecycle.facts.drafts import DraftKind, DraftRequest
from lifecycle.facts.proposal import Proposal
from lifecycle.facts.upgrades import MOST_UPGRADES, Upgrade, Upgrades, resolved_by
from lifecycle.messages import making as texts
from lifecycle.names import Sha
from lifecycle.policy import Policy

log = structlog.get_logger()

MOST_COMMITS = 100
"""Commits of one proposal that are looked through, the newest."""

FAILED_KEPT = 600.0
"""Seconds until conflicts are worked out again for which an upstream could not be read."""

MOST_KEPT = 500
"""Upgrades whose conflicts are kept in memory; one has a few kilobytes."""


Alone = Callable[[], Awaitable[Person | None]]
"""Tells who wrote and pushed all of a proposal; None where it is more than one, or not known."""


class UpgradeReader:
    """Reads the upgrades of proposals in one repository.

    Args:
        repository: Which one.
        renderer: Merges packages.
        offload: Where git is read.
        upstreams: Where packages come from; None where no conflict can be told.
        clock: How long what could not be told counts.
    """

    def __init__(
        self,
        repository: Repository,
        renderer: Renderer,
        offload: Offload,
        upstreams: Upstreams | None,
        clock: Clock,
    ) -> None:
        self._repository = repository
        self._renderer = renderer
        self._offload = offload
        self._upstreams = upstreams
        self._clock = clock
        self._away = Away(clock)
        self._kept: OrderedDict[tuple[Upgrade, int | None], tuple[Upgrade, float]] = OrderedDict()

    async def read(self, reader: MirrorReader, proposal: Proposal, alone: Alone) -> Proposal:
        """Add the upgrades of an open proposal, and a finding for each conflict that is left.

        Args:
            reader: Reads git.
            proposal: It; its policy is told.
            alone: Tells who wrote and pushed all of it.
        """
        place, policy = proposal.place, proposal.rules.policy
        if place.closed or self._upstreams is None or not isinstance(policy, Policy):
            return proposal
        packages = [t.package for t in proposal.content.touched if t.origin and t.head_tree]
        found, resolved = await self._offload(
            _upgrades, reader, place.head, Sha(proposal.content.origin), packages
        )
        if not found:
            return proposal
        askers = await asked_by(found, alone)
        self._away.asked(place.number, [_request(each) for each in found])
        told = await asyncio.gather(
            *(
                self._told(place.number, reader.git, each, asker, policy)
                for each, asker in zip(found, askers, strict=True)
            )
        )
        upgrades = Upgrades(found=tuple(told), resolved=resolved)
        every = upgrades.conflicts
        findings = [texts.conflict_finding(c, len(every)) for c in every if not c.resolved]
        findings += [texts.conflicts_unknown(each) for each in told if each.problem]
        content = proposal.content
        content = replace(content, configuration=(*content.configuration, *findings))
        return replace(proposal, content=content, upgrades=upgrades)

    async def _told(
        self, number: int, git: History, upgrade: Upgrade, caller: Person | None, policy: Policy
    ) -> Upgrade:
        """An upgrade with the conflicts that it met, kept by what it merged, and for whom.

        While its upstream is away it waits, and is tried again a few times.
        """
        key = upgrade, None if caller is None else caller.id
        known, until = self._kept.get(key, (upgrade, float("-inf")))
        if self._clock.monotonic() >= until:
            request = _request(upgrade)
            if (wait := self._away.waits(number, request)) is not None:
                return replace(upgrade, unread=True, waits=wait)
            try:
                known = await self._worked_out(git, upgrade, caller, policy)
            except AwayError as error:
                wait = self._away.failed(number, request)
                log.warning("upstream of an upgrade away", error=str(error), tries=wait.tries)
                return replace(upgrade, unread=True, waits=wait)
            self._away.came(number, request)
            left = FAILED_KEPT if known.unread else float("inf")
            self._kept[key] = known, self._clock.monotonic() + left
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return known

    async def _worked_out(
        self, git: History, upgrade: Upgrade, caller: Person | None, policy: Policy
    ) -> Upgrade:
        """The upgrade with its conflicts, as far as its upstream may be read.

        Raises:
            AwayError: It cannot be read now.
        """
        request = _request(upgrade)
        elsewhere = DraftUpstreams(self._upstreams, self._repository, caller, policy)
        sides = DraftSides(here=upgrade.before, upstream=as_fetched(upgrade))
        made = await self._renderer.drafted(git, request, sides, elsewhere.fetch)
        return replace(
            upgrade,
            conflicts=made.conflicts,
            more=made.more,
            unread=bool(made.problem),
            problem=made.problem,
        )


async def asked_by(upgrades: Sequence[Upgrade], alone: Alone) -> list[Person | None]:
    """Return in whose name each upstream is read again; None for nobody's.

    Who asked us for the commit, or who wrote and pushed all of the proposal. Where others pushed to
    it as well, one of them could name any upstream that its author may read, and see its values.
    """
    askers = [authors.person_of(each.asker) for each in upgrades]
    sole = await alone() if None in askers else None
    return [each or sole for each in askers]


def _request(upgrade: Upgrade) -> DraftRequest:
    """What would make it again; no two of one proposal are the same."""
    return DraftRequest(
        kind=DraftKind.UPGRADE,
        package=upgrade.package,
        upstream=upgrade.commit,
        strategy=upgrade.strategy,
    )


def as_fetched(upgrade: Upgrade) -> GitRef:
    """Return where the upstream of an upgrade is, at the very commit that was fetched then."""
    lock = upgrade.upstream
    return replace(lock, ref=lock.commit, commit="")


def _upgrades(
    reader: MirrorReader, head: Sha, origin: Sha, packages: Sequence[str]
) -> tuple[list[Upgrade], frozenset[str]]:
    """The upgrades among the commits of a proposal, oldest first, and what was resolved since."""
    git = reader.git
    found, messages = list[Upgrade](), list[str]()
    try:
        commits = git.first_parents(head, origin)[-MOST_COMMITS:]
        before = origin
        for commit in commits:
            if reader.made_by_us(commit.sha):
                messages.append(commit.message)
            before = commit.parents[0] if commit.parents else before
            asker = reader.render_asker(commit.sha) or ""
            for package in packages:
                made = _upgrade(git, before, commit.sha, package)
                found += [replace(made, asker=asker)] if made else []
    except MissingObjectError:
        return [], frozenset()
    return found[-MOST_UPGRADES:], resolved_by(messages)


def _upgrade(git: History, before: Sha, after: Sha, package: str) -> Upgrade | None:
    path = f"{package}/Kptfile".lstrip("/")
    if git.entry(before, path) == git.entry(after, path):
        return None
    old, new = (_kptfile(git, each, path) for each in (before, after))
    if old is None or new is None or old.upstream_lock is None or new.upstream_lock is None:
        return None
    if old.upstream_lock.commit == new.upstream_lock.commit:
        return None
    return Upgrade(
        package=package,
        commit=after,
        before=git.package(before, package),
        upstream=new.upstream_lock,
        strategy=new.update_strategy,
    )


def _kptfile(git: History, commit: Sha, path: str) -> Kptfile | None:
    data = git.blob(commit, path, MOST_BYTES + 1)
    if data is None or len(data) > MOST_BYTES:
        return None
    try:
        return kptfiles.read(data, path=path)
    except PackageError:
        return None
