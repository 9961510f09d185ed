"""What stands between a simulated bot and its store: a statement may be late, fail, or be the last.

Calls of a process that was killed reach nothing, whatever runs in its `finally` blocks. For the
forge and its git this is `Weather.befalls_request`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from typing import Any, ParamSpec, TypeVar, cast

from bot.store.port import Store
from tests.simulation.scheduler import DrawnLoop, Owner
from tests.simulation.weather import STORE, Weather

P = ParamSpec("P")
T = TypeVar("T")


class Gate:
    """Where one process's statements and work leave it.

    Args:
        owner: The process.
        weather: What befalls them.
        loop: Where others come between.
    """

    def __init__(self, owner: Owner, weather: Weather, loop: DrawnLoop) -> None:
        self._owner = owner
        self._weather = weather
        self._loop = loop

    async def statement(self, name: str, work: Callable[[], Awaitable[T]]) -> T:
        """Make one statement, or die of it."""
        weather, owner = self._weather, self._owner
        weather.live(owner.name)
        late = weather.latency()
        if late:
            await asyncio.sleep(late)
            weather.live(owner.name)
        weather.trace.append(f"{owner.name} {name}")
        mishap = weather.befalls(owner.name, STORE, writes=True, name=name)
        if mishap is None:
            result = await work()
            weather.live(owner.name)
            if name == "keep":
                weather.keeps(owner.name)
            return result
        if mishap.fault.done:
            await work()
        if mishap.kills:
            weather.kill(owner.name)
            raise asyncio.CancelledError
        raise weather.failure()

    async def offload(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Implements `bot.clock.Offload`: others come between before it and after it."""
        self._weather.live(self._owner.name)
        await self._loop.others_go_on()
        self._weather.live(self._owner.name)
        return work(*args, **kwargs)


class Port:
    """A part of a store whose coroutine functions are statements."""

    def __init__(self, inner: object, gate: Gate) -> None:
        self._inner = inner
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not iscoroutinefunction(found):
            return found
        gate = self._gate

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await gate.statement(name, lambda: found(*args, **kwargs))

        setattr(self, name, call)
        return call


class StorePort:
    """A store as one process has it."""

    def __init__(self, store: Store, gate: Gate) -> None:
        for name in Store.__annotations__:
            setattr(self, name, Port(getattr(store, name), gate))


def store_port(store: Store, gate: Gate) -> Store:
    """A store as one process has it."""
    return cast(Store, StorePort(store, gate))
