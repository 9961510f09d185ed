"""Rules for variants that go: what they made goes with them, or stays, as they said."""

import pytest

from tests.stories.people import wait_for
from tests.stories.test_upstreams import publishes
from tests.stories.test_variants import RULES, SHOP, begins, opened, publishes_first, variant
from tests.stories.world import World, package, seconds_pass

GONE = {"variants/shop.yaml": None}


def removes_rule(play: World) -> None:
    """The owner takes the rule away."""
    seconds_pass(play.forge, 1)
    play.owner.pushes("main", GONE)
    play.rests()
    play.sweep()
    play.rests()


@pytest.mark.both_forges
def test_a_package_goes_with_its_rule_by_a_pull_request(play: World) -> None:
    """Short-cuts refused: it is deleted on main; or left for ever; or asked for at each sweep."""
    begins(play)
    publishes_first(play)

    removes_rule(play)

    pull = play.author.pull_of(f"{SHOP}-2")
    assert pull.title == "Remove apps/shop"
    assert not pull.draft
    assert "`acme/blueprints:variants/shop.yaml`" in pull.body
    assert play.author.reads("apps/shop/Kptfile")
    play.sweep()
    play.rests()
    assert opened(play) == [f"{SHOP}-1", f"{SHOP}-2"]
    play.approver.says(pull.number, "/approve")
    wait_for("the merge", lambda: play.author.pull(pull.number).merged or None)
    play.rests()
    play.sweep()
    play.rests()
    assert opened(play) == [f"{SHOP}-1", f"{SHOP}-2"]


def test_packages_inside_that_are_there_for_themselves_stay(play: World) -> None:
    """The short-cut removes the folder: what another rule keeps there, or was published, goes."""
    begins(play)
    publishes_first(play)
    seconds_pass(play.forge, 1)
    kept, part = (package(f"apps/shop/{each}") for each in ("kept", "part"))
    mark = "  annotations: {porchbot.dev/variant: other}\n"
    kptfile = kept["apps/shop/kept/Kptfile"].replace("metadata:\n", f"metadata:\n{mark}", 1)
    assert mark in kptfile
    play.owner.pushes("main", {**kept, **part, "apps/shop/kept/Kptfile": kptfile})
    play.rests()

    removes_rule(play)

    branch = play.author.pull_of(f"{SHOP}-2").head_ref
    assert play.author.reads("apps/shop/kept/settings.yaml", branch)
    for gone in ("apps/shop/Kptfile", "apps/shop/part/Kptfile"):
        with pytest.raises(Exception, match="404"):
            play.author.reads(gone, branch)


def test_what_a_person_keeps_is_kept_until_the_package_changes(play: World) -> None:
    """The short-cut proposes the removal again at the next sweep."""
    begins(play)
    publishes_first(play)
    removes_rule(play)

    play.author.closes(play.author.pull_of(f"{SHOP}-2").number)
    play.rests()
    play.sweep()
    play.rests()

    assert opened(play) == [f"{SHOP}-1", f"{SHOP}-2"]


def test_with_orphan_the_package_stays(play: World) -> None:
    """Short-cut refused: what the rule said last is not known any more, so that it goes."""
    begins(play)
    publishes_first(play)
    play.owner.pushes("main", variant(more="  deletionPolicy: orphan\n"))
    play.rests()

    removes_rule(play)

    assert not [p for p in play.author.pulls() if p.title == "Remove apps/shop"]


@pytest.mark.parametrize("people", [False, True], ids=["the bot's alone", "with commits of people"])
def test_a_draft_goes_with_its_rule_unless_people_committed_to_it(
    play: World, people: bool
) -> None:
    """Short-cuts refused: it stays open for ever; what somebody worked on is closed."""
    begins(play)
    pull = play.author.pull_of(f"{SHOP}-1")
    play.rests()
    if people:
        seconds_pass(play.forge, 1)
        play.author.pushes(f"{SHOP}-1", {"apps/shop/more.yaml": "kind: More\n"})
        play.rests()

    removes_rule(play)

    found = [p.number for p in play.author.pulls()]
    assert (pull.number in found) is people


@pytest.mark.both_forges
def test_a_rule_that_comes_back_takes_the_removal_back(play: World) -> None:
    """The short-cut leaves the pull request open, and somebody merges it."""
    begins(play)
    publishes_first(play)
    removes_rule(play)
    removal = play.author.pull_of(f"{SHOP}-2").number
    seconds_pass(play.forge, 1)

    play.owner.pushes("main", variant())
    play.rests()

    assert removal not in [p.number for p in play.author.pulls()]
    assert opened(play) == [f"{SHOP}-1", f"{SHOP}-2"]


def test_without_any_rules_what_they_made_goes_as_well(play: World) -> None:
    """The short-cut looks only where the configuration names rules."""
    begins(play)
    publishes_first(play)
    seconds_pass(play.forge, 1)
    config = play.author.reads(".porchbot.yaml").partition("variants:")[0]
    play.owner.pushes("main", {".porchbot.yaml": config})
    play.rests()
    play.sweep()
    play.rests()

    assert play.author.pull_of(f"{SHOP}-2").title == "Remove apps/shop"


def test_rules_that_cannot_be_read_take_nothing_with_them(play: World) -> None:
    """The short-cut takes a file with an error in it for one without rules."""
    begins(play)
    publishes_first(play)
    seconds_pass(play.forge, 1)

    play.owner.pushes("main", {**GONE, "variants/other.yaml": "kind: ["})
    play.rests()
    play.sweep()
    play.rests()

    assert opened(play) == [f"{SHOP}-1"]


def test_what_a_rule_never_adopted_stays_when_the_rule_goes(play: World) -> None:
    """The short-cut takes a rule that wanted to adopt a package for one that made it."""
    play.owner.pushes("main", {".porchbot.yaml": RULES})
    publishes(play, "net/base", package("net/base"), 1)
    publishes(play, "apps/shop", package("apps/shop"), 1)
    play.owner.pushes("main", variant(more="  adoptionPolicy: adoptExisting\n"))
    play.rests()

    removes_rule(play)

    assert not [p for p in play.author.pulls() if p.title == "Remove apps/shop"]


def test_while_rules_elsewhere_cannot_be_read_nothing_goes(play: World) -> None:
    """The short-cut: another repository wants the package by now, and its rules have an error."""
    begins(play)
    publishes_first(play)
    table = "variants: [variants/*.yaml]\nrepositories:\n  here: {repository: acme/blueprints}\n"
    play.serves("control", {".porchbot.yaml": table, "variants/shop.yaml": "kind: ["})
    play.sweep()
    config = play.author.reads(".porchbot.yaml")
    play.owner.pushes("main", {".porchbot.yaml": f"{config}variants_from: [acme/control]\n"})
    play.rests()

    removes_rule(play)

    assert opened(play) == [f"{SHOP}-1"]


def test_a_push_that_is_forbidden_waits_for_the_rules(play: World) -> None:
    """The short-cut pushes at each look, for ever; or fails the look at all other packages."""
    play.forbids_creation(SHOP)
    begins(play)
    mark = play.forge.faults.mark()
    for _ in range(3):
        play.wake(f"{play.name}:{play.repository.id}:variants")
        play.rests()

    pushes = [c for c in play.forge.faults.calls(play.caller, since=mark) if c.kind == "git"]
    assert not [c for c in pushes if c.template.endswith("git-receive-pack")]
    assert play.failing() == []
    assert opened(play) == []


def test_what_a_person_turned_back_into_a_draft_stays_one(play: World) -> None:
    """The short-cut proposes it again once the rule changed twice."""
    asap = "porchbot.dev/propose: asap"
    begins(play, annotations=asap)
    number = play.author.pull_of(f"{SHOP}-1").number
    play.rests()
    assert not play.author.pull(number).draft
    play.approver.says(number, "/reject not yet")
    play.rests()

    for tier in ("edge", "core", "far"):
        seconds_pass(play.forge, 1)
        play.owner.pushes("main", variant(annotations=asap, more=f"  labels: {{tier: {tier}}}\n"))
        play.rests()

    assert "tier: far" in play.author.reads("apps/shop/Kptfile", f"{SHOP}-1")
    assert play.author.pull(number).draft


def test_what_rendering_changes_is_in_the_one_commit(play: World) -> None:
    """The short-cut pushes what is to be rendered, and its rendering after that."""
    step = "{image: 'set-labels:v0.2', configMap: {site: far}}"
    begins(play, more=f"  pipeline: {{mutators: [{step}]}}\n")
    pull = play.author.pull_of(f"{SHOP}-1")
    play.author.waits_for_check(pull.number, "porchbot/render", "success")
    play.rests()

    assert "site: far" in play.author.reads("apps/shop/settings.yaml", f"{SHOP}-1")
    assert len(play.author.commits_of(pull.number)) == 1
