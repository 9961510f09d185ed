"""A set of variants over packages of two repositories, from its first day on."""

from collections import Counter

import pytest

from tests.stories.killing import killed_at_every_call
from tests.stories.people import Person, wait_for
from tests.stories.simulated import SimulatedWorld
from tests.stories.test_upstreams import publishes
from tests.stories.world import CONFIG, ROLES, World, package, resized, seconds_pass

NAMES = [f"p{number:02}" for number in range(6)]
SET = """apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata: {name: edges, annotations: {porchbot.dev/follow: latest}}
spec:
  upstream: {repo: here, package: net/base, revision: 1}
  targets:
  - repositories:
    - {name: here, packageNames: [HERE]}
    - {name: live, packageNames: [LIVE]}
    template: {adoptionPolicy: adoptNone}
"""
TABLE = """variants: [variants/*.yaml]
repositories:
  here: {}
  live: {repository: acme/live}
upstreams: {share: ["acme/live"]}
"""
WRITES = ("git push", "open_proposal", "close_proposal", "set_draft")
"""What variants write with."""


def rule(here: list[str], live: list[str]) -> dict[str, str]:
    """The set, over some packages in each of two repositories."""
    return {
        "variants/edges.yaml": SET.replace("HERE", ", ".join(here)).replace("LIVE", ", ".join(live))
    }


def opened(person: Person) -> Counter[str]:
    """How many pull requests there ever were of each package of the set, by branch."""
    found = (pull.head_ref for pull in person.pulls(every=True))
    return Counter(ref for ref in found if "/packagevariant-" in ref)


def branch(name: str, number: int = 1) -> str:
    """The branch of a package's draft."""
    return f"drafts/edge/{name}/packagevariant-{number}"


def two_repositories(stage: World) -> Person:
    """A second repository, which lets the first one's rules in; its author."""
    rules = f"{CONFIG}variants_from: [acme/blueprints]\n"
    stage.serves("live", {".porchbot.yaml": rules}, people=ROLES)
    return stage.author.at("acme/live")


def rolls_back(play: World, name: str) -> None:
    """A package is published twice, and then rolled back to what it was first."""
    pull = play.author.pull_of(branch(name)).number
    play.author.says(pull, "/propose")
    play.rests()
    play.approver.says(pull, "/approve")
    play.author.waits_for_tag(f"edge/{name}/v1")
    play.rests()
    seconds_pass(play.forge, 1)
    text = play.author.reads(f"edge/{name}/settings.yaml") + "  colour: red\n"
    publishes(play, f"edge/{name}", {f"edge/{name}/settings.yaml": text}, 2)
    other = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.says(other, f"/rollback edge/{name}@v1 too red")
    pull = play.author.pull_of(f"drafts/edge/{name}/rollback-v1").number
    play.rests()
    play.author.says(pull, "/propose")
    play.rests()
    play.approver.says(pull, "/approve")
    wait_for("the merge", lambda: play.author.pull(pull).merged or None)
    play.rests()


@pytest.mark.long
@pytest.mark.simulated_time("calls are killed in process, hundreds of them")
def test_a_set_over_two_repositories_opens_nothing_twice_whatever_is_killed(stage: World) -> None:
    """Short-cuts refused: what was begun is remembered by the process; a new revision opens a
    second pull request; what people did is undone.
    """
    play = stage
    assert isinstance(play, SimulatedWorld)
    live = two_repositories(play)
    play.start_bot()
    publishes(play, "net/base", package("net/base"), 1)
    every = [f"edge/{name}" for name in NAMES]

    with killed_at_every_call(play, WRITES) as killing:
        play.owner.pushes("main", {".porchbot.yaml": CONFIG + TABLE, **rule(every, every)})
        for person in (play.author, live):
            wait_for("all", lambda p=person: len(opened(p)) == len(NAMES) or None, 7200)  # type: ignore[misc]
    assert sum(killing.killed.values()) > len(NAMES)
    play.rests()
    once = Counter({branch(name): 1 for name in NAMES})
    assert opened(play.author) == once == opened(live)

    touched, closed, held, removed, *_ = NAMES
    seconds_pass(play.forge, 1)
    mine = play.author.reads(f"edge/{touched}/settings.yaml", branch(touched)) + "  colour: red\n"
    play.author.pushes(branch(touched), {f"edge/{touched}/settings.yaml": mine})
    play.author.closes(play.author.pull_of(branch(closed)).number)
    rolls_back(play, held)
    left = [each for each in every if each != f"edge/{removed}"]

    def is_new(person: Person, name: str, number: int = 1) -> bool:
        ref = branch(name, number)
        there = ref in person.branches()
        return there and "ref: net/base/v2" in person.reads(f"edge/{name}/Kptfile", ref)

    def all_new() -> bool | None:
        rest = [name for name in NAMES if name not in (closed, held, removed)]
        found = all(is_new(play.author, name) for name in rest)
        found = found and all(is_new(live, name) for name in NAMES)
        gone = branch(removed) not in play.author.branches()
        return (found and gone and is_new(play.author, closed, 2)) or None

    upstream = play.proposes("drafts/net/base/w2", resized("net/base", 9))
    with killed_at_every_call(play, WRITES) as killing:
        play.owner.pushes("main", rule(left, every))
        play.approver.says(upstream, "/approve")
        wait_for("the new revision everywhere", all_new, 7200)
    assert sum(killing.killed.values()) > len(NAMES)
    play.rests()
    play.sweep()
    play.rests()

    assert opened(live) == once
    assert opened(play.author) == once + Counter({branch(closed, 2): 1})
    text = play.author.reads(f"edge/{touched}/settings.yaml", branch(touched))
    assert ("colour: red" in text, 'size: "9"' in text) == (True, True)
    still = {pull.head_ref for pull in play.author.pulls()}
    assert branch(removed) not in still
    assert branch(held, 2) not in play.author.branches()
    kptfile = play.author.reads(f"edge/{held}/Kptfile")
    assert "ref: net/base/v1" in kptfile
