"""Merge requests of the sandbox's GitLab, by python-gitlab; answers held to what GitLab sends."""

from __future__ import annotations

from typing import Any

import pytest
from gitlab.v4.objects import ProjectMergeRequest

from bot.sandbox.records.gitlab import PREMIUM, AccessLevel, Allowance, ProtectedRef
from tests.bot.sandbox.gitlab.conftest import Hub, refusal
from tests.stories.world import seconds_pass


def _merge(mr: ProjectMergeRequest, **wish: object) -> tuple[int | None, object]:
    return refusal(lambda: mr.merge(**wish))  # type: ignore[arg-type]


def test_is_checked_before_it_can_be_merged(hub: Hub) -> None:
    """Fails for a forge that knows at once: merging just after creating is 405 on GitLab."""
    mr = hub.merge_request()

    assert (mr.detailed_merge_status, mr.merge_status, mr.changes_count) == (
        "preparing",
        "checking",
        None,
    )
    assert _merge(mr) == (405, "405 Method Not Allowed")
    assert hub.project("ann").mergerequests.get(1).detailed_merge_status == "checking"
    mr = hub.project("ann").mergerequests.get(1)
    assert (mr.detailed_merge_status, mr.merge_status) == ("mergeable", "can_be_merged")
    hub.commit("change", {"c.txt": "c"})
    listed = hub.project("ann").mergerequests.list(state="opened")
    assert [one.detailed_merge_status for one in listed] == ["unchecked"]


def test_numbers_are_apart_from_those_of_issues(hub: Hub) -> None:
    """Fails for one row of numbers, as GitHub has."""
    issue = hub.project("ann").issues.create({"title": "An issue"})

    assert (issue.iid, hub.merge_request().iid) == (1, 1)
    assert hub.merge_request("other").iid == 2


def test_refuses_what_cannot_be_opened(hub: Hub) -> None:
    mr = hub.merge_request()
    there = "Another open merge request already exists for this source branch: !1"

    assert refusal(hub.merge_request) == (409, [there])
    assert refusal(lambda: hub.merge_request("fresh", "zoe"))[0] == 403
    assert refusal(lambda: hub.merge_request("main"))[0] == 400
    assert mr.iid == 1


def test_lists_by_every_filter(hub: Hub) -> None:
    first, second = hub.merge_request(), hub.merge_request("other", title="Draft: later")
    seconds_pass(hub.forge, 2)  # what happens in one second is told in the order of numbers
    hub.project("ann").mergerequests.update(1, {"state_event": "close"})
    found = hub.project("ann").mergerequests.list

    def iids(**query: Any) -> list[int]:
        return [mr.iid for mr in found(**query)]

    assert iids() == [2, 1]
    assert iids(state="closed") == [1]
    assert iids(state="opened") == [2]
    assert iids(source_branch="change") == [1]
    assert iids(target_branch="elsewhere") == []
    assert iids(order_by="updated_at", sort="asc") == [2, 1]
    assert iids(order_by="updated_at", sort="desc") == [1, 2]
    assert iids(updated_after="2999-01-01T00:00:00Z") == []
    assert iids(wip="yes") == [2]
    assert iids(author_username="ben") == []
    assert (first.references["full"], second.draft) == ("olga/pkg!1", True)


@pytest.mark.parametrize("title", ["Draft: x", "[Draft] x", "(draft) x", "draft:x"])
def test_a_draft_is_one_by_its_title(hub: Hub, title: str) -> None:
    mr = hub.merge_request(title=title)
    assert mr.draft
    mr = hub.settled(1)
    assert mr.detailed_merge_status == "draft_status"
    assert _merge(mr)[0] == 405
    mr.title = "x"
    mr.save()

    assert hub.settled(1).detailed_merge_status == "mergeable"
    told = hub.heard("Merge Request Hook")[-1]
    assert told["changes"]["draft"] == {"previous": True, "current": False}
    notes = [note.body for note in mr.notes.list(get_all=True)]
    assert "marked this merge request as **ready**" in notes


def test_merge_checks_right_then_state_then_head(hub: Hub) -> None:
    """Fails for a forge that says 403 or 409 first."""
    hub.merge_request()
    mr = hub.settled(1)
    rule = ProtectedRef(
        id=1, name="main", push=(Allowance(id=2, level=AccessLevel.MAINTAINER),), merge=()
    )
    hub.repo.gitlab.protected_branches["main"] = rule

    assert _merge(mr, sha="0" * 40)[0] == 401
    by_mia = hub.project("mia").mergerequests.get(1)
    status, words = refusal(lambda: by_mia.merge(sha="0" * 40))
    assert (status, words) == (409, f"SHA does not match HEAD of source branch: {mr.sha}")
    assert hub.repo.pulls[1].merged is False
    by_mia.merge(sha=mr.sha)
    merged = hub.project("ann").mergerequests.get(1)
    assert (merged.state, merged.detailed_merge_status) == ("merged", "not_open")
    assert merged.merge_commit_sha == hub.repo.branch("main")
    assert merged.merged_by["username"] == "mia"
    commit = hub.forge.state.git(hub.repo).commit(merged.merge_commit_sha)
    assert commit.message.rstrip() == (
        "Merge branch 'change' into 'main'\n\nA change\n\nSee merge request olga/pkg!1"
    )
    assert hub.actions("Merge Request Hook")[-1] == "merge"


def test_conflicts_are_422(hub: Hub) -> None:
    hub.merge_request()
    hub.commit("main", {"a.txt": "ours\n"}, "olga")
    mr = hub.settled(1)

    assert (mr.has_conflicts, mr.detailed_merge_status) == (True, "conflict")
    assert _merge(mr) == (422, "Branch cannot be merged")


@pytest.mark.parametrize("method", ["rebase_merge", "ff"])
def test_linear_projects_want_a_rebase_first(hub: Hub, method: str) -> None:
    hub.set(merge_method=method)
    hub.merge_request()
    hub.commit("main", {"b.txt": "moved\n"}, "olga")
    mr = hub.settled(1)
    assert mr.detailed_merge_status == "need_rebase"
    assert _merge(mr)[0] == 422

    assert mr.rebase() == {"rebase_in_progress": True}
    assert refusal(mr.rebase)[0] == 409
    during = hub.project("ann").mergerequests.get(1, include_rebase_in_progress=True)
    assert during.rebase_in_progress
    after = hub.project("ann").mergerequests.get(1, include_rebase_in_progress=True)
    assert not after.rebase_in_progress
    assert after.sha != mr.sha
    mr = hub.settled(1)
    mr.merge(sha=mr.sha)
    merged = hub.project("ann").mergerequests.get(1)
    tip = hub.repo.branch("main")
    if method == "ff":
        assert (merged.merge_commit_sha, merged.sha) == (None, tip)
    else:
        assert merged.merge_commit_sha == tip


def test_a_squash_of_a_fast_forward_is_the_tip(hub: Hub) -> None:
    hub.set(merge_method="ff")
    hub.merge_request(squash=True)
    hub.commit("change", {"c.txt": "c"})
    mr = hub.settled(1)
    mr.merge(sha=mr.sha, should_remove_source_branch=True)

    merged = hub.project("ann").mergerequests.get(1)
    assert merged.merge_commit_sha is None
    assert merged.squash_commit_sha == hub.repo.branch("main") != mr.sha
    assert hub.repo.branch("change") is None


def test_a_push_makes_a_version_and_says_the_old_head(hub: Hub) -> None:
    """Fails for a forge that tells an edit and a push alike: `oldrev` is for pushes only."""
    mr = hub.merge_request()
    old = mr.sha
    mr.title = "Other words"
    mr.save()
    new = hub.commit("change", {"c.txt": "c"})

    assert [v.head_commit_sha for v in mr.diffs.list(get_all=True)] == [new, old]
    edit, push = hub.heard("Merge Request Hook")[-2:]
    assert "oldrev" not in edit["object_attributes"]
    assert edit["changes"]["title"] == {"previous": "A change", "current": "Other words"}
    assert push["object_attributes"]["oldrev"] == old
    assert push["object_attributes"]["last_commit"]["id"] == new
    assert any(note.body.startswith("added 1 commit") for note in mr.notes.list(get_all=True))


def test_a_merge_by_git_is_a_merge(hub: Hub) -> None:
    mr = hub.merge_request()
    state = hub.forge.state
    with state.lock:
        state.update_ref(hub.repo, "refs/heads/main", mr.sha, state.user("olga"))

    merged = hub.project("ann").mergerequests.get(1)
    assert (merged.state, merged.merge_commit_sha) == ("merged", None)
    commit = hub.project("ann").manager.gitlab.http_list(
        f"/projects/{hub.repo.id}/repository/commits/{mr.sha}/merge_requests"
    )
    assert [each["iid"] for each in commit] == [1]


def test_a_branch_that_is_gone_leaves_it_open(hub: Hub) -> None:
    """Fails for GitHub's way, which closes it."""
    hub.merge_request()
    state = hub.forge.state
    with state.lock:
        state.update_ref(hub.repo, "refs/heads/change", "0" * 40, state.user("ann"))

    mr = hub.settled(1)
    assert (mr.state, mr.detailed_merge_status) == ("opened", "commits_status")


def test_a_fork_brings_its_commits_and_no_pipeline(hub: Hub) -> None:
    """Fails for a forge where a status in the project counts for a fork's merge request."""
    state = hub.forge.state
    with state.lock:
        fork = state.fork(hub.repo, "zoe")
    client = hub.project("zoe").manager.gitlab
    with state.lock:
        main = hub.repo.branch("main")
        assert main is not None
        made = state.commit_files(
            fork,
            "mine",
            [],
            "Nothing",
            actor=state.user("zoe"),
        )
    source = client.projects.get(fork.id)
    mr = source.mergerequests.create(
        {
            "source_branch": "mine",
            "target_branch": "main",
            "title": "From a fork",
            "target_project_id": hub.repo.id,
        }
    )

    assert (mr.source_project_id, mr.target_project_id) == (fork.id, hub.repo.id)
    assert mr.sha == made.sha
    hub.project("ann").commits.get(made.sha, lazy=True).statuses.create(
        {"state": "success", "name": "x", "ref": "mine"}
    )
    assert hub.settled(mr.iid).head_pipeline is None


def test_closes_issues_and_opens_again(hub: Hub) -> None:
    hub.project("ann").issues.create({"title": "An issue"})
    mr = hub.merge_request(description="Closes #1")
    mr.state_event = "close"
    mr.save()
    mr.state_event = "reopen"
    mr.save()
    assert [e.state for e in mr.resourcestateevents.list(get_all=True)] == ["closed", "reopened"]
    mr = hub.settled(1)
    mr.merge()

    assert hub.project("ann").issues.get(1).state == "closed"
    assert hub.actions("Merge Request Hook")[:4] == ["open", "close", "reopen", "merge"]


def test_waits_for_its_pipeline_when_asked(hub: Hub) -> None:
    hub.set(only_allow_merge_if_pipeline_succeeds=True)
    mr = hub.merge_request()
    statuses = hub.project("ann").commits.get(mr.sha, lazy=True).statuses
    assert hub.settled(1).detailed_merge_status == "ci_must_pass"
    statuses.create({"state": "running", "name": "check", "ref": "change"})
    mr = hub.settled(1)
    assert mr.detailed_merge_status == "ci_still_running"
    assert _merge(mr)[0] == 405
    mr.merge(auto_merge=True)
    mr.cancel_merge_when_pipeline_succeeds()
    assert refusal(mr.cancel_merge_when_pipeline_succeeds)[0] == 406
    mr.merge(auto_merge=True)
    assert hub.project("ann").mergerequests.get(1).merge_when_pipeline_succeeds
    statuses.create({"state": "success", "name": "check", "ref": "change"})

    assert hub.project("ann").mergerequests.get(1).state == "merged"


def test_skipped_pipelines_count_only_where_the_project_says_so(hub: Hub) -> None:
    hub.set(only_allow_merge_if_pipeline_succeeds=True)
    mr = hub.merge_request()
    hub.project("ann").commits.get(mr.sha, lazy=True).statuses.create(
        {"state": "skipped", "name": "check", "ref": "change"}
    )
    assert hub.settled(1).detailed_merge_status == "ci_must_pass"
    hub.set(allow_merge_on_skipped_pipeline=True)

    assert hub.settled(1).detailed_merge_status == "mergeable"


def test_labels_are_told_and_remembered(hub: Hub) -> None:
    mr = hub.merge_request(labels="one,two")
    mr.labels = ["two", "three"]
    mr.save()

    assert hub.project("ann").mergerequests.get(1).labels == ["three", "two"]
    changes = hub.heard("Merge Request Hook")[-1]["changes"]["labels"]
    assert [label["title"] for label in changes["current"]] == ["three", "two"]
    events = [(e.action, e.label["name"]) for e in mr.resourcelabelevents.list(get_all=True)]
    assert sorted(events[2:]) == [("add", "three"), ("remove", "one")]


def test_premium_blocks_on_approvals_and_changes_requested(hub: Hub) -> None:
    mr = hub.merge_request()
    hub.forge.state.data.gitlab.tier = PREMIUM
    hub.repo.gitlab.approvals |= {"approvals_before_merge": 1}
    assert hub.settled(1).detailed_merge_status == "not_approved"
    hub.project("ben").mergerequests.get(1).notes.create({"body": "/request_changes"})
    assert hub.settled(1).detailed_merge_status == "requested_changes"
    hub.project("ben").mergerequests.get(1).approve(sha=mr.sha)

    assert hub.settled(1).detailed_merge_status == "mergeable"
