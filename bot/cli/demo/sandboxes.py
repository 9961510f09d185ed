"""The sandbox forges of a playground: what each begins with, and how a bot is made known there."""

import json
import os
import secrets
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from bot import gitlabs
from bot.forges.github import manifest
from bot.forges.github.manifest import AppManifestError
from bot.forges.gitlab import hooks
from bot.settings import state_folder
from bot.vault import VaultError, open_vault
from lifecycle.facts.checks import PUBLISH

USERS: Mapping[str, str] = {
    "author": "write",
    "approver": "maintain",
    "outsider": "read",
    "owner": "admin",
}
"""Login to role: one for each part in the story."""

OWNER = "acme"
"""The account that has the repository."""

APP_ID = 1001

BOTH = "both"
"""GitHub's and GitLab's dialect, a sandbox forge each."""

Spawn = Callable[[list[str], Mapping[str, str], int | None], "subprocess.Popen[str]"]
"""Starts a process: its command, its environment, and where its output goes (None: to the log)."""


class DemoForgeError(Exception):
    """A sandbox forge could not be started, or the bot not be made known there."""


class DemoForge(ABC):
    """One sandbox forge, with the same people and the same repository in each dialect.

    Attributes:
        dialect: As `python -m bot.sandbox` is told.
        title: For people.

    Args:
        folder: For everything on disk.
        name: Of the repository.
        spawn: Starts its process.
    """

    dialect: ClassVar[str]
    title: ClassVar[str]

    def __init__(self, folder: Path, name: str, spawn: Spawn) -> None:
        self._folder = folder
        self._name = name
        self._spawn = spawn
        self.child: subprocess.Popen[str] | None = None
        self._ready: dict[str, Any] = {}
        self._secret = secrets.token_hex(20)

    def start(
        self, bot_url: str, source: Path, environment: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Start it, and make the bot known there.

        Args:
            bot_url: Where the bot will be reached.
            source: A repository or bundle to begin with.
            environment: The bot's, as far as it is known.

        Returns:
            What the bot's environment is to have for it.

        Raises:
            SandboxError: It could not be started or set up.
        """
        file = self._folder / f"{self.dialect}.json"
        file.write_text(json.dumps(self._begins(bot_url, source)))
        command = [sys.executable, "-m", "bot.sandbox"]
        command += ["--folder", str(self._folder / self.dialect), "--state", str(file)]
        command += ["--until-stdin-closes", "--dialect", self.dialect]
        child = self.child = self._spawn(command, os.environ, subprocess.PIPE)
        line = child.stdout.readline() if child.stdout else ""
        if not line:
            raise DemoForgeError(f"the {self.title} forge did not start")
        self._ready = json.loads(line)
        return self._make_known(bot_url, environment)

    def info(self) -> dict[str, Any]:
        """Addresses, users and tokens, as the playground's file has them."""
        return {
            "api_url": self._ready["api_url"],
            "web_url": self._ready["web_url"],
            "webhook_secret": self._secret,
            "repositories": [
                {name: r[name] for name in ("id", "full_name", "clone_url", "default_branch")}
                for r in self._ready["repositories"]
            ],
            "users": [
                {"login": u["login"], "token": u["token"], "role": USERS[u["login"]]}
                for u in self._ready["users"]
                if u["login"] in USERS
            ],
        }

    def _begins(self, bot_url: str, source: Path) -> dict[str, Any]:  # noqa: ARG002 (GitHub's asks)
        return {
            "users": [{"login": login} for login in USERS],
            "repositories": [
                {
                    "owner": OWNER,
                    "name": self._name,
                    "source": str(source),
                    "members": dict(USERS),
                }
            ],
        }

    @abstractmethod
    def _make_known(self, bot_url: str, environment: Mapping[str, str]) -> Mapping[str, str]:
        """What `start` does once the forge answers, and what it returns."""


class GitHubSandbox(DemoForge):
    """A GitHub, where the bot is an App."""

    dialect = "github"
    title = "GitHub"

    def __init__(self, folder: Path, name: str, spawn: Spawn) -> None:
        super().__init__(folder, name, spawn)
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def _begins(self, bot_url: str, source: Path) -> dict[str, Any]:
        try:
            granted = manifest.read()
        except AppManifestError as error:
            raise DemoForgeError(str(error)) from error
        state = super()._begins(bot_url, source)
        # What no gate lets through cannot be merged by hand either. The owner may push to the
        # branch, to configure it.
        state["repositories"][0]["protect"] = {
            "~DEFAULT_BRANCH": {
                "required_checks": [{"context": PUBLISH, "app_id": APP_ID}],
                "allow_direct_push": True,
            }
        }
        return state | {
            "app": {
                "id": APP_ID,
                "slug": "porchbot",
                "public_key": _public_pem(self._key),
                "webhook_url": f"{bot_url}/webhooks/github",
                "webhook_secret": self._secret,
                "permissions": granted["default_permissions"],
                "events": granted["default_events"],
            }
        }

    def _make_known(self, bot_url: str, environment: Mapping[str, str]) -> Mapping[str, str]:
        del bot_url, environment
        return {
            "PORCHBOT_GITHUB_APP_ID": str(APP_ID),
            "PORCHBOT_GITHUB_PRIVATE_KEY": _pem(self._key),
            "PORCHBOT_WEBHOOK_SECRETS": self._secret,
            "PORCHBOT_GITHUB_API_URL": str(self._ready["api_url"]),
        }


class GitLabSandbox(DemoForge):
    """A GitLab, where `porchbot setup gitlab` makes account, webhooks and protections."""

    dialect = "gitlab"
    title = "GitLab"

    def _begins(self, bot_url: str, source: Path) -> dict[str, Any]:
        """The account is a group here: it has service accounts, and the bot becomes one."""
        group = {"login": OWNER, "admins": ["owner"]}
        return super()._begins(bot_url, source) | {"organizations": [group]}

    def _make_known(self, bot_url: str, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Do what an operator does: the bot's token and secrets go to its secret store."""
        tokens = {each["login"]: each["token"] for each in self._ready["users"]}
        command = [sys.executable, "-m", "bot.cli", "setup", "gitlab", "--gates"]
        command += ["--gitlab", self._ready["web_url"], "--url", bot_url, "--group", OWNER]
        done = subprocess.run(  # noqa: S603 (our own command)
            command,
            env={**environment, "PORCHBOT_OWNER_TOKEN": tokens["owner"]},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise DemoForgeError(f"the bot could not be set up at GitLab: {done.stderr.strip()}")
        try:
            (instance,) = gitlabs.stored(open_vault(environment, state_folder(environment)))
        except VaultError as error:
            raise DemoForgeError(str(error)) from error
        # Who sends a webhook by hand speaks for the whole instance.
        self._secret = hooks.of_instance(instance).secrets.token(hooks.INSTANCE)
        return {}


def sandboxes(dialect: str, folder: Path, name: str, spawn: Spawn) -> list[DemoForge]:
    """The sandbox forges of a playground.

    Args:
        dialect: github, gitlab, or both.
        folder: As `Sandbox` has it.
        name: Likewise.
        spawn: Likewise.
    """
    kinds: tuple[type[DemoForge], ...] = (GitHubSandbox, GitLabSandbox)
    return [kind(folder, name, spawn) for kind in kinds if dialect in (kind.dialect, BOTH)]


def _pem(key: rsa.RSAPrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    ).decode()


def _public_pem(key: rsa.RSAPrivateKey) -> str:
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )
