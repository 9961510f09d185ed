"""The stage of the measurements: the forge in this process; database, runner and bot in theirs.

Moments are taken where the forge keeps its facts, as they change: nothing is asked of the forge to
learn that something happened, so that measuring takes nothing from what is measured.
"""

import asyncio
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median

from bot.sandbox.api import Exchange
from bot.sandbox.faults.calls import LoggedCall
from bot.sandbox.gitlab.rules import pipelines
from bot.sandbox.records.memory import Happening
from bot.sandbox.records.pipelines import FINISHED
from bot.store.embedded.server import EmbeddedPostgres
from tests.databases import create_database
from tests.stories.real import RealWorld, world
from tests.stories.real_gitlab import gitlab_world
from tests.stories.world import KPTFILE

PATIENCE = 60.0
"""Seconds to wait for one thing; what takes longer is broken, not slow."""

BOTS: Mapping[str, str] = {"github": "porchbot[bot]", "gitlab": "porchbot"}
"""Login of the bot at each forge."""
CHECKS = frozenset({"porchbot/render", "porchbot/validate", "porchbot/publish"})

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: service-{i} # the name
  namespace: example
  labels:
    app: service-{i}
    owner: network
spec:
  replicas: {replicas}
  selector:
    matchLabels:
      app: service-{i}
      owner: network
  template:
    metadata:
      labels:
        app: service-{i}
        owner: network
    spec:
      containers:
        - name: main
          image: registry.example.com/service-{i}:1.2.3
          ports:
            - name: http
              containerPort: 8080
          env:
            - name: LEVEL
              value: info
          resources:
            limits:
              memory: 256Mi
            requests:
              cpu: 100m
              memory: 128Mi
"""

PIPELINE = """\
pipeline:
  mutators:
    - image: set-namespace:v0.4.1
      configMap: {namespace: example}
"""


def large(path: str, replicas: int = 3, resources: int = 50) -> dict[str, str]:
    """The files of a package of so many Deployments, that is its own rendering.

    It sets its namespace; the guardrails of the stories set a label and validate.
    """
    name = path.rsplit("/", 1)[-1]
    return {
        f"{path}/Kptfile": KPTFILE.replace("NAME", name) + PIPELINE,
        **{f"{path}/app-{i:02}.yaml": deployment(i, replicas) for i in range(resources)},
    }


def deployment(i: int, replicas: int) -> str:
    """One Deployment."""
    return DEPLOYMENT.format(i=i, replicas=replicas)


class Moments:
    """When what happened at the forge, on `time.monotonic`."""

    def __init__(self, made: RealWorld) -> None:
        self._world = made
        self._changed = threading.Condition()
        self._pushed: dict[str, float] = {}
        self._said: dict[int, float] = {}
        self._tagged: dict[str, float] = {}
        self._checked: dict[str, float] = {}
        made.forge.state.listeners.append(self._heard)
        made.forge.observers.append(self._answered)

    def pushed(self, commit: str) -> float:
        """When the forge took a commit that somebody pushed to a branch."""
        return self._when(lambda: self._pushed.get(commit), f"the push of {commit}")

    def said(self, comment: int) -> float:
        """When the forge took a comment."""
        return self._when(lambda: self._said.get(comment), f"comment {comment}")

    def tagged(self, tag: str) -> float:
        """When the forge took a tag."""
        return self._when(lambda: self._tagged.get(tag), f"the tag {tag}")

    def checked(self, commit: str) -> float:
        """When the last of the bot's checks stood at a commit: rendered, validated, shown."""
        return self._when(lambda: self._checked.get(commit), f"the checks of {commit}")

    def _when(self, find: Callable[[], float | None], what: str) -> float:
        with self._changed:
            if not self._changed.wait_for(lambda: find() is not None, PATIENCE):
                raise TimeoutError(f"waited {PATIENCE} s for {what}")
            return find() or 0.0

    def _heard(self, happening: Happening) -> None:
        now = time.monotonic()
        with self._changed:
            if happening.kind == "push":
                change = happening.extra["change"]
                if change.ref.startswith("refs/tags/"):
                    self._tagged.setdefault(change.ref.removeprefix("refs/tags/"), now)
                else:
                    self._pushed.setdefault(change.after, now)
            elif happening.kind == "issue_comment" and happening.action == "created":
                self._said.setdefault(happening.extra["comment"].id, now)
            elif happening.kind == "note" and happening.action == "create":
                self._said.setdefault(happening.extra["note"].id, now)
            self._changed.notify_all()

    def _answered(self, exchange: Exchange) -> None:
        if exchange.method == "GET" or not re.search("/check-runs|/statuses/", exchange.path):
            return
        now = time.monotonic()
        body, state, repo = exchange.response_body, self._world.forge.state, self._world.repository
        if exchange.status >= 300:
            return
        with state.lock:
            head = body.get("head_sha") or body["sha"]
            runs = state.checks.runs_on(repo, head)
            ended = {r.name: r.status == "completed" for r in runs}
            for pipeline in reversed(pipelines.on_commit(repo, head)):
                ended |= {s.name: s.state in FINISHED for s in pipeline.latest}
            names = {name for name, over in ended.items() if over or name.endswith("publish")}
        if names >= CHECKS:
            with self._changed:
                self._checked.setdefault(head, now)
                self._changed.notify_all()


class Stage:
    """A world with its bot in a process of its own."""

    def __init__(self, made: RealWorld) -> None:
        self.world = made
        self.moments = Moments(made)

    def head(self, branch: str) -> str:
        """Where a branch is now."""
        with self.world.forge.state.lock:
            return str(self.world.repository.refs[f"refs/heads/{branch}"])

    def number(self, branch: str) -> int:
        """The pull request of a branch, once it is there."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with self.world.forge.state.lock:
                for pull in self.world.repository.pulls.values():
                    if pull.head_ref == branch:
                        return int(pull.number)
            time.sleep(0.02)
        raise TimeoutError(f"no pull request of {branch}")

    def steps(self) -> dict[str, float]:
        """Seconds that the bot has spent in each step since it started, by its own measure."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.world.port}/metrics") as answer:
            text = answer.read().decode()
        pattern = r'^porchbot_step_seconds_sum\{step="(\w+)"\} (\S+)$'
        return {step: float(sum_) for step, sum_ in re.findall(pattern, text, re.MULTILINE)}

    def calls(self, since: float, until: float) -> list[LoggedCall]:
        """The bot's calls that were answered between two moments, or under way at the last."""
        return [
            c
            for c in self.world.forge.faults.calls(BOTS[self.world.forge.dialect])
            if c.began + c.seconds > since and c.began < until
        ]


@contextmanager
def stage(
    fill: Callable[[RealWorld], None] = lambda _: None,
    ready: Callable[[RealWorld], None] = lambda _: None,
    patience: float = 30.0,
    *,
    forge: str = "github",
) -> Iterator[Stage]:
    """Everything, started and at rest; all of it ends with the block.

    Args:
        fill: Called before the bot starts.
        ready: Called when it has made its tables.
        patience: Seconds that it may take to come to rest.
        forge: Which one, github or gitlab.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="porchbot-bench-")))
        postgres = stack.enter_context(EmbeddedPostgres())
        url = asyncio.run(create_database(postgres.url, "bench"))
        address = f"unix:{folder / 'runner.sock'}"
        stack.enter_context(_runner(address))
        begins = gitlab_world if forge == "gitlab" else world
        made = stack.enter_context(begins(folder, url, address))
        made.patience = patience
        fill(made)
        made.start_bot_process()
        ready(made)
        made.rests()
        yield Stage(made)


@contextmanager
def _runner(address: str) -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-m", "bot.cli", "runner", "--listen", address])
    try:
        yield
    finally:
        process.terminate()
        process.wait(20)


KINDS: Sequence[tuple[str, Callable[[LoggedCall], bool]]] = (
    ("git push", lambda c: c.kind == "git" and ("receive" in c.path or c.method == "PUT")),
    ("git fetch", lambda c: c.kind == "git"),
    ("API writes", lambda c: c.method != "GET"),
    ("API reads", lambda c: c.method == "GET"),
)
"""Kinds of calls; a moment with several under way belongs to the first kind."""


def shares(calls: Sequence[LoggedCall], since: float, until: float) -> Mapping[str, float]:
    """Seconds between two moments, by what the forge was doing then; the rest is the bot's own."""
    marks = sorted({since, until, *_marks(calls, since, until)})
    found = dict.fromkeys([*(name for name, _ in KINDS), "bot itself"], 0.0)
    for begin, end in pairwise(marks):
        going = [c for c in calls if c.began <= begin and c.began + c.seconds >= end]
        name = next((name for name, fits in KINDS if any(map(fits, going))), "bot itself")
        found[name] += end - begin
    return found


def _marks(calls: Sequence[LoggedCall], since: float, until: float) -> Iterator[float]:
    for call in calls:
        for moment in (call.began, call.began + call.seconds):
            if since < moment < until:
                yield moment


def row(name: str, seconds: Sequence[float], aim: str = "") -> list[str]:
    """A line of a table: how many, the middle, the worst in milliseconds, the aim."""
    worst = max(seconds) * 1000
    return [name, f"{len(seconds)}", f"{median(seconds) * 1000:.0f}", f"{worst:.0f}", aim]


def table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table in Markdown, its columns aligned for reading as they are."""
    lines = [heading, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heading))]

    def line(cells: Sequence[str]) -> str:
        first, *rest = (
            f"{c:<{w}}" if i == 0 else f"{c:>{w}}"
            for i, (c, w) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join([first, *rest])} |"

    print(line(heading))
    print(f"|{'|'.join('-' * (w + 1) + ('-' if i == 0 else ':') for i, w in enumerate(widths))}|")
    for cells in rows:
        print(line(cells))
    print()
