"""Whether a merge request can be merged, in GitLab's words, and when GitLab knows.

The checks and their order: `MergeRequests::Mergeability::DetailedMergeStatusService`; the words:
https://docs.gitlab.com/api/merge_requests/#merge-status
"""

from __future__ import annotations

from bot.sandbox.git import history
from bot.sandbox.gitlab import levels
from bot.sandbox.gitlab.rules import approvals, pipelines, settings, status_checks, threads
from bot.sandbox.records.merge_requests import MergeRequest
from bot.sandbox.rules.context import Context


def read(state: Context, mr: MergeRequest) -> None:
    """Count a reading of one merge request: the first ones after a change start the search."""
    _refresh(mr)
    if mr.mergeable_reads < state.null_reads:
        mr.mergeable_reads += 1
    else:
        mr.mergeable_reads = state.null_reads + 1
        mr.preparing = False
    approvals.read(state, mr)


def detailed(state: Context, mr: MergeRequest) -> str:
    """GitLab's `detailed_merge_status`; counts no reading."""
    _refresh(mr)
    if mr.state == "open" and not _known(state, mr):
        at_first = "preparing" if mr.preparing else "unchecked"
        return at_first if mr.mergeable_reads == 0 else "checking"
    return blocker(state, mr) or "mergeable"


def blocker(state: Context, mr: MergeRequest) -> str | None:
    """The first thing that forbids the merge, searched for at once; None for nothing."""
    return state_blocker(state, mr) or branch_blocker(state, mr)


def state_blocker(state: Context, mr: MergeRequest, *, by_pipeline: bool = True) -> str | None:
    """What forbids the merge, the branches left aside; and its own pipeline, where that is so."""
    repo = mr.repo
    if mr.state != "open":
        return "not_open"
    if mr.draft:
        return "draft_status"
    if mr.head_repo is None or mr.head_repo.branch(mr.head_ref) is None:
        return "commits_status"
    if repo.branch(mr.base_ref) is None:
        return "broken_status"
    binding = settings.flag(repo, "only_allow_merge_if_all_discussions_are_resolved")
    if binding and not threads.all_resolved(mr):
        return "discussions_not_resolved"
    if by_pipeline and settings.flag(repo, "only_allow_merge_if_pipeline_succeeds"):
        word = _pipeline_blocker(mr)
        if word is not None:
            return word
    if levels.has_tier(state, repo):
        if mr.reset_reads:
            return "approvals_syncing"
        if any(review.state == "requested_changes" for review in mr.reviews_by.values()):
            return "requested_changes"
        if approvals.left(state, mr):
            return "not_approved"
        if settings.flag(repo, "only_allow_merge_if_all_status_checks_passed") and any(
            status_checks.answer(check, mr) != "passed" for check in status_checks.of(state, mr)
        ):
            return "status_checks_must_pass"
    return None


def branch_blocker(state: Context, mr: MergeRequest) -> str | None:
    """Whether the branches conflict, or the source has to be rebased first."""
    if has_conflicts(state, mr):
        return "conflict"
    method = settings.text(mr.repo, "merge_method")
    return "need_rebase" if method != "merge" and diverged(state, mr) else None


def has_conflicts(state: Context, mr: MergeRequest) -> bool:
    """Whether the branches do not merge; worked out once for each pair of tips."""
    base = mr.repo.branch(mr.base_ref)
    if mr.state != "open" or base is None:
        return False
    _refresh(mr)
    if mr.mergeable is None:
        mr.mergeable = state.git(mr.repo).merge_tree(base, mr.head_sha) is not None
    return not mr.mergeable


def diverged(state: Context, mr: MergeRequest) -> int:
    """How many commits of the target branch the source lacks."""
    base = mr.repo.branch(mr.base_ref)
    return len(history.commits_between(state.git(mr.repo), mr.head_sha, base)) if base else 0


def merge_status(state: Context, mr: MergeRequest) -> str:
    """The older field `merge_status`: `checking`, `can_be_merged`."""
    if mr.state == "open" and not _known(state, mr):
        return "checking" if mr.preparing or mr.mergeable_reads else "unchecked"
    return "cannot_be_merged" if has_conflicts(state, mr) else "can_be_merged"


def _known(state: Context, mr: MergeRequest) -> bool:
    return state.null_reads == 0 or mr.mergeable_reads > state.null_reads


def _refresh(mr: MergeRequest) -> None:
    pair = (mr.repo.branch(mr.base_ref) or "", mr.head_sha)
    if mr.mergeable_for != pair:
        mr.mergeable_for, mr.mergeable, mr.mergeable_reads = pair, None, 0


def _pipeline_blocker(mr: MergeRequest) -> str | None:
    pipeline = pipelines.head_pipeline(mr)
    if pipeline is None:
        return "ci_must_pass"
    if pipeline.state in ("created", "pending", "running"):
        return "ci_still_running"
    skipped = settings.flag(mr.repo, "allow_merge_on_skipped_pipeline")
    good = pipeline.state == "success" or (pipeline.state == "skipped" and skipped)
    return None if good else "ci_must_pass"
