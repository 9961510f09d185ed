"""The bot's process is killed in the middle of publishing, at every place there is."""

import subprocess
import threading
import time
from collections import Counter
from dataclasses import dataclass

import pytest

from bot.sandbox.faults.calls import LoggedCall
from tests.stories.people import PATIENCE, wait_for
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


def killed_at(play: RealWorld, step: Step, *, done: bool) -> threading.Event:
    """Kill the bot at a call: after the deed (its answer is lost), or before it is done."""
    dead = threading.Event()

    def kill() -> None:
        play.kill_bot()
        dead.set()

    faults = play.forge.faults
    if done:
        faults.after(step.name, kill, nth=step.nth, caller=play.caller)
    else:
        faults.before(step.name, kill, nth=step.nth, caller=play.caller)
        faults.fail(step.name, 502, nth=step.nth, caller=play.caller)
    return dead


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

    In turn before and after the deed: each start of the process takes a while, and the simulation
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

    before: tuple[str, int, Step] | None = None
    stage.kill_bot()
    began = time.monotonic()
    for place, step in enumerate(chain):
        name = f"n{place}"
        number = proposes_at_once(stage, name)
        stage.start_bot_process(forked=True)
        if before is not None:
            is_published_once(stage, *before)
        author.waits_for_check(number, "porchbot/validate", "success")
        stage.rests()
        dead = killed_at(stage, step, done=bool(place % 2))
        approver.says(number, "/approve")
        assert dead.wait(PATIENCE), f"the bot did not come to {step}"
        stage.forge.faults.clear()
        stage.leases_end()
        before = (name, number, step)
    stage.start_bot_process(forked=True)
    assert before is not None
    is_published_once(stage, *before)
    stage.rests()
    # What was begun was finished: no object of a tag was written twice.
    folder = stage.forge.store.path(stage.repository.id)
    listed = ["git", "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)"]
    kinds = subprocess.run(listed, cwd=folder, capture_output=True, check=True).stdout.split()
    assert kinds.count(b"tag") == len(chain) + 1
    print(f"Killed {len(chain)} times in {time.monotonic() - began:.1f} s")
