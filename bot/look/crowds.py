"""Where much was said, or much is proposed, it is read and judged beside the event loop.

Five thousand commands take a second or more to be judged, as twenty thousand packages do, and every
push of everybody would wait that long to be seen.
"""

from collections.abc import Callable, Sequence
from typing import Final, ParamSpec, TypeVar

from bot.clock import Offload
from lifecycle import memory
from lifecycle.commands import answers
from lifecycle.facts.proposal import Proposal
from lifecycle.memory import Memory

P = ParamSpec("P")
T = TypeVar("T")

MOST_AT_ONCE: Final = 10
"""Comments without an answer that are read and judged on the event loop: some 100 ms at most."""

MOST_PACKAGES: Final = 500
"""Packages of proposals that are judged on the event loop: some 30 ms at most."""


async def judged(
    offload: Offload,
    proposals: Sequence[Proposal],
    work: Callable[P, T],
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Do what judges proposals, elsewhere where there are many commands or packages.

    Args:
        offload: Where it is done then.
        proposals: What is judged, with the commands that were given there.
        work: What to do; it touches nothing that others write.
        args: For the work.
        kwargs: For the work as well.
    """
    if _many(proposals):
        return await offload(work, *args, **kwargs)
    return work(*args, **kwargs)


async def asked(
    offload: Offload, proposal: Proposal, question: Callable[[Proposal, Memory], T]
) -> T:
    """Ask something of what was said at one proposal, elsewhere where it is much.

    Args:
        offload: Where it is read then.
        proposal: Where it was said.
        question: One of `lifecycle.commands.answers`.
    """
    return await judged(offload, (proposal,), question, proposal, memory.read(proposal))


def _many(proposals: Sequence[Proposal]) -> bool:
    if sum(len(p.content.touched) for p in proposals) > MOST_PACKAGES:
        return True
    return sum(answers.unanswered(p, memory.read(p)) for p in proposals) > MOST_AT_ONCE
