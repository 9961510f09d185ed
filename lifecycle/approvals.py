"""Approvals: who gave each, what it binds to, and whether it counts now.

An approval is a person and what they approved: the base branch, the tree of each touched package,
what would be merged beside the packages, and the digest of the configuration that can change the
verdict (docs/design.md, "Approvals"). It does not count while one of these differs, and survives a
rebase that leaves them alone; but not one that takes back what the base branch gained meanwhile. A
change of the content that we see makes it fall for good. A person's last word counts.

`/approve` and native reviews are held to the same: what was given before the App was installed,
before the base branch was last exchanged, or before its writer could see the head, counts for
nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lifecycle import events, replay
from lifecycle.access import Role
from lifecycle.events import Approval, Event, Fall, Fell
from lifecycle.facts.checks import VALIDATE, CheckRun, Status
from lifecycle.facts.conversation import Review, ReviewState
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal
from lifecycle.memory import Memory
from lifecycle.needs import Need, met, needs_of
from lifecycle.policy import Policy
from lifecycle.rights import facts_of


class Fallen(StrEnum):
    """Reason why an approval does not count."""

    TREE = "tree"
    BESIDE = "beside"
    CONFIGURATION = "configuration"
    BASE = "base"
    INSTALLATION = "installation"
    ADOPTION = "adoption"
    UNSEEN = "unseen"
    UNTOLD = "untold"
    EDITED = "edited"
    UNPUBLISHED = "unpublished"
    ACCESS = "access"
    UNSURE = "unsure"
    MERGE = "merge"
    TAKES_BACK = "takes back"


UNPUBLISHED = "unpublished"
"""Begins the occasion of the comment that tells of it."""

_FOR_GOOD: Mapping[Fall, Fallen] = {
    Fall.EDITED: Fallen.EDITED,
    Fall.TREE: Fallen.TREE,
    Fall.BESIDE: Fallen.BESIDE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Approvals:
    """The approvals of one proposal: those that count, those that fell, how many are needed.

    Attributes:
        counted: One for each person, sorted by login; each counts for a need at least.
        fallen: Login to why that person's last approval does not count; none for those counted.
        needs: The rules to be met, each on its own; at least one.
        objections: Logins whose request for changes stands, sorted.
        fresh: Nothing was done to our comments since one of those counted was given, and where the
            proposal is older than our record of it, at least one was given.
    """

    counted: tuple[Approval, ...]
    fallen: dict[str, Fallen]
    needs: tuple[Need, ...]
    objections: tuple[str, ...]
    fresh: bool = True

    @property
    def needed(self) -> int:
        """How many people must approve what takes most."""
        return max(need.needed for need in self.needs)

    @property
    def missing(self) -> int:
        """How many more people must approve what lacks most; 0 when enough have."""
        return max(need.missing for need in self.needs)


def approvals_of(
    proposal: Proposal, policy: Policy, remembered: Memory, *, rules: bool = False
) -> Approvals:
    """Return which approvals count and how many are needed.

    Each rule is met on its own: who may approve one package need not be who may approve another,
    and of several owners of files each has a say.

    A commit whose author or pusher is unknown makes self-approval undecidable; then one more
    person must approve, unless the rules allow approving one's own work
    (docs/design.md, "Authors").

    Args:
        proposal: The facts.
        policy: The rules.
        remembered: What our comments and the database remember.
        rules: It is about the change of the rules, and not about the packages.
    """
    standing: dict[str, Approval] = {}
    fallen: dict[str, Fallen] = {}
    latest = latest_reviews(proposal)
    for person, word in remembered.words.items():
        if isinstance(word, Fell):
            fallen[person] = _FOR_GOOD[word.why]
        elif isinstance(word, Approval) and _stands(word, latest):
            why = _why_not(word, proposal, remembered)
            if why is None:
                standing[person] = word
            else:
                fallen[person] = why
    for review in unbound(proposal, remembered):
        if review.author.login not in standing:
            why = too_early(proposal, remembered, at=review.at, review=review.id)
            if why is None and rules_moved(proposal, at=review.at):
                why = Fallen.CONFIGURATION
            if why is None and not shown_unpublished(proposal, remembered, at=review.at):
                why = Fallen.UNPUBLISHED
            fallen[review.author.login] = why or (Fallen.UNSEEN if review.head else Fallen.UNTOLD)
    facts = facts_of(proposal, policy)
    needs = tuple(met(each, standing, facts) for each in needs_of(proposal, policy, rules=rules))
    counted = {who for need in needs for who in need.counted}
    unsure = {who for need in needs for who in need.unsure}
    for who in standing:
        if who not in counted:
            fallen[who] = Fallen.UNSURE if who in unsure else Fallen.ACCESS
    return Approvals(
        counted=tuple(standing[who] for who in sorted(counted)),
        fallen=fallen,
        needs=needs,
        objections=_objections(proposal),
        fresh=_fresh((standing[who] for who in counted), remembered),
    )


def bind(facts: Facts, proposal: Proposal, remembered: Memory) -> list[Event]:
    """Return an event for each native approval not bound yet, bound to what was reviewed."""
    return [
        Approval(
            person=review.author.login,
            account=review.author.id,
            at=review.at,
            review=review.id,
            head=review.head,
            trees=events.content(review.trees),
            digest=proposal.rules.digest,
            beside=review.beside,
            base_ref=proposal.place.base_ref,
            unpublished=proposal.content.unpublished,
            origin=proposal.content.origin,
        )
        for review in unbound(proposal, remembered)
        if review.trees is not None
        and not proposal.unjudged
        and too_early(proposal, remembered, at=review.at, review=review.id) is None
        and not rules_moved(proposal, at=review.at)
        and shown_unpublished(proposal, remembered, at=review.at)
        and _reviewer_saw(facts, proposal, review)
    ]


def fell(facts: Facts, proposal: Proposal, remembered: Memory) -> list[Event]:
    """Return an event for each approval that is void for good: edited, or its content replaced.

    Only a head that git shows too is believed to have replaced another: what a forge tells may be
    older than what was approved. What else can change (rules, base, rights) may change back, and is
    judged afresh at each look.
    """
    edited = proposal.talk.edited
    moved = not proposal.place.closed and facts.head == proposal.place.head
    found: list[Event] = []
    for word in remembered.words.values():
        if not isinstance(word, Approval):
            continue
        why = Fall.EDITED if word.comment in edited else None
        if why is None and moved and word.head != proposal.place.head:
            why = _replaced(word, proposal)
        if why is not None:
            found.append(
                Fell(
                    person=word.person,
                    account=word.account,
                    at=word.at,
                    comment=word.comment,
                    review=word.review,
                    why=why,
                )
            )
    return found


def latest_reviews(proposal: Proposal) -> dict[str, Review]:
    """Return each person's latest native review; a dismissal ends the one it dismissed."""
    latest: dict[str, Review] = {}
    logins = proposal.talk.logins
    for review in proposal.talk.reviews:
        latest[logins.get(review.author.id, review.author.login)] = review
    return latest


def unbound(proposal: Proposal, remembered: Memory) -> list[Review]:
    """Return the native approvals that are a person's latest word and are bound to nothing yet."""
    found = []
    for person, review in latest_reviews(proposal).items():
        word = remembered.words.get(person)
        place = (review.at, 0, review.id, 0, "")
        if review.state is ReviewState.APPROVED and (word is None or replay.order(word) < place):
            found.append(review)
    return found


def too_early(
    proposal: Proposal, remembered: Memory, *, at: datetime, comment: int = 0, review: int = 0
) -> Fallen | None:
    """Return why a statement may predate what it would apply to now; None when it does not.

    Forges tell whole seconds: what happened in the same second may have come after. What was there
    at our first sight is told by its number instead.

    Args:
        proposal: The facts.
        remembered: What our comments and the database remember.
        at: When it was said.
        comment: Number of the comment that says it; 0 for a native review.
        review: Number of the native review; 0 for a comment.
    """
    seen = remembered.seen
    if at <= proposal.times.installed_at:
        return Fallen.INSTALLATION
    if seen is not None and seen.adopted and not (comment > seen.comments or review > seen.reviews):
        return Fallen.ADOPTION
    if proposal.times.base_at is not None and at <= proposal.times.base_at:
        return Fallen.BASE
    if not proposal.times.base_told and (seen is None or at <= seen.at):
        return Fallen.BASE
    return None


def rules_moved(proposal: Proposal, *, at: datetime, shown: bool = False) -> bool:
    """Tell whether the rules may have changed since a statement, within its second too.

    Asked before an approval is bound; from then on its digest tells.

    Args:
        proposal: The facts.
        at: When it was said.
        shown: We had said before that what is in the rules now judges.
    """
    changed = proposal.rules.changed_at is not None and at <= proposal.rules.changed_at
    return changed or not (proposal.rules.changes_told or shown)


def shown_unpublished(
    proposal: Proposal, remembered: Memory, *, at: datetime, comment: int = 0
) -> bool:
    """Tell whether the unpublished content of the base was shown before an approval.

    Args:
        proposal: The facts.
        remembered: What our comments and the database remember.
        at: When the approval was given.
        comment: Number of the comment that gives it; 0 for a native review.
    """
    if not proposal.content.unpublished:
        return True
    told = remembered.notices.get(f"{UNPUBLISHED} {proposal.content.unpublished}")
    return told is not None and (told[0] < comment if comment else told[1] < at)


def judged_before(facts: Facts, proposal: Proposal, at: datetime) -> bool:
    """Tell whether our check run proves that the head has stood since an earlier second.

    It names what the forge told of changes of the head when it was decided (`Facts.head_mark`).
    Where the forge tells when the head came to stand there, that is not overruled.
    """
    run: CheckRun | None = facts.checks.get(VALIDATE)
    return (
        proposal.times.head_at is None
        and run is not None
        and run.ours
        and run.status == Status.COMPLETED
        and run.completed_at is not None
        and run.completed_at < at
        and proposal.place.head == facts.head
        and facts.head_mark != ""
        and run.digest.endswith(f".{facts.head_mark}")
    )


def _reviewer_saw(facts: Facts, proposal: Proposal, review: Review) -> bool:
    """The reviewed commit stood in an earlier second: a forge may fill it in at the last moment."""
    if review.head_at is not None and review.head_at < review.at:
        return True
    return review.head == proposal.place.head and judged_before(facts, proposal, review.at)


def _stands(approval: Approval, latest: Mapping[str, Review]) -> bool:
    """A native approval that was dismissed, or followed by another verdict, is none any more."""
    if not approval.review:
        return True
    review = latest.get(approval.person)
    return (
        review is not None and review.id == approval.review and review.state is ReviewState.APPROVED
    )


def _why_not(approval: Approval, proposal: Proposal, remembered: Memory) -> Fallen | None:
    early = too_early(
        proposal, remembered, at=approval.at, comment=approval.comment, review=approval.reviewed
    )
    if early is not None:
        return early
    if approval.base_ref != proposal.place.base_ref:
        return Fallen.BASE
    if proposal.content.surprising and approval.head != proposal.place.merge_commit:
        return Fallen.MERGE
    replaced = _replaced(approval, proposal)
    if replaced is not None:
        return _FOR_GOOD[replaced]
    if approval.origin in proposal.content.takes_back:
        return Fallen.TAKES_BACK
    if approval.unpublished != proposal.content.unpublished:
        return Fallen.UNPUBLISHED
    if approval.digest != proposal.rules.digest and not proposal.unjudged:
        return Fallen.CONFIGURATION
    return None


def _replaced(approval: Approval, proposal: Proposal) -> Fall | None:
    if approval.trees != events.content(proposal.content.trees):
        return Fall.TREE
    if not proposal.place.merged and approval.beside != proposal.content.beside:
        return Fall.BESIDE  # it would be merged unseen; what is merged is only tagged any more
    return None


def _fresh(counted: Iterable[Approval], remembered: Memory) -> bool:
    """One approval is newer than all that was done to our comments, and than the adoption."""
    adopted = remembered.seen is not None and remembered.seen.adopted
    if not remembered.tampered and not adopted:
        return True
    return any(remembered.refreshed_by(approval) for approval in counted)


def _objections(proposal: Proposal) -> tuple[str, ...]:
    """Requests for changes by people whose word can block: those with write access."""
    return tuple(
        sorted(
            login
            for login, review in latest_reviews(proposal).items()
            if review.state is ReviewState.CHANGES_REQUESTED
            and proposal.people.roles.get(login, Role.NONE) >= Role.WRITE
        )
    )
