"""What was once decided stays decided: whoever edits, deletes, restores, retargets or swaps."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lifecycle import records
from tests.stories.people import Person, wait_for
from tests.stories.world import CONFIG, World, package, resized, seconds_pass

ME = "porchbot[bot]"


@contextmanager
def one_second(world: World) -> Iterator[None]:
    """All that happens inside happens in one second of the forge."""
    with world.forge.state.lock:
        before = world.forge.state.clock
        now = before()
        world.forge.state.clock = lambda: now
    yield
    with world.forge.state.lock:
        world.forge.state.clock = before


def at_once(person: Person, number: int, words: str) -> int:
    """Comment without taking the time to look."""
    return person.comments_at_once(number, words)


def proposes(world: World, name: str, size: int = 1) -> int:
    """The author proposes a package of this name, held so that nothing is published early."""
    files = {**package(f"net/{name}"), **resized(f"net/{name}", size)}
    number = world.proposes(f"drafts/net/{name}/w", files)
    world.owner.says(number, "/hold")
    world.author.waits_for_summary(number, "holds it")
    return number


def approved(world: World, name: str) -> int:
    """A proposal that somebody approved, and that a hold keeps from being published."""
    number = proposes(world, name)
    world.approver.says(number, "/approve")
    world.author.waits_for_summary(number, "1 of 1 (`approver`)")
    world.rests()
    return number


def waits(world: World, number: int, words: str) -> None:
    """The hold is lifted, and still nothing is published; the summary says why."""
    world.owner.says(number, "/unhold")
    world.author.waits_for_summary(number, "nobody holds it")
    assert words in world.author.waits_for_summary(number, words)
    world.rests()
    assert not world.author.pull(number).merged
    assert world.author.tags() == {}


@pytest.mark.both_forges
def test_a_base_exchanged_and_back_takes_every_approval_with_it(play: World) -> None:
    """Fails when an approval binds trees alone: on another base its rules were not asked."""
    play.owner.pushes("lab", {"notes.md": "no rules here\n"})
    spoken, native = approved(play, "spoken"), proposes(play, "native")
    play.author.retargets(native, "lab")
    play.approver.reviews(native)
    play.author.retargets(spoken, "lab")
    play.rests()

    for number in (spoken, native):
        play.author.retargets(number, "main")
        play.author.waits_for_summary(number, "the pull request's base branch was changed since")
    waits(play, spoken, "0 of 1")
    waits(play, native, "0 of 1")

    play.approver.says(spoken, "/approve")
    play.approver.reviews(native)
    assert play.author.waits_for_tag("net/spoken/v1")
    assert play.author.waits_for_tag("net/native/v1")


@pytest.mark.both_forges
def test_deleting_and_editing_the_bots_comments_revives_nothing(play: World) -> None:
    """Fails when the comments are the only memory, or a valid MAC is believed whoever put it there.

    In one, everything of the bot is deleted after an approval was taken back; in another, an author
    sets the summary back to what it was; in the third the answer to an approval is edited.
    """
    gone, back, edited = (approved(play, name) for name in ("gone", "back", "edited"))
    old = play.author.summary(back)
    for number in (gone, back):
        play.approver.says(number, "/unapprove")
        play.author.waits_for_summary(number, "0 of 1")
    play.rests()
    answers = {number: len(play.author.answers(number)) for number in (gone, back, edited)}

    for comment in play.owner.ours(gone):
        play.owner.erases(gone, comment.id)
    for comment in play.owner.ours(back):
        if records.is_summary(comment.body):
            play.owner.edits(back, comment.id, old)
    for comment in play.owner.ours(edited):
        if not records.is_summary(comment.body):
            play.owner.edits(edited, comment.id, "@approver approved everything.")

    if not play.owner.erasing_is_told:
        play.sweep()
    waits(play, back, "1 comment of the bot was edited")
    waits(play, edited, "1 comment of the bot was edited")
    wait_for("the comments", lambda: len(play.author.answers(gone)) == answers[gone] or None, 60)
    waits(play, gone, "2 comments of the bot were deleted")
    assert "approved head" in play.author.answers(edited)[0]
    assert {n: len(play.author.answers(n)) for n in answers} == answers
    assert "0 of 1" in play.author.summary(gone)
    assert "0 of 1" in play.author.summary(back)
    assert "1 of 1" in play.author.summary(edited)

    for number, name in ((gone, "gone"), (back, "back"), (edited, "edited")):
        play.approver.says(number, "/approve")
        assert play.author.waits_for_tag(f"net/{name}/v1")


def test_an_older_database_and_a_deleted_answer_revive_nothing(stage: World) -> None:
    """Fails when either copy of the memory overrules the other."""
    stage.start_bot()
    stage.rests()
    number = approved(stage, "core")
    stage.stop_bot()
    bring_older_back = stage.keeps_database()
    stage.start_bot()
    stage.approver.says(number, "/unapprove")
    stage.author.waits_for_summary(number, "0 of 1")
    stage.owner.says(number, "/unhold")
    stage.author.waits_for_summary(number, "nobody holds it")
    stage.rests()
    stage.stop_bot()
    bring_older_back()

    stage.start_bot()
    stage.sweep()
    stage.rests()

    text = stage.author.summary(number)
    assert "0 of 1" in text
    assert "nobody holds it" in text  # yesterday's hold does not undo today's `/unhold`
    assert stage.author.tags() == {}
    stage.approver.says(number, "/approve")
    assert stage.author.waits_for_tag("net/core/v1")


def test_the_first_sweep_after_everything_was_lost_merges_nothing(stage: World) -> None:
    """Fails when an approval that nobody remembers counts as a new one.

    The approval was taken back; then the bot's comments, its database and its installation go.
    """
    stage.start_bot()
    stage.rests()
    number = approved(stage, "core")
    native = proposes(stage, "native")
    stage.approver.reviews(native)
    stage.author.waits_for_summary(native, "1 of 1 (`approver`)")
    stage.owner.says(native, "/unhold\n/hold once more")
    stage.rests()
    stage.stop_bot()
    for each in (number, native):
        for comment in stage.owner.comments(each):
            if comment.author in {ME, "owner"}:
                stage.owner.erases(each, comment.id)
    stage.lets_go()
    seconds_pass(stage.forge, 5)
    stage.lets_in()
    stage.loses_database()

    stage.start_bot()
    stage.sweep()

    stage.author.waits_for_summary(number, "0 of 1")
    stage.author.waits_for_summary(native, "it was given before")
    stage.rests()
    assert stage.author.tags() == {}
    stage.approver.says(number, "/approve")
    assert stage.author.waits_for_tag("net/core/v1")
    stage.approver.reviews(native)
    assert stage.author.waits_for_tag("net/native/v1")


def test_a_comment_edited_within_its_second_is_no_command(play: World) -> None:
    """Fails when REST's times tell edits: they are whole seconds, and equal here."""
    number = play.proposes("drafts/net/core/w", package("net/core"))
    play.forge.faults.hooks.hold()
    with one_second(play):
        said = at_once(play.approver, number, "Looks good.")
        play.approver.edits(number, said, "/approve")
    play.forge.faults.hooks.release()

    assert "Commands in edited comments and reviews are ignored" in play.author.waits_for_answer(
        number, "@approver"
    )
    play.rests()
    assert play.author.tags() == {}


def test_an_approval_that_is_edited_later_falls(play: World) -> None:
    """Fails when the bot's answer outlives what it answered."""
    number = approved(play, "core")
    for comment in play.approver.comments(number):
        if comment.body == "/approve":
            play.approver.edits(number, comment.id, "I did not mean that.")

    play.author.waits_for_summary(number, "the comment was edited afterwards")

    waits(play, number, "0 of 1")


@pytest.mark.both_forges
def test_a_head_swapped_while_somebody_approves_is_not_approved(stage: World) -> None:
    """Fails when the time of the first push to a commit is remembered for its second.

    Commits A, B, A: the approval was written while B was shown. In another proposal the head is
    exchanged in the very second of the approval.
    """
    stage.start_bot()
    stage.rests()
    swapped, raced = (
        stage.proposes(f"drafts/net/{name}/w", package(f"net/{name}"))
        for name in ("swapped", "raced")
    )
    first = stage.author.pull(swapped).head
    stage.stop_bot()
    branch = "drafts/net/swapped/w"
    seconds_pass(stage.forge, 10)
    stage.author.pushes(branch, resized("net/swapped", 5))
    stage.approver.says(swapped, "/approve")
    seconds_pass(stage.forge, 10)
    stage.author.points(branch, first, force=True)
    with one_second(stage):
        at_once(stage.approver, raced, "/approve")
        stage.author.pushes("drafts/net/raced/w", resized("net/raced", 666))

    stage.start_bot()
    stage.sweep()

    for number in (swapped, raced):
        assert "approve again" in stage.author.waits_for_answer(number, "@approver")
    stage.rests()
    assert stage.author.tags() == {}
    for number, name in ((swapped, "swapped"), (raced, "raced")):
        stage.approver.says(number, "/approve")
        assert stage.author.waits_for_tag(f"net/{name}/v1")


@pytest.mark.both_forges
def test_approvals_while_the_bot_is_away_count(stage: World) -> None:
    """Fails when honest people are asked again for what the forge's own times prove."""
    stage.start_bot()
    stage.rests()
    known = stage.proposes("drafts/net/known/w", package("net/known"))
    stage.stop_bot()
    stage.author.pushes("topic", package("net/new"))
    new = stage.author.opens("topic", "new").number
    stage.author.pushes("drafts/net/known/w", resized("net/known", 2))
    stage.approver.says(known, "/approve")
    stage.approver.reviews(new)

    stage.start_bot()
    stage.sweep()

    assert stage.author.waits_for_tag("net/known/v1")
    assert stage.author.waits_for_tag("net/new/v1")


def test_a_conversation_longer_than_a_page_is_read_to_its_end(play: World) -> None:
    """Fails when the first hundred comments are all that is read: a later `/hold` would be lost."""
    number = proposes(play, "core")
    with play.forge.state.lock:
        pull = play.repository.pulls[number]
        for n in range(120):
            play.forge.state.talk.comment(pull, pull.user, f"word {n}")
    play.owner.says(number, "/unhold")
    play.author.waits_for_summary(number, "nobody holds it")
    play.rests()

    play.approver.says(number, "/approve")

    assert play.author.waits_for_tag("net/core/v1")


def test_rules_that_changed_while_the_bot_was_away_ask_again(stage: World) -> None:
    """Fails when an approval binds the rules of the look: they were others when it was given."""
    stage.start_bot()
    stage.rests()
    seconds_pass(stage.forge, 1)
    spoken = stage.proposes("drafts/net/core/w", package("net/core"))
    native = stage.proposes("drafts/net/rim/w", package("net/rim"))
    stage.stop_bot()
    stage.approver.says(spoken, "/approve")
    stage.approver.reviews(native)
    seconds_pass(stage.forge, 1)
    stage.owner.pushes("main", {".porchbot.yaml": CONFIG.replace('"true"', '"false"')})
    seconds_pass(stage.forge, 1)

    stage.start_bot()
    stage.sweep()

    stage.author.waits_for_answer(spoken, "or functions that check the package changed")
    stage.rests()
    assert "0 of 1" in stage.author.summary(spoken)
    assert "0 of 1" in stage.author.summary(native)
    assert not stage.author.pull(spoken).merged
    assert not stage.author.pull(native).merged
    assert stage.author.tags() == {}
    stage.approver.says(spoken, "/approve")
    assert stage.author.waits_for_tag("net/core/v1")
