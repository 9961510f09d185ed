"""One bot: the real controller, worker and sweeps, over ports that are simulated."""

import asyncio
import contextvars
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from random import Random
from typing import Any

from bot import tasks
from bot.loop import tidying
from bot.loop.controller import Controller
from bot.loop.work import Failed, Result, Worker, WorkItem
from bot.store.port import Store
from cadlib.errors import Place
from cadlib.findings import Finding, Severity
from cadlib.package.files import Files
from lifecycle.policy import GuardrailFunction
from tests.memory import upstreams
from tests.memory.renderer import Answer, MemoryRenderer
from tests.simulation.forge import SimulatedForge
from tests.simulation.ports import Gate, store_port
from tests.simulation.scheduler import OWNER, DrawnLoop, Owner, SimulatedClock
from tests.simulation.setting import JUDGE, STAMP, STAMPER
from tests.simulation.weather import Weather

KEY = b"k" * 32
SWEEP = 900.0
"""Seconds between sweeps, as the bot has it by default."""

_BUG = re.compile(r"^[A-Z]\w*(Error|Exception|Exit|Iteration)\b.*: ", re.DOTALL)


def stamp(_: GuardrailFunction, files: Files) -> Answer:
    """Every resource begins with the stamp."""
    changes = {
        path: f"{STAMP}\n".encode() + entry.data
        for path, entry in files.items()
        if path.endswith(".yaml") and not entry.data.startswith(STAMP.encode())
    }
    return Answer(changes=changes, digest="builtin:stamp/1@1")


def sound(_: GuardrailFunction, files: Files) -> Answer:
    """No resource is bad; what is has a line that says so."""
    bad = sorted((path, e.data) for path, e in files.items() if b"bad" in e.data)
    found = tuple(
        Finding(
            message="it is bad",
            severity=Severity.ERROR,
            place=Place(path, data[: data.index(b"bad")].count(b"\n") + 1),
        )
        for path, data in bad
    )
    return Answer(findings=found, digest="builtin:sound/1@1")


def stamped_and_sound() -> MemoryRenderer:
    """A renderer that knows these two."""
    return MemoryRenderer({STAMPER: stamp, JUDGE: sound})


@dataclass
class World:
    """What all bots share.

    Attributes:
        loop: Order and time.
        forge: The forge.
        store: The database that there is now.
        weather: What goes wrong.
        draw: For the clocks of the bots.
        broke: What broke a look that should not have: a bug.
        looking: Keys that are looked at, and by whom: one at a time, while leases can be renewed.
        beyond: What git in memory could not tell; the history ends there.
        mirrors: Gives a bot its mirrors.
        renderer: Gives a bot what renders.
    """

    loop: DrawnLoop
    forge: SimulatedForge
    store: Store
    weather: Weather
    draw: Random
    broke: list[str]
    looking: dict[str, Owner]
    beyond: list[str]
    mirrors: Callable[[str, SimulatedClock], Any]
    renderer: Callable[[Store, SimulatedClock, Gate], Any]


class Replica:
    """A process of the bot; what it remembers is gone with it.

    Args:
        world: What it works in.
        name: Unlike that of any other process, dead ones too.
        workers: Keys that it looks at at a time.
        wrong: Seconds by which its clock is off.
    """

    def __init__(self, world: World, name: str, workers: int = 2, wrong: float = 0.0) -> None:
        self.name = name
        self.owner = Owner(name)
        self._world = world
        world.weather.owners[name] = self.owner
        gate = Gate(self.owner, world.weather, world.loop)
        self.clock = SimulatedClock(world.loop, world.draw, wrong)
        self.store = store_port(world.store, gate)
        self.renderer: Any = world.renderer(self.store, self.clock, gate)
        mirrors: Any = world.mirrors(name, self.clock)
        self.forges: Any = world.forge.forges(name, gate.offload)
        forges = self.forges
        self.controller = Controller(
            forges,
            mirrors,
            self.renderer,
            self.store,
            [KEY],
            "porchbot",
            upstreams=upstreams.served(
                forges, mirrors, self.store, self.clock, gate.offload, [KEY]
            ),
            clock=self.clock,
            offload=gate.offload,
        )
        self.worker = Worker(self.store, self._work, name, clock=self.clock)
        self._context = contextvars.copy_context()
        self._context.run(OWNER.set, self.owner)
        self._loops = [
            self.start(self.worker.run(workers)),
            self.start(
                tidying.sweep(
                    self.store, [world.forge.name], [mirrors.trim], SWEEP, self.clock, gate.offload
                )
            ),
        ]

    def start(self, work: Coroutine[Any, Any, object]) -> "asyncio.Task[Any]":
        """Begin a task of this process."""
        return self._context.run(self._world.loop.create_task, work)

    @property
    def is_idle(self) -> bool:
        """No look goes on."""
        return self.worker.busy == 0

    def end(self) -> "asyncio.Task[Any]":
        """End it in order: looks end, or are given back; gives what ends when that is done."""
        return self.start(tasks.end(self._loops))

    def kill(self) -> None:
        """End it at once, as the kernel does."""
        self.owner.alive = False
        for task in self.owner.tasks:
            task.cancel()

    async def _work(self, work: WorkItem) -> Result:
        looking, key = self._world.looking, str(work.key)
        other = looking.get(key)
        if other is not None and other.alive and self._world.weather.kept_leases:
            self._world.broke.append(f"{self.name} looks at {key} beside {other.name}")
        looking[key] = self.owner
        try:
            result = await self.controller.work(work)
        finally:
            if looking.get(key) is self.owner:
                del looking[key]
        if isinstance(result, Failed) and "NotImplementedError" in result.reason:
            self._world.beyond.append(result.reason)
        elif isinstance(result, Failed) and _BUG.match(result.reason):
            self._world.broke.append(f"{work.key}: {result.reason}")
        return result
