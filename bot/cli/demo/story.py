"""The demo: takes a package from a pushed draft to two tagged revisions, printed step by step.

On the way it shows what people ask for first: a check that fails at its line, a refusal, a window
in which nothing is published, the dashboard while everything is frozen, an exception, a release.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from github.PullRequest import PullRequest
from rich.console import Console

from bot import config
from bot.cli.demo.client import Client, StoryError
from bot.cli.demo.files import CONFIGURATION, DEPLOYMENT, KPTFILE, label, with_window
from bot.cli.demo.playground import Playground, PlaygroundError
from lifecycle import names
from lifecycle.facts.checks import PUBLISH, RENDER, VALIDATE
from lifecycle.policy import ShownStage

CLOSED = "nobody is on call"
"""Why the demo's window is closed."""


def run(repo: Path | None, *, leave: bool) -> int:
    """Start a playground, tell the story, and stay for browsing on a terminal.

    Returns:
        0 when the story ended well, 1 otherwise.
    """
    console = Console(highlight=False, soft_wrap=True)
    try:
        with Playground(repo) as playground:
            story = Story(playground.info(), console)
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
    """

    def __init__(
        self,
        info: dict[str, Any],
        console: Console,
        watch: Callable[[str, int], None] = lambda moment, number: None,  # noqa: ARG005 (names)
    ) -> None:
        self._client = Client(info)
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
        tags = sorted(t.name for t in self._client.repository("author").get_tags())
        mine = [name for name in tags if name.startswith(f"{self._package}/v")]
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
        pull = self._draft(work)
        self._guardrail(pull)
        self._objection(pull)
        self._watch("objection", pull.number)
        self._mend(work, pull)
        self._refusal(pull)
        self._watch("refusal", pull.number)
        self._publish(pull, 1)

    def _draft(self, work: Path) -> PullRequest:
        self._step(f"author pushes a draft of {self._package}")
        branch = f"{names.DRAFTS}{self._package}/first"
        name = self._package.rsplit("/", 1)[-1]
        self._client.git(work, "switch", "--quiet", "--create", branch)
        folder = work / self._package
        folder.mkdir(parents=True)
        (folder / "Kptfile").write_text(KPTFILE.format(name=name))
        (folder / "router.yaml").write_text(DEPLOYMENT.format(name=name))
        self._client.commit(work, "author", f"Add {self._package}")
        self._client.push(work, "author", branch)
        pull = self._client.wait(
            "the bot opens a pull request", lambda: self._client.pull_of(branch)
        )
        self._say(f"The bot opened a draft pull request: {self._page(pull)}")
        self._labelled(pull, ShownStage.DRAFT)
        return pull

    def _guardrail(self, pull: PullRequest) -> None:
        self._step("a guardrail adds a label")
        self._client.wait_check(pull.number, RENDER, "success")
        head = self._client.repository("author").get_pull(pull.number).head.sha
        commit = self._client.repository("author").get_commit(head)
        added = [
            f"{file.filename}: {line}"
            for file in commit.files
            for line in (file.patch or "").split("\n")
            if line.startswith("+") and not line.startswith("+++")
        ]
        self._say(f"Render commit {head[:10]} by {commit.commit.author.name}, its added lines:")
        for line in added:
            self._say(f"  {line}")

    def _objection(self, pull: PullRequest) -> None:
        self._step("a validator reports an error at its line")
        run = self._client.wait_check(pull.number, VALIDATE, "failure")
        for note in run.get_annotations():
            self._say(f"  {note.path}:{note.start_line}: {note.message}")
            self._say(f"    {self._line(run.head_sha, note.path, note.start_line)}")
        self._say(f"Checks: {self._page(pull)}/checks")

    def _line(self, commit: str, path: str, line: int) -> str:
        """One line of a file at a commit, as it stands there."""
        found = self._client.repository("author").get_contents(path, ref=commit)
        file = found[0] if isinstance(found, list) else found
        return file.decoded_content.decode().split("\n")[line - 1].strip()

    def _mend(self, work: Path, pull: PullRequest) -> None:
        self._step("author fixes it and proposes")
        branch = pull.head.ref
        self._client.pull_branch(work, branch)
        file = work / self._package / "router.yaml"
        text = file.read_text().replace(
            'containerPort: "http" # a name where a number belongs', "containerPort: 8080"
        )
        file.write_text(text)
        self._client.commit(work, "author", "Give the port as a number")
        self._client.push(work, "author", branch)
        self._client.wait_head(pull.number, self._client.git(work, "rev-parse", "HEAD"))
        self._client.wait_check(pull.number, VALIDATE, "success")
        self._say(f"{VALIDATE}: success")
        self._propose(pull)

    def _refusal(self, pull: PullRequest) -> None:
        self._step("outsider tries to approve and is refused")
        answer = self._client.ask(pull, "outsider", "/approve")
        self._say(f"  {answer}")

    def _publish(self, pull: PullRequest, revision: int) -> None:
        self._step(f"approver comments /approve: merged, tagged v{revision}")
        answer = self._client.ask(pull, "approver", "/approve")
        self._say(f"  {answer}")
        self._merged(pull, revision)

    def _second(self, work: Path) -> None:
        pull = self._closed(work)
        self._freeze(pull)
        self._override(pull)
        self._watch("published", pull.number)

    def _closed(self, work: Path) -> PullRequest:
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
        pull = self._draft_of_second(work)
        self._say(f"Draft pull request: {self._page(pull)}")
        client.wait_check(pull.number, VALIDATE, "success")
        self._propose(pull)
        client.wait_told(pull.number, PUBLISH, CLOSED)
        self._say(f"  {client.ask(pull, 'approver', '/approve')}")
        self._watch("window", pull.number)
        return pull

    def _draft_of_second(self, work: Path) -> PullRequest:
        client = self._client
        branch = f"{names.DRAFTS}{self._package}/second"
        client.git(work, "switch", "--quiet", "--create", branch)
        file = work / self._package / "router.yaml"
        file.write_text(file.read_text().replace("replicas: 2", "replicas: 3"))
        client.commit(work, "author", "Three replicas")
        client.push(work, "author", branch)
        return client.wait("the bot opens a pull request", lambda: client.pull_of(branch))

    def _freeze(self, pull: PullRequest) -> None:
        self._step("owner freezes everything at once, and the dashboard shows it")
        client = self._client
        self._say(f"  {client.ask(pull, 'owner', '/freeze for 2h the network is down')}")

        def shown() -> tuple[str, int] | None:
            board = client.dashboard()
            found = board.body.split("\n") if board else []
            line = next((line for line in found if "the network is down" in line), None)
            return (line, board.number) if board and line else None

        line, number = client.wait("the dashboard to tell of the freeze", shown)
        self._say(f"Dashboard: {client.address}/issues/{number}")
        self._say(f"  {line}")
        self._watch("frozen", number)
        self._say(f"  {client.ask(pull, 'owner', '/thaw')}")

    def _override(self, pull: PullRequest) -> None:
        self._step("approver makes an exception: merged, tagged v2, released with notes")
        client = self._client
        self._say(f"  {client.ask(pull, 'approver', '/override window it repairs the network')}")
        tag = self._merged(pull, 2)
        notes = client.wait(f"the release of {tag}", lambda: client.notes(tag))
        self._say(f"Release: {client.address}/releases/tag/{tag}")
        for line in notes.split("<!--")[0].split("\n"):
            if line.strip():
                self._say(f"  {line}")

    def _propose(self, pull: PullRequest) -> None:
        repository = self._client.repository("author")
        repository.get_issue(pull.number).create_comment("/propose")
        self._client.wait(
            "the draft to become a proposal",
            lambda: not repository.get_pull(pull.number).draft or None,
        )
        self._say("/propose: it is a proposal now")
        self._labelled(pull, ShownStage.PROPOSED)

    def _merged(self, pull: PullRequest, revision: int) -> str:
        """Wait until it is merged and tagged; return the tag."""
        tag = f"{self._package}/v{revision}"
        self._client.wait(f"the tag {tag}", lambda: self._client.tag(tag))
        merged = self._client.wait("the merge", lambda: self._client.merged(pull.number))
        self._say(f"Merged as {merged[:10]}, tagged {tag}: {self._page(pull)}")
        self._labelled(pull, ShownStage.PUBLISHED)
        return tag

    def _labelled(self, pull: PullRequest, stage: ShownStage) -> None:
        """Wait for the label of a stage, where the repository has labels."""
        name = label(self._configuration, stage)
        if name is not None:
            labels = self._client.labels
            self._client.wait(f"the label {name}", lambda: name in labels(pull.number) or None)
            self._say(f"Label: {name}")

    # --- telling ---

    def _step(self, text: str) -> None:
        self._console.print(f"\n● {text}", style="bold cyan", markup=False)

    def _say(self, text: str) -> None:
        self._console.print(f"  {text}", markup=False)

    def _page(self, pull: PullRequest) -> str:
        return f"{self._client.address}/pull/{pull.number}"
