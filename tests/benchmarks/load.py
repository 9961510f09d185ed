"""A steady load of webhooks, what people wait for meanwhile, looks of several bots, memory at rest.

The database is durable: what is answered 202 is on the disk. 200 deliveries a second are sent at
their times, whether earlier ones were answered or not; a latency counts from the time it was due.
`load=5` does each for five seconds, to try it. Memory at rest is what is left once the workers of
renderer and runner have ended by themselves, some six minutes after the last proposal.
"""

import http.client
import re
import threading
import time
import urllib.request
from collections.abc import Sequence
from contextlib import closing
from itertools import cycle
from pathlib import Path
from statistics import median, quantiles

from bot.render.workers import pool
from fnrunner.builtin.pool import IDLE
from tests.benchmarks.crowd import BOT
from tests.benchmarks.fleet import Fleet, fleet, until
from tests.benchmarks.stage import table
from tests.benchmarks.webhooks import deliveries
from tests.stories.people import wait_for
from tests.stories.world import package

RATE, SECONDS, SENDERS = 200, 20, 16
PROPOSALS = 12
COMMENTS = 20
"""Commands under that load, one a second."""

LOOKS = 15.0
"""Seconds for which looks are counted."""


def run(wanted: str = "") -> None:
    """Measure and print the tables."""
    seconds = int(wanted or SECONDS)
    with fleet(1, durable=True) as over:
        numbers = _proposals(over, 4)
        memory = [["with workers", ""], *_memory(over)]
        if seconds >= SECONDS:
            until(time.monotonic() + 1.25 * max(pool.IDLE, IDLE) + 20)
            memory += [["at rest", ""], *_memory(over)]
        took: list[float] = []
        sending = threading.Thread(target=_send_steadily, args=[over, took, seconds])
        sending.start()
        acknowledged = _comments(over, numbers, min(COMMENTS, seconds))
        sending.join()
        durable = over.ask("SELECT current_setting('fsync'), current_setting('synchronous_commit')")
    rows = [_row(f"webhook accepted, {RATE} a second (aim: p99 20 ms)", took)]
    rows.append(_row("comment to reaction, meanwhile (aim: p95 1 s)", acknowledged))
    table(["", "times", "p50 ms", "p95 ms", "p99 ms"], rows)
    print(f"fsync and synchronous_commit: {durable[0]}\n")
    table(["memory, PSS (aim at rest: 150)", "MB"], memory)
    looks = [_looks(n, min(LOOKS, seconds)) for n in (1, 2, 4)]
    table(["looks a second", f"of {PROPOSALS} proposals"], looks)


def _proposals(over: Fleet, many: int) -> list[int]:
    """So many proposals at rest."""
    play, numbers = over.play, []
    for i in range(many):
        branch = f"drafts/load/p{i:02}/w"
        play.author.pushes(branch, package(f"load/p{i:02}"))
        numbers.append(play.author.opens(branch, "p").number)
    play.patience = 120
    play.rests()
    return numbers


def _send_steadily(over: Fleet, took: list[float], seconds: int) -> None:
    made = list(deliveries(over.play, RATE * seconds))
    began = time.monotonic() + 0.5

    def send(first: int) -> None:
        with closing(http.client.HTTPConnection("127.0.0.1", over.bots[0].port)) as door:
            for i in range(first, len(made), SENDERS):
                due = began + i / RATE
                until(due)
                door.request("POST", "/webhooks/github", *made[i])
                answer = door.getresponse()
                answer.read()
                if answer.status != 202:
                    raise RuntimeError(f"the bot answered {answer.status}")
                took.append(time.monotonic() - due)

    threads = [threading.Thread(target=send, args=[first]) for first in range(SENDERS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def _comments(over: Fleet, numbers: Sequence[int], many: int) -> list[float]:
    """Seconds from commands to the bot's reactions to them."""
    calls, next_one = over.play.forge.faults.calls, cycle(numbers)
    took = []
    for _ in range(many):
        number = next(next_one)
        began = time.monotonic()
        comment = over.play.author.comments_at_once(number, "/why")
        said = time.monotonic()
        path = f"/comments/{comment}/reactions"

        def reacted(path: str = path) -> float | None:
            ends = [c.began + c.seconds for c in calls(BOT) if c.path.endswith(path)]
            return min(ends, default=None)

        took.append(wait_for("the reaction", reacted, 60) - said)
        until(began + 1)
    return took


def _looks(replicas: int, seconds: float) -> list[str]:
    """Looks a second of so many bots, at proposals that have nothing new."""
    with fleet(replicas) as over:
        _proposals(over, PROPOSALS)
        looked, began = _looked(over), time.monotonic()
        while time.monotonic() < began + seconds:
            over.ask(
                "UPDATE work SET wanted = wanted + 1, due = now()"
                " WHERE key LIKE '%%proposal%%' AND wanted <= seen"
            )
            over.ask("NOTIFY porchbot_work")
            time.sleep(0.05)
        rate = (_looked(over) - looked) / (time.monotonic() - began)
    return [f"{replicas} bots", f"{rate:.1f}"]


def _looked(over: Fleet) -> float:
    """Looks at proposals that all bots have made."""
    pattern = r'^porchbot_look_seconds_count\{kind="ProposalKey"\} (\S+)$'
    total = 0.0
    for bot in over.bots:
        with urllib.request.urlopen(f"http://127.0.0.1:{bot.port}/metrics") as answer:
            found = re.search(pattern, answer.read().decode(), re.MULTILINE)
        total += float(found[1]) if found else 0.0
    return total


def _memory(over: Fleet) -> list[list[str]]:
    """Proportional memory of the bot and what it started, a line each."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(entry.name)] = int(
                (entry / "stat").read_text().rpartition(") ")[2].split()[1]
            )
        except OSError:
            continue
    bot = over.bots[0].bot_pid
    found, rows = [bot], []
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
        name = " ".join(Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[1:5])
        kb = re.search(
            r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE
        )
        rows.append([name[:60], f"{int(kb[1]) / 1024:.0f}" if kb else "?"])
    return [*rows, ["together", f"{sum(int(row[1]) for row in rows)}"]]


def _row(name: str, seconds: Sequence[float]) -> list[str]:
    parts = quantiles(seconds, n=100)
    return [
        name,
        f"{len(seconds)}",
        *(f"{s * 1000:.0f}" for s in (median(seconds), parts[94], parts[98])),
    ]


if __name__ == "__main__":
    run()
