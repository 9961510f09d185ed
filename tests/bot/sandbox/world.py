"""What the forge's tests speak with: clients of people and of the App, git, webhooks."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import github
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from github import Auth

from bot.sandbox.git.objects import Commit
from bot.sandbox.records.accounts import App
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.context import FileChange
from bot.sandbox.rules.state import ForgeState
from bot.sandbox.serve import SandboxForge

SECRET = "it is a secret"


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook as it came in."""

    headers: Mapping[str, str]
    body: bytes

    @property
    def name(self) -> str:
        """`pull_request.opened`, or `push`."""
        action = self.payload.get("action")
        event = self.headers["X-GitHub-Event"]
        return f"{event}.{action}" if action else event

    @property
    def payload(self) -> dict[str, Any]:
        """The body, parsed."""
        parsed: dict[str, Any] = json.loads(self.body)
        return parsed


class Received:
    """Webhooks that came in, in order."""

    def __init__(self) -> None:
        self.url = ""
        self._lock = threading.Lock()
        self._hooks: list[Hook] = []

    def add(self, headers: Mapping[str, str], body: bytes) -> None:
        """Keep one."""
        with self._lock:
            self._hooks.append(Hook(headers, body))

    def all(self) -> list[Hook]:
        """All that came so far."""
        with self._lock:
            return list(self._hooks)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One forge and everything a test needs of it."""

    forge: SandboxForge
    repo: Repository
    app: App
    private_key: str
    received: Received
    folder: Path
    _tokens: dict[str, str] = field(default_factory=dict)

    @property
    def state(self) -> ForgeState:
        """The forge's rules and memory."""
        return self.forge.state

    def token(self, login: str) -> str:
        """The token of a user, the same at each call."""
        return self._tokens.setdefault(login, self.state.token(login))

    def client(self, login: str) -> github.Github:
        """PyGithub as a user."""
        return self._client(Auth.Token(self.token(login)))

    def repository(self, login: str) -> Any:
        """The repository, seen by a user through PyGithub."""
        return self.client(login).get_repo(self.repo.full_name)

    def jwt(self, **claims: Any) -> str:
        """A JWT of the App; claims that are given replace its own."""
        now = int(self.state.clock().timestamp())
        own = {"iat": now - 60, "exp": now + 540, "iss": str(self.app.id)}
        return jwt.encode(own | claims, _key(self.private_key), algorithm="RS256")

    def installation_token(self, **permissions: str) -> str:
        """A token of the App's installation, with all permissions or with these."""
        with self.state.lock:
            found = self.state.installation_of(self.app, self.repo)
            assert found is not None
            return self.forge.accounts.mint(found, permissions or None, None)[0]

    def bot(self, **permissions: str) -> Any:
        """The repository, seen by the App through PyGithub."""
        auth = Auth.Token(self.installation_token(**permissions))
        return self._client(auth).get_repo(self.repo.full_name)

    def commit(self, branch: str, files: Mapping[str, str], login: str = "author") -> Commit:
        """Commit files to a branch by the forge's own hand."""
        changes = [FileChange(path=p, content=text.encode()) for p, text in files.items()]
        with self.state.lock:
            actor = self.state.user(login)
            return self.state.commit_files(self.repo, branch, changes, "Change", actor=actor)

    def clone(self, login: str, token: str | None = None) -> Git:
        """A clone of the repository by a user, over HTTP."""
        place = self.folder / f"clone-{login}-{len(list(self.folder.iterdir()))}"
        url = self.forge.clone_url(
            self.repo.owner.login, self.repo.name, login, token or self.token(login)
        )
        git = Git(place, login)
        git.run("clone", "--quiet", url, str(place), cwd=self.folder)
        return git

    def hooks(self) -> list[Hook]:
        """All webhooks that the forge has to send have come: here they are."""
        assert self.forge.hooks.idle()
        return self.received.all()

    def _client(self, auth: Auth.Auth) -> github.Github:
        return github.Github(
            auth=auth,
            base_url=self.forge.api_url,
            seconds_between_requests=0,
            seconds_between_writes=0,
            retry=0,
        )


@dataclass(frozen=True, slots=True)
class Git:
    """A clone that git works in, as a person with a name."""

    folder: Path
    login: str

    def run(
        self,
        *arguments: str,
        cwd: Path | None = None,
        check: bool = True,
        env: Mapping[str, str] | None = None,
    ) -> str:
        """Run git; what it said on both outputs."""
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_AUTHOR_NAME": self.login.capitalize(),
            "GIT_AUTHOR_EMAIL": f"{self.login}@people.example",
            "GIT_COMMITTER_NAME": self.login.capitalize(),
            "GIT_COMMITTER_EMAIL": f"{self.login}@people.example",
            **(env or {}),
        }
        done = subprocess.run(
            ["git", *arguments],
            cwd=cwd or self.folder,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=60,
        )
        if check:
            assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def write(self, path: str, content: str | bytes, message: str = "Change") -> str:
        """Write a file and commit it; the commit's id."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        self.run("add", "--all")
        self.run("commit", "--quiet", "-m", message)
        return self.run("rev-parse", "HEAD").strip()


def wait_until(check: Any, timeout: float = 60.0) -> None:
    """Wait until a check holds."""
    end = time.monotonic() + timeout
    while not check():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.005)


def refused(call: Callable[[], Any]) -> tuple[int, str]:
    """Status and message of a call that must fail."""
    with pytest.raises(github.GithubException) as caught:
        call()
    return caught.value.status, str(caught.value.data["message"])


@cache
def _key(pem: str) -> RSAPrivateKey:
    """A key as PEM, read once: that takes longer than to sign."""
    key = load_pem_private_key(pem.encode(), password=None)
    assert isinstance(key, RSAPrivateKey)
    return key
