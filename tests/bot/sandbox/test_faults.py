"""Faults of calls, old facts, and the log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from bot.sandbox import api as api_app
from bot.sandbox.faults.calls import matches
from bot.sandbox.records.repository import Pull
from tests.bot.sandbox.conftest import Clock
from tests.bot.sandbox.world import World

Api = Callable[..., httpx.Response]
REPO = "/repos/owner/catalog"
COMMENTS = "POST /repos/{owner}/{repo}/issues/{issue_number}/comments"


def comment(world: World, api: Api, body: str) -> httpx.Response:
    token = world.token("author")
    return api("POST", f"{REPO}/issues/1/comments", token, json={"body": body})


def test_the_nth_call_fails_and_nothing_is_done(world: World, api: Api, pull: Pull) -> None:
    """Fails on a forge that fails a call after it has done the deed."""
    world.forge.faults.fail(COMMENTS, 502, nth=2, times=2)
    codes = [comment(world, api, str(n)).status_code for n in range(5)]
    assert codes == [201, 502, 502, 201, 201]
    assert [c.body for c in pull.comments] == ["0", "3", "4"]


def test_an_answer_can_get_lost_after_the_deed(world: World, api: Api, pull: Pull) -> None:
    world.forge.faults.fail(COMMENTS, 503, "<html>busy</html>", carried_out=True)
    answer = comment(world, api, "Done")
    assert (answer.status_code, answer.text) == (503, "<html>busy</html>")
    assert [c.body for c in pull.comments] == ["Done"]


def test_a_failure_can_be_of_one_caller(world: World, api: Api, pull: Pull) -> None:
    world.forge.faults.fail(
        "GET *",
        403,
        {"message": "You have exceeded a secondary rate limit."},
        headers={"Retry-After": "60"},
        times=None,
        caller="porchbot[bot]",
    )
    assert api("GET", f"{REPO}/pulls/{pull.number}", world.token("author")).status_code == 200
    answer = api("GET", f"{REPO}/pulls/1", world.installation_token())
    assert (answer.status_code, answer.headers["retry-after"]) == (403, "60")
    world.forge.faults.clear()
    assert api("GET", f"{REPO}/pulls/1", world.installation_token()).status_code == 200


def test_a_callback_runs_before_and_after_the_deed(world: World, api: Api, pull: Pull) -> None:
    """Fails on a forge whose callbacks cannot look at it, or run after the answer is sent."""
    seen: list[tuple[str, int]] = []
    world.forge.faults.before(COMMENTS, lambda: seen.append(("before", len(pull.comments))))
    world.forge.faults.after(COMMENTS, lambda: seen.append(("after", len(pull.comments))))
    comment(world, api, "One")
    assert seen == [("before", 0), ("after", 1)]
    comment(world, api, "Two")
    assert len(seen) == 2


def test_callbacks_stand_around_a_push(world: World) -> None:
    seen: list[str | None] = []
    world.forge.faults.before("POST *git-receive-pack", lambda: seen.append(world.repo.branch("x")))
    world.forge.faults.after("POST *git-receive-pack", lambda: seen.append(world.repo.branch("x")))
    git = world.clone("author")
    sha = git.write("a", "1")
    git.run("push", "--quiet", "origin", "HEAD:refs/heads/x")
    assert seen == [None, sha]
    world.forge.faults.fail("GET */info/refs", 503)
    assert "503" in git.run("fetch", "origin", check=False)


def test_every_call_can_be_slow(world: World, api: Api, pull: Pull) -> None:
    world.forge.faults.slow(f"GET *pulls/{pull.number}", 0.05)
    world.forge.faults.latency = 0.1
    began = time.monotonic()
    api("GET", f"{REPO}/pulls/1")
    assert time.monotonic() - began >= 0.15
    began = time.monotonic()
    httpx.get(
        f"{world.forge.web_url}/owner/catalog.git/info/refs?service=git-upload-pack", timeout=60
    )
    assert time.monotonic() - began >= 0.1


class _Together:
    """Stands in for asyncio: whoever sleeps does until eight of them do."""

    def __init__(self) -> None:
        self.asleep, self._all = 0, asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, _: float) -> None:
        self.asleep += 1
        if self.asleep == 8:
            self._all.set()
        await self._all.wait()


def test_slow_calls_do_not_wait_for_one_another(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails on a forge that holds its lock, or its only thread, while it sleeps."""
    world.forge.faults.latency = 1.5
    together = _Together()
    monkeypatch.setattr(api_app, "asyncio", together)
    with (
        httpx.Client(base_url=world.forge.api_url, timeout=60, verify=False) as client,
        ThreadPoolExecutor(8) as pool,
    ):
        codes = list(pool.map(lambda _: client.get(REPO).status_code, range(8)))
    assert codes == [200] * 8
    assert together.asleep == 8


def test_facts_can_be_old(world: World, api: Api, pull: Pull, clock: Clock) -> None:
    """Fails on a forge that only holds back webhooks: what is read must be old too."""
    faults, token = world.forge.faults, world.installation_token()

    def bodies(caller: str) -> list[str]:
        answer = api("GET", f"{REPO}/issues/{pull.number}/comments", caller)
        return [c["body"] for c in answer.json()]

    faults.stale(30, caller="porchbot[bot]")
    clock.move(seconds=10)
    comment(world, api, "One")
    clock.move(seconds=25)
    assert bodies(token) == []
    assert bodies(world.token("author")) == ["One"]
    clock.move(seconds=10)
    assert bodies(token) == ["One"]
    sha = world.commit("drafts/net", {"x": "1"}).sha
    read = api("GET", f"{REPO}/git/ref/heads/drafts/net", token).json()["object"]["sha"]
    assert read != sha
    faults.fresh()
    read = api("GET", f"{REPO}/git/ref/heads/drafts/net", token).json()["object"]["sha"]
    assert read == sha


def test_facts_can_stand_still(world: World, api: Api, pull: Pull) -> None:
    world.forge.faults.freeze("GET */pulls/*", caller="porchbot[bot]")
    world.commit("drafts/net", {"x": "1"})
    token = world.installation_token()
    assert api("GET", f"{REPO}/pulls/1", token).json()["head"]["sha"] != pull.head_sha
    assert api("GET", REPO, token).status_code == 200
    merged = api("PUT", f"{REPO}/pulls/1/merge", token, json={"sha": pull.head_sha})
    assert merged.status_code == 200, "deeds are done to the forge of now"


def test_the_log_counts_by_caller_and_kind(world: World, api: Api, pull: Pull) -> None:
    faults = world.forge.faults
    mark = faults.mark()
    comment(world, api, "One")
    api("GET", f"{REPO}/pulls/{pull.number}", world.installation_token())
    api("GET", "/app", world.jwt())
    git = world.clone("approver")
    git.run("fetch", "--quiet", "origin")
    assert faults.counts("author", since=mark) == {COMMENTS: 1}
    assert faults.counts("porchbot[bot]", "api", since=mark) == {
        "GET /repos/{owner}/{repo}/pulls/{pull_number}": 1
    }
    assert faults.counts("app/porchbot", since=mark) == {"GET /app": 1}
    assert all(c.kind == "git" for c in faults.calls("anonymous", since=mark))
    assert [c.status for c in faults.calls("author", since=mark)] == [201]


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("GET *", True),
        ("GET", True),
        ("* /repos/{owner}/{repo}", True),
        ("GET /repos/acme/a", True),
        ("GET /repos/*/b", False),
        ("PUT *", False),
    ],
)
def test_patterns(pattern: str, fits: bool) -> None:
    call = ("GET", "/repos/{owner}/{repo}", "/repos/acme/a")
    assert matches(pattern, None, call, "x") is fits
    assert matches(pattern, "x", call, "x") is fits
    assert not matches(pattern, "y", call, "x")
