"""Upkeep of the memory's two copies: what each lacks, and what people did to our comments.

What was edited or deleted is written again, and that it happened is remembered for good: publishing
then takes an approval newer than that (the gate "fresh approval" of `lifecycle.gates`).

Comments are written before the database is told of them: crashed in between, the next look finds
the comment and tells the database. What was done to our comments is told to the database first:
crashed in between, the next look finds the comment still missing, or still edited.
"""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta

from lifecycle import limits, memory, records
from lifecycle.actions import Action, Keep, RemoveDouble, Reply, Restore
from lifecycle.events import CommentLoss, Event, Tampered
from lifecycle.facts.conversation import Comment, Written
from lifecycle.facts.proposal import Proposal
from lifecycle.identity import RepositoryId
from lifecycle.memory import Memory
from lifecycle.messages.answers import ALTERED_ANSWER
from lifecycle.records import JSON
from lifecycle.terms import kept

TOLD_WITHIN = timedelta(minutes=1)
"""How long after a comment the database may still be told of it, by whoever wrote it."""


def tampered(proposal: Proposal, remembered: Memory) -> list[Event]:
    """Return an event for each comment of ours that was edited or deleted since the last look.

    An edit is told by who edited last, never by what stands there: an older text of ours has a
    valid MAC.
    """
    known = {(e.comment, e.edited_at) for e in remembered.tampered}
    done: list[tuple[int, CommentLoss, datetime | None]] = [
        *((number, CommentLoss.DELETED, None) for number in proposal.talk.missing),
        *((c.id, CommentLoss.EDITED, c.edited_at) for c in proposal.talk.answers if c.altered),
    ]
    return [
        Tampered(
            comment=number,
            what=what,
            edited_at=at,
            comments=proposal.talk.newest_comment,
            reviews=proposal.talk.newest_review,
        )
        for number, what, at in done
        if (number, at) not in known
    ]


def mend(
    proposal: Proposal, remembered: Memory, found: Memory, repository_id: RepositoryId
) -> list[Action]:
    """Return the actions that record tampering with our answers, then restore these."""
    actions: list[Action] = []
    new = found.log - remembered.log
    if proposal.talk.missing or any(isinstance(event, Tampered) for event in new):
        actions.append(Keep(proposal.place.number, log=new, gone=proposal.talk.missing))
    shown = [dict(record) for c in proposal.talk.answers for record in c.records]
    for number in proposal.talk.missing:
        lost = proposal.talk.written[number]
        if lost.body and lost.record not in shown:
            actions.append(Reply(proposal.place.number, kept(lost.body), lost.record))
    summary = memory.summary_of(proposal)
    for answer in proposal.talk.answers:
        if answer.altered and answer is not summary:
            ours = proposal.talk.written.get(answer.id)
            if ours is None or not ours.body:
                ours = _unknown(answer, proposal, repository_id)
            body = kept(ours.body)
            actions.append(Restore(proposal.place.number, answer.id, body, ours.record))
    return actions


def keep(proposal: Proposal, remembered: Memory) -> list[Action]:
    """Return the action that writes what the database lacks."""
    lacking = remembered.log - proposal.talk.kept
    doubles = {c.id for c in _doubles(proposal)}
    written = {
        c.id: Written() if c.summary else Written(c.body, c.records[-1])
        for c in proposal.talk.answers
        if c.id not in proposal.talk.written
        and c.id not in doubles  # else one that was removed would be missed
        and not c.altered
        and (c.records or c.summary)
    }
    if not lacking and not written:
        return []
    return [Keep(proposal.place.number, log=lacking, written=written)]


def remove_doubles(proposal: Proposal) -> list[Action]:
    """Return the actions that delete comments which say what an older one of ours says.

    They come from answers of the forge that were lost. Whoever wrote one tells the database after
    that: until then, or for a while, it stays, so that none is told of that is gone already.
    """
    now = proposal.times.looked_at
    return [
        RemoveDouble(proposal.place.number, c.id)
        for c in _doubles(proposal)
        if c.id in proposal.talk.written or (now is not None and now - c.at >= TOLD_WITHIN)
    ]


def doubles_due(proposal: Proposal) -> datetime | None:
    """Return when the next of these comments may go that stays for a while; None for no such."""
    now = proposal.times.looked_at
    ends = [c.at + TOLD_WITHIN for c in _doubles(proposal) if c.id not in proposal.talk.written]
    return min((end for end in ends if now is not None and end > now), default=None)


def _doubles(proposal: Proposal) -> list[Comment]:
    """Comments of ours that say what older ones say: a second summary, an answer said twice.

    Of summaries the younger one goes when the oldest one has its whole memory. A second answer may
    name another head than the first: it goes when it remembers nothing that the first does not.
    """
    summary = memory.summary_of(proposal)
    said: set[str] = set()
    told: set[Event] = set()
    found = []
    for comment in proposal.talk.answers:
        if comment.altered:
            continue
        if comment.summary:
            if summary is not None and comment.id != summary.id and not summary.altered:
                found.append(comment)
        elif comment.records:
            events = {event for record in comment.records for event in memory.events_of(record)}
            text = "" if events else json.dumps(comment.records, sort_keys=True)
            if (events <= told if events else text in said) and not comment.edited:
                found.append(comment)
            said.add(text)
            told |= events
    return found


def fits(remembered: Memory, proposal: Proposal, repository_id: RepositoryId) -> bool:
    """Tell whether the memory fits into the summary comment."""
    return memory.log_length(remembered, proposal, repository_id) <= limits.RECORD


def summary_record(
    remembered: Memory, proposal: Proposal, repository_id: RepositoryId
) -> Mapping[str, JSON]:
    """Return the record for the summary comment; the last one that fitted where this one does not.

    Nothing is left out of it: publishing is blocked then, and the database has everything.
    """
    if fits(remembered, proposal, repository_id):
        return memory.log_record(remembered, proposal, repository_id)
    said = memory.summary_of(proposal)
    if said is not None and said.records and not said.altered:
        return dict(said.records[-1])
    return memory.log_record(Memory(), proposal, repository_id)


def cut(body: str, record: Mapping[str, JSON]) -> str:
    """Return a text cut to what fits beside its record."""
    return body[: limits.OWN_COMMENT - records.length(record)]


def _unknown(answer: Comment, proposal: Proposal, repository_id: RepositoryId) -> Written:
    """An answer that was edited, and whose text was lost with the database."""
    record = (
        dict(answer.records[0])
        if answer.records
        else memory.answer_record(None, proposal, repository_id)
    )
    return Written(ALTERED_ANSWER, record)
