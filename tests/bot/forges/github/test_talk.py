"""What was said on a pull request, as GraphQL tells it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from bot.forges.github.talk import read
from bot.forges.port import BotIdentity, ForgeBusyError, ForgeMissingError, HeadChange
from lifecycle.access import Person
from lifecycle.facts.conversation import ReadyForReview, ReviewState
from lifecycle.names import Sha
from tests.bot.forges.github.test_http import Wire, wire

__all__ = ["wire"]

ME = "porchbot[bot]"
US = BotIdentity(ME, "")
BOT = {"__typename": "Bot", "login": "porchbot", "databaseId": 9}
ANN = {"__typename": "User", "login": "ann", "databaseId": 1}
HEAD = "a" * 40


def at(second: int) -> str:
    """A time as GitHub writes it."""
    return f"2026-03-01T12:00:{second:02}Z"


def when(second: int) -> datetime:
    """The same as a value."""
    return datetime(2026, 3, 1, 12, 0, second, tzinfo=UTC)


def comment(number: int, **values: Any) -> dict[str, Any]:
    """One comment."""
    return {
        "fullDatabaseId": str(number),
        "body": "hello",
        "createdAt": at(1),
        "lastEditedAt": None,
        "author": ANN,
        "editor": None,
        **values,
    }


def review(number: int, **values: Any) -> dict[str, Any]:
    """One approval."""
    return {
        "fullDatabaseId": str(number),
        "state": "APPROVED",
        "body": "",
        "submittedAt": at(2),
        "lastEditedAt": None,
        "commit": {"oid": HEAD},
        "author": ANN,
        **values,
    }


def page(
    comments: list[Any] | None = None,
    reviews: list[Any] | None = None,
    events: list[Any] | None = None,
    *,
    bases: list[Any] | None = None,
    readied: list[Any] | None = None,
    draft: bool = False,
    queued: bool = False,
    head: str = HEAD,
    more: bool = False,
) -> dict[str, Any]:
    """One answer."""
    last = {"hasNextPage": False, "endCursor": None}
    pull = {
        "headRefOid": head,
        "createdAt": at(0),
        "reviewDecision": None,
        "isDraft": draft,
        "isInMergeQueue": queued,
        "readied": {"nodes": readied or []},
        "comments": {"pageInfo": last | {"hasNextPage": more}, "nodes": comments or []},
        "reviews": {"pageInfo": last, "nodes": reviews or []},
        "timelineItems": {"nodes": events or []},
        "bases": {"nodes": bases or []},
    }
    return {"data": {"node": pull}}


@pytest.mark.parametrize(
    ("actor", "draft", "wanted"),
    [
        (ANN, False, ReadyForReview(Person(1, "ann", False), when(3), "RFRE_1")),
        (None, False, ReadyForReview(Person(0, "ghost", False), when(3), "RFRE_1")),
        (ANN, True, None),  # the press before the one that is not told yet
        (BOT, False, None),  # by `/propose`, which is judged by who wrote it
    ],
)
def test_who_made_it_ready_is_told(
    wire: Wire, actor: dict[str, Any] | None, draft: bool, wanted: ReadyForReview | None
) -> None:
    """Short-cuts refused: the bot's own press counts as a machine's that no rule names."""
    press = {"id": "RFRE_1", "createdAt": at(3), "actor": actor}
    wire.gives(200, page(readied=[press], draft=draft))
    assert read(wire.pool, "PR_1", US).readied == wanted


@pytest.mark.parametrize(
    ("answer", "ours"),
    [
        ({"data": {"node": {"mergeQueueEntry": {"enqueuer": BOT}}}}, True),
        ({"data": {"node": {"mergeQueueEntry": {"enqueuer": ANN}}}}, False),
        ({"data": {"node": {"mergeQueueEntry": {"enqueuer": None}}}}, False),
        ({"data": {"node": {"mergeQueueEntry": None}}}, False),  # it left meanwhile
        ({"errors": [{"type": "FORBIDDEN", "message": "Resource not accessible"}]}, False),
    ],
)
def test_who_put_it_into_the_queue_is_told(wire: Wire, answer: dict[str, Any], ours: bool) -> None:
    """The short-cut asks in the same query: where the App may not read queues, no look succeeds."""
    wire.gives(200, page(queued=True))
    wire.gives(200, answer)
    found = read(wire.pool, "PR_1", US)
    assert (found.in_queue, found.enqueued) == (True, ours)


EDITS: dict[str, tuple[dict[str, Any], tuple[bool, bool, bool]]] = {
    # what the forge says: edited, ours, altered
    "never edited": ({}, (False, False, False)),
    "edited within the second of writing": (
        {"lastEditedAt": at(1), "editor": ANN},
        (True, False, False),
    ),
    "ours, never edited": ({"author": BOT}, (False, True, False)),
    "ours, edited by us": (
        {"author": BOT, "lastEditedAt": at(3), "editor": BOT},
        (True, True, False),
    ),
    "ours, edited by a person": (
        {"author": BOT, "lastEditedAt": at(3), "editor": ANN},
        (True, True, True),
    ),
    "ours, edited by somebody who is gone": (
        {"author": BOT, "lastEditedAt": at(3), "editor": None},
        (True, True, True),
    ),
    "ours, edited by another bot": (
        {
            "author": BOT,
            "lastEditedAt": at(3),
            "editor": {"__typename": "Bot", "login": "other", "databaseId": 8},
        },
        (True, True, True),
    ),
}


@pytest.mark.parametrize(("values", "expected"), EDITS.values(), ids=EDITS)
def test_comments_tell_their_last_edit_and_editor(
    wire: Wire,
    values: dict[str, Any],
    expected: tuple[bool, bool, bool],
) -> None:
    """Fails when edits are told by two times of a second, or whose text it is by the text."""
    wire.gives(200, page([comment(3_000_000_000, **values)]))

    (found,) = read(wire.pool, "PR_1", US).comments

    assert found.id == 3_000_000_000
    assert (found.edited, found.ours, found.altered) == expected


def test_a_person_named_like_the_bot_is_not_the_bot(wire: Wire) -> None:
    """Fails when the login alone tells: in GraphQL ours has no "[bot]", and people may have it."""
    wire.gives(
        200, page([comment(1, author={**BOT, "__typename": "User"}), comment(2, author=BOT)])
    )

    person, bot = read(wire.pool, "PR_1", US).comments

    assert (person.author, person.ours) == (Person(9, "porchbot", False), False)
    assert (bot.author, bot.ours) == (Person(9, ME, True), True)


def test_reviews_without_a_verdict_are_left_out(wire: Wire) -> None:
    """And are seen: short-cuts wait 15 s for a review that was told of and has no verdict."""
    wire.gives(
        200,
        page(
            reviews=[
                review(5, state="DISMISSED", author=None, commit=None),
                review(4, submittedAt=at(9)),
                review(6, state="PENDING", submittedAt=None, body="not said yet"),
                review(7, state="COMMENTED", body="/hold"),
                None,
            ]
        ),
    )

    conversation = read(wire.pool, "PR_1", US)

    found = conversation.reviews
    assert [(t.id, t.body) for t in conversation.review_texts] == [(7, "/hold")]
    assert conversation.review_numbers == {4, 5, 6, 7}
    assert [(r.id, r.state, r.head, r.at) for r in found] == [
        (5, ReviewState.DISMISSED, Sha(""), when(2)),
        (4, ReviewState.APPROVED, Sha(HEAD), when(9)),
    ]
    assert found[0].author.login == "ghost"


def test_a_review_is_edited_from_its_submission_on(wire: Wire) -> None:
    """Fails when a draft that its author changed counts as edited, or an edit in its second not."""
    edits = {7: None, 8: at(1), 9: at(2), 10: at(3)}
    said = [
        review(number, state="COMMENTED", body="/hold", lastEditedAt=edited)
        for number, edited in edits.items()
    ]
    wire.gives(200, page(reviews=[*said, review(11, body="Ours.", author=BOT)]))

    found = read(wire.pool, "PR_1", US).review_texts

    assert {text.id: text.edited for text in found} == {7: False, 8: False, 9: True, 10: True}


def test_the_timeline_tells_changes_of_base_and_head(wire: Wire) -> None:
    """Fails when both are one list of the newest: a hundred reopenings push the base out of it."""
    events = [
        {"createdAt": at(4), "afterCommit": {"oid": HEAD}},
        {"createdAt": at(6)},
        {"createdAt": at(7), "afterCommit": None},
        {"createdAt": at(8)},
    ]
    wire.gives(200, page(events=events, bases=[{"createdAt": at(5)}]))

    found = read(wire.pool, "PR_1", US)

    assert (found.base_at, found.opened_at, found.head) == (when(5), when(0), HEAD)
    assert found.changes == (
        HeadChange(when(4), Sha(HEAD)),
        HeadChange(when(6)),
        HeadChange(when(7)),
        HeadChange(when(8)),
    )


def test_a_conversation_is_read_to_its_end(wire: Wire) -> None:
    """Fails when the first page is all, or what two pages show is taken twice."""
    wire.gives(200, page([comment(1), comment(2)], [review(5)], more=True))
    wire.gives(200, page([comment(3)], [review(5)]))

    found = read(wire.pool, "PR_1", US)

    assert [c.id for c in found.comments] == [1, 2, 3]
    assert [r.id for r in found.reviews] == [5]
    assert found.head == HEAD


def test_a_head_that_moves_while_it_is_read_is_none(wire: Wire) -> None:
    """Fails when comments of one moment are put beside the head of another."""
    wire.gives(200, page([comment(1)], more=True))
    wire.gives(200, page([comment(2)], head="b" * 40))

    assert read(wire.pool, "PR_1", US).head == ""


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"data": {"node": None}}, ForgeMissingError),
        ({"data": {"node": None}, "errors": [{"type": "NOT_FOUND"}]}, ForgeMissingError),
        ({"data": None, "errors": [{"type": "RATE_LIMITED", "message": "x"}]}, ForgeBusyError),
        (
            {"errors": [{"message": "Something went wrong while executing your query."}]},
            ForgeBusyError,
        ),
        ("<html>", ForgeBusyError),
    ],
    ids=["no node", "not found", "rate", "went wrong", "no JSON"],
)
def test_errors_inside_a_200_are_sorted(
    wire: Wire,
    answer: object,
    error: type[Exception],
) -> None:
    """Fails when an answer without a conversation is taken for one without comments."""
    wire.gives(200, answer)

    with pytest.raises(error, match="conversation"):
        read(wire.pool, "PR_1", US)


ROBOT = BotIdentity("robot", "", account=7, former=frozenset({("older[bot]", 9)}))


def test_a_machine_user_is_known_by_its_number_and_its_former_app_by_its_kind(wire: Wire) -> None:
    """Short-cuts take the login, which others take over, or lose what the App before wrote."""
    robot = {"__typename": "User", "login": "renamed", "databaseId": 7}
    authors = [robot, {**robot, "login": "robot", "databaseId": 8}]
    authors += [{**BOT, "login": "older"}, {**ANN, "login": "older[bot]"}]
    authors += [{**BOT, "login": "older", "databaseId": 10}]  # another App took the name
    wire.gives(200, page([comment(n, author=who) for n, who in enumerate(authors, 1)]))

    found = read(wire.pool, "PR_1", ROBOT).comments

    assert [each.ours for each in found] == [True, False, True, False, False]
    assert [each.author.bot for each in found] == [True, False, True, False, True]
