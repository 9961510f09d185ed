"""A push in a quiet repository while all proposals of another one are looked at.

All 500 are open in a repository whose rules change, so that each is judged anew and says so.
Counted from the moment the forge took the push in the other repository to the moment it held the
first of its checks, and to the last of them. Bar: no more than a second longer than
while nothing else goes on. `neighbour=50` takes another number of proposals.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import median

import psycopg

from bot.sandbox.api import Exchange
from bot.sandbox.records.memory import Happening
from tests.benchmarks import many
from tests.benchmarks.stage import CHECKS, PATIENCE, row, stage, table
from tests.stories.people import Person
from tests.stories.real import RealWorld
from tests.stories.world import CONFIG, ROLES, package, resized

PROPOSALS = 500
RUNS = 12
"""Pushes, of each kind."""

PAUSE = 0.7
"""Seconds from one push's checks to the next push: it meets another moment of the others' looks."""

QUIET = "quiet"
"""Name of the repository whose pushes are measured."""

RULES = tuple(CONFIG.replace("require: 1", f"require: {n}") for n in (2, 1))
"""What the busy repository's rules become, by turns."""


@dataclass
class Seen:
    """What the forge held of pushes to the quiet repository, on `time.monotonic`.

    Attributes:
        repository: Number of the quiet repository.
        pushed: When it took a commit.
        begun: When it held the first check of a commit.
        names: Checks that are there: those that have ended, and the one that waits for people.
        ended: When it held the last.
    """

    repository: int = 0
    pushed: dict[str, float] = field(default_factory=dict)
    begun: dict[str, float] = field(default_factory=dict)
    names: dict[str, set[str]] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def heard(self, happening: Happening) -> None:
        """Something changed at the forge."""
        if happening.kind == "push":
            self.pushed.setdefault(happening.extra["change"].after, time.monotonic())

    def answered(self, exchange: Exchange) -> None:
        """The forge answered a call."""
        if exchange.method == "GET" or f"/{self.repository}/check-runs" not in exchange.path:
            return
        now, run = time.monotonic(), exchange.response_body
        with self.changed:
            self.begun.setdefault(run["head_sha"], now)
            if run["status"] == "completed" or run["name"].endswith("publish"):
                names = self.names.setdefault(run["head_sha"], set())
                names.add(run["name"])
                if names >= CHECKS:
                    self.ended.setdefault(run["head_sha"], now)
            self.changed.notify_all()

    def of(self, commit: str) -> tuple[float, float]:
        """Seconds from the push of a commit to the first of its checks, and to the last."""
        with self.changed:
            if not self.changed.wait_for(lambda: commit in self.ended, PATIENCE):
                raise TimeoutError(f"waited {PATIENCE} s for the checks of {commit}")
        began = self.pushed[commit]
        return self.begun[commit] - began, self.ended[commit] - began


@dataclass
class Neighbours:
    """Both repositories.

    Attributes:
        count: Open proposals of the busy one.
        person: Who pushes to the quiet one.
        seen: What the forge held.
    """

    count: int
    person: Person = field(init=False)
    seen: Seen = field(default_factory=Seen)
    pushes: int = 0

    def fill(self, made: RealWorld) -> None:
        """Make both; the bot does not run yet."""
        many.fill(made, self.count + 100, 2 * (self.count + 100), self.count)
        state = made.forge.state
        source = made.author.folder.parent / "source"
        for path, text in {".porchbot.yaml": CONFIG, **package("net/quiet")}.items():
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            (source / path).write_text(text)
        repository = state.add_repository("acme", QUIET, source)
        for login, role in ROLES.items():
            state.add_member(repository, login, role)
        repository.has_issues, self.seen.repository = False, repository.id
        made.forge.faults.hooks.drop(times=None)
        state.install(made.app, repository)
        self.person = replace(
            made.people["owner"],
            clone_url=made.forge.clone_url("acme", QUIET),
            full_name=f"acme/{QUIET}",
            folder=made.author.folder.parent / QUIET,
        )
        made.forge.hooks.idle()
        made.forge.faults.hooks.clear()
        state.listeners.append(self.seen.heard)
        made.forge.observers.append(self.seen.answered)

    def push(self) -> tuple[float, float]:
        """One more push to one draft."""
        self.pushes += 1
        files = resized("net/quiet", 100 + self.pushes)
        return self.seen.of(self.person.pushes("drafts/net/quiet/w", files))

    def pushes_while(self, going: Callable[[], bool]) -> list[tuple[float, float]]:
        """Pushes, each while something goes on."""
        found: list[tuple[float, float]] = []
        while len(found) < RUNS and going():
            found.append(self.push())
            time.sleep(PAUSE)
        return found


def run(wanted: str = "") -> None:
    """Measure, and print the tables."""
    both = Neighbours(int(wanted or PROPOSALS))
    with stage(both.fill, ready=many.index, patience=1800) as at:
        both.push()
        idle = both.pushes_while(lambda: True)
        busy: list[tuple[float, float]] = []
        for rules in RULES:
            at.world.owner.pushes("main", {".porchbot.yaml": rules})
            time.sleep(3)  # its own look, which would have the proposals looked at in a while
            _wake_all(at.world)
            busy += both.pushes_while(lambda: _waiting(at.world) > 5)
            at.world.rests()
    rows = []
    for part, name in enumerate(("push -> first check", "push -> all checks")):
        alone, beside = ([each[part] for each in found] for found in (idle, busy))
        later = median(beside) - median(alone)
        aim = f"+1000 ms (+{later * 1000:.0f})"
        rows += [row(f"{name}, alone", alone), row(f"{name}, beside {both.count}", beside, aim)]
    table(["", "runs", "p50 ms", "max ms", "bar"], rows)


def _wake_all(made: RealWorld) -> None:
    """Have all proposals of the busy repository looked at now."""
    with psycopg.connect(made.environment["DATABASE_URL"], autocommit=True) as database:
        database.execute(
            "UPDATE work SET wanted = wanted + 1, due = now() WHERE key LIKE %s", [_keys(made)]
        )
        database.execute("NOTIFY porchbot_work")


def _waiting(made: RealWorld) -> int:
    """How many of them are still to be looked at."""
    with psycopg.connect(made.environment["DATABASE_URL"], autocommit=True) as database:
        found = database.execute(
            "SELECT count(*) FROM work WHERE wanted > seen AND due <= now() AND key LIKE %s",
            [_keys(made)],
        ).fetchone()
    return int(found[0]) if found else 0


def _keys(made: RealWorld) -> str:
    return f"github:{made.repository.id}:proposal:%"


if __name__ == "__main__":
    run()
