"""Approvals: given, taken back, needed, and reset by a push where that is set.

On Free anybody who may change a merge request may approve it, its author too, and nothing needs
approvals. Rules, and the settings that forbid one's own approval or reset approvals, are Premium.
Source: https://docs.gitlab.com/api/merge_request_approvals/
"""

from __future__ import annotations

from bot.sandbox.gitlab import levels
from bot.sandbox.gitlab.errors import conflict, missing, unauthorized
from bot.sandbox.gitlab.rules import threads
from bot.sandbox.records.accounts import User
from bot.sandbox.records.gitlab import AccessLevel
from bot.sandbox.records.merge_requests import Approval, MergeRequest, ReviewerState
from bot.sandbox.records.premium import ApprovalRule
from bot.sandbox.rules.context import Context


def can_approve(state: Context, mr: MergeRequest, user: User) -> bool:
    """Whether somebody may approve now."""
    if mr.state != "open" or mr.approved_by(user):
        return False
    own = mr.user is user
    allowed = bool(mr.repo.gitlab.approvals.get("merge_requests_author_approval"))
    if own and not allowed and levels.has_tier(state, mr.repo):
        return False
    return own or levels.level(state, mr.repo, user) >= AccessLevel.DEVELOPER


def approve(state: Context, mr: MergeRequest, user: User, sha: str | None = None) -> None:
    """Approve; 409 for another head than `sha`, 401 for who may not, or did already."""
    if sha is not None and sha != mr.head_sha:
        raise conflict(f"SHA does not match HEAD of source branch: {mr.head_sha}")
    if not can_approve(state, mr, user):
        raise unauthorized()
    now = state.now()
    mr.approvals.append(Approval(user, now))
    mr.reviews_by[user.id] = ReviewerState("approved", now)
    if user not in mr.requested_reviewers and user is not mr.user:
        mr.requested_reviewers.append(user)
    mr.updated_at = now
    threads.system(state, mr, user, "approved this merge request", "approval")
    action = "approval" if left(state, mr) else "approved"
    state.emit("merge_request", action, mr.repo, user, merge_request=mr)


def unapprove(state: Context, mr: MergeRequest, user: User) -> None:
    """Take one's approval back; 404 where there is none."""
    if not mr.approved_by(user):
        raise missing()
    whole = not left(state, mr)
    mr.approvals = [approval for approval in mr.approvals if approval.user is not user]
    mr.reviews_by[user.id] = ReviewerState("unapproved", state.now())
    mr.updated_at = state.now()
    threads.system(state, mr, user, "unapproved this merge request", "unapproval")
    lost = whole and (left(state, mr) or not levels.has_tier(state, mr.repo))
    state.emit(
        "merge_request", "unapproved" if lost else "unapproval", mr.repo, user, merge_request=mr
    )


def request_changes(state: Context, mr: MergeRequest, user: User) -> None:
    """Ask for changes; no webhook tells of it (gitlab#592358)."""
    if mr.state != "open" or levels.level(state, mr.repo, user) < AccessLevel.DEVELOPER:
        raise unauthorized()
    mr.approvals = [approval for approval in mr.approvals if approval.user is not user]
    mr.reviews_by[user.id] = ReviewerState("requested_changes", state.now())
    if user not in mr.requested_reviewers:
        mr.requested_reviewers.append(user)
    mr.updated_at = state.now()
    threads.system(state, mr, user, "requested changes", "error")


def reset(state: Context, mr: MergeRequest, user: User) -> None:
    """Take all approvals back."""
    for approval in mr.approvals:
        mr.reviews_by[approval.user.id] = ReviewerState("unapproved", state.now())
    had, mr.approvals, mr.reset_reads = bool(mr.approvals), [], 0
    if had:
        state.emit(
            "merge_request",
            "unapproved",
            mr.repo,
            user,
            merge_request=mr,
            system_action="approvals_reset_on_push",
        )


def pushed(state: Context, mr: MergeRequest, user: User) -> None:
    """Begin to reset approvals after a push, where the project says so."""
    wanted = mr.repo.gitlab.approvals.get("reset_approvals_on_push", True)
    if not wanted or not levels.has_tier(state, mr.repo):
        return
    if state.null_reads == 0:
        reset(state, mr, user)
    else:
        mr.reset_reads = state.null_reads + 1


def read(state: Context, mr: MergeRequest) -> None:
    """Count a reading; approvals that a push takes back are gone after a few."""
    if mr.reset_reads:
        mr.reset_reads -= 1
        if mr.reset_reads == 0:
            reset(state, mr, mr.user)


def required(state: Context, mr: MergeRequest) -> int:
    """How many people must approve; none without Premium."""
    if not levels.has_tier(state, mr.repo):
        return 0
    return max(_of_any(mr), *(rule.required for rule in rules(state, mr)), 0)


def left(state: Context, mr: MergeRequest) -> int:
    """How many approvals are lacking: of the rule that lacks most."""
    if not levels.has_tier(state, mr.repo):
        return 0
    lacking = (rule.required - len(given(rule, mr)) for rule in rules(state, mr))
    return max(_of_any(mr) - len(mr.approvals), *lacking, 0)


def rules(state: Context, mr: MergeRequest) -> list[ApprovalRule]:
    """The rules that hold for a merge request; none without Premium."""
    if not levels.has_tier(state, mr.repo):
        return []
    found = mr.repo.gitlab.approval_rules.values()
    return [rule for rule in found if not rule.branches or mr.base_ref in rule.branches]


def given(rule: ApprovalRule, mr: MergeRequest) -> list[User]:
    """Who approved of those whom a rule names; of anybody where it names nobody."""
    return [one.user for one in mr.approvals if not rule.users or one.user in rule.users]


def _of_any(mr: MergeRequest) -> int:
    """What the older setting asks for."""
    return int(str(mr.repo.gitlab.approvals.get("approvals_before_merge") or 0))
