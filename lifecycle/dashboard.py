"""Commands on the dashboard issue: what is about the repository is said where it is shown.

They are answered as under a pull request; what is about one is refused, with what means something.
A box that is ticked is a command of whoever ticked it. What became of all of them stands in one
comment, which is edited in place.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from lifecycle import box_waves, boxes, memory, replay
from lifecycle.actions import Action, Keep, Reply, Restore
from lifecycle.assess import keep_freezes
from lifecycle.boxes import RECORD
from lifecycle.commands import answers
from lifecycle.commands.answers import AfterCommands
from lifecycle.events import CommentAnswered, Event
from lifecycle.facts.boxes import BegunBox
from lifecycle.facts.conversation import Comment, Written
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal
from lifecycle.messages import boxes as texts
from lifecycle.observing import observed
from lifecycle.records import JSON
from lifecycle.wording import words

MOST_TOLD = 100
"""Boxes that it tells of, and answers whose events its record keeps; the newest."""

MOST_SAID = 300
"""Characters that its record keeps of why a box failed: forges bound a comment."""


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
    log = frozenset(CommentAnswered(comment=comment.id) for comment, _ in said)
    return [Keep(issue.place.number, log)] if log else []


def _decide(facts: Facts, issue: Proposal) -> list[Action]:
    done = memory.read(issue).answered
    boxed = _Boxes.of(issue, done)
    issue = replace(issue, talk=replace(issue.talk, pressed=boxed.given))
    answered = answers.answer(facts, issue, memory.read(issue))
    log = answered.memory.log | {CommentAnswered(comment=number) for number in boxed.told}
    lacking = log - issue.talk.kept
    replies = [each for each in answered.actions if boxed.of_reply(each) is not None]
    others = [each for each in answered.actions if each not in replies]
    progress, written = _progress(facts, issue, answered, replies, boxed)
    # Who asked to go on is told so once that is kept: what is answered is not read again.
    told = [*progress, *others] if answered.goes_on else [*others, *progress]
    return [
        *keep_freezes(facts, answered.memory),
        *told,
        *([Keep(issue.place.number, lacking, written)] if lacking or written else []),
    ]


@dataclass(frozen=True, slots=True)
class _Boxes:
    """The boxes that are answered now.

    Attributes:
        given: Those that give a command here.
        told: Of the others, their numbers to what is said of them.
        every: All, by their numbers.
    """

    given: tuple[Comment, ...]
    told: Mapping[int, str]
    every: Mapping[int, Comment]

    @classmethod
    def of(cls, issue: Proposal, done: Collection[int]) -> "_Boxes":
        """Sort them."""
        waves, told, given = issue.talk.boxes, dict[int, str](), list[Comment]()
        every = {each.id: each for each in issue.talk.pressed if each.id not in done}
        for number, each in every.items():
            command, login = each.body, each.author.login
            if each.altered or not each.author.id:
                told[number] = (texts.of_altered if each.altered else texts.of_nobody)(command)
            elif number in waves.unseen:
                told[number] = texts.unseen(command)
            elif each.boxed:
                told[number] = texts.passed_on(command, login)
            elif command.removeprefix("/") in waves.left_out:
                failed = [each for each in waves.begun if each.failed]
                told[number] = texts.left_out(command, failed)
            else:
                given.append(each)
        return cls(tuple(given), told, every)

    def of_reply(self, action: Action) -> Comment | None:
        """The box that an action answers."""
        if not isinstance(action, Reply):
            return None
        numbers = {_number(each) for each in memory.events_of(action.record)} & self.every.keys()
        return self.every[min(numbers)] if numbers else None


def _number(event: Event) -> int:
    return event.comment if isinstance(event, CommentAnswered) else 0


def _progress(
    facts: Facts,
    issue: Proposal,
    answered: AfterCommands,
    replies: Sequence[Action],
    boxed: _Boxes,
) -> tuple[list[Action], Mapping[int, Written]]:
    """What became of boxes, in one comment that is edited in place; the newest first.

    Also what the database lacks of it.
    """
    told, waves = dict(boxed.told), issue.talk.boxes
    begun = {each.command: each for each in waves.begun}
    for reply in replies:
        if isinstance(reply, Reply) and (box := boxed.of_reply(reply)) is not None:
            told[box.id] = texts.answered(box.body, box.author.login, reply.body)
            said = texts.without_address(reply.body, box.author.login)
            _begin(begun, box, said, failed=box.id in answered.failed)
    there = next((each for each in reversed(issue.talk.answers) if _is_progress(each)), None)
    if there is None and not told:
        return [], {}
    known = _known(issue, there)
    left = waves.failed if answered.goes_on else ()
    now = box_waves.went_on(begun.values(), left)
    if (at := issue.times.looked_at) is not None:
        now = box_waves.noted(now, at)
    if not waves.waiting and not any(not each.failed for each in now):
        now = ()  # nothing waits for what failed
    newest = list(dict.fromkeys([*told, *_newest(known.record)]))[:MOST_TOLD]
    events = [CommentAnswered(comment=number) for number in newest]
    record: dict[str, JSON] = {
        "kind": RECORD,
        "repository": facts.repository_id.spelled,
        "number": issue.place.number,
        "newest": newest,
        "begun": box_waves.remembered(now),
        **replay.pack(events),
    }
    if not _same(record, known.record):
        record["turn"] = box_waves.turn_of(known.record) + 1
    else:
        record = {**known.record}
    before = texts.lines(known.body)
    how = texts.waves(replace(waves, begun=now))
    body = texts.progress([*told.values(), *before][:MOST_TOLD], how)
    if there is None:
        return [Reply(issue.place.number, body, record)], {}
    written = Written(facts.terms.said(body), record)
    # First the comment: what the database has of it is never newer.
    same = written.body == there.body and record == _progress_record(there)
    lacks = issue.talk.written.get(there.id) != written
    actions = [] if same else [Restore(issue.place.number, there.id, body, record)]
    return [*actions], {there.id: written} if lacks else {}


def _known(issue: Proposal, there: Comment | None) -> Written:
    """What the comment about boxes said last, whoever edited it or took it away since."""
    told = [Written(there.body, _progress_record(there))] if there else []
    told += [each for each in issue.talk.written.values() if each.record.get("kind") == RECORD]
    latest = box_waves.latest(each.record for each in told)
    return next((each for each in reversed(told) if each.record == latest), Written())


_WHERE = re.compile(r"(?<![\w&])#([1-9][0-9]{0,11})\b", re.ASCII)
"""A pull request that an answer of ours names; what others wrote is marked (`lifecycle.terms`)."""


def _begin(begun: dict[str, BegunBox], box: Comment, said: str, *, failed: bool) -> None:
    """Note what came of a box that makes a draft; of nothing to change there is nothing to note."""
    command = box.body.removeprefix("/")
    if command.partition(" ")[0] not in boxes.DRAFTING:
        return
    begun.pop(command, None)
    where = _WHERE.search(said)
    if failed:
        # Markdown that is cut may leave its code open, and what comes after it stands outside.
        short = said if len(said) <= MOST_SAID else texts.LONG_REASON
        begun[command] = BegunBox(command=command, failed=short)
    elif where:
        begun[command] = BegunBox(command=command, number=int(where[1]))


def _same(record: Mapping[str, JSON], known: Mapping[str, JSON]) -> bool:
    """Whether a record says what one says that has its number, and may be of a version before."""
    return {"begun": [], **known, "turn": 0} == {**record, "turn": 0}


def _newest(record: Mapping[str, JSON]) -> list[int]:
    """The boxes that a record tells of, the newest first: their numbers have no order."""
    listed = record.get("newest")
    if isinstance(listed, Sequence):
        return [each for each in listed if isinstance(each, int)]
    return sorted(map(_number, memory.events_of(record))) if record else []


def _is_progress(comment: Comment) -> bool:
    return bool(_progress_record(comment))


def _progress_record(comment: Comment) -> Mapping[str, JSON]:
    found = (record for record in comment.records if record.get("kind") == RECORD)
    return next(found, {})
