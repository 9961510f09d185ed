"""Merge trains of the sandbox's GitLab."""

from __future__ import annotations

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
