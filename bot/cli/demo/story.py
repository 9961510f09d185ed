"""The demo: takes a package from a pushed draft to two tagged revisions, printed step by step.

It is a client like any other: PyGithub with people's tokens, and git over HTTP. It knows nothing of
the forge behind the addresses.
"""

import base64
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import github
from github.Auth import Token
from github.CheckRun import CheckRun
from github.PullRequest import PullRequest
from github.Repository import Repository
from rich.console import Console

from bot import config
from bot.cli.demo.files import CONFIGURATION, DEPLOYMENT, KPTFILE
from bot.cli.demo.playground import Playground, PlaygroundError
from lifecycle import names
from lifecycle.facts.checks import RENDER, VALIDATE

T = TypeVar("T")

PATIENCE = 45
"""Seconds to wait for one thing to happen; it takes less than one when all is well."""


class StoryError(Exception):
    """The story did not go on as it should."""


@dataclass(frozen=True, slots=True)
class Account:
    """A user of the forge with a token."""

    login: str
    token: str
    role: str


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
                console.print("\nEverything stays up for browsing; Ctrl-C ends it.", style="bold")
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
        watch: Told of each moment worth a look, with the pull request it is about.
    """

    def __init__(
        self,
        info: dict[str, Any],
        console: Console,
        watch: Callable[[str, int], None] = lambda moment, number: None,  # noqa: ARG005 (names)
    ) -> None:
        self._info = info
        self._console = console
        self._watch = watch
        self._people = {
            u["login"]: Account(u["login"], u["token"], u["role"]) for u in info["users"]
        }
        self._full_name = info["repositories"][0]["full_name"]
        self._clone_url = info["repositories"][0]["clone_url"]
        self._base = info["repositories"][0]["default_branch"]
        self._package = "net/core"
        self._started = time.monotonic()

    def tell(self) -> None:
        """Run all steps.

        Raises:
            StoryError: Something that should happen did not.
        """
        self._say(f"Repository: {self._info['web_url']}/{self._full_name}")
        with tempfile.TemporaryDirectory(prefix="porchbot-demo-") as folder:
            work = Path(folder) / "work"
            self._clone(work)
            self._prepare(work)
            self._first(work)
            self._second(work)
        self._step("Done")
        tags = sorted(t.name for t in self._repository("author").get_tags())
        mine = [name for name in tags if name.startswith(f"{self._package}/v")]
        seconds = time.monotonic() - self._started
        self._say(f"Tags of {self._package}: {', '.join(mine)} ({seconds:.1f} s)")

    def _prepare(self, work: Path) -> None:
        """A repository without our configuration gets one, from somebody who may."""
        if (work / self._package).exists():
            self._package = "porchbot-demo/core"
        if (work / config.CONFIG).exists():
            return
        self._step("owner configures guardrails for one folder")
        directory = self._package.split("/")[0]
        (work / config.CONFIG).write_text(CONFIGURATION.format(directory=directory))
        self._commit(work, "owner", "Configure porchbot")
        self._push(work, "owner", self._base)

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
        self._git(work, "switch", "--quiet", "--create", branch)
        folder = work / self._package
        folder.mkdir(parents=True)
        (folder / "Kptfile").write_text(KPTFILE.format(name=name))
        (folder / "router.yaml").write_text(DEPLOYMENT.format(name=name))
        self._commit(work, "author", f"Add {self._package}")
        self._push(work, "author", branch)
        pull = self._wait("the bot opens a pull request", lambda: self._pull_of(branch))
        self._say(f"The bot opened a draft pull request: {self._page(pull)}")
        return pull

    def _guardrail(self, pull: PullRequest) -> None:
        self._step("a guardrail adds a label")
        self._wait_check(pull.number, RENDER, "success")
        head = self._repository("author").get_pull(pull.number).head.sha
        commit = self._repository("author").get_commit(head)
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
        self._step("a validator objects, at the line")
        run = self._wait_check(pull.number, VALIDATE, "failure")
        for note in run.get_annotations():
            self._say(f"  {note.path}:{note.start_line}: {note.message}")
            self._say(f"    {self._line(run.head_sha, note.path, note.start_line)}")
        self._say(f"Checks: {self._page(pull)}/checks")

    def _line(self, commit: str, path: str, line: int) -> str:
        """One line of a file at a commit, as it stands there."""
        found = self._repository("author").get_contents(path, ref=commit)
        file = found[0] if isinstance(found, list) else found
        return file.decoded_content.decode().split("\n")[line - 1].strip()

    def _mend(self, work: Path, pull: PullRequest) -> None:
        self._step("author fixes it and proposes")
        branch = pull.head.ref
        self._pull_branch(work, branch)
        file = work / self._package / "router.yaml"
        text = file.read_text().replace(
            'containerPort: "http" # a name where a number belongs', "containerPort: 8080"
        )
        file.write_text(text)
        self._commit(work, "author", "Give the port as a number")
        self._push(work, "author", branch)
        self._wait_head(pull.number, self._git(work, "rev-parse", "HEAD"))
        self._wait_check(pull.number, VALIDATE, "success")
        self._say(f"{VALIDATE}: success")
        self._propose(pull)

    def _refusal(self, pull: PullRequest) -> None:
        self._step("outsider tries to approve and is refused")
        answer = self._ask(pull, "outsider", "/approve")
        self._say(f"  {answer}")

    def _publish(self, pull: PullRequest, revision: int) -> None:
        self._step(f"approver says /approve: merged, tagged v{revision}")
        answer = self._ask(pull, "approver", "/approve")
        self._say(f"  {answer}")
        tag = f"{self._package}/v{revision}"
        self._wait(f"the tag {tag}", lambda: self._tag(tag))
        merged = self._wait("the merge", lambda: self._merged(pull.number))
        self._say(f"Merged as {merged[:10]}, tagged {tag}: {self._page(pull)}")

    def _second(self, work: Path) -> None:
        self._step("a second change becomes v2")
        branch = f"{names.DRAFTS}{self._package}/second"
        self._pull_branch(work, self._base)
        self._git(work, "switch", "--quiet", "--create", branch)
        file = work / self._package / "router.yaml"
        file.write_text(file.read_text().replace("replicas: 2", "replicas: 3"))
        self._commit(work, "author", "Three replicas")
        self._push(work, "author", branch)
        pull = self._wait("the bot opens a pull request", lambda: self._pull_of(branch))
        self._say(f"Draft: {self._page(pull)}")
        self._wait_check(pull.number, VALIDATE, "success")
        self._propose(pull)
        self._publish(pull, 2)

    def _propose(self, pull: PullRequest) -> None:
        repository = self._repository("author")
        repository.get_issue(pull.number).create_comment("/propose")
        self._wait(
            "the draft to become a proposal",
            lambda: not repository.get_pull(pull.number).draft or None,
        )
        self._say("/propose: it is a proposal now")

    # --- waiting and asking ---

    def _ask(self, pull: PullRequest, login: str, words: str) -> str:
        """Comment, and wait for the bot's answer to this person."""
        issue = self._repository(login).get_issue(pull.number)
        comment = issue.create_comment(words)

        def answered() -> str | None:
            for reply in issue.get_comments():
                if reply.id > comment.id and reply.body.startswith(f"@{login} "):
                    return " ".join(reply.body.split("<!--")[0].split())
            return None

        return self._wait(f"an answer to {login}'s {words}", answered)

    def _wait_check(self, number: int, name: str, conclusion: str) -> CheckRun:
        def done() -> CheckRun | None:
            repository = self._repository("author")
            head = repository.get_pull(number).head.sha
            runs = [r for r in repository.get_commit(head).get_check_runs() if r.name == name]
            newest = max(runs, key=lambda r: r.id, default=None)
            return newest if newest is not None and newest.conclusion == conclusion else None

        return self._wait(f"{name} to end with {conclusion}", done)

    def _wait_head(self, number: int, sha: str) -> None:
        repository = self._repository("author")
        self._wait(
            "the pull request to show the push",
            lambda: repository.get_pull(number).head.sha == sha or None,
        )

    def _pull_of(self, branch: str) -> PullRequest | None:
        owner = self._full_name.split("/")[0]
        pulls = self._repository("author").get_pulls(state="open", head=f"{owner}:{branch}")
        return next((p for p in pulls if p.head.ref == branch), None)

    def _tag(self, name: str) -> str | None:
        try:
            return str(self._repository("author").get_git_ref(f"tags/{name}").object.sha)
        except github.UnknownObjectException:
            return None

    def _merged(self, number: int) -> str | None:
        pull = self._repository("author").get_pull(number)
        return str(pull.merge_commit_sha) if pull.merged else None

    def _wait(self, what: str, ready: Callable[[], T | None]) -> T:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            found = ready()
            if found is not None:
                return found
            time.sleep(0.1)
        raise StoryError(
            f"waited {PATIENCE} s for {what}, and it did not happen. See the log in"
            f" {self._info['log']}."
        )

    def _repository(self, login: str) -> Repository:
        client = github.Github(
            auth=Token(self._people[login].token),
            base_url=self._info["api_url"],
            seconds_between_requests=0,
            seconds_between_writes=0,
        )
        return client.get_repo(self._full_name)

    # --- git ---

    def _clone(self, work: Path) -> None:
        self._run("author", ["git", "clone", "--quiet", self._clone_url, str(work)], None)

    def _commit(self, work: Path, login: str, message: str) -> None:
        self._git(work, "add", "--all")
        identity = ["-c", f"user.name={login}", "-c", f"user.email={login}@users.example"]
        self._git(work, *identity, "commit", "--quiet", "--message", message)

    def _push(self, work: Path, login: str, branch: str) -> None:
        push = ["git", "push", "--quiet", "origin", f"HEAD:{names.branch_ref(branch)}"]
        self._run(login, push, work)

    def _pull_branch(self, work: Path, branch: str) -> None:
        refs = f"+{names.branch_ref(branch)}:refs/remotes/origin/{branch}"
        self._run("author", ["git", "fetch", "--quiet", "origin", refs], work)
        self._git(work, "switch", "--quiet", "--force-create", branch, f"origin/{branch}")

    def _git(self, work: Path, *arguments: str) -> str:
        return self._run("author", ["git", *arguments], work)

    def _run(self, login: str, command: list[str], folder: Path | None) -> str:
        secret = base64.b64encode(f"{login}:{self._people[login].token}".encode()).decode()
        environment = {
            **os.environ,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{self._info['web_url']}/.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {secret}",
        }
        done = subprocess.run(  # noqa: S603 (a list; the only outside text is an address of ours)
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise StoryError(f"{' '.join(command)} failed: {done.stderr.strip()}")
        return done.stdout.strip()

    # --- telling ---

    def _step(self, text: str) -> None:
        self._console.print(f"\n● {text}", style="bold cyan", markup=False)

    def _say(self, text: str) -> None:
        self._console.print(f"  {text}", markup=False)

    def _page(self, pull: PullRequest) -> str:
        return f"{self._info['web_url']}/{self._full_name}/pull/{pull.number}"
