"""Where the packages of variants are: folders and branches of the table `repositories`."""

from tests.stories.test_upstreams import publishes
from tests.stories.test_variants import opened, publishes_first, variant
from tests.stories.world import CONFIG, World, package

PLACED = f"""{CONFIG}variants: [variants/*.yaml]
repositories:
  here: {{}}
  live: {{directory: apps}}
"""


def test_paths_begin_in_the_folder_of_the_table(play: World) -> None:
    """Short-cuts refused: the folder is left out of the path, or of what is compared."""
    publishes(play, "net/base", package("net/base"), 1)
    rule = variant()["variants/shop.yaml"]
    rule = rule.replace("repo: here, package: apps/shop", "repo: live, package: shop")
    play.owner.pushes("main", {".porchbot.yaml": PLACED, "variants/shop.yaml": rule})
    play.rests()
    publishes_first(play)
    assert opened(play) == ["drafts/apps/shop/packagevariant-1"]

    same = rule.replace("repo: live, package: shop", "repo: here, package: apps/shop")
    play.owner.pushes("main", {"variants/other.yaml": same.replace("name: shop", "name: other")})
    play.rests()
    play.sweep()
    play.rests()
    assert opened(play) == ["drafts/apps/shop/packagevariant-1"]


def test_a_package_is_published_from_the_branch_of_the_table(two_bases: World) -> None:
    """The short-cut proposes everything to the default branch."""
    play = two_bases
    publishes(play, "net/base", package("net/base"), 1)
    rule = variant()["variants/shop.yaml"].replace(
        "repo: here, package: apps", "repo: live, package: apps"
    )
    config = play.author.reads(".porchbot.yaml")
    table = "variants: [variants/*.yaml]\nrepositories:\n  here: {}\n  live: {branch: release}\n"
    play.owner.pushes("main", {".porchbot.yaml": config + table, "variants/shop.yaml": rule})
    play.rests()

    (pull,) = [p for p in play.author.pulls() if p.head_ref.startswith("drafts/apps/shop/")]
    assert pull.base_ref == "release"
    play.sweep()
    play.rests()
    assert opened(play) == ["drafts/apps/shop/packagevariant-1"]


def test_what_a_rule_approves_is_tagged_on_another_branch_as_well(two_bases: World) -> None:
    """The short-cut asks what is wanted there as the branch is now, which holds the merge."""
    play = two_bases
    publishes(play, "net/base", package("net/base"), 1)
    rule = variant(annotations="porchbot.dev/propose: asap")["variants/shop.yaml"].replace(
        "repo: here, package: apps", "repo: live, package: apps"
    )
    config = play.author.reads(".porchbot.yaml").replace(
        'from: ["role:maintain"]}', 'from: ["role:maintain"], automatic: {variants: true}}'
    )
    table = "variants: [variants/*.yaml]\nrepositories:\n  here: {}\n  live: {branch: release}\n"
    play.owner.pushes("release", {".porchbot.yaml": config})
    play.owner.pushes("main", {".porchbot.yaml": config + table, "variants/shop.yaml": rule})

    play.author.waits_for_tag("apps/shop/v1")
    assert "Approved-by: nobody needed to" in play.author.tag_text("apps/shop/v1")
    assert opened(play) == ["drafts/apps/shop/packagevariant-1"]


def test_the_branch_that_is_published_from_says_which_upstreams_may_be_used(
    two_bases: World,
) -> None:
    """Short-cuts refused: the default branch alone is asked; what was fetched for it counts."""
    play = two_bases
    play.serves("catalog", package("net/base"))
    catalog = play.owner.at("acme/catalog")
    play.sweep()
    play.rests()
    catalog.makes_ref("tags/net/base/v1", catalog.branches()["main"])
    closed = "upstreams: {allow: [git.example/acme]}\n"
    config = play.author.reads(".porchbot.yaml")
    play.owner.pushes("release", {".porchbot.yaml": config + closed})
    rule = variant()["variants/shop.yaml"].replace("upstream: {repo: here", "upstream: {repo: all")
    other = rule.replace("name: shop", "name: other").replace(
        "here, package: apps/shop", "live, package: apps/other"
    )
    table = (
        "variants: [variants/*.yaml]\nrepositories:\n"
        "  here: {}\n  live: {branch: release}\n  all: {repository: acme/catalog}\n"
    )
    rules = {"variants/shop.yaml": rule, "variants/other.yaml": other}
    play.owner.pushes("main", {".porchbot.yaml": config + table, **rules})
    play.rests()

    assert opened(play) == ["drafts/apps/shop/packagevariant-1"]
    assert "drafts/apps/other/packagevariant-1" not in play.author.branches()
