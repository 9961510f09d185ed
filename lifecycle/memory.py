"""What the bot must remember about a proposal, kept in the hidden records of its own comments.

The summary comment carries one `memory` record: which comments are answered, a hold, approvals
taken back, what native reviews were bound to. Each accepted `/approve` has an answer of its own
with an `approve` record. A record counts only with our MAC, in a comment of our App, and for the
repository and proposal that it names, so none can be carried over from elsewhere (DESIGN 7).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from lifecycle.facts import Comment, Proposal
from lifecycle.names import Sha
from lifecycle.records import JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One person's approval, and what it binds to (DESIGN 7).

    Attributes:
        person: Login.
        head: The commit that was looked at.
        trees: Package to tree id.
        digest: Digest of the configuration that judged it.
        at: When it was given.
        comment: Number of the `/approve` comment; 0 for a native review.
        beside: Digest of what was changed outside of the packages.
    """

    person: str
    head: Sha
    trees: Mapping[str, str]
    digest: str
    at: datetime
    comment: int = 0
    beside: str = ""


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A person's approvals up to here are taken back.

    Attributes:
        comment: The `/unapprove`; approvals by later comments count again.
        at: When it was written; native reviews given later count again.
    """

    comment: int
    at: datetime

    def covers(self, approval: Approval) -> bool:
        """Whether this approval was taken back."""
        if approval.comment:
            return approval.comment < self.comment
        return approval.at <= self.at


@dataclass(frozen=True, slots=True)
class Hold:
    """A hold, who set it and why."""

    by: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What the summary comment remembers.

    Attributes:
        handled: Comments that need no answer any more and have none of their own.
        answered: Comments that have an answer of their own.
        hold: The hold in force.
        withdrawn: Login to that person's last `/unapprove`.
        reviews: Native review to what it was bound to when first seen.
        rejected: Why the proposal was last sent back, "by: reason"; "" when it was not.
        reported: Merge results reported as not published.
    """

    handled: frozenset[int] = frozenset()
    answered: frozenset[int] = frozenset()
    hold: Hold | None = None
    withdrawn: Mapping[str, Withdrawal] = field(default_factory=dict)
    reviews: Mapping[int, Approval] = field(default_factory=dict)
    rejected: str = ""
    reported: frozenset[str] = frozenset()


def summary_of(proposal: Proposal) -> Comment | None:
    """Our summary comment: the oldest that carries our marker; None before the first."""
    return next((c for c in proposal.answers if c.summary), None)


def read(proposal: Proposal, repository_id: int) -> Memory:
    """Put together what all our comments on this proposal remember."""
    memory = Memory()
    for record in _records(proposal, repository_id):
        match record.get("kind"):
            case "memory":
                memory = _merge(memory, _decode(record))
            case "approve" | "answer":
                memory = replace(memory, answered=memory.answered | {_int(record["comment"])})
            case "report":
                memory = replace(memory, reported=memory.reported | {str(record["merge"])})
    return memory


def approvals(proposal: Proposal, repository_id: int) -> tuple[Approval, ...]:
    """The approvals given by `/approve` and answered by us, oldest first."""
    return tuple(
        _approval(record)
        for record in _records(proposal, repository_id)
        if record.get("kind") == "approve"
    )


def carries_record(proposal: Proposal, repository_id: int) -> bool:
    """We saw this proposal while it was open: it is after the baseline (DESIGN 3)."""
    return any(True for _ in _records(proposal, repository_id))


def memory_record(memory: Memory, proposal: Proposal, repository_id: int) -> dict[str, JSON]:
    """The record for the summary comment; equal memories give equal records."""
    return {
        "kind": "memory",
        "repository": repository_id,
        "number": proposal.number,
        "handled": [*sorted(memory.handled)],
        "hold": None if memory.hold is None else [memory.hold.by, memory.hold.reason],
        "withdrawn": {
            who: [w.comment, w.at.isoformat()] for who, w in sorted(memory.withdrawn.items())
        },
        "reviews": {str(key): _encode(a) for key, a in sorted(memory.reviews.items())},
        "rejected": memory.rejected,
    }


def approve_record(approval: Approval, proposal: Proposal, repository_id: int) -> dict[str, JSON]:
    """The record for the answer to an accepted `/approve`."""
    return {
        "kind": "approve",
        "repository": repository_id,
        "number": proposal.number,
        "comment": approval.comment,
        **_encode(approval),
    }


def answer_record(comment: int, proposal: Proposal, repository_id: int) -> dict[str, JSON]:
    """The record for any other answer."""
    return {
        "kind": "answer",
        "repository": repository_id,
        "number": proposal.number,
        "comment": comment,
    }


def report_record(proposal: Proposal, repository_id: int) -> dict[str, JSON]:
    """The record for the report that a merge result is not published."""
    return {
        "kind": "report",
        "repository": repository_id,
        "number": proposal.number,
        "merge": str(proposal.merge_commit),
    }


def notice_record(occasion: str, proposal: Proposal, repository_id: int) -> dict[str, JSON]:
    """The record for a comment that tells people once what happened."""
    return {
        "kind": "notice",
        "repository": repository_id,
        "number": proposal.number,
        "occasion": occasion,
    }


def noticed(proposal: Proposal, repository_id: int) -> frozenset[str]:
    """The occasions that people were told of."""
    return frozenset(
        str(record["occasion"])
        for record in _records(proposal, repository_id)
        if record.get("kind") == "notice"
    )


def report_of(proposal: Proposal, repository_id: int) -> Comment | None:
    """Our report that this merge result is not published; None when there is none."""
    wanted = report_record(proposal, repository_id)
    for comment in proposal.answers:
        if any(dict(record) == wanted for record in comment.records):
            return comment
    return None


def _records(proposal: Proposal, repository_id: int) -> list[Mapping[str, JSON]]:
    return [
        record
        for comment in proposal.answers
        for record in comment.records
        if record.get("repository") == repository_id and record.get("number") == proposal.number
    ]


def _merge(one: Memory, other: Memory) -> Memory:
    """Two summaries exist only after a crash between two replicas; neither may lose a thing."""
    return Memory(
        handled=one.handled | other.handled,
        answered=one.answered | other.answered,
        hold=other.hold or one.hold,
        withdrawn=_latest(one.withdrawn, other.withdrawn),
        reviews={**one.reviews, **other.reviews},
        rejected=other.rejected or one.rejected,
        reported=one.reported | other.reported,
    )


def _latest(
    one: Mapping[str, Withdrawal], other: Mapping[str, Withdrawal]
) -> dict[str, Withdrawal]:
    """Each person's last; an old record copied into a later comment of ours takes none away."""
    merged = dict(one)
    for who, taken_back in other.items():
        if who not in merged or merged[who].comment < taken_back.comment:
            merged[who] = taken_back
    return merged


def _decode(record: Mapping[str, JSON]) -> Memory:
    hold = record.get("hold")
    return Memory(
        handled=frozenset(_int(c) for c in _list(record["handled"])),
        hold=Hold(str(_list(hold)[0]), str(_list(hold)[1])) if hold else None,
        withdrawn={
            who: Withdrawal(_int(_list(w)[0]), datetime.fromisoformat(str(_list(w)[1])))
            for who, w in _dict(record["withdrawn"]).items()
        },
        reviews={int(key): _approval(_dict(a)) for key, a in _dict(record["reviews"]).items()},
        rejected=str(record["rejected"]),
    )


def _encode(approval: Approval) -> dict[str, JSON]:
    return {
        "person": approval.person,
        "head": str(approval.head),
        "trees": {**approval.trees},
        "digest": approval.digest,
        "at": approval.at.isoformat(),
        "beside": approval.beside,
    }


def _approval(record: Mapping[str, JSON]) -> Approval:
    return Approval(
        person=str(record["person"]),
        head=Sha(str(record["head"])),
        trees={path: str(tree) for path, tree in _dict(record["trees"]).items()},
        digest=str(record["digest"]),
        at=datetime.fromisoformat(str(record["at"])),
        comment=_int(record.get("comment", 0)),
        beside=str(record.get("beside", "")),
    )


def _int(value: JSON) -> int:
    return value if isinstance(value, int) else int(str(value))


def _list(value: JSON) -> list[JSON]:
    return list(value) if isinstance(value, list | tuple) else []


def _dict(value: JSON) -> dict[str, JSON]:
    return dict(value) if isinstance(value, Mapping) else {}
