"""All measurements, or those that are named: `python -m tests.benchmarks publish growth=20x100`.

`--help` names them.
"""

import compileall
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from bot import logs
from tests.benchmarks import (
    comments,
    door,
    forges,
    growth,
    idle,
    impact,
    large,
    latency,
    load,
    neighbour,
    outages,
    packages,
    publish,
    render,
    replicas,
    runner,
    storm,
    upgrade,
    variants,
    variants_memory,
    webhooks,
)

ALL: Mapping[str, tuple[Callable[..., None], int]] = {
    "webhooks": (webhooks.run, 1),
    "door": (door.run, 2),
    "comments": (comments.run, 1),
    "publish": (publish.run, 2),
    "forges": (forges.run, 4),
    "large": (large.run, 3),
    "impact": (impact.run, 2),
    "upgrade": (upgrade.run, 2),
    "variants": (variants.run, 8),
    "variants_memory": (variants_memory.run, 20),
    "latency": (latency.run, 3),
    "runner": (runner.run, 5),
    "render": (render.run, 3),
    "packages": (packages.run, 6),
    "growth": (growth.run, 60),
    "sweep": (growth.sweep, 15),
    "idle": (idle.run, 10),
    "storm": (storm.run, 10),
    "neighbour": (neighbour.run, 15),
    "replicas": (replicas.run, 10),
    "load": (load.run, 12),
    "outages": (outages.run, 30),
}
"""What is measured, and the minutes that it takes, by estimate."""


ROOT = Path(__file__).resolve().parents[2]
OURS = ("bot", "cadlib", "fnrunner", "lifecycle", "tests/benchmarks")


def compiled(folders: Iterable[Path]) -> None:
    """Compile what the processes that are measured import, as in the image.

    uv leaves that to whoever imports it first, who may not write: then each process compiles all
    that it imports anew, and a function runner starts in twice the time and keeps more memory.
    """
    for folder in folders:
        compileall.compile_dir(folder, quiet=2, workers=os.cpu_count() or 1)


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
        parts = (f"{name} ({minutes} min)" for name, (_, minutes) in ALL.items())
        print(f"{__doc__}\nThere are {', '.join(parts)}.\n\ngrowth: {growth.__doc__}")
        print(f"growth measures {growth.SIZES}\nsweep measures {growth.OPEN}")
        return 0
    unknown = [name for name in wanted if name.partition("=")[0] not in ALL]
    if unknown:
        print(f"There is no {', '.join(unknown)}; there are {', '.join(ALL)}.", file=sys.stderr)
        return 2
    logs.configure()
    compiled([Path(sysconfig.get_path("purelib")), *(ROOT / each for each in OURS)])
    minutes = sum(ALL[name][1] for name in wanted if name in ALL)
    if len(wanted) > 1:
        print(f"{len(wanted)} parts, about {minutes} minutes; `--help` names them.\n", flush=True)
    for name in wanted:
        print(f"## {name}\n\n{machine()}\n", flush=True)
        part, _, argument = name.partition("=")
        began = time.monotonic()
        ALL[part][0](*filter(None, [argument]))
        print(f"{name} took {time.monotonic() - began:.0f} s.\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
