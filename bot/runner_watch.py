"""Watches a function runner: one that hangs is broken, which is no fault of a package."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from bot.ready import MissingError
from fnrunner.client import Client
from fnrunner.errors import FunctionTimeoutError, RunnerBusyError
from fnrunner.run import Outcome

log = structlog.get_logger()

EVERY, SECONDS, STRIKES = 1.0, 2.0, 3
"""Seconds between health checks, for one, and how many in a row must fail: a machine that is busy
may miss one, and what hangs is noticed within nine seconds."""

STARTING = 15
"""Checks that a runner started in place of a hung one may fail."""

_WHERE = "function runner"
_SILENT = "it does not answer health checks"


class WatchedRunner:
    """A runner whose calls end when it stops answering.

    Args:
        client: The runner.
        every: Seconds between health checks.
        seconds: For one of them.
        strikes: How many must fail in a row.
    """

    def __init__(
        self,
        client: Client,
        *,
        every: float = EVERY,
        seconds: float = SECONDS,
        strikes: int = STRIKES,
    ) -> None:
        self._client = client
        self._every = every
        self._seconds = seconds
        self._strikes = strikes
        self._hangs = asyncio.Event()

    async def check(self) -> None:
        """Ask for its health.

        Raises:
            MissingError: It does not answer.
        """
        if self._hangs.is_set() or not await self._client.is_ready(self._seconds):
            raise MissingError(f"{_WHERE}: {_SILENT}")

    async def run(self, image: str, resources: bytes, *, seconds: float | None = None) -> Outcome:
        """Run a function; see `fnrunner.run.Runner.run`.

        Raises:
            RunnerBusyError: Also when the runner hangs.
        """
        if self._hangs.is_set():
            raise self._error()
        call = asyncio.ensure_future(self._client.run(image, resources, seconds=seconds))
        hangs = asyncio.create_task(self._hangs.wait())
        try:
            await asyncio.wait({call, hangs}, return_when=asyncio.FIRST_COMPLETED)
            if not call.done():
                raise self._error()
            return call.result()
        except FunctionTimeoutError as error:
            # Nobody says whether the function or the runner took so long: ask.
            if await self._client.is_ready(self._seconds):
                raise
            raise self._error() from error
        finally:
            hangs.cancel()
            if not call.done():
                call.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await call

    async def watch(
        self, back: Callable[[], Awaitable[None]], replace: Callable[[], None] | None = None
    ) -> None:
        """Check the runner's health until cancelled.

        Args:
            back: Called when it answers again after it did not.
            replace: Ends one that hangs, so that another is started; None where that is not ours.
        """
        failed = 0
        replaced: int | None = None
        while True:
            if await self._client.is_ready(self._seconds):
                replaced = None
                if failed:
                    log.info("the function runner answers again")
                    failed = 0
                    self._hangs.clear()
                    await back()
            else:
                failed += 1
                log.warning("the function runner does not answer health checks", failed=failed)
                if failed >= self._strikes:
                    self._hangs.set()
                    # Another one needs time to start before it is replaced, too.
                    if replace is not None and (replaced is None or failed > replaced + STARTING):
                        replaced = failed
                        replace()
            await asyncio.sleep(self._every)

    def _error(self) -> RunnerBusyError:
        return RunnerBusyError(_WHERE, _SILENT, self._every)
