"""The renderer of the bot: verdicts that were made are kept, others are made by a `Maker`.

A verdict follows from the tree, the rules that judge it and the functions that answered; so it is
kept by a digest of these: in memory, so that a tree seen before costs nothing, and in the database
for other replicas.
"""

import asyncio
import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import structlog

from bot import metrics
from bot.clock import SYSTEM, Clock
from bot.recent import Recent
from bot.render.port import DraftSides, FetchPackage, TreeFiles
from bot.render.rendering import FreshVerdict
from bot.render.stored import StoredVerdicts
from cadlib.diff.values import Change
from cadlib.errors import PackageError
from lifecycle.facts.drafts import DraftRequest
from lifecycle.facts.update import PackageMerge
from lifecycle.facts.verdicts import Verdict
from lifecycle.policy import Policy

log = structlog.get_logger()

MOST_KEPT = 500
"""Verdicts kept in memory, and comparisons of trees; one is a few kilobytes. More verdicts are in
the database."""

MOST_TRIED = 2_000
"""Verdicts of packages that were only tried, kept in memory: a change of a guardrail tries many."""

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
    ) -> FreshVerdict:
        """Render and validate one package at one tree."""

    async def compare(self, trees: TreeFiles, before: str, after: str) -> tuple[Change, ...]:
        """What changed between two trees of a package."""

    async def merge(
        self, trees: TreeFiles, package: str, base: str, ours: str, theirs: str
    ) -> PackageMerge:
        """Merge what two branches made of a package."""

    async def draft(
        self, trees: TreeFiles, request: DraftRequest, sides: DraftSides, fetch: FetchPackage
    ) -> PackageMerge:
        """Make the files of a draft."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A verdict, and until when it counts, by the clock."""

    verdict: Verdict
    until: float


_Merge = tuple[str, str, str, str]
"""A package, and its trees before, here and there."""


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
        self._anew: Recent[str, bool] = Recent(MOST_TRIED)  # trees whose rows do not count
        self._keeping: set[asyncio.Task[None]] = set()
        self._clock = clock
        self._kept: Recent[str, _Kept] = Recent(MOST_KEPT)
        self._tried: Recent[str, _Kept] = Recent(MOST_TRIED)
        self._changes: Recent[tuple[str, str], tuple[Change, ...]] = Recent(MOST_KEPT)
        self._merged: Recent[_Merge, tuple[PackageMerge, float]] = Recent(MOST_MERGED)
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
        kept = self._kept.get(key)
        where = self._kept if kept or not tried else self._tried
        kept = kept or self._tried.get(key)
        if kept is not None and self._clock.monotonic() < kept.until:
            where.put(key, kept)
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
        where: Recent[str, _Kept],
    ) -> Verdict:
        if self._stored is not None and not self._anew.get(tree):
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

    def _keep(self, key: str, verdict: Verdict, where: Recent[str, _Kept]) -> None:
        moves = any(version.moves for version in verdict.versions.values())
        until = self._clock.monotonic() + MOVED_AFTER if moves else math.inf
        where.put(key, _Kept(verdict, until))

    async def changes(self, trees: TreeFiles, before: str, after: str) -> tuple[Change, ...]:
        """As `Renderer` has it; kept."""
        found = self._changes.get((before, after))
        if found is None:
            try:
                found = await self._maker.compare(trees, before, after)
            except PackageError:
                found = ()
            self._changes.put((before, after), found)
        return found

    async def merged(
        self, trees: TreeFiles, package: str, base: str, ours: str, theirs: str
    ) -> PackageMerge:
        """As `Renderer` has it; kept, since it follows from the trees alone, but for what broke."""
        key = package, base, ours, theirs
        found, until = self._merged.get(key) or (PackageMerge(), float("-inf"))
        if self._clock.monotonic() < until:
            return found
        found = await self._maker.merge(trees, package, base, ours, theirs)
        # Why it could not be merged may pass: there was no process, or too little time.
        until = self._clock.monotonic() + BROKEN_KEPT if found.problem else float("inf")
        self._merged.put(key, (found, until))
        return found

    async def drafted(
        self, trees: TreeFiles, request: DraftRequest, sides: DraftSides, fetch: FetchPackage
    ) -> PackageMerge:
        """As `Renderer` has it; not kept, for what is fetched may be other files by the next."""
        return await self._maker.draft(trees, request, sides, fetch)

    async def close(self) -> None:
        """Wait until what was made is kept."""
        await asyncio.gather(*self._keeping)

    def forget(self, trees: Iterable[str]) -> None:
        """As `Renderer` has it."""
        gone = set(trees)
        for tree in gone:
            self._anew.put(tree, True)
        for where in (self._kept, self._tried):
            known = where.keys()
            for key in known:
                if key.split(":", 1)[0] in gone:
                    where.drop(key)


def _digest(package: str, tree: str, origin: str, policy: Policy) -> str:
    said = [[f.name, f.fix] for f in (*policy.mutators, *policy.validators)]
    rest = json.dumps([package, origin, policy.digest, said])
    return f"{tree}:{hashlib.sha256(rest.encode()).hexdigest()}"
