"""Workers that render packages, and functions that end when a test lets them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bot.render.renderer import CachingRenderer
from bot.render.workers.maker import FUNCTION_SECONDS, WorkerMaker
from bot.render.workers.pool import Workers
from cadlib.limits import MIB, PackageLimits
from cadlib.package.files import Entry, Files
from fnrunner.contract.run import FunctionOutcome
from lifecycle.facts.verdicts import Verdict
from lifecycle.policy import GuardrailFunction, Policy

KPTFILE = b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: core}\n"
CONFIG = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
CHECKED = Policy(validators=(GuardrailFunction(image="registry.example/judge:v1"),))


@dataclass
class Trees:
    """Packages of one repository by tree; each has a Kptfile."""

    name: str = "acme"
    known: dict[str, Mapping[str, bytes]] = field(default_factory=dict)

    def files(self, tree: str, limits: PackageLimits) -> Files:
        found = {"Kptfile": KPTFILE, **self.known.get(tree, {})}
        return {path: Entry(data) for path, data in found.items()}


@dataclass
class Functions:
    """Runs a function that changes nothing, once it is let.

    Attributes:
        began: The lists it was sent, in order.
        gate: Calls wait for it.
    """

    began: list[bytes] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    called: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(
        self, image: str, resources: bytes, *, seconds: float | None = None
    ) -> FunctionOutcome:
        self.began.append(resources)
        self.called.set()
        await self.gate.wait()
        return FunctionOutcome(resources, digest="sha256:one")


@dataclass
class Bench:
    workers: Workers
    functions: Functions
    renderer: CachingRenderer

    async def verdict(
        self,
        tree: str = "small",
        data: bytes = CONFIG,
        policy: Policy = CHECKED,
        repository: str = "acme",
    ) -> Verdict:
        trees = Trees(repository, {tree: {"a.yaml": data}})
        return await self.renderer.verdict(trees, f"net/{tree}", tree, "", policy)


@asynccontextmanager
async def bench(
    most: int = 2,
    *,
    memory: int = 1024,
    seconds: float = 30,
    idle: float = 300,
    grace: float = 60,
    function_seconds: float = FUNCTION_SECONDS,
) -> AsyncIterator[Bench]:
    """Workers that are measured by what they do, and not by how long a busy machine takes."""
    memory_bytes = memory * MIB
    workers = Workers(
        most, memory_bytes=memory_bytes, seconds=seconds, wall=1000, grace=grace, idle=idle
    )
    functions = Functions()
    try:
        maker = WorkerMaker(functions, workers, function_seconds=function_seconds)
        yield Bench(workers, functions, CachingRenderer(maker))
    finally:
        functions.gate.set()
        await workers.close()


def parent(pid: int) -> int:
    """Number of the process that another was forked from."""
    return int(_fields(pid)[1])


def runs(pid: int) -> bool:
    """Whether a process has not ended; one that nobody has waited for yet has."""
    try:
        return _fields(pid)[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def processor(pid: int) -> int:
    """Ticks of processor time of a process."""
    return int(_fields(pid)[11]) + int(_fields(pid)[12])


def _fields(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()


async def until(holds: Callable[[], bool]) -> None:
    """Wait for something that comes in its own time."""
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.01)
