"""The memory of a proposal: its log of events replayed, and the records that keep it.

Each answer carries which comment it answers and what that came to, the summary comment all the rest
of the log, compacted. The database holds the same events, and which comments we wrote. A record
counts only with our MAC, in a comment of our App, and for the repository and proposal that it
names (docs/design.md, "Records and events"); `lifecycle.records` and whoever reads comments with it
let no other in.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from types import UnionType

from lifecycle import events, records, replay
from lifecycle.access import Person
from lifecycle.events import (
    Approval,
    CommentAnswered,
    Event,
    Fell,
    FirstSeen,
    Frozen,
    Held,
    Log,
    Noticed,
    Overridden,
    PackagePublished,
    Rejected,
    Reported,
    TakenBack,
    Tampered,
    Thawed,
)
from lifecycle.facts.conversation import Comment, Discussion
from lifecycle.facts.proposal import Proposal
from lifecycle.identity import RepositoryId
from lifecycle.records import JSON
from lifecycle.replay import Word

__all__ = ["Approval", "Fell", "FirstSeen", "Held", "Memory", "Rejected", "Tampered"]


@dataclass(frozen=True)
class Memory:
    """The log of events of a proposal, replayed.

    Attributes:
        log: Every event known, from our comments and the database.
        told: Those that stand in an answer of ours; the summary need not repeat them.
        logins: Accounts to their present logins.
        notices: What people were told of, to the number and the time of the first comment that
            does.
    """

    log: Log = frozenset()
    told: Log = frozenset()
    logins: Mapping[int, str] = field(default_factory=dict, compare=False)
    notices: Mapping[str, tuple[int, datetime]] = field(default_factory=dict, compare=False)

    def adding(self, *found: Event) -> "Memory":
        """Return the memory with more events."""
        return self._grown(found, self.told)

    def without(self, event: Event) -> "Memory":
        """Return the memory without an event."""
        shrunk = replace(self, log=self.log - {event})
        if event == self._holds.last and self._holds.before is not None:
            shrunk.__dict__["_holds"] = self._holds.before
        return self._handed_on(shrunk, (event,))

    def telling(self, *found: Event) -> "Memory":
        """Return the memory with events that an answer is about to record."""
        return self._grown(found, self.told | frozenset(found))

    def _grown(self, found: Iterable[Event], told: Log) -> "Memory":
        """As it is with more events; what is known follows from that, however long the log is."""
        added = frozenset(found) - self.log
        grown = replace(self, log=self.log | added, told=told)
        if replay.follows(added, self._holds):
            grown.__dict__["_holds"] = replay.holds(added, self._holds)
        grown.__dict__["_last_words"] = replay.last_words((*self._last_words, *added))
        return self._handed_on(grown, added)

    def _handed_on(self, made: "Memory", changed: Collection[Event]) -> "Memory":
        """Another memory, with what is known here and does not follow from what is changed."""
        for name, kinds in WORKED_OUT.items():
            if not any(isinstance(e, kinds) for e in changed):
                made.__dict__[name] = getattr(self, name)
        return made

    @cached_property
    def answered(self) -> frozenset[int]:
        """Numbers of the comments that were answered."""
        return frozenset(e.comment for e in self.log if isinstance(e, CommentAnswered))

    @cached_property
    def words(self) -> Mapping[str, Word]:
        """Login to that person's last word about approval."""
        return replay.words(self._last_words, self.logins)

    @cached_property
    def _last_words(self) -> frozenset[Word]:
        return replay.last_words(self.log)

    @cached_property
    def holds(self) -> tuple[Held, ...]:
        """The holds in force, oldest first."""
        return self._holds.in_force

    @cached_property
    def _holds(self) -> replay.Holds:
        return replay.holds(self.log)

    @cached_property
    def freezes(self) -> Log:
        """What was frozen and thawed by comments of this proposal."""
        return frozenset(e for e in self.log if isinstance(e, Frozen | Thawed))

    @cached_property
    def overrides(self) -> tuple[Overridden, ...]:
        """Exceptions that were made for the proposal, oldest first."""
        found = (e for e in self.log if isinstance(e, Overridden))
        return tuple(sorted(found, key=replay.order))

    @cached_property
    def rejected(self) -> Rejected | None:
        """The latest rejection."""
        return replay.rejection(self.log)

    @cached_property
    def seen(self) -> FirstSeen | None:
        """When the proposal was first seen."""
        return replay.first_sight(self.log)

    @cached_property
    def reported(self) -> frozenset[str]:
        """Merge results reported as not published."""
        return frozenset(e.merge for e in self.log if isinstance(e, Reported))

    @cached_property
    def tampered(self) -> tuple[Tampered, ...]:
        """Deletions and edits of our comments, by their numbers."""
        found = (e for e in self.log if isinstance(e, Tampered))
        return tuple(sorted(found, key=lambda e: (e.comment, replay.order(e))))

    def refreshed_by(self, approval: Approval) -> bool:
        """Tell whether an approval was given after all tampering with our comments."""
        if approval.comment > 0:
            return all(approval.comment > e.comments for e in self.tampered)
        return all(approval.reviewed > e.reviews for e in self.tampered)


WORKED_OUT: Mapping[str, UnionType | type[Event]] = {
    "_last_words": Approval | TakenBack | Fell,
    "words": Approval | TakenBack | Fell,
    "freezes": Frozen | Thawed,
    "overrides": Overridden,
    "rejected": Rejected,
    "seen": FirstSeen,
    "reported": Reported,
    "tampered": Tampered,
}
"""What a memory works out of its log, to the kinds of events that it follows from: with others
added, it stays as it is."""


def summary_of(proposal: Proposal) -> Comment | None:
    """Return our summary comment: the oldest that carries our marker; None before the first.

    Anybody with write access can edit the marker into an answer of ours: what the database knows to
    be an answer is none.
    """
    answers = {number for number, ours in proposal.talk.written.items() if ours.body}
    found = (c for c in proposal.talk.answers if c.summary and c.id not in answers)
    return next(found, None)


def read(proposal: Proposal) -> Memory:
    """Read the memory of a proposal: the union of the records in our comments and the database.

    A look asks for it a dozen times while it puts the proposal together. What it follows from is
    the same all the while, so that it is read once, with all that is worked out from it.
    """
    talk, author = proposal.talk, proposal.people.author
    known = _READ.get(id(talk))
    if known is not None and known[0] is talk and known[1] == author:
        return known[2]
    memory = _read(proposal)
    if len(_READ) >= MOST_READ:
        _READ.clear()
    _READ[id(talk)] = talk, author, memory
    return memory


_READ: dict[int, tuple[Discussion, Person, Memory]] = {}
"""What was said, by its identity, with the proposal's author, to what it comes to."""

MOST_READ = 64
"""Proposals whose memory is kept; one look has a handful."""


def _read(proposal: Proposal) -> Memory:
    found, told = set(proposal.talk.kept), set[Event]()
    for number in proposal.talk.missing:  # deleted before the database was told what it caused
        if written := proposal.talk.written[number].record:
            found |= events_of(written)
    notices: dict[str, tuple[int, datetime]] = {}
    for comment in proposal.talk.answers:
        for record in comment.records:
            happened = events_of(record)
            found |= happened
            if comment.summary or comment.altered:
                continue
            told |= happened
            for event in happened:
                if isinstance(event, Noticed):
                    notices.setdefault(event.occasion, (comment.id, comment.at))
    return Memory(frozenset(found), frozenset(told), proposal.logins, notices)


def published(proposal: Proposal) -> tuple[PackagePublished, ...]:
    """Return what was published by a proposal's merge, as its records say, whatever tags say."""
    merge = str(proposal.place.merge_commit)
    found = [
        each
        for each in read(proposal).log
        if isinstance(each, PackagePublished) and each.revision and each.commit == merge
    ]
    return tuple(sorted(found, key=lambda each: (each.package, each.revision)))


def carries_record(proposal: Proposal) -> bool:
    """Tell whether we saw this proposal while it was open: it is after the baseline.

    Source: docs/design.md, "Adoption".
    """
    return any(comment.records for comment in proposal.talk.answers)


def log_record(memory: Memory, proposal: Proposal, repository_id: RepositoryId) -> dict[str, JSON]:
    """Return the record for the summary comment; equal memories give equal records."""
    return {**_place("log", proposal, repository_id), **replay.packed(memory.log, memory.told)[0]}


def log_length(memory: Memory, proposal: Proposal, repository_id: RepositoryId) -> int:
    """Return the characters of the record for the summary comment, as `records.length` has it."""
    place = records.length(_place("log", proposal, repository_id))
    return place + replay.packed(memory.log, memory.told)[1]


def answer_record(
    comment: int | None,
    proposal: Proposal,
    repository_id: RepositoryId,
    about: Iterable[Event] = (),
) -> dict[str, JSON]:
    """Return the record for an answer: the comment, the events it caused, and the head.

    Args:
        comment: The comment that is answered; None where that is not known any more.
        proposal: The proposal.
        repository_id: Which repository.
        about: What the comment caused, such as an approval.
    """
    return {
        **_place("answer", proposal, repository_id),
        "head": str(proposal.place.head),
        "mark": proposal.times.head_mark,
        "rules": proposal.rules.digest,
        **replay.pack([*([CommentAnswered(comment=comment)] if comment else []), *about]),
    }


def report_record(proposal: Proposal, repository_id: RepositoryId) -> dict[str, JSON]:
    """Return the record for the report that a merge result is not published."""
    return {
        **_place("report", proposal, repository_id),
        **replay.pack({Reported(merge=str(proposal.place.merge_commit))}),
    }


def notice_record(
    occasion: str, proposal: Proposal, repository_id: RepositoryId
) -> dict[str, JSON]:
    """Return the record for a notice."""
    return {
        **_place("notice", proposal, repository_id),
        **replay.pack({Noticed(occasion=occasion)}),
    }


def closed_record(number: int, head: str, repository_id: RepositoryId) -> dict[str, JSON]:
    """Return the record for the answer that a proposal was closed: it is a merge queue's commit."""
    place: dict[str, JSON] = {"kind": "notice", "repository": repository_id.spelled}
    return {**place, "number": number, **replay.pack({Noticed(occasion=f"closed {head}")})}


def noticed(proposal: Proposal) -> frozenset[str]:
    """Return the occasions that notices were written for."""
    log = read(proposal).log
    return frozenset(e.occasion for e in log if isinstance(e, Noticed))


def report_of(proposal: Proposal, repository_id: RepositoryId) -> Comment | None:
    """Return our report that this merge result is not published; None when there is none."""
    wanted = report_record(proposal, repository_id)
    found = (c for c in proposal.talk.answers if any(dict(r) == wanted for r in c.records))
    return next(found, None)


def shown_head_before(proposal: Proposal, comment: Comment, memory: Memory) -> bool:
    """Tell whether an older comment of ours proves that the head stood before a comment.

    We wrote ours when we had seen the present head, the forge shows no change of the head since
    then, and comments are numbered as they are written: the one order that no clock blurs. Reviews
    have numbers of their own: of them only an earlier second tells.
    """
    if not proposal.times.head_mark:
        return False
    here = (str(proposal.place.head), proposal.times.head_mark)
    seen = memory.seen
    for ours in proposal.talk.answers:
        if not _before(ours, comment) or ours.altered:
            continue
        if proposal.times.head_at is not None and proposal.times.head_at > ours.at:
            continue
        if ours.summary and seen is not None and (seen.head, seen.mark) == here:
            return True
        for record in ours.records:
            if record.get("kind") == "answer" and (record["head"], record["mark"]) == here:
                return True
    return False


def shown_rules_before(proposal: Proposal, comment: Comment) -> bool:
    """Tell whether an older answer of ours proves that the rules stood before a comment."""
    return any(
        record.get("kind") == "answer" and record.get("rules") == proposal.rules.digest
        for ours in proposal.talk.answers
        if _before(ours, comment) and not ours.altered
        for record in ours.records
    )


def _before(ours: Comment, comment: Comment) -> bool:
    timed = comment.review or comment.button
    return ours.at < comment.at if timed else ours.id < comment.id


def _place(kind: str, proposal: Proposal, repository_id: RepositoryId) -> dict[str, JSON]:
    return {"kind": kind, "repository": repository_id.spelled, "number": proposal.place.number}


def events_of(record: Mapping[str, JSON]) -> Log:
    """Return the events of a record.

    Of one from before there were events, as far as it says what happened.
    An approval of those days says nothing of the base branch, and so counts for nothing now.
    Comments are read once and their records kept: what they say is as well.
    """
    known = _SAID.get(id(record))
    if known is not None and known[0] is record:
        return known[1]
    found = _said(record)
    if len(_SAID) >= MOST_SAID:
        _SAID.clear()
    _SAID[id(record)] = record, found
    return found


_SAID: dict[int, tuple[Mapping[str, JSON], Log]] = {}
"""Records, by their identity, to their events."""

MOST_SAID = 10_000
"""Records whose events are kept: those of one conversation, however many people made the bot
answer. Most have one or two kilobytes of text."""


def _said(record: Mapping[str, JSON]) -> Log:
    match record["kind"]:
        case "approve" | "answer" if "events" not in record:
            return frozenset({CommentAnswered(comment=int(str(record["comment"])))})
        case "report" if "events" not in record:
            return frozenset({Reported(merge=str(record["merge"]))})
        case "memory":
            return _of_old(record)
        case _:
            return replay.unpack(record)


def _of_old(record: Mapping[str, JSON]) -> Log:
    found: set[Event] = set()
    handled, hold = record["handled"], record["hold"]
    if isinstance(handled, list):
        found |= {CommentAnswered(comment=int(str(number))) for number in handled}
    if isinstance(hold, list):
        found.add(Held(person=str(hold[0]), at=events.EVER, comment=0, reason=str(hold[1])))
    return frozenset(found)
