"""What GitLab's refusals of a merge come to, and merge trains, by answers it was told to give."""

from datetime import UTC, datetime
from typing import Any

import pytest

from bot.forges.gitlab.forge import GitLab
from bot.forges.port import (
    BotIdentity,
    ForgeBusyError,
    ForgeRenamedError,
    ForgeUnreadableError,
    MergeQueue,
    MergeWay,
    QueueEntry,
    Repository,
)
from lifecycle.facts.merging import MergeObstacle
from lifecycle.identity import RepositoryId
from lifecycle.names import Sha
from lifecycle.policy import MergeMethod
from tests.bot.forges.gitlab.conftest import Known
from tests.bot.forges.gitlab.test_checks import check
from tests.bot.forges.gitlab.wire import URL, Wire

HEAD, BASE, TRAIN = (Sha(letter * 40) for letter in "abc")
ANN = {"id": 2, "username": "ann"}


async def test_a_target_that_changed_is_seen_right_before_the_merge() -> None:
    """The short-cut relies on the head, which is all that GitLab's merge names: whoever opened it
    exchanges the target branch in between, and the bot merges into one that nobody approved."""
    wire = Wire()
    wire.has("GET /projects/7", {"id": 7})
    wire.has("GET /projects/7/merge_requests/12", mr(iid=12, target_branch="release"))
    forge = over(wire)

    assert await forge.merge_way(12, "main") == MergeWay(elsewhere=True)
    assert await forge.merge_way(12, "release") == MergeWay()
    moved = mr(iid=12, target_branch="release", references={"full": "acme/other!12"})
    wire.has("GET /projects/7/merge_requests/12", moved)
    with pytest.raises(ForgeRenamedError):
        await forge.merge_way(12, "release")


def over(wire: Wire) -> GitLab:
    here = Repository(
        id=RepositoryId("gitlab", 7),
        full_name="acme/pkg",
        default_branch="main",
        clone_url=f"{URL}/acme/pkg.git",
        installation=1,
        installed_at=datetime.now(UTC),
    )
    return GitLab(Known(BotIdentity("porchbot", "bot@x", 1)), here, wire.clients())


def mr(**more: Any) -> dict[str, Any]:
    moment = "2026-11-21T10:00:00.000Z"
    found: dict[str, Any] = {
        "iid": 3,
        "references": {"full": "acme/pkg!3"},
        "title": "A",
        "author": ANN,
        "draft": False,
        "state": "opened",
        "sha": HEAD,
        "source_branch": "change",
        "source_project_id": 7,
        "target_branch": "main",
        "created_at": moment,
        "updated_at": moment,
        "blocking_discussions_resolved": True,
    }
    return found | more


async def test_threads_that_are_not_told_of_are_not_taken_as_resolved() -> None:
    """The short-cut does: an answer that lacks them, a proxy's or an old one, would let it pass."""
    wire, told = Wire(), mr()
    del told["blocking_discussions_resolved"]
    wire.has("GET /projects/7/merge_requests/3", told)

    with pytest.raises(ForgeUnreadableError, match="blocking_discussions_resolved"):
        await over(wire).proposal(3)


@pytest.mark.parametrize(
    ("status", "word", "obstacle", "reason"),
    [
        (405, "checking", MergeObstacle.UNDER_WAY, "checking: 405 No"),
        (405, "approvals_syncing", MergeObstacle.UNDER_WAY, "approvals_syncing: 405 No"),
        (405, "discussions_not_resolved", MergeObstacle.CONVERSATION, None),
        (422, "conflict", MergeObstacle.CONFLICT, None),
        (406, "not_approved", MergeObstacle.REVIEW, None),
        (405, "invented_in_2027", MergeObstacle.UNKNOWN, "invented_in_2027: 405 No"),
        (409, "mergeable", MergeObstacle.HEAD_MOVED, None),
    ],
)
async def test_a_word_that_is_not_known_is_shown_as_it_is(
    status: int, word: str, obstacle: MergeObstacle, reason: str | None
) -> None:
    """The short-cut goes by the status: a check that runs, a conflict and a draft are all 405."""
    wire = Wire()
    wire.has("PUT /projects/7/merge_requests/3/merge", {"message": f"{status} No"}, status)
    wire.has("GET /projects/7/merge_requests/3", mr(detailed_merge_status=word))

    found = await over(wire).merge(3, HEAD, MergeMethod.SQUASH, "T", "M")

    assert found.obstacle is obstacle
    assert reason is None or found.reason == reason
    sent = wire.bodies[0]
    assert isinstance(sent, dict)
    assert (sent["sha"], sent["squash"], sent["squash_commit_message"]) == (HEAD, True, "T\n\nM")


async def test_who_may_not_merge_is_told_so() -> None:
    """The short-cut takes 401 for a token that ended, and asks for ever."""
    wire = Wire()
    wire.has("PUT /projects/7/merge_requests/3/merge", {"message": "401 Unauthorized"}, 401)

    found = await over(wire).merge(3, HEAD, MergeMethod.MERGE, "T", "M")

    assert found.obstacle is MergeObstacle.PERMISSION


async def test_a_merge_train_is_the_queue_of_its_branch() -> None:
    """The short-cut merges past the train: the API does that for whoever may."""
    wire = Wire()
    wire.has("GET /projects/7", {"id": 7, "merge_trains_enabled": True})
    wire.has("GET /projects/7/repository/branches/main", {"commit": {"id": BASE}})
    car = {"merge_request": {"iid": 3}, "pipeline": {"sha": TRAIN}}
    wire.has("GET /projects/7/merge_trains/main", [car])
    wire.has("GET /projects/7/merge_requests/3", mr())
    wire.has("POST /projects/7/merge_trains/merge_requests/3", [car], 201)
    forge = over(wire)

    assert await forge.merge_way(3, "main") == MergeWay(queue=True)
    assert (await forge.enqueue(3, HEAD)).queued
    assert wire.bodies[-1] == {"sha": HEAD}
    entry = QueueEntry(number=3, open=True, base_ref="main", head=HEAD, merge=TRAIN)
    assert await forge.merge_queue("main") == MergeQueue(BASE, (entry,))


@pytest.mark.parametrize("trains", [False, True])
async def test_a_squash_is_asked_for_where_a_project_wants_every_merge_squashed(
    trains: bool,
) -> None:
    """The short-cut leaves that to GitLab, which refuses who does not ask for it."""
    wire = Wire()
    wire.has(
        "GET /projects/7", {"id": 7, "merge_trains_enabled": trains, "squash_option": "always"}
    )
    wire.has("GET /projects/7/merge_requests/3", mr(target_branch="main"))
    wire.has("POST /projects/7/merge_trains/merge_requests/3", [{"merge_request": {"iid": 3}}], 201)
    wire.has("PUT /projects/7/merge_requests/3/merge", mr(state="merged"))
    forge = over(wire)

    assert (await forge.merge_way(3, "main")).queue is trains
    if trains:
        await forge.enqueue(3, HEAD)
    else:
        await forge.merge(3, HEAD, MergeMethod.MERGE, "T", "M")
    (sent,) = (body for body in wire.bodies if isinstance(body, dict))
    assert sent["squash"] is True


async def test_what_is_not_on_the_train_that_is_answered_was_not_put_there() -> None:
    """The short-cut believes the status: what GitLab had not checked yet then counts as having left
    the train, and is put there again only when somebody asks."""
    wire, other = Wire(), {"merge_request": {"iid": 4}, "pipeline": None}
    wire.has("POST /projects/7/merge_trains/merge_requests/3", [other], 201)
    wire.has("GET /projects/7/merge_requests/3", mr(detailed_merge_status="checking"))

    found = await over(wire).enqueue(3, HEAD)

    assert (found.queued, found.obstacle) == (False, MergeObstacle.UNDER_WAY)


async def test_a_project_without_trains_has_no_queue() -> None:
    wire = Wire()
    wire.has("GET /projects/7", {"id": 7})
    wire.has("GET /projects/7/merge_requests/3", mr())

    assert await over(wire).merge_queue("main") is None
    assert await over(wire).merge_way(3, "main") == MergeWay()
    assert await over(wire).required_reviews("main") == 0
    await over(wire).dequeue(3)


async def test_a_status_that_meets_another_is_sent_again() -> None:
    """The short-cut gives up, or goes on for ever: GitLab says 409 while another one is put."""
    wire = Wire()
    wire.gives(409, {"message": "409 Conflict"})
    wire.gives(201, {})
    await over(wire).set_check(check(HEAD, None, "d"))
    assert len(wire.asked) == 2

    busy = Wire()
    busy.gives(409, {"message": "409 Conflict"})
    with pytest.raises(ForgeBusyError):
        await over(busy).set_check(check(HEAD, None, "d"))
