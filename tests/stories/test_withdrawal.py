"""Revisions withdrawn and deprecated: by the ledger, approved, and with the tag that goes."""

import pytest

from tests.stories.calls import OPEN
from tests.stories.people import wait_for
from tests.stories.test_dashboard import shows
from tests.stories.world import CONFIG, Staging, World, package, resized, seconds_pass

LEDGER = ".porchbot/ledger/net/core.yaml"
WITHDRAWN = "revisions:\n  1: {state: withdrawn, reason: it was broken}\n"
UPSTREAM = """\
upstream:
  type: git
  git: {repo: REPO, directory: /net/core, ref: net/core/v1}
"""
DELETING = CONFIG + '  delete: {require: 2, from: ["role:maintain"]}\n'


def publishes(play: World, size: int = 1) -> None:
    """Publish the next revision of net/core."""
    branch = f"drafts/net/core/w{size}"
    files = package("net/core") if size == 1 else {}
    number = play.proposes(branch, {**files, **resized("net/core", size)})
    play.approver.says(number, "/approve")
    play.author.waits_for_tag(f"net/core/v{size}")
    play.rests()


def lists(play: World, text: str, branch: str = "people/ledger", **more: str | None) -> int:
    """Propose a change of the ledger by hand; its number."""
    play.author.pushes(branch, {LEDGER: text, **more}, message="Withdraw it")
    pull = play.author.opens(branch, "t")
    play.rests()
    return int(pull.number)


def test_an_entry_by_hand_takes_the_approvals_of_a_deletion(staged: Staging) -> None:
    """The short-cut deletes the tag of whatever the ledger lists, or with any approval."""
    with staged(DELETING) as play:
        play.start_bot()
        play.rests()
        publishes(play)
        number = lists(play, WITHDRAWN)
        assert "Deletion proposed: net/core v1 withdrawn" in play.author.summary(number)
        play.approver.says(number, "/approve")
        play.author.waits_for_summary(number, "1 of 2")
        play.rests()
        assert not play.author.pull(number).merged
        assert play.author.pull(number).labels == {"porchbot: deletion proposed"}

        play.owner.says(number, "/approve")
        wait_for("the tag's end", lambda: play.author.tags() == {} or None)
        play.rests()
        assert play.author.pull(number).merged
        assert "its tag is deleted" in play.author.summary(number)
        publishes_next(play)


def publishes_next(play: World) -> None:
    """The number of what was withdrawn is not given again, also without the database."""
    play.stop_bot()
    play.loses_database()
    play.start_bot()
    play.rests()
    publishes(play, 2)
    assert set(play.author.tags()) == {"net/core/v2"}


def test_merged_by_hand_nothing_goes_before_it_is_approved(play: World) -> None:
    """Short-cuts refused: whoever can merge deletes any tag; a tag that never went is "back"."""
    publishes(play)
    number = lists(play, WITHDRAWN)
    play.author.merges(number)
    play.author.waits_for_summary(number, "Merged, but not approved")
    play.rests()
    play.sweep()
    play.author.waits_for_summary(1, "there, although the ledger withdraws the revision")
    play.rests()
    assert not [c for c in play.author.comments(1) if "gone" in c.body or "is back" in c.body]
    assert set(play.author.tags()) == {"net/core/v1"}

    seconds_pass(play.forge, 1)
    play.approver.says(number, "/approve")
    wait_for("the tag's end", lambda: play.author.tags() == {} or None)
    play.rests()
    assert "Done: net/core v1 withdrawn" in play.author.summary(number)


def test_a_tag_that_moved_stays(play: World) -> None:
    """The short-cut deletes by name: the tag that somebody put there goes unseen."""
    publishes(play)
    number = lists(play, WITHDRAWN)
    main = play.author.branches()["main"]
    play.owner.deletes("tags/net/core/v1")
    play.owner.makes_ref("tags/net/core/v1", main)
    play.rests()
    seconds_pass(play.forge, 1)
    play.approver.says(number, "/approve")
    summary = play.author.waits_for_summary(number, "was not made by porchbot for this revision")
    assert f"in the entry of `{LEDGER}`" in summary
    play.rests()
    assert set(play.author.tags()) == {"net/core/v1"}

    play.author.merges(number)  # the entry may not be changed any more
    wait_for("other words", lambda: LEDGER not in _needed(play, number) or None)
    assert "git push --force-with-lease=refs/tags/net/core/v1" in _needed(play, number)
    play.rests()
    assert set(play.author.tags()) == {"net/core/v1"}


def _needed(play: World, number: int) -> str:
    """What the summary says is needed for the tag."""
    lines = play.author.summary(number).splitlines()
    return next(line for line in lines if "was not made by porchbot" in line)


def test_a_withdrawal_is_not_taken_back(play: World) -> None:
    """The short-cut judges the file alone: an entry taken out frees its number."""
    play.owner.pushes("main", {LEDGER: WITHDRAWN})
    play.rests()
    number = lists(play, "revisions: {}\n")
    play.approver.says(number, "/approve")
    play.author.waits_for_summary(number, "the number is never used again")
    play.rests()
    assert not play.author.pull(number).merged


def test_delete_opens_a_pull_request_on_the_ledger(play: World) -> None:
    """The short-cut deletes the tag at once: nobody approved, and nobody can look at it."""
    publishes(play)
    publishes(play, 2)
    number = play.proposes("drafts/net/edge/w", resized("net/edge", 3))
    play.author.says(number, "/delete net/core@v1 it was broken")
    play.author.waits_for_answer(number, "`/delete` refused")
    play.approver.says(number, "/delete net/core@v1 it was broken")
    pull = play.author.pull_of("deletionProposed/net/core/v1")
    play.author.waits_for_answer(number, f"#{pull.number} withdraws `net/core/v1`")
    play.rests()
    assert not pull.draft
    assert pull.title == "Withdraw net/core v1"
    assert len(play.author.pulls(every=True)) == 4
    made = play.author.reads(LEDGER, pull.head_ref)
    assert "state: withdrawn" in made
    assert "reason: it was broken" in made
    play.approver.says(pull.number, "/approve")
    play.author.waits_for_answer(pull.number, "refused")
    assert len(play.author.tags()) == 2

    play.owner.says(pull.number, "/approve")
    wait_for("the tag's end", lambda: len(play.author.tags()) == 1 or None)
    play.rests()
    assert set(play.author.tags()) == {"net/core/v2"}
    assert "reason: it was broken" in play.author.reads(LEDGER)
    branches = play.author.branches()
    assert "deletionProposed/net/core/v1" not in branches


@pytest.mark.both_forges
@pytest.mark.simulated_time("minutes pass")
@pytest.mark.parametrize(
    ("command", "branch", "does"),
    [
        ("/delete net/core@v1 it was broken", "deletionProposed/net/core/v1", "withdraw"),
        ("/deprecate net/core@v1 use v2", "porchbot/deprecate/net/core/v1", "deprecate"),
    ],
    ids=["delete", "deprecate"],
)
def test_what_is_closed_before_anybody_notes_it_is_not_proposed_again(
    stage: World, command: str, branch: str, does: str
) -> None:
    """Short-cuts refused: open pull requests alone are known, and who closes one while the bot
    stands still gets another; given again, or in its words, a command comes to the closed one."""
    play = stage
    play.start_bot()
    publishes(play)
    number = play.proposes("drafts/net/edge/w", resized("net/edge", 3))
    play.forge.faults.fail(play.call(OPEN), 502, caller=play.caller, carried_out=True)
    play.owner.says(number, command)
    first = play.author.pull_of(branch).number
    play.owner.closes(first)
    told = f"{first} was opened to {does} `net/core/v1`, and is closed."
    assert "approved" not in play.author.waits_for_answer(number, told)
    play.rests()

    def proposed() -> list[int]:
        return sorted(p.number for p in play.author.pulls(every=True) if p.head_ref == branch)

    assert proposed() == [first]

    play.owner.says(number, command)
    second = play.author.pull_of(branch).number
    play.author.waits_for_answer(number, f"{second} {does}s `net/core/v1`, once it is approved")
    play.rests()
    assert proposed() == [first, second]


def test_who_asked_does_not_approve_under_another_login(play: World) -> None:
    """The short-cut names a login in the commit: renamed, whoever asked for it approves it."""
    publishes(play)
    number = play.proposes("drafts/net/edge/w", resized("net/edge", 3))
    play.approver.says(number, "/delete net/core@v1 it was broken")
    pull = play.author.pull_of("deletionProposed/net/core/v1")
    play.author.waits_for_answer(number, f"#{pull.number} withdraws `net/core/v1`")
    state = play.forge.state
    state.admin.rename_account(state.user("approver"), "somebody-else")
    play.rests()
    play.approver.says(pull.number, "/approve")
    play.author.waits_for_answer(pull.number, "refused")
    play.rests()
    assert set(play.author.tags()) == {"net/core/v1"}


def test_what_is_used_is_not_withdrawn(play: World) -> None:
    """The short-cut deletes it: what was cloned from it can never be brought up to date."""
    publishes(play)
    used = UPSTREAM.replace("REPO", play.forge.clone_url("acme", "blueprints"))
    kptfile = package("net/mine")["net/mine/Kptfile"] + used
    play.owner.pushes("main", {**package("net/mine"), "net/mine/Kptfile": kptfile})
    play.rests()
    number = play.proposes("drafts/net/edge/w", resized("net/edge", 3))
    play.approver.says(number, "/delete net/core@v1 it was broken")
    play.author.waits_for_answer(number, "`net/core/v1` is the upstream of `net/mine`")

    by_hand = lists(play, WITHDRAWN)
    play.approver.says(by_hand, "/approve")
    play.author.waits_for_summary(by_hand, "`net/core/v1` is the upstream of `net/mine`")
    play.rests()
    assert set(play.author.tags()) == {"net/core/v1"}


def test_deprecating_keeps_the_tag(play: World) -> None:
    """The short-cut treats all entries alike: the tag of a deprecated revision goes."""
    publishes(play)
    number = play.proposes("drafts/net/core/next", resized("net/core", 3))
    play.owner.says(number, "/deprecate v1 use v2 instead")
    pull = play.author.pull_of("porchbot/deprecate/net/core/v1")
    play.author.waits_for_answer(number, f"#{pull.number} deprecates `net/core/v1`")
    play.author.waits_for_summary(pull.number, "### Proposed: deprecation of net/core v1")
    play.rests()
    play.approver.says(pull.number, "/approve")
    wait_for("the merge", lambda: play.author.pull(pull.number).merged or None)
    play.rests()
    assert "state: deprecated" in play.author.reads(LEDGER)
    assert set(play.author.tags()) == {"net/core/v1"}


def test_a_tag_that_comes_back_is_reported(play: World) -> None:
    """The short-cut takes the ledger's word: who makes the tag anew has a revision again."""
    publishes(play)
    commit = play.author.tags()["net/core/v1"]
    number = lists(play, WITHDRAWN)
    play.approver.says(number, "/approve")
    wait_for("the tag's end", lambda: play.author.tags() == {} or None)
    play.rests()
    play.sweep()
    play.rests()
    assert "Published net/core v1" in play.author.summary(1)
    assert "(withdrawn)" in play.author.summary(1)

    play.owner.makes_ref("tags/net/core/v1", commit)
    play.sweep()
    said = play.author.waits_for_summary(1, "there, although the ledger withdraws the revision")
    assert "Published, but the withdrawn tag is there" in said


def test_a_package_goes_with_its_revisions_where_the_ledger_says_so(play: World) -> None:
    """The short-cut deletes all tags of a package that is removed, or none in any case."""
    publishes(play)
    publishes(play, 2)
    files = {f"net/core/{name}": None for name in ("Kptfile", "settings.yaml")}
    number = lists(play, WITHDRAWN, "people/gone", **files)
    summary = play.author.summary(number)
    assert "Deletion proposed: net/core removed, net/core v1 withdrawn" in summary
    assert "its revisions listed below are withdrawn as well" in summary
    play.approver.says(number, "/approve")
    wait_for("the tag's end", lambda: len(play.author.tags()) == 1 or None)
    play.rests()
    assert set(play.author.tags()) == {"net/core/v2"}
    assert "Done: net/core removed, net/core v1 withdrawn" in play.author.summary(number)


def test_a_package_and_the_ledger_in_one_take_both_approvals(staged: Staging) -> None:
    """The short-cut asks for the approvals of the package: a deletion rides along."""
    with staged(DELETING) as play:
        play.start_bot()
        play.rests()
        publishes(play)
        number = lists(play, WITHDRAWN, "people/both", **resized("net/core", 5))
        play.approver.says(number, "/approve")
        play.author.waits_for_summary(number, "1 of 2")
        play.rests()
        assert not play.author.pull(number).merged
        assert set(play.author.tags()) == {"net/core/v1"}

        play.owner.says(number, "/approve")
        play.author.waits_for_tag("net/core/v2")
        wait_for("the tag's end", lambda: set(play.author.tags()) == {"net/core/v2"} or None)


def test_rules_that_ride_along_take_the_approvals_of_rules(play: World) -> None:
    """The short-cut looks at the ledger's folder alone: rules change with a withdrawal."""
    publishes(play)
    rules = CONFIG + '  configure: {require: 1, from: ["user:owner"]}\n'
    play.owner.pushes("main", {".porchbot.yaml": rules})
    play.rests()
    number = lists(play, WITHDRAWN, "people/rules", **{".porchbot.yaml": rules + "# more\n"})
    play.approver.says(number, "/approve")
    play.author.waits_for_summary(number, "rules approved")
    play.rests()
    assert not play.author.pull(number).merged
    assert set(play.author.tags()) == {"net/core/v1"}


def test_a_number_that_nobody_was_given_is_not_listed(play: World) -> None:
    """The short-cut takes any number: the next revision is a thousand millions on."""
    publishes(play)
    number = lists(play, "revisions:\n  900: {state: withdrawn, reason: no}\n")
    play.approver.says(number, "/approve")
    play.author.waits_for_summary(number, "was never published")
    play.rests()
    assert not play.author.pull(number).merged


def test_a_kill_between_branch_and_pull_request_opens_one(play: World) -> None:
    """The short-cut answers first: what was cut short is never taken up again, or made twice."""
    publishes(play)
    number = play.proposes("drafts/net/edge/w", resized("net/edge", 3))
    play.stop_bot()
    made = play.author.branches()["main"]
    play.owner.points("deletionProposed/net/core/v1", made)  # as Porch proposes deletions
    play.approver.says(number, "/delete net/core@v1")
    play.start_bot()
    pull = play.author.pull_of("deletionProposed/net/core/v1")
    play.author.waits_for_answer(number, f"#{pull.number} withdraws")
    play.approver.says(number, "/delete net/core@v1 again")
    play.rests()
    assert len(play.author.pulls(every=True)) == 3


@pytest.mark.only_github("commits that the forge signs")
def test_the_dashboard_tells_what_is_not_to_be_used(stage: World) -> None:
    """The short-cut shows the highest number, withdrawn or not."""
    play = stage
    play.repository.has_issues = True
    play.start_bot()
    publishes(play)
    publishes(play, 2)
    publishes(play, 3)
    play.owner.points("deletionProposed/net/core/v2", play.author.branches()["main"])
    text = WITHDRAWN.replace("1:", "3:") + "  1: {state: deprecated, reason: use v2}\n"
    number = lists(play, text)
    play.approver.says(number, "/approve")
    wait_for("the tag's end", lambda: "net/core/v3" not in play.author.tags() or None)
    shown = shows(play, "withdrawn")
    assert "- `net/core`: v2; v1 deprecated: use v2; 1 revision withdrawn" in shown
    assert "`net/core/v2`, with Porch" in shown


def test_delete_where_a_package_is_removed_has_its_revisions_go(play: World) -> None:
    """The short-cut deletes what has a tag at the merge: nobody saw, or approved, which."""
    publishes(play)
    publishes(play, 2)
    files = {f"net/core/{name}": None for name in ("Kptfile", "settings.yaml")}
    play.author.pushes("drafts/net/core/gone", files, message="Remove it")
    number = play.author.pull_of("drafts/net/core/gone").number
    play.author.says(number, "/propose")
    play.approver.says(number, "/delete net/core nobody uses it")
    play.author.waits_for_answer(number, "`net/core` is removed with 2 revisions")
    summary = play.author.waits_for_summary(number, "net/core v2 withdrawn")
    assert "Deletion proposed: net/core removed, net/core v1 withdrawn" in summary
    play.rests()
    play.approver.says(number, "/approve")
    play.author.waits_for_answer(number, "refused")  # who asked for a part of it wrote it
    play.owner.says(number, "/approve")
    wait_for("the tags' end", lambda: play.author.tags() == {} or None)
    play.rests()
    assert play.author.pull(number).merged
    assert "nobody uses it" in play.author.reads(LEDGER)


def test_what_is_listed_is_no_upstream_of_what_comes(play: World) -> None:
    """The short-cut looks at the base when a revision goes: what is proposed then uses it."""
    publishes(play)
    text = WITHDRAWN.replace("withdrawn", "deprecated")
    play.owner.pushes("main", {LEDGER: text})
    play.rests()
    used = UPSTREAM.replace("REPO", play.forge.clone_url("acme", "blueprints"))
    kptfile = package("net/mine")["net/mine/Kptfile"] + used
    number = play.proposes(
        "drafts/net/mine/w", {**package("net/mine"), "net/mine/Kptfile": kptfile}
    )
    play.author.waits_for_summary(number, "its upstream net/core/v1 is deprecated: it was broken")

    play.owner.pushes("main", {LEDGER: WITHDRAWN})
    play.rests()
    play.approver.says(number, "/approve")
    play.author.waits_for_summary(number, "its upstream net/core/v1 is withdrawn: it was broken")
    play.rests()
    assert not play.author.pull(number).merged
