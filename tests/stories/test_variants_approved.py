"""What variants ask for, approved by a rule; its label; its place on the dashboard."""

import pytest

from tests.stories.people import wait_for
from tests.stories.test_upstreams import publishes
from tests.stories.test_variants import RULES, SHOP, begins, opened, variant
from tests.stories.world import World, minutes_pass, package, resized, seconds_pass

ASAP = "porchbot.dev/propose: asap, porchbot.dev/follow: latest"
BY_RULE = RULES.replace(
    'from: ["role:maintain"]}', 'from: ["role:maintain"], automatic: {variants: true}}'
)


NO_MORE: dict[str, dict[str, str | None]] = {
    "rule removed": {"variants/shop.yaml": None},
    "rule changed": {**variant(more="  labels: {tier: edge}\n")},
    "another upstream": {**variant(revision=2)},
}


def approved_by_rule(play: World) -> None:
    """A rule that approves what variants ask for, and one that asks."""
    publishes(play, "net/base", package("net/base"), 1)
    play.owner.pushes("main", {".porchbot.yaml": BY_RULE, **variant(annotations=ASAP)})
    play.rests()


@pytest.mark.both_forges
def test_what_a_variant_asks_for_is_published_by_itself_where_a_rule_says_so(play: World) -> None:
    """Short-cuts refused: a person is waited for; it is published without its checks."""
    approved_by_rule(play)
    play.author.waits_for_tag("apps/shop/v1")
    assert "Approved-by: nobody needed to" in play.author.tag_text("apps/shop/v1")
    seconds_pass(play.forge, 1)
    publishes(play, "net/base", resized("net/base", 9), 2)
    play.sweep()
    play.author.waits_for_tag("apps/shop/v2")
    assert 'size: "9"' in play.author.reads("apps/shop/settings.yaml")


def test_a_tag_that_somebody_pushed_upstream_takes_an_approval(play: World) -> None:
    """The short-cut takes any tag for a revision: who pushes one publishes what nobody approved, or
    has it proposed wherever the newest one is followed."""
    approved_by_rule(play)
    play.author.waits_for_tag("apps/shop/v1")
    play.rests()
    seconds_pass(play.forge, 1)
    mine = play.author.pushes("mine", resized("net/base", 9))
    play.author.makes_ref("tags/net/base/v99", mine)
    play.sweep()
    play.rests()
    assert opened(play) == [f"{SHOP}-1"]

    play.owner.pushes("main", variant(revision=99, annotations="porchbot.dev/propose: asap"))
    pull = play.author.pull_of(f"{SHOP}-2").number
    play.author.waits_for_summary(pull, "did not publish the upstream revision")
    title = play.author.pull(pull).title.removeprefix("Draft: ")
    assert title == "Update apps/shop to net/base@v99, which porchbot did not publish"
    play.rests()
    assert not play.author.pull(pull).merged
    assert "apps/shop/v2" not in play.author.tags()

    play.approver.says(pull, "/approve")
    play.author.waits_for_tag("apps/shop/v2")


def test_who_changed_the_rule_last_does_not_approve_what_it_makes(play: World) -> None:
    """The short-cut: nobody wrote it, so a maintainer writes a rule and approves its outcome."""
    publishes(play, "net/base", package("net/base"), 1)
    play.owner.pushes("main", {".porchbot.yaml": RULES, **variant()})
    pull = play.author.pull_of(f"{SHOP}-1").number
    play.rests()
    seconds_pass(play.forge, 1)
    play.approver.pushes("main", variant(more="  labels: {tier: edge}\n"))
    play.rests()
    play.author.says(pull, "/propose")
    play.rests()

    play.approver.says(pull, "/approve")
    play.author.waits_for_summary(pull, "0 of 1")
    play.rests()
    assert not play.author.pull(pull).merged

    play.owner.says(pull, "/approve")
    play.author.waits_for_tag("apps/shop/v1")


def test_who_merges_a_change_of_the_rule_may_approve_what_it_makes(play: World) -> None:
    """The short-cut takes whoever pushed: changes of rules are merged by people, who wrote none."""
    change = _changes_the_rule(play)
    play.approver.merges(change)
    pull = play.author.pull_of(f"{SHOP}-1").number
    play.rests()
    play.author.says(pull, "/propose")
    play.rests()

    play.author.says(pull, "/approve")
    play.author.waits_for_answer(pull, "`/approve` refused")
    play.approver.says(pull, "/approve")
    play.author.waits_for_tag("apps/shop/v1")


@pytest.mark.simulated_time("minutes pass")
@pytest.mark.both_forges
@pytest.mark.parametrize("method", ["rebase", "squash"])
def test_who_pushes_a_rule_in_another_name_does_not_approve_what_it_makes(
    play: World, method: str
) -> None:
    """The short-cuts: names in commits are believed; of several only the last has a pull request.

    One commit of three holds the rule, in another's name, and the forge writes them anew. What
    it makes is drafted much later, by a bot that remembers nothing.
    """
    play.owner.pushes("main", {".porchbot.yaml": RULES})
    play.rests()
    play.author.pushes("edge", {"one.md": "1"})
    change = play.author.opens("edge").number
    play.approver.pushes("edge", variant(), author="author")
    play.author.pushes("edge", {"two.md": "2"})
    play.rests()
    play.owner.merges(change, method)
    play.rests()
    play.stop_bot()
    minutes_pass(play, 45)
    play.start_bot()
    publishes(play, "net/base", package("net/base"), 1)
    pull = play.author.pull_of(f"{SHOP}-1").number
    play.rests()
    play.author.says(pull, "/propose")
    play.rests()

    play.approver.says(pull, "/approve")
    play.author.waits_for_answer(pull, "authors cannot approve")
    play.owner.says(pull, "/approve")
    play.author.waits_for_tag("apps/shop/v1")


def test_a_rule_that_was_changed_in_its_merge_is_whose_merge_it_is(play: World) -> None:
    """The short-cut goes by the pull request: a merge that is pushed holds what its maker wants."""
    _changes_the_rule(play)
    (path,) = rule = variant()
    play.approver.merges_into(
        "main", "edge", and_more={path: f"{rule[path]}  labels: {{tier: edge}}\n"}
    )
    pull = play.author.pull_of(f"{SHOP}-1").number
    play.rests()
    play.author.says(pull, "/propose")
    play.rests()

    play.approver.says(pull, "/approve")
    play.author.waits_for_answer(pull, "authors cannot approve")
    play.owner.says(pull, "/approve")
    play.author.waits_for_tag("apps/shop/v1")


def _changes_the_rule(play: World) -> int:
    """A pull request of the author with a rule, approved; its number."""
    publishes(play, "net/base", package("net/base"), 1)
    play.owner.pushes("main", {".porchbot.yaml": RULES})
    play.rests()
    play.author.pushes("edge", variant())
    change = play.author.opens("edge").number
    play.rests()
    play.approver.says(change, "/approve")
    play.rests()
    return change


def test_with_a_commit_of_somebody_it_takes_an_approval(play: World) -> None:
    """The short-cut goes by the branch: whoever pushes there publishes."""
    play.owner.pushes("main", {".porchbot.yaml": BY_RULE})
    publishes(play, "net/base", package("net/base"), 1)
    play.owner.pushes("main", variant())
    pull = play.author.pull_of(f"{SHOP}-1").number
    play.rests()
    seconds_pass(play.forge, 1)
    play.author.pushes(f"{SHOP}-1", resized("apps/shop", 9))
    play.author.says(pull, "/propose")
    play.author.waits_for_summary(pull, "0 of 1")
    play.rests()

    assert not play.author.pull(pull).merged


def test_a_conflict_takes_an_approval(play: World) -> None:
    """The short-cut publishes what upstream wants over what somebody changed here."""
    approved_by_rule(play)
    play.author.waits_for_tag("apps/shop/v1")
    play.rests()
    seconds_pass(play.forge, 1)
    mine = play.author.reads("apps/shop/settings.yaml").replace('"1"', '"5"')
    publishes(play, "apps/shop", {"apps/shop/settings.yaml": mine}, 2)
    publishes(play, "net/base", resized("net/base", 9), 2)
    play.sweep()
    play.rests()

    pull = play.author.pull_of(f"{SHOP}-2")
    assert pull.draft
    assert "**1 conflict when this pull request was opened.**" in pull.body
    assert "apps/shop/v3" not in play.author.tags()


@pytest.mark.simulated_time("minutes pass")
def test_a_variants_pull_request_has_its_label_and_its_place(stage: World) -> None:
    """The short-cut lists a thousand drafts of a machine among those of people."""
    play = stage
    play.repository.has_issues = True
    play.start_bot()
    begins(play)
    pull = play.author.pull_of(f"{SHOP}-1").number
    play.author.pushes("drafts/net/core/w", package("net/core"))
    mine = play.author.pull_of("drafts/net/core/w").number
    labels = {"porchbot: draft", "porchbot: variant"}
    wait_for("the labels", lambda: play.author.pull(pull).labels == labels or None)
    play.rests()
    assert play.author.pull(mine).labels == {"porchbot: draft"}
    assert opened(play) == [f"{SHOP}-1"]

    def listed() -> str | None:
        found = [issue.body for issue in play.author.issues()]
        return next((text for text in found if "Drafts of variants (1)" in text), None)

    text = wait_for("the dashboard", listed, 900)
    assert f"#{pull}" in text.partition("Drafts of variants (1)")[2]


@pytest.mark.parametrize("why", NO_MORE)
def test_what_no_rule_wants_now_takes_an_approval(play: World, why: str) -> None:
    """The short-cut asks who made it: what was closed is opened again, and publishes itself."""
    publishes(play, "net/base", package("net/base"), 1)
    play.owner.pushes("main", {".porchbot.yaml": BY_RULE, **variant()})
    pull = play.author.pull_of(f"{SHOP}-1").number
    play.rests()
    play.author.closes(pull)
    play.rests()
    seconds_pass(play.forge, 1)
    play.owner.pushes("main", NO_MORE[why])
    play.rests()

    play.author.reopens(pull)
    play.author.makes_ready(pull)
    play.author.waits_for_summary(pull, "0 of 1")
    play.rests()
    play.sweep()
    play.rests()

    assert not play.author.pull(pull).merged
    assert "apps/shop/v1" not in play.author.tags()
