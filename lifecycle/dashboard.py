"""Commands on the dashboard issue: what is about the repository is said where it is shown.

They are answered as under a pull request; what is about one is refused, with what means something.
A box that is ticked is a command of whoever ticked it. What became of all of them stands in one
comment, which is edited in place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lifecycle import memory, replay
from lifecycle.actions import Action, Keep, Reply, Restore
from lifecycle.assess import keep_freezes
from lifecycle.commands import answers
from lifecycle.events import Answered, Event
from lifecycle.facts.conversation import Comment
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal
from lifecycle.messages import boxes as texts
from lifecycle.observing import observed
from lifecycle.records import JSON
from lifecycle.wording import words

RECORD = "boxes"
"""The kind of the record in the comment that tells what became of boxes."""

MOST_TOLD = 100
"""Boxes that it tells of, and answers whose events its record keeps; the newest."""


def decide(facts: Facts) -> list[Action]:
    """Return what to do on the dashboard issue, in order; nothing once every comment is answered.

    Args:
        facts: Of the issue, as its only "proposal".
    """
    actions = [
        action
        for issue in facts.proposals
        for action in (_pass_over(issue) if observed(issue) else _decide(facts, issue))
    ]
    return words(actions, facts.terms)


def _pass_over(issue: Proposal) -> list[Action]:
    """What is said while the bot only observes does not count later: the database alone knows."""
    said = answers.pending(issue, memory.read(issue))
    log = frozenset(Answered(comment=comment.id) for comment, _ in said)
    return [Keep(issue.place.number, log)] if log else []


def _decide(facts: Facts, issue: Proposal) -> list[Action]:
    done = memory.read(issue).answered
    known = tuple(each for each in issue.talk.pressed if each.author.id and not each.altered)
    nothing = [e for e in issue.talk.pressed if e not in known and e.id not in done]
    issue = replace(issue, talk=replace(issue.talk, pressed=known))
    answered = answers.answer(facts, issue, memory.read(issue))
    log = answered.memory.log | {Answered(comment=each.id) for each in nothing}
    lacking = log - issue.talk.kept
    boxes = {each.id: each for each in (*known, *nothing)}
    replies = [each for each in answered.actions if _box_of(each, boxes) is not None]
    return [
        *keep_freezes(facts, answered.memory),
        *(each for each in answered.actions if each not in replies),
        *_progress(facts, issue, replies, nothing, boxes),
        *([Keep(issue.place.number, lacking)] if lacking else []),
    ]


def _box_of(action: Action, boxes: Mapping[int, Comment]) -> Comment | None:
    """The box that an action answers."""
    if not isinstance(action, Reply):
        return None
    numbers = {_number(each) for each in memory.events_of(action.record)} & boxes.keys()
    return boxes[min(numbers)] if numbers else None


def _number(event: Event) -> int:
    return event.comment if isinstance(event, Answered) else 0


def _progress(
    facts: Facts,
    issue: Proposal,
    replies: Sequence[Action],
    nothing: Sequence[Comment],
    boxes: Mapping[int, Comment],
) -> list[Action]:
    """What became of boxes, in one comment that is edited in place; the newest first."""
    told = {
        each.id: (texts.of_altered if each.altered else texts.of_nobody)(each.body)
        for each in nothing
    }
    for reply in replies:
        if isinstance(reply, Reply) and (box := _box_of(reply, boxes)) is not None:
            told[box.id] = texts.answered(box.body, box.author.login, reply.body)
    if not told:
        return []
    there = next((each for each in reversed(issue.talk.answers) if _is_progress(each)), None)
    newest = list(dict.fromkeys([*told, *_newest(there)]))[:MOST_TOLD]
    events = [Answered(comment=number) for number in newest]
    record = {
        "kind": RECORD,
        "repository": facts.repository_id.spelled,
        "number": issue.place.number,
        "newest": newest,
        **replay.pack(events),
    }
    before = texts.lines(there.body) if there else ()
    body = texts.progress([*told.values(), *before][:MOST_TOLD])
    if there is None:
        return [Reply(issue.place.number, body, record)]
    return [Restore(issue.place.number, there.id, body, record)]


def _newest(there: Comment | None) -> list[int]:
    """The boxes that the comment tells of, the newest first: their numbers have no order."""
    record = _progress_record(there) if there else {}
    listed = record.get("newest")
    if isinstance(listed, Sequence):
        return [each for each in listed if isinstance(each, int)]
    return sorted(map(_number, memory.events_of(record))) if record else []


def _is_progress(comment: Comment) -> bool:
    return bool(_progress_record(comment))


def _progress_record(comment: Comment) -> Mapping[str, JSON]:
    found = (record for record in comment.records if record.get("kind") == RECORD)
    return next(found, {})
