"""Git as the forge's rules need it: the protocols of a repository and of where they are kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bot.sandbox.git.diffs import FileDiff
from bot.sandbox.git.objects import Commit, Ident, TagObject, TreeEntry
from bot.sandbox.records.refs import RefChange


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCommit:
    """A commit to be written."""

    tree: str
    parents: tuple[str, ...]
    message: str
    author: Ident
    committer: Ident


class Git(Protocol):
    """One repository's objects and refs, as the forge's rules see them.

    Object ids are 40 hex digits. A method given an object that is not there answers None where
    its type says so and raises GitError elsewhere.
    """

    def refs(self) -> dict[str, str]:
        """All refs as they stand now: full name to object id."""
        ...

    def changes(
        self, known: Mapping[str, str], moved: Iterable[str] | None = None
    ) -> list[RefChange]:
        """How the refs differ from those that the forge knows, by name.

        Args:
            known: Full name to object, as they were at the last call and changed by `move` since.
            moved: The only refs that can have changed; None where any may.
        """
        ...

    def default_branch(self) -> str:
        """The branch that HEAD names, whether it is there or not."""
        ...

    def move(self, changes: Sequence[RefChange]) -> bool:
        """Change refs all together; False, and no change, if one is not at `before`."""
        ...

    def point(self, ref: str, sha: str) -> None:
        """Set a ref that nobody else writes (a pull request's), whatever it was."""
        ...

    def kind(self, sha: str) -> str | None:
        """`commit`, `tree`, `blob` or `tag`; None if there is no such object."""
        ...

    def commit(self, sha: str) -> Commit:
        """Read a commit."""
        ...

    def generation(self, sha: str) -> int:
        """How many commits the longest line of ancestors of a commit holds, itself counted."""
        ...

    def tag(self, sha: str) -> TagObject:
        """Read an annotated tag."""
        ...

    def tree(self, sha: str) -> tuple[TreeEntry, ...]:
        """Entries of a tree, in git's order."""
        ...

    def blob(self, sha: str) -> bytes:
        """A file's content."""
        ...

    def write_blob(self, content: bytes) -> str:
        """Store a file's content."""
        ...

    def write_tree(self, entries: Iterable[TreeEntry]) -> str:
        """Store a tree."""
        ...

    def write_commit(self, new: NewCommit) -> str:
        """Store a commit."""
        ...

    def write_tag(self, tag: TagObject) -> str:
        """Store an annotated tag object (no ref)."""
        ...

    def merge_tree(self, ours: str, theirs: str) -> str | None:
        """Tree of the merge of two commits, or None where they conflict."""
        ...

    def diff(self, old: str | None, new: str) -> tuple[FileDiff, ...]:
        """Files that differ between two commits (old None: all files of new)."""
        ...

    def fetch(self, other: Git, sha: str) -> None:
        """Bring a commit and its history over from another repository."""
        ...


class GitStore(Protocol):
    """Where repositories are made and found by the forge's id of them."""

    def create(self, repo_id: int, source: Path | None, default_branch: str | None) -> Git:
        """Make a repository.

        Args:
            repo_id: What it is found by.
            source: A repository or a bundle, whose branches and tags it gets; a folder that is
                neither, whose files become one commit; None for an empty repository.
            default_branch: Its default branch; None for the source's own, or main.
        """
        ...

    def fork(self, repo_id: int, parent_id: int) -> Git:
        """Make a repository with the branches and tags of another one of this store."""
        ...

    def open(self, repo_id: int) -> Git:
        """The repository made under this id."""
        ...

    def delete(self, repo_id: int) -> None:
        """Forget a repository."""
        ...
