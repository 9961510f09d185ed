"""The forge and git are the truth: the database may be lost at any time."""

from uuid import uuid4

import pytest

from bot.store.embedded.server import EmbeddedPostgres
from tests.databases import create_database, drop_database
from tests.stories.people import wait_for
from tests.stories.real import RealWorld
from tests.stories.world import World, package, resized, seconds_pass


@pytest.mark.real_parts
async def test_a_lost_database_loses_nothing_that_matters(
    stage: RealWorld, postgres: EmbeddedPostgres
) -> None:
    """Fails when approvals, holds or the baseline are read from the database only.

    A proposal is merged by hand while the bot is down; then the database is gone. It is tagged by
    the record it carries, once nobody holds it. What waits on is told in the next story.
    """
    stage.start_bot()
    stage.rests()
    first = stage.opens("topic", package("net/core"))
    stage.author.says(first, "/hold")
    stage.author.waits_for_summary(first, "holds it")
    stage.approver.says(first, "/approve")
    stage.author.waits_for_answer(first, "You approved head")
    stage.rests()
    stage.stop_bot()
    merge = stage.approver.merges(first)
    name = f"lost_{uuid4().hex}"
    stage.environment["DATABASE_URL"] = await create_database(postgres.url, name)

    try:
        stage.start_bot()
        stage.rests()
        assert "net/core/v1" not in stage.author.tags()  # the hold is remembered
        stage.author.says(first, "/unhold")

        assert stage.author.waits_for_tag("net/core/v1") == merge
        stage.rests()
        assert len(stage.author.answers(first)) == 2  # the approval, and the report of the merge
        assert set(stage.author.tags()) == {"net/core/v1"}
        stage.stop_bot()
    finally:
        await drop_database(postgres.url, name)


def test_from_no_database_and_from_an_old_one_it_comes_to_the_same(stage: World) -> None:
    """Fails when what was answered, numbers of deleted tags, approvals or holds stand there only.

    Or when what the old one says is believed against the forge.
    """
    stage.start_bot()
    stage.rests()
    seconds_pass(stage.forge, 1)
    author, approver = stage.author, stage.approver
    core = stage.proposes("drafts/net/core/one", package("net/core"))
    edge = stage.proposes("drafts/net/edge/w", resized("net/edge", 2))
    far = stage.proposes("drafts/net/far/w", package("net/far"))
    approver.says(core, "/approve")
    author.waits_for_tag("net/core/v1")
    author.says(edge, "/hold wait for the window")
    author.waits_for_summary(edge, "wait for the window")
    stage.rests()
    stage.stop_bot()
    bring_old_back = stage.keeps_database()

    stage.start_bot()
    second = stage.proposes("drafts/net/core/two", resized("net/core", 2))
    approver.says(second, "/approve")
    author.waits_for_tag("net/core/v2")
    approver.says(edge, "/approve")
    author.waits_for_answer(edge, "You approved head")
    stage.outsider.says(far, "/why")
    approver.says(far, "/reject not yet")
    wait_for("the draft", lambda: author.pull(far).draft or None)
    stage.rests()
    stage.owner.deletes("tags/net/core/v2")
    stage.sweep()
    # It is told once the tag has not been there for 15 s: no list that is a moment old says so.
    author.waits_for_answer(second, "the tag is gone")
    stage.rests()
    numbers = [core, edge, far, second]
    said = {n: author.answers(n) for n in numbers}

    for lose in (stage.loses_database, bring_old_back):
        stage.stop_bot()
        lose()
        stage.start_bot()
        stage.rests()
        stage.sweep()
        stage.rests()
        assert {n: author.answers(n) for n in numbers} == said  # nothing twice, nothing more
        assert set(author.tags()) == {"net/core/v1"}
        assert author.pull(far).draft
        assert "wait for the window" in author.summary(edge)

    author.says(edge, "/unhold")
    third = stage.proposes("drafts/net/core/three", resized("net/core", 3))
    approver.says(third, "/approve")
    author.waits_for_tag("net/core/v3")
    author.waits_for_tag("net/edge/v1")  # by the approval from before
    stage.rests()
    assert set(author.tags()) == {"net/core/v1", "net/core/v3", "net/edge/v1"}
    for number in (core, far, second):
        assert author.answers(number) == said[number]


def test_a_number_is_never_used_again_even_when_its_tag_is_deleted(play: World) -> None:
    """Fails when the next number is counted from the tags alone."""
    first = play.proposes("drafts/net/core/one", package("net/core"))
    play.approver.says(first, "/approve")
    play.author.waits_for_tag("net/core/v1")
    play.rests()
    play.owner.deletes("tags/net/core/v1")
    play.sweep()
    play.rests()

    second = play.proposes("drafts/net/core/two", resized("net/core", 2))
    play.approver.says(second, "/approve")

    merge = play.author.waits_for_tag("net/core/v2")
    play.rests()
    assert play.author.tags() == {"net/core/v2": merge}
    assert merge == play.author.pull(second).merge_commit
