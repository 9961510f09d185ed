"""What people do in the stories and what they see, in words that all forges share; git over HTTP.

Longer than 400 lines: all that people do, under one name for each.

What they are shown comes in plain values (`seen`). `github_people` and `gitlab_people` do it by the
forges' clients.
"""

import base64
import os
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Protocol, Self, TypeVar

from tests.stories.seen import Board, Check, Made, Pull, Remark, Said

T = TypeVar("T")

PATIENCE = 90.0
"""Seconds to wait for one thing, which takes about one on a machine that does nothing else."""


class WaitedInVainError(AssertionError):
    """What a story waited for did not happen."""


class Link(str):
    """What a symlink names, in the place of a file's text."""

    __slots__ = ()


class Waiter(Protocol):
    """Waits in a time of its own."""

    def wait_for(self, what: str, ready: Callable[[], T | None], seconds: float) -> T:
        """As the function of this name."""


waiters: list[Waiter] = []
"""The last one waits for the present story; without one, real time passes."""


def wait_for(what: str, ready: Callable[[], T | None], seconds: float = PATIENCE) -> T:
    """Ask again and again until there is something, less often the longer it takes."""
    if waiters:
        return waiters[-1].wait_for(what, ready, seconds)
    return polled(what, ready, seconds)


def polled(
    what: str,
    ready: Callable[[], T | None],
    seconds: float = PATIENCE,
    *,
    pauses: Callable[[float], object] = time.sleep,
    longest: float = 0.2,
) -> T:
    """Ask again and again in real time, less often the longer it takes.

    Args:
        what: That is waited for.
        ready: Says whether it is there.
        seconds: Until it was in vain.
        pauses: Lets so many seconds pass, or fewer where it is worth asking at once.
        longest: Most seconds between two questions.
    """
    until = time.monotonic() + seconds
    pause = 0.03
    while True:
        found = ready()
        if found is not None and found is not False:
            return found
        if time.monotonic() > until:
            raise WaitedInVainError(f"waited {seconds} s for {what}")
        pauses(pause)
        pause = min(pause * 1.5, longest)


@dataclass
class Person(ABC):
    """Somebody with an account, a clone and a browser.

    Attributes:
        bot: Login of the bot.
        erasing_is_told: A webhook tells of a comment that was deleted.
        objecting_is_told: A webhook tells of a request for changes.
        every_line_takes_remarks: Elsewhere only lines that the difference shows do.
        checks_are_edited: A check that ended can be changed; elsewhere another one follows it.
    """

    erasing_is_told: ClassVar[bool] = True
    objecting_is_told: ClassVar[bool] = True
    checks_are_edited: ClassVar[bool] = True
    every_line_takes_remarks: ClassVar[bool] = True

    login: str
    token: str
    api_url: str
    clone_url: str
    full_name: str
    folder: Path
    looks: Callable[[], None] = lambda: None
    """Time that passes while somebody looks at what they approve: forges tell whole seconds."""
    bot: str = "porchbot[bot]"

    def at(self, full_name: str) -> Self:
        """The same person at another repository."""
        url = self.clone_url.replace(f"/{self.full_name}.git", f"/{full_name}.git")
        return replace(self, full_name=full_name, clone_url=url)

    # --- what this person does ---

    def says(self, number: int, words: str) -> int:
        """Comment; returns the comment's number."""
        if "/approve" in words:
            self.looks()
        return self.comments_at_once(number, words)

    @abstractmethod
    def comments_at_once(self, number: int, words: str) -> int:
        """Comment without taking the time to look; returns the comment's number."""

    @abstractmethod
    def writes(self, number: int, words: str) -> int:
        """Comment word for word: what only looks like a command to the bot stays as it is."""

    @abstractmethod
    def edits(self, number: int, comment: int, words: str) -> None:
        """Write a comment anew."""

    @abstractmethod
    def erases(self, number: int, comment: int) -> None:
        """Delete a comment."""

    @abstractmethod
    def opens(
        self,
        branch: str,
        title: str = "Change",
        *,
        base: str = "main",
        body: str = "",
        draft: bool = False,
    ) -> Pull:
        """Open a proposal of a branch; "login:branch" for one of a fork."""

    @abstractmethod
    def closes(self, number: int) -> None:
        """Close a proposal."""

    @abstractmethod
    def reopens(self, number: int) -> None:
        """Open a closed proposal again."""

    @abstractmethod
    def retargets(self, number: int, base: str) -> None:
        """Exchange the base branch of a proposal."""

    @abstractmethod
    def rewrites(self, number: int, *, title: str, body: str) -> None:
        """Write a proposal's title and text anew."""

    @abstractmethod
    def makes_ready(self, number: int) -> None:
        """Press the button that ends a draft."""

    @abstractmethod
    def puts_labels(self, number: int, *names: str) -> None:
        """Put labels on a proposal."""

    @abstractmethod
    def takes_label(self, number: int, name: str) -> None:
        """Take a label off a proposal."""

    @abstractmethod
    def approves(self, number: int) -> None:
        """Press the forge's own button of approval, at once."""

    @abstractmethod
    def objects(self, number: int) -> int:
        """Request changes by the forge's own means; a number for `withdraws_objection`."""

    @abstractmethod
    def withdraws_objection(self, number: int, objection: int) -> None:
        """Take a request for changes back, or have it taken back."""

    @abstractmethod
    def dismisses_approval(self, number: int) -> None:
        """Take back the one approval that was given by the forge's own button."""

    def reviews(self, number: int) -> None:
        """Look at a proposal and approve it by the forge's own button."""
        self.looks()
        self.approves(number)

    @abstractmethod
    def merges(self, number: int, method: str = "merge") -> str:
        """Press the merge button; returns the merge result."""

    @abstractmethod
    def reports(self, sha: str, context: str, state: str = "success") -> None:
        """Put a commit status, as somebody's own CI does."""

    @abstractmethod
    def deletes(self, ref: str) -> None:
        """Delete a branch or tag: "heads/name" or "tags/name"."""

    @abstractmethod
    def adds_file(self, path: str, text: str, branch: str = "main") -> str:
        """Commit a new file by the forge's page; the commit."""

    @abstractmethod
    def says_on_issue(self, number: int, words: str) -> int:
        """Comment on an issue; returns the comment's number."""

    @abstractmethod
    def rewrites_issue(self, number: int, *, title: str = "", body: str) -> None:
        """Write an issue's text anew, and its title where one is given."""

    @abstractmethod
    def locks_issue(self, number: int) -> None:
        """Let only members comment on an issue."""

    @abstractmethod
    def makes_ref(self, ref: str, sha: str) -> None:
        """Make a branch or a lightweight tag: "heads/name" or "tags/name"."""

    def pushes(
        self,
        branch: str,
        files: Mapping[str, str | bytes | None],
        *,
        base: str = "main",
        message: str = "Change",
        author: str = "",
        force: bool = False,
        url: str = "",
    ) -> str:
        """Commit files on top of a branch (made from `base` when new) and push; the commit.

        Args:
            branch: Where to push.
            files: Path to text, bytes or `Link`; None deletes.
            base: Where a new branch starts.
            message: Of the commit.
            author: Login in the commit's address; this person's own when empty.
            force: Start again from `base` and push over what is there.
            url: Another repository, such as a fork.
        """
        clone = self._clone(url or self.clone_url)
        start = f"origin/{base}" if force or not self._has(clone, branch) else f"origin/{branch}"
        self.git(clone, "switch", "--quiet", "--force-create", branch, start)
        for path, content in files.items():
            file = clone / path
            if content is None:
                file.unlink()
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True)  # what is written through a link is elsewhere
            if isinstance(content, Link):
                file.symlink_to(content)
                continue
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        return self.commits(clone, branch, message, author=author, force=force)

    def commits(
        self, clone: Path, branch: str, message: str, *, author: str = "", force: bool = False
    ) -> str:
        """Commit everything in a clone and push it."""
        name = author or self.login
        who = ["-c", f"user.name={name}", "-c", f"user.email={name}@users.example"]
        self.git(clone, "add", "--all")
        self.git(clone, *who, "commit", "--quiet", "--allow-empty", "--message", message)
        flag = ["--force"] if force else []
        self.git(clone, "push", "--quiet", *flag, "origin", f"HEAD:refs/heads/{branch}")
        return self.git(clone, "rev-parse", "HEAD")

    def checks_out(self, branch: str, *, base: str = "main") -> Path:
        """A clone that stands on a branch (made from `base` when new), for `commits`."""
        clone = self._clone(self.clone_url)
        start = f"origin/{branch}" if self._has(clone, branch) else f"origin/{base}"
        self.git(clone, "switch", "--quiet", "--force-create", branch, start)
        return clone

    def points(self, branch: str, commit: str, *, force: bool = False, url: str = "") -> None:
        """Push a commit that the forge has already to a branch, of another repository by `url`."""
        clone = self._clone(self.clone_url)
        flag = ["--force"] if force else []
        self.git(clone, "push", "--quiet", *flag, url or "origin", f"{commit}:refs/heads/{branch}")

    def merges_base(self, branch: str, base: str = "main", *, takes_nothing: bool = False) -> str:
        """Merge the base branch into a branch, and push.

        Args:
            branch: Where to.
            base: What to merge.
            takes_nothing: The branch's files stay as they are (git's strategy `ours`).
        """
        clone = self._clone(self.clone_url)
        self.git(clone, "switch", "--quiet", "--force-create", branch, f"origin/{branch}")
        who = ["-c", f"user.name={self.login}", "-c", f"user.email={self.login}@users.example"]
        strategy = ["--strategy=ours"] if takes_nothing else []
        self.git(clone, *who, "merge", "--quiet", *strategy, "--no-edit", f"origin/{base}")
        self.git(clone, "push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")
        return self.git(clone, "rev-parse", "HEAD")

    def merges_into(
        self, base: str, *branches: str, and_more: Mapping[str, str] | None = None
    ) -> str:
        """Merge branches into another by git, and push all merges at once; the tip.

        Args:
            base: Into which.
            branches: Which.
            and_more: Files of the last merge that neither side has so.
        """
        clone = self.checks_out(base)
        who = ["-c", f"user.name={self.login}", "-c", f"user.email={self.login}@users.example"]
        for branch in branches:
            words = ["--quiet", "--no-ff", "--message", f"Merge {branch}", f"origin/{branch}"]
            self.git(clone, *who, "merge", *words)
        if and_more:
            for path, text in and_more.items():
                (clone / path).write_text(text)
            self.git(clone, *who, "commit", "--quiet", "--all", "--amend", "--no-edit")
        self.git(clone, "push", "--quiet", "origin", f"HEAD:refs/heads/{base}")
        return self.git(clone, "rev-parse", "HEAD")

    def git(self, folder: Path, *arguments: str) -> str:
        """Run git as this person."""
        secret = base64.b64encode(f"{self.login}:{self.token}".encode()).decode()
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_COUNT": "2",
            "GIT_CONFIG_KEY_0": "http.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {secret}",
            "GIT_CONFIG_KEY_1": "maintenance.auto",  # each fetch and commit would start it
            "GIT_CONFIG_VALUE_1": "false",
        }
        done = subprocess.run(
            ["git", *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stderr}"
        return done.stdout.strip()

    def _clone(self, url: str) -> Path:
        clone = self.folder / url.rsplit(":", 1)[-1].replace("/", "-")
        if not clone.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            self.git(self.folder, "clone", "--quiet", url, str(clone))
            return clone
        self.git(clone, "fetch", "--quiet", "--prune", "origin")
        self.git(clone, "reset", "--quiet", "--hard")
        return clone

    def _has(self, clone: Path, branch: str) -> bool:
        found = self.git(clone, "for-each-ref", "--format=%(refname)", "refs/remotes/origin")
        return f"refs/remotes/origin/{branch}" in found.splitlines()

    # --- what this person sees ---

    @abstractmethod
    def pull(self, number: int) -> Pull:
        """A proposal as this person sees it now."""

    @abstractmethod
    def pulls(self, *, every: bool = False) -> Sequence[Pull]:
        """The open proposals, newest first; closed ones too if every one is asked for."""

    def pull_of(self, branch: str) -> Pull:
        """Wait for the open proposal of a branch."""

        def find() -> Pull | None:
            return next((each for each in self.pulls() if each.head_ref == branch), None)

        return wait_for(f"a pull request of {branch}", find)

    @abstractmethod
    def reads(self, path: str, ref: str = "main") -> str:
        """The text of a file at a branch or commit."""

    @abstractmethod
    def blob(self, path: str, ref: str) -> str:
        """Id of the object that a file is at a branch or commit."""

    @abstractmethod
    def commit(self, sha: str) -> Made:
        """A commit."""

    @abstractmethod
    def commits_of(self, number: int) -> Sequence[str]:
        """The commits of a proposal."""

    @abstractmethod
    def branches(self) -> Mapping[str, str]:
        """Branch name to its commit."""

    @abstractmethod
    def tags(self) -> dict[str, str]:
        """Tag name to the commit behind it."""

    @abstractmethod
    def tag_text(self, name: str) -> str:
        """The message of an annotated tag."""

    def waits_for_tag(self, name: str) -> str:
        """Wait for a tag; the commit behind it."""
        return wait_for(f"the tag {name}", lambda: self.tags().get(name))

    @abstractmethod
    def every_check(self, sha: str, number: int = 0) -> Sequence[Check]:
        """Every check that was ever shown at a commit.

        Args:
            sha: The commit.
            number: The proposal that is looked at; where checks hold one line, its summary is read.
        """

    def checks(self, sha: str, number: int = 0) -> dict[str, Check]:
        """The newest check of each name at a commit; see `every_check`."""
        return {
            each.name: each for each in sorted(self.every_check(sha, number), key=lambda c: c.id)
        }

    def waits_for_check(self, number: int, name: str, conclusion: str | None) -> Check:
        """Wait until a check at the present head ends so (None: is in progress)."""

        def find() -> Check | None:
            found = self.checks(self.pull(number).head, number).get(name)
            return found if found is not None and found.conclusion == conclusion else None

        return wait_for(f"{name} to be {conclusion} on #{number}", find)

    @abstractmethod
    def remarks(self, number: int, check: str) -> Sequence[Remark]:
        """What the bot says of lines for a check at the present head."""

    @abstractmethod
    def suggested(self, number: int) -> Sequence[str]:
        """Changes that the bot suggests at lines."""

    @abstractmethod
    def comments(self, number: int) -> Sequence[Said]:
        """Everything that was said on a proposal, oldest first."""

    @abstractmethod
    def releases(self) -> Mapping[str, tuple[str, str]]:
        """Title and notes of each release, by its tag."""

    @abstractmethod
    def issues(self) -> Sequence[Board]:
        """Every issue, open or closed."""

    @abstractmethod
    def comments_on_issue(self, number: int) -> Sequence[Said]:
        """Everything that was said on an issue, oldest first."""

    @abstractmethod
    def reactions(self, number: int, comment: int) -> set[str]:
        """What the bot reacted with to a comment."""

    def ours(self, number: int) -> list[Said]:
        """Every comment of the bot."""
        return [each for each in self.comments(number) if each.author == self.bot]

    def summary(self, number: int) -> str:
        """The text of the one summary comment; "" before the first."""
        found = [
            each.body
            for each in self.comments(number)
            if each.body.startswith("<!-- porchbot:summary")
        ]
        assert len(found) <= 1, f"{len(found)} summary comments"
        return found[0] if found else ""

    def waits_for_summary(self, number: int, words: str) -> str:
        """Wait until the summary says something."""
        return wait_for(
            f"{words!r} in the summary of #{number}",
            lambda: text if words in (text := self.summary(number)) else None,
        )

    def waits_for_answer(self, number: int, words: str, *, after: int = 0) -> str:
        """Wait for an answer of the bot that says something."""

        def find() -> str | None:
            found = (each for each in self._answers(number) if each.id > after)
            return next((each.body for each in found if words in each.body), None)

        return wait_for(f"an answer with {words!r} on #{number}", find)

    def answers(self, number: int) -> list[str]:
        """All answers of the bot but the summary."""
        return [each.body for each in self._answers(number)]

    def _answers(self, number: int) -> list[Said]:
        return [
            each for each in self.ours(number) if not each.body.startswith("<!-- porchbot:summary")
        ]
