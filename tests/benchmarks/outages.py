"""What is seen when PostgreSQL stops or hangs, disks are full and a clock jumps, under load.

Two bots on one database. Disks are small file systems in memory, which only root may mount; the
clock is a library of ours, compiled here (with libfaketime each `time.sleep` of Python 3.11 fails).
Parts that cannot be done here say so. A part takes one to nine minutes; `outages=mirrors:6` does
one of them, with six proposals.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.benchmarks.crowd import BOT, Crowd
from tests.benchmarks.fleet import Fleet, fleet
from tests.benchmarks.stage import table

PROPOSALS, PACE = 24, 1.0
SOURCE = Path(__file__).with_name("ahead.c")
SETTLES = 240.0

Fault = Callable[[Fleet], None]


def stopped(seconds: float) -> Fault:
    """The server is shut down, and started again after so many seconds."""

    def fault(over: Fleet) -> None:
        over.held.set()
        os.kill(over.postgres.pid, signal.SIGINT)
        time.sleep(seconds)
        over.held.clear()
        while over.postgres.ended:
            time.sleep(0.05)

    return fault


def hung(seconds: float) -> Fault:
    """All processes of the server stand still for so many seconds: it says nothing."""

    def fault(over: Fleet) -> None:
        servers = over.servers()
        for each in servers:
            os.kill(each, signal.SIGSTOP)
        time.sleep(seconds)
        for each in {*servers, *over.servers()}:
            os.kill(each, signal.SIGCONT)

    return fault


def filled(disk: Path, seconds: float) -> Fault:
    """A disk is full for so many seconds."""

    def fault(over: Fleet) -> None:
        with (disk / "filler").open("wb") as filler:
            try:
                while True:
                    filler.write(bytes(65536))
                    filler.flush()
            except OSError:
                pass
        time.sleep(seconds)
        (disk / "filler").unlink()

    return fault


def jumped(clock: Path, hours: float) -> Fault:
    """The clock of the bots jumps."""

    def fault(over: Fleet) -> None:
        clock.write_text(f"{hours * 3600:+.0f}\n")
        time.sleep(5)

    return fault


def measure(over: Fleet, fault: Fault, proposals: int) -> list[str]:
    """Let people work, do the fault amid that, and wait for the end; a line of figures."""
    stop = threading.Event()
    crowd = Crowd(over.play, proposals, PACE, asks=True)
    people = crowd.begin(stop)
    begun = time.monotonic()
    while crowd.published() < min(3, proposals) and time.monotonic() < begun + SETTLES:
        time.sleep(0.1)
    told, lines = len(over.play.forge.hooks.sent()), _lines(over)
    fault(over)
    over_at = time.monotonic()
    back = _writes_after(over, over_at)
    crowd.rests(over_at + SETTLES)
    crowd.tidies()
    stop.set()
    for each in people:
        each.join(10)
    refused = [s for s in over.play.forge.hooks.sent()[told:] if s.status != 202]
    wrong = {what: n for what, n in crowd.result().items() if n}
    return [
        f"{len(refused)}",
        f"{max((s.seconds for s in refused), default=0):.1f}",
        f"{back - over_at:.1f}",
        f"{crowd.published()} of {proposals}",
        f"{wrong or 'none'}",
        f"{over.deaths or 'none'}",
        f"{_lines(over) - lines}",
    ]


def _lines(over: Fleet) -> int:
    """Lines that the bots have logged as warnings or errors."""
    logs = [over.log(bot).read_text().splitlines() for bot in over.bots]
    return sum(" WARNING " in line or " ERROR " in line for log in logs for line in log)


def _writes_after(over: Fleet, moment: float) -> float:
    """When the bot wrote to the forge first after a moment."""
    while time.monotonic() < moment + SETTLES:
        for call in over.play.forge.faults.calls(BOT):
            if call.began > moment and call.method != "GET" and "graphql" not in call.path:
                return call.began
        time.sleep(0.02)
    return moment + SETTLES


@contextmanager
def disk(megabytes: int) -> Iterator[Path]:
    """A file system of a size."""
    with tempfile.TemporaryDirectory(prefix="porchbot-disk-") as folder:
        where = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=711", "none", folder]
        subprocess.run(where, check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def _with_disk(megabytes: int, what: str, proposals: int) -> list[str]:
    with disk(megabytes) as at:
        if what == "mirrors":
            with fleet(2, variables={"PORCHBOT_STATE": str(at / "state")}) as over:
                return measure(over, filled(at, 20), proposals)
        with fleet(2, database=at / "postgres") as over:
            return measure(over, filled(at, 20), proposals)


def _with_clock(hours: float, proposals: int) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="porchbot-clock-") as folder:
        clock = Path(folder) / "clock"
        clock.write_text("+0\n")
        library = Path(folder) / "ahead.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
        variables = {"LD_PRELOAD": str(library), "AHEAD": str(clock)}
        with fleet(2, variables=variables) as over:
            return measure(over, jumped(clock, hours), proposals)


def _with(fault: Fault, proposals: int) -> list[str]:
    with fleet(2) as over:
        return measure(over, fault, proposals)


PARTS: dict[str, Callable[[int], list[str]]] = {
    "stopped5": partial(_with, stopped(5)),
    "stopped60": partial(_with, stopped(60)),
    "hung5": partial(_with, hung(5)),
    "hung60": partial(_with, hung(60)),
    "mirrors": partial(_with_disk, 64, "mirrors"),
    "database": partial(_with_disk, 192, "database"),
    "later": partial(_with_clock, 1),
    "earlier": partial(_with_clock, -1),
}


def run(wanted: str = "") -> None:
    """Measure and print; `outages=stopped5,mirrors` for some parts."""
    rows = []
    names, _, proposals = wanted.partition(":")
    for name in names.split(",") if names else PARTS:
        if name in {"mirrors", "database"} and os.geteuid() != 0:
            print(f"{name}: only root may mount a small disk")
        elif name in {"later", "earlier"} and shutil.which("cc") is None:
            print(f"{name}: there is no C compiler")
        else:
            rows.append([name, *PARTS[name](int(proposals or PROPOSALS))])
            print(rows[-1], flush=True)
    heading = ["", "refused", "longest s", "back after s", "published", "wrong", "ended", "lines"]
    table(heading, rows)


if __name__ == "__main__":
    run()
