"""Commands in the text of native reviews: their numbers, and what an approval there binds."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lifecycle import memory
from lifecycle.actions import React
from lifecycle.approvals import approvals_of
from lifecycle.decide import decide
from lifecycle.events import Noticed
from lifecycle.facts.conversation import Review, ReviewState, ReviewText
from lifecycle.facts.head import Facts
from lifecycle.names import Sha
from lifecycle.numbers import in_review, review_of
from lifecycle.policy import Policy
from tests.lifecycle.samples import (
    APPROVER,
    AUTHOR,
    HEAD,
    NOW,
    PROPOSAL,
    changed,
    facts,
    ours,
    said,
)
from tests.lifecycle.settling import settled

SECOND = timedelta(seconds=1)


def text(body: str = "/approve", number: int = 5, **values: Any) -> ReviewText:
    """A review that says something about the head, now."""
    return replace(ReviewText(id=number, author=APPROVER, body=body, at=NOW, head=HEAD), **values)


def saying(*texts: ReviewText, **values: Any) -> Facts:
    """The proposal with what reviews say."""
    return facts(changed(PROPOSAL, review_texts=texts, **values))


def approvers(start: Facts) -> list[str]:
    """Who approves, at rest."""
    rested = settled(start).proposals[0]
    assert isinstance(rested.rules.policy, Policy)
    found = approvals_of(rested, rested.rules.policy, memory.read(rested))
    return [approval.person for approval in found.counted]


def test_numbers_of_reviews_are_none_of_comments_or_buttons() -> None:
    """Fails when a review's number is only negated: so are those of buttons."""
    assert [review_of(in_review(number)) for number in (1, 7, 2**53)] == [1, 7, 2**53]
    assert [review_of(number) for number in (1, 2**62, 0, -1, -(2**48))] == [0] * 5


def test_a_review_and_a_comment_of_one_number_are_both_obeyed() -> None:
    """Fails when both share one space: the second one passes for answered."""
    comment = said(AUTHOR, "/hold", 5)
    answered = settled(saying(comments=(comment,)))
    both = replace(text("/hold"), at=NOW + SECOND)
    rested = settled(
        replace(answered, proposals=(changed(answered.proposals[0], review_texts=(both,)),))
    ).proposals[0]

    found = memory.read(rested)
    assert {held.person for held in found.holds} == {"author", "approver"}
    assert {5, in_review(5)} <= found.answered


def test_nobody_reacts_to_a_review() -> None:
    """Fails when its number is sent to the forge as a comment's."""
    actions = decide(saying(text("/hold")))

    assert not [each for each in actions if isinstance(each, React)]


APPROVALS: Mapping[str, tuple[dict[str, Any], list[str]]] = {
    "a comment in a review approves": ({}, ["approver"]),
    "an edited one is none": ({"edited": True}, []),
    "of another commit it is none": ({"head": Sha("f" * 40)}, []),
    "of no commit that is told it is none": ({"head": Sha("")}, []),
    "where the review requests changes it is none": (
        {"state": ReviewState.CHANGES_REQUESTED},
        [],
    ),
    "in a dismissed review it is none": ({"state": ReviewState.DISMISSED}, []),
}


@pytest.mark.parametrize(("values", "expected"), APPROVALS.values(), ids=APPROVALS)
def test_what_an_approval_in_a_review_comes_to(values: dict[str, Any], expected: list[str]) -> None:
    assert approvers(saying(text(**values))) == expected


def test_within_the_second_of_the_push_it_is_refused() -> None:
    """Fails when numbers of reviews are compared with those of our comments: they have no order."""
    shown = ours("Seen.", memory.answer_record(3, PROPOSAL, facts(PROPOSAL).repository_id), 1)
    start = saying(text(), head_at=NOW, answers=(replace(shown, at=NOW),))

    assert approvers(start) == []


def test_an_approval_ends_with_the_review_that_says_it() -> None:
    """Fails when `/approve` in an approving review is remembered as a comment's alone."""
    native = Review(
        id=5,
        author=APPROVER,
        state=ReviewState.APPROVED,
        head=HEAD,
        trees=PROPOSAL.content.head_trees,
        at=NOW,
        head_at=NOW - SECOND,
    )
    start = saying(text(state=ReviewState.APPROVED), reviews=(native,))
    assert approvers(start) == ["approver"]

    gone = replace(native, state=ReviewState.DISMISSED)
    ended = settled(start, then=lambda p: changed(p, reviews=(gone,)))
    assert approvers(ended) == []


def test_an_approval_falls_when_its_review_is_edited_afterwards() -> None:
    """Fails when only comments are looked over for edits."""
    edited = settled(
        saying(text()), then=lambda p: changed(p, review_texts=(text("Never.", edited=True),))
    )

    assert approvers(edited) == []


def test_what_reviews_said_before_the_bot_came_approves_nothing() -> None:
    """Fails when only reviews with a verdict tell what was there at first sight."""
    adopted = saying(text(at=NOW - SECOND), adopted_at=NOW, looked_at=NOW)

    assert approvers(adopted) == []


def test_what_an_older_version_ignored_stays_ignored() -> None:
    """Fails when a new version obeys at once what people were told is ignored."""
    occasion = f"review {APPROVER.id}"
    record = memory.notice_record(occasion, PROPOSAL, facts(PROPOSAL).repository_id)
    told = replace(ours("`/hold` in a review was ignored.", record, 90), at=NOW)
    start = saying(text("/hold"), answers=(told,))
    assert Noticed(occasion=occasion) in memory.read(start.proposals[0]).log

    assert memory.read(settled(start).proposals[0]).holds == ()

    later = saying(text("/hold", at=NOW + SECOND), answers=(told,))
    assert len(memory.read(settled(later).proposals[0]).holds) == 1
