"""Which approvals count: who gave them, to exactly what, and whether that still stands.

An approval is a person, a head, the tree of each touched package and the digest of the
configuration that can change the verdict (DESIGN 7), and while it is open what else would be merged
with them. It falls when one of these changes, and survives a rebase that leaves them alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from lifecycle import memory
from lifecycle.access import Action, Allowed, Role, authorise
from lifecycle.facts import Proposal, Review, ReviewState
from lifecycle.memory import Approval, Memory
from lifecycle.policy import Policy


class Fallen(StrEnum):
    """Why an approval that was given does not count."""

    TREE = "the package changed since"
    BESIDE = "what is merged beside the package changed since"
    CONFIGURATION = "the rules that judge the package changed since"
    ACCESS = "this person may not approve here"
    MERGE = "it was given before the merge, which did more than was shown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The approvals of one proposal.

    Attributes:
        counted: One for each person, sorted by login.
        fallen: Login to why that person's last approval does not count; none for those counted.
        needed: How many people must approve.
        objections: Logins whose request for changes stands, sorted.
    """

    counted: tuple[Approval, ...]
    fallen: dict[str, Fallen]
    needed: int
    objections: tuple[str, ...]

    @property
    def missing(self) -> int:
        """How many more people must approve; 0 when enough have."""
        return max(0, self.needed - len(self.counted))


def standing(
    proposal: Proposal, policy: Policy, remembered: Memory, repository_id: int
) -> Standing:
    """Work out which approvals count.

    A commit whose author or pusher is unknown makes self-approval undecidable; then one more
    person must approve, unless the rules allow approving one's own work (DESIGN 7).
    """
    counted: dict[str, Approval] = {}
    fallen: dict[str, Fallen] = {}
    for approval in _given(proposal, remembered, repository_id):
        why = _why_not(approval, proposal, policy)
        if why is None:
            counted[approval.person] = approval
            fallen.pop(approval.person, None)
        elif approval.person not in counted:
            fallen[approval.person] = why
    uncertain = not proposal.authors_known and not policy.approve.self_allowed
    least = max(policy.approve.require, int(proposal.surprising))
    return Standing(
        counted=tuple(counted[who] for who in sorted(counted)),
        fallen=fallen,
        needed=least + uncertain,
        objections=_objections(proposal),
    )


def bound_reviews(proposal: Proposal, remembered: Memory) -> dict[int, Approval]:
    """What each native approval binds to: as remembered, or as first seen now."""
    bound = dict(remembered.reviews)
    for review in proposal.reviews:
        if review.state is ReviewState.APPROVED and review.id not in bound and review.trees:
            bound[review.id] = Approval(
                person=review.author.login,
                head=review.head,
                trees=review.trees,
                digest=proposal.digest,
                at=review.at,
                beside=review.beside,
            )
    return bound


def _given(proposal: Proposal, remembered: Memory, repository_id: int) -> Iterator[Approval]:
    """Approvals not taken back, oldest first."""
    bound = bound_reviews(proposal, remembered)
    latest = latest_reviews(proposal)
    reviews = [
        bound[r.id] for r in latest.values() if r.state is ReviewState.APPROVED and r.id in bound
    ]
    for approval in sorted(
        [*memory.approvals(proposal, repository_id), *reviews],
        key=lambda a: (a.at, a.comment, a.person),
    ):
        withdrawn = remembered.withdrawn.get(approval.person)
        if withdrawn is None or not withdrawn.covers(approval):
            yield approval


def latest_reviews(proposal: Proposal) -> dict[str, Review]:
    """Each person's last verdict; a dismissal ends the one it dismissed."""
    latest: dict[str, Review] = {}
    for review in proposal.reviews:
        latest[review.author.login] = review
    return latest


def _why_not(approval: Approval, proposal: Proposal, policy: Policy) -> Fallen | None:
    if proposal.surprising and approval.head != proposal.merge_commit:
        return Fallen.MERGE
    if dict(approval.trees) != dict(proposal.trees):
        return Fallen.TREE
    if not proposal.merged and approval.beside != proposal.beside:
        return Fallen.BESIDE  # it would be merged unseen; what is merged is only tagged any more
    if approval.digest != proposal.digest:
        return Fallen.CONFIGURATION
    allowed = authorise(
        approval.person,
        Action.APPROVE,
        role=proposal.roles.get(approval.person, Role.NONE),
        is_author=approval.person in proposal.authors,
        policy=policy,
    )
    return None if isinstance(allowed, Allowed) else Fallen.ACCESS


def _objections(proposal: Proposal) -> tuple[str, ...]:
    """Requests for changes by people whose word can block: those with write access."""
    return tuple(
        sorted(
            login
            for login, review in latest_reviews(proposal).items()
            if review.state is ReviewState.CHANGES_REQUESTED
            and proposal.roles.get(login, Role.NONE) >= Role.WRITE
        )
    )
