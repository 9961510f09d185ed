"""Where what was said is read: beside the event loop, where it is much."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

import pytest

from bot.look import crowds
from lifecycle.commands import answers
from lifecycle.facts.proposal import Proposal
from tests.lifecycle.samples import CORE, OUTSIDER, PROPOSAL, changed, said

P = ParamSpec("P")
T = TypeVar("T")


def crowd(comments: int) -> Proposal:
    waiting = tuple(said(OUTSIDER, "/approve", 1000 + n) for n in range(comments))
    return replace(PROPOSAL, talk=replace(PROPOSAL.talk, comments=waiting))


@pytest.mark.parametrize("question", [answers.oldest, answers.pending, answers.about_repository])
def test_much_is_read_beside_the_event_loop(question: Callable[..., object]) -> None:
    """The short-cut reads ahead in a thread, and asks on the event loop for what it hopes is kept:
    what does not fit there is read once more, and nobody's push is seen meanwhile.
    """
    elsewhere: list[Callable[..., Any]] = []

    async def offload(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        elsewhere.append(work)
        return work(*args, **kwargs)

    async def ask(proposal: Proposal) -> object:
        return await crowds.asked(offload, proposal, question)

    few = asyncio.run(ask(crowd(crowds.MOST_AT_ONCE)))
    assert (bool(few), elsewhere) == (question is not answers.about_repository, [])

    asyncio.run(ask(crowd(crowds.MOST_AT_ONCE + 1)))
    assert elsewhere == [question]


@pytest.mark.parametrize("more", [0, 1])
def test_many_packages_are_judged_beside_the_event_loop(more: int) -> None:
    """The short-cut counts what was said alone: a push of twenty thousand packages holds up all."""
    elsewhere: list[Callable[..., Any]] = []

    async def offload(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        elsewhere.append(work)
        return work(*args, **kwargs)

    packages = range(crowds.MOST_PACKAGES + more)
    proposal = changed(PROPOSAL, touched=tuple(replace(CORE, package=f"p{n}") for n in packages))
    done = asyncio.run(crowds.judged(offload, (proposal,), len, packages))

    assert done == len(packages)
    assert elsewhere == [len] * more
