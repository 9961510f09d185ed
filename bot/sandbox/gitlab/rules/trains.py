"""Merge trains: merge requests that are merged one after the other, each tested on the ones before.

Each car has a pipeline at what its merge would make on top of the cars before it. The first car is
merged once its pipeline succeeded. One whose pipeline failed, or that cannot be merged any more,
leaves before that (it is not looked at when it changes), and those behind it are tested anew.
Source: https://docs.gitlab.com/ci/pipelines/merge_trains/ (Premium)
"""

from __future__ import annotations

from bot.sandbox.git.objects import Commit
from bot.sandbox.gitlab import levels
from bot.sandbox.gitlab.errors import bad_request, conflict, forbidden, unauthorized
from bot.sandbox.gitlab.rules import merge_status, merging, pipelines, settings, threads
from bot.sandbox.records.accounts import User
from bot.sandbox.records.merge_requests import Car, MergeRequest
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.context import Context


def enabled(state: Context, repo: Repository) -> None:
    """Refuse where a project has no trains; 403."""
    if not settings.flag(repo, "merge_trains_enabled") or not levels.has_tier(state, repo):
        raise forbidden()


def cars(repo: Repository, branch: str) -> list[MergeRequest]:
    """The merge requests on the train of a branch, the first to be merged first."""
    found = [
        (pull.car.id, pull)
        for pull in repo.open_pulls.values()
        if isinstance(pull, MergeRequest) and pull.car is not None and pull.base_ref == branch
    ]
    return [pull for _, pull in sorted(found, key=lambda pair: pair[0])]


def add(state: Context, mr: MergeRequest, user: User, wish: merging.MergeOptions) -> None:
    """Put a merge request at the end of the train.

    Raises:
        RefusedError: 401 for who may not merge, 409 for another head or one that is on it already,
            400 for what cannot be merged.
    """
    enabled(state, mr.repo)
    if not merging.may_merge(state, mr, user):
        raise unauthorized()
    if wish.sha is not None and wish.sha != mr.head_sha:
        raise conflict(f"SHA does not match HEAD of source branch: {mr.head_sha}")
    if mr.car is not None:
        raise conflict("Merge request is already on a merge train")
    word = merge_status.blocker(state, mr)
    if merging.lacks_squash(mr, wish):
        word = merging.SQUASHED
    ahead = cars(mr.repo, mr.base_ref)
    last = ahead[-1].car if ahead else None
    base = last.pipeline.sha if last else mr.repo.branch(mr.base_ref)
    made = merging.test_merge(state, mr, base, "train") if base and word is None else None
    if made is None:
        raise bad_request(f"Failed to add to the merge train: {word or 'conflict'}")
    now = state.now()
    mr.car = Car(
        id=state.next_id(),
        order=merging.ordered(mr, user, wish),
        created_at=now,
        updated_at=now,
        pipeline=pipelines.train(state, mr, user, made),
    )
    threads.system(state, mr, user, "started a merge train", "merge")


def leave(state: Context, mr: MergeRequest, user: User, why: str) -> None:
    """Take a merge request off its train; those behind it are tested anew."""
    _off(state, mr, user, why)
    refresh(state, mr.repo, mr.base_ref)


def refresh(state: Context, repo: Repository, branch: str) -> None:
    """Let leave what cannot be merged any more, and test anew what stands on another commit now.

    The car's pipeline counts, and not the merge request's own.
    Source: `MergeTrains::RefreshMergeRequestService` of GitLab.
    """
    tip = repo.branch(branch)
    for mr in cars(repo, branch):
        if mr.car is None or tip is None:
            continue
        if merge_status.state_blocker(state, mr, by_pipeline=False) is not None:
            _off(state, mr, mr.car.order.user, "because merge request is not mergeable")
            continue
        if not _stands_on(state, repo, mr.car, tip):
            made = merging.test_merge(state, mr, tip, "train")
            if made is None:
                _off(state, mr, mr.user, "because it conflicts")
                continue
            mr.car.pipeline = pipelines.train(state, mr, mr.car.order.user, made)
            mr.car.updated_at = state.now()
        tip = mr.car.pipeline.sha


def _stands_on(state: Context, repo: Repository, car: Car, tip: str) -> bool:
    """Whether a car was tested on this commit, or on what became it: its merge as it was tested."""
    git = state.git(repo)
    before = git.commit(car.pipeline.sha).parents[0]
    return before == tip or _like(git.commit(before)) == _like(git.commit(tip))


def _like(commit: Commit) -> tuple[str, str]:
    return commit.tree, commit.parents[0] if commit.parents else commit.sha


def advance(state: Context, repo: Repository, branch: str) -> None:
    """Merge from the front what is tested well; let leave what failed."""
    refresh(state, repo, branch)
    while ahead := cars(repo, branch):
        mr, car = ahead[0], ahead[0].car
        failed = next((m for m in ahead if m.car and m.car.pipeline.state in _BAD), None)
        if failed is not None:
            leave(state, failed, failed.user, "because the pipeline did not succeed")
        elif car is not None and car.pipeline.state == "success":
            mr.car = None
            merging.perform(state, mr, car.order)
            refresh(state, repo, branch)
        else:
            return


def _off(state: Context, mr: MergeRequest, user: User, why: str) -> None:
    mr.car = None
    words = f"removed this merge request from the merge train {why}"
    threads.system(state, mr, user, words, "merge")


_BAD = ("failed", "canceled")
