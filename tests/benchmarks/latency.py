"""The same pushes when every call takes 150 ms more, git's too: what waits for what shows.

Aim: push to checks 3 s.
"""

from tests.benchmarks.publish import APPROVE, PUSHES, Series, approve, measure, show_steps
from tests.benchmarks.stage import row, table

LATENCY = 0.15
RUNS = 5


def run() -> None:
    """Measure and print the tables."""
    found: dict[str, Series] = {
        name: measure(kind, RUNS, LATENCY) for name, kind in {**PUSHES, APPROVE: approve}.items()
    }
    table(
        [f"{LATENCY * 1000:.0f} ms added to each call", "runs", "p50 ms", "max ms", "aim"],
        [row(name, s.seconds, "" if name == APPROVE else "3000 ms") for name, s in found.items()],
    )
    show_steps(found)


if __name__ == "__main__":
    run()
