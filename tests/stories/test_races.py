"""Two things at the same moment: people merge, push and approve while the bot does its work.

Longer than 400 lines: one story for each pair of things that meet.
"""

import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from bot.loop import unjudged
from tests.stories.calls import MERGE, PROPOSAL
from tests.stories.people import Person, wait_for
from tests.stories.real import RealWorld
from tests.stories.world import CONFIG, CONFIGMAP, Staging, World, package, resized

TWO_APPROVERS = CONFIG.replace("require: 1", "require: 2")


@pytest.fixture
def strict(staged: Staging) -> Iterator[World]:
    """A running world where two people must approve."""
    with staged(TWO_APPROVERS) as stage:
        stage.start_bot()
        stage.rests()
        yield stage


def extra(path: str, name: str) -> dict[str, str]:
    """One more resource for a package: merges with any other change of it."""
    return {f"{path}/{name}.yaml": CONFIGMAP.replace("NAME", name)}


def merges(play: World) -> list[int]:
    """The status of each of the bot's merge calls."""
    return play.statuses_of(MERGE)


def tagged(play: World, name: str) -> dict[str, str]:
    """Tags of one package, with their commits."""
    return {tag: sha for tag, sha in play.author.tags().items() if tag.startswith(f"{name}/v")}


# --- the merge result is not what was approved ---


def test_another_merge_of_the_same_package_between_look_and_merge(play: World) -> None:
    """Fails when the tag follows from the approval: the merged tree was seen by nobody."""
    author, approver = play.author, play.approver
    first = play.proposes("drafts/net/core/a", {**package("net/core"), **extra("net/core", "a")})
    approver.says(first, "/approve")
    author.waits_for_tag("net/core/v1")
    play.rests()
    one = play.proposes("drafts/net/core/b", extra("net/core", "b"))
    other = play.proposes("drafts/net/core/c", extra("net/core", "c"))
    play.forge.faults.before(
        play.call(MERGE), lambda: ignore(play.owner.merges(other)), caller=play.caller
    )

    approver.says(one, "/approve")
    report = author.waits_for_answer(one, "Merged, but not published")
    play.rests()

    assert f"`net/core` differs from the proposal, because #{other} changed it" in report
    assert set(tagged(play, "net/core")) == {"net/core/v1"}
    assert "Merged, but not published" in author.summary(one)
    assert sum("Merged, but not published" in text for text in author.answers(one)) == 1

    approver.says(one, "/approve")
    target = author.waits_for_tag("net/core/v2")
    play.rests()
    assert target == author.pull(one).merge_commit
    assert tagged(play, "net/core")["net/core/v2"] == target
    assert "Published net/core v2" in author.summary(one)
    # The other was merged by hand and without an approval: what it brought is in this revision.
    assert "Merged, but not published by itself" in author.summary(other)
    assert f"was published with `net/core/v2` by #{one}." in author.summary(other)


@pytest.mark.both_forges
def test_a_push_to_main_between_look_and_merge(play: World) -> None:
    """Fails when only other pull requests count: a push past the bot changes the tree as well."""
    author, approver = play.author, play.approver
    number = play.proposes("drafts/net/edge/b", resized("net/edge", 2))
    play.forge.faults.before(
        play.call(MERGE),
        lambda: ignore(play.owner.pushes("main", extra("net/edge", "late"), message="Late")),
        caller=play.caller,
    )

    approver.says(number, "/approve")
    report = author.waits_for_answer(number, "Merged, but not published")
    play.rests()

    late = author.commit("main").parents[0]
    assert f"because {late[:10]} changed it in the meantime" in report
    assert author.tags() == {}
    approver.says(number, "/approve")
    assert author.waits_for_tag("net/edge/v1") == author.pull(number).merge_commit


# --- merged by hand while the bot is down ---


def test_two_approved_proposals_merged_by_hand_while_the_bot_is_down(play: World) -> None:
    """Fails when a number is given by proposal, or the first merge found gets the tag of both."""
    author, approver = play.author, play.approver
    one = play.proposes("drafts/net/edge/a", extra("net/edge", "a"))
    two = play.proposes("drafts/net/edge/b", extra("net/edge", "b"))
    play.stop_bot()
    approver.reviews(one)
    approver.says(two, "/approve")
    play.owner.merges(two)
    play.owner.merges(one)

    play.start_bot()
    v1 = author.waits_for_tag("net/edge/v1")
    report = author.waits_for_answer(one, "Merged, but not published")
    play.rests()

    assert v1 == author.pull(two).merge_commit
    assert set(author.tags()) == {"net/edge/v1"}
    assert f"because #{two} changed it in the meantime" in report
    approver.says(one, "/approve")
    assert author.waits_for_tag("net/edge/v2") == author.pull(one).merge_commit


def test_two_proposals_that_build_on_one_another_are_tagged_in_first_parent_order(
    play: World,
) -> None:
    """Fails when merges are taken by number or by time of the look: v1 would come after v2."""
    author, approver = play.author, play.approver
    author.pushes("drafts/net/edge/a", extra("net/edge", "a"))
    two = play.proposes("drafts/net/edge/b", extra("net/edge", "b"), base="drafts/net/edge/a")
    one = author.pull_of("drafts/net/edge/a").number
    author.says(one, "/propose")
    wait_for("the proposal", lambda: not author.pull(one).draft or None)
    play.rests()
    play.stop_bot()
    for number in (two, one):
        approver.reviews(number)
    play.owner.merges(one)
    play.owner.merges(two)

    play.start_bot()
    author.waits_for_tag("net/edge/v2")
    play.rests()

    assert author.tags() == {
        "net/edge/v1": author.pull(one).merge_commit,
        "net/edge/v2": author.pull(two).merge_commit,
    }


@pytest.mark.both_forges
def test_two_proposals_that_nobody_approved_merged_by_hand_are_both_reported(play: World) -> None:
    """Fails when a merge by a person who may merge counts as an approval."""
    author = play.author
    one = play.proposes("drafts/net/edge/a", extra("net/edge", "a"))
    two = play.proposes("drafts/net/edge/b", extra("net/edge", "b"))
    play.stop_bot()
    play.owner.merges(one)
    play.owner.merges(two)

    play.start_bot()
    for number in (one, two):
        assert "approved: 0 of 1" in author.waits_for_answer(number, "Merged, but not published")
    play.rests()

    assert author.tags() == {}
    play.sweep()
    play.rests()
    for number in (one, two):
        assert sum("Merged, but not published" in text for text in author.answers(number)) == 1


# --- approvals ---


def at_once(*deeds: "threading.Thread") -> None:
    """Let several people act at the same moment."""
    for deed in deeds:
        deed.start()
    for deed in deeds:
        deed.join()


def approves(who: Person, number: int) -> threading.Thread:
    """An approval about to be given."""
    return threading.Thread(target=who.says, args=(number, "/approve"))


def test_two_approvals_at_the_same_moment_where_two_are_needed(strict: World) -> None:
    """Fails when each look counts only the comment that woke it: both would find one of two."""
    number = strict.proposes("drafts/net/core/w", package("net/core"))

    at_once(approves(strict.approver, number), approves(strict.owner, number))
    target = strict.author.waits_for_tag("net/core/v1")
    strict.rests()

    assert target == strict.author.pull(number).merge_commit
    assert merges(strict) == [200]
    message = strict.author.tag_text("net/core/v1")
    assert "Approved-by: approver, owner" in message
    assert len(strict.author.answers(number)) == 2


@pytest.mark.real_parts
def test_two_approvals_at_the_same_moment_where_one_is_enough(play: RealWorld) -> None:
    """Fails when each approval merges and tags for itself."""
    number = play.opens("topic", package("net/core"))

    at_once(approves(play.approver, number), approves(play.owner, number))
    target = play.author.waits_for_tag("net/core/v1")
    play.rests()

    assert tagged(play, "net/core") == {"net/core/v1": target}
    assert merges(play) == [200]
    assert len(play.author.answers(number)) == 2  # each of the two is told what became of it


@pytest.mark.real_parts
def test_the_head_moves_between_approval_and_merge(play: RealWorld) -> None:
    """Fails when the merge names no head: content would be merged that nobody saw."""
    author, approver = play.author, play.approver
    number = play.opens("topic", package("net/core"))
    play.forge.faults.before(
        play.call(MERGE),
        lambda: ignore(author.pushes("topic", extra("net/core", "more"))),
    )

    approver.says(number, "/approve")
    author.waits_for_summary(number, "`approver`: the package changed since")
    play.rests()

    assert merges(play) == [409]
    assert not author.pull(number).merged
    assert author.tags() == {}
    assert author.waits_for_check(number, "porchbot/publish", None)
    approver.says(number, "/approve")
    assert author.waits_for_tag("net/core/v1") == author.pull(number).merge_commit


def test_a_force_push_after_approval(play: World) -> None:
    """Fails when an approval binds to the pull request, or to a branch."""
    author, approver = play.author, play.approver
    number = play.proposes("drafts/net/core/w", package("net/core"))
    author.says(number, "/hold")
    play.rests()
    approver.says(number, "/approve")
    author.waits_for_answer(number, "approved head")
    author.waits_for_summary(number, "1 of 1 (`approver`)")

    author.pushes(
        "drafts/net/core/w", {**package("net/core"), **resized("net/core", 7)}, force=True
    )
    author.waits_for_summary(number, "0 of 1; not counted: `approver`: the package changed since")
    author.says(number, "/unhold")
    play.rests()

    assert not author.pull(number).merged
    assert author.tags() == {}
    approver.says(number, "/approve")
    author.waits_for_tag("net/core/v1")
    assert 'size: "7"' in read(author, "net/core/settings.yaml", "net/core/v1")


def test_a_force_push_that_leaves_the_packages_alone_keeps_the_approval(play: World) -> None:
    """Fails when an approval binds to the commit alone: a reworded message would cost a review."""
    author, approver = play.author, play.approver
    number = play.proposes("drafts/net/core/w", package("net/core"))
    author.says(number, "/hold")
    play.rests()
    approver.says(number, "/approve")
    author.waits_for_summary(number, "1 of 1 (`approver`)")

    head = author.pushes("drafts/net/core/w", package("net/core"), message="Other", force=True)
    author.waits_for_check(number, "porchbot/validate", "success")
    author.says(number, "/unhold")
    author.waits_for_tag("net/core/v1")

    assert author.pull(number).head == head


@pytest.mark.parametrize("native", [False, True], ids=["command", "review"])
def test_what_is_pushed_beside_the_package_after_approval_is_not_merged(
    play: World, native: bool
) -> None:
    """Fails when an approval binds to packages alone: new rules would be merged unseen."""
    author, approver = play.author, play.approver
    number = play.proposes("drafts/net/core/w", package("net/core"))
    author.says(number, "/hold")
    play.rests()
    if native:
        approver.reviews(number)
    else:
        approver.says(number, "/approve")
    author.waits_for_summary(number, "1 of 1 (`approver`)")

    author.pushes("drafts/net/core/w", {"CODEOWNERS": "* @author\n"})
    author.waits_for_check(number, "porchbot/validate", "success")
    author.says(number, "/unhold")
    play.rests()

    assert "along with the package changed since" in author.summary(number)
    assert not author.pull(number).merged
    approver.says(number, "/approve")
    author.waits_for_tag("net/core/v1")


@pytest.mark.real_parts
def test_a_merge_that_finds_no_runner_is_published_when_there_is_one(
    play: RealWorld, tmp_path: Path, runner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails when only open proposals are judged again: a crash after the merge would lose a tag."""
    monkeypatch.setattr(unjudged, "RUNNER_WAIT", 1.0)
    author, approver = play.author, play.approver
    number = play.opens("topic", package("net/core"))
    author.says(number, "/hold")
    approver.says(number, "/approve")
    author.waits_for_summary(number, "1 of 1 (`approver`)")
    play.stop_bot()
    author.says(number, "/unhold")
    author.merges(number)
    late = tmp_path / "late.sock"
    play.environment["PORCHBOT_RUNNER_ADDRESS"] = f"unix:{late}"
    play.start_bot()
    author.waits_for_answer(number, "Merged, but not published")
    play.rests()

    late.symlink_to(runner.removeprefix("unix:"))

    author.waits_for_tag("net/core/v1")


# --- bases ---


def test_the_base_moves_under_a_second_proposal_for_the_same_package(play: World) -> None:
    """Fails when an approval of a proposal survives what was published in between."""
    author, approver = play.author, play.approver
    one = play.proposes("drafts/net/edge/a", extra("net/edge", "a"))
    two = play.proposes("drafts/net/edge/b", extra("net/edge", "b"))
    author.says(two, "/hold")
    play.rests()
    approver.says(two, "/approve")
    author.waits_for_summary(two, "1 of 1 (`approver`)")

    approver.says(one, "/approve")
    author.waits_for_tag("net/edge/v1")
    summary = author.waits_for_summary(two, "net/edge v2 is proposed")
    author.says(two, "/unhold")
    play.rests()

    assert f"`net/edge` changed in `main` since (#{one})" in summary
    assert "merge `main` into this branch" in summary
    assert not author.pull(two).merged
    assert "changed in main since" in author.waits_for_check(two, "porchbot/publish", None).title

    author.merges_base("drafts/net/edge/b")
    author.waits_for_summary(two, "not counted: `approver`: the package changed since")
    play.rests()
    assert not author.pull(two).merged
    approver.says(two, "/approve")
    assert author.waits_for_tag("net/edge/v2") == author.pull(two).merge_commit


def test_one_head_proposed_to_two_bases_passes_at_neither_until_it_may_at_both(
    two_bases: World,
) -> None:
    """Fails when the check follows one pull request: its green would open the other's door."""
    author, approver = two_bases.author, two_bases.approver
    author.pushes("topic", extra("net/edge", "a"))
    one, two = (author.opens("topic", base, base=base).number for base in ("main", "release"))
    author.waits_for_check(one, "porchbot/validate", "success")
    two_bases.rests()

    approver.says(one, "/approve")
    author.waits_for_summary(one, f"#{two}")
    two_bases.rests()

    runs = author.every_check(author.pull(two).head)
    publish = [run for run in runs if run.name == "porchbot/publish"]
    # A status that waits with another text than before is canceled first, where there are statuses.
    assert "success" not in {run.conclusion for run in publish}
    now = author.checks(author.pull(two).head, two)["porchbot/publish"]
    assert now.conclusion is None
    assert not author.pull(one).merged
    assert author.tags() == {}

    approver.says(two, "/approve")
    author.waits_for_tag("net/edge/v2")
    two_bases.rests()
    merged = {author.pull(number).merge_commit for number in (one, two)}
    assert set(tagged(two_bases, "net/edge").values()) == merged


def test_a_base_without_packages_does_not_hold_up_the_other(play: World) -> None:
    """Fails when a pull request that publishes nothing counts as one that is not ready."""
    author, approver = play.author, play.approver
    play.owner.pushes("elsewhere", {"words.md": "Nothing is published here.\n"})
    author.pushes("topic", extra("net/edge", "a"))
    one, two = (author.opens("topic", base, base=base).number for base in ("main", "elsewhere"))
    author.waits_for_check(one, "porchbot/validate", "success")
    play.rests()

    approver.says(one, "/approve")

    assert author.waits_for_tag("net/edge/v1") == author.pull(one).merge_commit
    assert not author.pull(two).merged


# --- the forge refuses ---


@pytest.mark.only_github("reasons of a refused merge")
def test_a_merge_that_the_forge_refuses_is_shown_and_not_tried_again(play: World) -> None:
    """Fails when a refusal counts as a fault that passes: the bot would ask for ever."""
    author, approver = play.author, play.approver
    reason = "Merge commits are not allowed on this repository"
    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.forge.faults.fail(play.call(MERGE), 405, {"message": reason}, caller=play.caller)

    approver.says(number, "/approve")
    summary = author.waits_for_summary(number, reason)
    play.rests()
    play.sweep()
    play.rests()

    assert "then comment `/check`" in summary
    publish = author.waits_for_check(number, "porchbot/publish", None)
    assert reason in publish.title
    assert merges(play) == [405]
    assert not author.pull(number).merged

    author.says(number, "/check")
    assert author.waits_for_tag("net/core/v1") == author.pull(number).merge_commit
    assert merges(play) == [405, 200]


@pytest.mark.only_github("reasons of a refused merge")
def test_a_rule_of_the_branch_that_the_bot_does_not_know_is_named_by_the_forge(
    play: World,
) -> None:
    """Fails when only rules that the bot reads are shown: the forge has more of them."""
    author, approver = play.author, play.approver
    number = play.proposes("drafts/net/core/w", package("net/core"))
    rule = play.forge.state.rules.add(play.repository, update=True)

    approver.says(number, "/approve")
    author.waits_for_summary(number, "Cannot update this protected ref")
    play.rests()
    assert merges(play) == [405]

    play.forge.state.rules.remove(play.repository, rule)
    play.rests()
    author.says(number, "/check")
    author.waits_for_tag("net/core/v1")


@pytest.mark.only_github("reasons of a refused merge")
def test_a_refused_merge_is_tried_again_when_something_ends_at_the_head(play: World) -> None:
    """Fails when only `/check` brings another try: the bot cannot see every rule of the forge."""
    author, approver = play.author, play.approver
    number = play.proposes("drafts/net/core/w", package("net/core"))
    refused = {"message": "Repository rule violations found\n\n1 check is expected."}
    play.forge.faults.fail(play.call(MERGE), 405, refused, caller=play.caller)

    approver.says(number, "/approve")
    author.waits_for_summary(number, "1 check is expected")
    play.rests()
    assert merges(play) == [405]
    head = author.pull(number).head
    play.owner.reports(head, "somebody's scan", "pending")
    play.rests()
    assert merges(play) == [405]
    play.forge.faults.fail(play.call(MERGE), 405, refused, caller=play.caller)
    play.owner.reports(head, "somebody's scan", "failure")
    wait_for("the second try", lambda: len(merges(play)) == 2 or None)
    play.rests()
    play.owner.reports(head, "somebody's scan")
    author.waits_for_tag("net/core/v1")

    assert merges(play) == [405, 405, 200]


@pytest.mark.only_github("reasons of a refused merge")
def test_base_branch_was_modified_is_tried_again(play: World) -> None:
    """Fails when every 405 is final: this one passes by itself."""
    author, approver = play.author, play.approver
    number = play.proposes("drafts/net/core/w", package("net/core"))
    moved = "Base branch was modified. Review and try the merge again."
    play.forge.faults.fail(play.call(MERGE), 405, {"message": moved}, caller=play.caller)

    approver.says(number, "/approve")
    author.waits_for_tag("net/core/v1")
    play.rests()

    assert merges(play) == [405, 200]
    assert len(author.answers(number)) == 1


def test_a_merge_whose_answer_is_lost_leads_to_one_tag(play: World) -> None:
    """Fails when a failed call counts as a deed not done."""
    author, approver = play.author, play.approver
    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.forge.faults.fail(play.call(MERGE), 502, caller=play.caller, carried_out=True)

    approver.says(number, "/approve")
    target = author.waits_for_tag("net/core/v1")
    play.rests()

    assert target == author.pull(number).merge_commit
    assert tagged(play, "net/core") == {"net/core/v1": target}
    assert merges(play) == [502]


@pytest.mark.only_github("required checks by name")
def test_a_required_check_of_others_is_waited_for(play: World) -> None:
    """Fails when the bot asks the forge to merge and lets it find out."""
    author, approver = play.author, play.approver
    play.forge.state.rules.add(play.repository, required_checks=[("security-scan", None)])
    number = play.proposes("drafts/net/core/w", package("net/core"))

    approver.says(number, "/approve")
    summary = author.waits_for_summary(number, "1 of 1 (`approver`)")
    play.rests()
    assert "⏳ **check `security-scan`**: not reported yet." in summary
    assert "whatever reports `security-scan`" in summary
    assert merges(play) == []

    head = author.pull(number).head
    play.owner.reports(head, "security-scan", "pending")
    author.waits_for_summary(number, "still running")
    play.owner.reports(head, "security-scan")
    author.waits_for_tag("net/core/v1")
    assert merges(play) == [200]


@pytest.mark.real_parts
def test_one_that_cannot_be_published_keeps_no_other_from_it(play: RealWorld) -> None:
    """Fails when a base's line is read and worked off as a whole: one 403 then stops publishing."""
    broken = play.opens("broken", package("net/core"))
    sound = play.opens("sound", package("net/dns"))
    play.rests()
    refusal = {"message": "The IP allow list of acme does not permit this"}
    play.forge.faults.fail(
        play.call(PROPOSAL).format(broken), 403, refusal, times=None, caller=play.caller
    )
    play.asks_to_publish(broken)

    play.approver.says(sound, "/approve")

    assert play.author.waits_for_tag("net/dns/v1")
    figures = f"http://127.0.0.1:{play.port}/metrics"  # told when the look ends, after the tag
    failed = 'porchbot_look_failures_total{kind="BaseKey",why="some"}'
    wait_for("the failure to be counted", lambda: failed in httpx.get(figures, timeout=60).text)


def read(person: Person, path: str, ref: str) -> str:
    """A file as it stands at a ref."""
    return person.reads(path, ref)


def ignore(_: object) -> None:
    """Faults call what gives nothing back."""
