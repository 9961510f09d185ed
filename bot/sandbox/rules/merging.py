"""Merge methods: merge commit, squash and rebase."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.sandbox.errors import GitError, RefusedError
from bot.sandbox.git import history
from bot.sandbox.git.objects import Commit
from bot.sandbox.git.protocol import Git, NewCommit
from bot.sandbox.records.accounts import User
from bot.sandbox.records.repository import Pull
from bot.sandbox.rules.context import Context


@dataclass(frozen=True, slots=True)
class PlannedMerge:
    """One merge about to be made: its commit is written, no ref is moved."""

    state: Context
    pull: Pull
    user: User
    base: str
    title: str | None
    message: str | None
    commits: Callable[[], Sequence[Commit]]
    """Those of the pull request, oldest first."""

    def perform(self, method: str) -> str:
        """Write the commits of a method (merge, squash or rebase); returns the base's new tip."""
        return {"merge": self._merge, "squash": self._squash, "rebase": self._rebase}[method]()

    def _merge(self) -> str:
        pull = self.pull
        title = self.title or (
            f"Merge pull request #{pull.number} from {pull.head_owner}/{pull.head_ref}"
        )
        body = pull.title if self.message is None else self.message
        return self._git().write_commit(
            NewCommit(
                tree=self.tree(),
                parents=(self.base, pull.head_sha),
                message=_text(title, body),
                author=self.state.person(self.user),
                committer=self.state.web_flow(),
            )
        )

    def _squash(self) -> str:
        commits = self.commits()
        listed = "\n\n".join(f"* {c.message.strip()}" for c in commits) if len(commits) > 1 else ""
        title = self.title or f"{self.pull.title} (#{self.pull.number})"
        return self._git().write_commit(
            NewCommit(
                tree=self.tree(),
                parents=(self.base,),
                message=_text(title, listed if self.message is None else self.message),
                author=self.state.person(self.pull.user),
                committer=self.state.web_flow(),
            )
        )

    def _rebase(self) -> str:
        git, onto = self._git(), self.base
        for commit in self.commits():
            if len(commit.parents) > 1:
                continue  # merges are left out of a rebase, as git does
            onto = git.write_commit(
                NewCommit(
                    tree=self._picked(git, commit.sha, onto),
                    parents=(onto,),
                    message=commit.message,
                    author=commit.author,
                    committer=self.state.web_flow(),
                )
            )
        return onto

    def _picked(self, git: Git, sha: str, onto: str) -> str:
        """Tree of `onto` with what one commit changed.

        git merge-tree of this age takes the merge base from history, so `onto` is shown to it
        as if it were the commit's sibling.
        """
        commit = git.commit(sha)
        sibling = git.write_commit(
            NewCommit(
                tree=git.commit(onto).tree,
                parents=commit.parents,
                message="sibling",
                author=commit.author,
                committer=commit.committer,
            )
        )
        tree = git.merge_tree(sibling, sha)
        if tree is None:
            raise RefusedError(405, "This branch can't be rebased")
        return tree

    def tree(self) -> str:
        """Tree of the merge; GitError where it conflicts."""
        tree = self._git().merge_tree(self.base, self.pull.head_sha)
        if tree is None:
            raise GitError("merge was tried though it conflicts")
        return tree

    def _git(self) -> Git:
        return self.state.git(self.pull.repo)


def landing(git: Git, tip: str, sha: str) -> str:
    """First commit of a branch's first-parent line that holds `sha`, looking back from `tip`."""
    landed = tip
    while landed != sha:
        parents = git.commit(landed).parents
        if not parents or not history.contains(git, parents[0], sha):
            break
        landed = parents[0]
    return landed


def _text(title: str, body: str) -> str:
    return f"{title}\n\n{body}" if body else title
