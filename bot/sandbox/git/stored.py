"""Objects of a repository, read and written, wherever their bytes are kept."""

from abc import ABC, abstractmethod
from collections.abc import Iterable

from bot.sandbox.errors import GitError
from bot.sandbox.git import objects
from bot.sandbox.git.objects import Commit, TagObject, TreeEntry
from bot.sandbox.git.protocol import NewCommit


class StoredObjects(ABC):
    """The objects of `bot.sandbox.git.protocol.Git`; what was read once is kept."""

    def __init__(self) -> None:
        self._commits: dict[str, Commit] = {}
        self._trees: dict[str, tuple[TreeEntry, ...]] = {}
        self._generations: dict[str, int] = {}

    @abstractmethod
    def _read(self, sha: str) -> tuple[str, bytes] | None:
        """Kind and content of an object; None for none."""

    @abstractmethod
    def _write(self, kind: str, content: bytes) -> str:
        """Store an object, and return its id."""

    def kind(self, sha: str) -> str | None:
        """Kind of an object; see `Git`."""
        if sha in self._commits:
            return "commit"
        found = self._read(sha)
        return found[0] if found else None

    def peeled(self, sha: str) -> str:
        """The object behind a tag, and behind those in between; "" for any other object."""
        behind = ""
        while self.kind(behind or sha) == "tag":
            behind = self.tag(behind or sha).target
        return behind

    def commit(self, sha: str) -> Commit:
        """Read a commit."""
        if sha not in self._commits:
            self._commits[sha] = objects.read_commit(sha, self._content(sha, "commit"))
        return self._commits[sha]

    def generation(self, sha: str) -> int:
        """How many commits the longest line of ancestors holds; see `Git`."""
        known = self._generations
        waiting = [] if sha in known else [sha]
        while waiting:
            parents = self.commit(waiting[-1]).parents
            missing = [parent for parent in parents if parent not in known]
            if not missing:
                known[waiting.pop()] = 1 + max((known[parent] for parent in parents), default=0)
            waiting += missing
        return known[sha]

    def tag(self, sha: str) -> TagObject:
        """Read an annotated tag."""
        return objects.read_tag(self._content(sha, "tag"))

    def tree(self, sha: str) -> tuple[TreeEntry, ...]:
        """Entries of a tree."""
        if sha not in self._trees:
            self._trees[sha] = objects.read_tree(self._content(sha, "tree"))
        return self._trees[sha]

    def blob(self, sha: str) -> bytes:
        """A file's content."""
        return self._content(sha, "blob")

    def write_blob(self, content: bytes) -> str:
        """Store a file's content."""
        return self._write("blob", content)

    def write_tree(self, entries: Iterable[TreeEntry]) -> str:
        """Store a tree."""
        return self._write("tree", objects.tree_bytes(entries))

    def write_commit(self, new: NewCommit) -> str:
        """Store a commit."""
        content = objects.commit_bytes(
            new.tree, new.parents, new.message, author=new.author, committer=new.committer
        )
        return self._write("commit", content)

    def write_tag(self, tag: TagObject) -> str:
        """Store an annotated tag object."""
        return self._write("tag", objects.tag_bytes(tag))

    def _content(self, sha: str, kind: str) -> bytes:
        found = self._read(sha)
        if found is None or found[0] != kind:
            raise GitError(f"{sha} is not a {kind} of this repository")
        return found[1]
