"""Which runner gets a call, and what guards it: the only place that knows the order."""

import asyncio
from collections.abc import Sequence

from fnrunner.builtin import PREFIXES
from fnrunner.builtin.pool import Builtin
from fnrunner.errors import (
    FunctionNotFoundError,
    FunctionTimeoutError,
    MessageTooLargeError,
    RunnerBusyError,
)
from fnrunner.run import Limits, Outcome, Runner


class FirstThatHas:
    """A runner that asks others in turn until one has the function."""

    def __init__(self, *runners: Runner) -> None:
        self._runners = runners

    async def run(self, image: str, resources: bytes, *, seconds: float | None = None) -> Outcome:
        """Run it on the first runner that has it, or raise FunctionNotFoundError."""
        for runner in self._runners:
            try:
                return await runner.run(image, resources, seconds=seconds)
            except FunctionNotFoundError:
                continue
        raise FunctionNotFoundError(image)


class TimeLimited:
    """A runner that stops waiting for a function after `limit` seconds."""

    def __init__(self, inner: Runner, limit: float) -> None:
        self._inner = inner
        self._limit = limit

    async def run(self, image: str, resources: bytes, *, seconds: float | None = None) -> Outcome:
        """Run it, or raise FunctionTimeoutError."""
        most = self._limit if seconds is None else min(self._limit, seconds)
        try:
            async with asyncio.timeout(most):
                return await self._inner.run(image, resources, seconds=most)
        except TimeoutError as error:
            raise FunctionTimeoutError(image, most) from error


class SizeLimited:
    """A runner that refuses resources over `limit` bytes, in and out."""

    def __init__(self, inner: Runner, limit: int) -> None:
        self._inner = inner
        self._limit = limit

    async def run(self, image: str, resources: bytes, *, seconds: float | None = None) -> Outcome:
        """Run it, or raise MessageTooLargeError."""
        self._check(image, resources)
        outcome = await self._inner.run(image, resources, seconds=seconds)
        if not outcome.failed:  # a failed function's list is cut to fit on its way out
            self._check(image, outcome.resources)
        return outcome

    def _check(self, image: str, resources: bytes) -> None:
        if len(resources) > self._limit:
            raise MessageTooLargeError(image, len(resources), self._limit)


class QueueLimited:
    """A runner that takes at most `waiting` calls beyond those that run.

    A call that comes when the queue is full is sent away at once: it costs less than
    letting it time out, and the caller knows when to come back.
    """

    _RETRY_AFTER = 1.0  # seconds; a queue of 64 short functions drains in about that time

    def __init__(self, inner: Runner, *, running: int, waiting: int) -> None:
        self._inner = inner
        self._most = running + waiting
        self._now = 0

    async def run(self, image: str, resources: bytes, *, seconds: float | None = None) -> Outcome:
        """Run it, or raise RunnerBusyError."""
        if self._now >= self._most:
            raise RunnerBusyError(
                f'function "{image}"', f"{self._now} calls are ahead of it", self._RETRY_AFTER
            )
        self._now += 1
        try:
            return await self._inner.run(image, resources, seconds=seconds)
        finally:
            self._now -= 1


def runner(limits: Limits, *, prefixes: Sequence[str] = PREFIXES) -> Runner:
    """Return the runner that serves every call: what there is, in order, inside its limits.

    Args:
        limits: How much one call may take.
        prefixes: Registries and folders whose functions the builtin ones stand for; a
            short name means the first.
    """
    functions = FirstThatHas(Builtin(prefixes, running=limits.running))
    queued = QueueLimited(functions, running=limits.running, waiting=limits.waiting)
    return SizeLimited(TimeLimited(queued, limits.seconds), limits.message_bytes)
