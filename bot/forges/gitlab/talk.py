"""What was said on a merge request, read out of its notes, approvals, reviewers and versions.

GitLab tells in notes of its own ("system notes") what was done: who marked it ready, and when its
target was exchanged. An approval names no commit: it counts for the newest version made before it.

Source: https://docs.gitlab.com/api/notes/, https://docs.gitlab.com/api/merge_request_approvals/,
https://docs.gitlab.com/api/merge_requests/#retrieve-merge-request-diff-versions
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from bot.forges.gitlab import speech
from bot.forges.gitlab.fields import is_us, milliseconds, person, time
from bot.forges.gitlab.http import JSONObject
from bot.forges.port import BotIdentity, HeadChange, NativeReview
from lifecycle.facts.conversation import Comment, ReadyForReview, ReviewDecision, ReviewState
from lifecycle.names import Sha

MARK = "<!-- porchbot-"
"""Begins what marks notes of ours that are no comments: findings at lines, and suggestions."""

SUGGESTED = "<!-- porchbot-suggested "
"""Begins the mark of a suggestion; then comes the commit.

A mark is the last line of its note, before the seal: what we quote before it may hold anything, and
whoever may edit our notes puts it below any of them."""

_SUGGESTED = re.compile(rf"(?:\A|\n){re.escape(SUGGESTED)}([0-9a-f]{{40,64}}) -->\s*\Z")

UNEDITED = "unedited"
"""A field of ours in a note whose text never changed, whatever its time says."""

_AT_LINES = "DiffNote"
_READY, _RETARGETED = "marked this merge request as **ready**", "changed target branch from "
_RETARGETED_ITSELF = "This merge request now targets the "
_APPROVED, _REQUESTED = "approved this merge request", "requested changes"


def comments(
    notes: Sequence[JSONObject], me: BotIdentity, keys: Sequence[bytes]
) -> tuple[Comment, ...]:
    """What people and we wrote, oldest first; not what stands at lines, and no events.

    Args:
        notes: As GitLab tells them.
        me: Who we are.
        keys: Those that may have sealed ours.
    """
    found = [_comment(data, me, keys) for data in notes if _is_comment(data, me, keys)]
    return tuple(sorted(found, key=lambda comment: comment.id))


def suggested(
    notes: Sequence[JSONObject], me: BotIdentity, keys: Sequence[bytes]
) -> frozenset[Sha]:
    """The commits at which we suggested changes.

    Args:
        notes: As GitLab tells them.
        me: Who we are.
        keys: Those that may have sealed ours.
    """
    found = (_suggested(data, me, keys) for data in notes)
    return frozenset(head for head in found if head)


def _suggested(data: JSONObject, me: BotIdentity, keys: Sequence[bytes]) -> Sha | None:
    """The commit at which a note of ours suggests changes, as we wrote it."""
    if not is_us(data["author"], me) or SUGGESTED not in str(data["body"]):
        return None
    edited = time(data["created_at"]) != time(data["updated_at"])
    body, fits = speech.opened(str(data["body"]), keys, int(data["id"]), edited=edited)
    return suggested_at(body) if fits else None


def suggested_at(text: str) -> Sha | None:
    """The commit that a note suggests changes at by its mark."""
    found = _SUGGESTED.search(text)
    return Sha(found[1]) if found else None


def _is_comment(data: JSONObject, me: BotIdentity, keys: Sequence[bytes]) -> bool:
    """Not what stands at lines, no event, and nothing internal, whose answer all would read."""
    if data["system"] or data.get("type") == _AT_LINES or is_internal(data):
        return False
    return _suggested(data, me, keys) is None


def doubtful(
    notes: Sequence[JSONObject], me: BotIdentity, keys: Sequence[bytes]
) -> tuple[JSONObject, ...]:
    """Comments in threads that changed after they were written, the newest last.

    Args:
        notes: As GitLab tells them.
        me: Who we are.
        keys: Those that may have sealed ours.
    """
    return tuple(
        data
        for data in notes
        if _is_comment(data, me, keys)
        and data.get("resolvable")
        and data["updated_at"] != data["created_at"]
    )


def is_internal(note: JSONObject) -> bool:
    """Whether members alone see a note.

    Source: https://docs.gitlab.com/user/discussions/#add-an-internal-note
    """
    return bool(note.get("internal") or note.get("confidential"))


def _comment(data: JSONObject, me: BotIdentity, keys: Sequence[bytes]) -> Comment:
    """A comment; of a changed one of ours GitLab does not tell who changed it, but its seal does.

    Whoever resolves the thread that a comment stands in changes its time too. By that time nothing
    is excused: a Maintainer can edit somebody else's words and resolve the thread after that. Only
    where GitLab says that nobody ever edited it is it as it was written.
    """
    at, changed, ours = (
        time(data["created_at"]),
        time(data["updated_at"]),
        is_us(data["author"], me),
    )
    edited = changed != at and not data.get(UNEDITED)
    number, body, fits = int(data["id"]), str(data["body"]), True
    if ours:
        body, fits = speech.opened(body, keys, number, edited=edited)
    return Comment(
        id=number,
        author=person(data["author"], me),
        body=body,
        at=at,
        edited=edited,
        edited_at=changed if edited else None,
        altered=not fits,
        ours=ours,
    )


def based_at(notes: Sequence[JSONObject]) -> datetime | None:
    """When the target branch was last exchanged for another; None when it never was."""
    return max((time(n["created_at"]) for n in _events(notes) if _retargets(n)), default=None)


def _retargets(note: JSONObject) -> bool:
    said = str(note["body"])
    return said.startswith((_RETARGETED, _RETARGETED_ITSELF))


def readied(notes: Sequence[JSONObject], me: BotIdentity) -> ReadyForReview | None:
    """Who marked it ready last; None for nobody, and for us."""
    found = [note for note in _events(notes) if str(note["body"]).startswith(_READY)]
    last = max(found, key=lambda note: int(note["id"]), default=None)
    if last is None or is_us(last["author"], me):
        return None
    return ReadyForReview(person(last["author"], me), time(last["created_at"]), str(last["id"]))


def reviews(
    approvals: JSONObject,
    reviewers: Sequence[JSONObject],
    versions: Sequence[JSONObject],
    notes: Sequence[JSONObject],
    me: BotIdentity,
) -> tuple[NativeReview, ...]:
    """What people's reviews say now, oldest first; what was taken back is not there.

    A review has no number: the moment at which it was given is it, in milliseconds.
    """
    found: list[NativeReview] = []
    wanting = {
        int(each["user"]["id"]) for each in reviewers if each.get("state") == "requested_changes"
    }
    for each in approvals.get("approved_by") or ():
        who = person(each["user"], me)
        told = each.get("approved_at")
        at = time(told) if told else _said(notes, who.id, _APPROVED)
        if at is None or who.id in wanting:
            continue
        # Of a moment that only an event tells, it is not known which approval it was of.
        head = head_at(versions, at) if told else Sha("")
        number = milliseconds(at)
        found.append(
            NativeReview(id=number, author=who, state=ReviewState.APPROVED, head=head, at=at)
        )
    for each in reviewers:
        who = person(each["user"], me)
        if who.id in wanting:
            at = _said(notes, who.id, _REQUESTED) or time(each["created_at"])
            state = ReviewState.CHANGES_REQUESTED
            head = head_at(versions, at)
            found.append(
                NativeReview(id=milliseconds(at), author=who, state=state, head=head, at=at)
            )
    return tuple(sorted(found, key=lambda review: (review.at, review.id)))


def head_at(versions: Sequence[JSONObject], at: datetime) -> Sha:
    """The head of the newest version that was made before a moment; "" where that is not known."""
    before = [each for each in versions if time(each["created_at"]) < at]
    last = max(before, key=lambda each: int(each["id"]), default=None)
    return Sha(str(last["head_commit_sha"] or "")) if last else Sha("")


def changes(versions: Sequence[JSONObject]) -> tuple[HeadChange, ...]:
    """What the head came to, at most 100 times, oldest first."""
    ordered = sorted(versions, key=lambda each: int(each["id"]))[-100:]
    return tuple(
        HeadChange(time(each["created_at"]), Sha(str(each["head_commit_sha"] or "")) or None)
        for each in ordered
    )


def decision(approvals: JSONObject) -> ReviewDecision | None:
    """What approvals come to where rules ask for them, with Premium; else None."""
    if not int(approvals.get("approvals_required") or 0):
        return None
    left = int(approvals.get("approvals_left") or 0)
    return ReviewDecision.REQUIRED if left else ReviewDecision.APPROVED


def newest_event(notes: Sequence[JSONObject]) -> int:
    """Number of the newest event; a push makes one, so that versions are read again."""
    return max((int(note["id"]) for note in _events(notes)), default=0)


def _events(notes: Sequence[JSONObject]) -> Iterator[JSONObject]:
    return (note for note in notes if note["system"])


def _said(notes: Sequence[JSONObject], account: int, words: str) -> datetime | None:
    """When an event of somebody was noted last."""
    return max(
        (
            time(note["created_at"])
            for note in _events(notes)
            if note["author"]["id"] == account and str(note["body"]).startswith(words)
        ),
        default=None,
    )
