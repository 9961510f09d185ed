"""What is asked of a forge for a merge, and what is made of its answer."""

from typing import Any

from bot import merging
from bot.forges.port import MERGED, MergeResult, MergeWay
from bot.outcomes import ActionOutcome
from lifecycle.actions import Merge
from lifecycle.facts.merging import MergeObstacle
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha
from lifecycle.policy import MergeMethod


class Forge:
    """Merges whatever it is asked for."""

    def __init__(self, way: MergeWay) -> None:
        self.way = way
        self.merged: list[int] = []

    async def merge_way(self, number: int, base_ref: str) -> MergeWay:
        assert (number, base_ref) == (7, "main")
        return self.way

    async def merge(self, number: int, *_: object) -> MergeResult:
        self.merged.append(number)
        return MERGED

    async def rules(self, _: str) -> str:
        return ""


class Proposals:
    def __init__(self) -> None:
        self.refused: list[MergeObstacle] = []

    async def refuse(self, *given: Any) -> None:
        self.refused.append(given[4].obstacle)


MERGE = Merge(
    number=7,
    head=Sha("a" * 40),
    base=Sha("b" * 40),
    base_ref="main",
    method=MergeMethod.MERGE,
    title="T",
    message="",
)


async def test_what_goes_elsewhere_by_now_is_not_merged() -> None:
    """The short-cut trusts that the head stands for the proposal: the same head, merged into
    another branch, is what nobody approved. It is looked at again at once."""
    forge, proposals = Forge(MergeWay(elsewhere=True)), Proposals()

    found = await merging.merge(forge, proposals, RepositoryId("gitlab", 1), MERGE, "")  # type: ignore[arg-type] # as far as it is used

    assert forge.merged == []
    assert proposals.refused == [MergeObstacle.HEAD_MOVED]
    assert found.outcome is ActionOutcome.LOOK_AGAIN
