"""`/approve` and `/unapprove`: approvals bound to what their writer could see."""

from dataclasses import dataclass

from lifecycle import events, memory
from lifecycle.approvals import (
    Fallen,
    approvals_of,
    judged_before,
    rules_moved,
    shown_unpublished,
    too_early,
)
from lifecycle.commands.spec import CommandRequest, CommandResponse
from lifecycle.events import Approval, TakenBack
from lifecycle.facts.conversation import Comment, ReviewState
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal
from lifecycle.identity import RepositoryId
from lifecycle.messages import answers as texts
from lifecycle.policy import Policy, RenderMode

_CONTRADICT = frozenset({ReviewState.CHANGES_REQUESTED, ReviewState.DISMISSED})
"""Verdicts of reviews in whose text nobody approves."""


@dataclass(frozen=True, slots=True)
class ApproveCommand:
    """Approve the content that stands now; that of one commit alone where it names one."""

    commit: str = ""


@dataclass(frozen=True, slots=True)
class UnapproveCommand:
    """Take one's own approval back."""


def approve(
    request: CommandRequest, response: CommandResponse, command: ApproveCommand
) -> CommandResponse:
    """Bind the approval to what its writer could see; refuse where that is not certain."""
    p, comment = response.proposal, request.comment
    after_merge = _after_merge(p, comment, request.facts.repository_id)
    approved = p.place.merge_commit if after_merge and p.place.merge_commit else p.place.head
    if not approved.startswith(command.commit):
        return response.refuse(texts.other_commit(command.commit, approved))
    review = comment.review
    # The number of a box has no order among comments: of it the time alone tells.
    number, in_review = (0, review.id) if review else (max(comment.id, 0), 0)
    early = too_early(p, response.memory, at=comment.at, comment=number, review=in_review)
    if early is not None:
        return response.refuse(texts.approved_too_early(early))
    if review and review.state in _CONTRADICT:
        return response.refuse(texts.approve_contradicted(review.state))
    if p.unjudged:
        return response.refuse(texts.APPROVE_UNJUDGED)
    shown = memory.shown_rules_before(p, comment)
    if rules_moved(p, at=comment.at, shown=shown):
        return response.refuse(texts.approved_too_early(Fallen.CONFIGURATION))
    if not shown_unpublished(p, response.memory, at=comment.at, comment=number):
        return response.refuse(texts.approved_too_early(Fallen.UNPUBLISHED))
    if not after_merge:
        if _will_be_rendered(request.facts, p):
            return response.refuse(texts.approve_after_render(p.place.head))
        if not _saw_head(request, response):
            return response.refuse(texts.head_moved(p.place.head))
    approval = Approval(
        person=comment.author.login,
        account=comment.author.id,
        head=approved,
        trees=events.content(p.content.trees if after_merge else p.content.head_trees),
        digest=p.rules.digest,
        at=comment.at,
        comment=comment.id,
        review=in_review if review and review.state else 0,
        beside=p.content.beside,
        base_ref=p.place.base_ref,
        unpublished=p.content.unpublished,
        origin=str(p.place.base) if after_merge else p.content.origin,
    )
    return response.cause(approval)


def _after_merge(proposal: Proposal, comment: Comment, repository_id: RepositoryId) -> bool:
    """Its writer could see the merge result, and not only the head that was merged.

    Forges tell times in whole seconds. Within the second of the merge only our report on it, which
    the comment follows, proves the order; otherwise the approval is of the head.
    """
    if proposal.place.merged_at is None or comment.at < proposal.place.merged_at:
        return False
    if comment.at > proposal.place.merged_at:
        return True
    report = memory.report_of(proposal, repository_id)
    ordered = not comment.review and not comment.button
    return report is not None and ordered and report.id < comment.id


def _will_be_rendered(facts: Facts, proposal: Proposal) -> bool:
    """A render commit is about to replace the head; an approval of this one would not last."""
    return (
        isinstance(proposal.rules.policy, Policy)
        and proposal.rules.policy.render is RenderMode.COMMIT
        and facts.is_draft_branch
        and bool(proposal.unrendered)
        and not facts.rendered_by_us
        and not facts.push_refused
    )


def _saw_head(request: CommandRequest, response: CommandResponse) -> bool:
    """The head stood when the comment was written: nobody swapped it in between (threat 6).

    Forges tell times in whole seconds: a change in an earlier second is earlier. Within one second,
    or where the forge does not tell, our own check or comment proves it, if it was there before.
    A review names the commit that it was of.
    """
    p, comment = response.proposal, request.comment
    if comment.review and comment.review.head != p.place.head:
        return False
    if p.times.head_at is not None and p.times.head_at != comment.at:
        return p.times.head_at < comment.at
    return judged_before(request.facts, p, comment.at) or memory.shown_head_before(
        p, comment, response.memory
    )


def unapprove(
    request: CommandRequest, response: CommandResponse, _command: UnapproveCommand
) -> CommandResponse:
    """Take the approval back; refuse where there is none."""
    known = _taken_back(request) in response.memory.log  # while another command of it waits
    if not known and not approves(request, response):
        return response.refuse(texts.NOTHING_TO_UNAPPROVE)
    return take_back(request, response)


def approves(request: CommandRequest, response: CommandResponse) -> bool:
    """Its writer has an approval that counts, or may have while no rules can be read."""
    p, policy = response.proposal, response.proposal.rules.policy
    if not isinstance(policy, Policy):
        return True
    given = approvals_of(p, policy, response.memory)
    return request.comment.author.login in {a.person for a in given.counted}


def take_back(request: CommandRequest, response: CommandResponse) -> CommandResponse:
    """Remember that the writer's approvals are taken back."""
    return response.cause(_taken_back(request))


def _taken_back(request: CommandRequest) -> TakenBack:
    comment = request.comment
    who = comment.author
    return TakenBack(person=who.login, account=who.id, at=comment.at, comment=comment.id)
