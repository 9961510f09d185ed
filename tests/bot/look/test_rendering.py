"""Renderings of a look that is cancelled."""

import asyncio

from bot.look.rendering import Verdicts, soon


async def test_a_look_that_is_cancelled_before_it_renders_calls_nothing() -> None:
    """The short-cut is given a coroutine: Python finds it never awaited, later, in any test."""
    called = []

    async def render() -> Verdicts:
        called.append(True)
        return ()

    async def look() -> Verdicts | None:
        return await soon(render, None)

    cancelled, whole = asyncio.create_task(look()), asyncio.create_task(look())
    cancelled.cancel()
    await asyncio.gather(cancelled, whole, return_exceptions=True)

    assert cancelled.cancelled()
    assert called == [True]
