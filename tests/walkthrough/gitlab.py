"""What a new user of GitLab does, from nothing to a first published revision."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from bot.sandbox.serve import SandboxForge
from tests.stories.world import seconds_pass
from tests.walkthrough.browser import Browser
from tests.walkthrough.walker import GUIDE, Look, Walker, commit, package

PAGE = GUIDE / "gitlab.md"
MISTAKE, MENDED = 'containerPort: "8080"', "containerPort: 8080"
ROUTER = f"""\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: router
spec:
  selector:
    matchLabels: {{app: router}}
  template:
    metadata:
      labels: {{app: router}}
    spec:
      containers:
        - name: router
          image: nginx:1.27
          ports:
            - {MISTAKE}
"""
LOOKS = {
    "gitlab-onboarding": Look(PAGE, ("Configure porchbot", "Before you rely on it"), 1250),
    "gitlab-draft": Look(PAGE, ("Draft: Add net/core", "Merge blocked", "porchbot/validate"), 1500),
    "gitlab-thread": Look(PAGE, ("got string, want integer", "Resolve thread"), 1190),
    "gitlab-pipelines": Look(PAGE, ("porchbot/render", "porchbot/publish"), 520),
    "gitlab-phone": Look(PAGE, ("Merge blocked", "Mark as ready"), 1300, width=390),
    "gitlab-proposed": Look(PAGE, ("net/core v1 is proposed", "Resolved by porchbot"), 1350),
    "gitlab-published": Look(PAGE, ("Merged by porchbot", "Tagged net/core/v1"), 1300),
    "gitlab-tag": Look(PAGE, ("net/core/v1", "Approved-by"), 760),
    "gitlab-release": Look(PAGE, ("Published by !2", "net/core v1"), 480),
    "gitlab-dashboard": Look(PAGE, ("Packages of this repository", "net/core"), 620),
    "gitlab-project": Look(PAGE, ("Publish net/core v1",), 640),
}


class GitLabNewcomer(Walker):
    """Somebody new at GitLab; the arguments are those of `Walker`."""

    def __init__(
        self, folder: Path, forge: SandboxForge, browser: Browser, pictures: Path | None
    ) -> None:
        super().__init__(folder, forge, browser, pictures, LOOKS)
        self._work = folder / "work"

    @property
    def _here(self) -> str:
        return f"{self.forge.web_url}/acme/blueprints"

    def sets_up(self) -> str:
        """`porchbot setup gitlab` with an owner's token; what it said."""
        return sets_up(self.folder, self.forge, f"http://{self._bot}")

    def onboards(self) -> None:
        """See the bot's first merge request, approve it and merge it."""
        browser = self.browser
        browser.opens(f"{self._here}/-/merge_requests")
        browser.sees("Configure porchbot", reload=True)
        browser.presses("Configure porchbot")
        browser.sees("rules approved: 0 of 1", reload=True)
        self._acts("owner")
        self._looks("gitlab-onboarding")
        self._approves()
        browser.sees("Ready to merge!", reload=True)
        browser.presses("Merge")
        browser.sees("Merged by owner")

    def _approves(self) -> None:
        """Press *Approve* in a later second than the last push: the forge here tells whole ones."""
        seconds_pass(self.forge, 1)
        self.browser.presses("Approve")

    def publishes(self) -> None:
        """A package from a push with a mistake to a release."""
        browser = self.browser
        self._configures()
        self._pushes_a_mistake()
        browser.opens(f"{self._here}/-/merge_requests")
        browser.sees("drafts/net/core/first", reload=True)
        number = re.findall(r"!(\d+) · created", browser.text())[0]
        request = f"{self._here}/-/merge_requests/{number}"
        browser.opens(request)
        self._acts("author")
        browser.sees("started a thread on net/core/router.yaml:16", reload=True)
        self._looks("gitlab-draft")
        self._looks("gitlab-phone")
        browser.presses("Changes")
        self._looks("gitlab-thread")
        browser.presses("Pipelines 1")
        self._looks("gitlab-pipelines")
        self._mends()
        browser.opens(request)
        browser.sees("Resolved by porchbot", "No errors", reload=True)
        browser.presses("Mark as ready")
        browser.sees("net/core v1 is proposed", "porchbot: proposed", reload=True)
        self._looks("gitlab-proposed")
        self._acts("approver")
        self._approves()
        browser.sees("Merged by porchbot", "Tagged net/core/v1", reload=True)
        browser.sees("porchbot: published", reload=True)  # the label
        browser.misses("porchbot: proposed")
        self._looks("gitlab-published")
        browser.presses("Tags")
        browser.presses("net/core/v1")
        browser.sees("Approved-by: approver", reload=True)
        self._looks("gitlab-tag")
        browser.presses("Releases")
        self._looks("gitlab-release")
        browser.presses("Issues")
        browser.sees("Packages of this repository", reload=True)
        browser.presses("Packages of this repository")
        self._looks("gitlab-dashboard")
        browser.presses("Repository")
        self._looks("gitlab-project")

    def _pushes_a_mistake(self) -> None:
        work = self._work
        self._clones("author", work)
        self._git("switch", "--quiet", "--create", "drafts/net/core/first", at=work)
        package(work / "net/core", "core", "The core network")
        (work / "net/core/router.yaml").write_text(ROUTER)
        commit(work, "author", "Add net/core")
        self._git("push", "--quiet", "--set-upstream", "origin", "HEAD", at=work)

    def _mends(self) -> None:
        self._git("pull", "--quiet", "--ff-only", at=self._work)
        file = self._work / "net/core/router.yaml"
        file.write_text(file.read_text().replace(MISTAKE, MENDED))
        commit(self._work, "author", "Give the port as a number")
        self._git("push", "--quiet", at=self._work)


def sets_up(folder: Path, forge: SandboxForge, url: str) -> str:
    """`porchbot setup gitlab` for the group `acme`, with an owner's token; what it said."""
    command = [sys.executable, "-m", "bot.cli", "setup", "gitlab", "--gates", "--group", "acme"]
    done = subprocess.run(
        [*command, "--gitlab", forge.web_url, "--url", url],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "NO_PROXY": "127.0.0.1",
            "PORCHBOT_STATE": str(folder / "state"),
            "PORCHBOT_OWNER_TOKEN": forge.token("owner"),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    said = (done.stdout + done.stderr).replace(url, "https://porchbot.acme.example")
    return re.sub(r"\d{4}-\d\d-\d\d", "2027-11-27", said)
