"""Where blocking work is done: what is slow in one place holds up no other."""

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import cast

import pytest

from bot.clock import OwnThreads, in_thread
from bot.connecting import everywhere, gitlab_tokens
from bot.forges.gitlab.forges import GitLabForges
from bot.settings import Settings
from tests.bot.test_gitlabs import SEVERAL

PLACE: ContextVar[str] = ContextVar("place", default="nowhere")


async def test_who_waits_in_threads_of_its_own_holds_up_nobody_else() -> None:
    """The short-cut shares the event loop's threads: calls to one slow forge take all of them."""
    slow, other, ends = OwnThreads("slow", 2), OwnThreads("other", 1), threading.Event()
    PLACE.set("here")
    try:
        stuck = [asyncio.create_task(slow(ends.wait)) for _ in range(50)]
        await asyncio.sleep(0)

        assert await in_thread(PLACE.get) == "here"
        assert await other(PLACE.get) == "here"
        assert not any(each.done() for each in stuck)

        slow.close()
        ends.set()
        came = await asyncio.gather(*stuck, return_exceptions=True)
        assert came.count(True) == 2
        assert sum(isinstance(each, asyncio.CancelledError) for each in came) == 48
    finally:
        ends.set()
        other.close()


def test_each_forge_has_threads_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short-cut gives them to the requests, and the controller fetches where all others do."""
    settings = Settings.from_env(
        {**SEVERAL, "PORCHBOT_GITLAB_GITLAB_COM_SIGNING_TOKENS": "whsec_b25l"}
    )
    ends: list[Callable[[], None]] = []

    found = everywhere(settings, gitlab_tokens(settings), ends.append)
    for end in ends:
        end()

    threads = [each.offload for each in found.values()]
    assert len(threads) == 2
    assert threads[0] is not threads[1]
    assert in_thread not in threads
    forges = [cast(GitLabForges, each.forges) for each in found.values()]
    asked = [each._user.clients.offload for each in forges]
    assert asked == threads
