"""What people do in the demo, at whichever forge: git over HTTP with their tokens, and waiting.

It is a client like any other and knows nothing of the forge behind the addresses; what goes by the
forge's API stands in `at_github` and `at_gitlab`.
"""

import base64
import os
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from lifecycle import names, records
from lifecycle.terms import Terms

T = TypeVar("T")

PATIENCE = 45
"""Seconds to wait for one thing to happen; it takes less than one when all is well."""


class StoryError(Exception):
    """The story did not go on as it should."""


@dataclass(frozen=True, slots=True)
class DemoAccount:
    """A user of the forge with a token."""

    login: str
    token: str
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoProposal:
    """A pull request or merge request, as it is shown now."""

    number: int
    head: str
    draft: bool
    labels: frozenset[str]
    merge_commit: str
    """"" until it is merged."""


@dataclass(frozen=True, slots=True)
class LineRemark:
    """What the bot says of a line: an annotation of a check, or a thread."""

    path: str
    line: int
    text: str


class DemoClient(ABC):
    """What people do with one repository, each with a token of their own.

    Attributes:
        error_shown: How the step is called in which a finding is shown at its line.
        terms: How the forge is spoken of.

    Args:
        info: What a playground writes about itself, of one forge.
    """

    error_shown: ClassVar[str]
    terms: Terms

    def __init__(self, info: dict[str, Any]) -> None:
        self._info = info
        self._people = {
            u["login"]: DemoAccount(u["login"], u["token"], u["role"]) for u in info["users"]
        }
        self.full_name = str(info["repositories"][0]["full_name"])
        self.base = str(info["repositories"][0]["default_branch"])
        self._clone_url = info["repositories"][0]["clone_url"]

    # --- pages ---

    @property
    def address(self) -> str:
        """The page of the repository."""
        return f"{self._info['web_url']}/{self.full_name}"

    @abstractmethod
    def page(self, number: int) -> str:
        """The page of a proposal."""

    @abstractmethod
    def issue_page(self, number: int) -> str:
        """The page of an issue."""

    @abstractmethod
    def release_page(self, tag: str) -> str:
        """The page of a release."""

    @abstractmethod
    def evidence(self, number: int) -> Sequence[str]:
        """Lines that say where a proposal shows what was found."""

    # --- what people do ---

    @abstractmethod
    def comment(self, number: int, login: str, words: str) -> int:
        """Comment as somebody; the number of it."""

    def ask(self, number: int, login: str, words: str) -> str:
        """Comment, and wait for the bot's answer to this person."""
        comment = self.comment(number, login, words)

        def answered() -> str | None:
            for text in self.comments_after(number, comment):
                if text.startswith(f"@{login} "):
                    return " ".join(text.split("<!--")[0].split())
            return None

        return self.wait(f"an answer to {login}'s {words}", answered)

    # --- what they see ---

    @abstractmethod
    def comments_after(self, number: int, comment: int) -> Sequence[str]:
        """The texts of later comments."""

    @abstractmethod
    def proposal(self, number: int) -> DemoProposal:
        """A proposal as it is now."""

    @abstractmethod
    def proposal_of(self, branch: str) -> DemoProposal | None:
        """The open proposal of a branch, or None."""

    @abstractmethod
    def ended(self, sha: str, name: str) -> str | None:
        """How the newest check of a name ended at a commit: "success", "failure"; else None."""

    @abstractmethod
    def told(self, number: int, name: str) -> str:
        """What is said beside the newest check of a name on a head."""

    @abstractmethod
    def remarks(self, number: int) -> Sequence[LineRemark]:
        """What stands at lines, open, in the order of the lines."""

    @abstractmethod
    def mended(self, number: int) -> Sequence[str]:
        """Lines that say what became of remarks whose cause is gone; waits for it."""

    @abstractmethod
    def added(self, sha: str) -> tuple[str, Sequence[str]]:
        """Who a commit is by, and the lines that it adds, each after its file."""

    @abstractmethod
    def line(self, sha: str, path: str, line: int) -> str:
        """One line of a file at a commit, as it stands there."""

    @abstractmethod
    def dashboard(self) -> tuple[int, str] | None:
        """Number and text of the open issue that the bot keeps; None where there is none."""

    @abstractmethod
    def notes(self, tag: str) -> str | None:
        """The notes of a tag's release; None where there is none."""

    @abstractmethod
    def tags(self) -> Sequence[str]:
        """The names of all tags."""

    def wait_check(self, number: int, name: str, conclusion: str) -> str:
        """Wait until a check of this name on the head has this conclusion; the head."""

        def done() -> str | None:
            head = self.proposal(number).head
            return head if self.ended(head, name) == conclusion else None

        return self.wait(f"{name} to end with {conclusion}", done)

    def wait_told(self, number: int, name: str, words: str) -> None:
        """Wait until something is said beside the newest check of this name."""
        self.wait(f"{name} to say {words!r}", lambda: words in self.told(number, name) or None)

    def wait_summary(self, number: int) -> None:
        """Wait until the bot's summary stands at a proposal."""

        def there() -> bool | None:
            return any(map(records.is_summary, self.comments_after(number, 0))) or None

        self.wait("the summary", there)

    def wait_head(self, number: int, sha: str) -> None:
        """Wait until a proposal shows a push."""
        self.wait("the push to be shown", lambda: self.proposal(number).head == sha or None)

    def wait(self, what: str, ready: Callable[[], T | None]) -> T:
        """Wait until something is there.

        Raises:
            StoryError: It is not there in time.
        """
        until, pause = time.monotonic() + PATIENCE, 0.1
        while time.monotonic() < until:
            found = ready()
            if found is not None:
                return found
            time.sleep(pause)
            pause = min(0.5, pause * 1.3)  # what takes long is asked for less and less often
        raise StoryError(
            f"waited {PATIENCE} s for {what}, and it did not happen. See the log in"
            f" {self._info['log']}."
        )

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
