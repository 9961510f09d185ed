"""What is too long, what is not there, and what cannot be opened again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from bot.sandbox.records.repository import Pull
from tests.bot.sandbox.world import World

Api = Callable[..., httpx.Response]
REPO = "/repos/owner/catalog"
NOTE = {
    "path": "net/values.yaml",
    "start_line": 1,
    "end_line": 1,
    "annotation_level": "notice",
    "message": "m",
}


@pytest.mark.parametrize(
    ("method", "path", "body", "good"),
    [
        ("PATCH", "/pulls/1", {"title": "x" * 256}, 200),
        ("PATCH", "/pulls/1", {"title": "x" * 257}, 422),
        ("PATCH", "/pulls/1", {"title": " "}, 422),
        ("PATCH", "/pulls/1", {"body": "é" * 65_536}, 200),
        ("PATCH", "/pulls/1", {"body": "x" * 65_537}, 422),
        ("PATCH", "/issues/1", {"title": "x" * 257}, 422),
        ("POST", "/issues/1/comments", {"body": "é" * 65_536}, 201),
        ("POST", "/issues/1/comments", {"body": "x" * 65_537}, 422),
        ("POST", "/issues/1/comments", {"body": "a\0b"}, 422),
        ("POST", "/pulls/1/reviews", {"event": "COMMENT", "body": "x" * 65_537}, 422),
    ],
)
@pytest.mark.usefixtures("pull")
def test_titles_and_bodies(
    world: World, api: Api, method: str, path: str, body: Any, good: int
) -> None:
    answer = api(method, REPO + path, world.token("author"), json=body)
    assert answer.status_code == good, answer.text
    if good == 422 and len(str(body)) > 256:
        assert "is too long (maximum is" in str(answer.json()["errors"])


@pytest.mark.parametrize(
    ("output", "good"),
    [
        ({"summary": "x" * 65_535}, 201),
        ({"summary": "é" * 32_768}, 422),
        ({"summary": "s", "text": "€" * 21_846}, 422),
        ({"summary": "s", "annotations": [NOTE | {"message": "é" * 32_768}]}, 201),
        ({"summary": "s", "annotations": [NOTE | {"message": "é" * 32_769}]}, 422),
        ({"summary": "s", "annotations": [NOTE | {"title": "é" * 255}]}, 201),
        ({"summary": "s", "annotations": [NOTE | {"title": "x" * 256}]}, 422),
        ({"summary": "s", "annotations": [NOTE] * 50}, 201),
        ({"summary": "s", "annotations": [NOTE] * 51}, 422),
    ],
)
def test_outputs_of_checks_count_bytes(
    world: World, api: Api, pull: Pull, output: Any, good: int
) -> None:
    """Short-cut: count characters, so that a bot which does is never refused here."""
    body = {"name": "c", "head_sha": pull.head_sha, "output": {"title": "t"} | output}
    made = api("POST", f"{REPO}/check-runs", world.installation_token(), json=body)
    assert made.status_code == good, made.text


@pytest.mark.parametrize(
    "path",
    ["", "/pulls", "/check-runs", "/check-suites", "/status", "/statuses"],
)
def test_a_commit_that_is_not_there(world: World, api: Api, path: str) -> None:
    sha = "1" * 40
    answer = api("GET", f"{REPO}/commits/{sha}{path}", world.token("author"))
    assert (answer.status_code, answer.json()["message"]) == (
        422,
        f"No commit found for SHA: {sha}",
    )


def test_what_was_pushed_by_force_while_closed_stays_closed(
    world: World, api: Api, pull: Pull
) -> None:
    """Short-cut: open it again at whatever the branch holds now."""
    head = pull.head_sha
    git = world.clone("author")
    seen = world.repository("author").get_pull(1)
    seen.edit(state="closed")
    git.run("checkout", "--quiet", "drafts/net")
    git.write("more", "1")
    git.run("push", "--quiet", "origin", "HEAD")
    seen.edit(state="open")
    assert pull.head_sha != head
    seen.edit(state="closed")
    git.run("push", "--quiet", "--force", "origin", "origin/main:drafts/net")
    answer = api("PATCH", f"{REPO}/pulls/1", world.token("author"), json={"state": "open"})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["message"] == (
        "state cannot be changed. The drafts/net branch was force-pushed or recreated."
    )
    git.run("push", "--quiet", "origin", ":drafts/net")
    answer = api("PATCH", f"{REPO}/pulls/1", world.token("author"), json={"state": "open"})
    assert "drafts/net branch has been deleted" in answer.text
    git.run("push", "--quiet", "origin", "HEAD:refs/heads/drafts/net")
    seen.edit(state="open")
    assert pull.state == "open"
