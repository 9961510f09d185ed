"""The renderer of the bot: verdicts that were made are kept, others are made by a `Maker`.

A verdict follows from the tree, the rules that judge it and the functions that answered; so it is
kept by a digest of these: in memory, so that a tree seen before costs nothing, and in the database
for other replicas.
"""

import asyncio
import hashlib
import json
import math
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import structlog

from bot import metrics
from bot.clock import SYSTEM, Clock
from bot.render.port import DraftSides, FetchPackage, TreeFiles
from bot.render.rendering import Made
from bot.render.stored import StoredVerdicts
from cadlib.diff.changes import Change
from cadlib.errors import PackageError
from lifecycle.facts.drafts import DraftRequest
from lifecycle.facts.update import MergedPackage
from lifecycle.facts.verdicts import Verdict
from lifecycle.policy import Policy

log = structlog.get_logger()

MOST_KEPT = 2_000
"""Verdicts kept in memory, and as many of packages that were only tried; one is a few kilobytes."""

BROKEN_KEPT = 60.0
"""Seconds until a merge that broke is tried again: one that takes too much costs that each time."""

MOST_MERGED = 20
"""Merges of packages kept in memory: until a proposal is brought up to date, or its conflicts are
mended; one holds every file that either side changed."""

MOVED_AFTER = 60.0
"""Seconds for which it counts what the tag of an image means; as long as a person's role."""


class Maker(Protocol):
    """Makes verdicts anew; its arguments are those of `Renderer`."""

    async def make(
        self, trees: TreeFiles, package: str, tree: str, origin: str, policy: Policy
    ) -> Made:
        """Render and validate one package at one tree."""

    async def compare(self, trees: TreeFiles, before: str, after: str) -> tuple[Change, ...]:
        """What changed between two trees of a package."""

    async def merge(
        self, trees: TreeFiles, package: str, base: str, ours: str, theirs: str
    ) -> MergedPackage:
        """Merge what two branches made of a package."""

    async def draft(
        self, trees: TreeFiles, request: DraftRequest, sides: DraftSides, fetch: FetchPackage
    ) -> MergedPackage:
        """Make the files of a draft."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A verdict, and until when it counts, by the clock."""

    verdict: Verdict
    until: float


@dataclass(slots=True)
class _Shared:
    """A verdict that is being made, and how many wait for it."""

    task: asyncio.Task[Verdict]
    waiting: int = 0


class CachingRenderer:
    """Implements `Renderer`: what is asked again is answered from what is kept.

    A verdict that nobody waits for any more is not made to its end.

    Args:
        maker: Makes verdicts.
        clock: Until when what an image means counts.
        stored: Those that any replica made; None for none.
    """

    def __init__(
        self, maker: Maker, *, clock: Clock = SYSTEM, stored: StoredVerdicts | None = None
    ) -> None:
        self._maker = maker
        self._stored = stored
        self._anew: OrderedDict[str, None] = OrderedDict()  # trees whose rows do not count
        self._keeping: set[asyncio.Task[None]] = set()
        self._clock = clock
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._tried: OrderedDict[str, _Kept] = OrderedDict()
        self._changes: dict[tuple[str, str], tuple[Change, ...]] = {}
        self._merged: dict[tuple[str, str, str, str], tuple[MergedPackage, float]] = {}
        self._shared: dict[str, _Shared] = {}

    async def verdict(
        self,
        trees: TreeFiles,
        package: str,
        tree: str,
        origin: str,
        policy: Policy,
        *,
        tried: bool = False,
    ) -> Verdict:
        """As `Renderer` has it; it is kept until what an image means may have changed."""
        key = _digest(package, tree, origin, policy)
        where = self._kept if key in self._kept or not tried else self._tried
        kept = where.get(key) or self._tried.get(key)
        if kept is not None and self._clock.monotonic() < kept.until:
            _put(where, key, kept)
            metrics.RENDERS.labels("kept").inc()
            return kept.verdict
        if key not in self._shared:
            task = asyncio.create_task(self._make(key, trees, package, tree, origin, policy, where))
            self._shared[key] = _Shared(task)
        return await self._wait(key)

    async def _wait(self, key: str) -> Verdict:
        """Wait for a verdict that others may wait for, too; the last who goes away ends it."""
        shared = self._shared[key]
        shared.waiting += 1
        try:
            return await asyncio.shield(shared.task)
        finally:
            shared.waiting -= 1
            if not shared.waiting:
                shared.task.cancel()
                if self._shared.get(key) is shared:
                    del self._shared[key]

    async def _make(
        self,
        key: str,
        trees: TreeFiles,
        package: str,
        tree: str,
        origin: str,
        policy: Policy,
        where: OrderedDict[str, _Kept],
    ) -> Verdict:
        if self._stored is not None and tree not in self._anew:
            found = await self._stored.find(key, package)
            if found is not None:
                metrics.RENDERS.labels("stored").inc()
                self._keep(key, found, where)
                return found
        made = await self._maker.make(trees, package, tree, origin, policy)
        if made.verdict.broken:  # trouble of ours passes; it is asked again at the next look
            log.warning("functions not run", package=package, error=made.verdict.broken)
            metrics.RENDERS.labels("not run").inc()
            return made.verdict
        metrics.RENDERS.labels("stopped" if made.stopped else "rendered").inc()
        self._keep(key, made.verdict, where)
        if self._stored is not None:
            task = asyncio.create_task(self._stored.keep(key, made))
            self._keeping.add(task)
            task.add_done_callback(self._keeping.discard)
        return made.verdict

    def _keep(self, key: str, verdict: Verdict, where: OrderedDict[str, _Kept]) -> None:
        moves = any(version.moves for version in verdict.versions.values())
        until = self._clock.monotonic() + MOVED_AFTER if moves else math.inf
        _put(where, key, _Kept(verdict, until))

    async def changes(self, trees: TreeFiles, before: str, after: str) -> tuple[Change, ...]:
        """As `Renderer` has it; kept."""
        if (before, after) not in self._changes:
            try:
                found = await self._maker.compare(trees, before, after)
            except PackageError:
                found = ()
            if len(self._changes) >= MOST_KEPT:
                self._changes.clear()
            self._changes[before, after] = found
        return self._changes[before, after]

    async def merged(
        self, trees: TreeFiles, package: str, base: str, ours: str, theirs: str
    ) -> MergedPackage:
        """As `Renderer` has it; kept, since it follows from the trees alone, but for what broke."""
        key = package, base, ours, theirs
        found, until = self._merged.get(key, (MergedPackage(), float("-inf")))
        if self._clock.monotonic() < until:
            return found
        found = await self._maker.merge(trees, package, base, ours, theirs)
        if len(self._merged) >= MOST_MERGED:
            self._merged.clear()
        # Why it could not be merged may pass: there was no process, or too little time.
        until = self._clock.monotonic() + BROKEN_KEPT if found.problem else float("inf")
        self._merged[key] = found, until
        return found

    async def drafted(
        self, trees: TreeFiles, request: DraftRequest, sides: DraftSides, fetch: FetchPackage
    ) -> MergedPackage:
        """As `Renderer` has it; not kept, for what is fetched may be other files by the next."""
        return await self._maker.draft(trees, request, sides, fetch)

    async def close(self) -> None:
        """Wait until what was made is kept."""
        await asyncio.gather(*self._keeping)

    def forget(self, trees: Iterable[str]) -> None:
        """As `Renderer` has it."""
        gone = set(trees)
        self._anew.update(dict.fromkeys(gone))
        while len(self._anew) > MOST_KEPT:
            self._anew.popitem(last=False)
        for where in (self._kept, self._tried):
            for key in [k for k in where if k.split(":", 1)[0] in gone]:
                del where[key]


def _put(where: OrderedDict[str, _Kept], key: str, kept: _Kept) -> None:
    """Keep a verdict as the one used last; the one used longest ago goes where there are many."""
    where[key] = kept
    where.move_to_end(key)
    if len(where) > MOST_KEPT:
        where.popitem(last=False)


def _digest(package: str, tree: str, origin: str, policy: Policy) -> str:
    said = [[f.name, f.fix] for f in (*policy.mutators, *policy.validators)]
    rest = json.dumps([package, origin, policy.digest, said])
    return f"{tree}:{hashlib.sha256(rest.encode()).hexdigest()}"
