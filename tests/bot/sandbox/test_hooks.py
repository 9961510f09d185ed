"""Webhooks: signature, headers, who hears what, order, and their faults."""

from __future__ import annotations

import hashlib
import hmac
import uuid

import pytest

from bot.sandbox.records.repository import Pull
from tests.bot.sandbox.world import SECRET, World, wait_until


def test_a_webhook_is_signed_over_its_bytes(world: World) -> None:
    """Fails on a forge that signs one spelling of the JSON and sends another."""
    world.commit("drafts/ä", {"a": "ü"})
    hook = next(h for h in world.hooks() if h.name == "push")
    assert "ä" in hook.body.decode()
    for header, name in (("X-Hub-Signature-256", "sha256"), ("X-Hub-Signature", "sha1")):
        digest = hmac.new(SECRET.encode(), hook.body, name).hexdigest()
        assert hook.headers[header] == f"{name}={digest}"
    wrong = hmac.new(b"other", hook.body, hashlib.sha256).hexdigest()
    assert wrong not in hook.headers["X-Hub-Signature-256"]


def test_headers_and_installation(world: World) -> None:
    world.commit("new", {"a": "1"})
    hooks = world.hooks()
    guids = {uuid.UUID(h.headers["X-GitHub-Delivery"]) for h in hooks}
    assert len(guids) == len(hooks)
    for hook in hooks:
        assert hook.headers["User-Agent"].startswith("GitHub-Hookshot/")
        assert hook.headers["Content-Type"] == "application/json"
        assert hook.headers["X-GitHub-Hook-ID"] == str(world.app.hook_id)
        assert hook.headers["X-GitHub-Hook-Installation-Target-ID"] == str(world.app.id)
        assert hook.headers["X-GitHub-Hook-Installation-Target-Type"] == "integration"
        assert hook.payload["installation"]["id"]


def test_an_app_hears_what_it_asked_for_and_may_read(world: World, pull: Pull) -> None:
    """Fails on a forge that sends everything: a lacking permission keeps an event back."""
    quiet = world.state.register_app(
        "quiet",
        world.app.public_key,
        owner="owner",
        permissions={"contents": "read", "checks": "write"},
        events=["push", "pull_request"],
        webhook_url=world.received.url + "?quiet",
    )
    world.state.install(quiet, world.repo)
    before = len(world.hooks())
    world.commit("drafts/net", {"more": "1"})
    heard = [
        h.name
        for h in world.hooks()[before:]
        if h.headers["X-GitHub-Hook-ID"] == str(quiet.hook_id)
    ]
    assert heard == ["push", "check_suite.requested"]
    assert not [h for h in world.hooks() if "X-Hub-Signature-256" in h.headers and
                h.headers["X-GitHub-Hook-ID"] == str(quiet.hook_id)]  # fmt: skip
    assert pull.state == "open"


def test_a_repository_the_app_is_not_on_is_not_told_of(world: World) -> None:
    other = world.state.add_repository("owner", "other")
    before = len(world.hooks())
    with world.state.lock:
        world.state.commit_files(other, "main", [], "Empty", actor=world.state.user("owner"))
    assert len(world.hooks()) == before
    world.state.install(world.app, other)
    added = world.hooks()[-1]
    assert added.name == "installation_repositories.added"
    assert [r["full_name"] for r in added.payload["repositories_added"]] == ["owner/other"]


def test_order_is_kept(world: World, pull: Pull) -> None:
    with world.state.lock:
        for number in range(30):
            world.state.talk.comment(pull, pull.user, str(number))
    heard = [h.payload["comment"]["body"] for h in world.hooks() if "comment" in h.payload]
    assert heard == [str(number) for number in range(30)]


def test_a_payload_tells_the_moment_of_the_event(world: World, pull: Pull) -> None:
    """Fails on a forge that writes the payload when it sends it."""
    faults = world.forge.faults.hooks
    world.hooks()
    faults.hold()
    with world.state.lock:
        comment = world.state.talk.comment(pull, pull.user, "First")
        world.state.talk.edit(comment, pull.user, "Second")
    faults.release()
    bodies = [h.payload["comment"]["body"] for h in world.hooks() if "comment" in h.payload]
    assert bodies == ["First", "Second"]


@pytest.mark.parametrize("fault", ["drop", "double", "delay", "reorder"])
def test_faults(world: World, pull: Pull, fault: str) -> None:
    faults, talk = world.forge.faults.hooks, world.state.talk
    before = len(world.hooks())
    match fault:
        case "drop":
            faults.drop("issue_comment.created")
        case "double":
            faults.double("issue_comment")
        case "delay":
            faults.delay(2, "issue_comment", times=1)  # longer than a busy machine needs for both
        case _:
            faults.hold()
    with world.state.lock:
        for body in ("one", "two"):
            talk.comment(pull, pull.user, body)

    def bodies() -> list[str]:
        return [h.payload["comment"]["body"] for h in world.hooks()[before:]]

    match fault:
        case "drop":
            assert bodies() == ["two"]
            assert [d.name for d in faults.dropped] == ["issue_comment.created"]
        case "double":
            assert bodies() == ["one", "one", "two"]
            guids = [h.headers["X-GitHub-Delivery"] for h in world.hooks()[before:]]
            assert guids[0] == guids[1] != guids[2]
        case "delay":
            wait_until(lambda: bodies() == ["two", "one"])
        case _:
            assert bodies() == []
            assert [d.name for d in faults.held()] == ["issue_comment.created"] * 2
            faults.release(lambda held: held[::-1])
            assert bodies() == ["two", "one"]


def test_nobody_at_home_is_no_trouble(world: World, pull: Pull) -> None:
    world.app.webhook_url = "http://127.0.0.1:9/none"
    with world.state.lock:
        world.state.talk.comment(pull, pull.user, "Lost")
    assert world.forge.hooks.idle()
    assert world.forge.hooks.log[-1].status == 0
    world.app.webhook_url = world.received.url
    with world.state.lock:
        world.state.talk.comment(pull, pull.user, "Found")
    assert world.hooks()[-1].payload["comment"]["body"] == "Found"
