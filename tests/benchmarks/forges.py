"""The same at GitHub and at GitLab, turn by turn on one machine: times and calls, and their ratio.

Both bots and both forges stand all the time, and only one of them works at a time. Bars: at most 8
calls for a look that changes nothing, and 20 from a push to its statuses.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from statistics import median

from tests.benchmarks.publish import APPROVE, PUSHES, Kind, approve
from tests.benchmarks.stage import BOTS, Stage, stage, table

RUNS = 8
FORGES = ("github", "gitlab")
IDLE = "a look that changes nothing"

Measured = tuple[float, int]
"""Seconds and calls of one run."""


def idle(at: Stage, branch: str) -> int:
    """Calls of a look at a proposal where nothing is left to do."""
    world = at.world
    mark, me = world.forge.faults.mark(), world.repository.id
    world.wake(f"{world.name}:{me}:proposal:{me}:{branch}")
    world.rests()
    return sum(world.forge.faults.counts(BOTS[world.forge.dialect], since=mark).values())


def timed(kind: Kind, at: Stage, run: int) -> Measured:
    """Do one thing; how long it took, and the calls until then."""
    since, until = kind(at, run)
    return until - since, len(at.calls(since, until))


def run() -> None:
    """Measure and print the table."""
    kinds: Mapping[str, Kind] = {**PUSHES, APPROVE: approve}
    found: dict[tuple[str, str], list[Measured]] = {}
    looks: dict[str, list[int]] = {forge: [] for forge in FORGES}
    with ExitStack() as stack:
        stages = {forge: stack.enter_context(stage(forge=forge)) for forge in FORGES}
        for name, kind in kinds.items():
            for turn in range(RUNS + 1):
                for forge, at in stages.items():
                    measured = timed(kind, at, turn)
                    if turn:  # the first prepares
                        found.setdefault((name, forge), []).append(measured)
        for _ in range(3):
            for forge, at in stages.items():
                looks[forge].append(idle(at, "drafts/net/next/w"))
    rows = [_row(name, [found[name, forge] for forge in FORGES]) for name in kinds]
    calls = [f"{median(looks[forge]):.0f}" for forge in FORGES]
    rows.append([IDLE, "", "", "", *calls, _ratio(*(median(looks[forge]) for forge in FORGES))])
    heading = ["50 resources", "GitHub, p50", "GitLab, p50", "ratio", "calls", "calls", "ratio"]
    table(heading, rows)


def _row(name: str, both: list[list[Measured]]) -> list[str]:
    seconds = [median(each for each, _ in one) for one in both]
    calls = [float(median(each for _, each in one)) for one in both]
    return [
        name,
        *(f"{each * 1000:.0f} ms" for each in seconds),
        _ratio(*seconds),
        *(f"{each:.0f}" for each in calls),
        _ratio(*calls),
    ]


def _ratio(github: float, gitlab: float) -> str:
    return f"{gitlab / github:.2f}"


if __name__ == "__main__":
    run()
