"""The demo: takes a package from a pushed draft to two tagged revisions, printed step by step.

On the way it shows what people ask for first: a check that fails at its line, a refusal, a window
in which nothing is published, the dashboard while everything is frozen, an exception, a release.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console

from bot import config
from bot.cli.demo.at_github import AtGitHub
from bot.cli.demo.at_gitlab import AtGitLab
from bot.cli.demo.client import DemoClient, StoryError
from bot.cli.demo.files import CONFIGURATION, DEPLOYMENT, KPTFILE, label, with_window
from bot.cli.demo.playground import Playground, PlaygroundError
from lifecycle import names
from lifecycle.facts.checks import PUBLISH, RENDER, VALIDATE
from lifecycle.policy import ShownStage

CLOSED = "nobody is on call"
"""Why the demo's window is closed."""

CLIENTS: Mapping[str, type[DemoClient]] = {"github": AtGitHub, "gitlab": AtGitLab}
"""What people use, by the forge's dialect."""


def run(repo: Path | None, dialect: str = "github", *, leave: bool) -> int:
    """Start a playground, tell the story, and stay for browsing on a terminal.

    Args:
        repo: A repository, folder or bundle; None for the examples.
        dialect: Which forge it is told at, github or gitlab.
        leave: Exit after the story, on a terminal too.

    Returns:
        0 when the story ended well, 1 otherwise.
    """
    console = Console(highlight=False, soft_wrap=True)
    try:
        with Playground(repo, dialect=dialect) as playground:
            story = Story(playground.info(), console, dialect=dialect)
            story.tell()
            if sys.stdout.isatty() and not leave:
                console.print("\nEverything keeps running; press Ctrl-C to stop.", style="bold")
                playground.stay()
    except KeyboardInterrupt:
        return 0
    except (PlaygroundError, StoryError) as error:
        console.print(f"porchbot demo: {error}", style="red")
        return 1
    return 0


class Story:
    """The demo's steps, from the first push to the second tag.

    Args:
        info: What a playground writes about itself.
        console: Where to tell it.
        watch: Told of each moment worth a look, with the number of what it is about.
        dialect: At which of the playground's forges.
    """

    def __init__(
        self,
        info: dict[str, Any],
        console: Console,
        watch: Callable[[str, int], None] = lambda moment, number: None,  # noqa: ARG005 (names)
        dialect: str = "github",
    ) -> None:
        self._client = CLIENTS[dialect](info["forges"][dialect] | {"log": info["log"]})
        self._console = console
        self._watch = watch
        self._package = "net/core"
        self._configuration = b""
        self._started = time.monotonic()

    def tell(self) -> None:
        """Run all steps.

        Raises:
            StoryError: Something that should happen did not.
        """
        self._say(f"Repository: {self._client.address}")
        with tempfile.TemporaryDirectory(prefix="porchbot-demo-") as folder:
            work = Path(folder) / "work"
            self._client.clone(work)
            self._prepare(work)
            self._first(work)
            self._second(work)
        self._step("Done")
        mine = [t for t in sorted(self._client.tags()) if t.startswith(f"{self._package}/v")]
        seconds = time.monotonic() - self._started
        self._say(f"Tags of {self._package}: {', '.join(mine)} ({seconds:.1f} s)")

    def _prepare(self, work: Path) -> None:
        """A repository without our configuration gets one, from somebody who may."""
        if (work / self._package).exists():
            self._package = "porchbot-demo/core"
        file = work / config.CONFIG
        if not file.exists():
            self._step("owner configures guardrails for one folder")
            directory = self._package.split("/")[0]
            file.write_text(CONFIGURATION.format(directory=directory))
            self._client.commit(work, "owner", "Configure porchbot")
            self._client.push(work, "owner", self._client.base)
        self._configuration = file.read_bytes()

    def _first(self, work: Path) -> None:
        number = self._draft(work)
        self._guardrail(number)
        self._objection(number)
        self._watch("objection", number)
        self._mend(work, number)
        self._refusal(number)
        self._watch("refusal", number)
        self._publish(number, 1)

    def _draft(self, work: Path) -> int:
        self._step(f"author pushes a draft of {self._package}")
        name = self._package.rsplit("/", 1)[-1]
        self._client.git(work, "switch", "--quiet", "--create", self._branch)
        folder = work / self._package
        folder.mkdir(parents=True)
        (folder / "Kptfile").write_text(KPTFILE.format(name=name))
        (folder / "router.yaml").write_text(DEPLOYMENT.format(name=name))
        self._client.commit(work, "author", f"Add {self._package}")
        number = self._pushed(work, self._branch)
        self._tell(f"The bot opened a draft pull request #{number}: ", self._client.page(number))
        self._labelled(number, ShownStage.DRAFT)
        return number

    @property
    def _branch(self) -> str:
        return f"{names.DRAFTS}{self._package}/first"

    def _pushed(self, work: Path, branch: str) -> int:
        """Push a draft; the number of what the bot opens for it."""
        client = self._client
        client.push(work, "author", branch)
        what = client.terms.said("the bot opens a pull request")
        return client.wait(what, lambda: client.proposal_of(branch)).number

    def _guardrail(self, number: int) -> None:
        self._step("a guardrail adds a label")
        head = self._client.wait_check(number, RENDER, "success")
        author, lines = self._client.added(head)
        self._say(f"Render commit {head[:10]} by {author}, its added lines:")
        for line in lines:
            self._say(f"  {line}")

    def _objection(self, number: int) -> None:
        client = self._client
        self._step(client.error_shown)
        head = client.wait_check(number, VALIDATE, "failure")
        for note in client.wait("the finding at its line", lambda: client.remarks(number) or None):
            self._say(f"  {note.path}:{note.line}: {' '.join(note.text.split())}")
            self._say(f"    {client.line(head, note.path, note.line)}")
        for line in client.evidence(number):
            self._say(line)

    def _mend(self, work: Path, number: int) -> None:
        self._step("author fixes it and proposes")
        client = self._client
        client.pull_branch(work, self._branch)
        file = work / self._package / "router.yaml"
        text = file.read_text().replace(
            'containerPort: "http" # a name where a number belongs', "containerPort: 8080"
        )
        file.write_text(text)
        client.commit(work, "author", "Give the port as a number")
        client.push(work, "author", self._branch)
        client.wait_head(number, client.git(work, "rev-parse", "HEAD"))
        client.wait_check(number, VALIDATE, "success")
        self._say(f"{VALIDATE}: success")
        for line in client.mended(number):
            self._say(line)
        self._propose(number)

    def _refusal(self, number: int) -> None:
        self._step("outsider tries to approve and is refused")
        self._ask(number, "outsider", "/approve")

    def _publish(self, number: int, revision: int) -> None:
        self._step(f"approver comments /approve: merged, tagged v{revision}")
        self._ask(number, "approver", "/approve")
        self._merged(number, revision)

    def _second(self, work: Path) -> None:
        number = self._closed(work)
        self._freeze(number)
        self._override(number)
        self._watch("published", number)

    def _closed(self, work: Path) -> int:
        """A second change, approved while a window keeps it from being published."""
        client = self._client
        folder = self._package.split("/")[0]
        self._step(f"owner freezes {folder}/ for a while with a window in {config.CONFIG}")
        client.pull_branch(work, client.base)
        file = work / config.CONFIG
        ends = (datetime.now(UTC) + timedelta(hours=2)).replace(minute=0)
        file.write_bytes(with_window(file.read_bytes(), folder, ends, CLOSED))
        client.commit(work, "owner", f"Freeze {folder}")
        for line in client.git(work, "show", "--format=", "--unified=0").split("\n"):
            if line.startswith("+") and not line.startswith("+++"):
                self._say(f"  {line}")
        client.push(work, "owner", client.base)
        # The forge tells whole seconds: an approval in that of the push may be of the rules before.
        time.sleep(1)

        self._step("a second change is approved and waits for the window")
        number = self._draft_of_second(work)
        self._tell(f"Draft pull request #{number}: ", client.page(number))
        client.wait_check(number, VALIDATE, "success")
        seen = time.monotonic()
        self._propose(number)
        client.wait_told(number, PUBLISH, CLOSED)
        # One in the second of the bot's first look may be of the rules before as well.
        time.sleep(max(0.0, seen + 1 - time.monotonic()))
        self._ask(number, "approver", "/approve")
        self._watch("window", number)
        return number

    def _draft_of_second(self, work: Path) -> int:
        client = self._client
        branch = f"{names.DRAFTS}{self._package}/second"
        client.git(work, "switch", "--quiet", "--create", branch)
        file = work / self._package / "router.yaml"
        file.write_text(file.read_text().replace("replicas: 2", "replicas: 3"))
        client.commit(work, "author", "Three replicas")
        return self._pushed(work, branch)

    def _freeze(self, number: int) -> None:
        self._step("owner freezes everything at once, and the dashboard shows it")
        client = self._client
        self._ask(number, "owner", "/freeze for 2h the network is down")

        def shown() -> tuple[str, int] | None:
            issue, text = client.dashboard() or (0, "")
            line = next((each for each in text.split("\n") if "the network is down" in each), None)
            return (line, issue) if line else None

        line, board = client.wait("the dashboard to tell of the freeze", shown)
        self._say(f"Dashboard: {client.issue_page(board)}")
        self._say(f"  {line}")
        self._watch("frozen", board)
        self._ask(number, "owner", "/thaw")

    def _override(self, number: int) -> None:
        self._step("approver makes an exception: merged, tagged v2, released with notes")
        client = self._client
        self._ask(number, "approver", "/override window it repairs the network")
        tag = self._merged(number, 2)
        notes = client.wait(f"the release of {tag}", lambda: client.notes(tag))
        self._say(f"Release: {client.release_page(tag)}")
        for line in notes.split("<!--")[0].split("\n"):
            if line.strip():
                self._say(f"  {line}")

    def _propose(self, number: int) -> None:
        client = self._client
        client.wait_summary(number)  # told beside the checks: what is said comes after it
        client.comment(number, "author", client.terms.said("/propose"))
        client.wait("the draft to end", lambda: not client.proposal(number).draft or None)
        self._tell("/propose: it is a proposal now")
        self._labelled(number, ShownStage.PROPOSED)

    def _merged(self, number: int, revision: int) -> str:
        """Wait until it is merged and tagged; return the tag."""
        tag, client = f"{self._package}/v{revision}", self._client
        client.wait(f"the tag {tag}", lambda: tag in client.tags() or None)
        merged = client.wait("the merge", lambda: client.proposal(number).merge_commit or None)
        self._say(f"Merged as {merged[:10]}, tagged {tag}: {client.page(number)}")
        self._labelled(number, ShownStage.PUBLISHED)
        return tag

    def _labelled(self, number: int, stage: ShownStage) -> None:
        """Wait for the label of a stage, where the repository has labels."""
        name, client = label(self._configuration, stage), self._client
        if name is not None:
            client.wait(f"the label {name}", lambda: name in client.proposal(number).labels or None)
            self._say(f"Label: {name}")

    def _ask(self, number: int, login: str, words: str) -> None:
        """Comment as somebody, and tell the bot's answer."""
        answer = self._client.ask(number, login, self._client.terms.said(words))
        self._say(f"  {answer}")

    # --- telling ---

    def _step(self, text: str) -> None:
        said = self._client.terms.said(text)
        self._console.print(f"\n● {said}", style="bold cyan", markup=False)

    def _tell(self, text: str, address: str = "") -> None:
        """Say a sentence in the forge's terms."""
        self._say(f"{self._client.terms.said(text)}{address}")

    def _say(self, text: str) -> None:
        self._console.print(f"  {text}", markup=False)
