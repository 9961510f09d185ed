"""A forge with one repository, its people, an App and a receiver of webhooks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.sandbox.records.repository import Pull, Repository
from bot.sandbox.rules.context import FileChange
from bot.sandbox.serve import SandboxForge
from tests.app_key import keys
from tests.bot.sandbox.world import SECRET, Received, World
from tests.contract.watch import watched


@pytest.fixture
def received() -> Iterator[Received]:
    """Takes webhooks on a loopback address and answers 202."""
    inbox = Received()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            inbox.add(dict(self.headers.items()), body)
            self.send_response(202)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    inbox.url = f"http://127.0.0.1:{server.server_port}/webhooks/github"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield inbox
    server.shutdown()
    server.server_close()


class Clock:
    """The true time, and what it was moved by."""

    def __init__(self) -> None:
        self._moved = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self._moved

    def move(self, **step: float) -> None:
        """Let time pass: `move(minutes=5)`."""
        self._moved += timedelta(**step)


@pytest.fixture
def clock() -> Clock:
    """The forge's clock."""
    return Clock()


@pytest.fixture
def forge(tmp_path: Path, clock: Clock) -> Iterator[SandboxForge]:
    """A forge that serves; whatever it answers is held against GitHub's descriptions."""
    with SandboxForge(tmp_path / "forge", clock=clock) as made, watched(made):
        yield made


EVENTS = (
    *("check_run", "check_suite", "create", "delete", "issue_comment", "issues", "merge_group"),
    *("pull_request", "pull_request_review", "push", "repository", "status"),
)
"""More than the bot asks for: a push also tells which refs came and went."""


@pytest.fixture
def world(forge: SandboxForge, received: Received, tmp_path: Path) -> World:
    """Owner, author, approver and outsider, a repository with one file, an App installed."""
    private, public = keys()
    state = forge.state
    for login in ("owner", "author", "approver", "outsider"):
        state.add_user(login)
    repo = state.add_repository("owner", "catalog")
    state.add_member(repo, "author", "write")
    state.add_member(repo, "approver", "maintain")
    with state.lock:
        first = [FileChange(path="net/values.yaml", content=b"a: 1\nb: 2\nc: 3\n")]
        state.commit_files(repo, "main", first, "Begin", actor=state.user("owner"))
    app = state.register_app(
        "porchbot",
        public,
        owner="owner",
        events=EVENTS,
        webhook_url=received.url,
        webhook_secret=SECRET,
    )
    state.install(app, repo)
    return World(
        forge=forge, repo=repo, app=app, private_key=private, received=received, folder=tmp_path
    )


@pytest.fixture
def repo(world: World) -> Repository:
    """The world's repository, as the forge's own memory has it."""
    return world.repo


@pytest.fixture
def pull(world: World) -> Pull:
    """A pull request of `author` from branch `drafts/net` that changes one line."""
    world.commit("drafts/net", {"net/values.yaml": "a: 1\nb: 9\nc: 3\n"}, login="author")
    with world.state.lock:
        return world.state.pulls.open(
            world.repo,
            world.state.user("author"),
            title="Change b",
            head="drafts/net",
            base="main",
            body="Because.",
        )


@pytest.fixture
def api(world: World) -> Iterator[Callable[..., httpx.Response]]:
    """Calls the API by hand: `api("GET", "/user", token=…)`."""
    with httpx.Client(base_url=world.forge.api_url, timeout=60, verify=False) as client:

        def call(method: str, path: str, token: str | None = None, **more: Any) -> httpx.Response:
            headers = {"User-Agent": "tests", **more.pop("headers", {})}
            if token is not None:
                headers["Authorization"] = f"Bearer {token}"
            return client.request(method, path, headers=headers, **more)

        yield call
