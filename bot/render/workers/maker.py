"""Makes verdicts in worker processes: reads packages out of git, and has functions run."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import structlog

from bot import metrics, tracing
from bot.clock import Offload, in_thread
from bot.render import encoded, functions, merging, verdicts
from bot.render.drafts import draft_inputs
from bot.render.port import DraftSides, FetchPackage, TreeFiles
from bot.render.rendering import FreshVerdict, NotRun
from bot.render.workers import requests
from bot.render.workers.frames import Frame, FrameKind
from bot.render.workers.pool import Workers
from bot.render.workers.process import (
    FunctionsSlowError,
    OverLimitError,
    WorkerEndedError,
    WorkerProcess,
)
from bot.render.workers.requests import DraftWork, RenderRequest
from cadlib.diff.values import Change
from cadlib.errors import PackageError, Place
from cadlib.limits import DEFAULT, MIB, PackageLimits
from cadlib.package.files import join
from cadlib.render.calls import CallOutcome
from cadlib.update.upstream import Fetched
from fnrunner.contract.run import CALL, CallContext, Runner
from lifecycle.facts.drafts import DraftRequest
from lifecycle.facts.update import PackageMerge
from lifecycle.facts.verdicts import Verdict
from lifecycle.messages import findings as finding_texts
from lifecycle.messages import making as draft_texts
from lifecycle.policy import Policy

log = structlog.get_logger()

_TRIES = 2
"""How often a package is rendered whose worker ended for a reason that nobody here knows."""


FUNCTION_SECONDS = 300.0
"""For all functions of a package together: ten that use up the time of one. Each call has a limit
of the runner's, but a pipeline may have any number, and holds a worker meanwhile."""


class RendererBrokenError(Exception):
    """A bug of ours showed in a worker, or it said what none says."""


class WorkerMaker:
    """Implements `Maker` in worker processes.

    Args:
        runner: Runs functions.
        workers: The processes. Whoever made them closes them.
        limits: For packages.
        offload: Where git is read, and what workers say.
        function_seconds: For all functions of one package together.
    """

    def __init__(
        self,
        runner: Runner,
        workers: Workers,
        limits: PackageLimits = DEFAULT,
        offload: Offload = in_thread,
        *,
        function_seconds: float = FUNCTION_SECONDS,
    ) -> None:
        self._function_seconds = function_seconds
        self._runner = runner
        self._workers = workers
        self._limits = limits
        self._offload = offload

    async def make(
        self, trees: TreeFiles, package: str, tree: str, origin: str, policy: Policy
    ) -> FreshVerdict:
        """As `Maker` has it; a package that takes too much is told so."""
        CALL.set(CallContext(package))  # so that the runner shares fairly between packages
        spent: dict[str, float] = {}
        began = time.monotonic()
        try:
            with metrics.RENDER_SECONDS.time(), tracing.span("render", package=package):
                read = partial(self._request, trees, package, tree, origin, policy)
                frame = await self._asked(trees, package, read, spent=spent)
            made = await self._offload(requests.read_verdict, frame)
            spent[""] = time.monotonic() - began
            return replace(made, verdict=replace(made.verdict, seconds=spent))
        except PackageError as error:
            return FreshVerdict(verdicts.unreadable(package, error))
        except OverLimitError as error:
            log.warning("package not rendered", package=package, over=str(error))
            return self._stopped(package, error)
        except WorkerEndedError as error:
            log.warning("package not rendered", package=package, error=str(error))
            return self._stopped(package, error)
        except FunctionsSlowError:
            log.warning("package not rendered", package=package, over="functions")
            slow = PackageError(
                Place(),
                finding_texts.functions_slow(self._function_seconds),
                finding_texts.FEWER_FUNCTIONS,
            )
            return FreshVerdict(verdicts.unreadable(package, slow), private=True, stopped=True)
        except OSError as error:
            return FreshVerdict(
                Verdict(package=package, broken=finding_texts.no_process(str(error)))
            )

    async def compare(self, trees: TreeFiles, before: str, after: str) -> tuple[Change, ...]:
        """As `Maker` has it."""
        try:
            read = partial(self._request, trees, "", after, before, None)
            frame = await self._asked(trees, "", read)
        except (OverLimitError, WorkerEndedError, OSError) as error:
            log.warning("trees not compared", error=str(error))
            return ()
        return await self._offload(encoded.read_changes, bytes(frame.data))

    async def merge(
        self, trees: TreeFiles, package: str, base: str, ours: str, theirs: str
    ) -> PackageMerge:
        """As `Maker` has it; a package that takes too much is told so."""
        try:
            frame = await self._asked(
                trees, package, partial(self._to_merge, trees, package, base, ours, theirs)
            )
            return await self._offload(merging.read, bytes(frame.data))
        except PackageError as error:
            return merging.unmerged(package, error)
        except (OverLimitError, WorkerEndedError) as error:
            log.warning("package not merged", package=package, error=str(error))
            return merging.unmerged(package, self._too_much(error))
        except OSError as error:
            problem = finding_texts.no_process(str(error))
            return merging.unmerged(package, PackageError(Place(), problem, finding_texts.SMALLER))

    async def draft(
        self, trees: TreeFiles, request: DraftRequest, sides: DraftSides, fetch: FetchPackage
    ) -> PackageMerge:
        """As `Maker` has it; a package that takes too much is told so."""
        CALL.set(CallContext(request.package))
        try:
            work = partial(self._to_draft, trees, request, sides)
            frame = await self._asked(trees, request.package, work, fetch)
            made = await self._offload(merging.read, bytes(frame.data))
        except PackageError as error:
            return PackageMerge(problem=draft_texts.problem(error))
        except (OverLimitError, WorkerEndedError) as error:
            log.warning("draft not made", package=request.package, error=str(error))
            return PackageMerge(problem=draft_texts.problem(self._too_much(error)))
        except FunctionsSlowError:
            slow = finding_texts.functions_slow(self._function_seconds)
            return PackageMerge(problem=draft_texts.problem(draft_texts.not_run(slow)))
        except OSError as error:
            problem = draft_texts.not_run(finding_texts.no_process(str(error)))
            return PackageMerge(problem=draft_texts.problem(problem))
        files = {join(request.package, path): entry for path, entry in made.files.items()}
        return replace(made, files=files)

    def _to_draft(self, trees: TreeFiles, request: DraftRequest, sides: DraftSides) -> DraftWork:
        return DraftWork(request, draft_inputs(trees, sides, self._limits))

    def _to_merge(
        self, trees: TreeFiles, package: str, base: str, ours: str, theirs: str
    ) -> RenderRequest:
        was, here, there = (
            trees.files(tree, limits=self._limits) if tree else {} for tree in (base, ours, theirs)
        )
        return RenderRequest(package, here, was, None, self._limits, there)

    async def _asked(
        self,
        trees: TreeFiles,
        package: str,
        read: Callable[[], RenderRequest | DraftWork],
        fetch: FetchPackage | None = None,
        spent: dict[str, float] | None = None,
    ) -> Frame:
        for left in reversed(range(_TRIES)):
            try:
                async with self._workers.turn(trees.name, package) as worker:
                    request = await self._offload(read)
                    return await self._told(worker, request, fetch, {} if spent is None else spent)
            except WorkerEndedError as error:
                if error.over_memory or not left:
                    raise
        raise AssertionError  # not reached

    def _request(
        self, trees: TreeFiles, package: str, tree: str, origin: str, policy: Policy | None
    ) -> RenderRequest:
        read = partial(trees.files, limits=self._limits)
        if policy is None:
            now, before = (read(each) if each else {} for each in (tree, origin))
            return RenderRequest(package, now, before, None, self._limits)
        files, was = verdicts.read(read, tree, origin)
        return RenderRequest(package, files, was, policy, self._limits)

    async def _told(
        self,
        worker: WorkerProcess,
        request: RenderRequest | DraftWork,
        fetch: FetchPackage | None,
        spent: dict[str, float],
    ) -> Frame:
        """Send a request, and what its functions come to, until the worker has an answer.

        The seconds that each function took are added to `spent`, by its image.
        """
        await worker.send(*await self._offload(request.frame))
        del request
        left = self._function_seconds
        while True:
            began = time.monotonic()
            frame = await worker.receive()
            metrics.STEP_SECONDS.labels("render").observe(time.monotonic() - began)
            match frame.kind:
                case FrameKind.VERDICT | FrameKind.CHANGES | FrameKind.MERGED:
                    return frame
                case FrameKind.CALL:
                    image, resources = requests.read_call(frame)
                    called = time.monotonic()
                    came = await self._called(image, resources, left)
                    took = time.monotonic() - called
                    left -= took
                    spent[image] = spent.get(image, 0.0) + took
                    answer = requests.outcome(came, resources)
                    await worker.send(
                        answer.kind, answer.values, len(answer.data), (bytes(answer.data),)
                    )
                case FrameKind.FETCH if fetch is not None:
                    try:
                        got: Fetched | PackageError = await fetch(requests.read_fetch(frame))
                    except PackageError as error:
                        got = error
                    await worker.send(*await self._offload(requests.fetched, got))
                case FrameKind.BROKEN:
                    raise RendererBrokenError(bytes(frame.data).decode(errors="replace"))
                case _:
                    raise RendererBrokenError(f"a worker said {frame.kind.name}")

    async def _called(self, image: str, resources: bytes, left: float) -> CallOutcome | NotRun:
        try:
            async with asyncio.timeout(left) as time_is:
                return await functions.called(self._runner, image, resources)
        except TimeoutError as error:
            if not time_is.expired():
                raise
            raise FunctionsSlowError from error

    def _stopped(self, package: str, error: OverLimitError | WorkerEndedError) -> FreshVerdict:
        # Another machine may be faster: it is for each replica to find out.
        verdict = verdicts.unreadable(package, self._too_much(error))
        return FreshVerdict(verdict, private=True, stopped=True)

    def _too_much(self, error: OverLimitError | WorkerEndedError) -> PackageError:
        """Why nobody can say what the package comes to."""
        if isinstance(error, OverLimitError) and not error.memory:
            problem = finding_texts.too_slow(self._workers.seconds)
        elif isinstance(error, OverLimitError) or error.over_memory:
            problem = finding_texts.too_much_memory(self._workers.memory_bytes // MIB)
        else:
            problem = finding_texts.ended(str(error))
        return PackageError(Place(), problem, finding_texts.SMALLER)
