"""Webhooks: what pushes tell, how they are signed, logged, sent again, disabled; access to git."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bot.sandbox import refnames
from bot.sandbox.records.refs import ZERO
from bot.sandbox.serve import SandboxForge
from tests.bot.sandbox.gitlab.conftest import refusal
from tests.bot.sandbox.gitlab.lab import Lab


class Receiver:
    """Takes webhooks on a loopback address and answers `status`."""

    def __init__(self) -> None:
        self.status = 200
        self.got: list[tuple[dict[str, str], Any, bytes]] = []
        self.url = ""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver that answers 200 until it is told otherwise."""
    made = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            made.got.append((dict(self.headers.items()), json.loads(body), body))
            self.send_response(made.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield made
    server.shutdown()
    server.server_close()


def test_a_push_is_told_with_its_newest_commits_signed_and_logged(
    lab: Lab, receiver: Receiver
) -> None:
    """The short-cut lists all commits, or signs with the text of the token itself."""
    key = b"k" * 32
    signing = "whsec_" + base64.b64encode(key).decode()
    hook = lab.project("maintainer").hooks.create(
        {
            "url": receiver.url,
            "token": "secret",
            "signing_token": signing,
            "push_events": True,
            "custom_headers": [{"key": "X-Team", "value": "net"}],
        }
    )
    state, before = lab.forge.state, lab.repo.branch("main")
    with state.lock:
        lab.forge.faults.hooks.drop("*", None)
        for number in range(25):
            lab.commit("side", {f"f{number}": ""})
        lab.forge.faults.hooks.clear()
        tip = str(lab.repo.branch("side"))
        state.update_ref(lab.repo, "refs/heads/main", tip, state.user("author"))
    assert lab.forge.hooks.idle()

    headers, body, raw = receiver.got[-1]
    assert (body["before"], body["after"], body["ref"]) == (before, tip, "refs/heads/main")
    assert (len(body["commits"]), body["total_commits_count"]) == (20, 25)
    assert body["commits"][-1]["id"] == tip
    assert body["commits"][-1]["added"] == ["f24"]
    assert (body["user_username"], body["project_id"]) == ("author", lab.repo.id)
    assert (headers["X-Gitlab-Event"], headers["X-Gitlab-Token"]) == ("Push Hook", "secret")
    assert (headers["X-Gitlab-Instance"], headers["X-Team"]) == (lab.forge.web_url, "net")
    assert headers["webhook-id"] == headers["Idempotency-Key"]
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + raw
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{digest}"

    api = lab.as_("maintainer")
    path = f"/projects/{lab.repo.id}/hooks/{hook.id}/events"
    log = list(api.http_list(path))
    assert [(e["trigger"], e["response_status"]) for e in log] == [("push_hooks", "200")]
    assert log[0]["request_headers"]["X-Gitlab-Token"] == "[REDACTED]"
    api.http_post(f"{path}/{log[0]['id']}/resend")
    assert len(receiver.got) == 2
    assert receiver.got[1][0]["Idempotency-Key"] == headers["Idempotency-Key"]
    assert len(list(api.http_list(path, query_data={"status": "successful"}))) == 2
    assert list(api.http_list(path, query_data={"status": "server_failure"})) == []


def test_a_tag_is_told_and_a_push_of_many_refs_is_not(lab: Lab, receiver: Receiver) -> None:
    """The short-cut tells of each ref, however many one push moves."""
    lab.project("maintainer").hooks.create({"url": receiver.url, "tag_push_events": True})
    state, tip = lab.forge.state, str(lab.repo.branch("main"))
    author = lab.project("author")
    author.tags.create({"tag_name": "net/v1", "ref": "main", "message": "First"})
    with state.lock:
        git = state.git(lab.repo)
        many = [refnames.branch_ref(f"b{n}") for n in range(4)]
        for ref in many:
            git.point(ref, tip)
        state.sync_refs(lab.repo, state.user("author"), many)
    author.tags.delete("net/v1")
    assert lab.forge.hooks.idle()

    bodies = [body for _, body, _ in receiver.got]
    assert [(b["object_kind"], b["ref"], b["checkout_sha"]) for b in bodies] == [
        ("tag_push", "refs/tags/net/v1", tip),
        ("tag_push", "refs/tags/net/v1", None),
    ]
    assert (bodies[0]["message"], bodies[1]["after"]) == ("First", ZERO)
    assert {h["X-Gitlab-Event"] for h, _, _ in receiver.got} == {"Tag Push Hook"}


def test_a_webhook_that_fails_is_disabled_until_a_test_succeeds(
    lab: Lab, receiver: Receiver
) -> None:
    """The short-cut never disables, or lets time alone undo forty failures."""
    project = lab.project("maintainer")
    hook, receiver.status = project.hooks.create({"url": receiver.url}), 500

    def push(times: int = 1) -> None:
        for _ in range(times):
            lab.commit("main", {"x": lab.clock().isoformat()})
            assert lab.forge.hooks.idle()

    push(4)
    seen = project.hooks.get(hook.id)
    assert seen.alert_status == "temporarily_disabled"
    assert seen.disabled_until is not None
    push()
    assert len(receiver.got) == 4
    lab.clock.move(minutes=1, seconds=1)
    assert project.hooks.get(hook.id).alert_status == "executable"
    push()
    lab.clock.move(minutes=1, seconds=30)
    push()
    assert len(receiver.got) == 5  # two minutes now
    for _ in range(35):
        lab.clock.move(hours=25)
        push()
    assert project.hooks.get(hook.id).alert_status == "disabled"
    lab.clock.move(hours=25)
    push()
    assert len(receiver.got) == 40

    assert refusal(lambda: hook.test("push_events"))[0] == 422
    receiver.status = 200
    hook.test("push_events")
    assert project.hooks.get(hook.id).alert_status == "executable"
    push()
    assert len(receiver.got) == 43


def test_hooks_are_for_those_who_may_and_the_edition_that_has_them(lab: Lab) -> None:
    """The short-cut makes group hooks on Free, and system hooks for anybody."""
    state = lab.forge.state
    state.organizations.add("acme", admins=("owner",))
    owner = lab.as_("owner")
    wish = {"url": "http://127.0.0.1:9/hook", "note_events": True}

    group = owner.groups.get("acme")
    assert refusal(lambda: group.hooks.create(wish))[0] == 403
    state.data.gitlab.tier = "premium"
    assert group.hooks.create(wish).note_events is True
    assert refusal(lambda: owner.hooks.create(wish))[0] == 403
    state.data.gitlab.admins.add(state.user("owner").id)
    told: list[Any] = []
    lab.forge.webhook_observers.append(lambda _, headers, body: told.append((headers, body)))
    made = owner.hooks.create(wish | {"push_events": True})
    project = owner.projects.get(lab.repo.id)
    project.path = "packages"
    project.save()
    headers, body = told[0]
    assert headers["X-Gitlab-Event"] == "System Hook"
    assert (body["event_name"], body["old_path_with_namespace"]) == (
        "project_rename",
        "owner/catalog",
    )
    assert made.push_events is True
    assert not hasattr(made, "note_events")
    assert refusal(lambda: lab.project("author").hooks.list())[0] == 403
    bad = {"url": "ftp://here"}
    assert refusal(lambda: lab.project("owner").hooks.create(bad)) == (422, "Invalid url given")


def test_git_pushes_with_a_token_and_meets_the_protected_branch(tmp_path: Path) -> None:
    """The short-cut checks the API alone: git goes around the protection, or takes any token."""
    with SandboxForge(tmp_path / "forge", dialect="gitlab") as forge:
        state = forge.state
        for login in ("owner", "author", "outsider"):
            state.add_user(login)
        state.organizations.add("acme", admins=("owner",), roles={})
        state.organizations.add("acme/net", roles={})
        repo = state.add_repository("acme/net", "vlans", private=True)
        state.add_member(repo, "author", "write")
        reading = forge.tokens.make("author", scopes=["read_repository"]).value
        folder = tmp_path / "work"

        def git(*words: str) -> tuple[int, str]:
            done = subprocess.run(
                ["git", "-c", "user.name=a", "-c", "user.email=author@example.com", *words],
                cwd=folder if folder.exists() else tmp_path,
                capture_output=True,
                text=True,
                check=False,
                env={"GIT_TERMINAL_PROMPT": "0", "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
            )
            return done.returncode, done.stderr

        def url(login: str, token: str) -> str:
            return forge.clone_url("acme/net", "vlans", login, token)

        pushing, boss = url("oauth2", forge.token("author")), url("owner", forge.token("owner"))
        assert git("clone", "-q", boss, "work")[0] == 0
        git("commit", "-q", "--allow-empty", "-m", "First")
        assert git("push", boss, "HEAD:main")[0] == 0
        rule = {"name": "main", "push_access_level": 40}
        address = f"/api/v4/projects/{repo.id}/protected_branches"
        headers = {"PRIVATE-TOKEN": forge.token("owner"), "Content-Type": "application/json"}
        assert forge.answer("POST", address, headers, json.dumps(rule).encode())[0] == 201

        git("commit", "-q", "--allow-empty", "-m", "Second")
        status, said = git("push", pushing, "HEAD:main")
        assert status != 0
        assert "GitLab: You are not allowed to push code to protected branches" in said
        assert "(pre-receive hook declined)" in said
        assert git("push", pushing, "HEAD:drafts/a")[0] == 0
        assert repo.branch("drafts/a") != repo.branch("main")
        assert "hidden ref" in git("push", boss, "HEAD:refs/merge-requests/1/head")[1]
        assert "403" in git("push", url("author", reading), "HEAD:drafts/b")[1]
        assert git("ls-remote", url("author", reading))[0] == 0
        assert git("ls-remote", url("outsider", forge.token("outsider")))[0] != 0
        assert git("ls-remote", url("author", "glpat-wrong"))[0] != 0
