"""What Porch's controllers or people made goes on under our variants, as `adoptionPolicy` says."""

import pytest

from tests.stories.test_upstreams import publishes
from tests.stories.test_variants import RULES, SHOP, opened, variant
from tests.stories.world import World, package, resized, seconds_pass

ADOPTS = "  adoptionPolicy: adoptExisting\n"

PIPELINE = """\
pipeline:
  mutators:
  - name: PackageVariant.shop.tier.0
    image: set-labels:v0.2
    configMap: {tier: edge}
"""
STEP = "  pipeline: {mutators: [{name: tier, image: 'set-labels:v0.2', configMap: {tier: core}}]}\n"


def by_porch(play: World) -> dict[str, str]:
    """apps/shop as Porch's controller made it of net/base@v1."""
    commit = play.author.tags()["net/base/v1"]
    source = f"repo: '{play.forge.clone_url('acme', 'blueprints')}', directory: /net/base"
    files = package("apps/shop")
    files["apps/shop/Kptfile"] += (
        f"upstream:\n  type: git\n  git: {{{source}, ref: net/base/v1}}\n"
        f"upstreamLock:\n  type: git\n"
        f"  git: {{{source}, ref: net/base/v1, commit: {commit}}}\n{PIPELINE}"
    )
    files["apps/shop/settings.yaml"] = package("net/base")["net/base/settings.yaml"].replace(
        "owner: network", "owner: network\n    tier: edge"
    )
    return files


def test_a_draft_of_porchs_controller_without_functions_goes_on_under_ours(play: World) -> None:
    """The short-cut opens a second draft beside it: nothing in its files names a variant."""
    publishes(play, "net/base", package("net/base"), 1)
    play.owner.pushes("main", {".porchbot.yaml": RULES})
    said = 'kpt:{"package":"apps/shop","workspaceName":"packagevariant-1","task":{"type":"clone"}}'
    files = by_porch(play)
    files["apps/shop/Kptfile"] = files["apps/shop/Kptfile"].replace(PIPELINE, "")
    play.author.pushes(f"{SHOP}-1", files, message=f"Creating new revision\n\n{said}")
    play.rests()
    seconds_pass(play.forge, 1)

    play.owner.pushes("main", variant(more=STEP))
    play.rests()

    assert opened(play) == [f"{SHOP}-1"]
    assert len(play.author.commits_of(play.author.pull_of(f"{SHOP}-1").number)) == 2


@pytest.mark.both_forges
def test_a_draft_of_porchs_controller_goes_on_under_ours(play: World) -> None:
    """Short-cuts refused: a second draft beside it; Porch's commits lost; its functions twice."""
    publishes(play, "net/base", package("net/base"), 1)
    play.owner.pushes("main", {".porchbot.yaml": RULES})
    said = 'kpt:{"package":"apps/shop","workspaceName":"packagevariant-1","revision":"1"}'
    play.author.pushes(f"{SHOP}-1", by_porch(play), message=f"Rendering package\n\n{said}")
    play.rests()
    seconds_pass(play.forge, 1)

    play.owner.pushes("main", variant(more=STEP))
    play.rests()
    play.sweep()
    play.rests()

    assert opened(play) == [f"{SHOP}-1"]
    kptfile = play.author.reads("apps/shop/Kptfile", f"{SHOP}-1")
    assert kptfile.count("PackageVariant.shop.tier.0") == 1
    assert "tier: core" in kptfile
    assert "porchbot.dev/variant: shop" in kptfile
    assert "tier: core" in play.author.reads("apps/shop/settings.yaml", f"{SHOP}-1")
    assert len(play.author.commits_of(play.author.pull_of(f"{SHOP}-1").number)) == 2


def test_a_package_of_porchs_controller_goes_on_under_ours(play: World) -> None:
    """The short-cut knows only what it wrote itself, and leaves a whole repository behind."""
    publishes(play, "net/base", package("net/base"), 1)
    play.owner.pushes("main", {".porchbot.yaml": RULES, **by_porch(play)})
    publishes(play, "net/base", resized("net/base", 9), 2)
    seconds_pass(play.forge, 1)

    play.owner.pushes("main", variant(revision=2, more=STEP))
    play.rests()

    assert opened(play) == [f"{SHOP}-1"]
    assert 'size: "9"' in play.author.reads("apps/shop/settings.yaml", f"{SHOP}-1")


@pytest.mark.parametrize("workspace", ["packagevariant-1", "mine"])
def test_a_package_of_porchs_controller_without_functions_goes_on_under_ours(
    play: World, workspace: str
) -> None:
    """Short-cuts refused: what has no function of a controller is a person's; all of Porch's is
    a controller's.
    """
    publishes(play, "net/base", package("net/base"), 1)
    said = (
        f'kpt:{{"package":"apps/shop","workspaceName":"{workspace}","revision":"1",'
        '"task":{"type":"clone"}}'
    )
    files = by_porch(play)
    files["apps/shop/Kptfile"] = files["apps/shop/Kptfile"].replace(PIPELINE, "")
    made = play.owner.pushes("main", files, message=f"Approving apps/shop/1\n\n{said}")
    state = play.forge.state
    with state.lock:
        state.update_ref(play.repository, "refs/tags/apps/shop/v1", made, state.user("owner"))
    publishes(play, "net/base", resized("net/base", 9), 2)
    seconds_pass(play.forge, 1)

    play.owner.pushes("main", {".porchbot.yaml": RULES, **variant(revision=2)})
    play.rests()

    ours = workspace.startswith("packagevariant")
    assert opened(play) == ([f"{SHOP}-1"] if ours else [])


@pytest.mark.parametrize("adopts", [False, True], ids=["adoptNone", "adoptExisting"])
def test_a_draft_that_somebody_made_is_adopted_where_the_rule_says_so(
    play: World, adopts: bool
) -> None:
    """Short-cuts refused: all drafts are taken over; none is, and a second one is opened."""
    publishes(play, "net/base", package("net/base"), 1)
    play.owner.pushes("main", {".porchbot.yaml": RULES})
    play.author.pushes("drafts/apps/shop/mine", package("apps/shop"))
    mine = play.author.pull_of("drafts/apps/shop/mine").number
    play.rests()
    seconds_pass(play.forge, 1)

    play.owner.pushes("main", variant(more=ADOPTS if adopts else ""))
    play.rests()
    play.sweep()
    play.rests()

    assert opened(play) == ([] if adopts else [f"{SHOP}-1"])
    commits = play.author.commits_of(mine)
    assert len(commits) == (2 if adopts else 1)
    kptfile = play.author.reads("apps/shop/Kptfile", "drafts/apps/shop/mine")
    assert ("porchbot.dev/variant: shop" in kptfile) is adopts


def test_what_somebody_asked_the_bot_for_is_not_adopted(play: World) -> None:
    """The short-cut merges the newest upstream into a rollback."""
    publishes(play, "net/base", package("net/base"), 1)
    play.owner.pushes("main", {".porchbot.yaml": RULES})
    other = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.says(other, "/init apps/shop")
    pull = play.author.pull_of("drafts/apps/shop/init").number
    play.rests()
    seconds_pass(play.forge, 1)

    play.owner.pushes("main", variant(more=ADOPTS))
    play.rests()

    assert len(play.author.commits_of(pull)) == 1
    assert opened(play) == [f"{SHOP}-1"]
