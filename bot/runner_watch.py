"""Health checks of the function runner: a runner that hangs is restarted, its calls end as busy."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

import structlog

from bot import tracing
from bot.clock import SYSTEM, Clock
from bot.http.ready import MissingError
from bot.logs import Seldom
from fnrunner.contract.errors import FunctionTimeoutError, RunnerBusyError
from fnrunner.contract.run import CALL, CallContext, FunctionOutcome, current_call
from fnrunner.wire.client import Client

log = structlog.get_logger()

EVERY, SECONDS, STRIKES = 1.0, 2.0, 3
"""Seconds between health checks, for one, and how many in a row must fail: a machine that is busy
may miss one, and what hangs is noticed within nine seconds."""

STARTING = 15
"""How many a process may fail in a row before it has answered once: it has to start first."""

_WHERE = "function runner"
_SILENT = "it does not answer health checks"


TOLD_AGAIN = 300.0
"""Seconds after which the log says once more that it does not answer."""


class Process(Protocol):
    """The runner's process, which is started again whenever it ends."""

    @property
    def answered(self) -> bool:
        """Whether it has answered before it is watched."""

    @property
    def pid(self) -> int | None:
        """Number of the process; another one after it was started again."""

    def kill(self) -> None:
        """End it at once; one that has ended already is no error."""


class WatchedRunner:
    """A runner whose calls end when it stops answering.

    Args:
        client: The runner.
        every: Seconds between health checks.
        seconds: For one of them.
        strikes: How many must fail in a row.
        clock: By which the checks are apart.
    """

    def __init__(
        self,
        client: Client,
        *,
        every: float = EVERY,
        seconds: float = SECONDS,
        strikes: int = STRIKES,
        clock: Clock = SYSTEM,
    ) -> None:
        self._client = client
        self._every = every
        self._seconds = seconds
        self._strikes = strikes
        self._clock = clock
        self._hangs = asyncio.Event()

    async def check(self) -> None:
        """Ask for its health.

        Raises:
            MissingError: It does not answer.
        """
        if self._hangs.is_set() or not await self._client.is_ready(self._seconds):
            raise MissingError(f"{_WHERE}: {_SILENT}")

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        """Run a function; see `fnrunner.contract.run.Runner.run`.

        Raises:
            RunnerBusyError: Also when the runner hangs.
        """
        if self._hangs.is_set():
            raise self._error()
        with tracing.span("run a function", image=image):
            return await self._run(image, resources, seconds)

    async def _run(self, image: str, resources: bytes, seconds: float | None) -> FunctionOutcome:
        asked = CallContext(current_call().caller, traceparent=tracing.traceparent())
        before = CALL.set(asked)
        call = asyncio.ensure_future(self._client.run(image, resources, seconds=seconds))
        CALL.reset(before)
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

    async def identity(self, image: str) -> str:
        """Return what a name means now; see `fnrunner.wire.client.Client.identity`.

        Raises:
            RunnerBusyError: Also when the runner hangs.
        """
        if self._hangs.is_set():
            raise self._error()
        return await self._client.identity(image)

    async def watch(self, back: Callable[[], Awaitable[bool]], own: Process | None = None) -> None:
        """Check the runner's health until cancelled.

        Args:
            back: Called when it answers again after it did not, and when another process answers:
                one that died may be back before a check fails. Called again at the next check
                while it returns False.
            own: Its process, ended when it hangs so that another is started; None where that is
                not ours.
        """
        answered = own.pid if own and own.answered else None  # which one did last
        seldom = Seldom(TOLD_AGAIN)
        failed = in_a_row = 0  # the latter of the process that was asked last
        silent, told = answered, True
        while True:
            asked = own.pid if own else None
            if await self._client.is_ready(self._seconds):
                if failed or asked != answered:
                    log.info("the function runner answers again")
                    failed, answered, told = 0, asked, False
                    self._hangs.clear()
                    seldom = Seldom(TOLD_AGAIN)
                told = told or await back()
            else:
                in_a_row = in_a_row + 1 if failed and asked == silent else 1
                failed, silent = failed + 1, asked
                if seldom.times():
                    log.warning("the function runner does not answer health checks", failed=failed)
                if failed >= self._strikes:
                    self._hangs.set()
                allowed = self._strikes if asked == answered else STARTING
                if own is not None and in_a_row >= allowed:
                    own.kill()
            await self._clock.sleep(self._every)

    def _error(self) -> RunnerBusyError:
        return RunnerBusyError(_WHERE, _SILENT, self._every)
