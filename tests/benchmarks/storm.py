"""A storm: 80 proposals are made and approved while bot, runner and database are killed in turn.

The bot starts its own database and function runner, as it does for people; each is killed with
`kill -9`: the bot's process (started again at once, as its supervisor does), the runner, one
backend of the database, and the postmaster. Afterwards every proposal must be published exactly
once.
"""

import json
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from statistics import median

import httpx
import psycopg

from bot.sandbox.faults.calls import LoggedCall
from tests.benchmarks.crowd import BOT, Crowd
from tests.benchmarks.fleet import parent_of
from tests.benchmarks.stage import table
from tests.stories.real import RealWorld, world

PROPOSALS = 80
KILLS = 24
"""At most; fewer where everything is published before."""

PAUSE = 3.0
"""Seconds from one recovery to the next kill: looks are under way again."""

HEALS, SETTLES = 60.0, 420.0
"""Seconds to wait for one recovery, and for everything to be published after the last kill."""


@dataclass
class Storm:
    """One storm over one world.

    Attributes:
        play: The world.
        crowd: Its people.
        state: The bot's own folder, where its database and its runner are noted.
        recovered: Kind of kill to the seconds until the bot wrote to the forge again.
    """

    play: RealWorld
    crowd: Crowd
    state: Path
    recovered: dict[str, list[float]] = field(default_factory=dict)

    # --- kills ---

    @property
    def postmaster(self) -> int:
        """Process number of the database server."""
        return int(self._server()[0])

    def backend(self) -> int:
        """Process number of one backend that serves the bot."""
        found = [
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit() and parent_of(entry) == self.postmaster
            if b"[local]" in (entry / "cmdline").read_bytes()
        ]
        return max(found)

    def runner(self) -> int:
        """Process number of the function runner."""
        notes = (json.loads(note.read_text()) for note in self.state.glob("runner-*.json"))
        return max(int(note["pid"]) for note in notes)

    def answers(self) -> bool:
        """Whether the bot and its database answer, asked anew."""
        try:
            with psycopg.connect(self.url, connect_timeout=2) as db:
                db.execute("SELECT 1")
            ready = httpx.get(f"http://127.0.0.1:{self.play.port}/readyz", timeout=2)
        except (psycopg.Error, httpx.HTTPError, OSError, ValueError, IndexError):
            return False
        return ready.status_code == 200

    @property
    def url(self) -> str:
        """Address of the bot's database."""
        return f"postgresql://postgres@/postgres?host={self._server()[4]}"

    def _server(self) -> list[str]:
        home = self.state / "postgres"
        moved = home / "moved"
        if moved.exists():
            home = Path(moved.read_text().strip())
        return (home / "data" / "postmaster.pid").read_text().splitlines()

    def kill(self, kind: str) -> float | None:
        """Kill one; seconds until the bot wrote again what needs it, None when nothing was left."""
        began = time.monotonic()
        if kind == "bot":
            self.play.kill_bot()
            self.play.start_bot_process(self.state.parent / "bot.log")
        else:
            old = {"runner": self.runner, "backend": self.backend}.get(
                kind, lambda: self.postmaster
            )()
            os.kill(old, signal.SIGKILL)
            while Path(f"/proc/{old}/stat").exists() and time.monotonic() < began + HEALS:
                time.sleep(0.01)
        while not self.answers():
            if time.monotonic() > began + HEALS:
                return HEALS
            time.sleep(0.02)
        back = time.monotonic()
        while time.monotonic() < began + HEALS:
            for call in self.play.forge.faults.calls(BOT):
                if call.began > back and _writes(call, kind):
                    return call.began + call.seconds - began
            if self.crowd.published() == PROPOSALS:
                return None
            time.sleep(0.02)
        return HEALS

    def rages(self) -> None:
        """Kill one after the other until everything is published, or it takes too long."""
        end = time.monotonic() + SETTLES
        for kind in cycle(("runner", "backend", "bot", "postmaster")):
            self.crowd.rests(min(end, time.monotonic() + PAUSE))
            kills = sum(map(len, self.recovered.values()))
            if self.crowd.published() == PROPOSALS or kills >= KILLS or time.monotonic() > end:
                break
            took = self.kill(kind)
            if took is not None:
                self.recovered.setdefault(kind, []).append(took)
        self.crowd.rests(time.monotonic() + SETTLES)


def _writes(call: LoggedCall, kind: str) -> bool:
    """Whether a call is one that needs what was killed."""
    if kind == "runner":
        return call.method != "GET" and "check-runs" in call.path
    if call.kind == "git":
        return call.method == "POST" and "receive" in call.path
    return call.method != "GET" and "graphql" not in call.path and "access_tokens" not in call.path


@contextmanager
def storm() -> Iterator[Storm]:
    """A world whose bot keeps its own database and runner, started."""
    with tempfile.TemporaryDirectory(prefix="porchbot-storm-") as name:
        folder = Path(name)
        with world(folder, "", "") as made:
            del made.environment["DATABASE_URL"], made.environment["PORCHBOT_RUNNER_ADDRESS"]
            made.start_bot_process(folder / "bot.log")
            yield Storm(made, Crowd(made, PROPOSALS), folder / "state")
            made.end_bot()


def run() -> None:
    """Measure and print."""
    with storm() as over:
        began, stop = time.monotonic(), threading.Event()
        people = over.crowd.begin(stop)
        over.rages()
        seconds = time.monotonic() - began
        stop.set()
        for each in people:
            each.join(10)
        over.crowd.tidies()
        load = os.getloadavg()[0]
        table(
            ["kill -9 of", "times", "p50 s", "worst s"],
            [
                [kind, f"{len(each)}", f"{median(each):.1f}", f"{max(each):.1f}"]
                for kind, each in over.recovered.items()
            ],
        )
        published = f"{over.crowd.published()} of {PROPOSALS} published"
        print(f"{published} in {seconds:.0f} s, load {load:.1f}\n")
        table(["of them", "count"], [[what, f"{n}"] for what, n in over.crowd.result().items()])


if __name__ == "__main__":
    run()
