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
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from statistics import median

import httpx
import psycopg

from bot.sandbox.faults.calls import LoggedCall
from tests.benchmarks.stage import table
from tests.stories.world import World, package, world

PROPOSALS = 80
KILLS = 24
"""At most; fewer where everything is published before."""

PAUSE = 3.0
"""Seconds from one recovery to the next kill: looks are under way again."""

HEALS, SETTLES = 60.0, 420.0
"""Seconds to wait for one recovery, and for everything to be published after the last kill."""

BOT = "porchbot[bot]"
CHECKS = ("porchbot/render", "porchbot/validate", "porchbot/publish")


@dataclass
class Storm:
    """One storm over one world.

    Attributes:
        play: The world.
        state: The bot's own folder, where its database and its runner are noted.
        recovered: Kind of kill to the seconds until the bot wrote to the forge again.
        branches: Branch to number of each proposal.
    """

    play: World
    state: Path
    recovered: dict[str, list[float]] = field(default_factory=dict)
    branches: dict[str, int] = field(default_factory=dict)

    # --- people ---

    def propose(self) -> None:
        """Push every package and open its pull request."""
        author = self.play.author
        for i in range(PROPOSALS):
            branch = f"drafts/storm/p{i:02}/w"
            author.pushes(branch, package(f"storm/p{i:02}"))
            made = author.repository.create_pull(base="main", head=branch, title=branch, body="")
            self.branches[branch] = made.number

    def approve(self, stop: threading.Event) -> None:
        """Approve each proposal once, when its check is green, as a person does."""
        approved: set[int] = set()
        while len(approved) < PROPOSALS and not stop.is_set():
            for number in list(self.branches.values()):
                if number not in approved and self.checked(number):
                    self.play.approver.says(number, "/approve")
                    approved.add(number)
            stop.wait(0.2)

    def checked(self, number: int) -> bool:
        """Whether a proposal's validation is green at its present head."""
        state, repository = self.play.forge.state, self.play.repository
        with state.lock:
            runs = state.checks.runs_on(repository, repository.pulls[number].head_sha)
            return any(r.name == CHECKS[1] and r.conclusion == "success" for r in runs)

    def published(self) -> int:
        """How many proposals have their tag."""
        with self.play.forge.state.lock:
            refs = set(self.play.repository.refs)
        return sum(f"refs/tags/storm/p{i:02}/v1" in refs for i in range(PROPOSALS))

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
            if entry.name.isdigit() and _parent(entry) == self.postmaster
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
            if self.published() == PROPOSALS:
                return None
            time.sleep(0.02)
        return HEALS

    def rages(self) -> None:
        """Kill one after the other until everything is published, or it takes too long."""
        end = time.monotonic() + SETTLES
        for kind in cycle(("runner", "backend", "bot", "postmaster")):
            self._rests(min(end, time.monotonic() + PAUSE))
            kills = sum(map(len, self.recovered.values()))
            if self.published() == PROPOSALS or kills >= KILLS or time.monotonic() > end:
                break
            took = self.kill(kind)
            if took is not None:
                self.recovered.setdefault(kind, []).append(took)
        self._rests(time.monotonic() + SETTLES)

    def tidies(self) -> None:
        """Wait a little for what follows the last tag: summaries and branches."""
        end = time.monotonic() + 60
        while any(n for what, n in self.result().items()) and time.monotonic() < end:
            time.sleep(1)

    def _rests(self, until: float) -> None:
        while self.published() < PROPOSALS and time.monotonic() < until:
            time.sleep(0.1)

    # --- what came of it ---

    def result(self) -> Mapping[str, int]:
        """Lost, doubled and stuck."""
        repository, state = self.play.repository, self.play.forge.state
        found: Counter[str] = Counter()
        with state.lock:
            for i, (branch, number) in enumerate(self.branches.items()):
                pull = repository.pulls[number]
                prefix = f"refs/tags/storm/p{i:02}/"
                tags = [ref for ref in repository.refs if ref.startswith(prefix)]
                found["stuck: not published"] += not tags
                found["stuck: branch left"] += f"refs/heads/{branch}" in repository.refs
                found["lost: merged without its tag"] += pull.merged and not tags
                found["doubled: tags"] += len(tags) > 1
                said = Counter(c.body for c in pull.comments if c.user.login == BOT)
                summaries = [body for body in said if body.startswith("<!-- porchbot:summary")]
                found["doubled: comments"] += any(n > 1 for n in said.values())
                found["doubled: summaries"] += len(summaries) > 1
                runs = Counter(
                    (run.name, run.external_id)
                    for run in state.checks.runs_on(repository, pull.head_sha, latest=False)
                )
                found["doubled: check runs"] += any(n > 1 for n in runs.values())
                found["checks not green"] += not self._green(pull.head_sha)
        return found

    def _green(self, head: str) -> bool:
        runs = self.play.forge.state.checks.runs_on(self.play.repository, head)
        newest = {run.name: run for run in reversed(runs)}
        return all(n in newest and newest[n].conclusion == "success" for n in CHECKS)


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(") ")[2].split()[1])
    except (OSError, IndexError):
        return 0


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
            yield Storm(made, folder / "state")
            made.end_bot()


def run() -> None:
    """Measure and print."""
    with storm() as over:
        began, stop = time.monotonic(), threading.Event()
        people = [
            threading.Thread(target=over.propose, daemon=True),
            threading.Thread(target=over.approve, args=(stop,), daemon=True),
        ]
        for each in people:
            each.start()
        over.rages()
        seconds = time.monotonic() - began
        stop.set()
        for each in people:
            each.join(10)
        over.tidies()
        load = os.getloadavg()[0]
        table(
            ["kill -9 of", "times", "p50 s", "worst s"],
            [
                [kind, f"{len(each)}", f"{median(each):.1f}", f"{max(each):.1f}"]
                for kind, each in over.recovered.items()
            ],
        )
        print(f"{over.published()} of {PROPOSALS} published in {seconds:.0f} s, load {load:.1f}\n")
        table(["of them", "count"], [[what, f"{n}"] for what, n in over.result().items()])


if __name__ == "__main__":
    run()
