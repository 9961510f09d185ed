"""Bots in simulated time that are killed at every call which changes something, and come again."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.simulation import forge_calls
from tests.simulation.forge_calls import Fault, ForgeCall
from tests.stories.people import wait_for
from tests.stories.simulated import SimulatedWorld

AWAY = 2.0
"""Seconds until a bot that was killed is started again."""


@dataclass
class Killing:
    """Kills each bot at a call.

    Attributes:
        play: The world.
        calls: Names of the calls that count. Of two bots, one is killed once its first call was
            done and before its answer, the other right before its second one.
        killed: How often, by call.
    """

    play: SimulatedWorld
    calls: Collection[str]
    killed: Counter[str] = field(default_factory=Counter)
    _met: Counter[str] = field(default_factory=Counter)

    def befalls(self, call: ForgeCall, otherwise: Callable[[ForgeCall], Fault | None]) -> Any:
        """What befalls a call."""
        if not call.writes or call.name not in self.calls:
            return otherwise(call)
        self._met[call.replica] += 1
        done = self.killed.total() % 2 == 0
        if not done and self._met[call.replica] < 2:
            return otherwise(call)
        self.killed[call.name] += 1
        system = vars(self.play)["_system"]
        system.kill(call.replica)
        system.later(AWAY, system.start)
        if done:
            return forge_calls.LOST
        raise asyncio.CancelledError


@dataclass
class KillingLater:
    """Kills the first bot at its first call, the next at its second, and so on, reads included.

    Attributes:
        play: The world.
        killed: How often, by call; every other call was carried out all the same.
    """

    play: SimulatedWorld
    killed: Counter[str] = field(default_factory=Counter)
    _met: Counter[str] = field(default_factory=Counter)

    def befalls(self, call: ForgeCall, otherwise: Callable[[ForgeCall], Fault | None]) -> Any:
        """What befalls a call."""
        self._met[call.replica] += 1
        if self._met[call.replica] <= self.killed.total():
            return otherwise(call)
        self.killed[call.name] += 1
        system = vars(self.play)["_system"]
        system.kill(call.replica)
        system.later(AWAY, system.start)
        if call.writes and self.killed.total() % 2:
            return forge_calls.LOST
        raise asyncio.CancelledError


@contextmanager
def killed_at_one_call_more(play: SimulatedWorld) -> Iterator[KillingLater]:
    """Kill each bot inside the block, as `KillingLater` says; at its end one is left."""
    weather = vars(play)["_system"].weather
    made, before = KillingLater(play), weather.befalls_request
    weather.befalls_request = lambda call: made.befalls(call, before)
    try:
        yield made
    finally:
        weather.befalls_request = before
    wait_for("a bot", lambda: bool(vars(play)["_system"].replicas) or None)


@contextmanager
def killed_at_every_call(play: SimulatedWorld, calls: Collection[str]) -> Iterator[Killing]:
    """Kill each bot inside the block, as `Killing` says; at its end one is left that goes on."""
    weather = vars(play)["_system"].weather
    made, before = Killing(play, calls), weather.befalls_request
    weather.befalls_request = lambda call: made.befalls(call, before)
    try:
        yield made
    finally:
        weather.befalls_request = before
    wait_for("a bot", lambda: bool(vars(play)["_system"].replicas) or None)
