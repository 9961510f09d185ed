"""Commits and tags, read from their objects and written, wherever those are kept."""

import re
import sys
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from itertools import takewhile

from bot.git import write
from bot.git.objects import GitObject
from bot.git.port import (
    MOST_TEXT,
    Changes,
    Commit,
    GitIdentity,
    MissingObjectError,
    ObjectTooLargeError,
)
from bot.git.trees import TreeReader
from cadlib.package.files import Entry
from lifecycle.messages.checks import large_commit
from lifecycle.names import Sha

_COMMITTED = re.compile(r"committer .*> ([0-9]{1,11}) [+-][0-9]{4}$")
# Eleven digits reach the year 5138: no more is a time.


def parse(sha: Sha, data: bytes, *, cut: bool) -> Commit:
    """Read a commit; what is no text in it is replaced, and `cut` says that its text goes on."""
    head, _, message = data.decode("utf-8", "replace").partition("\n\n")
    lines = head.split("\n")
    # Parents follow the tree at once; git takes no line further down for one.
    told = takewhile(lambda x: x.startswith("parent "), lines[1:])
    parents = tuple(Sha(sys.intern(each[7:])) for each in told)
    author = next((line[7:] for line in lines if line.startswith("author ")), "")
    committed = next(
        (_COMMITTED.match(line) for line in lines if line.startswith("committer ")), None
    )
    seconds = int(committed[1]) if committed else 0
    tree = sys.intern(lines[0].removeprefix("tree "))
    return Commit(sha, tree, parents, message, sys.intern(author), seconds, cut)


class CommitReader(TreeReader):
    """Reads and writes commits and tags; all that follows from their objects alone."""

    @abstractmethod
    def object(self, sha: str, most: int) -> GitObject:
        """An object by its id, with the first bytes of its data.

        Raises:
            MissingObjectError: It is not here.
        """

    @abstractmethod
    def store(self, kind: str, data: bytes) -> str:
        """Keep an object of a kind; gives its id."""

    @abstractmethod
    def written_merge(self, one: str, other: str) -> tuple[str, Collection[str]]:
        """Merge two commits, and keep the objects.

        Returns:
            The tree, and the paths that conflict; what stands at these there counts for nothing.

        Raises:
            GitBusyError: Git failed, or took too long.
        """

    def commit(self, sha: str) -> Commit:
        """One commit; no more than `MOST_TEXT` bytes of it are read.

        Raises:
            MissingObjectError: It is not here.
            ObjectTooLargeError: It has more than that before its message.
        """
        found = self.object(sha, MOST_TEXT)
        if found.kind != "commit":
            raise MissingObjectError(f"object {sha} is no commit")
        if b"\n\n" not in found.data and found.size > MOST_TEXT:
            raise ObjectTooLargeError(large_commit(sha, MOST_TEXT))
        return parse(Sha(sha), found.data, cut=found.size > MOST_TEXT)

    def root(self, commit: str) -> str:
        """Id of the tree of a commit."""
        return self.commit(commit).tree

    def has(self, sha: str) -> bool:
        """Whether a commit is here."""
        try:
            self.commit(sha)
        except MissingObjectError:
            return False
        return True

    def first_parents(self, tip: str, after: str, limit: int = 1000) -> tuple[Commit, ...]:
        """Commits on the first-parent line from `after` (left out) to `tip`, oldest first."""
        line: list[Commit] = []
        sha = tip
        while sha != after and len(line) < limit:
            commit = self.commit(sha)
            line.append(commit)
            if not commit.parents:
                break
            sha = commit.parents[0]
        return tuple(reversed(line))

    def on_line(self, tip: str, sha: str, limit: int = 1000) -> bool:
        """Whether a commit is on the first-parent line of a tip, not too far back."""
        line = self.first_parents(tip, sha, limit)
        return not line or line[0].parents[:1] == (sha,)

    def tag_message(self, sha: str, target: str) -> str | None:
        """Text of an annotated tag of exactly this commit; None for any other object."""
        found = self.object(sha, MOST_TEXT)
        head, _, message = found.data.decode("utf-8", "replace").partition("\n\n")
        of_target = head.startswith(f"object {target}\ntype commit\n")
        return message if found.kind == "tag" and of_target else None

    def write_commit(
        self,
        parent: str,
        changes: Changes,
        who: GitIdentity,
        when: datetime,
        message: Callable[[str], str],
    ) -> Sha:
        """Write a commit on top of `parent`, as `History` has it; no ref moves."""
        tree = write.tree(self.entries, self.store, self.root(parent), changes)
        return Sha(self.store("commit", write.commit(tree, [parent], who, when, message(tree))))

    def write_merge(
        self,
        head: str,
        base: str,
        files: Mapping[str, Entry | None],
        who: GitIdentity,
        when: datetime,
        message: Callable[[str], str],
    ) -> Sha:
        """Write a merge of a base into a head, as `History` has it; no ref moves."""
        result, conflicts = self.written_merge(base, head)
        left = sorted(set(conflicts) - files.keys())
        if left:
            raise ValueError(f"{left[0]} conflicts")
        tree = write.tree(self.entries, self.store, result, files)
        data = write.commit(tree, [head, base], who, when, message(tree))
        return Sha(self.store("commit", data))

    def write_tag(self, name: str, target: str, who: GitIdentity, when: datetime, text: str) -> Sha:
        """Write an annotated tag; no ref moves."""
        return Sha(self.store("tag", write.tag(name, target, who, when, text)))
