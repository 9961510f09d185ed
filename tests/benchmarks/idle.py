"""What sweeps of repositories in which nothing happens cost: forge calls in an hour.

The hours are simulated; the forge, its HTTP and git are not. The repositories were swept during the
last day and asked during the last three hours, each at its own time, as after weeks; then a day
passes that is not counted, in which the bot writes dashboards and looks at open proposals for the
first time. `idle=N` or `idle=NxM` has N repositories, M of them with an open proposal. All calls
count, API and git, those answered 304 and the token of each hour too. Bar: 1,500 an hour at 1,000
repositories.
"""

import asyncio
import random
import tempfile
import time
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

from bot.forges.github.app import AppClients
from bot.forges.github.forges import GitHubForges
from bot.forges.port import Repository
from bot.git.mirror import DiskMirrors
from bot.keys import Sweep, SweepKey, parse
from bot.loop.controller import Controller
from bot.loop.intervals import DAY, MOST_TIMES, Intervals
from bot.loop.work import Failed, LookAgain, PutOff, Settled, WorkItem
from bot.sandbox.faults.calls import LoggedCall
from bot.sandbox.rules.context import FileChange
from bot.sandbox.serve import SandboxForge
from bot.store.values import Watched
from tests.app_key import keys
from tests.benchmarks.stage import table
from tests.memory.clock import ManualClock
from tests.memory.renderer import MemoryRenderer
from tests.memory.store import MemoryStore
from tests.stories.world import package

HOUR = 3600.0
HOURS = 4
BAR = 1_500


def run(wanted: str = "1000x100") -> None:
    """Measure some hours, and print a table of them."""
    repositories, _, proposals = wanted.partition("x")
    with tempfile.TemporaryDirectory(prefix="porchbot-bench-") as folder:
        asyncio.run(_measure(Path(folder), int(repositories), int(proposals or 0)))


async def _measure(folder: Path, repositories: int, proposals: int) -> None:
    clock = ManualClock()
    private, public = keys()
    with SandboxForge(folder / "forge", clock=clock.now) as forge:
        app = _fill(forge, public, repositories, proposals)
        ours = AppClients(forge.api_url, str(app), private, clock=clock)
        store = MemoryStore(clock)
        controller = Controller(
            GitHubForges(ours),
            DiskMirrors(folder / "mirrors"),
            MemoryRenderer(),
            store,
            [b"k" * 32],
            "porchbot",
            intervals=Intervals(),
            clock=clock,
        )
        await _as_after_weeks(GitHubForges(ours), store, clock)
        for sweep in Sweep:
            await store.queue.wake(SweepKey(sweep, "github"))
        await _work(controller, store, clock, clock.seconds + DAY)
        marks, seconds = [len(forge.faults.calls())], []
        for _ in range(HOURS):
            began = time.monotonic()
            await _work(controller, store, clock, clock.seconds + HOUR)
            seconds.append(time.monotonic() - began)
            marks.append(len(forge.faults.calls()))
        calls = forge.faults.calls()
        ours.close()
    hours = [calls[first:last] for first, last in pairwise(marks)]
    head = ["hour", "calls", "of them 304", "git", "tokens", "seconds here", "at most"]
    table(head, [_row(n, h, s) for n, (h, s) in enumerate(zip(hours, seconds, strict=True), 1)])
    kinds = Counter(f"{c.method} {c.template}" if c.kind == "api" else c.kind for c in hours[-1])
    table(["the last hour", "calls"], [[k, f"{n}"] for k, n in kinds.most_common()])


def _row(number: int, calls: list[LoggedCall], seconds: float) -> list[str]:
    free = sum(c.status == 304 for c in calls)
    git = sum(c.kind == "git" for c in calls)
    tokens = sum("access_tokens" in c.template for c in calls)
    return [f"{number}", *map(str, (len(calls), free, git, tokens)), f"{seconds:.1f}", f"{BAR}"]


def _fill(forge: SandboxForge, public: str, repositories: int, proposals: int) -> int:
    """Make the repositories, of one installation; returns the App's number."""
    state = forge.state
    for login in ("owner", "author"):
        state.add_user(login)
    made = [state.add_repository("owner", f"catalog-{n}") for n in range(repositories)]
    owner = state.user("owner")
    for number, repo in enumerate(made):
        with state.lock:
            files = [FileChange(path=p, content=t.encode()) for p, t in package("net/core").items()]
            state.commit_files(repo, "main", files, "Begin", actor=owner)
            if number < proposals:
                change = [FileChange(path="net/core/more.yaml", content=b"a: 1\n")]
                state.commit_files(repo, "drafts/net/core/w", change, "Change", actor=owner)
                state.pulls.open(repo, owner, title="T", head="drafts/net/core/w", base="main")
    app = state.register_app("porchbot", public, owner="owner")
    state.install(app, *made)
    return app.id


async def _as_after_weeks(forges: GitHubForges, store: MemoryStore, clock: ManualClock) -> None:
    """Adopted long ago, swept over the last day, asked over the last hours; all of it quiet."""
    (installed,) = await forges.installations()
    found = list(await forges.repositories_of(installed.number))
    random.Random(0).shuffle(found)
    shown = {r.id: await forges.of(r).newest_change() for r in found}
    asking = MOST_TIMES * Intervals().seconds
    began = clock.seconds
    for at, repository, asked in sorted(
        [((n + 1) * DAY / len(found), r, False) for n, r in enumerate(found)]
        + [(DAY - asking + (n + 1) * asking / len(found), r, True) for n, r in enumerate(found)],
        key=lambda each: each[0],
    ):
        clock.seconds = began + at
        if asked:
            now = shown[repository.id]
            seen = Watched(
                listed=repository.changed, shown=now.shown, validator=now.validator, quiet=10
            )
            await store.sweeps.watch(repository.id, seen, asked=True)
        else:
            await _adopt(store, repository, clock.now())
            await store.sweeps.swept(repository.id, "", waits=False)


async def _adopt(store: MemoryStore, repository: Repository, now: datetime) -> None:
    await store.repositories.adopt(
        repository, now - timedelta(days=30), {}, highest=0, heads={"main": "0" * 40}
    )


async def _work(
    controller: Controller, store: MemoryStore, clock: ManualClock, until: float
) -> None:
    """Do what is due, and let the time pass to when something is."""
    while True:
        taken = await store.queue.take("bench")
        if taken is None:
            wait = await store.queue.next_due()
            if wait is None or clock.seconds + wait > until:
                clock.seconds = until
                return
            clock.seconds += wait + 0.001
            continue
        match await controller.work(WorkItem(parse(taken.key), taken.hint, taken.tries)):
            case Settled(after):
                await store.queue.done(taken, after=after)
            case LookAgain(after):
                await store.queue.again(taken, after)
            case Failed(reason):
                print(taken.key, reason)
                await store.queue.failed(taken, reason, 60)
            case PutOff(reason, after):
                await store.queue.failed(taken, reason, after, hold=True)
