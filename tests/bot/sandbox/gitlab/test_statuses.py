"""Commit statuses, approvals, releases and deployments of the sandbox's GitLab."""

from __future__ import annotations

from typing import Any

import pytest
from gitlab.v4.objects import ProjectMergeRequest

from bot.sandbox.records.gitlab import PREMIUM
from tests.bot.sandbox.gitlab.conftest import Hub, refusal


def _post(hub: Hub, state: str, by: str = "ann", **more: Any) -> Any:
    mr = hub.repo.pulls[1]
    wish = {"state": state, "name": "check", "ref": "change"} | more
    return hub.project(by).commits.get(mr.head_sha, lazy=True).statuses.create(wish)


def _listed(hub: Hub, **query: Any) -> list[tuple[str, str | None]]:
    commit = hub.project("ann").commits.get(hub.repo.pulls[1].head_sha, lazy=True)
    return [(s.status, s.description) for s in commit.statuses.list(get_all=True, **query)]


REFUSED = {
    "the same again": (["running"], "running", ":run from :running"),
    "pending again": (["pending"], "pending", ":enqueue from :pending"),
    "back to pending": (["running"], "pending", ":enqueue from :running"),
    "skipped while it runs": (["running"], "skipped", ":skip from :running"),
}


@pytest.mark.parametrize(("first", "then", "words"), REFUSED.values(), ids=REFUSED)
def test_a_status_refuses_what_is_no_transition(
    hub: Hub, first: list[str], then: str, words: str
) -> None:
    """Fails for a forge that takes any state: texts would change without a transition."""
    hub.merge_request()
    for state in first:
        _post(hub, state, description="before")
    status, said = refusal(lambda: _post(hub, then, description="after"))

    event = words.split()[0].removeprefix(":")
    assert (status, said) == (
        400,
        f'Cannot transition status via {words} (Reason(s): Status cannot transition via "{event}")',
    )
    assert _listed(hub) == [(first[-1], "before")]


def test_a_finished_status_is_replaced(hub: Hub) -> None:
    hub.merge_request()
    first = _post(hub, "pending", description="waits")
    second = _post(hub, "failed", description="bad")
    third = _post(hub, "success", description="good")

    assert first.id == second.id != third.id
    assert _listed(hub) == [("success", "good")]
    assert _listed(hub, all=True) == [("failed", "bad"), ("success", "good")]
    assert _listed(hub, name="other") == []
    assert first.pipeline_id == third.pipeline_id


def test_statuses_make_one_external_pipeline(hub: Hub) -> None:
    mr = hub.merge_request()
    _post(hub, "success")
    _post(hub, "running", name="other")

    [pipeline] = hub.project("ann").pipelines.list(sha=mr.sha, get_all=True)
    assert (pipeline.source, pipeline.status, pipeline.ref) == ("external", "running", "change")
    assert [p.id for p in mr.pipelines.list(get_all=True)] == [pipeline.id]
    assert hub.settled(1).head_pipeline["id"] == pipeline.id
    _post(hub, "failed", name="other")
    assert hub.project("ann").pipelines.get(pipeline.id).status == "failed"
    assert [body["object_attributes"]["status"] for body in hub.heard("Pipeline Hook")] == [
        "success",
        "running",
        "failed",
    ]
    assert hub.heard("Pipeline Hook")[-1]["merge_request"]["iid"] == 1


def test_statuses_are_for_developers_and_commits_that_are_there(hub: Hub) -> None:
    hub.merge_request()
    ann = hub.project("ann").commits

    assert refusal(lambda: _post(hub, "success", by="ron"))[0] == 403
    assert refusal(lambda: _post(hub, "done")) == (400, "state does not have a valid value")
    assert refusal(lambda: _post(hub, "success", name="x" * 256))[0] == 400
    absent = ann.get("1" * 40, lazy=True).statuses
    assert refusal(lambda: absent.create({"state": "success"})) == (404, "404 Commit Not Found")
    assert _listed(hub) == []


def test_two_people_have_a_status_each_of_one_name(hub: Hub) -> None:
    hub.merge_request()
    _post(hub, "running", by="ann")
    _post(hub, "running", by="ben")

    commit = hub.project("ann").commits.get(hub.repo.pulls[1].head_sha, lazy=True)
    found = commit.statuses.list(get_all=True, all=True)
    assert [s.author["username"] for s in found] == ["ann", "ben"]


def test_an_approval_says_when_and_not_of_which_commit(hub: Hub) -> None:
    mr = hub.merge_request()

    def by(login: str) -> ProjectMergeRequest:
        # Anew each time: python-gitlab takes the answer, without an iid, for the merge request.
        return hub.project(login).mergerequests.get(1)

    status, _ = refusal(lambda: by("ben").approve(sha="0" * 40))
    assert status == 409
    by("ben").approve(sha=mr.sha)
    hub.commit("change", {"c.txt": "c"})

    [found] = mr.approvals.get().approved_by
    assert sorted(found) == ["approved_at", "user"]
    assert refusal(by("ben").approve)[0] == 401
    assert refusal(by("ron").approve)[0] == 401
    by("ben").unapprove()
    assert refusal(by("ben").unapprove)[0] == 404
    assert mr.approvals.get().approved_by == []
    assert hub.actions("Merge Request Hook") == ["open", "approved", "update", "unapproved"]


def test_authors_approve_on_free_alone(hub: Hub) -> None:
    hub.merge_request().approve()
    hub.merge_request("other")
    hub.forge.state.data.gitlab.tier = PREMIUM

    second = hub.project("ann").mergerequests.get(2)
    assert refusal(second.approve)[0] == 401


def test_premium_resets_approvals_after_a_push_a_moment_later(hub: Hub) -> None:
    """Fails for a forge that resets at once: what is read meanwhile is old."""
    hub.forge.state.data.gitlab.tier = PREMIUM
    hub.repo.gitlab.approvals |= {"approvals_before_merge": 1}
    mr = hub.merge_request()
    hub.project("ben").mergerequests.get(1).approve()
    hub.settled(1)
    hub.commit("change", {"c.txt": "c"})

    hub.project("ann").mergerequests.get(1)
    assert len(mr.approvals.get().approved_by) == 1
    assert hub.project("ann").mergerequests.get(1).detailed_merge_status == "not_approved"
    assert mr.approvals.get().approved_by == []
    told = hub.heard("Merge Request Hook")[-1]["object_attributes"]
    assert (told["action"], told["system_action"]) == ("unapproved", "approvals_reset_on_push")


def test_releases_of_tags(hub: Hub) -> None:
    made = hub.project("ann").releases.create(
        {"tag_name": "a/v1", "ref": "main", "description": "First"}
    )

    assert hub.repo.refs["refs/tags/a/v1"] == hub.repo.branch("main")
    assert made.commit["id"] == hub.repo.branch("main")
    again = {"tag_name": "a/v1", "description": ""}
    releases = hub.project("ann").releases
    assert refusal(lambda: releases.create(again)) == (409, "Release already exists")
    assert refusal(lambda: releases.create({"tag_name": "x"}))[0] == 422
    found = releases.get("a/v1")
    found.description = "Other"
    found.save()
    releases.delete("a/v1")
    assert [body["action"] for body in hub.heard("Release Hook")] == ["create", "update", "delete"]
    assert releases.list(get_all=True) == []


def test_deployments_go_on_until_they_are_over(hub: Hub) -> None:
    wish = {"environment": "prod", "sha": hub.repo.branch("main"), "ref": "main", "tag": False}
    made = hub.project("ann").deployments.create({**wish, "status": "running"})
    made.status = "success"
    made.save()
    made.status = "running"

    assert refusal(made.save)[0] == 400
    assert [e.name for e in hub.project("ann").environments.list(get_all=True)] == ["prod"]
    assert [body["status"] for body in hub.heard("Deployment Hook")] == ["running", "success"]
