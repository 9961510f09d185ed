"""Cancels asyncio tasks and waits until they have ended."""

import asyncio
from collections.abc import Iterable
from typing import Any

AGAIN = 0.5
"""Seconds until a task that has not ended is cancelled again."""


async def end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks until they have ended; what they raise is dropped.

    Once is not enough: `asyncio.wait_for` before Python 3.12 loses a cancellation that arrives
    together with what it waited for (python/cpython#86296), and libraries use it in their loops.
    """
    waiting = {task for task in tasks if not task.done()}
    while waiting:
        for task in waiting:
            task.cancel()
        _, waiting = await asyncio.wait(waiting, timeout=AGAIN)
