"""Readiness checks: the forge, the database and the function runner."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import structlog

from bot.clock import SYSTEM, Clock
from bot.forges.port import ForgeBusyError, ForgeRefusedError
from bot.logs import Seldom
from bot.store.values import StoreError

log = structlog.get_logger()

OK = "ok"

MISSING = "not available: the log and /status say why"
"""What anybody is told, who may not know addresses and names of what the bot needs."""

LONGEST = 3.0
"""Seconds that whoever asks waits for any of them."""

Ask = Callable[[], Awaitable[object]]
"""Returns when all is well; raises ForgeBusyError, ForgeRefusedError, StoreError, MissingError."""


class MissingError(Exception):
    """A readiness check failed; the text says why."""


@dataclass(slots=True)
class ReadinessCheck:
    """One readiness check, its answer kept for a while.

    Attributes:
        ask: Finds out about it.
        kept: Seconds that an answer counts, so that asking us often asks nobody else often.
        needed: Without it this process can do nothing for anybody. The forge is not: while it is
            away, webhooks are taken all the same, and nobody else could do more.
        clock: Tells how old an answer is.
    """

    ask: Ask
    kept: float
    clock: Clock = SYSTEM
    needed: bool = True
    _said: str = ""
    _at: float = field(default=float("-inf"))
    _task: asyncio.Task[str] | None = None

    async def read(self) -> str:
        """`OK`, or why not."""
        if self.clock.monotonic() - self._at < self.kept:
            return self._said
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._ask())
        done, _ = await asyncio.wait({self._task}, timeout=LONGEST)
        return self._task.result() if done else f"no answer within {LONGEST:g} s"

    async def _ask(self) -> str:
        try:
            await self.ask()
            self._said = OK
        except (ForgeBusyError, ForgeRefusedError, StoreError, MissingError) as error:
            self._said = str(error)
        self._at = self.clock.monotonic()
        return self._said


class Readiness:
    """All readiness checks of the bot.

    Args:
        checks: By the name of what the bot needs.
    """

    def __init__(self, checks: Mapping[str, ReadinessCheck]) -> None:
        self._checks = checks
        self._ending = False
        self._told = defaultdict[str, Seldom](Seldom)

    def end(self) -> None:
        """From now on the bot is not ready: it ends, and takes what comes only while it does."""
        self._ending = True

    def suffices(self, said: Mapping[str, str]) -> bool:
        """Whether everything that is needed is there.

        Args:
            said: As it was read.
        """
        kinds = self._checks
        return all(
            each == OK for name, each in said.items() if name not in kinds or kinds[name].needed
        )

    async def read(self) -> Mapping[str, str]:
        """Each name with `OK`, or with what is wrong."""
        if self._ending:
            return {"bot": "shutting down"}
        came = await asyncio.gather(*(check.read() for check in self._checks.values()))
        said = dict(zip(self._checks, came, strict=True))
        for name, reason in said.items():
            if reason != OK and (times := self._told[name].times()):
                log.warning("not ready", missing=name, reason=reason, times=times)
        return said

    def public(self, said: Mapping[str, str]) -> Mapping[str, str]:
        """The same without reasons, for whoever asks.

        Args:
            said: As it was read.
        """
        return {
            n: MISSING if n in self._checks and each != OK else each for n, each in said.items()
        }
