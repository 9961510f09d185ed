"""Many downstreams of one upstream: from the rule, and from a tag, to the last pull request.

The forge, its HTTP and git are real and in this process; nobody waits for the pace at which pull
requests are opened, and packages are not rendered. `variants=N` has N
downstreams. Aims: 12 calls for each, one of them creating a pull request, 60 s of our own for
1,000, and memory that does not grow with their number. The bot's own time is told beside all of it;
the stand-in for its database is in it. A forge lets 500 be created in an hour: that
is its own floor.
"""

import asyncio
import resource
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bot.clock import SystemClock
from bot.forges.github.app import AppClients
from bot.forges.github.forges import GitHubForges
from bot.git.mirror import DiskMirrors
from bot.keys import Key, ProposalKey, PullKey, Sweep, SweepKey, VariantsKey, parse
from bot.loop.controller import Controller
from bot.loop.variants import PACE
from bot.loop.work import Failed, LookAgain, PutOff, Settled, WorkItem
from bot.sandbox.rules.context import FileChange
from bot.sandbox.serve import SandboxForge
from bot.store.hints import NOTHING
from bot.store.port import Store
from lifecycle.identity import RepositoryId
from tests.app_key import keys
from tests.benchmarks.spent import Meter, Spent
from tests.benchmarks.stage import table
from tests.memory import upstreams
from tests.memory.renderer import MemoryRenderer
from tests.memory.store import MemoryStore
from tests.stories.world import package, resized

SET = """apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata: {name: edges, annotations: {porchbot.dev/follow: latest}}
spec:
  upstream: {repo: here, package: net/base, revision: 1}
  targets:
  - repositories:
    - {name: here, packageNames: [NAMES]}
"""
CONFIG = """variants: [variants/*.yaml]
repositories:
  here: {}
access: {approve: {require: 0}}
"""
BRANCH = "drafts/net/base/w2"


class Hurried(SystemClock):
    """The system's, but that a pause between looks passes at once."""

    passed = 0.0

    def monotonic(self) -> float:
        """Seconds, pauses among them."""
        return super().monotonic() + self.passed


@dataclass(frozen=True, slots=True)
class _Measured:
    """What one round cost."""

    opened: int
    making: int
    calls: int
    creating: int
    own: float
    git: float
    all: float
    grown: float


def run(wanted: str = "1000") -> None:
    """Measure a quarter and all of them, and print a table."""
    most = int(wanted)
    rows = []
    for number in (most // 4, most):
        with tempfile.TemporaryDirectory(prefix="porchbot-bench-") as folder:
            for what, each in asyncio.run(_measure(Path(folder), number)).items():
                rows.append(
                    [
                        f"{number}: {what}",
                        *(f"{each.opened}", f"{each.making / number:.1f}"),
                        *(f"{each.calls / number:.1f}", f"{each.creating}"),
                        *(f"{each.own:.1f}", f"{each.git:.1f}", f"{each.all:.1f}"),
                        f"{each.grown:.0f}",
                    ]
                )
    head = ["downstreams", "pull requests", "calls for each", "with its checks", "creating"]
    head += ["processor s, the bot", "of it git", "the forge's too", "MiB more"]
    table(head, rows)


async def _measure(folder: Path, number: int) -> dict[str, _Measured]:
    private, public = keys()
    meter = Meter()
    with SandboxForge(folder / "forge") as forge, meter.counting():
        state = forge.state
        state.add_user("owner")
        repo, owner = state.add_repository("owner", "catalog"), state.user("owner")
        app = state.register_app("porchbot", public, owner="owner")
        state.install(app, repo)
        clients = AppClients(forge.api_url, str(app.id), private, offload=meter.offload)
        clock = Hurried()
        forges, mirrors = GitHubForges(clients), DiskMirrors(folder / "mirrors", clock=clock)
        store = MemoryStore(clock)
        controller = Controller(
            forges,
            mirrors,
            MemoryRenderer(),
            store,
            [b"k" * 32],
            "porchbot",
            upstreams=upstreams.served(forges, mirrors, store, clock, meter.offload, [b"k" * 32]),
            clock=clock,
            offload=meter.offload,
        )

        me = RepositoryId("github", repo.id)

        def commit(files: dict[str, str], tag: str = "", branch: str = "main") -> None:
            changes = [FileChange(path=p, content=t.encode()) for p, t in files.items()]
            with state.lock:
                made = state.commit_files(repo, branch, changes, "Change", actor=owner)
                if tag:
                    state.update_ref(repo, f"refs/tags/{tag}", made.sha, owner)

        async def look(key: Key) -> None:
            await store.queue.wake(key)
            await looks(controller, store)

        async def told(*first: Key) -> _Measured:
            before, calls = _memory(), len(forge.faults.calls())
            began, pulls = meter.now(), len(repo.pulls)
            for each in first:
                await look(each)
            while await controller.handle(VariantsKey(me), NOTHING) is not None:
                clock.passed += PACE
            making = len(forge.faults.calls()) - calls
            await looks(controller, store)
            found = forge.faults.calls()[calls:]
            posts = [c.template for c in found if c.method == "POST"]
            creating = sum(each.endswith(("/pulls", "/comments")) for each in posts)
            spent = _between(began, meter.now())
            opened, grown = len(repo.pulls) - pulls, _memory() - before
            took = (spent.own, spent.git, spent.all)
            return _Measured(opened, making, len(found), creating, *took, grown)

        names = ", ".join(f"edge/p{n:04}" for n in range(number))
        commit({".porchbot.yaml": CONFIG, **package("net/base")}, "net/base/v1")
        await look(SweepKey(Sweep.CHANGES, "github"))
        commit({"variants/edges.yaml": SET.replace("NAMES", names)})
        first = await told()
        commit(resized("net/base", 9), branch=BRANCH)
        await look(ProposalKey(me, repo.id, BRANCH))
        with state.lock:
            newest = max(repo.pulls)
            state.talk.comment(repo.pulls[newest], owner, "/propose")
        again = await told(PullKey(me, newest))
        quiet = await told()
        clients.close()
    return {"a new set": first, "a new revision": again, "nothing new": quiet}


async def looks(controller: Controller, store: Store) -> None:
    """Look at everything that is due: checks and labels of what was opened."""
    while (taken := await store.queue.take("bench")) is not None:
        match await controller.work(WorkItem(parse(taken.key), taken.hint, taken.tries)):
            case Settled(after):
                await store.queue.done(taken, after=after)
            case LookAgain(after):
                await store.queue.again(taken, max(after, 1.0))
            case Failed(reason) | PutOff(reason, _):
                print(taken.key, reason)
                await store.queue.failed(taken, reason, 60)


def _between(began: Spent, now: Spent) -> Spent:
    return Spent(now.own - began.own, now.git - began.git, now.all - began.all)


def _memory() -> float:
    """The most that this process has held, in MiB: the forge's share is in it."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
