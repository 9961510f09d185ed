"""A renderer in the process that asks: packages are read in a thread, functions run in a runner."""

from collections.abc import Sequence
from functools import partial

from bot import metrics
from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.render import functions, merging, rendering, verdicts
from bot.render.kept import CachingReader
from bot.render.port import DraftSides, FetchPackage, TreeFiles
from bot.render.renderer import CachingRenderer
from bot.render.rendering import FreshVerdict, NotRun
from cadlib.diff.changes import changes
from cadlib.diff.values import Change
from cadlib.errors import PackageError
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.render.calls import CallOutcome, FunctionCall
from cadlib.yaml.bulk import Bulk
from fnrunner.contract.run import CALL, CallContext, Runner
from lifecycle.facts.drafts import DraftRequest
from lifecycle.facts.update import PackageMerge
from lifecycle.policy import Policy
from tests.memory import drafts


class PipelineMaker:
    """Implements `Maker` in this process: `cadlib` works in a thread, functions in a runner.

    Args:
        runner: Runs functions.
        limits: For packages.
        offload: Where parsing, rendering and editing are done.
        bulk: Reads and edits files; keeps some of what it read by default (ADR 10).
    """

    def __init__(
        self,
        runner: Runner,
        limits: PackageLimits = DEFAULT,
        offload: Offload = in_thread,
        bulk: Bulk | None = None,
    ) -> None:
        self._runner = runner
        self._limits = limits
        self._offload = offload
        self._bulk = bulk or CachingReader()

    async def make(
        self, trees: TreeFiles, package: str, tree: str, origin: str, policy: Policy
    ) -> FreshVerdict:
        """As `Maker` has it."""
        CALL.set(CallContext(package))  # so that the runner shares fairly between packages
        read = partial(trees.files, limits=self._limits)
        try:
            files, before = await self._offload(verdicts.read, read, tree, origin)
        except PackageError as error:
            return FreshVerdict(verdicts.unreadable(package, error))
        steps = rendering.steps(package, files, before, policy, self._limits, self._bulk)
        outcome: CallOutcome | NotRun | None = None
        while True:
            with metrics.STEP_SECONDS.labels("render").time():
                step = await self._offload(_advance, steps, outcome)
            if isinstance(step, FreshVerdict):
                return step
            outcome = await functions.called(self._runner, step.image, step.resources)

    async def compare(self, trees: TreeFiles, before: str, after: str) -> tuple[Change, ...]:
        """As `Maker` has it."""
        return await self._offload(self._compare, trees, before, after)

    async def merge(
        self, trees: TreeFiles, package: str, base: str, ours: str, theirs: str
    ) -> PackageMerge:
        """As `Maker` has it."""
        return await self._offload(self._merge, trees, package, (base, ours, theirs))

    async def call(self, package: str, wanted: FunctionCall) -> CallOutcome | NotRun:
        """Run one function for a package."""
        CALL.set(CallContext(package))
        return await functions.called(self._runner, wanted.image, wanted.resources)

    async def draft(
        self, trees: TreeFiles, request: DraftRequest, sides: DraftSides, fetch: FetchPackage
    ) -> PackageMerge:
        """As `Maker` has it."""

        async def call(wanted: FunctionCall) -> CallOutcome | NotRun:
            return await self.call(request.package, wanted)

        return await drafts.drafted(trees, request, sides, self._limits, fetch, call)

    def _merge(self, trees: TreeFiles, package: str, sides: Sequence[str]) -> PackageMerge:
        try:
            files = [trees.files(tree, self._limits) if tree else {} for tree in sides]
        except PackageError as error:
            return merging.unmerged(package, error)
        return merging.merge(package, *files)

    def _compare(self, trees: TreeFiles, before: str, after: str) -> tuple[Change, ...]:
        files, old = (trees.files(t, self._limits) if t else {} for t in (after, before))
        return changes(old, files, self._limits, self._bulk)


class PipelineRenderer(CachingRenderer):
    """A renderer in this process alone, for tests and simulations; arguments as of its parts."""

    def __init__(
        self,
        runner: Runner,
        limits: PackageLimits = DEFAULT,
        clock: Clock = SYSTEM,
        offload: Offload = in_thread,
        bulk: Bulk | None = None,
    ) -> None:
        super().__init__(PipelineMaker(runner, limits, offload, bulk), clock=clock)


def _advance(
    steps: rendering.Steps, outcome: CallOutcome | NotRun | None
) -> FunctionCall | FreshVerdict:
    try:
        return next(steps) if outcome is None else steps.send(outcome)
    except StopIteration as done:
        made: FreshVerdict = done.value
        return made
