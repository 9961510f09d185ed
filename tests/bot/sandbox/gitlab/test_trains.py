"""Merge trains of the sandbox's GitLab."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bot.sandbox.records.gitlab import PREMIUM
from tests.bot.sandbox.gitlab.conftest import Hub, refusal


@pytest.fixture
def train(hub: Hub) -> Hub:
    hub.forge.state.data.gitlab.tier = PREMIUM
    hub.set(merge_trains_enabled=True, merge_pipelines_enabled=True)
    for branch in ("change", "other"):
        hub.commit(branch, {f"{branch}.txt": branch})
        hub.merge_request(branch)
    return hub


def _add(hub: Hub, iid: int, **wish: object) -> None:
    client = hub.project("ann").manager.gitlab
    client.http_post(f"/projects/{hub.repo.id}/merge_trains/merge_requests/{iid}", post_data=wish)


def _cars(hub: Hub) -> list[tuple[int, str]]:
    client = hub.project("ann").manager.gitlab
    found = client.http_list(f"/projects/{hub.repo.id}/merge_trains/main", {"sort": "asc"})
    return [(car["merge_request"]["iid"], car["pipeline"]["sha"]) for car in found]


def _status(hub: Hub, sha: str, state: str) -> None:
    hub.project("ann").commits.get(sha, lazy=True).statuses.create({"state": state, "name": "x"})


def test_cars_are_tested_on_those_before_and_merged_in_order(train: Hub) -> None:
    """Fails for a train that tests each merge request on the target branch alone."""
    _add(train, 1)
    _add(train, 2)
    (_, first), (_, second) = _cars(train)
    assert train.forge.state.git(train.repo).commit(second).parents[0] == first
    _status(train, second, "success")
    assert [iid for iid, _ in _cars(train)] == [1, 2]
    _status(train, first, "success")

    assert _cars(train) == []
    assert [mr.merged for mr in train.repo.pulls.values()] == [True, True]


def test_one_that_fails_leaves_and_the_rest_is_tested_anew(train: Hub) -> None:
    _add(train, 1)
    _add(train, 2)
    (_, first), (_, second) = _cars(train)
    _status(train, first, "failed")

    [(iid, anew)] = _cars(train)
    assert (iid, anew != second) == (2, True)
    parents = train.forge.state.git(train.repo).commit(anew).parents
    assert parents[0] == train.repo.branch("main")


def test_who_is_refused(train: Hub) -> None:
    _add(train, 1)

    assert refusal(lambda: _add(train, 1))[0] == 409
    assert refusal(lambda: _add(train, 2, sha="0" * 40))[0] == 409
    train.project("ann").mergerequests.get(1).cancel_merge_when_pipeline_succeeds()
    assert _cars(train) == []
    train.set(merge_trains_enabled=False)
    assert refusal(lambda: _add(train, 2))[0] == 403


def _draft(hub: Hub) -> None:
    hub.project("ann").mergerequests.update(1, {"title": "Draft: change"})


def _opens_thread(hub: Hub) -> None:
    hub.set(only_allow_merge_if_all_discussions_are_resolved=True)
    hub.project("ann").mergerequests.get(1).discussions.create({"body": "No."})


def _demands_approval(hub: Hub) -> None:
    hub.project("olga").approvalrules.create({"name": "any", "approvals_required": 1})
    hub.project("ben").mergerequests.get(2).approve()


@pytest.mark.parametrize("change", [_draft, _opens_thread, _demands_approval])
def test_what_cannot_be_merged_any_more_is_dropped_before_it_is(
    train: Hub, change: Callable[[Hub], None]
) -> None:
    """Fails for a train that merges whatever was once put on it."""
    _add(train, 1)
    _add(train, 2)
    (_, first), _ = _cars(train)
    change(train)
    _status(train, first, "success")

    [(iid, anew)] = _cars(train)
    assert iid == 2
    parents = train.forge.state.git(train.repo).commit(anew).parents
    assert parents[0] == train.repo.branch("main")
    assert not train.project("ann").mergerequests.get(1).merge_when_pipeline_succeeds
    notes = train.project("ann").mergerequests.get(1).notes.list(get_all=True)
    why = "removed this merge request from the merge train because merge request is not mergeable"
    assert why in [note.body for note in notes]


def _reopened(hub: Hub) -> None:
    for event in ("close", "reopen"):
        hub.project("ann").mergerequests.update(1, {"state_event": event})


def _retargeted(hub: Hub) -> None:
    branches = hub.project("ann").branches
    branches.create({"branch": "release", "ref": "main"})
    hub.project("ann").mergerequests.update(1, {"target_branch": "release"})


@pytest.mark.parametrize("change", [_reopened, _retargeted])
def test_what_is_closed_or_goes_elsewhere_leaves_at_once(
    train: Hub, change: Callable[[Hub], None]
) -> None:
    """Fails for one that is on the train again once it is opened again, or on another one."""
    _add(train, 1)
    _add(train, 2)
    (_, first), (_, second) = _cars(train)
    change(train)

    mine = train.project("ann").mergerequests.get(1)
    assert not mine.merge_when_pipeline_succeeds
    assert [iid for iid, _ in _cars(train)] == [2]
    _status(train, first, "success")
    _status(train, second, "success")
    assert train.project("ann").mergerequests.get(1).state == "opened"
    [(iid, anew)] = _cars(train)
    assert (iid, anew != second) == (2, True)  # what it was tested on is not there any more


def test_what_is_on_a_train_is_shown_to_merge_by_itself(train: Hub) -> None:
    """Fails where only what waits for its own pipeline is shown so."""
    _add(train, 1)

    assert train.project("ann").mergerequests.get(1).merge_when_pipeline_succeeds


def test_a_new_target_ends_an_automatic_merge(train: Hub) -> None:
    train.set(merge_trains_enabled=False)
    head = str(train.repo.branch("change"))
    train.project("ann").commits.get(head, lazy=True).statuses.create(
        {"state": "running", "name": "x", "ref": "change"}
    )
    train.project("ann").mergerequests.get(1).merge(merge_when_pipeline_succeeds=True)
    _retargeted(train)
    _status(train, head, "success")

    mine = train.project("ann").mergerequests.get(1)
    assert (mine.state, mine.merge_when_pipeline_succeeds) == ("opened", False)
