"""A command is answered once: what was said twice all the same is taken away again."""

from dataclasses import replace
from datetime import timedelta

from lifecycle.actions import RemoveDouble, Reply
from lifecycle.decide import decide
from lifecycle.facts.conversation import Comment
from lifecycle.facts.head import Facts
from lifecycle.names import Sha
from lifecycle.records import JSON
from tests.lifecycle.samples import APPROVER, NOW, PROPOSAL, changed, facts, said
from tests.lifecycle.settling import settled

LATER = NOW + timedelta(hours=1)
OTHER = Sha("e" * 40)


def _answered() -> tuple[Facts, Comment]:
    """A command that was answered, and the answer."""
    found = settled(facts(changed(PROPOSAL, comments=(said(APPROVER, "/why"),))))
    (proposal,) = found.proposals
    return found, next(c for c in proposal.talk.answers if c.records and not c.summary)


def _removed(found: Facts, *more: Comment) -> set[int]:
    """Numbers of the comments that are taken away once these stand there as well."""
    (proposal,) = found.proposals
    talk = replace(proposal.talk, answers=(*proposal.talk.answers, *more))
    late = changed(replace(proposal, talk=talk), looked_at=LATER)
    actions = decide(replace(found, proposals=(late,)))
    return {a.comment for a in actions if isinstance(a, RemoveDouble)}


def _again(answer: Comment, number: int, **record: JSON) -> Comment:
    return replace(answer, id=number, records=({**answer.records[0], **record},))


def test_a_second_answer_that_saw_another_head_is_taken_away() -> None:
    """The short-cut compares records: a bot that stood still answers with what it saw before."""
    found, answer = _answered()

    assert _removed(found, _again(answer, 9_000, head=str(OTHER), rules="other")) == {9_000}


def test_an_answer_that_remembers_more_stays() -> None:
    """The short-cut goes by the command alone: what only the second one knows would be lost."""
    found, answer = _answered()
    held: JSON = {"kind": "held", "person": "somebody", "at": NOW.isoformat(), "comment": 5}

    assert _removed(found, _again(answer, 9_000, events=[held])) == set()


def _replies(*words: str) -> list[Reply]:
    """What is answered to these comments."""
    comments = tuple(said(APPROVER, each, number) for number, each in enumerate(words, 1_000))
    actions = decide(facts(changed(PROPOSAL, comments=comments)))
    return [action for action in actions if isinstance(action, Reply)]


def test_two_bots_that_decide_otherwise_about_a_comment_claim_one_place() -> None:
    """The short-cut claims the record: with another head or another answer both are written."""
    (why,), (approved,) = _replies("/why"), _replies("/approve")
    elsewhere = replace(why, record={**why.record, "head": str(OTHER)})
    both = _replies("/why", "/approve")

    assert why.record != approved.record
    assert why.writes.claim == approved.writes.claim == elsewhere.writes.claim
    assert why.writes != elsewhere.writes
    assert len({each.writes.claim for each in both}) == 2
