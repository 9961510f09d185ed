"""From a push to its checks for a package of 2,500 files, one of them changed.

Aims: rendering again 100 ms, push to checks 600 ms. The processor time of all processes is told
beside, since that depends least on what else the machine does.
"""

import os
from collections.abc import Mapping
from statistics import median

from tests.benchmarks.publish import Series
from tests.benchmarks.stage import Stage, deployment, large, row, shares, stage, table

FILES = 2_500
RUNS = 8
_TICKS = os.sysconf("SC_CLK_TCK")


def push(at: Stage, run: int) -> tuple[float, float]:
    """One more push to a draft that is open, or the first of all its files."""
    branch = "drafts/net/large/w"
    one = {"net/large/app-07.yaml": deployment(7, run)}
    commit = at.world.author.pushes(branch, one if run else large("net/large", resources=FILES))
    times = at.moments.pushed(commit), at.moments.checked(commit)
    at.world.rests()
    return times


def processor() -> Mapping[int, float]:
    """Seconds of processor time of each process below this one."""
    found: dict[int, tuple[int, float]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        found[int(name)] = int(fields[1]), (int(fields[11]) + int(fields[12])) / _TICKS
    below = {os.getpid()}
    while more := {pid for pid, (parent, _) in found.items() if parent in below} - below:
        below |= more
    return {pid: found[pid][1] for pid in below if pid != os.getpid()}


def run() -> None:
    """Measure and print the tables."""
    series, busy = Series(), []
    with stage() as at:
        for warm_up in range(2):
            push(at, warm_up)
        before = at.steps()
        for turn in range(2, RUNS + 2):
            used = processor()
            since, until = push(at, turn)
            now = processor()
            made = at.calls(since, until)
            series.seconds.append(until - since)
            series.forge.append(shares(made, since, until))
            busy.append(sum(now[pid] - used.get(pid, 0.0) for pid in now))
        after = at.steps()
    table(
        [f"{FILES} files, one changed", "runs", "p50 ms", "max ms", "aim"],
        [
            row("push -> checks", series.seconds, "600 ms"),
            row("processor time of all processes, later looks included", busy),
        ],
    )
    steps = {step: (after[step] - before.get(step, 0.0)) / RUNS for step in sorted(after)}
    table(["ms a push, by the bot's own measure", *steps],
          [["", *(f"{each * 1000:.0f}" for each in steps.values())]])  # fmt: skip
    parts = list(series.forge[0])
    middle = [f"{median(each[part] for each in series.forge) * 1000:.0f}" for part in parts]
    table(["ms, p50, by what the forge was doing", *parts], [["", *middle]])


if __name__ == "__main__":
    run()
