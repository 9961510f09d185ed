"""A caching runner: the same function on the same resources runs once.

Rules
- The key is what is run (digest of an image or executable, version of a builtin function), what
  it is granted, and the bytes it is sent, its configuration among them. A tag that moves to
  another digest is another key.
- Answers are kept in memory and, where a folder is given, in a database that any number of
  processes share and that outlives them. Both are bounded; what was used longest ago goes first.
- A function that refused is an answer as well. One that could not be run, or was stopped, is not.
- Functions marked impure are run each time.
- Calls that are the same and at the same time are run once, for as long as one of the callers
  waits: each has its own deadline, and none has another's.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import asdict, dataclass

from fnrunner.answers import FORM, DiskAnswers, MemoryAnswers
from fnrunner.contract.run import (
    CALL,
    CallContext,
    FunctionOutcome,
    Grant,
    Granted,
    Identified,
    Ready,
    current_call,
    late,
)


@dataclass(slots=True)
class _Shared:
    """A call that several wait for.

    Attributes:
        task: What runs it.
        call: How far it has come.
        waiting: How many wait for it.
    """

    task: asyncio.Task[FunctionOutcome]
    call: CallContext
    waiting: int = 0


class Cached:
    """A runner that answers from the cache where it can.

    Args:
        inner: What runs functions, and says what a name means.
        grant: What each function may have.
        memory: Answers of this process.
        disk: Answers of all processes on this machine; None for none.
        hit: Told the name of each function that was answered for from what is kept.
        missed: Told the name of each that was not.
        ready: Brings what a function needs besides a turn; None where nothing has to be.
    """

    def __init__(
        self,
        inner: Identified,
        grant: Grant,
        memory: MemoryAnswers,
        disk: DiskAnswers | None = None,
        hit: Callable[[str], None] = lambda _: None,
        missed: Callable[[str], None] = lambda _: None,
        ready: Ready | None = None,
    ) -> None:
        self._inner = inner
        self._grant = grant
        self._memory = memory
        self._disk = disk
        self._hit = hit
        self._missed = missed
        self._ready = ready
        self._shared: dict[str, _Shared] = {}

    async def identity(self, image: str) -> str:
        """Return what a name means now."""
        return await self._inner.identity(image)

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        """Return the answer that is kept, or run the function and keep its answer."""
        clock = asyncio.get_running_loop().time
        came = clock()
        what = await self._inner.identity(image)
        granted = self._grant(image, what)
        key = _key(what, granted, resources) if granted.pure else ""
        if key:
            found = await self._find(key)
            if found is not None:
                self._hit(image)
                return found
            self._missed(image)

        def left() -> float | None:
            return None if seconds is None else max(0.0, seconds - (clock() - came))

        if self._ready is not None:
            await self._ready(image, left())
        if not key:
            return await self._inner.run(image, resources, seconds=left())
        if key not in self._shared:
            self._shared[key] = self._begun(key, what, image, resources)
        return await self._wait(key, image, left(), seconds)

    def _begun(self, key: str, what: str, image: str, resources: bytes) -> _Shared:
        """Start a call that others may join."""
        call = CallContext(current_call().caller)
        context = copy_context()
        context.run(CALL.set, call)
        run = self._run(key, what, image, resources)
        return _Shared(asyncio.create_task(run, context=context), call)

    async def _wait(
        self, key: str, image: str, left: float | None, seconds: float | None
    ) -> FunctionOutcome:
        """Wait for a shared call until the caller's own time is up; the last who goes stops it."""
        shared, own = self._shared[key], current_call()
        shared.waiting += 1
        try:
            async with asyncio.timeout(left):
                return await asyncio.shield(shared.task)
        except TimeoutError as error:
            raise late(image, seconds or 0.0, shared.call) from error
        finally:
            own.waiting = shared.call.waiting
            shared.waiting -= 1
            if not shared.waiting:
                shared.task.cancel()
            if self._shared.get(key) is shared and (shared.task.done() or not shared.waiting):
                del self._shared[key]

    async def _run(self, key: str, what: str, image: str, resources: bytes) -> FunctionOutcome:
        """Run it for as long as its limits let it: who waits for it may change."""
        outcome = await self._inner.run(image, resources)
        if outcome.digest == what:  # a tag may have moved in between
            self._memory.put(key, outcome)
            if self._disk is not None:
                await asyncio.to_thread(self._disk.put, key, outcome)
        return outcome

    async def _find(self, key: str) -> FunctionOutcome | None:
        found = self._memory.get(key)
        if found is None and self._disk is not None:
            found = await asyncio.to_thread(self._disk.get, key)
            if found is not None:
                self._memory.put(key, found)
        return found


def _key(what: str, granted: Granted, resources: bytes) -> str:
    """Return the name of an answer: what runs, what it may have, and what it is sent."""
    may = json.dumps(asdict(granted), sort_keys=True, default=dict)
    digest = hashlib.sha256(f"{FORM}\n{what}\n{may}\n".encode())
    digest.update(resources)
    return digest.hexdigest()
