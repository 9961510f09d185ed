"""Composes the runners: their order, and the limits around them.

Longer than 400 lines by a little: what surrounds what is read from one page.

sizes, time, crowd -> answers kept -> images brought -> queue
-> builtin, executable, image, pod: first that has it
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fnrunner.answers import DiskAnswers, MemoryAnswers
from fnrunner.builtin.pool import Builtin
from fnrunner.cached import Cached
from fnrunner.contract.errors import (
    ClusterError,
    FunctionNotFoundError,
    FunctionRefusedError,
    MessageTooLargeError,
    SandboxError,
)
from fnrunner.contract.run import (
    CALL,
    CallContext,
    FunctionOutcome,
    Identified,
    Means,
    Ready,
    Readying,
    current_call,
    late,
)
from fnrunner.fence.process import Executables
from fnrunner.fence.reader import OutputReader
from fnrunner.fence.sandbox import Sandbox
from fnrunner.settings import KINDS, FunctionImages, RunnerSettings
from fnrunner.slots import QueueSlots, RunSlots, most
from fnrunner.wire import metrics

if TYPE_CHECKING:
    from fnrunner.images.names import RegistryAccess
    from fnrunner.images.runner import Images

_log = logging.getLogger(__name__)

_CROWD: Final = 4  # times the calls that run or wait for their turn: most find an answer kept
_NONE_NEEDED: Final = SandboxError("no executables are configured", "Configure one")


class FirstThatHas:
    """A runner that asks others in turn until one has the function."""

    def __init__(self, *runners: Identified) -> None:
        self._runners = runners

    async def identity(self, image: str) -> str:
        """Return what it means on the first runner that has it."""
        for runner in self._runners:
            try:
                return await runner.identity(image)
            except FunctionNotFoundError:
                continue
        raise FunctionNotFoundError(image)

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        """Run it on the first runner that has it, or raise FunctionNotFoundError."""
        for runner in self._runners:
            try:
                return await runner.run(image, resources, seconds=seconds)
            except FunctionNotFoundError:
                continue
        raise FunctionNotFoundError(image)

    async def ready(self, image: str, seconds: float | None) -> None:
        """Have what it needs brought by the first runner that has it; see `Images.ready`."""
        for runner in self._runners:
            try:
                await runner.identity(image)
            except FunctionNotFoundError:
                continue
            if isinstance(runner, Readying):
                await runner.ready(image, seconds=seconds)
            return


class TimeLimited:
    """A runner that stops waiting for a function after `limit` seconds."""

    def __init__(self, inner: Identified, limit: float) -> None:
        self._inner = inner
        self._limit = limit

    async def identity(self, image: str) -> str:
        """Return what it means, or raise FunctionTimeoutError."""
        async with _within(image, self._limit):
            return await self._inner.identity(image)

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        """Run it, or raise FunctionTimeoutError."""
        most = self._limit if seconds is None else min(self._limit, seconds)
        async with _within(image, most):
            return await self._inner.run(image, resources, seconds=most)


@asynccontextmanager
async def _within(image: str, seconds: float) -> AsyncIterator[None]:
    call = CallContext(current_call().caller, traceparent=current_call().traceparent)
    before = CALL.set(call)
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise late(image, seconds, call) from error
    finally:
        CALL.reset(before)


class SizeLimited:
    """A runner that refuses resources over `limit` bytes, in and out."""

    def __init__(self, inner: Identified, limit: int) -> None:
        self._inner = inner
        self._limit = limit

    async def identity(self, image: str) -> str:
        """Return what it means."""
        return await self._inner.identity(image)

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        """Run it, or raise MessageTooLargeError."""
        self._check(image, resources)
        outcome = await self._inner.run(image, resources, seconds=seconds)
        if not outcome.failed:  # a failed function's list is cut to fit on its way out
            self._check(image, outcome.resources)
        return outcome

    def _check(self, image: str, resources: bytes) -> None:
        if len(resources) > self._limit:
            raise MessageTooLargeError(image, len(resources), self._limit)


class CrowdLimited:
    """A runner that refuses calls while there are too many, whatever they wait for.

    Behind it calls wait for registries to say what a name means, for answers on disk and for
    other calls that bring the same answer; each holds its resources meanwhile.
    """

    def __init__(self, inner: Identified, most: int) -> None:
        self._inner = inner
        self._places = QueueSlots(most)

    async def identity(self, image: str) -> str:
        """Return what it means."""
        return await self._inner.identity(image)

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        """Run it, or raise RunnerBusyError."""
        async with self._places.one(image):
            return await self._inner.run(image, resources, seconds=seconds)


class QueueLimited:
    """A runner that runs some calls at a time, and lets some more wait for their turn.

    A call that comes when the queue is full is sent away at once, or one of those that have
    the most there: it costs less than letting it time out, and the caller knows when to come back.
    """

    def __init__(self, inner: Identified, *, running: int, waiting: int) -> None:
        self._inner = inner
        self._turns = RunSlots(running)
        self._places = QueueSlots(waiting)

    async def identity(self, image: str) -> str:
        """Return what it means, which needs no turn."""
        return await self._inner.identity(image)

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        """Run it, or raise RunnerBusyError."""
        clock = asyncio.get_running_loop().time
        came, call = clock(), current_call()
        async with AsyncExitStack() as had:
            call.waiting = True  # and so it was, if its time ends here
            with metrics.waiting(image):
                if self._turns.free(image):
                    await had.enter_async_context(self._turns.one(image))
                else:
                    async with self._places.one(image, self._turns.running):
                        await had.enter_async_context(self._turns.one(image))
            call.waiting = False
            left = None if seconds is None else max(0.0, seconds - (clock() - came))
            with metrics.running(image):
                return await self._inner.run(image, resources, seconds=left)


class PreparingRunner:
    """A runner that has everything brought that a function needs before it waits for its turn."""

    def __init__(self, inner: Identified, ready: Ready) -> None:
        self._inner = inner
        self._ready = ready

    async def identity(self, image: str) -> str:
        """Return what it means."""
        return await self._inner.identity(image)

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        """Run it, once what it needs is here."""
        clock = asyncio.get_running_loop().time
        came = clock()
        await self._ready(image, seconds)
        left = None if seconds is None else max(0.0, seconds - (clock() - came))
        return await self._inner.run(image, resources, seconds=left)


class Renamed:
    """A runner whose functions have other names as well."""

    def __init__(self, inner: Identified, names: Sequence[tuple[FunctionImages, str]]) -> None:
        self._inner = inner
        self._names = tuple(names)

    async def identity(self, image: str) -> str:
        """Return what it means under its own name."""
        return await self._inner.identity(self._own(image))

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        """Run it under its own name."""
        return await self._inner.run(self._own(image), resources, seconds=seconds)

    def _own(self, image: str) -> str:
        return next((own for names, own in self._names if names.mean(image)), image)


class Refusing:
    """A runner that refuses every function, and says why."""

    def __init__(self, reason: str, fix: str) -> None:
        self._reason = reason
        self._fix = fix

    async def identity(self, image: str) -> str:
        """Raise FunctionRefusedError."""
        raise FunctionRefusedError(image, self._reason, self._fix)

    async def run(
        self,
        image: str,
        resources: bytes,  # noqa: ARG002 - a runner's
        *,
        seconds: float | None = None,  # noqa: ARG002 - a runner's
    ) -> FunctionOutcome:
        """Raise FunctionRefusedError."""
        raise FunctionRefusedError(image, self._reason, self._fix)


@asynccontextmanager
async def runners(settings: RunnerSettings) -> AsyncIterator[Identified]:
    """Give the runner of every call inside the block: what there is, in order, inside its limits.

    Raises:
        OSError: The folder of answers cannot be used.
    """
    limits, cache = settings.limits, settings.form.cache
    # What cannot be sent on need not be heard out.
    policy = settings.policy.within(limits.message_bytes, limits.seconds)
    settings = replace(settings, policy=policy)
    async with AsyncExitStack() as stack:
        workers = Builtin(
            settings.form.prefixes,
            running=most(limits.running),
            message_bytes=limits.message_bytes,
        )
        stack.push_async_callback(workers.close)
        wanted = [kind for kind in KINDS if kind in settings.form.runtimes]
        each = [await _make(stack, kind, settings, workers) for kind in wanted]
        there = FirstThatHas(*filter(None, each))
        runner: Identified = there
        runner = QueueLimited(runner, running=limits.running, waiting=limits.waiting)
        if cache.enabled:
            disk = DiskAnswers(Path(cache.folder), cache.disk) if cache.folder else None
            if disk is not None:
                stack.callback(disk.close)
            runner = Cached(
                runner,
                settings.policy.granted,
                MemoryAnswers(cache.memory),
                disk,
                hit=metrics.cache_hit,
                missed=metrics.cache_miss,
                ready=there.ready,
            )
        else:
            runner = PreparingRunner(runner, there.ready)
        runner = CrowdLimited(runner, _CROWD * (limits.running + limits.waiting))
        yield SizeLimited(TimeLimited(runner, limits.seconds), limits.message_bytes)


def means(runner: Identified, settings: RunnerSettings) -> Means:
    """Return what says what a name means now, where answers of its function may be kept."""

    async def identity(image: str) -> str:
        what = await runner.identity(image)
        return what if settings.policy.granted(image, what).pure else ""

    return identity


async def _make(
    stack: AsyncExitStack, kind: str, settings: RunnerSettings, workers: Builtin
) -> Identified | None:
    match kind:
        case "builtin":
            workers.start()
            return Renamed(workers, settings.aliases) if settings.aliases else workers
        case "executable":
            fence = (
                await asyncio.to_thread(_sandbox, settings) if settings.programs else _NONE_NEEDED
            )
            return Executables(settings.programs, settings.policy, fence, OutputReader(workers))
        case "pod":
            return await _make_pods(stack, settings)
        case _:
            return await _make_images(stack, settings, workers)


async def _make_images(
    stack: AsyncExitStack, settings: RunnerSettings, workers: Builtin
) -> Identified | None:
    """Return what runs images here; None where they cannot be, and pods are wanted as well."""
    from fnrunner.images.folders import ImageStoreError  # what fetches images takes a while to read

    alone = "pod" in settings.form.runtimes
    try:
        found = await asyncio.to_thread(images, settings, OutputReader(workers))
    except ImageStoreError as error:  # which no builtin function needs
        _log.warning("images %s: %s", "run in pods alone" if alone else "are refused", error)
        return None if alone else Refusing(error.problem, error.fix)
    stack.callback(found.close)
    if alone and found.unfenced is not None:
        _log.warning("images run only in pods: %s", found.unfenced)
        return None
    return found


async def _make_pods(stack: AsyncExitStack, settings: RunnerSettings) -> Identified:
    from fnrunner.pods import runner as pods  # only with a cluster

    try:
        return await stack.enter_async_context(pods.running(settings, _access(settings)))
    except ClusterError as error:  # which no builtin function needs
        _log.warning("pods are refused: %s", error)
        return Refusing(f"functions run in pods, and {error.reason}", error.fix)


def _sandbox(settings: RunnerSettings) -> Sandbox | SandboxError:
    try:
        found = Sandbox.here(uncounted=settings.form.sandbox.uncounted)
    except SandboxError as error:
        return error
    _log.info("memory and processes of programs are counted by: %s", found.counted_by)
    return found


def images(settings: RunnerSettings, reader: OutputReader | None = None) -> "Images":
    """Return a runner of images; whoever makes one closes it.

    Args:
        settings: The runner's.
        reader: Reads what they write; None makes one.

    Raises:
        ImageStoreError: The folder of images cannot be used.
    """
    from fnrunner.images import runner as image

    form = settings.form.images
    how = image.ImageSettings(
        folder=Path(form.folder) if form.folder else None,
        size_bytes=form.size,
        resolve_seconds=form.resolve,
        offline=form.offline,
        access=_access(settings),
        uncounted=settings.form.sandbox.uncounted,
    )
    return image.images(how, settings.policy, reader)


def _access(settings: RunnerSettings) -> "RegistryAccess":
    from fnrunner.images.names import RegistryAccess, Site

    form = settings.form.images
    sites = {
        host: Site(plain=each.insecure, ca=Path(each.ca) if each.ca else None)
        for host, each in form.registries.items()
    }
    return RegistryAccess(
        sites=sites,
        credentials=Path(form.credentials) if form.credentials else None,
        private=form.private,
    )
