"""Variants of several repositories by which packages are made of one another."""

from tests.stories.test_upstreams import publishes
from tests.stories.test_variants import variant
from tests.stories.world import CONFIG, ROLES, World, package, resized, seconds_pass

TABLE = """variants: [variants/*.yaml]
variants_from: [acme/live]
upstreams: {share: ["acme/live"]}
repositories:
  here: {}
  live: {repository: acme/live}
"""
LIVE = """version: 1
variants: [variants/*.yaml]
variants_from: [acme/blueprints]
upstreams: {share: ["acme/blueprints"]}
access:
  approve: {require: 1, from: ["role:maintain"], automatic: {variants: true}}
repositories:
  here: {repository: acme/blueprints}
  live: {}
"""
ASAP = "porchbot.dev/propose: asap, porchbot.dev/follow: latest"


def test_packages_of_two_repositories_that_are_made_of_one_another_are_not_followed(
    stage: World,
) -> None:
    """The short-cut knows circles in one file alone: each publishes for ever, by itself."""
    play = stage
    rule = variant(annotations=ASAP)["variants/shop.yaml"]
    forth = rule.replace("downstream: {repo: here", "downstream: {repo: live")
    back = rule.replace(
        "upstream: {repo: here, package: net/base", "upstream: {repo: live, package: X"
    )
    back = back.replace("package: apps/shop", "package: net/base").replace("X", "apps/shop")
    back = back.replace("name: shop", "name: back") + "  adoptionPolicy: adoptExisting\n"
    files = {".porchbot.yaml": LIVE, "variants/shop.yaml": forth}
    stage.serves("live", files, people=ROLES)
    there = stage.owner.at("acme/live")
    play.start_bot()
    publishes(play, "net/base", package("net/base"), 1)
    by_rule = CONFIG.replace('maintain"]}', 'maintain"], automatic: {variants: true}}')
    play.owner.pushes("main", {".porchbot.yaml": by_rule + TABLE})
    play.rests()
    play.sweep()
    there.waits_for_tag("apps/shop/v1")
    play.rests()
    seconds_pass(play.forge, 1)

    made = package("net/base")
    source = f"repo: '{there.clone_url}', directory: /apps/shop, ref: apps/shop/v1"
    lock = f"{source}, commit: {there.tags()['apps/shop/v1']}"
    made["net/base/Kptfile"] += (
        f"upstream:\n  type: git\n  git: {{{source}}}\n"
        f"upstreamLock:\n  type: git\n  git: {{{lock}}}\n"
    )
    publishes(play, "net/base", {**made, **resized("net/base", 9)}, 2)
    play.owner.pushes("main", {"variants/back.yaml": back})
    for _ in range(4):
        play.rests()
        play.sweep()
    play.rests()

    assert set(play.author.tags()) == {"net/base/v1", "net/base/v2"}
    assert set(there.tags()) == {"apps/shop/v1"}
    assert not [*play.author.pulls(), *there.pulls()]
