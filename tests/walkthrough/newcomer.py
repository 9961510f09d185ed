"""What a new user does, from nothing to a first published revision.

The words that each page has to say are those that the guides name: `tests/test_walkthrough.py`
looks for them there.
"""

from __future__ import annotations

import re
from pathlib import Path

from bot.sandbox.serve import SandboxForge
from tests.ports import free_port
from tests.walkthrough.browser import Browser
from tests.walkthrough.walker import GUIDE, ROOT, Look, Walker, commit, package

USER, OPERATOR = GUIDE / "README.md", ROOT / "docs/operate/setup.md"

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


class Newcomer(Walker):
    """Somebody new at GitHub; the arguments are those of `Walker`."""

    def __init__(
        self, folder: Path, forge: SandboxForge, browser: Browser, pictures: Path | None
    ) -> None:
        super().__init__(folder, forge, browser, pictures, LOOKS)

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

    def onboards(self) -> None:
        """See the bot's first pull request, and merge it by hand."""
        browser = self.browser
        browser.opens(f"{self.forge.web_url}/acme/blueprints/pulls")
        browser.sees("Configure porchbot", reload=True)
        browser.presses("Configure porchbot")
        browser.sees("rules approved", reload=True)
        self._looks("onboarding")
        browser.presses("Merge pull request")
        browser.sees("had 1 commit merged into")
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
        browser.sees("approved: 0 of 1", "Open", "does not require the check", reload=True)
        self._looks("proposed")
        self._says("approver", "/approve")
        browser.sees("had 1 commit merged into", "net/core/v1", reload=True)
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

    def _pushes_a_package(self) -> None:
        work = self.folder / "work"
        self._clones("author", work)
        self._git("switch", "--quiet", "--create", "drafts/net/core/first", at=work)
        package(work / "net/core", "core", "The core network")
        commit(work, "author", "Add net/core")
        self._git("push", "--quiet", "--set-upstream", "origin", "HEAD", at=work)
