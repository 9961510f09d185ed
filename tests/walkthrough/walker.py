"""What every newcomer does, at whichever forge: a terminal, a browser, and a look at pages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bot.sandbox.serve import SandboxForge
from tests.ports import free_port
from tests.walkthrough.browser import NARROW, Browser, BrowserError

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs/guide"


@dataclass(frozen=True, slots=True)
class Look:
    """A page that is looked at on the way.

    Attributes:
        guide: Which page names it.
        words: What it has to say; the guide has the same words.
        height: Of its picture, in CSS pixels.
        width: Likewise.
    """

    guide: Path
    words: tuple[str, ...]
    height: int
    width: int = 1100


KPTFILE = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: {name}
  annotations:
    config.kubernetes.io/local-config: "true"
info:
  description: {description}
"""
ROUTER = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: router
data:
  mtu: "1500"
"""
ADDED = """\
guardrails:
  validators:
    - {image: "kubeconform:v0.1", configMap: {strict: "true"}}
publish:
  release: true
"""


class Walker:
    """Somebody with a terminal and a browser, and an organisation on the forge.

    Args:
        folder: For everything on disk.
        forge: Where the real forge would be.
        browser: The window.
        pictures: Where pictures go; None takes none.
        looks: What is looked at on the way, by the names of the pictures.
    """

    def __init__(
        self,
        folder: Path,
        forge: SandboxForge,
        browser: Browser,
        pictures: Path | None,
        looks: Mapping[str, Look],
    ) -> None:
        self.folder, self.forge, self.browser = folder, forge, browser
        self._pictures = pictures
        self._pages = looks
        self._bot = f"127.0.0.1:{free_port()}"
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "NO_PROXY": "127.0.0.1",
            "PORCHBOT_STATE": str(folder / "state"),
            "PORCHBOT_LISTEN": self._bot,
            "PORCHBOT_SWEEP_SECONDS": "5",
        }

    @contextmanager
    def serves(self) -> Iterator[None]:
        """`porchbot serve`, with what the setup stored and nothing else."""
        log = (self.folder / "bot.log").open("w")
        command = [sys.executable, "-m", "bot.cli", "serve", "--until-stdin-closes"]
        with log:
            process = subprocess.Popen(
                command, env=self.environ, stdin=subprocess.PIPE, stdout=log, stderr=log
            )
            try:
                yield
            finally:
                process.terminate()
                process.communicate(timeout=60)

    def doctor(self, *options: str, token: str = "") -> str:
        """`porchbot doctor`; what it said."""
        environ = {**self.environ, **({"PORCHBOT_OWNER_TOKEN": token} if token else {})}
        command = [sys.executable, "-m", "bot.cli", "doctor", *options]
        done = subprocess.run(
            command, env=environ, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode in (0, 1), done.stderr
        return done.stdout + done.stderr

    def _acts(self, login: str) -> None:
        """Act as somebody from now on."""
        browser = self.browser
        if f"acting as {login}" not in browser.text():
            browser.presses("acting as", leaves=False)
            browser.presses(login)

    def _says(self, login: str, words: str) -> None:
        """Act as somebody, and comment."""
        self._acts(login)
        self.browser.types(words)
        self.browser.presses("Comment")

    def _looks(self, name: str) -> None:
        look = self._pages[name]
        self.browser.sees(*look.words)
        if beyond := self.browser.beyond():
            raise BrowserError(f"{self.browser.address()} is wider than {NARROW}: {beyond}")
        if self._pictures is not None:
            self.browser.pictures(self._pictures / f"{name}.png", look.width, look.height)

    def _configures(self) -> None:
        """The owner adds validation and releases, as the guide has them."""
        work = self.folder / "owners"
        self._clones("owner", work)
        with (work / ".porchbot.yaml").open("a") as file:
            file.write(ADDED)
        commit(work, "owner", "Check every resource, and make releases")
        self._git("push", "--quiet", at=work)

    def _clones(self, login: str, work: Path) -> None:
        """Clone the repository, as somebody."""
        token = self.forge.token(login)
        address = self.forge.clone_url("acme", "blueprints", login, token)
        self._git("clone", "--quiet", address, str(work))

    def _git(self, *arguments: str, at: Path | None = None) -> None:
        git(*arguments, at=at or self.folder, environ=self.environ)

    @contextmanager
    def _command(self, arguments: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
        process = subprocess.Popen(
            [sys.executable, "-m", "bot.cli", *arguments],
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


def quoted(said: str, guide: Path, address: str, folder: Path) -> bool:
    """Whether a guide quotes what a command said, as it is on GitHub; lines may be broken."""
    plain = re.sub(r"http\S+/setup\?token=\S+", "http://127.0.0.1:8099/setup?token=…", said)
    plain = plain.replace(address, "https://github.com")
    plain = plain.replace(f"{folder}/state", "~/.local/state/porchbot")
    blocks = re.findall(r"(?ms)^```\w*\n(.*?)^```$", guide.read_text(encoding="utf-8"))
    return " ".join(plain.split()) in [" ".join(each.split()) for each in blocks]


def git(*arguments: str, at: Path, environ: dict[str, str] | None = None) -> None:
    """Run git."""
    subprocess.run(["git", *arguments], cwd=at, env=environ, check=True, timeout=60)


def commit(work: Path, login: str, subject: str) -> None:
    """Commit everything, as somebody."""
    who = ["-c", f"user.name={login}", "-c", f"user.email={login}@users.example"]
    git("add", "--all", at=work)
    git(*who, "commit", "--quiet", "--message", subject, at=work)


def package(folder: Path, name: str, description: str) -> None:
    """Write a small package."""
    folder.mkdir(parents=True)
    (folder / "Kptfile").write_text(KPTFILE.format(name=name, description=description))
    (folder / "router.yaml").write_text(ROUTER)


@contextmanager
def organisation(
    folder: Path, dialect: Literal["github", "gitlab"] = "github"
) -> Iterator[SandboxForge]:
    """A forge with an organisation, its people, and one repository with one package."""
    source = folder / "source"
    package(source / "net/edge", "edge", "The edge network")
    git("init", "--quiet", "--initial-branch=main", at=source)
    commit(source, "owner", "Begin")
    with SandboxForge(folder / "forge", dialect=dialect) as forge:
        for login in ("owner", "author", "approver"):
            forge.state.add_user(login)
        forge.state.organizations.add("acme", admins=("owner",), members=("author", "approver"))
        repo = forge.state.add_repository("acme", "blueprints", source)
        for login, role in {"owner": "admin", "author": "write", "approver": "maintain"}.items():
            forge.state.add_member(repo, login, role)
        yield forge
