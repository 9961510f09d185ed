"""What people do in the stories: PyGithub with their own tokens, and git over HTTP."""

import base64
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeVar

import github
from github.Auth import Token
from github.CheckRun import CheckRun
from github.PullRequest import PullRequest
from github.Repository import Repository

T = TypeVar("T")

PATIENCE = 90.0
"""Seconds to wait for one thing, which takes about one on a machine that does nothing else."""


class WaitedInVainError(AssertionError):
    """What a story waited for did not happen."""


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
    until = time.monotonic() + seconds
    pause = 0.03
    while True:
        found = ready()
        if found is not None and found is not False:
            return found
        if time.monotonic() > until:
            raise WaitedInVainError(f"waited {seconds} s for {what}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.2)


@dataclass
class Person:
    """Somebody with an account, a clone and a browser."""

    login: str
    token: str
    api_url: str
    clone_url: str
    full_name: str
    folder: Path
    looks: Callable[[], None] = lambda: None
    """Time that passes while somebody looks at what they approve: forges tell whole seconds."""

    @cached_property
    def repository(self) -> Repository:
        """The repository through this person's own client."""
        return self.client().get_repo(self.full_name)

    def client(self) -> github.Github:
        """A client of the forge's API with this person's token."""
        return github.Github(
            auth=Token(self.token),
            base_url=self.api_url,
            timeout=int(PATIENCE),
            seconds_between_requests=0,
            seconds_between_writes=0,
            retry=None,
        )

    def pull(self, number: int) -> PullRequest:
        """A pull request as this person sees it now."""
        return self.repository.get_pull(number)

    def says(self, number: int, words: str) -> int:
        """Comment; returns the comment's number."""
        if "/approve" in words:
            self.looks()
        return int(self.repository.get_issue(number).create_comment(words).id)

    def reviews(self, number: int, event: str = "APPROVE") -> None:
        """Submit a native review of the present head."""
        self.looks()
        pull = self.pull(number)
        pull.create_review(pull.get_commits().reversed[0], body="", event=event)

    def merges(self, number: int, method: str = "merge") -> str:
        """Press the merge button; returns the merge result."""
        result = self.pull(number).merge(merge_method=method)
        return str(result.sha)

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
            files: Path to text or bytes; None deletes.
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

    def points(self, branch: str, commit: str, *, force: bool = False) -> None:
        """Push a commit that the forge has already to a branch."""
        clone = self._clone(self.clone_url)
        flag = ["--force"] if force else []
        self.git(clone, "push", "--quiet", *flag, "origin", f"{commit}:refs/heads/{branch}")

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

    def merges_into(self, base: str, *branches: str) -> str:
        """Merge branches into another by git, and push all merges at once; the tip."""
        clone = self.checks_out(base)
        who = ["-c", f"user.name={self.login}", "-c", f"user.email={self.login}@users.example"]
        for branch in branches:
            words = ["--quiet", "--no-ff", "--message", f"Merge {branch}", f"origin/{branch}"]
            self.git(clone, *who, "merge", *words)
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
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "http.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {secret}",
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

    def pull_of(self, branch: str) -> PullRequest:
        """Wait for the open pull request of a branch."""
        owner = self.full_name.split("/")[0]

        def find() -> PullRequest | None:
            pulls = self.repository.get_pulls(state="open", head=f"{owner}:{branch}")
            return next((p for p in pulls if p.head.ref == branch), None)

        return wait_for(f"a pull request of {branch}", find)

    def reads(self, path: str, ref: str = "main") -> str:
        """The text of a file at a branch."""
        found = self.repository.get_contents(path, ref=ref)
        assert not isinstance(found, list)
        return found.decoded_content.decode()

    def checks(self, sha: str) -> dict[str, CheckRun]:
        """The newest check run of each name at a commit."""
        newest: dict[str, CheckRun] = {}
        for run in self.repository.get_commit(sha).get_check_runs():
            if run.name not in newest or run.id > newest[run.name].id:
                newest[run.name] = run
        return newest

    def waits_for_check(self, number: int, name: str, conclusion: str | None) -> CheckRun:
        """Wait until a check at the present head ends so (None: is in progress)."""

        def find() -> CheckRun | None:
            run = self.checks(self.pull(number).head.sha).get(name)
            return run if run is not None and run.conclusion == conclusion else None

        return wait_for(f"{name} to be {conclusion} on #{number}", find)

    def summary(self, number: int) -> str:
        """The text of the one summary comment; "" before the first."""
        found = [
            c.body
            for c in self.repository.get_issue(number).get_comments()
            if c.body.startswith("<!-- porchbot:summary")
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
            for c in self.repository.get_issue(number).get_comments():
                ours = c.user.login == "porchbot[bot]" and not c.body.startswith("<!-- porchbot:s")
                if ours and c.id > after and words in c.body:
                    return str(c.body)
            return None

        return wait_for(f"an answer with {words!r} on #{number}", find)

    def answers(self, number: int) -> list[str]:
        """All answers of the bot but the summary."""
        return [
            c.body
            for c in self.repository.get_issue(number).get_comments()
            if c.user.login == "porchbot[bot]" and not c.body.startswith("<!-- porchbot:summary")
        ]

    def reactions(self, number: int, comment: int) -> set[str]:
        """What the bot reacted with to a comment."""
        found = self.repository.get_issue(number).get_comment(comment)
        return {r.content for r in found.get_reactions() if r.user.login == "porchbot[bot]"}

    def tags(self) -> dict[str, str]:
        """Tag name to the commit behind it."""
        return {t.name: t.commit.sha for t in self.repository.get_tags()}

    def waits_for_tag(self, name: str) -> str:
        """Wait for a tag; the commit behind it."""
        return wait_for(f"the tag {name}", lambda: self.tags().get(name))
