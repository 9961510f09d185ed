"""The real renderer for stories in simulated time: it works on a thread of its own meanwhile."""

from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from bot.clock import Clock, Offload
from bot.render.port import TreeFiles
from bot.render.renderer import CachingRenderer
from bot.render.rendering import Made
from bot.render.stored import StoredVerdicts
from bot.store.port import Store
from cadlib.diff.changes import Change
from fnrunner.wire.client import Client
from lifecycle.facts.update import MergedPackage
from lifecycle.policy import Policy
from tests.memory.pipeline import PipelineMaker
from tests.simulation.elsewhere import Elsewhere

P = ParamSpec("P")
T = TypeVar("T")


class Rendering:
    """What all stories of a session render with: a client of their runner, and what it keeps.

    A context manager.

    Args:
        address: The runner's.
    """

    def __init__(self, address: str) -> None:
        self._elsewhere = Elsewhere()
        self._address = address

    def renderer(self, store: Store, clock: Clock, offload: Offload) -> CachingRenderer:
        """The renderer of one bot, as `bot.serve` makes it, but that time stands still for it."""
        stored = StoredVerdicts(store.renderings, self._means, offload=offload)
        return CachingRenderer(self._maker, clock=clock, stored=stored)

    async def _means(self, image: str) -> str:
        return self._elsewhere.wait(self._client.identity(image))

    def __enter__(self) -> Self:
        self._elsewhere.__enter__()
        self._client = self._elsewhere.wait(self._connected())
        self._maker = StandingStill(PipelineMaker(self._client, offload=_here), self._elsewhere)
        return self

    async def _connected(self) -> Client:
        return await Client(self._address).__aenter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._elsewhere.wait(self._client.__aexit__(kind, error, trace))
        self._elsewhere.__exit__(kind, error, trace)


class StandingStill:
    """Implements `bot.render.renderer.Maker`: whoever asks stands still until there is an answer.

    Args:
        maker: Makes verdicts.
        elsewhere: Where it does.
    """

    def __init__(self, maker: PipelineMaker, elsewhere: Elsewhere) -> None:
        self._maker = maker
        self._elsewhere = elsewhere

    async def make(
        self, trees: TreeFiles, package: str, tree: str, origin: str, policy: Policy
    ) -> Made:
        """As `Maker` has it."""
        return self._elsewhere.wait(self._maker.make(trees, package, tree, origin, policy))

    async def compare(self, trees: TreeFiles, before: str, after: str) -> tuple[Change, ...]:
        """As `Maker` has it."""
        return self._elsewhere.wait(self._maker.compare(trees, before, after))

    async def merge(
        self, trees: TreeFiles, package: str, base: str, ours: str, theirs: str
    ) -> MergedPackage:
        """As `Maker` has it."""
        return self._elsewhere.wait(self._maker.merge(trees, package, base, ours, theirs))


async def _here(work: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Nobody else is on that thread: there is nothing to keep free."""
    return work(*args, **kwargs)
