"""How long the function runner takes: one call at a time and many at once, for 100 resources.

Porch's runner, for comparison (set-namespace v0.4.5, 100 resources of 70 kB, two cores):
26.6 ms p50, 34.9 ms p99, 37 calls a second; with 16 clients 79 calls a second.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median, quantiles

from cadlib import resourcelist
from cadlib.resourcelist import Item
from cadlib.yaml import Value, read
from fnrunner.client import Client

RESOURCES = 100
CALLS = 200
CLIENTS = 16
PROGRAM = "import asyncio, sys; from fnrunner.serve import serve; asyncio.run(serve(sys.argv[1]))"

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: service-{i} # the name
  namespace: example
  labels:
    app: service-{i}
    tier: backend
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
          image: registry.example.com/service-{i}:1.2.3
          ports:
            - name: http
              containerPort: 8080
          env:
            - name: LEVEL
              value: info
            - name: REGION
              value: europe-west1
          resources:
            limits:
              memory: 256Mi
            requests:
              cpu: 100m
              memory: 128Mi
"""


def resources(config: dict[str, Value], salt: str) -> bytes:
    """A ResourceList of 100 Deployments; `salt` makes it unlike any other."""
    items = []
    for i in range(RESOURCES):
        document = read(DEPLOYMENT.format(i=f"{salt}-{i}").encode()).documents[0]
        items.append(
            Item(value=document.value, comments=document.comments, path=f"app-{i}.yaml", index=0)
        )
    made: Value = {"apiVersion": "v1", "kind": "ConfigMap", "data": config}
    return resourcelist.encode(items, made)


@contextmanager
def runner(address: str) -> Iterator[subprocess.Popen[bytes]]:
    """A runner in a process of its own."""
    process = subprocess.Popen([sys.executable, "-P", "-c", PROGRAM, address])
    try:
        yield process
    finally:
        process.terminate()
        process.wait(20)


async def one_by_one(client: Client, image: str, requests: list[bytes]) -> list[float]:
    """Seconds of each call."""
    seconds = []
    for request in requests:
        started = time.perf_counter()
        await client.run(image, request)
        seconds.append(time.perf_counter() - started)
    return seconds


async def at_once(address: str, image: str, requests: list[bytes]) -> float:
    """Calls a second with many clients."""
    clients = [Client(address) for _ in range(CLIENTS)]
    share = [requests[i::CLIENTS] for i in range(CLIENTS)]
    started = time.perf_counter()
    await asyncio.gather(
        *(one_by_one(client, image, part) for client, part in zip(clients, share, strict=True))
    )
    seconds = time.perf_counter() - started
    for client in clients:
        await client.close()
    return len(requests) / seconds


CONFIGS: dict[str, dict[str, Value]] = {
    "set-namespace": {"namespace": "staging"},
    "set-labels": {"team": "a"},
    "set-annotations": {"owner": "a"},
    "kubeconform": {"strict": "true"},
}


async def measure(address: str, process: subprocess.Popen[bytes]) -> None:
    """Print the table: resources never seen before, then such as come again."""
    started = time.perf_counter()
    async with Client(address) as client:
        await client.is_ready(30)
        print(f"runner answers after {time.perf_counter() - started:.2f} s, {memory(process)}")
        print(f"{'':<24}{'p50 ms':>9}{'p99 ms':>9}{'cpu ms':>9}{'calls/s':>9}{'16 clients':>12}")
        for image, config in CONFIGS.items():
            await client.run(image, resources(config, "first"))
            await series(client, address, process, image, config, distinct=CALLS)
            await series(client, address, process, image, config, distinct=1)
    size = len(resources(CONFIGS["set-namespace"], "r0"))
    print(f"a request has {size / 1000:.0f} kB; the runner has {memory(process)} at the end")


async def series(
    client: Client,
    address: str,
    process: subprocess.Popen[bytes],
    image: str,
    config: dict[str, Value],
    *,
    distinct: int,
) -> None:
    """Print one line: `CALLS` calls one by one, and as many from many clients."""
    name = f"{image}, {'new' if distinct > 1 else 'again'}"
    requests = [resources(config, f"{name}-{i}") for i in range(distinct)] * (CALLS // distinct)
    if distinct == 1:
        await client.run(image, requests[0])
    before = cpu(process)
    seconds = await one_by_one(client, image, requests)
    spent = cpu(process) - before
    if distinct > 1:
        requests = [resources(config, f"{name}-many-{i}") for i in range(distinct)]
    many = await at_once(address, image, requests)
    p99 = quantiles(seconds, n=100)[98]
    print(
        f"{name:<24}{median(seconds) * 1000:>9.1f}{p99 * 1000:>9.1f}{spent / CALLS * 1000:>9.1f}"
        f"{CALLS / sum(seconds):>9.0f}{many:>12.0f}"
    )


def cpu(process: subprocess.Popen[bytes]) -> float:
    """Processor seconds that a process has used; 0 where they cannot be told."""
    try:
        with open(f"/proc/{process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(process: subprocess.Popen[bytes]) -> str:
    """Resident memory of a process, or nothing where it cannot be told."""
    try:
        with open(f"/proc/{process.pid}/statm") as file:
            pages = int(file.read().split()[1])
    except OSError:
        return "memory unknown"
    return f"{pages * os.sysconf('SC_PAGE_SIZE') / 1e6:.0f} MB"


def run() -> None:
    """Measure the runner over a Unix socket and print what was found."""
    with tempfile.TemporaryDirectory() as folder:
        address = f"unix:{folder}/runner"
        with runner(address) as process:
            asyncio.run(measure(address, process))


def main() -> None:
    """Run it alone: `python -m tests.benchmarks.runner`."""
    run()


if __name__ == "__main__":
    main()
