"""What people do in the demo: PyGithub with their tokens, git over HTTP, and waiting.

It is a client like any other and knows nothing of the forge behind the addresses.
"""

import base64
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import github
from github.Auth import Token
from github.CheckRun import CheckRun
from github.Issue import Issue
from github.PullRequest import PullRequest
from github.Repository import Repository

from lifecycle import names

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


class Client:
    """What people do with one repository, each with a token of their own.

    Args:
        info: What a playground writes about itself.
    """

    def __init__(self, info: dict[str, Any]) -> None:
        self._info = info
        self._people = {
            u["login"]: Account(u["login"], u["token"], u["role"]) for u in info["users"]
        }
        self.full_name = str(info["repositories"][0]["full_name"])
        self.base = str(info["repositories"][0]["default_branch"])
        self._clone_url = info["repositories"][0]["clone_url"]

    @property
    def address(self) -> str:
        """The page of the repository."""
        return f"{self._info['web_url']}/{self.full_name}"

    def ask(self, pull: PullRequest, login: str, words: str) -> str:
        """Comment, and wait for the bot's answer to this person."""
        issue = self.repository(login).get_issue(pull.number)
        comment = issue.create_comment(words)

        def answered() -> str | None:
            for reply in issue.get_comments():
                if reply.id > comment.id and reply.body.startswith(f"@{login} "):
                    return " ".join(reply.body.split("<!--")[0].split())
            return None

        return self.wait(f"an answer to {login}'s {words}", answered)

    def wait_check(self, number: int, name: str, conclusion: str) -> CheckRun:
        """Wait until the newest check of this name on a head has this conclusion."""

        def done() -> CheckRun | None:
            newest = self._newest(number, name)
            return newest if newest is not None and newest.conclusion == conclusion else None

        return self.wait(f"{name} to end with {conclusion}", done)

    def wait_told(self, number: int, name: str, words: str) -> None:
        """Wait until the newest check of this name on a head says something."""

        def told() -> bool | None:
            newest = self._newest(number, name)
            return (newest is not None and words in (newest.output.summary or "")) or None

        self.wait(f"{name} to say {words!r}", told)

    def _newest(self, number: int, name: str) -> CheckRun | None:
        repository = self.repository("author")
        head = repository.get_pull(number).head.sha
        runs = [r for r in repository.get_commit(head).get_check_runs() if r.name == name]
        return max(runs, key=lambda r: r.id, default=None)

    def wait_head(self, number: int, sha: str) -> None:
        """Wait until a pull request shows a push."""
        repository = self.repository("author")
        self.wait(
            "the pull request to show the push",
            lambda: repository.get_pull(number).head.sha == sha or None,
        )

    def pull_of(self, branch: str) -> PullRequest | None:
        """The open pull request of a branch, or None."""
        owner = self.full_name.split("/")[0]
        pulls = self.repository("author").get_pulls(state="open", head=f"{owner}:{branch}")
        return next((p for p in pulls if p.head.ref == branch), None)

    def dashboard(self) -> Issue | None:
        """The open issue that the bot keeps; None where there is none."""
        found = [i for i in self.repository("author").get_issues() if i.pull_request is None]
        return next((i for i in found if i.user.login.endswith("[bot]")), None)

    def notes(self, tag: str) -> str | None:
        """The notes of a tag's release; None where there is none."""
        try:
            return str(self.repository("author").get_release(tag).body)
        except github.UnknownObjectException:
            return None

    def labels(self, number: int) -> set[str]:
        """The labels of a pull request."""
        return {label.name for label in self.repository("author").get_issue(number).labels}

    def tag(self, name: str) -> str | None:
        """What a tag points at; None where there is none."""
        try:
            return str(self.repository("author").get_git_ref(f"tags/{name}").object.sha)
        except github.UnknownObjectException:
            return None

    def merged(self, number: int) -> str | None:
        """The merge of a pull request; None until it is merged."""
        pull = self.repository("author").get_pull(number)
        return str(pull.merge_commit_sha) if pull.merged else None

    def wait(self, what: str, ready: Callable[[], T | None]) -> T:
        """Wait until something is there.

        Raises:
            StoryError: It is not there in time.
        """
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

    def repository(self, login: str) -> Repository:
        """The repository, as somebody sees it."""
        client = github.Github(
            auth=Token(self._people[login].token),
            base_url=self._info["api_url"],
            seconds_between_requests=0,
            seconds_between_writes=0,
        )
        return client.get_repo(self.full_name)

    def clone(self, work: Path) -> None:
        """Clone the repository, as its author."""
        self._run("author", ["git", "clone", "--quiet", self._clone_url, str(work)], None)

    def commit(self, work: Path, login: str, message: str) -> None:
        """Commit everything that changed, as somebody."""
        self.git(work, "add", "--all")
        identity = ["-c", f"user.name={login}", "-c", f"user.email={login}@users.example"]
        self.git(work, *identity, "commit", "--quiet", "--message", message)

    def push(self, work: Path, login: str, branch: str) -> None:
        """Push what is checked out to a branch."""
        push = ["git", "push", "--quiet", "origin", f"HEAD:{names.branch_ref(branch)}"]
        self._run(login, push, work)

    def pull_branch(self, work: Path, branch: str) -> None:
        """Check out a branch as the forge has it."""
        refs = f"+{names.branch_ref(branch)}:refs/remotes/origin/{branch}"
        self._run("author", ["git", "fetch", "--quiet", "origin", refs], work)
        self.git(work, "switch", "--quiet", "--force-create", branch, f"origin/{branch}")

    def git(self, work: Path, *arguments: str) -> str:
        """Run git in the clone; its output."""
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
