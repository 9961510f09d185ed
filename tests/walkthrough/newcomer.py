"""What a new user does, from nothing to a first published revision.

The words that each page has to say are those that the guides name: `tests/test_walkthrough.py`
looks for them there.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.sandbox.serve import SandboxForge
from tests.ports import free_port
from tests.walkthrough.browser import Browser

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs/guide"
USER, OPERATOR = GUIDE / "README.md", ROOT / "docs/operate/setup.md"


@dataclass(frozen=True, slots=True)
class Look:
    """A page that is looked at on the way.

    Attributes:
        guide: Which page names it.
        words: What it has to say; the guide has the same words.
        height: Of its picture, in CSS pixels.
    """

    guide: Path
    words: tuple[str, ...]
    height: int


SETUP = {
    "setup": Look(OPERATOR, ("Create the App on GitHub",), 620),
    "register": Look(OPERATOR, ("Create GitHub App for acme",), 700),
    "setup-done": Look(OPERATOR, ("is registered", "Install porchbot"), 400),
    "install": Look(OPERATOR, ("installed",), 330),
}
PROPOSAL = {
    "onboarding": Look(OPERATOR, ("Configure porchbot", "Before you rely on it"), 1150),
    "merged-by-hand": Look(OPERATOR, ("merged",), 1000),
    "draft": Look(USER, ("Ready for review", "Draft"), 1250),
    "checks": Look(USER, ("porchbot/render", "porchbot/validate", "porchbot/publish"), 1100),
    "proposed": Look(USER, ("approved: 0 of 1",), 1250),
    "published": Look(USER, ("net/core/v1",), 1500),
    "tag": Look(USER, ("net/core/v1", "Changes", "Approved-by"), 780),
    "dashboard": Look(USER, ("net/core",), 800),
}
LOOKS = {**SETUP, **PROPOSAL}

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
ADDED = """\
guardrails:
  validators:
    - {image: "kubeconform:v0.1", configMap: {strict: "true"}}
publish:
  release: true
"""
ROUTER = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: router
data:
  mtu: "1500"
"""


class Newcomer:
    """Somebody with a terminal and a browser, and an organisation on the forge.

    Args:
        folder: For everything on disk.
        forge: Where GitHub would be.
        browser: The window.
        pictures: Where pictures go; None takes none.
    """

    def __init__(
        self, folder: Path, forge: SandboxForge, browser: Browser, pictures: Path | None
    ) -> None:
        self.folder, self.forge, self.browser = folder, forge, browser
        self._pictures = pictures
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

    def registers(self) -> str:
        """`porchbot setup`, its page, the forge's pages and back, and the App's installation.

        Returns:
            What the command said.
        """
        browser = self.browser
        command = ["setup", "--github", self.forge.web_url, "--org", "acme", "--listen"]
        command += [f"127.0.0.1:{free_port()}", "--url", f"http://{self._bot}"]
        with self._command(command) as process:
            assert process.stdout is not None
            said = ""
            while "token=" not in said:
                line = process.stdout.readline()
                assert line, said
                said += line
            browser.opens(re.findall(r"http\S+token=\S+", said)[0])
            browser.presses("Continue")
            self._looks("setup")
            browser.presses("Create the App on GitHub")
            self._looks("register")
            browser.presses("Create GitHub App for acme")
            self._looks("setup-done")
            said += process.stdout.read()
            assert process.wait(60) == 0, said
        browser.presses("Install porchbot")
        browser.presses("Install")
        self._looks("install")
        return said

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

    def onboards(self) -> None:
        """See the bot's first pull request, and merge it by hand."""
        browser = self.browser
        browser.opens(f"{self.forge.web_url}/acme/blueprints/pulls")
        browser.sees("Configure porchbot", reload=True)
        browser.presses("Configure porchbot")
        browser.sees("rules approved", reload=True)
        self._looks("onboarding")
        browser.presses("Merge pull request")
        browser.sees("1 commit was merged into")
        self._looks("merged-by-hand")

    def publishes(self) -> None:
        """A package from a push to a release: draft, checks, proposal, approval."""
        browser = self.browser
        self._configures()
        self._pushes_a_package()
        here = f"{self.forge.web_url}/acme/blueprints"
        browser.opens(f"{here}/pulls")
        browser.sees("drafts/net/core/first", reload=True)
        number = re.findall(r"#(\d+) · porchbot", browser.text())[0]
        pull = f"{here}/pull/{number}"
        browser.opens(pull)
        browser.sees("porchbot/publish", "Missing", reload=True)
        self._looks("draft")
        browser.opens(f"{pull}/checks")
        self._looks("checks")
        browser.opens(pull)
        self._says("author", "/propose")
        browser.sees("approved: 0 of 1", "Open", reload=True)
        self._looks("proposed")
        self._says("approver", "/approve")
        browser.sees("1 commit was merged into", "net/core/v1", reload=True)
        browser.sees("porchbot: published", reload=True)  # the label
        browser.misses("porchbot: proposed")
        self._looks("published")
        browser.opens(f"{here}/releases/tag/net/core/v1")
        browser.sees("released this", "Approved-by: approver", reload=True)
        self._looks("tag")
        browser.opens(f"{here}/issues")
        browser.sees("Packages of this repository", reload=True)
        browser.presses("Packages of this repository")
        self._looks("dashboard")

    def _says(self, login: str, words: str) -> None:
        """Act as somebody, and comment."""
        browser = self.browser
        if f"acting as {login}" not in browser.text():
            browser.presses("acting as", leaves=False)
            browser.presses(login)
        browser.types(words)
        browser.presses("Comment")

    def _looks(self, name: str) -> None:
        look = LOOKS[name]
        self.browser.sees(*look.words)
        if self._pictures is not None:
            self.browser.pictures(self._pictures / f"{name}.png", look.height)

    def _configures(self) -> None:
        """The owner adds validation and releases, as the guide has them."""
        work, token = self.folder / "owners", self.forge.state.token("owner")
        address = self.forge.clone_url("acme", "blueprints", "owner", token)
        self._git("clone", "--quiet", address, str(work))
        with (work / ".porchbot.yaml").open("a") as file:
            file.write(ADDED)
        commit(work, "owner", "Check every resource, and make releases")
        self._git("push", "--quiet", at=work)

    def _pushes_a_package(self) -> None:
        token = self.forge.state.token("author")
        work = self.folder / "work"
        self._git("clone", "--quiet", self.forge.clone_url("acme", "blueprints", "author", token))
        (self.folder / "blueprints").rename(work)
        self._git("switch", "--quiet", "--create", "drafts/net/core/first", at=work)
        package(work / "net/core", "core", "The core network")
        commit(work, "author", "Add net/core")
        self._git("push", "--quiet", "--set-upstream", "origin", "HEAD", at=work)

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
def organisation(folder: Path) -> Iterator[SandboxForge]:
    """A forge with an organisation, its people, and one repository with one package."""
    source = folder / "source"
    package(source / "net/edge", "edge", "The edge network")
    git("init", "--quiet", "--initial-branch=main", at=source)
    commit(source, "owner", "Begin")
    with SandboxForge(folder / "forge") as forge:
        for login in ("owner", "author", "approver"):
            forge.state.add_user(login)
        forge.state.organizations.add("acme", admins=("owner",), members=("author", "approver"))
        repo = forge.state.add_repository("acme", "blueprints", source)
        for login, role in {"owner": "admin", "author": "write", "approver": "maintain"}.items():
            forge.state.add_member(repo, login, role)
        yield forge
