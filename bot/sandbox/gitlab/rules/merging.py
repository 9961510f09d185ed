"""Merges: who may, when, by which method; merges that wait; rebases.

Source: https://docs.gitlab.com/user/project/merge_requests/methods/ and
https://docs.gitlab.com/api/merge_requests/#merge-a-merge-request
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from bot.sandbox import refnames
from bot.sandbox.errors import RefusedError
from bot.sandbox.git import history
from bot.sandbox.git.objects import Commit
from bot.sandbox.git.protocol import NewCommit
from bot.sandbox.gitlab import levels, protection
from bot.sandbox.gitlab.errors import conflict, forbidden, not_allowed, unauthorized, unprocessable
from bot.sandbox.gitlab.rules import merge_requests, merge_status, pipelines, settings, threads
from bot.sandbox.records.accounts import User
from bot.sandbox.records.gitlab import AccessLevel
from bot.sandbox.records.merge_requests import AutoMerge, MergeRequest
from bot.sandbox.records.refs import ActivityKind, RefChange
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules import merging
from bot.sandbox.rules.context import Context

SQUASHED = "This project requires squashing commits when merge requests are accepted."


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeOptions:
    """How somebody wants a merge made; None leaves it to the merge request."""

    sha: str | None = None
    squash: bool | None = None
    message: str | None = None
    squash_message: str | None = None
    remove_source: bool | None = None
    auto: bool = False


def may_merge(state: Context, mr: MergeRequest, user: User) -> bool:
    """Whether somebody may merge into the target branch, whatever else forbids it."""
    return protection.may_merge(state, mr.repo, mr.base_ref, user)


def merge(state: Context, mr: MergeRequest, user: User, wish: MergeOptions) -> None:
    """Merge now, or when the checks allow it.

    Raises:
        RefusedError: 401 for who may not; 405 for what cannot be merged now; 422 where the
            branches conflict or need a rebase; 409 for another head. Checked in this order, as
            GitLab does; a head that is another is told last.
    """
    if not may_merge(state, mr, user):
        raise unauthorized()
    word = merge_status.state_blocker(state, mr)
    pipeline = pipelines.head_pipeline(mr)
    going = pipeline is not None and pipeline.state in ("created", "pending", "running")
    waits = wish.auto and (going or word in _AWAITED) and mr.state == "open"
    preparing = mr.preparing and merge_status.detailed(state, mr) in ("preparing", "checking")
    if not waits and (word is not None or preparing):
        raise not_allowed()
    if merge_status.branch_blocker(state, mr) is not None:
        raise unprocessable("Branch cannot be merged")
    if wish.sha is not None and wish.sha != mr.head_sha:
        raise conflict(f"SHA does not match HEAD of source branch: {mr.head_sha}")
    if lacks_squash(mr, wish):
        raise unprocessable(f"Branch cannot be merged: {SQUASHED}")
    order = ordered(mr, user, wish)
    if not waits:
        perform(state, mr, order)
        return
    mr.auto_merge = order
    words = f"enabled an automatic merge when all merge checks for {mr.head_sha} pass"
    threads.system(state, mr, user, words, "merge")
    merge_requests.told(state, mr, user)


def lacks_squash(mr: MergeRequest, wish: MergeOptions) -> bool:
    """Whether somebody must ask for a squash and does not: GitLab does not by itself."""
    squash = mr.squash if wish.squash is None else wish.squash
    return settings.text(mr.repo, "squash_option") == "always" and not squash


def ordered(mr: MergeRequest, user: User, wish: MergeOptions) -> AutoMerge:
    """How a merge is made, with what the merge request says where the wish says nothing."""
    return AutoMerge(
        user=user,
        sha=mr.head_sha,
        squash=_squashes(mr, wish.squash),
        message=wish.message,
        squash_message=wish.squash_message,
        remove_source=mr.remove_source if wish.remove_source is None else wish.remove_source,
    )


def cancel(state: Context, mr: MergeRequest, user: User) -> None:
    """Give up a merge that waits; 405 for who may not, 406 where none does."""
    if mr.auto_merge is None:
        raise RefusedError(406, "406 Not Acceptable")
    if user is not mr.auto_merge.user and not may_merge(state, mr, user):
        raise unauthorized()
    mr.auto_merge = None
    threads.system(state, mr, user, "canceled the automatic merge", "merge")
    merge_requests.told(state, mr, user)


def due(state: Context, mr: MergeRequest) -> None:
    """Make a merge that waited, if nothing forbids it any more."""
    order = mr.auto_merge
    if order is None or mr.head_sha != order.sha or merge_status.blocker(state, mr) is not None:
        return
    pipeline = pipelines.head_pipeline(mr)
    if pipeline is None or pipeline.state in ("success", "skipped"):
        perform(state, mr, order)


def perform(state: Context, mr: MergeRequest, order: AutoMerge) -> None:
    """Make the commits of a merge and move the target branch.

    Raises:
        RefusedError: 422 where git does not.
    """
    repo, base = mr.repo, mr.repo.branch(mr.base_ref)
    if base is None:
        raise unprocessable("Branch cannot be merged")
    method = settings.text(repo, "merge_method")
    planned = merging.PlannedMerge(
        state, mr, order.user, base, None, None, partial(commits, state, mr)
    )
    theirs, squashed = mr.head_sha, None
    if order.squash and len(commits(state, mr)) > 1:
        message = order.squash_message or mr.title
        theirs = squashed = _commit(
            state, repo, planned.tree(), (base,), message, mr.user, order.user
        )
    merged: str | None = None
    tip = theirs
    if method != "ff":
        message = order.message or _merge_message(mr)
        parents = (base, theirs)
        tip = merged = _commit(
            state, repo, planned.tree(), parents, message, order.user, order.user
        )
    change = RefChange(ref=refnames.branch_ref(mr.base_ref), before=base, after=tip)
    if not state.git(repo).move([change]):
        raise unprocessable("Branch cannot be merged")
    mr.squash_commit_sha = squashed
    merge_requests.closed_as_merged(state, mr, order.user, merged, base)
    state.refs_changed(repo, [change], order.user, ActivityKind.PR_MERGE)
    if order.remove_source:
        merge_requests.delete_source(state, mr, order.user)


def rebase(state: Context, mr: MergeRequest, user: User) -> None:
    """Begin to rebase the source branch; whoever reads the merge request sees it end.

    Raises:
        RefusedError: 403 for who may not push to the source branch, 409 while one goes on.
    """
    source = mr.head_repo
    pushes = source is not None and levels.level(state, source, user) >= AccessLevel.DEVELOPER
    if not pushes or mr.state != "open":
        raise forbidden("Cannot push to source branch")
    if mr.rebasing is not None:
        raise conflict(
            "Failed to enqueue the rebase operation, possibly due to a long-lived"
            " transaction. Try again later."
        )
    mr.rebasing, mr.merge_error = user, None


def end_rebase(state: Context, mr: MergeRequest) -> None:
    """Carry out a rebase that was begun."""
    user, mr.rebasing = mr.rebasing, None
    base, source = mr.repo.branch(mr.base_ref), mr.head_repo
    if user is None or base is None or source is None or mr.state != "open":
        return
    git = state.git(mr.repo)
    if history.contains(git, mr.head_sha, base):
        return
    planned = merging.PlannedMerge(state, mr, user, base, None, None, partial(commits, state, mr))
    try:
        tip = planned.perform("rebase")
    except RefusedError:
        mr.merge_error = (
            "Rebase failed: Rebase locally, resolve all conflicts, then push the branch."
        )
        return
    merge_requests.bring(state, source, mr.repo, tip)
    state.update_ref(source, refnames.branch_ref(mr.head_ref), tip, user)


def commits(state: Context, mr: MergeRequest) -> list[Commit]:
    """Commits of a merge request, oldest first."""
    git = state.git(mr.repo)
    base = mr.versions[-1].base_sha
    return [git.commit(sha) for sha in history.commits_between(git, base, mr.head_sha)]


def test_merge(state: Context, mr: MergeRequest, base: str, name: str) -> str | None:
    """Make the commit that a merge into `base` would make; no branch moves.

    Returns:
        The commit, at which `refs/merge-requests/N/<name>` stands; None where they conflict.
    """
    tree = state.git(mr.repo).merge_tree(base, mr.head_sha)
    if tree is None:
        return None
    parents = (base, mr.head_sha)
    made = _commit(state, mr.repo, tree, parents, _merge_message(mr), mr.user, mr.user)
    state.git(mr.repo).point(f"refs/merge-requests/{mr.number}/{name}", made)
    return made


def holds(state: Context, mr: MergeRequest, sha: str) -> bool:
    """Whether a commit came by a merge request, or is how it was merged."""
    if sha in (mr.merge_commit_sha, mr.squash_commit_sha, mr.head_sha):
        return True
    git = state.git(mr.repo)
    return any(
        history.contains(git, version.head_sha, sha)
        and not history.contains(git, version.base_sha, sha)
        for version in mr.versions
    )


_AWAITED = (
    "ci_must_pass",
    "ci_still_running",
    "not_approved",
    "discussions_not_resolved",
    "draft_status",
    "requested_changes",
    "approvals_syncing",
)


def _squashes(mr: MergeRequest, wanted: bool | None) -> bool:
    option = settings.text(mr.repo, "squash_option")
    if option in ("always", "never"):
        return option == "always"
    return mr.squash if wanted is None else wanted


def _merge_message(mr: MergeRequest) -> str:
    full = f"{mr.repo.full_name}!{mr.number}"
    title = f"Merge branch '{mr.head_ref}' into '{mr.base_ref}'"
    return f"{title}\n\n{mr.title}\n\nSee merge request {full}"


def _commit(
    state: Context,
    repo: Repository,
    tree: str,
    parents: tuple[str, ...],
    message: str,
    author: User,
    by: User,
) -> str:
    return state.git(repo).write_commit(
        NewCommit(
            tree=tree,
            parents=parents,
            message=message,
            author=state.person(author),
            committer=state.person(by),
        )
    )
