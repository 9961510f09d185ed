"""Whoever takes over the name of a repository, or of its default branch, sets no rules by that."""

import pytest

from tests.stories.test_upstreams import publishes
from tests.stories.test_variants import RULES, SHOP, variant
from tests.stories.world import CONFIG, ROLES, World, minutes_pass, package, seconds_pass

BRANCH = "drafts/net/core/first"
NOBODY_APPROVES = {".porchbot.yaml": CONFIG.replace("require: 1", "require: 0")}

pytestmark = pytest.mark.both_forges


def test_whoever_takes_over_the_name_of_a_repository_gives_it_no_rules(play: World) -> None:
    """The short-cut asks the forge by the number and git by the name of an hour ago: checks tell
    what holds by the rules of what somebody made at that name, and may be green by them."""
    number = play.proposes(BRANCH, package("net/core"))
    play.owner.says(number, "/hold")
    play.rests()
    state, renamed = play.forge.state, play.repository
    play.forge.faults.hooks.drop("*", None)
    state.admin.rename(renamed, "platform")
    taken = state.fork(renamed, "acme", "blueprints")
    state.add_member(taken, "author", "admin")
    if play.name == "gitlab":
        state.add_member(taken, play.caller, "maintain")
    else:
        state.install(play.app, renamed, taken)
    play.author.pushes("main", NOBODY_APPROVES)

    play.wake(f"{play.name}:{renamed.id}:proposal:{renamed.id}:{BRANCH}")
    play.rests()
    assert "**approved**: 0 of 1" in play.author.at("acme/platform").summary(number)

    play.forge.faults.hooks.clear()
    play.owner.at("acme/platform").says(number, "/unhold")
    play.approver.at("acme/platform").says(number, "/approve")
    play.rests()
    assert "refs/tags/net/core/v1" in renamed.refs
    assert "refs/tags/net/core/v1" not in taken.refs
    assert play.failing() == []


@pytest.mark.parametrize("by_hand", [False, True])
def test_whoever_makes_the_former_default_branch_anew_publishes_nothing_from_it(
    play: World, by_hand: bool
) -> None:
    """The short-cut takes the rules from the default branch of an hour ago: its name is free, and
    whoever may push sets rules there by which nobody has to approve."""
    play.owner.pushes("trunk", {"notes.md": "Here it goes on.\n"})
    play.rests()
    play.forge.faults.hooks.drop("*", None)
    play.forge.state.admin.edit(play.repository, default_branch="trunk")
    play.owner.deletes("heads/main")
    play.author.pushes("main", NOBODY_APPROVES, base="trunk")
    play.author.pushes(BRANCH, package("net/core"))
    number = play.author.opens(BRANCH).number
    seconds_pass(play.forge, 5)
    if by_hand:
        play.owner.merges(number)

    here = f"{play.name}:{play.repository.id}"
    play.wake(f"{here}:base:main" if by_hand else f"{here}:proposal:{play.repository.id}:{BRANCH}")
    play.rests()

    assert play.author.pull(number).merged is by_hand
    assert play.author.tags() == {}


def test_whoever_makes_the_former_default_branch_of_rules_anew_publishes_nothing_elsewhere(
    stage: World,
) -> None:
    """The short-cut asks what the repository of the rules is called now, and takes them from what
    was its default branch an hour ago: what its taker's rules want needs no approval here."""
    table = "variants: [variants/*.yaml]\nrepositories:\n  here: {repository: acme/blueprints}\n"
    stage.serves("control", {".porchbot.yaml": table}, people=ROLES)
    stage.start_bot()
    publishes(stage, "net/base", package("net/base"), 1)
    stage.sweep()
    alone = 'from: ["role:maintain"], automatic: {variants: true}}'
    config = CONFIG.replace('from: ["role:maintain"]}', alone)
    stage.owner.pushes("main", {".porchbot.yaml": f"{config}variants_from: [acme/control]\n"})
    stage.rests()
    variants = f"{stage.name}:{stage.repository.id}:variants"
    stage.wake(variants)
    stage.rests()

    stage.forge.faults.hooks.drop("*", None)
    owner, author = stage.owner.at("acme/control"), stage.author.at("acme/control")
    owner.pushes("trunk", {"notes.md": "Here it goes on.\n"})
    _goes_on_at_trunk(stage, "control")
    owner.deletes("heads/main")
    asap = variant(annotations="porchbot.dev/propose: asap")
    author.pushes("main", {".porchbot.yaml": table, **asap}, base="trunk")
    stage.forge.faults.hooks.clear()
    stage.wake(variants)
    stage.rests()
    assert "apps/shop/v1" not in stage.author.tags()


def test_what_the_default_branch_of_an_upstream_withdraws_now_is_not_followed(
    stage: World,
) -> None:
    """The short-cut asks where the upstream is now, and reads what is withdrawn where its default
    branch was an hour ago."""
    stage.serves("catalog", package("net/base"), people=ROLES)
    catalog = stage.owner.at("acme/catalog")
    for tag in ("tags/net/base/v1", "tags/net/base/v2"):
        catalog.makes_ref(tag, catalog.branches()["main"])
    stage.start_bot()
    table = "variants: [variants/*.yaml]\nrepositories:\n  all: {repository: acme/catalog}\n"
    stage.owner.pushes("main", {".porchbot.yaml": f"{CONFIG}{table}  here: {{}}\n"})
    stage.rests()

    stage.forge.faults.hooks.drop("*", None)
    withdrawn = "version: 1\nrevisions: {v2: {state: withdrawn, reason: It leaks.}}\n"
    catalog.pushes("trunk", {".porchbot/ledger/net/base.yaml": withdrawn})
    _goes_on_at_trunk(stage, "catalog")
    stage.forge.faults.hooks.clear()

    (rule,) = variant(annotations="porchbot.dev/follow: latest", revision=-1).values()
    rule = rule.replace("upstream: {repo: here", "upstream: {repo: all")
    stage.owner.pushes("main", {"variants/shop.yaml": rule})
    stage.rests()
    assert "ref: net/base/v1" in stage.author.reads("apps/shop/Kptfile", f"{SHOP}-1")


def _goes_on_at_trunk(stage: World, name: str) -> None:
    """Another repository gets another default branch."""
    state = stage.forge.state
    with state.lock:
        (other,) = (r for r in state.data.repositories.values() if r.name == name)
    state.admin.edit(other, default_branch="trunk")


@pytest.mark.parametrize("renames", [True, False])
def test_drafts_of_rules_go_where_the_repository_and_its_default_branch_are_now(
    play: World, renames: bool
) -> None:
    """The short-cut looks where both were a quarter of an hour ago: the rules of whoever took over
    that name have the bot push drafts, to a repository that it was not asked to write to."""
    publishes(play, "net/base", package("net/base"), 1)
    state, here = play.forge.state, play.repository
    play.owner.pushes("trunk", {"notes.md": "Here it goes on.\n"})
    play.rests()
    play.forge.faults.hooks.drop("*", None)
    if renames:
        state.admin.rename(here, "platform")
        taken = state.fork(here, "acme", "blueprints")
        state.add_member(taken, "author", "admin")
        if play.name == "gitlab":
            state.add_member(taken, play.caller, "maintain")
        else:
            state.install(play.app, here, taken)
    else:
        taken = here
        state.admin.edit(here, default_branch="trunk")
        play.owner.deletes("heads/main")
        play.author.pushes("main", {"notes.md": "Anew.\n"}, base="trunk")
    play.author.pushes("main", {".porchbot.yaml": RULES, **variant()})
    minutes_pass(play, 1)

    play.wake(f"{play.name}:{here.id}:variants")
    play.rests()

    assert [each for each in (*taken.refs, *here.refs) if SHOP in each] == []
