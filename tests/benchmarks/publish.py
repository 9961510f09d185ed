"""From a push to its checks, and from `/approve` to the tag, for a package of 50 resources.

Counted from the moment the forge took the push or the comment to the moment it held the last check
or the tag. Aims: push to checks p50 400 ms, approve to tag p50 300 ms.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median

from tests.benchmarks.stage import (
    Stage,
    deployment,
    large,
    row,
    shares,
    stage,
    table,
)

RUNS = 12
"""Of each kind; one more before them prepares and is not counted."""

Kind = Callable[[Stage, int], tuple[float, float]]
"""Does one thing for the nth time; when it began and when it was done."""


@dataclass
class Series:
    """What was measured of one thing.

    Attributes:
        seconds: Of each run.
        calls: How many the bot made, of each run.
        forge: Seconds of each run, by what the forge was doing for the bot.
        steps: Seconds of each step of the bot by its own measure, for a run on average, the looks
            that follow included.
    """

    seconds: list[float] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    forge: list[Mapping[str, float]] = field(default_factory=list)
    steps: Mapping[str, float] = field(default_factory=dict)


def first_push(at: Stage, run: int) -> tuple[float, float]:
    """A new draft of a new package: a pull request is opened and checked."""
    commit = at.world.author.pushes(f"drafts/net/new-{run}/w", large(f"net/new-{run}"))
    times = at.moments.pushed(commit), at.moments.checked(commit)
    at.world.rests()
    return times


def next_push(at: Stage, run: int) -> tuple[float, float]:
    """One more push to a draft that is open; the tree is its own rendering."""
    files = {"net/next/app-07.yaml": deployment(7, run)} if run else large("net/next")
    commit = at.world.author.pushes("drafts/net/next/w", files)
    times = at.moments.pushed(commit), at.moments.checked(commit)
    at.world.rests()
    return times


def rendered_push(at: Stage, run: int) -> tuple[float, float]:
    """One more push, whose rendering differs: the bot pushes a commit and checks that one."""
    text = deployment(7, 50 + run).replace("    owner: network\n", "", 1)
    files = {"net/render/app-07.yaml": text} if run else large("net/render")
    began = at.moments.pushed(at.world.author.pushes("drafts/net/render/w", files))
    at.world.rests()
    return began, at.moments.checked(at.head("drafts/net/render/w"))


def approve(at: Stage, run: int) -> tuple[float, float]:
    """A proposal that is approved: merged and tagged."""
    number = at.world.proposes(f"drafts/net/large/w{run}", large("net/large", run))
    said = at.world.approver.says(number, "/approve")
    times = at.moments.said(said), at.moments.tagged(f"net/large/v{run + 1}")
    at.world.rests()
    return times


PUSHES: Mapping[str, Kind] = {
    "push -> checks: first push of a draft": first_push,
    "push -> checks: next push": next_push,
    "push -> checks: with a render commit": rendered_push,
}
APPROVE = "/approve -> tag"


def measure(kind: Kind, runs: int, latency: float = 0.0) -> Series:
    """Do one thing so often, on a stage of its own.

    Args:
        kind: What.
        runs: How often it counts.
        latency: Seconds that the forge adds to each call, git's too.
    """
    found = Series()
    with stage() as at:
        kind(at, 0)
        at.world.forge.faults.latency = latency
        before = at.steps()
        for run in range(1, runs + 1):
            since, until = kind(at, run)
            made = at.calls(since, until)
            found.seconds.append(until - since)
            found.calls.append(len(made))
            found.forge.append(shares(made, since, until))
        after = at.steps()
    found.steps = {
        step: (seconds - before.get(step, 0.0)) / runs for step, seconds in after.items()
    }
    return found


def show_steps(found: Mapping[str, Series]) -> None:
    """Print where the time went."""
    parts = {name: list(series.forge[0]) for name, series in found.items()}
    names = next(iter(parts.values()))
    rows = [
        [
            name,
            *(f"{median(p[part] for p in series.forge) * 1000:.0f}" for part in names),
            f"{median(series.calls):.0f}",
        ]
        for name, series in found.items()
    ]
    table(["ms, p50, by what the forge was doing", *names, "calls"], rows)
    steps = sorted({step for series in found.values() for step in series.steps})
    rows = [
        [name, *(f"{series.steps.get(step, 0) * 1000:.0f}" for step in steps)]
        for name, series in found.items()
    ]
    table(["ms a run, by the bot's own measure, all looks", *steps], rows)


def run() -> None:
    """Measure and print the tables."""
    found = {name: measure(kind, RUNS) for name, kind in PUSHES.items()}
    found[APPROVE] = measure(approve, RUNS)
    table(
        ["push and approve, 50 resources", "runs", "p50 ms", "max ms", "aim"],
        [
            row(name, s.seconds, "300 ms" if name == APPROVE else "400 ms")
            for name, s in found.items()
        ],
    )
    show_steps(found)


if __name__ == "__main__":
    run()
