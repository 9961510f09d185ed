"""How long the function runner takes: one call at a time and many at once, for 100 resources.

Longer than 400 lines: one machine is set up, and measured in all ways.

Porch's runner did the same on the same two cores (set-namespace v0.4.5, 100 resources of 70 kB):
the last column. The client runs on these cores, too. "New" resources were never seen before.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median, quantiles

from cadlib.stream import resourcelist
from cadlib.stream.resourcelist import Item
from cadlib.yaml import Value, read
from fnrunner.builtin.lookup import get
from fnrunner.builtin.memory import ItemCache
from fnrunner.builtin.work import evaluate
from fnrunner.wire.client import Client
from tests.benchmarks.stage import table
from tests.fnrunner.registry import MISSING, Image, busybox, files, registry
from tests.fnrunner.sandboxes import open_folder

RESOURCES = 100
CALLS = 200
CLIENTS = 16
MANY = 10_000
COLD = 10
PROGRAM = """\
import asyncio, sys
from fnrunner.serve import serve
from fnrunner.settings import read
asyncio.run(serve(sys.argv[1], read(sys.argv[2].encode(), "benchmark")))
"""
# What gRPC itself takes in Python, with nothing of ours: it answers with what it is sent.
ECHO = """\
import asyncio, sys
import grpc
from fnrunner.wire.proto import evaluator_pb2, evaluator_pb2_grpc

class Echo(evaluator_pb2_grpc.FunctionEvaluatorServicer):
    async def EvaluateFunction(self, request, context):
        return evaluator_pb2.EvaluateFunctionResponse(resource_list=request.resource_list)

async def serve():
    server = grpc.aio.server()
    evaluator_pb2_grpc.add_FunctionEvaluatorServicer_to_server(Echo(), server)
    server.add_insecure_port(sys.argv[1])
    await server.start()
    await server.wait_for_termination()

asyncio.run(serve())
"""
CACHE_OFF = "version: 1\ncache: {enabled: false}\n"
CACHE_ON = "version: 1\ncache: {memory: 8Mi}\n"  # small, so that it is full after some calls
SALT = "salt00000000"

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: service-{i} # the name
  namespace: example
  labels:
    app: service-{i}
spec:
  replicas: 3
  selector:
    matchLabels:
      app: service-{i}
  template:
    metadata:
      labels:
        app: service-{i}
    spec:
      containers:
        - name: main
          image: registry.example.com/service:1.2.3
          ports:
            - containerPort: 8080
"""

CONFIGS: dict[str, dict[str, Value]] = {
    "set-namespace": {"namespace": "staging"},
    "set-labels": {"team": "a"},
    "set-annotations": {"owner": "a"},
    "kubeconform": {"strict": "true"},
    "no-op": {},
}
PIPELINE = ("set-namespace", "set-labels", "set-annotations", "no-op", "kubeconform")


def resources(name: str, count: int = RESOURCES) -> bytes:
    """A ResourceList of Deployments, with a salt that makes it unlike any other once replaced."""
    items = []
    for i in range(count):
        document = read(DEPLOYMENT.format(i=f"{SALT}-{i}").encode()).documents[0]
        items.append(
            Item(value=document.value, comments=document.comments, path=f"app-{i}.yaml", index=0)
        )
    made: Value = {"apiVersion": "v1", "kind": "ConfigMap", "data": CONFIGS[name]}
    return resourcelist.encode(items, made)


class Requests:
    """As many ResourceLists as are asked for, each unlike all before."""

    def __init__(self) -> None:
        self._made = 0

    def new(self, template: bytes, count: int) -> list[bytes]:
        """Return lists that no runner has seen."""
        self._made += count
        numbers = range(self._made - count, self._made)
        return [template.replace(SALT.encode(), f"salt{n:08}".encode()) for n in numbers]


@contextmanager
def process(program: str, address: str, settings: str) -> Iterator[int]:
    """A runner in a process of its own; gives its id."""
    started = subprocess.Popen([sys.executable, "-P", "-c", program, address, settings])
    try:
        yield started.pid
    finally:
        started.terminate()
        started.wait(20)


@asynccontextmanager
async def running(settings: str) -> AsyncIterator[tuple[str, int, Client]]:
    """A runner that answers, on a Unix socket; gives its address, its process and a client."""
    with tempfile.TemporaryDirectory() as folder:
        address = f"unix:{folder}/runner"
        with process(PROGRAM, address, settings) as pid:
            async with Client(address) as client:
                await client.is_ready(30)
                yield address, pid, client


async def one_by_one(client: Client, image: str, requests: Sequence[bytes]) -> list[float]:
    """Seconds of each call."""
    seconds = []
    for request in requests:
        started = time.perf_counter()
        await client.run(image, request)
        seconds.append(time.perf_counter() - started)
    return seconds


async def at_once(
    address: str, image: str, requests: Sequence[bytes]
) -> tuple[float, list[list[float]]]:
    """Calls a second with many clients, and the seconds of the calls of each."""
    clients = [Client(address) for _ in range(CLIENTS)]
    for client in clients:
        await client.is_ready(30)
    share = [requests[i::CLIENTS] for i in range(CLIENTS)]
    started = time.perf_counter()
    each = await asyncio.gather(
        *(one_by_one(client, image, part) for client, part in zip(clients, share, strict=True))
    )
    seconds = time.perf_counter() - started
    for client in clients:
        await client.close()
    return len(requests) / seconds, each


def ms(seconds: float) -> str:
    """As it stands in a table."""
    return f"{seconds * 1000:.1f} ms"


def p99(seconds: Sequence[float]) -> float:
    """The time that one of a hundred calls takes."""
    return quantiles(seconds, n=100)[98]


Row = list[str]


async def starts() -> list[Row]:
    """How soon a runner answers."""
    started = time.perf_counter()
    template = resources("set-namespace", 1)
    async with running(CACHE_OFF) as (_, _, client):
        served = time.perf_counter() - started
        await client.run("set-namespace", template)
        answered = time.perf_counter() - started
    return [
        ["start: health says that it serves", f"{served:.2f} s", "0.5 s", ""],
        ["start: the first call is answered", f"{answered:.2f} s", "", ""],
    ]


async def uncached() -> list[Row]:
    """New resources, no answers kept."""
    made = Requests()
    template = resources("set-namespace")
    async with running(CACHE_OFF) as (address, pid, client):
        await one_by_one(client, "set-namespace", made.new(template, 20))
        before = cpu(pid)
        seconds = await one_by_one(client, "set-namespace", made.new(template, CALLS))
        spent = (cpu(pid) - before) / CALLS
        rows = [
            ["new, one by one: p50", ms(median(seconds)), "15 ms (aim 10)", "26.6 ms"],
            ["new, one by one: p99", ms(p99(seconds)), "", "34.9 ms"],
            ["new, one by one: a second", f"{CALLS / sum(seconds):.0f}", "", "37"],
            ["new: processor time of the runner", ms(spent), "", ""],
        ]
        rows += await overhead(client, made.new(template, 1)[0])
        await at_once(address, "set-namespace", made.new(template, 4 * CLIENTS))
        rate, each = await at_once(address, "set-namespace", made.new(template, 2 * CALLS))
        rows += [
            [f"new, {CLIENTS} clients: a second", f"{rate:.0f}", "120 (aim 160)", "79"],
            *fairness("new", each, "202 ms"),
        ]
        for image in ("set-labels", "set-annotations", "kubeconform"):
            requests = made.new(resources(image), CALLS // 4)
            await client.run(image, requests[0])
            seconds = await one_by_one(client, image, requests[1:])
            rows.append([f"new, {image}: p50", ms(median(seconds)), "", ""])
        return [*rows, await pipeline(client, made)]


def fairness(name: str, each: Sequence[Sequence[float]], porch: str) -> list[Row]:
    """What the client that was served best and the one that was served worst saw."""
    middle, slowest = sorted(map(median, each)), sorted(map(p99, each))
    return [
        [f"{name}, best and worst client: p50", f"{ms(middle[0])}, {ms(middle[-1])}", "", porch],
        [f"{name}, best and worst client: p99", f"{ms(slowest[0])}, {ms(slowest[-1])}", "", ""],
    ]


async def overhead(client: Client, request: bytes) -> list[Row]:
    """What the runner adds to the function itself, and gRPC to nothing, measured side by side."""
    memory, function = ItemCache(), get("set-namespace")
    added, alone = [], []
    with tempfile.TemporaryDirectory() as folder, process(ECHO, f"unix:{folder}/echo", ""):
        async with Client(f"unix:{folder}/echo") as echo:
            await one_by_one(echo, "no-op", [request] * 20)
            for _ in range(CALLS):
                (there,) = await one_by_one(client, "set-namespace", [request])
                started = time.perf_counter()
                evaluate("set-namespace", function, request, memory)
                added.append(there - (time.perf_counter() - started))
                alone += await one_by_one(echo, "no-op", [request])
    return [
        ["overhead over the function itself: p50", ms(median(added)), "2 ms", ""],
        ["of it, gRPC itself: p50", ms(median(alone)), "", ""],
    ]


async def on_one_core() -> list[Row]:
    """The overhead where no hand-over has to wake another core, which takes a virtual machine long.

    It tells work from waiting: all processes share one core, so that nothing runs at once.
    """
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})  # what is started inherits it
    try:
        template, made = resources("set-namespace"), Requests()
        async with running(CACHE_OFF) as (_, _, client):
            await one_by_one(client, "set-namespace", made.new(template, 20))
            rows = await overhead(client, made.new(template, 1)[0])
    finally:
        os.sched_setaffinity(0, cores)
    return [[f"{name}, all on one core", *figures] for name, *figures in rows]


async def pipeline(client: Client, made: Requests) -> Row:
    """Five functions after another on 1,000 resources, each sent what the one before left."""
    template = resources("set-namespace", 1000)
    configs = {name: _config(name) for name in PIPELINE}
    whole = []
    for data in made.new(template, 6):
        left = data
        started = time.perf_counter()
        for name in PIPELINE:
            sent = left[: left.index(b"functionConfig:\n")] + configs[name]
            left = (await client.run(name, sent)).resources
        whole.append(time.perf_counter() - started)
    return ["five functions on 1,000 resources: p50", ms(median(whole)), "(aim 400 ms)", ""]


def _config(name: str) -> bytes:
    made: Value = {"apiVersion": "v1", "kind": "ConfigMap", "data": CONFIGS[name]}
    frame = resourcelist.encode((), made)
    return frame[frame.index(b"functionConfig:\n") :]


async def cached() -> list[Row]:
    """Answers that were kept, and memory after many calls."""
    made = Requests()
    (request,) = made.new(resources("set-namespace"), 1)
    async with running(CACHE_ON) as (address, pid, client):
        await client.run("set-namespace", request)
        seconds = await one_by_one(client, "set-namespace", [request] * 5 * CALLS)
        rate, _ = await at_once(address, "set-namespace", [request] * 20 * CALLS)
        rows = [
            ["kept, one by one: p50", ms(median(seconds)), "", ""],
            ["kept, one by one: a second", f"{len(seconds) / sum(seconds):.0f}", "", ""],
            [f"kept, {CLIENTS} clients: a second", f"{rate:.0f}", "1,000", ""],
        ]
        small = resources("set-namespace", 5)
        await at_once(address, "set-namespace", made.new(small, MANY // 2))
        before = memory(pid)
        rate, each = await at_once(address, "set-namespace", made.new(small, MANY))
        rows += [
            [f"{MANY:,} calls of 5 new resources: a second", f"{rate:.0f}", "", ""],
            *fairness("these", each, ""),
            ["memory before and after these", f"{before:.0f}, {memory(pid):.0f} MB", "", "82 MB"],
        ]
    return rows


async def images() -> list[Row]:
    """A function image that gives back what it is sent, from a registry on this machine."""
    if MISSING:
        return [[f"images: not measured, these programs are not here: {MISSING}", "", "", ""]]
    request = resources("no-op")
    with registry() as hub, open_folder() as folder:
        settings = (
            f"{CACHE_OFF}calls: {{time: 60s}}\n"
            f"images: {{folder: {folder}, registries: {{'{hub.host}': {{insecure: true}}}}}}\n"
        )
        for n in range(COLD):
            layers = [busybox("bin/cat"), files({"number": str(n)})]
            hub.push(f"cat:v{n}", Image(layers, {"Entrypoint": ["/bin/cat"]}))
        async with running(settings) as (address, _, client):
            cold = [
                seconds
                for n in range(COLD)
                for seconds in await one_by_one(client, f"{hub.host}/cat:v{n}", [request])
            ]
            warm = await one_by_one(client, f"{hub.host}/cat:v0", [request] * CALLS)
            rate, each = await at_once(address, f"{hub.host}/cat:v0", [request] * 2 * CALLS)
    return [
        ["image, cold: p50", ms(median(cold)), "(aim 500 ms)", ""],
        ["image, warm: p50", ms(median(warm)), "(aim 25 ms)", ""],
        ["image, warm: p99", ms(p99(warm)), "", ""],
        [f"image, warm, {CLIENTS} clients: a second", f"{rate:.0f}", "", ""],
        *fairness("these", each, ""),
    ]


def family(pid: int) -> list[int]:
    """A process and its children."""
    found = [pid]
    for path in Path("/proc").glob("[0-9]*/stat"):
        fields = _fields(path)
        if fields and int(fields[1]) == pid:
            found.append(int(path.parent.name))
    return found


def _fields(path: Path) -> list[str]:
    try:
        return path.read_text().rpartition(")")[2].split()
    except OSError:  # it ended meanwhile
        return []


def cpu(pid: int) -> float:
    """Processor seconds that a process and its children have used."""
    fields = [_fields(Path(f"/proc/{each}/stat")) for each in family(pid)]
    ticks = sum(int(each[11]) + int(each[12]) for each in fields if each)
    return ticks / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    """Resident memory of a process and its children, in MB."""
    pages = 0
    for each in family(pid):
        try:
            pages += int(Path(f"/proc/{each}/statm").read_text().split()[1])
        except OSError:
            continue
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def run() -> None:
    """Measure the runner over a Unix socket and print what was found."""
    size = len(resources("set-namespace"))
    print(f"Calls of set-namespace on {RESOURCES} resources, {size / 1000:.0f} kB each.\n")
    rows: list[Row] = []
    for part in (starts, uncached, on_one_core, cached, images):
        rows += asyncio.run(part())
    table(["", "ours", "bar", "Porch's runner"], rows)


def main() -> None:
    """Run it alone: `python -m tests.benchmarks.runner`."""
    run()


if __name__ == "__main__":
    main()
