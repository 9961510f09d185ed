"""What a reader's comments cost others: ten of 65 kB on one proposal, beside a push to another.

Counted as in `publish`, from the moment the forge took the push to the last of its checks.
"""

import os
import threading
from collections.abc import Sequence

from tests.benchmarks.publish import next_push
from tests.benchmarks.stage import Stage, large, row, stage, table

RUNS, COMMENTS, BYTES = 6, 10, 65_000

BODIES: Sequence[str] = (
    "<details>",
    "<!-- -->`",
    "> - ",
    "[a](<",
    "/approve\n",
    "**_~~",
    "<b title='",
    "\n1. ```",
    "&lt;!--",
    "@a/b | ",
)
"""What the comments repeat: each is slow to read for some parser."""


def _floods(at: Stage, number: int, run: int) -> None:
    for i in range(COMMENTS):
        body = BODIES[i % len(BODIES)] * BYTES
        at.world.outsider.says(number, f"{run}\n{body}"[:BYTES])


def _resident(at: Stage) -> float:
    """Megabytes of the bot's process."""
    with open(f"/proc/{at.world.bot_pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024**2


def run() -> None:
    """Measure and print."""
    with stage() as at:
        number = at.world.proposes("drafts/net/other/w", large("net/other", resources=2))
        next_push(at, 0)
        alone = [_seconds(next_push(at, i)) for i in range(1, RUNS + 1)]
        before, beside = _resident(at), []
        for i in range(RUNS + 1, 2 * RUNS + 1):
            flood = threading.Thread(target=_floods, args=(at, number, i))
            flood.start()
            beside.append(_seconds(next_push(at, i)))
            flood.join()
            at.world.rests()
        after = _resident(at)
    table(
        ["push -> checks", "runs", "p50 ms", "max ms", ""],
        [row("alone", alone), row("beside ten comments of 65 kB by a reader", beside)],
    )
    print(f"memory of the bot: {before:.0f} MB before, {after:.0f} MB after {RUNS} times ten\n")


def _seconds(times: tuple[float, float]) -> float:
    began, ended = times
    return ended - began


if __name__ == "__main__":
    run()
