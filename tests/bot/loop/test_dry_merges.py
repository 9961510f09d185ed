"""Upgrades worked out ahead: a few at a look, once for the same states, of what may be read."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from bot.git.port import GitBusyError
from bot.loop.dry_merges import (
    FIRST_AGAIN,
    LAST_AGAIN,
    MOST_MERGED,
    PACE,
    SECONDS,
    Behind,
    DryMerges,
)
from cadlib.errors import PackageError
from cadlib.update.upstream import Fetch
from lifecycle.facts.overview import ListedBehind
from lifecycle.facts.update import PackageMerge, UpdateConflict
from lifecycle.upstreams.graph import Package, UpgradeStatus, Upstream
from tests.memory.clock import ManualClock

PLACE = "x.test/acme/blueprints"
CLASH = UpdateConflict(path="p0/a.yaml", field="spec.size")


class Stage:
    """A repository whose packages are all behind, and a renderer that merges them."""

    def __init__(self, made: PackageMerge, seconds: float = 0) -> None:
        self.clock, self.made, self.seconds = ManualClock(), made, seconds
        self.number = 1
        self.asked: list[str] = []
        self.trees: dict[str, str] = {}
        self.fetch: Any = None

    async def drafted(self, trees: Any, request: Any, sides: Any, fetch: Any) -> PackageMerge:
        """As a renderer has it."""
        self.asked.append(request.package)
        self.fetch = fetch
        assert sides.ref == "net/core/v3"
        await self.clock.sleep(self.seconds)
        if self.made.problem == "away":
            raise GitBusyError("away")
        if self.made.problem == "slow":
            raise TimeoutError
        return self.made

    async def told(self, merges: DryMerges, count: int, readable: Any = None) -> Any:
        """What is told of so many packages."""

        async def offload(call: Any, *arguments: Any) -> Any:
            return call(*arguments)

        git = SimpleNamespace(
            ref=lambda name: "1" * 40, package=lambda tip, path: self.trees.get(path, path)
        )
        served: Any = SimpleNamespace(
            repository=SimpleNamespace(id=self.number),
            clock=self.clock,
            offload=offload,
            mirror=SimpleNamespace(open=lambda: nullcontext(git)),
            looker=SimpleNamespace(renderer=self),
        )
        return await merges.told(served, [behind(n) for n in range(count)], readable or {})


def behind(number: int) -> Behind:
    """A package two revisions behind."""
    name = f"p{number}"
    upstream = Upstream(Package(PLACE, "net/core"), "net/core/v1", "c" * 40)
    listed = ListedBehind(package=name, upstream="net/core", revision=1, newer=(2, 3))
    return Behind(listed, UpgradeStatus(Package("x.test/here", name), upstream, (2, 3)), "main")


def merges(tags: dict[str, str] | None = None) -> DryMerges:
    """Around are tags of one repository, with their commits."""

    async def commits(_: object, refs: set[str]) -> dict[str, str]:
        return {ref: at for ref, at in (tags or {}).items() if ref in refs}

    around: Any = SimpleNamespace(commits=commits)
    return DryMerges(around)


async def test_a_few_at_a_look_and_each_once() -> None:
    """Short-cuts refused: all at once, which holds up the issue; all again at each look."""
    stage, found = Stage(PackageMerge(conflicts=(CLASH, CLASH), more=3)), merges()
    count = MOST_MERGED + 5

    told, again = await stage.told(found, count)
    assert (len(stage.asked), again) == (MOST_MERGED, PACE)
    assert [each.conflicts for each in told] == [5] * MOST_MERGED + [None] * 5
    assert told[0].conflict == "p0/a.yaml: spec.size"

    told, again = await stage.told(found, count)
    assert (len(stage.asked), again) == (count, None)
    stage.trees["p1"] = "other"
    told, _ = await stage.told(found, count)
    assert stage.asked[count:] == ["p1"]
    assert {each.conflicts for each in told} == {5}
    stage.number = 2  # another repository may not read the same
    await stage.told(found, 1)
    assert stage.asked[count:] == ["p1", "p0"]


async def test_what_takes_long_is_left_for_later() -> None:
    """The short-cut goes by their number alone: the issue waits for minutes."""
    stage = Stage(PackageMerge(), seconds=SECONDS * 0.6)
    told, again = await stage.told(merges(), 5)
    assert ([each.conflicts for each in told], again) == ([0, 0, None, None, None], PACE)


async def test_what_took_too_long_is_tried_again_ever_less_and_after_all_others() -> None:
    """Short-cuts refused: an upgrade of a busy minute is never told; one that always takes too long
    keeps a core busy, or others back.
    """
    stage, found = Stage(PackageMerge(problem="slow")), merges()
    assert (await stage.told(found, 1))[1] == FIRST_AGAIN
    await stage.clock.sleep(FIRST_AGAIN / 2)
    assert (await stage.told(found, 1))[1] == FIRST_AGAIN / 2
    await stage.clock.sleep(FIRST_AGAIN / 2)
    assert (await stage.told(found, 2))[1] == FIRST_AGAIN  # the new one's
    assert stage.asked == ["p0", "p1", "p0"]
    for _ in range(9):
        await stage.clock.sleep(LAST_AGAIN)
        await stage.told(found, 1)
    assert (await stage.told(found, 1))[1] == LAST_AGAIN

    stage.made = PackageMerge(conflicts=(CLASH,))
    await stage.clock.sleep(LAST_AGAIN)
    told, again = await stage.told(found, 2)
    assert ([each.conflicts for each in told], again) == ([1, 1], None)


async def test_what_stood_in_the_way_is_tried_again_and_a_tag_that_moved_is_merged_anew() -> None:
    """Short-cuts refused: a problem is kept until the process ends, though its file is there by
    now; what came of a tag is told for whatever it names."""
    tag, tags = "refs/tags/net/core/v3", {"refs/tags/net/core/v3": "1" * 40}
    stage, found, around = Stage(PackageMerge(problem="no lock")), merges(tags), {PLACE: "theirs"}
    assert (await stage.told(found, 1, around))[1] == FIRST_AGAIN

    stage.made = PackageMerge()
    await stage.clock.sleep(FIRST_AGAIN)
    told, again = await stage.told(found, 1, around)
    assert ([each.conflicts for each in told], again) == ([0], None)

    tags[tag], stage.made = "2" * 40, PackageMerge(conflicts=(CLASH,))
    told, _ = await stage.told(found, 1, around)
    assert [each.conflicts for each in told] == [1]
    await stage.told(found, 1)  # not for whom that repository may not be told of
    assert stage.asked == ["p0"] * 4


@pytest.mark.parametrize(("problem", "again"), [("no lock", 1), ("slow", 1), ("away", 2)])
async def test_what_nobody_can_tell_is_not_told(problem: str, again: int) -> None:
    """Short-cuts refused: it is harmless; trouble that passes is kept; what takes too long is begun
    again at each look, before all others.
    """
    stage, found = Stage(PackageMerge(problem=problem)), merges()
    told, _ = await stage.told(found, 1)
    await stage.told(found, 1)
    assert told[0].conflicts is None
    assert len(stage.asked) == again


async def test_no_other_repository_is_read() -> None:
    """The short-cut fetches what a subpackage names, for all to see whether it conflicts."""
    stage = Stage(PackageMerge())
    await stage.told(merges(), 1)
    with pytest.raises(PackageError, match="is not read to predict conflicts"):
        await stage.fetch(Fetch(repo=f"https://{PLACE}", directory="net/core", ref="v3"))
