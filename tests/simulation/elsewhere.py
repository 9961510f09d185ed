"""An event loop on a thread of its own, for real things that a drawn loop stands still for."""

import asyncio
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")

LONGEST = 60
"""Seconds that anything there may take."""


class Elsewhere:
    """Runs coroutines on its own thread while whoever asks stands still; a context manager."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """What it gives, or raises."""
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
