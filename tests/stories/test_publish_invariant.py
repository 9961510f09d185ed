"""Nothing is tagged that was not approved as it is, under the rules that held; and what is said of
tags is so, whoever made or took them away."""

import time
from pathlib import Path

import pytest

from tests.stories.github_people import at_github
from tests.stories.people import Person, wait_for
from tests.stories.real import RealWorld
from tests.stories.world import CONFIG, Staging, World, package, resized, seconds_pass

NOBODY_ASKED = CONFIG.replace("require: 1", "require: 0")
MERGED = "Merged, but not published"


def proposed(world: World, branch: str, files: dict[str, str]) -> int:
    """A pull request of a branch outside of `drafts/`, checked; its number."""
    world.author.pushes(branch, files)
    title = branch.capitalize()
    number = world.author.opens(branch, title).number
    world.author.waits_for_check(number, "porchbot/validate", "success")
    world.rests()
    return int(number)


def approved(world: World, number: int) -> None:
    """Approved, and held."""
    world.author.says(number, "/hold")
    world.author.waits_for_summary(number, "holds it")
    world.approver.says(number, "/approve")
    world.author.waits_for_summary(number, "1 of 1 (`approver`)")
    world.rests()


def unheld(world: World, *numbers: int) -> None:
    """Let go, with every other gate holding: the bot is not to be faster than whoever merges."""
    world.stop_bot()
    for number in numbers:
        world.author.says(number, "/unhold")


def clone_of(who: Person, branch: str, *, name: str = "") -> Path:
    """A clone that stands on a branch, with a name for commits."""
    clone = who.checks_out(branch)
    who.git(clone, "config", "user.name", name or who.login)
    who.git(clone, "config", "user.email", f"{name or who.login}@users.example")
    return clone


def writes(clone: Path, files: dict[str, str]) -> None:
    """Write files into a clone."""
    for path, text in files.items():
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        (clone / path).write_text(text)


def not_tagged(world: World, number: int, words: str) -> str:
    """Reported once, with these words, and nothing is tagged."""
    said = world.author.waits_for_answer(number, MERGED)
    world.rests()
    assert words in said
    assert world.author.tags() == {}
    return said


@pytest.mark.parametrize("method", ["squash", "rebase"])
@pytest.mark.real_parts
def test_a_merge_is_judged_by_the_rules_before_it_and_by_no_older_ones(
    play: RealWorld, method: str
) -> None:
    """The short-cut is the pull request's `base.sha`, or commits whose author and text are alike.

    Both name a commit with weaker rules here: the base that the proposal was opened on, and the
    parent of the commit that brought the stronger ones, copied into the branch word for word.
    """
    play.owner.pushes("main", {".porchbot.yaml": NOBODY_ASKED})
    play.rests()
    play.forge.faults.hooks.hold()
    play.author.pushes("topic", {"words.md": "Words.\n"})
    number = play.author.opens("topic", "t").number
    play.owner.pushes("main", {".porchbot.yaml": CONFIG}, message="Ask somebody")
    clone = clone_of(play.author, "topic", name="owner")
    play.author.git(clone, "commit", "-q", "--allow-empty", "--reuse-message=origin/main")
    writes(clone, package("net/core"))
    play.author.commits(clone, "topic", "Core")
    play.author.git(clone, "commit", "-q", "--allow-empty", "--reuse-message=origin/main")
    play.author.git(clone, "push", "-q", "origin", "HEAD:refs/heads/topic")
    play.forge.faults.late_activity(reads=2)

    play.author.merges(number, method)
    play.forge.faults.hooks.release()

    not_tagged(play, number, "0 of 1")
    assert len(play.author.answers(number)) == 1
    play.approver.says(number, "/approve")
    assert play.author.waits_for_tag("net/core/v1") == play.author.pull(number).merge_commit


def test_two_merges_in_one_push_are_judged_each(play: World) -> None:
    """The short-cut compares each with what stood before the push, or judges by its own parent.

    Two approved ones are published. Then the first of two changes the rules: neither it nor who
    pushed may say by which ones the second is judged.
    """
    one = proposed(play, "one", package("net/core"))
    two = proposed(play, "two", resized("net/edge", 2))
    for number in (one, two):
        approved(play, number)
    unheld(play, one, two)
    tip = play.owner.merges_into("main", "one", "two")
    play.start_bot()

    assert play.author.waits_for_tag("net/edge/v1") == tip
    assert play.author.waits_for_tag("net/core/v1") == play.author.pull(one).merge_commit
    play.rests()
    assert not [text for n in (one, two) for text in play.author.answers(n) if MERGED in text]

    play.author.pushes("rules", {".porchbot.yaml": NOBODY_ASKED})
    play.author.opens("rules", "Rules")
    three = proposed(play, "three", resized("net/core", 3))
    play.owner.merges_into("main", "rules", "three")

    said = play.author.waits_for_answer(three, MERGED)
    assert "the rules changed in the same push as this merge" in said
    play.rests()
    assert "net/core/v2" not in play.author.tags()
    play.approver.says(three, "/approve")
    assert play.author.waits_for_tag("net/core/v2") == play.author.pull(three).merge_commit


@pytest.mark.real_parts
def test_a_merge_that_takes_another_package_back_is_refused_before_and_after(
    play: RealWorld,
) -> None:
    """The short-cut compares the head with one merge base: net/edge is in no diff that it sees."""
    play.forge.faults.hooks.hold()
    clone = clone_of(play.author, "topic")
    newer = play.owner.pushes("main", resized("net/edge", 2))
    time.sleep(1.1)  # git takes the later merge base for diffs, and tells whole seconds
    writes(clone, package("net/core"))
    play.author.commits(clone, "topic", "Core")
    play.owner.merges_into("main", "topic")
    play.author.git(clone, "fetch", "--quiet", "origin")
    play.author.git(clone, "merge", "--quiet", "--no-commit", "--no-ff", newer)
    play.author.git(clone, "checkout", "HEAD", "--", "net/edge")
    writes(clone, resized("net/core", 5))
    # Both sides have merged the other now, the branch without what main had done to net/edge.
    play.author.commits(clone, "topic", "Merge main")
    number = play.author.opens("topic", "t").number
    play.forge.faults.hooks.release()
    play.author.waits_for_check(number, "porchbot/validate", "success")
    play.rests()
    play.approver.says(number, "/approve")
    play.rests()

    before = play.author.summary(number)
    assert "merging would leave `net/edge` different from what is shown here" in before
    assert not play.author.pull(number).merged
    play.owner.merges(number)

    said = not_tagged(play, number, "the merge also changed `net/edge`")
    assert "it was given before the merge, and the merge changed more than was shown" in said
    play.approver.says(number, "/approve")
    assert play.author.waits_for_tag("net/core/v1") == play.author.waits_for_tag("net/edge/v1")


@pytest.mark.only_github("a button that merges the base")
def test_who_only_pressed_update_branch_approves(play: World) -> None:
    """The short-cut counts everybody who pushed: nobody could be asked to bring it up to date."""
    number = proposed(play, "topic", package("net/core"))
    play.owner.pushes("main", {"words.md": "Words.\n"})
    play.rests()
    at_github(play.approver).get_pull(number).update_branch()
    play.rests()
    play.author.waits_for_check(number, "porchbot/validate", "success")

    play.approver.says(number, "/approve")

    assert play.author.waits_for_tag("net/core/v1")


def test_a_tag_of_somebody_else_is_never_called_published(play: World) -> None:
    """The short-cut looks for a tag of the right name on the merge: anybody may push one.

    Later our own tag goes: the index knows it, and what is said follows.
    """
    number = proposed(play, "topic", package("net/core"))
    play.stop_bot()
    merge = play.owner.merges(number)
    play.owner.makes_ref("tags/net/core/v1", merge)
    play.start_bot()

    play.author.waits_for_answer(number, MERGED)
    play.rests()
    assert "`net/core/v1` was not made by porchbot" in play.author.summary(number)
    play.approver.says(number, "/approve")
    assert play.author.waits_for_tag("net/core/v2") == merge
    text = play.author.waits_for_summary(number, "Published net/core v2")
    assert "`net/core/v1` was not made by porchbot" in text
    play.rests()

    made = play.repository.refs["refs/tags/net/core/v2"]
    play.owner.deletes("tags/net/core/v2")
    play.sweep()
    text = play.author.waits_for_summary(number, "Published, but the tag is gone: net/core v2")
    assert f"git push --force origin {made}:refs/tags/net/core/v2" in text
    play.rests()
    assert "net/core/v2" not in play.author.tags()
    play.owner.makes_ref("tags/net/core/v2", made)
    play.sweep()
    wait_for(
        "what is so", lambda: "### Published net/core v2" in play.author.summary(number) or None
    )


@pytest.mark.both_forges
def test_what_came_past_the_gates_is_shown_before_it_is_published_with_something_else(
    play: World,
) -> None:
    """Fails when an approval is of the difference to the merge base: the tag holds all of it."""
    author = play.author
    backdoor = resized("net/edge", 7)["net/edge/settings.yaml"].replace("edge", "backdoor")
    stray = proposed(play, "stray", {**resized("net/edge", 666), "net/edge/more.yaml": backdoor})
    author.merges(stray)
    not_tagged(play, stray, "net/edge")
    small = proposed(play, "small", {"net/edge/README.md": "words\n"})

    told = author.waits_for_answer(small, "Also published")
    for text in (told, author.summary(small)):
        assert "`net/edge` was changed after porchbot was installed" in text
        assert f"(#{stray})" in text
        assert "666" in text, text
        assert "more.yaml" in text
    shown = author.checks(author.pull(small).head)["porchbot/publish"].text
    assert "Also published" in shown

    play.approver.says(small, "/approve")
    author.waits_for_tag("net/edge/v1")
    there = author.waits_for_summary(stray, "was published with `net/edge/v1`")
    assert f"by #{small}" in there
    play.rests()

    # What follows stands on a revision, and nothing is said of what others brought.
    normal = proposed(play, "normal", resized("net/edge", 3))
    assert "Also published" not in author.summary(normal)
    assert len(author.answers(normal)) == 0


@pytest.mark.parametrize("method", ["merge", "squash"])
@pytest.mark.only_github("methods of one merge")
def test_the_bot_merges_in_the_way_that_is_configured(staged: Staging, method: str) -> None:
    """Short-cut refused: `merge: squash` is read, and the bot makes a merge commit all the same;
    or the one commit of a squash is taken for somebody's push, and is never tagged."""
    with staged(f"{CONFIG}publish: {{merge: {method}}}\n") as play:
        play.start_bot()
        play.rests()
        seconds_pass(play.forge, 1)
        branch = "drafts/net/core/first"
        play.author.pushes(branch, package("net/core"))
        number = play.proposes(branch, resized("net/core", 2))
        head = play.author.pull(number).head
        play.approver.says(number, "/approve")

        target = play.author.waits_for_tag("net/core/v1")
        play.rests()

        made = play.forge.state.git(play.repository).commit(target)
        assert (head in made.parents, len(made.parents)) == (
            (True, 2) if method == "merge" else (False, 1)
        )
        assert "kpt:" in made.message
        assert "Published net/core v1" in play.author.summary(number)
