"""What a push does to merge requests: new versions, merges made by git, branches that are gone.

Source: `MergeRequests::RefreshService` of GitLab.
"""

from __future__ import annotations

from bot.sandbox import refnames
from bot.sandbox.git import history
from bot.sandbox.gitlab.rules import approvals, merge_requests, scheduled, threads
from bot.sandbox.records.accounts import User
from bot.sandbox.records.merge_requests import MergeRequest
from bot.sandbox.records.refs import RefChange
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules import merging as shared
from bot.sandbox.rules.context import Context

_MOST_LISTED = 100


def branch_moved(state: Context, repo: Repository, change: RefChange, actor: User) -> None:
    """Let merge requests follow a branch that moved or went."""
    branch = refnames.branch_name(change.ref)
    for mr in [mr for mr in merge_requests.of(repo) if _open(mr) and mr.base_ref == branch]:
        _target_moved(state, mr, change, actor)
    for target in list(state.data.repositories.values()):
        for pull in list(target.pulls_by_head.get(branch, ())):
            if isinstance(pull, MergeRequest) and pull.head_repo is repo and _open(pull):
                _source_moved(state, pull, change, actor)


def _open(mr: MergeRequest) -> bool:
    return mr.state == "open"


def _target_moved(state: Context, mr: MergeRequest, change: RefChange, actor: User) -> None:
    """Take note of a merge by git; a target branch that is gone leaves the merge request open."""
    if change.deletes or change.creates:
        return
    git = state.git(mr.repo)
    held = history.contains(git, change.after, mr.head_sha)
    if held and not history.contains(git, change.before, mr.head_sha):
        landed = shared.landing(git, change.after, mr.head_sha)
        commit = landed if landed != mr.head_sha else None
        merge_requests.closed_as_merged(state, mr, actor, commit, change.before)


def _source_moved(state: Context, mr: MergeRequest, change: RefChange, actor: User) -> None:
    """Make a new version; a source branch that is gone leaves the merge request open."""
    if change.deletes:
        words = f"deleted the `{mr.head_ref}` branch. This merge request now cannot be merged"
        threads.system(state, mr, actor, words, "branch")
        return
    if change.creates:
        threads.system(state, mr, actor, f"restored source branch `{mr.head_ref}`", "branch")
    before = mr.head_sha
    if change.after == before or mr.head_repo is None:
        return
    merge_requests.bring(state, mr.repo, mr.head_repo, change.after)
    mr.head_sha, mr.updated_at = change.after, state.now()
    version = merge_requests.add_version(state, mr)
    _tell_commits(state, mr, actor, before)
    threads.diff_moved(state, mr, actor, version)
    for user_id, review in list(mr.reviews_by.items()):
        if review.state == "reviewed":
            del mr.reviews_by[user_id]
    scheduled.give_up(state, mr, actor, "source branch was updated")
    approvals.pushed(state, mr, actor)
    state.emit(
        "merge_request", "update", mr.repo, actor, merge_request=mr, oldrev=before, changes={}
    )


def _tell_commits(state: Context, mr: MergeRequest, actor: User, before: str) -> None:
    git = state.git(mr.repo)
    fresh = history.commits_between(git, before, mr.head_sha)
    many = f"{len(fresh)} commit{'' if len(fresh) == 1 else 's'}"
    listed = "".join(
        f"<li>{sha[:8]} - {git.commit(sha).message.splitlines()[0]}</li>"
        for sha in fresh[:_MOST_LISTED]
    )
    body = f"added {many}\n\n<ul>{listed}</ul>\n\n[Compare with previous version]({_compare(mr)})"
    threads.system(state, mr, actor, body, "commit")


def _compare(mr: MergeRequest) -> str:
    older, newer = mr.versions[-2], mr.versions[-1]
    page = f"/{mr.repo.full_name}/-/merge_requests/{mr.number}/diffs"
    return f"{page}?diff_id={newer.id}&start_sha={older.head_sha}"
