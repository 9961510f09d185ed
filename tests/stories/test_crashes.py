"""The bot's process is killed in the middle of publishing, at every place there is."""

import subprocess
import threading
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

import pytest

from bot.sandbox.faults.calls import LoggedCall
from tests.stories.people import polled, wait_for
from tests.stories.real import RealWorld
from tests.stories.world import package

pytestmark = pytest.mark.real_parts

KINDS = {
    "github": {
        "a check run": "/check-runs",
        "a comment": "/comments",
        "a reaction": "/reactions",
        "a merge": "/merge",
        "a tag's object": "/git/tags",
        "a tag": "/git/refs",
        "a push (the end of the branch)": "git-receive-pack",
    },
    "gitlab": {
        "a status": "/statuses/",
        "a comment": "/notes",
        "a reaction": "/award_emoji",
        "a merge": "/merge",
        "a push (the tag, the end of the branch)": "git-receive-pack",
    },
}
"""What the publish chain must hold at each forge, and how its calls are told."""

PUSHES = {"github": 1, "gitlab": 2}
"""Pushes of the chain: at GitLab a tag is pushed, since its API writes another one."""


@dataclass(frozen=True, slots=True)
class Step:
    """One writing call of the chain: its name, and the how manieth of that name."""

    name: str
    nth: int


def writes(call: LoggedCall) -> bool:
    """Whether a call changes something."""
    if call.kind == "git":
        return call.method == "POST" and call.template.endswith("git-receive-pack")
    # A question to GraphQL is posted, too; nothing of the chain is changed through it.
    return call.method != "GET" and "graphql" not in call.template


def chain_of(play: RealWorld, since: int) -> list[Step]:
    """The writing calls of the bot, in the order of their answers."""
    seen: Counter[str] = Counter()
    steps = []
    for call in play.forge.faults.calls(play.caller, since=since):
        if writes(call):
            seen[call.name] += 1
            steps.append(Step(call.name, seen[call.name]))
    return steps


def proposes_at_once(play: RealWorld, name: str) -> int:
    """A proposal without waiting for anything; the bot may be down."""
    branch = f"drafts/crash/{name}/w"
    play.author.pushes(branch, package(f"crash/{name}"))
    pull = play.author.opens(branch, name)
    return int(pull.number)


class Killing:
    """Kills the bot, once, at the first that it comes to of some steps.

    In turn after the deed (its answer is lost) and before it is done.

    Args:
        play: The world.
        chain: All steps.
        steps: Those that count.
    """

    def __init__(self, play: RealWorld, chain: Sequence[Step], steps: Collection[Step]) -> None:
        self.killed_at: Step | None = None
        self._play = play
        self._lock = threading.Lock()
        faults = play.forge.faults
        for step in steps:
            kill = partial(self._kill, step)
            if chain.index(step) % 2:
                faults.after(step.name, kill, nth=step.nth, caller=play.caller)
            else:
                faults.before(step.name, kill, nth=step.nth, caller=play.caller)
                faults.fail(step.name, 502, nth=step.nth, caller=play.caller)

    def is_done(self) -> bool:
        """Whether the bot was killed."""
        return self.killed_at is not None

    def _kill(self, step: Step) -> None:
        with self._lock:  # two of its looks may come to a step at once
            if self.killed_at is None:
                polled("the bot's process", lambda: self._play.bot_pid or None)
                self._play.kill_bot()
                self.killed_at = step


def is_published_once(play: RealWorld, name: str, number: int, step: object) -> None:
    """Merged, tagged, told and tidied, each exactly once."""
    author = play.author
    target = author.waits_for_tag(f"crash/{name}/v1")
    author.waits_for_summary(number, f"Published crash/{name} v1")
    branch = f"refs/heads/drafts/crash/{name}/w"
    wait_for(f"the branch of {name} to go", lambda: branch not in play.repository.refs or None)
    pull = author.pull(number)
    assert pull.merged, step
    assert target == pull.merge_commit, step
    tags = [tag for tag in play.repository.refs if tag.startswith(f"refs/tags/crash/{name}/")]
    assert tags == [f"refs/tags/crash/{name}/v1"], step
    assert len(author.answers(number)) == 1, step
    assert author.checks(pull.head)["porchbot/publish"].conclusion == "success", step


@pytest.mark.long
def test_killed_at_every_call_of_the_publish_chain(stage: RealWorld) -> None:
    """Fails when a step is remembered in the process, or taken as done because it was begun.

    The bot is killed at a step of a proposal, and the next one at a step that none was killed at.
    What two of its looks do is in no order: another proposal is for the steps that were missed. In
    turn before and after the deed: each start of the process takes a while, and the simulation
    kills before and after every call (docs/simulation.md).
    """
    author, approver = stage.author, stage.approver
    first = proposes_at_once(stage, "whole")
    stage.start_bot_process()
    author.waits_for_check(first, "porchbot/validate", "success")
    stage.rests()
    mark = stage.forge.faults.mark()
    approver.says(first, "/approve")
    is_published_once(stage, "whole", first, "undisturbed")
    stage.rests()
    chain = chain_of(stage, mark)
    print("\nThe publish chain:", *(f"\n  {step.name} ({step.nth})" for step in chain))
    for kind, part in KINDS[stage.name].items():
        assert any(part in step.name for step in chain), f"{kind} is missing: {chain}"
    pushes = sum("git-receive-pack" in step.name for step in chain)
    assert pushes == PUSHES[stage.name]

    left, proposals = list(chain), 1
    began = time.monotonic()
    while left:
        name = f"n{proposals}"
        number = proposes_at_once(stage, name)
        author.waits_for_check(number, "porchbot/validate", "success")
        stage.rests()
        before = len(left)
        killing = Killing(stage, chain, left)
        approver.says(number, "/approve")
        while is_killed(stage, name, killing):
            left = [step for step in left if step != killing.killed_at]
            stage.forge.faults.clear()
            stage.leases_end()
            killing = Killing(stage, chain, left)
            stage.start_bot_process(forked=True, unless=killing.is_done)
        stage.forge.faults.clear()
        is_published_once(stage, name, number, left)
        assert len(left) < before, f"the bot did not come to {left}"
        print(f"Killed {before - len(left)} times at {name}")
        proposals += 1
    stage.rests()
    # What was begun was finished: no object of a tag was written twice.
    folder = stage.forge.store.path(stage.repository.id)
    listed = ["git", "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)"]
    kinds = subprocess.run(listed, cwd=folder, capture_output=True, check=True).stdout.split()
    assert kinds.count(b"tag") == proposals
    print(f"Killed {len(chain)} times in {time.monotonic() - began:.1f} s")


def is_killed(play: RealWorld, name: str, killing: Killing) -> bool:
    """Wait until the bot was killed, or has done all that there is."""
    branch = f"refs/heads/drafts/crash/{name}/w"
    gone = lambda: killing.is_done() or branch not in play.repository.refs or None  # noqa: E731 (short)
    wait_for("a kill", gone)
    play.rests(unless=killing.is_done)
    return killing.is_done()
