"""Work in threads that is done once for all who wait for it at the same time."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar, cast

from fnrunner.errors import RunnerBusyError

T = TypeVar("T")

_RETRY_AFTER: Final = 1.0  # seconds until another runner has taken this one's place


class Once:
    """Threads, and what is being done in them by a key."""

    def __init__(self, threads: int, name: str) -> None:
        """Make them; they start when they are needed.

        Args:
            threads: How much is done at the same time.
            name: What the threads are called.
        """
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._shared: dict[str, asyncio.Future[Any]] = {}

    def close(self) -> None:
        """Do nothing more; what is being done is waited for."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def do(self, key: str, work: Callable[[], T]) -> T:
        """Do something, or wait for who does it already; it goes on when they go away.

        Args:
            key: Always stands for the same work.
            work: Done in a thread; its errors are for all who wait.

        Raises:
            RunnerBusyError: It was closed.
        """
        shared = self._shared.get(key)
        if shared is None or shared.get_loop() is not asyncio.get_running_loop():
            try:
                shared = asyncio.get_running_loop().run_in_executor(self._threads, work)
            except RuntimeError as error:
                raise _ending() from error
            self._shared[key] = shared
            shared.add_done_callback(lambda done: self._ended(key, done))
        try:
            return cast(T, await asyncio.shield(shared))
        except asyncio.CancelledError:
            if shared.cancelled():  # not who waits: its turn never came
                raise _ending() from None
            raise

    def _ended(self, key: str, done: asyncio.Future[Any]) -> None:
        if self._shared.get(key) is done:
            del self._shared[key]
        if not done.cancelled():
            done.exception()  # seen, even if nobody waits any longer


def _ending() -> RunnerBusyError:
    return RunnerBusyError("the runner", "it is being stopped", _RETRY_AFTER)
