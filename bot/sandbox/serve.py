"""Runs the forge on a loopback address: `with SandboxForge(folder) as forge: …`."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import uvicorn

from bot.sandbox.api import Exchange, Links
from bot.sandbox.asgi import App, Message, Receive, Scope, Send, raw_path
from bot.sandbox.faults.calls import Faults
from bot.sandbox.git.bare import BareStore
from bot.sandbox.git_http import GitHttp, is_git
from bot.sandbox.github import deliveries as github_deliveries
from bot.sandbox.github.git_access import GitHubGitAccess
from bot.sandbox.github.http import GitHubApi
from bot.sandbox.gitlab import deliveries as gitlab_deliveries
from bot.sandbox.gitlab.git_access import GitLabGitAccess
from bot.sandbox.gitlab.http import GitLabApi
from bot.sandbox.gitlab.tokens import Tokens
from bot.sandbox.pages.gitlab import GitLabPages
from bot.sandbox.pages.routes import Pages
from bot.sandbox.rules.accounts import Accounts
from bot.sandbox.rules.pushing import GitAccess
from bot.sandbox.rules.state import ForgeState
from bot.sandbox.sending import Hooks

AnyHooks = Hooks[github_deliveries.DeliveryPublisher] | Hooks[gitlab_deliveries.DeliveryPublisher]

_VERSIONS = {"github": "v3", "gitlab": "v4"}


def _now() -> datetime:
    return datetime.now(UTC)


class _Server(uvicorn.Server):
    """Ends the connections that clients keep: Python warns of those that are just dropped."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End, and let the loop tell each connection of it."""
        await super().shutdown(sockets)
        for each in list(self.server_state.connections):
            if (transport := getattr(each, "transport", None)) is not None:
                transport.abort()
        await asyncio.sleep(0)


class SandboxForge:
    """The whole forge: state, HTTP apps, webhooks, faults; serves while it is entered.

    Attributes:
        dialect: `github` or `gitlab`.
        state: The forge's rules and memory; hold `state.lock` around what is not set-up.
        accounts: Mints and reads tokens of GitHub's dialect.
        tokens: Mints and reads tokens of GitLab's dialect.
        faults: What goes wrong, and the log of calls.
        hooks: Webhooks that were sent; `hooks.idle()` waits for them.
        api_url: `http://127.0.0.1:PORT/api/v3`, PyGithub's `base_url`; `…/api/v4` in GitLab's
            dialect (python-gitlab is given `web_url`).
        web_url: `http://127.0.0.1:PORT`: pages, and git at `/owner/repo.git`.

    Args:
        folder: For everything on disk.
        dialect: `github` or `gitlab`.
        clock: What time it is there.
        port: 0 takes a free one.
        tls: Files of a certificate and its key, PEM; None speaks plain HTTP.
    """

    def __init__(
        self,
        folder: Path,
        *,
        dialect: Literal["github", "gitlab"] = "github",
        clock: Callable[[], datetime] = _now,
        port: int = 0,
        tls: tuple[Path, Path] | None = None,
    ) -> None:
        # With its protocol named, asyncio switches off Nagle's delay of 40 ms an answer.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", port))
        scheme = "https" if tls else "http"
        self.web_url = f"{scheme}://127.0.0.1:{self._socket.getsockname()[1]}"
        self.dialect = dialect
        self.api_url = f"{self.web_url}/api/{_VERSIONS[dialect]}"
        self.links = Links(api=self.api_url, web=self.web_url)
        self.store = BareStore(folder / "repositories")
        self.state = ForgeState(self.store, clock)
        self.accounts = Accounts(self.state)
        self.tokens = Tokens(self.state)
        self.faults = Faults(self.state)
        self.hooks, self._api, access = self._speak(dialect)
        self._git = GitHttp(self.state, self.store, access, self.faults, self.web_url)
        self._pages: App = (GitLabPages if dialect == "gitlab" else Pages)(self.state).app
        self._server = _Server(
            uvicorn.Config(
                self,
                loop="asyncio",  # it starts processes from a thread that is not the first
                http="httptools",
                ws="none",
                lifespan="off",
                log_level="warning",
                access_log=False,
                server_header=False,
                ssl_certfile=tls[0] if tls else None,
                ssl_keyfile=tls[1] if tls else None,
                date_header=False,
                # Longer than a busy machine lets a client stand still: what it sends just as its
                # connection is closed would be lost.
                timeout_keep_alive=600,
            )
        )
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="sandbox-forge", daemon=True
        )

    @property
    def observers(self) -> list[Callable[[Exchange], None]]:
        """Called with every API exchange."""
        return self._api.observers

    @property
    def webhook_observers(
        self,
    ) -> list[Callable[[str, Mapping[str, str], Mapping[str, Any]], None]]:
        """Called with event, headers and payload of every webhook made."""
        return self.hooks.made.observers

    def clone_url(self, owner: str, name: str, login: str = "", token: str = "") -> str:
        """Where git finds a repository, with credentials where a login is given."""
        scheme, _, host = self.web_url.partition("://")
        who = f"{login}:{token}@" if login else ""
        return f"{scheme}://{who}{host}/{owner}/{name}.git"

    def answer(
        self, method: str, address: str, headers: Mapping[str, str], raw: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """Answer one request of the API within this process, served or not; see `Api.answer`."""
        return self._api.answer(method, address, headers, raw)

    def token(self, login: str) -> str:
        """Mint a personal access token of a user, with every right; it holds until the end."""
        return (
            self.tokens.make(login).value if self.dialect == "gitlab" else self.state.token(login)
        )

    def start(self) -> None:
        """Begin to serve; returns when requests are answered."""
        self._thread.start()
        waiting = threading.Event()
        while not self._server.started:
            if not self._thread.is_alive():
                raise RuntimeError("the forge's server ended before it began")
            waiting.wait(0.005)

    def stop(self) -> None:
        """End: no request is answered any more, and no process is left."""
        self._server.should_exit = True
        self._server.force_exit = True
        if self._thread.is_alive():
            self._thread.join(timeout=10)
        self.hooks.close()
        self.store.close()
        self._socket.close()

    def _speak(self, dialect: str) -> tuple[AnyHooks, GitHubApi | GitLabApi, GitAccess]:
        """What sends webhooks, answers the API, and guards git."""
        state, links, faults = self.state, self.links, self.faults
        if dialect == "gitlab":
            told = gitlab_deliveries.sending(state, links, faults.hooks)
            api = GitLabApi(state, links, self.tokens, faults, told)
            return told, api, GitLabGitAccess(state, self.tokens)
        heard = github_deliveries.sending(state, links, faults.hooks)
        access = GitHubGitAccess(state, self.accounts, self.web_url)
        return heard, GitHubApi(state, links, self.accounts, faults, heard), access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of the API, of git or for a page, with the forge's own time."""

        async def dated(message: Message) -> None:
            if message["type"] == "http.response.start":
                now = format_datetime(self.state.clock().astimezone(UTC), usegmt=True)
                headers = [*message["headers"], (b"date", now.encode())]
                message = {**message, "headers": headers}
            await send(message)

        path = raw_path(scope)
        if path.startswith("/api/"):
            await self._api(scope, receive, dated)
        elif is_git(path):
            await self._git(scope, receive, dated)
        else:
            await self._pages(scope, receive, dated)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(RuntimeError):
            self.stop()
