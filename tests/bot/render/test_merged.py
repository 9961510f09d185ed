"""Merges of packages are kept, but for those that broke."""

from dataclasses import dataclass
from typing import Any

from bot.render.renderer import BROKEN_KEPT, CachingRenderer
from lifecycle.facts.update import PackageMerge
from tests.memory.clock import ManualClock


@dataclass
class Merging:
    """A maker that merges as it is told."""

    found: PackageMerge
    asked: int = 0

    async def merge(self, *_: object) -> PackageMerge:
        self.asked += 1
        return self.found


async def test_a_merge_that_broke_is_tried_again() -> None:
    """The short-cut keeps all: when there was no process once, no `/rebase` works any more."""
    maker: Any = Merging(PackageMerge(problem="net/core: no process could be started"))
    clock, trees = ManualClock(), object()
    renderer = CachingRenderer(maker, clock=clock)
    merge: Any = renderer.merged

    for _ in range(2):
        assert (await merge(trees, "net/core", "a", "b", "c")).problem
    assert maker.asked == 1
    maker.found = PackageMerge(more=1)
    clock.seconds += BROKEN_KEPT
    for _ in range(2):
        assert await merge(trees, "net/core", "a", "b", "c") == maker.found
    clock.seconds += 1_000 * BROKEN_KEPT

    assert await merge(trees, "net/core", "a", "b", "c") == maker.found
    assert maker.asked == 2
