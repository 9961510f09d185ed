"""How far boxes of the dashboard are that were begun, told by their pull requests alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bot.forges.port import Forge, ForgeMissingError
from bot.store.hints import Press
from lifecycle.facts.boxes import BegunBox
from lifecycle.facts.checks import RENDER, VALIDATE, Conclusion
from lifecycle.messages import boxes as texts
from lifecycle.upstreams.graph import Graph


@dataclass(frozen=True, slots=True)
class TickedBoxes:
    """Boxes that have no answer, and what is needed to answer them in order.

    Attributes:
        presses: Who ticked which.
        unconfirmed: Numbers of those of whom the forge does not confirm who it was.
        graph: The packages of the repository, and their upstreams.
        home: The repository, as the graph spells it.
    """

    presses: tuple[Press, ...] = ()
    unconfirmed: frozenset[int] = frozenset()
    graph: Graph = field(default_factory=Graph)
    home: str = ""


NOTHING_TICKED = TickedBoxes()


async def states(forge: Forge, begun: Sequence[BegunBox]) -> list[BegunBox]:
    """Return what of it is open or failed; what was merged is done.

    Args:
        forge: The repository's.
        begun: What was begun, as it was before.
    """
    found = [await _state(forge, each) for each in begun]
    return [each for each in found if each is not None]


async def _state(forge: Forge, box: BegunBox) -> BegunBox | None:
    if not box.number:
        return box  # it was refused: no pull request tells of it
    try:
        pull = await forge.proposal(box.number)
    except ForgeMissingError:
        return None
    if pull.merged:
        return None
    if not pull.open:
        return replace(box, failed=texts.closed(box.number))
    runs = [run for run in await forge.checks(pull.head) if run.ours]  # anybody may use our names
    failed = {run.name for run in runs if run.conclusion is Conclusion.FAILURE}
    check = next((name for name in (RENDER, VALIDATE) if name in failed), "")
    why = texts.broken(box.number, check) if check else ""
    return replace(box, failed=why, left=box.left and bool(why))
