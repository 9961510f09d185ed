"""An event loop for real I/O, which runs while a drawn loop waits for it, on the same thread."""

import asyncio
from collections.abc import Coroutine, Generator
from functools import partial
from types import TracebackType, coroutine
from typing import Any, Self, TypeVar

T = TypeVar("T")

LONGEST = 60
"""Seconds that one coroutine may take."""


class InnerLoop:
    """Runs coroutines to their end while the caller blocks; a context manager.

    What they have left to tasks goes on during the next one. A loop on a thread of its own costs
    several times what a statement of a database takes: two threads wake each other for each.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end; return its result, or raise its exception.

        Raises:
            TimeoutError: It took longer than `LONGEST`.
        """
        outer = asyncio._get_running_loop()
        asyncio._set_running_loop(self._loop)
        try:
            try:
                awaited = work.send(None)  # most of them wait for nothing
            except StopIteration as ended:
                return ended.value  # type: ignore[no-any-return]
            asyncio._set_running_loop(None)
            rest = asyncio.wait_for(_rest(work, awaited), LONGEST)
            return self._loop.run_until_complete(rest)
        finally:
            asyncio._set_running_loop(outer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.close()


@coroutine
def _rest(work: Coroutine[Any, Any, T], awaited: Any) -> Generator[Any, Any, T]:
    """Go on with a coroutine that has begun, where it waits for something."""
    while True:
        try:
            given = yield awaited
        except BaseException as error:
            goes_on = partial(work.throw, error)
        else:
            goes_on = partial(work.send, given)
        try:
            awaited = goes_on()
        except StopIteration as ended:
            return ended.value  # type: ignore[no-any-return]
