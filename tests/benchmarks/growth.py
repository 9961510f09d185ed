"""The same push and approval in small and in large repositories: what grows with them.

A size is written <packages>x<tags>, or <packages>x<tags>x<open proposals>; the first that is named
is what others are held against: `python -m tests.benchmarks growth=20x100,1000x20000`. The part
`sweep` measures nothing but sweeps that find nothing to do, at 1, 50 and 500 open proposals; it
takes sizes likewise. Bars: ratios of medians to the smallest, 2 at 20,000 tags and 3 at 100,000;
memory of the bot 250 MB.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import psycopg

from bot.loop.changed import LATE
from tests.benchmarks import many
from tests.benchmarks.publish import APPROVE, Kind, approve, next_push, rendered_push
from tests.benchmarks.stage import Stage, stage, table
from tests.stories.real import RealWorld

RUNS = 7
"""Of each kind; one more before them prepares and is not counted."""

OPEN = "600x1200x1,600x1200x50,600x1200x500"
"""A repository with one, some and many open proposals."""

SIZES = f"20x100,1000x20000,5000x100000,{OPEN}"

KINDS: Mapping[str, Kind] = {
    "push -> checks": next_push,
    "push -> checks, with a render commit": rendered_push,
    APPROVE: approve,
}


@dataclass(frozen=True, slots=True)
class Size:
    """How large a repository is.

    Attributes:
        packages: How many.
        tags: How many in all.
        proposals: Open ones, beside those that are measured.
    """

    packages: int
    tags: int
    proposals: int = 1

    def __str__(self) -> str:
        return f"{self.packages:,} packages, {self.tags:,} tags, {self.proposals} open"


@dataclass
class Found:
    """What was measured at one size.

    Attributes:
        seconds: Of each run, by kind.
        pushing: Seconds that the bot spent in one push of a render commit.
        memory: Megabytes of the bot's process at the end, and the most it had.
        sweep: Calls and seconds of a sweep that finds nothing to do.
    """

    seconds: dict[str, list[float]] = field(default_factory=dict)
    pushing: float = 0.0
    memory: tuple[float, float] = (0.0, 0.0)
    sweep: tuple[int, float] = (0, 0.0)


def measure(size: Size, kinds: Mapping[str, Kind]) -> Found:
    """Measure these kinds and a sweep at one size, on a stage of its own."""
    found = Found()
    with stage(_filled(size), ready=many.index, patience=900) as at:
        for name, kind in kinds.items():
            kind(at, 0)
            before = at.steps().get("push", 0.0)
            found.seconds[name] = []
            for run in range(1, RUNS + 1):
                since, until = kind(at, run)
                found.seconds[name].append(until - since)
            if kind is rendered_push:
                found.pushing = (at.steps().get("push", 0.0) - before) / RUNS
        found.sweep = _sweep(at)
        found.memory = _memory(at.world)
    return found


def _filled(size: Size) -> Callable[[RealWorld], None]:
    return lambda made: many.fill(made, size.packages, size.tags, size.proposals)


def _sweep(at: Stage) -> tuple[int, float]:
    """The third of three sweeps: the first finds what the measured proposals left, the second what
    the looks of the first said there. Each comes when what was changed before it is `LATE` ago."""
    for turn in range(3):
        if turn:
            time.sleep(LATE.total_seconds())
        began = time.monotonic()
        at.world.sweep()
        at.world.rests()
        calls = at.calls(began, time.monotonic())
        _look_now(at.world)
    return len(calls), max((c.began + c.seconds for c in calls), default=began) - began


def _look_now(made: RealWorld) -> None:
    """Let the bot make at once the looks that a sweep spreads over a quarter of an hour."""
    with psycopg.connect(made.environment["DATABASE_URL"], autocommit=True) as database:
        database.execute("UPDATE work SET due = now() WHERE wanted > seen AND owner IS NULL")
        database.execute("NOTIFY porchbot_work")
    made.rests()


def _memory(made: RealWorld) -> tuple[float, float]:
    status = Path(f"/proc/{made.bot_pid}/status").read_text().splitlines()
    kilobytes = {line.split(":")[0]: line.split()[1] for line in status if line.endswith(" kB")}
    return int(kilobytes["VmRSS"]) / 1024, int(kilobytes["VmHWM"]) / 1024


def run(wanted: str = "") -> None:
    """Measure the sizes that are named, or all, and print the tables."""
    found = {size: measure(size, KINDS) for size in _sizes(wanted or SIZES)}
    smallest = next(iter(found.values())).seconds
    rows = []
    for size, at in found.items():
        cells = []
        for name, seconds in at.seconds.items():
            ratio = median(seconds) / median(smallest[name])
            cells.append(f"{median(seconds) * 1000:.0f} ({ratio:.1f})")
        rows.append([str(size), *cells, f"{at.pushing * 1000:.0f}"])
    table([f"ms, median of {RUNS} (ratio)", *KINDS, "of it git push"], rows)
    _print(found)


def sweep(wanted: str = "") -> None:
    """Measure sweeps and memory alone, at the sizes that are named or at `OPEN`."""
    _print({size: measure(size, {}) for size in _sizes(wanted or OPEN)})


def _sizes(wanted: str) -> list[Size]:
    return [Size(*map(int, size.split("x"))) for size in wanted.split(",")]


def _print(found: Mapping[Size, Found]) -> None:
    rows = [
        [str(s), f"{f.memory[0]:.0f}", f"{f.memory[1]:.0f}", f"{f.sweep[0]}", f"{f.sweep[1]:.2f}"]
        for s, f in found.items()
    ]
    table(["bot", "MB", "at most MB", "sweep calls", "sweep s"], rows)


if __name__ == "__main__":
    run()
