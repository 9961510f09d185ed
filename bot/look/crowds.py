"""Where much was said at once, what follows from it is worked out beside the event loop.

Five thousand commands take a second or more to be judged, and every push of everybody would wait
that long to be seen.
"""

from collections.abc import Callable, Sequence
from typing import Final, ParamSpec, TypeVar

from bot.clock import Offload
from lifecycle import memory
from lifecycle.commands import answers
from lifecycle.facts.proposal import Proposal

P = ParamSpec("P")
T = TypeVar("T")

MOST_AT_ONCE: Final = 10
"""Comments without an answer whose commands are judged on the event loop: some 20 ms at most."""


async def judged(
    offload: Offload,
    proposals: Sequence[Proposal],
    work: Callable[P, T],
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Do what judges the commands of proposals, elsewhere where there are many.

    Args:
        offload: Where it is done then.
        proposals: Where the commands were given.
        work: What to do; it touches nothing that others write.
        args: For the work.
        kwargs: For the work as well.
    """
    waiting = sum(len(answers.pending(p, memory.read(p))) for p in proposals)
    if waiting > MOST_AT_ONCE:
        return await offload(work, *args, **kwargs)
    return work(*args, **kwargs)
