"""Check runs, suites and statuses, through PyGithub."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from github import GithubException

from bot.sandbox.records.repository import Pull
from tests.bot.sandbox.world import World

Api = Callable[..., httpx.Response]
RUNS = "/repos/owner/catalog/check-runs"


def note(line: int) -> dict[str, Any]:
    """An annotation of a line."""
    return {
        "path": "net/values.yaml",
        "start_line": line,
        "end_line": line,
        "annotation_level": "failure",
        "message": f"Line {line} is wrong",
    }


def test_a_completed_run_stays_completed(world: World, pull: Pull) -> None:
    """Fails on a forge that lets a run go back: the bot must make a new one."""
    run = world.bot().create_check_run("porchbot/render", pull.head_sha, status="queued")
    run.edit(status="in_progress")
    run.edit(conclusion="success")
    assert (run.status, run.conclusion) == ("completed", "success")
    with pytest.raises(GithubException) as caught:
        run.edit(status="in_progress")
    assert caught.value.status == 422
    again = world.bot().create_check_run("porchbot/render", pull.head_sha, status="in_progress")
    listed = list(world.bot().get_commit(pull.head_sha).get_check_runs())
    assert [r.id for r in listed] == [again.id], "the newest of a name is the one that is shown"


def test_annotations_come_fifty_at_a_time_and_add_up(world: World, pull: Pull) -> None:
    output = {"title": "Wrong", "summary": "Much"}
    bot = world.bot()
    with pytest.raises(GithubException) as caught:
        bot.create_check_run(
            "v", pull.head_sha, output={**output, "annotations": [note(n) for n in range(1, 52)]}
        )
    assert caught.value.status == 422
    run = bot.create_check_run(
        "v", pull.head_sha, output={**output, "annotations": [note(n) for n in range(1, 51)]}
    )
    run.edit(conclusion="failure", output={**output, "annotations": [note(51), note(52)]})
    assert run.output.annotations_count == 52
    assert bot.get_check_run(run.id).conclusion == "failure"
    lines = [a.start_line for a in run.get_annotations()]
    assert lines == list(range(1, 53))


def test_only_apps_make_check_runs(world: World, pull: Pull) -> None:
    with pytest.raises(GithubException) as caught:
        world.repository("owner").create_check_run("v", pull.head_sha)
    assert (caught.value.status, caught.value.data["message"]) == (
        403,
        "You must authenticate via a GitHub App.",
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"head_sha": "1" * 40},
        {"status": "completed"},
        {"conclusion": "fine"},
        {"status": "late"},
        {"details_url": ""},
        {"output": {"title": "Only a title"}},
        {"output": {"title": "t", "summary": "x" * 65_536}},
        {"output": {"title": "t", "summary": "s", "annotations": [note(1) | {"end_line": 0}]}},
        {"output": {"title": "t", "summary": "s", "annotations": [{"path": "a"}]}},
        {
            "output": {
                "title": "t",
                "summary": "s",
                "annotations": [note(1) | {"annotation_level": "error"}],
            }
        },
        {"actions": [{"label": "a", "description": "b", "identifier": "c"}] * 4},
        {"started_at": "yesterday"},
    ],
    ids=str,
)
def test_what_a_run_may_not_be(world: World, pull: Pull, api: Api, wrong: dict[str, Any]) -> None:
    asked = {"name": "v", "head_sha": pull.head_sha} | wrong
    world.forge.observers.clear()  # such requests break the description on purpose
    answer = api("POST", RUNS, world.installation_token(), json=asked)
    assert answer.status_code == 422
    assert [r for s in world.repo.suites for r in s.runs] == []


def test_runs_are_told_and_asked_for_again(world: World, pull: Pull, api: Api) -> None:
    run = world.bot().create_check_run("v", pull.head_sha, status="in_progress")
    url = f"{RUNS}/{run.id}/rerequest"
    assert api("POST", url, world.token("outsider")).status_code == 403
    assert api("POST", url, world.token("author")).status_code == 422, "it is not completed yet"
    run.edit(conclusion="failure")
    answer = api("POST", url, world.token("author"))
    assert (answer.status_code, answer.json()) == (201, {})
    assert world.bot().get_check_run(run.id).status == "completed"
    with world.state.lock:
        made = world.state.checks.find(world.repo, run.id)
        world.state.checks.rerequest_suite(made.suite, world.state.user("author"))
    names = [h.name for h in world.hooks() if h.name.startswith("check_")]
    assert names[-5:] == [
        "check_run.created",
        "check_run.completed",
        "check_suite.completed",
        "check_run.rerequested",
        "check_suite.rerequested",
    ]
    assert world.hooks()[-1].payload["sender"]["login"] == "author"
    suite = world.bot().get_check_suite(made.suite.id)
    assert (suite.status, suite.conclusion) == ("queued", None), "it waits for another run"
    run.edit(output={"title": "Still", "summary": "wrong"})
    suite = world.bot().get_check_suite(made.suite.id)
    assert (suite.status, suite.conclusion) == ("completed", "failure")
    assert suite.head_branch == "drafts/net"
    assert suite.rerequest()
    assert [r.id for r in suite.get_check_runs()] == [run.id]
    assert [p.number for p in suite.pull_requests] == [1]


def test_a_suite_is_made_once(world: World, pull: Pull, api: Api) -> None:
    asked = {"head_sha": pull.head_sha}
    url = "/repos/owner/catalog/check-suites"
    assert api("POST", url, world.installation_token(), json=asked).status_code == 200
    asked = {"head_sha": pull.base_sha}
    first = [s for s in world.repo.suites if s.head_sha == pull.base_sha]
    assert first == [], "the App was not installed when this commit came"
    assert api("POST", url, world.installation_token(), json=asked).status_code == 201
    suites = world.bot().get_commit(pull.base_sha).get_check_suites()
    assert [s.app.slug for s in suites] == ["porchbot"]


def test_an_app_may_not_touch_the_runs_of_another(world: World, pull: Pull) -> None:
    run = world.bot().create_check_run("v", pull.head_sha)
    other = world.state.register_app("other", world.app.public_key, owner="owner")
    world.state.install(other, world.repo)
    with world.state.lock:
        installed = world.state.installation_of(other, world.repo)
        assert installed is not None
        token, _ = world.forge.accounts.mint(installed, None, None)
    answer = httpx.patch(
        f"{world.forge.api_url}{RUNS}/{run.id}",
        json={"conclusion": "success"},
        headers={"Authorization": f"token {token}"},
        timeout=60,
    )
    assert answer.status_code == 403


def test_statuses(world: World, pull: Pull, api: Api) -> None:
    listener = world.state.register_app(
        "listener",
        world.app.public_key,
        owner="owner",
        permissions={"statuses": "read"},
        events=["status"],
        webhook_url=world.received.url,
    )
    world.state.install(listener, world.repo)
    seen = world.repository("author").get_commit(pull.head_sha)
    assert (seen.get_combined_status().state, seen.get_combined_status().total_count) == (
        "pending",
        0,
    )
    seen.create_status("pending", context="ci")
    seen.create_status("success", context="ci", description="Done")
    combined = seen.get_combined_status()
    assert (combined.state, combined.total_count) == ("success", 1)
    told = [
        h.payload
        for h in world.hooks()
        if h.name == "status" and h.headers["X-GitHub-Hook-ID"] == str(listener.hook_id)
    ]
    assert [(t["state"], t["sha"]) for t in told] == [
        ("pending", pull.head_sha),
        ("success", pull.head_sha),
    ]
    assert [b["name"] for b in told[0]["branches"]] == ["drafts/net"]
    listed = api("GET", f"/repos/owner/catalog/commits/{pull.head_sha}/statuses").json()
    assert [s["state"] for s in listed] == ["success", "pending"]
    with pytest.raises(GithubException) as caught:
        seen.create_status("success", description="x" * 141)
    assert caught.value.data["errors"][0]["message"] == (
        "description is too long (maximum is 140 characters)"
    )
    world.repository("outsider")
    url = f"/repos/owner/catalog/statuses/{pull.head_sha}"
    answer = api("POST", url, world.token("outsider"), json={"state": "success"})
    assert answer.status_code == 403
