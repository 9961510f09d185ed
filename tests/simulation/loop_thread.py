"""An event loop on its own thread, for real I/O that a drawn loop waits for."""

import asyncio
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")

LONGEST = 60
"""Seconds that one coroutine may take."""


class LoopThread:
    """Runs coroutines on its own thread while the caller blocks; a context manager."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end; return its result, or raise its exception."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(LONGEST)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
