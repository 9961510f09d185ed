"""Packages that variants keep in step with an upstream: one pull request for each of them.

Longer than 400 lines: the life of one variant, story by story.
"""

import pytest

from tests.stories.people import wait_for
from tests.stories.seen import Check
from tests.stories.test_upstreams import publishes
from tests.stories.world import CONFIG, World, package, resized, seconds_pass

RULES = f"""{CONFIG}variants: [variants/*.yaml]
repositories:
  here: {{labels: {{tier: edge}}}}
"""
SHOP = "drafts/apps/shop/packagevariant"


def variant(*, revision: int = 1, more: str = "", annotations: str = "") -> dict[str, str]:
    """A rule: apps/shop is made of net/base."""
    return {
        "variants/shop.yaml": f"""apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariant
metadata:
  name: shop
  annotations: {{{annotations}}}
spec:
  upstream: {{repo: here, package: net/base, revision: {revision}}}
  downstream: {{repo: here, package: apps/shop}}
{more}"""
    }


def begins(play: World, **rule: str | int) -> None:
    """The upstream is published, and a rule asks for a package of it."""
    publishes(play, "net/base", package("net/base"), 1)
    play.owner.pushes("main", {".porchbot.yaml": RULES, **variant(**rule)})  # type: ignore[arg-type]
    play.rests()


def opened(play: World) -> list[str]:
    """The branches of all pull requests of the variant, closed ones too."""
    found = (p.head_ref for p in play.author.pulls(every=True))
    return sorted(each for each in found if each.startswith(SHOP))


def publishes_first(play: World) -> None:
    """The package that the rule asks for is published."""
    pull = play.author.pull_of(f"{SHOP}-1")
    play.author.says(pull.number, "/propose")
    play.rests()
    play.approver.says(pull.number, "/approve")
    play.author.waits_for_tag("apps/shop/v1")
    play.rests()


@pytest.mark.both_forges
def test_a_package_is_made_once_published_and_left_alone(play: World) -> None:
    """Short-cuts refused: a pull request for each sweep; a clone first and its values later."""
    begins(play, more="  labels: {tier: edge}\n")
    pull = play.author.pull_of(f"{SHOP}-1")
    play.rests()
    assert pull.title.removeprefix("Draft: ") == "Create apps/shop from net/base@v1"
    assert pull.draft
    assert "Made by the variant `shop` of `acme/blueprints:variants/shop.yaml`" in pull.body
    kptfile = play.author.reads("apps/shop/Kptfile", f"{SHOP}-1")
    assert "name: shop" in kptfile
    assert "ref: net/base/v1" in kptfile
    assert "tier: edge" in kptfile
    assert "porchbot.dev/variant: shop" in kptfile
    assert len(play.author.commits_of(pull.number)) == 1
    play.sweep()
    play.rests()
    publishes_first(play)
    play.sweep()
    play.rests()
    assert opened(play) == [f"{SHOP}-1"]


def test_a_named_revision_is_obeyed_and_latest_is_followed_with_what_people_changed(
    play: World,
) -> None:
    """Short-cuts refused: each new revision is taken; what was changed here is lost."""
    begins(play)
    publishes_first(play)
    seconds_pass(play.forge, 1)
    changed = play.author.reads("apps/shop/settings.yaml") + "  colour: red\n"
    publishes(play, "apps/shop", {"apps/shop/settings.yaml": changed}, 2)
    publishes(play, "net/base", resized("net/base", 9), 2)
    play.sweep()
    play.rests()
    assert opened(play) == [f"{SHOP}-1"]

    play.owner.pushes("main", variant(annotations="porchbot.dev/follow: latest"))
    pull = play.author.pull_of(f"{SHOP}-2")
    play.rests()
    assert pull.title.removeprefix("Draft: ") == "Update apps/shop to net/base@v2"
    text = play.author.reads("apps/shop/settings.yaml", f"{SHOP}-2")
    assert 'size: "9"' in text
    assert "colour: red" in text
    assert play.author.reads("apps/shop/Kptfile", f"{SHOP}-2").count("ref: net/base/v2") == 2


def test_a_draft_that_is_named_means_what_was_published_from_it(play: World) -> None:
    """Short-cuts refused: the newest revision; another draft's once that is newer; a reason that
    says only that there is nothing.
    """
    publishes(play, "net/base", package("net/base"), 1)
    publishes(play, "net/base", resized("net/base", 9), 2)
    text = variant()["variants/shop.yaml"]
    rule = text.replace("revision: 1", "workspaceName: w1")
    play.owner.pushes("main", {".porchbot.yaml": RULES, "variants/shop.yaml": rule})
    play.rests()

    kptfile = play.author.reads("apps/shop/Kptfile", f"{SHOP}-1")
    assert "ref: net/base/v1" in kptfile
    assert opened(play) == [f"{SHOP}-1"]


def test_a_title_says_what_the_draft_is_made_of_by_now(play: World) -> None:
    """The short-cut keeps the first one: people approve a revision that it does not hold."""
    begins(play, annotations="porchbot.dev/follow: latest")
    pull = play.author.pull_of(f"{SHOP}-1").number
    publishes(play, "net/base", resized("net/base", 9), 2)
    play.sweep()
    play.rests()

    shown = play.author.pull(pull).title.removeprefix("Draft: ")
    assert shown == "Create apps/shop from net/base@v2"
    assert play.author.pull(pull).draft


def test_a_draft_is_made_anew_in_place_until_somebody_commits_to_it(play: World) -> None:
    """Short-cuts refused: a second pull request for a changed rule; people's commits lost."""
    begins(play)
    pull = play.author.pull_of(f"{SHOP}-1")
    play.rests()
    play.owner.pushes("main", variant(more="  labels: {tier: edge}\n"))
    play.rests()
    assert opened(play) == [f"{SHOP}-1"]
    assert len(play.author.commits_of(pull.number)) == 1
    assert "tier: edge" in play.author.reads("apps/shop/Kptfile", f"{SHOP}-1")

    seconds_pass(play.forge, 1)
    mine = play.author.reads("apps/shop/settings.yaml", f"{SHOP}-1") + "  colour: red\n"
    play.author.pushes(f"{SHOP}-1", {"apps/shop/settings.yaml": mine})
    play.rests()
    play.owner.pushes("main", variant(more="  labels: {tier: core}\n"))
    play.rests()
    assert opened(play) == [f"{SHOP}-1"]
    assert "tier: core" in play.author.reads("apps/shop/Kptfile", f"{SHOP}-1")
    assert "colour: red" in play.author.reads("apps/shop/settings.yaml", f"{SHOP}-1")
    assert len(play.author.commits_of(pull.number)) == 3


@pytest.mark.parametrize("deleted", [False, True], ids=["branch kept", "branch deleted"])
def test_what_a_person_closed_stays_closed_until_the_rule_changes(
    play: World, deleted: bool
) -> None:
    """The short-cut opens it again at the next sweep; or forgets it with its branch."""
    begins(play)
    pull = play.author.pull_of(f"{SHOP}-1")
    play.rests()
    play.author.closes(pull.number)
    if deleted:
        play.author.deletes(f"heads/{SHOP}-1")
    play.rests()
    play.sweep()
    play.rests()
    assert opened(play) == [f"{SHOP}-1"]

    play.owner.pushes("main", variant(more="  labels: {tier: edge}\n"))
    play.rests()
    assert opened(play) == [f"{SHOP}-1", f"{SHOP}-2"]


def test_after_a_rollback_nothing_newer_is_proposed(play: World) -> None:
    """The short-cut is Porch's: the next reconcile takes the rollback back."""
    begins(play, annotations="porchbot.dev/follow: latest")
    publishes_first(play)
    other = play.proposes("drafts/net/core/w", package("net/core"))
    play.author.says(other, "/rollback apps/shop@v1 too slow")
    pull = play.author.pull_of("drafts/apps/shop/rollback-v1")
    play.rests()
    play.author.says(pull.number, "/propose")
    play.rests()
    play.approver.says(pull.number, "/approve")
    wait_for("the merge", lambda: play.author.pull(pull.number).merged or None)
    play.rests()
    publishes(play, "net/base", resized("net/base", 9), 2)
    play.sweep()
    play.rests()
    assert opened(play) == [f"{SHOP}-1"]


def test_a_package_that_somebody_made_is_left_alone_unless_it_is_adopted(play: World) -> None:
    """The short-cut writes over whatever is there."""
    publishes(play, "apps/shop", package("apps/shop"), 1)
    begins(play)
    assert opened(play) == []

    play.owner.pushes("main", variant(more="  adoptionPolicy: adoptExisting\n"))
    play.rests()
    assert opened(play) == [f"{SHOP}-1"]
    kptfile = play.author.reads("apps/shop/Kptfile", f"{SHOP}-1")
    assert "porchbot.dev/variant: shop" in kptfile


def test_a_set_makes_a_package_for_each_object(play: World) -> None:
    """Short-cuts refused: expressions that are not evaluated; one broken target stops all."""
    publishes(play, "net/base", package("net/base"), 1)
    site = "apiVersion: example.com/v1\nkind: Site\nmetadata: {name: NAME}\nspec: {zone: NAME}\n"
    play.owner.pushes(
        "main",
        {
            ".porchbot.yaml": f"{RULES}objects: [{{directory: sites}}]\n",
            "sites/all.yaml": "---\n".join(site.replace("NAME", each) for each in ("a", "b")),
            "variants/sites.yaml": """apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata: {name: sites, annotations: {porchbot.dev/propose: asap}}
spec:
  upstream: {repo: here, package: net/base, revision: 1}
  targets:
  - objectSelector: {apiVersion: example.com/v1, kind: Site}
    template:
      downstream: {repo: here, packageExpr: "'sites/' + target.name + '/net'"}
      labelExprs: [{key: site, valueExpr: target.name}]
""",
        },
    )
    play.rests()
    found = [p for p in play.author.pulls() if p.head_ref.startswith("drafts/sites/")]
    assert sorted(p.head_ref for p in found) == [
        f"drafts/sites/{each}/net/packagevariant-1" for each in ("a", "b")
    ]
    assert not any(p.draft for p in found)
    kptfile = play.author.reads("sites/a/net/Kptfile", "drafts/sites/a/net/packagevariant-1")
    assert "site: a" in kptfile
    assert "porchbot.dev/variant: sites-here-sites/a/net" in kptfile


def test_what_cannot_be_made_is_not_made_and_keeps_nothing_back(play: World) -> None:
    """The short-cut lets the first rule that cannot be kept stop all the others."""
    publishes(play, "net/base", package("net/base"), 1)
    broken = variant(revision=7)["variants/shop.yaml"].replace("shop", "early")
    play.owner.pushes(
        "main",
        {
            ".porchbot.yaml": RULES,
            "variants/a.yaml": "kind: [",
            "variants/b.yaml": broken,
            **variant(),
        },
    )
    play.rests()
    assert opened(play) == [f"{SHOP}-1"]


def told(play: World, pull: int, check: Check) -> str:
    """What a check says, and what stands at lines where it has no text of its own."""
    play.rests()
    at_lines = play.author.remarks(pull, check.name)
    return "\n".join([check.text, *(f"{r.path}:{r.line} {r.text}" for r in at_lines)])


def test_what_is_wrong_with_a_rule_is_said_on_its_line_before_it_is_merged(play: World) -> None:
    """Short-cuts refused: the first problem alone; the file without its line; after the merge."""
    play.owner.pushes("main", {".porchbot.yaml": RULES})
    play.rests()
    text = variant(more="  deletionPolicy: keep\n")["variants/shop.yaml"]
    text = text.replace("repo: here, package: apps/shop", "repo: there")
    play.author.pushes("drafts/rules", {"variants/shop.yaml": text})
    pull = play.author.opens("drafts/rules", "Rules").number
    check = play.author.waits_for_check(pull, "porchbot/publish", "failure")
    said = told(play, pull, check)
    assert "missing required field spec.downstream.package" in said
    assert 'spec.deletionPolicy can only be "orphan" or "delete"' in said
    assert "variants/shop.yaml:8" in said

    play.author.pushes("drafts/rules", variant())
    check = play.author.waits_for_check(pull, "porchbot/publish", None)
    play.rests()  # the text may stand in the summary, which is written afterwards
    check = play.author.checks(check.head, pull)["porchbot/publish"]
    assert "deletionPolicy" not in told(play, pull, check)
    assert check.conclusion != "success"  # the bot makes drafts of it by itself: that is approved
    play.approver.says(pull, "/approve")
    play.author.waits_for_check(pull, "porchbot/publish", "success")


def test_rules_of_another_repository_count_where_they_are_asked_for(stage: World) -> None:
    """The short-cut lets whoever may write rules anywhere open pull requests everywhere."""
    table = "variants: [variants/*.yaml]\nrepositories:\n  here: {repository: acme/blueprints}\n"
    rule = variant()["variants/shop.yaml"]
    stage.serves("control", {".porchbot.yaml": table, "variants/shop.yaml": rule})
    stage.start_bot()
    publishes(stage, "net/base", package("net/base"), 1)
    stage.sweep()
    stage.rests()
    stage.wake(f"{stage.name}:{stage.repository.id}:variants")
    stage.rests()
    assert opened(stage) == []

    stage.owner.pushes("main", {".porchbot.yaml": f"{CONFIG}variants_from: [acme/control]\n"})
    stage.rests()
    stage.sweep()
    stage.rests()
    assert opened(stage) == [f"{SHOP}-1"]
    pull = stage.author.pull_of(f"{SHOP}-1")
    assert "`acme/control:variants/shop.yaml`" in pull.body


def test_a_name_that_somebody_took_over_brings_no_rules(stage: World) -> None:
    """The short-cut goes by the name that is listed, or by the one that the database remembers:
    whoever takes it over writes into a repository that never let them in."""
    table = "variants: [variants/*.yaml]\nrepositories:\n  here: {repository: acme/blueprints}\n"
    rule = variant()["variants/shop.yaml"]
    stage.serves("control", {".porchbot.yaml": table})
    stage.start_bot()
    publishes(stage, "net/base", package("net/base"), 1)
    stage.owner.pushes("main", {".porchbot.yaml": f"{CONFIG}variants_from: [acme/control]\n"})
    stage.rests()
    state = stage.forge.state
    with state.lock:
        (first,) = (r for r in state.data.repositories.values() if r.name == "control")
    state.admin.rename(first, "given-up")
    stage.serves("control", {".porchbot.yaml": table, "variants/shop.yaml": rule})
    stage.rests()
    stage.sweep()
    stage.rests()
    assert opened(stage) == []

    stage.owner.at("acme/given-up").pushes("main", {"variants/shop.yaml": rule})
    stage.rests()
    stage.sweep()
    stage.rests()
    assert opened(stage) == []  # it is not called so any more

    with state.lock:
        (second,) = (r for r in state.data.repositories.values() if r.name == "control")
    listed = f"{CONFIG}variants_from: ['acme/control#{second.id}']\n"
    stage.owner.pushes("main", {".porchbot.yaml": listed})
    stage.rests()
    stage.sweep()
    stage.rests()
    assert opened(stage) == [f"{SHOP}-1"]


def test_rules_of_two_repositories_that_reach_each_other_come_to_rest(stage: World) -> None:
    """The short-cut lets each look at one ask for a look at the other, without end."""
    table = (
        "variants: [variants/*.yaml]\nvariants_from: [{}]\nrepositories:\n"
        "  here: {{repository: acme/blueprints}}\n  there: {{repository: acme/control}}\n"
    )
    rule = variant()["variants/shop.yaml"]
    rules = table.format("acme/blueprints")
    stage.serves("control", {".porchbot.yaml": rules, "variants/shop.yaml": rule})
    stage.start_bot()
    publishes(stage, "net/base", package("net/base"), 1)
    back = rule.replace("repo: here, package: apps", "repo: there, package: apps")
    stage.owner.pushes(
        "main",
        {
            ".porchbot.yaml": f"{CONFIG}{table.format('acme/control')}",
            "variants/back.yaml": back.replace("name: shop", "name: back"),
        },
    )
    stage.rests()
    stage.sweep()
    stage.rests()
    assert opened(stage) == [f"{SHOP}-1"]


def test_a_lock_of_another_upstream_keeps_nothing_back(play: World) -> None:
    """The short-cut takes its number for one of the rule's upstream, which has no such files."""
    publishes(play, "net/base", package("net/base"), 1)
    lock = """upstreamLock:
  type: git
  git: {repo: 'https://git.example/x', directory: /a, ref: a/v9, commit: '%s'}
""" % ("9" * 40)
    early = package("apps/early")
    early["apps/early/Kptfile"] += lock
    rule = variant(revision=-1, more="  adoptionPolicy: adoptExisting\n")["variants/shop.yaml"]
    play.owner.pushes(
        "main",
        {
            ".porchbot.yaml": RULES,
            **early,
            "variants/early.yaml": rule.replace("shop", "early"),
            **variant(),
        },
    )
    play.rests()
    assert opened(play) == [f"{SHOP}-1"]
    assert play.failing() == []


@pytest.mark.parametrize("broken", [ValueError("broken"), KeyError("broken")], ids=["value", "key"])
def test_what_cannot_be_read_of_upstreams_keeps_nothing_from_publishing(
    play: World, broken: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short-cut reads the index first, and publishes nothing where that breaks."""

    async def breaks(*_: object) -> None:
        raise broken

    monkeypatch.setattr("bot.loop.locks.index", breaks)
    publishes(play, "net/base", package("net/base"), 1)
    assert "net/base/v1" in play.author.tags()


def test_a_package_made_of_itself_by_another_name_is_told_before_it_is_merged(play: World) -> None:
    """The short-cut compares names, and whoever merges the rule hears nothing of it any more."""
    named = f"{RULES}  live: {{repository: acme/blueprints}}\n"
    play.owner.pushes("main", {".porchbot.yaml": named})
    play.rests()
    text = variant()["variants/shop.yaml"].replace(
        "repo: here, package: net/base", "repo: live, package: apps/shop"
    )
    play.author.pushes("drafts/rules", {"variants/shop.yaml": text})
    pull = play.author.opens("drafts/rules", "Rules").number
    check = play.author.waits_for_check(pull, "porchbot/publish", "failure")
    assert "apps/shop" in told(play, pull, check)
