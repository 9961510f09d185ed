"""An hour of the bot after a merge that the forge did not make, in counts of calls."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from bot.keys import InstallationsKey
from bot.loop.controller import Controller
from bot.loop.work import Worker
from bot.tasks import end
from lifecycle.identity import GITHUB
from tests.memory.clock import ManualClock
from tests.memory.renderer import MemoryRenderer
from tests.memory.store import MemoryStore
from tests.simulation.forge import SimulatedForge
from tests.simulation.forge_calls import AWAY, LOST, NOT_ALLOWED, Fault, ForgeCall

PACKAGE = {
    "net/core/Kptfile": b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: core\n",
    "net/core/a.yaml": b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n",
}
CHANGED = {"net/core/a.yaml": PACKAGE["net/core/a.yaml"] + b"data: {b: c}\n"}
PEOPLE = {"owner": "admin", "author": "write", "approver": "maintain"}
BRANCH = "drafts/net/core/v1"
HOUR = 3600.0


async def inline(work: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
    """Offload to nowhere."""
    return work(*args, **named)


@dataclass
class Stage:
    """A proposal whose gates hold, and a bot that can be started."""

    forge: SimulatedForge
    clock: ManualClock
    store: MemoryStore
    number: int = 0
    fault: Fault | None = None
    merges: list[float] = field(default_factory=list)
    _running: asyncio.Task[None] | None = None

    def befalls(self, call: ForgeCall) -> Fault | None:
        if call.name != "merge":
            return None
        self.merges.append(self.clock.seconds)
        return self.fault

    def start(self, store: MemoryStore | None = None) -> None:
        """Start a bot; its clock moves on whenever it waits."""
        self.store = store or self.store
        controller = Controller(
            self.forge.forges(),
            self.forge.mirrors(clock=self.clock),
            MemoryRenderer(),
            self.store,
            [b"k" * 32],
            "porchbot",
            clock=self.clock,
            offload=inline,
        )
        worker = Worker(self.store, controller.work, "one", clock=self.clock)
        self._running = asyncio.create_task(worker.run(2))

    async def stop(self) -> None:
        if self._running is not None:
            await end([self._running])

    async def pass_(self, seconds: float) -> None:
        """Let time pass; what the forge tells meanwhile wakes keys."""
        until = self.clock.seconds + seconds
        await self.sweep()
        while self.clock.seconds < until:
            while self.forge.deliveries:
                hook = self.forge.deliveries.popleft()
                headers = {name.lower(): value for name, value in hook.headers.items()}
                await self.store.queue.wake_all(self.forge.forges().wakes_of(headers, hook.body))
            await asyncio.sleep(0)

    async def sweep(self) -> None:
        await self.store.queue.wake(InstallationsKey(GITHUB))

    @property
    def publish(self) -> str:
        """What `porchbot/publish` says on the proposal's head."""
        repo = self.forge.act("author").repo
        head = repo.pulls[self.number].head_sha
        runs = self.forge.state.checks.runs_on(repo, head)
        return next((str(r.title) for r in runs if r.name == "porchbot/publish"), "")

    @property
    def merged(self) -> bool:
        return self.forge.act("author").repo.pulls[self.number].merged

    def says(self, text: str) -> bool:
        """Whether any comment on the proposal says so."""
        repo = self.forge.act("author").repo
        return any(text in c.body for c in self.forge.read.comments(repo, self.number))


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    clock = ManualClock()
    forge = SimulatedForge(clock, random.Random(1))
    forge.state.organizations.add("acme")
    for login in PEOPLE:
        forge.state.add_user(login)
    forge.add_app("acme")
    repo = forge.add_repository("acme", "blueprints", PACKAGE, PEOPLE)
    forge.install(repo)
    stage = Stage(forge, clock, MemoryStore(clock))
    forge.faults = stage.befalls
    stage.start()
    await stage.pass_(300)
    author = forge.act("author")
    author.push(BRANCH, CHANGED)
    await stage.pass_(300)
    stage.number = max(repo.pulls)
    author.say(stage.number, "/propose")
    await stage.pass_(300)
    try:
        yield stage
    finally:
        await stage.stop()


async def approved(stage: Stage, fault: Fault | None) -> None:
    """The merge is asked for, and goes wrong so."""
    stage.fault = fault
    stage.forge.act("approver").say(stage.number, "/approve")


def refused(text: str, status: int = 405) -> Fault:
    return Fault(status=status, message=text)


async def test_without_a_fault_it_is_merged_at_once(stage: Stage) -> None:
    await approved(stage, None)
    await stage.pass_(300)

    assert (stage.merged, len(stage.merges)) == (True, 1)


POLICIES = {
    "a rule": refused("Repository rule violations found\n\nCommits must have verified signatures."),
    "no leave": NOT_ALLOWED,
}


@pytest.mark.parametrize("fault", POLICIES.values(), ids=POLICIES)
async def test_a_policy_is_asked_once_however_often_the_key_is_woken(
    stage: Stage, fault: Fault
) -> None:
    """The short-cut tries again at each sweep, or backs off: dozens of calls that all end alike."""
    await approved(stage, fault)
    for _ in range(12):
        await stage.pass_(HOUR / 12)

    assert len(stage.merges) == 1
    assert "merging was refused" in stage.publish


PASSING = {
    "502": AWAY,
    "the base moves all the time": refused(
        "Base branch was modified. Review and try the merge again."
    ),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
async def test_what_passes_is_tried_less_and_less_often(stage: Stage, fault: Fault) -> None:
    """The short-cut tries each second, or at each wake: 3,600 calls an hour."""
    await approved(stage, fault)
    for _ in range(60):
        await stage.pass_(HOUR / 60)

    waits = [after - before for before, after in zip(stage.merges, stage.merges[1:], strict=False)]
    assert 6 <= len(stage.merges) <= 16
    assert waits[-1] > 4 * waits[0]
    if stage.publish.startswith("Publishing"):  # the hour ended while it was tried
        await stage.pass_(60)
    assert "merging failed" in stage.publish
    stage.fault = None
    await stage.pass_(2 * waits[-1])  # as far as the waits have grown by now
    assert stage.merged


async def test_a_lost_answer_is_no_second_merge(stage: Stage) -> None:
    await approved(stage, LOST)
    await stage.pass_(300)

    assert (stage.merged, len(stage.merges)) == (True, 1)


async def test_what_nobody_knows_is_tried_three_times_through_a_restart(stage: Stage) -> None:
    """The short-cut counts in the process: each restart begins anew. It tries three times in one
    look, or never stops."""
    await approved(stage, refused("Unicorns are asleep."))
    while len(stage.merges) < 2:
        await stage.pass_(5)
    await stage.stop()
    stage.start()
    for _ in range(10):
        await stage.pass_(HOUR / 10)

    assert len(stage.merges) == 3
    assert stage.merges[1] - stage.merges[0] >= 10
    assert stage.says("three times")
    await stage.stop()
    stage.start(MemoryStore(stage.clock))  # a lost database
    await stage.pass_(HOUR)
    assert 3 < len(stage.merges) <= 6


INPUTS: dict[str, Callable[[Stage], object]] = {
    "a push": lambda s: s.forge.act("author").push(BRANCH, {"net/core/a.yaml": b"a: 1\n"}),
    "a review": lambda s: s.forge.act("approver").review(s.number, "APPROVE"),
    "a rule": lambda s: s.forge.act("owner").add_rules(required_signatures=True),
    "a check": lambda s: s.forge.act("owner").report(
        s.forge.act("author").repo.pulls[s.number].head_sha, "scan", "success"
    ),
    "the base": lambda s: s.forge.act("owner").push("main", {"README.md": b"x"}),
    "somebody who says so": lambda s: s.forge.act("author").say(s.number, "/check"),
}


@pytest.mark.parametrize("change", INPUTS.values(), ids=INPUTS)
async def test_a_changed_input_brings_another_try(
    stage: Stage, change: Callable[[Stage], object]
) -> None:
    """The short-cut forgets what was refused only where the head moved, or never."""
    await approved(stage, refused("Cannot update this protected ref."))
    await stage.pass_(600)
    assert len(stage.merges) == 1

    change(stage)
    stage.fault = None
    await stage.pass_(600)
    if change is INPUTS["a push"]:  # another head needs another approval
        assert len(stage.merges) == 1
        stage.forge.act("approver").say(stage.number, "/approve")
        await stage.pass_(600)

    assert (stage.merged, len(stage.merges)) == (True, 2)
