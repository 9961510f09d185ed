"""The renderer of the bot: drives `cadlib.render.pipeline`, calls functions and keeps verdicts.

A verdict follows from the tree, the rules that judge it and the functions that answered; so it is
kept in memory by a digest of these, and a tree seen before costs nothing.
"""

import asyncio
import hashlib
import json
import math
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import structlog

from bot import metrics
from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.render import verdicts
from bot.render.kept import CachingReader
from bot.render.port import TreeFiles
from cadlib.diff import secrets
from cadlib.diff.changes import Change, changes
from cadlib.errors import PackageError
from cadlib.limits import DEFAULT, STREAM, PackageLimits
from cadlib.render import pipeline as render
from cadlib.yaml.bulk import Bulk
from fnrunner.contract.errors import (
    FunctionError,
    FunctionRefusedError,
    FunctionUnavailableError,
    RunnerBrokenError,
    RunnerBusyError,
)
from fnrunner.contract.run import CALL, CallContext, Runner
from lifecycle.facts.verdicts import Verdict
from lifecycle.messages.checks import ask_operator
from lifecycle.policy import Policy

log = structlog.get_logger()

MOST_KEPT = 2_000
"""Verdicts kept in memory; one is a few kilobytes."""

MOVED_AFTER = 60.0
"""Seconds for which it counts what the tag of an image means; as long as a person's role."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A verdict, and until when it counts, by the clock."""

    verdict: Verdict
    until: float


class PipelineRenderer:
    """Implements `Renderer`: renders and validates packages through a function runner.

    Args:
        runner: Runs functions.
        limits: For packages.
        clock: Until when what an image means counts.
        offload: Where parsing, rendering and editing are done.
        bulk: Reads and edits files; keeps some of what it read by default (ADR 10).
    """

    def __init__(
        self,
        runner: Runner,
        limits: PackageLimits = DEFAULT,
        clock: Clock = SYSTEM,
        offload: Offload = in_thread,
        bulk: Bulk | None = None,
    ) -> None:
        self._clock = clock
        self._offload = offload
        self._runner = runner
        self._limits = limits
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._bulk = bulk or CachingReader()
        self._changes: dict[tuple[str, str], tuple[Change, ...]] = {}
        self._busy: dict[str, asyncio.Task[Verdict]] = {}

    async def verdict(
        self, trees: TreeFiles, package: str, tree: str, origin: str, policy: Policy
    ) -> Verdict:
        """As `Renderer` has it; it is kept until what an image means may have changed."""
        key = _digest(package, tree, origin, policy)
        kept = self._kept.get(key)
        if kept is not None and self._clock.monotonic() < kept.until:
            self._kept.move_to_end(key)
            return kept.verdict
        task = self._busy.get(key)
        if task is None:
            task = asyncio.create_task(self._render(trees, package, tree, origin, policy))
            self._busy[key] = task
            task.add_done_callback(lambda _: self._busy.pop(key, None))
        verdict = await asyncio.shield(task)
        if not verdict.broken:  # trouble of ours passes; it is asked again at the next look
            moves = any(version.moves for version in verdict.versions.values())
            self._kept[key] = _Kept(
                verdict, self._clock.monotonic() + MOVED_AFTER if moves else math.inf
            )
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return verdict

    async def changes(self, trees: TreeFiles, before: str, after: str) -> tuple[Change, ...]:
        """As `Renderer` has it; kept."""
        if (before, after) not in self._changes:
            try:
                found = await self._offload(self._compare, trees, before, after)
            except PackageError:
                found = ()
            if len(self._changes) >= MOST_KEPT:
                self._changes.clear()
            self._changes[before, after] = found
        return self._changes[before, after]

    def _compare(self, trees: TreeFiles, before: str, after: str) -> tuple[Change, ...]:
        files, old = (trees.files(t, self._limits) if t else {} for t in (after, before))
        return changes(old, files, self._limits, self._bulk)

    def forget(self, trees: Iterable[str]) -> None:
        """As `Renderer` has it."""
        gone = set(trees)
        for key in [k for k in self._kept if k.split(":", 1)[0] in gone]:
            del self._kept[key]

    async def _render(
        self, trees: TreeFiles, package: str, tree: str, origin: str, policy: Policy
    ) -> Verdict:
        CALL.set(CallContext(package))  # so that the runner shares fairly between packages
        read = partial(trees.files, limits=self._limits)
        try:
            files, before = await self._offload(verdicts.read, read, tree, origin)
        except PackageError as error:
            return verdicts.unreadable(package, error)
        steps = verdicts.begin(files, policy, self._limits, self._bulk)
        secret = await self._offload(verdicts.secret_values, files.values())
        rendered, broken = await self._drive(steps, secret)
        if rendered is None:
            return Verdict(package=package, broken=broken)
        return await self._offload(
            verdicts.of, package, files, before, rendered, policy, secret, self._bulk
        )

    async def _drive(
        self, steps: render.Steps, secret: set[str]
    ) -> tuple[render.Rendered | None, str]:
        """Carry out each call of a rendering; parsing and editing run in a thread.

        Args:
            steps: The rendering.
            secret: Values that must not be said; those that functions put into Secrets are added.

        Returns:
            The rendering; or None, and why a function could not be run, which an operator mends.
        """
        outcome: render.CallOutcome | None = None
        while True:
            with metrics.STEP_SECONDS.labels("render").time():
                step = await self._offload(_advance, steps, outcome)
            if isinstance(step, render.Rendered):
                return step, ""
            try:
                with metrics.STEP_SECONDS.labels("function").time():
                    ran = await self._runner.run(step.image, step.resources)
                if step.step.startswith("mutators"):
                    secret |= await self._offload(
                        secrets.added, ran.resources, step.resources, STREAM
                    )
                outcome = render.CallOutcome(
                    resources=ran.resources,
                    results=ran.results,
                    error=(ran.log or verdicts.REFUSED) if ran.failed else "",
                    log=ran.log,
                    digest=ran.digest,
                )
            except FunctionError as error:
                if isinstance(error, FunctionUnavailableError) and error.passing:
                    return None, _not_run(steps, step.image, error, secret)
                outcome = _refused(error)
            except (RunnerBusyError, RunnerBrokenError) as error:
                return None, _not_run(steps, step.image, error, secret)


def _refused(error: FunctionError) -> render.CallOutcome:
    """Why a function cannot be run, and what its author can do about that."""
    if isinstance(error, FunctionRefusedError):
        return render.CallOutcome(error=error.reason, fix=ask_operator(error.fix))
    if isinstance(error, FunctionUnavailableError):
        return render.CallOutcome(error=error.reason, fix=error.fix)
    return render.CallOutcome(error=str(error))


def _not_run(steps: render.Steps, image: str, error: Exception, secret: Iterable[str]) -> str:
    """End a rendering that cannot go on now, which is no fault of the package."""
    steps.close()
    why = secrets.redacted(str(error), secret)
    log.warning("function not run", image=image, error=why)
    return why


def _advance(
    steps: render.Steps, outcome: render.CallOutcome | None
) -> render.FunctionCall | render.Rendered:
    try:
        return next(steps) if outcome is None else steps.send(outcome)
    except StopIteration as done:
        rendered: render.Rendered = done.value
        return rendered


def _digest(package: str, tree: str, origin: str, policy: Policy) -> str:
    fixes = [f.fix for f in (*policy.mutators, *policy.validators)]
    rest = json.dumps([package, origin, policy.digest, fixes])
    return f"{tree}:{hashlib.sha256(rest.encode()).hexdigest()}"
