"""The real renderer for stories in simulated time: it runs on a thread, and the loop waits."""

from collections.abc import Callable
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from bot.clock import Clock, Offload
from bot.render.port import DraftSides, FetchPackage, TreeFiles
from bot.render.renderer import CachingRenderer
from bot.render.rendering import FreshVerdict, NotRun
from bot.render.stored import StoredVerdicts
from bot.store.port import Store
from cadlib.diff.values import Change
from cadlib.limits import DEFAULT
from cadlib.render.calls import CallOutcome, FunctionCall
from fnrunner.contract.run import FunctionOutcome, Runner
from fnrunner.wire.client import Client
from lifecycle.facts.drafts import DraftRequest
from lifecycle.facts.update import PackageMerge
from lifecycle.policy import Policy
from tests.memory import drafts
from tests.memory.pipeline import PipelineMaker
from tests.simulation.inner_loop import InnerLoop

P = ParamSpec("P")
T = TypeVar("T")


class Rendering:
    """A client of the session's function runner, with the cache of parsed files; a context manager.

    Args:
        address: The runner's.
    """

    def __init__(self, address: str) -> None:
        self._loop = InnerLoop()
        self._address = address
        self._meant: dict[str, str] = {}

    def renderer(
        self,
        store: Store,
        clock: Clock,
        offload: Offload,
        takes: Callable[[], float] = lambda: 0.0,
    ) -> CachingRenderer:
        """Return a bot's renderer, built as in `bot.serve`.

        Args:
            store: Where verdicts are kept.
            clock: How long they count.
            offload: Where rows are read.
            takes: Simulated seconds that a rendering takes.
        """
        stored = StoredVerdicts(store.renderings, self._means, offload=offload)
        return CachingRenderer(SlowMaker(self._maker, clock, takes), clock=clock, stored=stored)

    async def _means(self, image: str) -> str:
        # The runner of the session has the same functions all the while.
        if image not in self._meant:
            self._meant[image] = self._loop.wait(self._client.identity(image))
        return self._meant[image]

    def __enter__(self) -> Self:
        self._loop.__enter__()
        self._client = self._loop.wait(self._connected())
        runner = RememberingRunner(self._client)
        self._maker = BlockingMaker(PipelineMaker(runner, offload=_here), self._loop)
        return self

    async def _connected(self) -> Client:
        return await Client(self._address).__aenter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.wait(self._client.__aexit__(kind, error, trace))
        self._loop.__exit__(kind, error, trace)


class RememberingRunner:
    """A runner that asks another one once for the same: stories begin with the same packages.

    What could not be run is asked for again.

    Args:
        inner: The other one; all that it runs depends on what it is sent alone.
    """

    def __init__(self, inner: Runner) -> None:
        self._inner = inner
        self._known: dict[tuple[str, bytes], FunctionOutcome] = {}

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        """As `Runner` has it."""
        asked = image, resources
        if asked not in self._known:
            self._known[asked] = await self._inner.run(image, resources, seconds=seconds)
        return self._known[asked]


class BlockingMaker:
    """Implements `bot.render.renderer.Maker` and blocks the caller's loop until there is a result.

    Args:
        maker: Makes verdicts.
        loop: Runs it.
    """

    def __init__(self, maker: PipelineMaker, loop: InnerLoop) -> None:
        self._maker = maker
        self._loop = loop

    async def make(
        self, trees: TreeFiles, package: str, tree: str, origin: str, policy: Policy
    ) -> FreshVerdict:
        """As `Maker` has it."""
        return self._loop.wait(self._maker.make(trees, package, tree, origin, policy))

    async def compare(self, trees: TreeFiles, before: str, after: str) -> tuple[Change, ...]:
        """As `Maker` has it."""
        return self._loop.wait(self._maker.compare(trees, before, after))

    async def merge(
        self, trees: TreeFiles, package: str, base: str, ours: str, theirs: str
    ) -> PackageMerge:
        """As `Maker` has it."""
        return self._loop.wait(self._maker.merge(trees, package, base, ours, theirs))

    async def draft(
        self, trees: TreeFiles, request: DraftRequest, sides: DraftSides, fetch: FetchPackage
    ) -> PackageMerge:
        """As `Maker` has it; what is fetched is fetched in the loop that asks."""

        async def call(wanted: FunctionCall) -> CallOutcome | NotRun:
            return self._loop.wait(self._maker.call(request.package, wanted))

        return await drafts.drafted(trees, request, sides, DEFAULT, fetch, call)


class SlowMaker:
    """A maker that lets simulated time pass before it renders.

    Args:
        maker: Makes verdicts.
        clock: What passes.
        takes: Seconds that a rendering takes.
    """

    def __init__(self, maker: BlockingMaker, clock: Clock, takes: Callable[[], float]) -> None:
        self._clock = clock
        self._takes = takes
        self._maker = maker
        self.compare = maker.compare
        self.merge = maker.merge
        self.draft = maker.draft

    async def make(
        self, trees: TreeFiles, package: str, tree: str, origin: str, policy: Policy
    ) -> FreshVerdict:
        """As `Maker` has it."""
        if seconds := self._takes():
            await self._clock.sleep(seconds)
        return await self._maker.make(trees, package, tree, origin, policy)


async def _here(work: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Implements `bot.clock.Offload` in place: the thread has no other work to keep free for."""
    return work(*args, **kwargs)
