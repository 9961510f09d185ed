"""What one command does to many packages: in which order, how many at a time, and when it stops.

Rules (ADR 61):

1. What was done is told by facts, and nothing is remembered: given again, the command goes on.
2. A package comes after those that it was made from. Packages in a circle are left out and named.
3. One wave at a time, of at most so many; the next one begins when this one is done.
4. When something failed, nothing more is begun, and the reason is said. To go on all the same
   leaves it and what was made from it out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from lifecycle.boxes import MOST_OPEN
from lifecycle.upstreams.graph import Graph, Package

ASKS_FROM = 5
"""Packages up to which a command goes ahead without being confirmed."""


class BulkState(StrEnum):
    """How far one package is."""

    READY = "ready"
    """Nothing was asked for yet."""
    ASKED = "asked"
    """The bot was asked, and has not answered."""
    OPEN = "open"
    """Its pull request is there, and waits for checks or people."""
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkItem:
    """One package, or one pull request, and how far it is.

    Attributes:
        key: What tells it from the others.
        package: What it is about; a pull request about several is ordered by the first of them.
        change: What is done, for people, such as "v1 -> v3".
        state: How far it is.
        reason: Of `FAILED`, why; of `OPEN`, where, such as "#12".
    """

    key: str
    package: Package
    change: str = ""
    state: BulkState = BulkState.READY
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkPlan:
    """What to do next.

    Attributes:
        waves: Everything that is chosen, in order.
        start: What is begun now; empty where nothing may be.
        open: What was begun, and is not done.
        failed: What failed.
        left: What is left out because it was made from what failed.
        circles: Packages that are made from each other, in a circle: nothing is done to them.
    """

    waves: tuple[tuple[BulkItem, ...], ...]
    start: tuple[BulkItem, ...]
    open: tuple[BulkItem, ...]
    failed: tuple[BulkItem, ...]
    left: tuple[BulkItem, ...]
    circles: tuple[tuple[Package, ...], ...]

    @property
    def done(self) -> int:
        """How many are done."""
        return sum(item.state is BulkState.DONE for wave in self.waves for item in wave)

    @property
    def total(self) -> int:
        """How many there are."""
        return sum(map(len, self.waves))

    @property
    def stopped(self) -> bool:
        """Something failed, and nobody said to go on: nothing more is begun."""
        return bool(self.failed) and not self.start and not self.open and self.remaining > 0

    @property
    def remaining(self) -> int:
        """How many were not begun, and are not left out."""
        ready = [i for wave in self.waves for i in wave if i.state is BulkState.READY]
        return len(ready) - len(self.left)


def plan(
    items: Iterable[BulkItem], graph: Graph, *, most: int = MOST_OPEN, go_on: bool = False
) -> BulkPlan:
    """Decide what is begun next.

    Args:
        items: Everything that is chosen, as it is now.
        graph: What was made from what; more packages than were chosen may be in it.
        most: How many may be open at a time; at least 1.
        go_on: Leave what failed, and go on with what was not made from it.
    """
    waves, circles = in_waves(items, graph, most)
    failed = tuple(i for wave in waves for i in wave if i.state is BulkState.FAILED)
    left = _made_from([i.package for i in failed], waves, graph)
    out = set(left)
    begun = tuple(i for wave in waves for i in wave if i.state in (BulkState.ASKED, BulkState.OPEN))
    start: list[BulkItem] = []
    for wave in waves if go_on or not failed else ():
        start += [i for i in wave if i.state is BulkState.READY and i not in out]
        if not all(i.state in _FINISHED or i in out for i in wave):
            break
    room = max(0, most - len(begun))
    return BulkPlan(
        waves=waves,
        start=tuple(start[:room]),
        open=begun,
        failed=failed,
        left=left,
        circles=circles,
    )


_FINISHED = frozenset({BulkState.DONE, BulkState.FAILED})


def in_waves(
    items: Iterable[BulkItem], graph: Graph, most: int
) -> tuple[tuple[tuple[BulkItem, ...], ...], tuple[tuple[Package, ...], ...]]:
    """Put packages in order: each after those that it was made from, at most so many at a time.

    Args:
        items: Everything that is chosen.
        graph: What was made from what.
        most: Packages of one wave; at least 1.

    Returns:
        The waves; and the circles of packages that were chosen, which are in none of them.
    """
    every = sorted(items, key=lambda item: (item.package, item.key))
    chosen = {item.package for item in every}
    circles = tuple(c for c in graph.cycles if not chosen.isdisjoint(c))
    chosen -= {each for circle in circles for each in circle}
    depth: dict[Package, int] = {}
    for package in sorted(chosen):
        _deepen(package, chosen, graph, depth)
    levels: dict[int, list[BulkItem]] = {}
    for item in every:
        if item.package in depth:
            levels.setdefault(depth[item.package], []).append(item)
    waves = [
        tuple(level[at : at + most])
        for _, level in sorted(levels.items())
        for at in range(0, len(level), most)
    ]
    return tuple(waves), circles


def _deepen(
    package: Package,
    chosen: frozenset[Package] | set[Package],
    graph: Graph,
    depth: dict[Package, int],
) -> None:
    """Note how many chosen packages stand above one, and above those in between."""
    line: list[Package] = []
    at: Package | None = package
    seen: set[Package] = set()
    while at is not None and at not in depth and at not in seen:
        seen.add(at)
        if at in chosen:
            line.append(at)
        upstream = graph.upstreams.get(at)
        at = upstream.package if upstream else None
    above = depth.get(at, -1) if at is not None else -1
    for each in reversed(line):
        above += 1
        depth[each] = above


def _made_from(
    failed: Sequence[Package], waves: Sequence[Sequence[BulkItem]], graph: Graph
) -> tuple[BulkItem, ...]:
    """What waits, and was made from something that failed, however far around."""
    downstreams = graph.downstreams if failed else {}
    waiting, reached = [*failed], set[Package]()
    while waiting:
        made = set(downstreams.get(waiting.pop(), ())) - reached
        reached |= made
        waiting += made
    return tuple(
        item
        for wave in waves
        for item in wave
        if item.state is BulkState.READY and item.package in reached
    )
