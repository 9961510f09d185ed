"""Branches with a merge queue: proposals are queued, their merge is judged, and then tagged.

Longer than 400 lines: one story for each end of a place in the queue.
"""

from functools import partial

import pytest
from github import GithubException

from bot.sandbox.records.protection import QueueRule
from bot.sandbox.records.repository import MergeGroup, Pull
from tests.stories.people import wait_for
from tests.stories.world import (
    CONFIG,
    Staging,
    World,
    minutes_pass,
    package,
    resized,
    seconds_pass,
)

pytestmark = pytest.mark.only_github("merge queues")


@pytest.fixture
def queue(play: World) -> World:
    """A running world whose main branch has a merge queue and requires our verdict."""
    ruled(play, QueueRule())
    return play


def ruled(play: World, rule: QueueRule) -> None:
    with play.forge.state.lock:
        play.repository.rulesets.clear()
        checks = [("porchbot/publish", play.app.id)]
        play.forge.state.rules.add(play.repository, merge_queue=rule, required_checks=checks)


def begun(play: World) -> None:
    """net/core v1 and net/other v1 are published, before there is a queue."""
    for name in ("core", "other"):
        number = play.proposes(f"drafts/net/{name}/first", package(f"net/{name}"))
        play.approver.says(number, "/approve")
        play.author.waits_for_tag(f"net/{name}/v1")
    play.rests()


def pull(play: World, number: int) -> Pull:
    found: Pull = play.repository.pulls[number]
    return found


def group(play: World, number: int) -> MergeGroup | None:
    entry = play.forge.state.queues.entry(pull(play, number))
    return entry.group if entry else None


def dequeued(play: World, number: int) -> list[object]:
    """Why a proposal left the queue, each time."""
    events = pull(play, number).events
    return [e.detail["reason"] for e in events if e.kind == "removed_from_merge_queue"]


def shut(play: World, number: int) -> bool | None:
    return pull(play, number).state == "closed" or None


def was_queued(play: World, number: int) -> bool | None:
    return any(e.kind == "added_to_merge_queue" for e in pull(play, number).events) or None


def conclusion(play: World, sha: str, name: str = "porchbot/publish") -> str | None:
    runs = [r for r in play.forge.state.checks.runs_on(play.repository, sha) if r.name == name]
    return max(runs, key=lambda run: run.id).conclusion if runs else "none"


def test_an_approved_proposal_is_queued_judged_merged_and_tagged(queue: World) -> None:
    """The short-cut asks for a merge, which the forge refuses for ever; or never reports."""
    number = queue.proposes("drafts/net/core/first", package("net/core"))
    queue.approver.says(number, "/approve")

    target = queue.author.waits_for_tag("net/core/v1")
    queue.rests()

    merged = pull(queue, number)
    assert merged.merged
    assert merged.merge_commit_sha == target
    assert merged.merged_by is not None
    assert merged.merged_by.login == "github-merge-queue[bot]"
    assert conclusion(queue, merged.head_sha) == "success"  # green before it was queued
    for name in ("render", "validate", "publish"):
        assert conclusion(queue, target, f"porchbot/{name}") == "success"
    message = queue.forge.state.git(queue.repository).commit(target).message
    assert "kpt:" not in message  # the queue writes it
    assert "Published net/core v1" in queue.author.summary(number)
    assert not [b for b in queue.repository.refs if "drafts/net/core" in b or "readonly" in b]


def test_several_in_one_group_are_published_each(play: World) -> None:
    """Short-cut refused: of one move of the base only the last merge is found."""
    begun(play)
    ruled(play, QueueRule(min_entries_to_merge=2, merge_method="SQUASH"))
    one = play.proposes("drafts/net/core/b", resized("net/core", 2))
    other = play.proposes("drafts/net/other/b", resized("net/other", 2))
    play.approver.says(one, "/approve")
    wait_for("the first in the queue", lambda: group(play, one))
    play.rests()
    assert "in the merge queue of `main`" in play.author.summary(one)
    play.approver.says(other, "/approve")

    tags = [play.author.waits_for_tag(f"net/{name}/v2") for name in ("core", "other")]
    assert tags == [pull(play, n).merge_commit_sha for n in (one, other)]
    moves = play.repository.activity_by_ref["refs/heads/main"]
    assert moves[-1].after == tags[1]
    assert moves[-1].before not in tags


def test_a_merge_result_that_nobody_approved_is_kept_out(play: World) -> None:
    """The short-cut judges the head again: two changes of one package merge into a third."""
    begun(play)
    ruled(play, QueueRule(min_entries_to_merge=2))
    two = resized("net/core", 2)
    one = play.proposes("drafts/net/core/b", two)
    kptfile = package("net/core")["net/core/Kptfile"] + "info:\n  description: core\n"
    other = play.proposes("drafts/net/core/c", {"net/core/Kptfile": kptfile})
    for number in (one, other):
        play.approver.says(number, "/approve")
        wait_for(f"#{number} to be queued", partial(was_queued, play, number))
    wait_for("the second to leave", lambda: dequeued(play, other) or None)
    play.rests()

    assert dequeued(play, other) == ["CI_FAILURE"]
    assert group(play, one) is not None
    assert "net/core/v2" not in play.author.tags()
    play.author.waits_for_summary(other, "it left the merge queue without being merged")
    play.rests()
    assert conclusion(play, pull(play, other).head_sha) is None  # it fell with the group
    reds = [
        run.summary or ""
        for suite in play.repository.suites
        for run in suite.runs
        if run.name == "porchbot/publish" and run.conclusion == "failure"
    ]
    assert len(reds) == 1
    assert f"differs from what was approved in #{other}" in reds[0]

    play.approver.says(other, "/check")
    wait_for("a second try", lambda: len(dequeued(play, other)) == 2 or None)


def test_a_branch_that_is_named_like_a_group_is_none(play: World) -> None:
    """Short-cut refused: who may push names a branch for a ready proposal, and `main` is his.

    The proposal changes words only, or was published long ago. What stands below the commit that
    is judged is never compared with what anybody approved.
    """
    begun(play)
    play.author.pushes("words", {"words.md": "Words.\n"})
    made = play.author.opens("words", "Words")
    words = int(made.number)
    play.author.waits_for_check(words, "porchbot/publish", "success")
    ruled(play, QueueRule())
    play.author.pushes("mine", resized("net/core", 7))
    play.author.pushes("mine", {"more.md": "Nothing that a package holds.\n"})
    head = play.repository.branch("mine")
    for number in (words, 1):
        for base in ("main", "mine"):
            named = f"gh-readonly-queue/{base}/pr-{number}-{play.repository.branch('main')}"
            play.author.makes_ref(f"heads/{named}", head)
    play.rests()
    play.wake(f"{play.name}:{play.repository.id}:repository")
    play.rests()

    assert [conclusion(play, head, f"porchbot/{n}") for n in ("render", "publish")] == ["none"] * 2


def test_each_entry_counts_where_only_the_head_of_a_group_has_to_be_green(play: World) -> None:
    """Short-cut refused: the last proposal is judged, and the one before it is merged with it."""
    begun(play)
    rule = QueueRule(min_entries_to_merge=3, grouping_strategy="HEADGREEN")
    ruled(play, rule)
    kptfile = package("net/core")["net/core/Kptfile"] + "info:\n  description: core\n"
    files = [resized("net/core", 2), {"net/core/Kptfile": kptfile}, resized("net/other", 2)]
    one, other, last = (play.proposes(f"drafts/net/{n}/b", each) for n, each in enumerate(files))
    for event in ("merge_group", "push", "create", "check_suite"):
        play.forge.faults.hooks.drop(event, None)
    for number in (one, other, last):
        play.approver.says(number, "/approve")
        wait_for(f"#{number} to be queued", partial(was_queued, play, number))
    play.forge.faults.clear()
    play.wake(f"{play.name}:{play.repository.id}:repository")
    wait_for("the second to leave", lambda: dequeued(play, other) or None)
    play.rests()

    assert dequeued(play, other) == ["CI_FAILURE"]
    assert not pull(play, other).merged
    assert dequeued(play, one) == []
    # A group that is judged before the second has left holds it as well, and is red for it.
    assert dequeued(play, last) in ([], ["CI_FAILURE"])


@pytest.mark.parametrize("path", [".porchbot.yaml", ".porchbot/ledger/net/other.yaml"])
def test_rules_are_not_merged_together_with_packages_ahead_of_them(play: World, path: str) -> None:
    """Short-cut refused: both are merged in one push, and nobody can tell what judged the package.

    The package is published with others that were judged like it.
    """
    begun(play)
    ruled(play, QueueRule(min_entries_to_merge=2))
    one = play.proposes("drafts/net/core/b", resized("net/core", 2))
    text = CONFIG + "publish: {auto_merge: true}\n"
    if "ledger" in path:
        text = "revisions:\n  1: {state: deprecated, reason: old}\n"
    play.author.pushes("people/rules", {path: text}, message="Change the rules")
    rules = play.author.opens("people/rules")
    play.rests()
    play.approver.says(one, "/approve")
    wait_for("the package in the queue", partial(was_queued, play, one))
    play.approver.says(rules.number, "/approve")
    play.rests()
    if not was_queued(play, rules.number):  # the bot merges no configuration
        state = play.forge.state
        state.queues.enqueue(pull(play, rules.number), state.user("owner"))
    wait_for("the rules to leave", lambda: dequeued(play, rules.number) or None)
    assert not pull(play, rules.number).merged
    other = play.proposes("drafts/net/other/b", resized("net/other", 2))
    play.approver.says(other, "/approve")

    play.author.waits_for_tag("net/core/v2")
    play.author.waits_for_tag("net/other/v2")
    play.rests()
    assert "Published net/core v2" in play.author.summary(one)


def test_each_commit_counts_where_the_queue_rebases(play: World) -> None:
    """Short-cut refused: the group is compared with its first parent, the proposal's own commit."""
    begun(play)
    ruled(play, QueueRule(min_entries_to_merge=2, merge_method="REBASE"))
    one = play.proposes("drafts/net/core/b", resized("net/core", 2))
    kptfile = package("net/core")["net/core/Kptfile"] + "info:\n  description: core\n"
    play.author.pushes("drafts/net/core/c", {"net/core/Kptfile": kptfile})
    other = play.proposes("drafts/net/core/c", resized("net/other", 2))
    for number in (one, other):
        play.approver.says(number, "/approve")
        wait_for(f"#{number} to be queued", partial(was_queued, play, number))
    wait_for("the second to leave", lambda: dequeued(play, other) or None)
    assert dequeued(play, other) == ["CI_FAILURE"]
    assert not pull(play, other).merged


def test_a_group_that_is_proposed_elsewhere_is_green_for_nobody(play: World, is_real: bool) -> None:
    """Short-cut refused: the queue's green check is taken to another branch, on the same commit."""
    if is_real:
        pytest.skip("waits for minutes")
    begun(play)
    ruled(play, QueueRule(min_entries_to_merge=2))
    number = play.proposes("drafts/net/core/b", resized("net/core", 2))
    play.approver.says(number, "/approve")
    head = wait_for("the group", lambda: group(play, number)).head_sha
    wait_for("its check", lambda: conclusion(play, head) == "success" or None)
    start = play.repository.branch("main")
    for name, sha in (("side", start), ("carrier", head)):
        play.author.makes_ref(f"heads/{name}", sha)
    again = play.author.opens("carrier", "T", base="side").number
    play.rests()
    minutes_pass(play, 2)  # what was written lately is not written again
    play.wake(f"{play.name}:{play.repository.id}:repository")
    play.rests()
    assert conclusion(play, head) is None

    play.author.closes(again)
    wait_for("green again", lambda: conclusion(play, head) == "success" or None, 120)


@pytest.mark.parametrize("late", [True, False])
def test_a_fork_with_the_commit_of_a_group_holds_up_no_queue(play: World, late: bool) -> None:
    """Short-cut refused: the group waits for it, which whoever may read opens again and again.

    Or the checks of the group pass the fork's proposal, to a branch that nobody approved it for.
    """
    begun(play)
    play.author.makes_ref("heads/side", play.repository.branch("main"))
    ruled(play, QueueRule(min_entries_to_merge=2))
    number = play.proposes("drafts/net/core/b", resized("net/core", 2))
    play.approver.says(number, "/approve")
    found = wait_for("the group", lambda: group(play, number))
    if late:
        wait_for("its check", lambda: conclusion(play, found.head_sha) == "success" or None)
        play.rests()
    play.outsider.points("carrier", found.head_sha, url=play.forks())
    forked = [
        play.outsider.opens("outsider:carrier", "Mine", base=base).number
        for base in ("side", "main")
    ]
    for each in forked:
        wait_for(f"#{each} to be closed", partial(shut, play, each))
        play.author.waits_for_answer(each, "the commit that the merge queue of `main`")
    play.rests()

    minutes_pass(play, 2)  # what was written lately is not written again
    play.rests()
    assert conclusion(play, found.head_sha) == "success"
    assert dequeued(play, number) == []
    other = play.proposes("drafts/net/other/b", resized("net/other", 2))
    play.approver.says(other, "/approve")
    play.author.waits_for_tag("net/core/v2")
    assert not any(pull(play, each).merged for each in forked)


def test_a_fork_at_a_branch_with_the_name_of_a_group_is_judged(play: World) -> None:
    """Short-cut refused: the name tells, and who may push keeps the checks of any commit green."""
    begun(play)
    ruled(play, QueueRule())
    head = play.author.pushes("mine", resized("net/core", 2))
    named = f"gh-readonly-queue/main/pr-1-{play.repository.branch('main')}"
    play.author.makes_ref(f"heads/{named}", head)
    play.outsider.points("mine", head, url=play.forks())
    number = play.outsider.opens("outsider:mine", "Mine").number

    play.author.waits_for_summary(number, "is proposed")
    play.rests()
    assert pull(play, number).state == "open"
    assert conclusion(play, head) is None


def test_what_is_held_leaves_the_queue_and_comes_back(play: World) -> None:
    """Short-cut refused: what is in the queue is left to it, and merged although it is held."""
    begun(play)
    ruled(play, QueueRule(min_entries_to_merge=2))
    number = play.proposes("drafts/net/core/b", resized("net/core", 2))
    play.approver.says(number, "/approve")
    wait_for("the queue", lambda: group(play, number))
    play.rests()

    play.approver.says(number, "/hold not today")
    wait_for("it to leave", lambda: dequeued(play, number) or None)
    play.rests()
    assert conclusion(play, pull(play, number).head_sha) is None
    assert group(play, number) is None
    play.approver.says(number, "/unhold")
    wait_for("the queue", lambda: group(play, number))
    assert dequeued(play, number) == ["MANUAL"]


@pytest.mark.parametrize("change", ["/hold", "/unapprove"])
def test_what_is_not_to_be_merged_leaves_however_long_it_was_in_the_queue(
    play: World, change: str
) -> None:
    """The short-cut refused: what the bot put into a queue that does not require its check is no
    more its own once what stood before it is merged."""
    with play.forge.state.lock:
        play.repository.rulesets.clear()
        rule, checks = QueueRule(max_entries_to_merge=1), [("ci", None)]
        play.forge.state.rules.add(play.repository, merge_queue=rule, required_checks=checks)
    first, second = (play.proposes(f"drafts/net/{n}/x", package(f"net/{n}")) for n in "ab")
    for number in (first, second):
        play.owner.reports(pull(play, number).head_sha, "ci")
        play.approver.says(number, "/approve")
        wait_for("the queue", lambda n=number: group(play, n))  # type: ignore[misc]
    play.rests()
    minutes_pass(play, 2)
    ahead = group(play, first)
    assert ahead is not None
    play.owner.reports(ahead.head_sha, "ci")
    play.author.waits_for_tag("net/a/v1")
    play.rests()
    assert group(play, second) is not None

    play.approver.says(second, change)
    wait_for("it to leave", lambda: dequeued(play, second) or None)
    play.rests()
    assert dequeued(play, second) == ["MANUAL"]
    assert not pull(play, second).merged
    play.approver.says(second, "/unhold" if change == "/hold" else "/approve")
    again = wait_for("the queue", lambda: group(play, second))
    play.owner.reports(again.head_sha, "ci")
    play.author.waits_for_tag("net/b/v1")


def test_a_group_that_no_webhook_told_of_is_found_by_the_sweep(play: World) -> None:
    """The short-cut reports where it is told to: one lost webhook holds the queue for an hour."""
    begun(play)
    ruled(play, QueueRule())
    number = play.proposes("drafts/net/core/b", resized("net/core", 2))
    for event in ("merge_group", "push", "create", "check_suite"):
        play.forge.faults.hooks.drop(event, None)
    play.approver.says(number, "/approve")
    found = wait_for("the queue", lambda: group(play, number))
    play.rests()
    assert conclusion(play, found.head_sha) == "none"

    play.wake(f"{play.name}:{play.repository.id}:repository")
    play.author.waits_for_tag("net/core/v2")
    assert conclusion(play, found.head_sha) == "success"
    play.forge.faults.clear()


def test_what_we_could_bypass_is_not_merged(play: World) -> None:
    """The short-cut merges: the forge lets whoever is on the list, whatever the rule asks for."""
    number = play.proposes("drafts/net/core/first", package("net/core"))
    play.owner.pushes("main", {"words.md": "Meanwhile.\n"})
    with play.forge.state.lock:
        checks = [("porchbot/publish", play.app.id)]  # GitHub has `strict` as a part of these
        play.forge.state.rules.add(
            play.repository,
            strict=True,
            required_checks=checks,
            bypass=[play.app],
            name="up to date",
        )
    play.approver.says(number, "/approve")
    said = play.author.waits_for_summary(number, "the bot could bypass it, but never does")
    assert "up to date" in said
    play.rests()
    assert not pull(play, number).merged

    play.author.merges_base("drafts/net/core/first")
    play.author.waits_for_tag("net/core/v1")


def test_a_review_alone_merges_where_that_is_configured_and_only_there(staged: Staging) -> None:
    """The short-cut merges on any approval: what is said in a review starts a release."""
    with staged(f"{CONFIG}publish:\n  auto_merge: false\n") as play:
        play.start_bot()
        play.rests()
        seconds_pass(play.forge, 1)
        number = play.proposes("drafts/net/core/first", package("net/core"))
        play.approver.reviews(number)
        play.author.waits_for_summary(number, "a review alone does not start the merge")
        play.rests()
        assert not pull(play, number).merged
        play.author.says(number, "/approve")  # who may not approve asks for nothing
        play.rests()
        assert not pull(play, number).merged

        play.approver.says(number, "/approve")
        play.author.waits_for_tag("net/core/v1")


def test_only_we_make_tags_where_rules_say_so(play: World) -> None:
    """Short-cut refused: the bot needs more than a place on the list of the rule for tags."""
    with play.forge.state.lock:
        play.forge.state.rules.add(
            play.repository,
            ["**"],
            target="tag",
            bypass=[play.app],
            name="releases",
            creation=True,
            update=True,
            deletion=True,
        )
    number = play.proposes("drafts/net/core/first", package("net/core"))
    with pytest.raises(GithubException):
        play.owner.makes_ref("tags/net/core/v1", play.repository.branch("main"))
    play.approver.says(number, "/approve")
    play.author.waits_for_tag("net/core/v1")
