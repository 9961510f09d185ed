"""Three bots on one database, all of them killed at random under load for five minutes.

50 proposals are pushed, asked about (`/why`) and approved meanwhile. Afterwards each must be
published exactly once, and each command answered exactly once.
"""

import random
import threading
import time
from collections.abc import Iterator
from statistics import median

import psycopg

from tests.benchmarks.crowd import Crowd
from tests.benchmarks.fleet import Fleet, fleet, until
from tests.benchmarks.stage import table

REPLICAS, PROPOSALS, SECONDS, SEED = 3, 50, 300.0, 12

PAUSES = (2.0, 9.0)
"""Seconds from one kill to the next, at least and at most."""

DATABASE = 0.3
"""Share of kills that meet the database."""

SETTLES = 180.0
"""Seconds for everything to be published after the last kill."""

TAKEN = 60.0
"""Seconds to watch what a killed bot had taken."""


def kills(over: Fleet, seconds: float, drawn: random.Random) -> Iterator[tuple[str, float]]:
    """Kill at random for so long; what was killed, and seconds until others had its work."""
    end = time.monotonic() + seconds
    while (at := time.monotonic() + drawn.uniform(*PAUSES)) < end:
        until(at)
        if drawn.random() < DATABASE:
            began = time.monotonic()
            over.kill_database()
            while not _answers(over):
                time.sleep(0.05)
            yield "the postmaster", time.monotonic() - began
        elif (
            len(up := over.up()) > 1
        ):  # the last one stays: who is measured are those who take over
            pid = over.kill(drawn.choice(up))
            yield "a bot", _taken_over(over, pid)


def _answers(over: Fleet) -> bool:
    try:
        return bool(over.ask("SELECT 1"))
    except psycopg.Error:
        return False


def _taken_over(over: Fleet, pid: int) -> float:
    """Seconds until nothing stands in the name of a process any more."""
    began = time.monotonic()
    while time.monotonic() < began + TAKEN:
        try:
            if not over.ask("SELECT 1 FROM work WHERE owner LIKE %s", f"{pid}-%"):
                break
        except psycopg.Error:
            pass
        time.sleep(0.05)
    return time.monotonic() - began


def run(seconds: str = f"{SECONDS:g}", seed: str = f"{SEED}") -> None:
    """Measure and print; `replicas=60` for a shorter storm."""
    lasts = float(seconds)
    with fleet(REPLICAS) as over:
        stop = threading.Event()
        crowd = Crowd(over.play, PROPOSALS, pace=lasts / PROPOSALS, asks=True)
        people = crowd.begin(stop)
        found: dict[str, list[float]] = {}
        for what, took in kills(over, lasts, random.Random(int(seed))):
            found.setdefault(what, []).append(took)
        began = time.monotonic()
        crowd.rests(began + SETTLES)
        settled = time.monotonic() - began
        crowd.tidies()
        stop.set()
        for each in people:
            each.join(10)
        table(
            ["kill -9 of", "times", "p50 s", "worst s"],
            [
                [what, f"{len(each)}", f"{median(each):.1f}", f"{max(each):.1f}"]
                for what, each in found.items()
            ],
        )
        print(
            f"{crowd.published()} of {PROPOSALS} published, the last {settled:.0f} s after the"
            f" storm of {lasts:.0f} s; ended by themselves: {over.deaths or 'none'}\n"
        )
        table(["of them", "count"], [[what, f"{n}"] for what, n in crowd.result().items()])


if __name__ == "__main__":
    run()
