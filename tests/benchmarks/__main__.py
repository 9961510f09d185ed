"""All measurements, or those that are named: `python -m tests.benchmarks publish growth=20x100`.

`--help` names them.
"""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from bot import logs
from tests.benchmarks import (
    comments,
    door,
    growth,
    idle,
    large,
    latency,
    load,
    outages,
    packages,
    publish,
    render,
    replicas,
    runner,
    storm,
    webhooks,
)

ALL: Mapping[str, Callable[..., None]] = {
    "webhooks": webhooks.run,
    "door": door.run,
    "comments": comments.run,
    "publish": publish.run,
    "large": large.run,
    "latency": latency.run,
    "runner": runner.run,
    "render": render.run,
    "packages": packages.run,
    "growth": growth.run,
    "sweep": growth.sweep,
    "idle": idle.run,
    "storm": storm.run,
    "replicas": replicas.run,
    "load": load.run,
    "outages": outages.run,
}


def machine() -> str:
    """What it is measured on."""
    said = {
        "kpt": ["kpt", "version"],
        "kubectl": ["kubectl", "version", "--client"],
        "git": ["git", "version"],
    }
    tools = [f"{name} {_first_line(command)}" for name, command in said.items()]
    load = os.getloadavg()[0]
    return (
        f"{datetime.now(UTC):%d %B %Y %H:%M} UTC, {_processor()}, {os.cpu_count()} cores,"
        f" {platform.system()}, Python {platform.python_version()}, {', '.join(tools)};"
        f" load {load:.1f} before"
    )


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.partition(":")[2].strip() for line in file if "model name" in line]
    except OSError:
        names = []
    return names[0] if names else platform.machine()


def _first_line(command: list[str]) -> str:
    if shutil.which(command[0]) is None:
        return "absent"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    return lines[0].removeprefix("git version ").removeprefix("Client Version: ") if lines else "?"


def main() -> int:
    """Run what is named, or everything; 2 when there is no such measurement."""
    wanted = sys.argv[1:] or [name for name in ALL if name != "sweep"]  # `growth` sweeps, too
    if {"-h", "--help"} & {*wanted}:
        print(f"{__doc__}\nThere are {', '.join(ALL)}.\n\ngrowth: {growth.__doc__}")
        print(f"growth measures {growth.SIZES}\nsweep measures {growth.OPEN}")
        return 0
    unknown = [name for name in wanted if name.partition("=")[0] not in ALL]
    if unknown:
        print(f"There is no {', '.join(unknown)}; there are {', '.join(ALL)}.", file=sys.stderr)
        return 2
    logs.configure()
    for name in wanted:
        print(f"## {name}\n\n{machine()}\n", flush=True)
        part, _, argument = name.partition("=")
        ALL[part](*filter(None, [argument]))
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
