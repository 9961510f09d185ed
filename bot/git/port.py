"""Git as the bot needs it: protocols for mirrors and their history, values, and errors.

Longer than 400 lines: three protocols, and the values that only they exchange, are read as one.

`Mirrors` holds what the bot has of each repository, a `Mirror` follows one repository of the forge
and moves its refs, and a `History` is a mirror opened for reading. All of it blocks: it is for
threads. Commits and trees are named by their full ids, and refs by their full names.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import TracebackType
from typing import Protocol, Self

from cadlib.limits import PackageLimits
from cadlib.package.files import Entry, Files
from lifecycle.identity import RepositoryId
from lifecycle.names import Ref, Sha

MOST_TEXT = 64 * 1024
"""Bytes of a commit or tag that are read: what stands further down is left out."""

MOST_ENTRIES, MOST_TREE = 50_000, 8 * 1024**2
"""Entries of one folder, and bytes of them; a folder of more is not read."""

MOST_LISTED = 2_000
"""Commits of a proposal that are looked at to find one with too much text."""

MOST_DEEP = 100
"""Folders within folders: the deepest real package has 9, and Python's stack ends at 1000."""


class GitBusyError(Exception):
    """Git could not reach the forge, or was refused for a reason that may pass."""


class GitRefusedError(Exception):
    """The forge refused a push until somebody changes a rule."""


class MissingObjectError(GitBusyError):
    """A commit or tree is not in the mirror: removed since it was fetched, or not whole.

    It passes, as the next fetch brings it; so whoever does without a repository that cannot be
    reached does without one of which something is missing.
    """


class ObjectTooLargeError(Exception):
    """An object of git is too large to be read: whoever pushed it must push something else."""


Changes = Mapping[str, bytes | None] | Mapping[str, Entry | None]
"""Path to what is to stand there, bytes alone where a mode is kept; None for nothing."""

Refs = Mapping[str, tuple[Sha, Sha]]
"""Full name to the object that a ref names, and the commit behind that: "" for a tag, never of a
release, that takes too much to be fetched."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The refs that a look is about.

    Attributes:
        branches: Names of branches; "" for all of them.
        packages: Paths whose tags count, those of packages inside them too; "" for all tags.
    """

    branches: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()

    def __or__(self, other: "Scope") -> "Scope":
        return Scope(self.branches | other.branches, self.packages | other.packages)


BRANCHES = Scope(frozenset({""}))
EVERYTHING = Scope(frozenset({""}), frozenset({""}))


class Pushed(StrEnum):
    """How a push ended."""

    DONE = "done"
    MOVED = "moved"


@dataclass(frozen=True, slots=True)
class RefUpdate:
    """Move one ref, only while it is at `expected`.

    Attributes:
        ref: Full name.
        expected: Commit it must be at; "" when it must not exist.
        wanted: Where to move it; "" to delete it.
    """

    ref: Ref
    expected: str
    wanted: str


@dataclass(frozen=True, slots=True)
class GitIdentity:
    """The author, committer or tagger of commits and tags that we write."""

    name: str
    email: str

    def at(self, when: datetime) -> str:
        """As it stands in an object."""
        return f"{self.name} <{self.email}> {int(when.timestamp())} +0000"


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit.

    Attributes:
        sha: Its id.
        tree: Id of its root tree.
        parents: In order.
        message: Whole text.
        author: Name, address and time, as they stand in the object.
        committed: When it was made, in seconds since 1970; 0 where it says nothing that is a time.
        cut: Its text goes on: only the beginning was read.
    """

    sha: Sha
    tree: str
    parents: tuple[Sha, ...]
    message: str
    author: str = ""
    committed: int = 0
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between two trees.

    Attributes:
        files: Path to mode and id in the second; "" for one that is gone.
        packages: Folder with a `Kptfile` in either to its tree in the first and in the second; ""
            where there is no package. Those that do not differ, but lie in a folder that is no
            package any more, are among them: nothing may be around them now.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrialMerge:
    """A merge as git works it out.

    Attributes:
        tree: Of the result; "" where it conflicts.
        difference: From the base's tree to the result; empty where it conflicts.
        conflicts: Paths that conflict, sorted.
        several: The two have more than one merge base: a diff against one of them does not show
            all that the merge changes.
        unrelated: The two have no history in common.
        too_slow: Git did not come to an end in time: nobody knows what it would give.
    """

    tree: str
    difference: Difference = field(default_factory=Difference)
    conflicts: tuple[str, ...] = ()
    several: bool = False
    unrelated: bool = False
    too_slow: bool = False


class History(Protocol):
    """A mirror, opened for reading; threads may share it. Close it after use.

    What is asked of a commit or tree that is not in the mirror raises `MissingObjectError`, where a
    method does not say otherwise.
    """

    def __enter__(self) -> Self:
        """Itself; leaving closes it."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""

    def close(self) -> None:
        """Free what it holds; it may be closed again."""

    @property
    def name(self) -> str:
        """The mirror, told apart from all others: work on one shares turns."""

    # Refs

    def refs(self, *places: str) -> Refs:
        """Branches and tags as they were fetched last; while it is open always the same.

        Args:
            places: Refs or folders of refs, such as "refs/tags/net/core"; none for all.

        Raises:
            GitBusyError: They had to be fetched, or could not be listed.
        """

    def ref(self, name: str) -> Sha | None:
        """The commit of a branch or tag; None when there is no such ref.

        Raises:
            ObjectTooLargeError: The tag takes too much to be fetched.
        """

    # Commits

    def has(self, sha: str) -> bool:
        """Whether a commit is in the mirror."""

    def commit(self, sha: str) -> Commit:
        """One commit; no more than `MOST_TEXT` bytes of it are read."""

    def contains(self, tip: str, sha: str) -> bool:
        """Whether a commit is in the history of a tip; a tip that is gone holds nothing."""

    def merge_base(self, one: str, other: str) -> Sha | None:
        """The best common ancestor; None when the histories have nothing in common.

        Where there are several it is the one that forges show a proposal's changes against.
        """

    def first_parents(self, tip: str, after: str, limit: int = 1000) -> tuple[Commit, ...]:
        """Commits on the first-parent line from `after` (left out) to `tip`, oldest first."""

    def last_change(self, tip: str, path: str) -> Sha | None:
        """The newest commit of the first-parent line that changed a path; None where none did.

        Raises:
            GitBusyError: Git failed, or was too slow.
        """

    def on_line(self, tip: str, sha: str, limit: int = 1000) -> bool:
        """Whether a commit is on the first-parent line of a tip, not too far back."""

    def changed_within(self, base: str, head: str, paths: Sequence[str]) -> bool:
        """Whether a commit of `head` that `base` lacks changes one of these paths; no merges."""

    def cut_within(self, base: str, head: str) -> bool:
        """Whether a commit of `head` that `base` lacks has more text than is read.

        So it is where there are more commits than `MOST_LISTED`.
        """

    def merged(self, base: str, head: str) -> TrialMerge:
        """What merging a head into a base would give.

        Raises:
            GitBusyError: Git failed.
        """

    # Trees

    def tree(self, commit: str, path: str) -> str:
        """Id of the tree at a path of a commit; "" when there is no folder."""

    def package(self, commit: str, path: str) -> str:
        """Id of the tree of a package at a commit; "" where there is none, or only its folder.

        Args:
            commit: "" for nothing at all.
            path: Its folder.
        """

    def entry(self, commit: str, path: str) -> str:
        """Mode and id of what stands at a path of a commit; "" for nothing."""

    def blob(self, commit: str, path: str, most: int) -> bytes | None:
        """The first bytes of a file at a commit; None for none, or where it is no regular file."""

    def files(self, tree: str, limits: PackageLimits) -> Files:
        """Every file under a tree, by path relative to it; sizes are looked at before data.

        Raises:
            PackageError: There is more than the limits allow.
        """

    def count(self, tree: str) -> int:
        """How many files a tree holds, up to as many as a package may have; 0 if it is too deep."""

    def alike(self, commit: str, paths: Iterable[str]) -> Mapping[str, frozenset[str]]:
        """Packages of a commit, "" for nothing at all, whose paths look like one of these."""

    def difference(self, before: str, after: str) -> Difference:
        """What differs between two commits.

        Args:
            before: A commit; "" for nothing at all.
            after: A commit.
        """

    # Tags, and what we write

    def changed(self, before: str, after: str) -> Mapping[str, Entry | None]:
        """Files that differ between two trees: path to what is in the second, None for nothing."""

    def tag_message(self, sha: str, target: str) -> str | None:
        """Text of an annotated tag of exactly this commit; None for any other object."""

    def write_commit(
        self,
        parent: str,
        changes: Changes,
        who: GitIdentity,
        when: datetime,
        message: Callable[[str], str],
    ) -> Sha:
        """Write a commit on top of another; no ref moves.

        Args:
            parent: The only parent.
            changes: Path to new bytes, or bytes with a mode, None to delete; modes are kept where
                none is given.
            who: Author and committer.
            when: Time of both.
            message: Makes the text from the new tree's id.

        Raises:
            ValueError: Git holds no such path.
        """

    def write_merge(
        self,
        head: str,
        base: str,
        files: Mapping[str, Entry | None],
        who: GitIdentity,
        when: datetime,
        message: Callable[[str], str],
    ) -> Sha:
        """Write a merge of a base into a head, as git merges but for some files; no ref moves.

        Args:
            head: The first parent.
            base: The second parent.
            files: What stands in the place of git's result, by path; None for nothing.
            who: Author and committer.
            when: Time of both.
            message: Makes the text from the new tree's id.

        Raises:
            GitBusyError: Git failed, or took too long.
            ValueError: A file conflicts that is not among `files`, or git holds no such path.
        """

    def write_tag(self, name: str, target: str, who: GitIdentity, when: datetime, text: str) -> Sha:
        """Write an annotated tag of a commit; no ref moves."""


class Mirror(Protocol):
    """What the bot has of one repository, and the way to move its refs.

    Tokens are the forge's, for one call each. Times are the clock's `monotonic`.
    """

    def fetch(
        self,
        credentials: str,
        since: float | None = None,
        scope: Scope = EVERYTHING,
        heads: Collection[str] = (),
    ) -> None:
        """Bring refs up to date, without what is there no more.

        Args:
            credentials: As `Forge.git_credentials` gives them; "" for none.
            since: A fetch that began after this serves too; only one from now on when None.
            scope: Which refs.
            heads: Commits that somebody said were pushed to them; it costs a request less where one
                is not known yet.

        Raises:
            GitBusyError: The forge could not be reached.
        """

    def fetch_proposal(self, credentials: str, ref: Ref) -> None:
        """Fetch the head of a proposal from a fork, or of a branch that is gone.

        Args:
            credentials: As `Forge.git_credentials` gives them; "" for none.
            ref: Where the forge keeps it; a fetch of branches and tags does not touch it.

        Raises:
            GitBusyError: The forge could not be reached, or has no such ref.
            ObjectTooLargeError: It brings more than a proposal may.
        """

    def tags(self, credentials: str) -> Mapping[str, Sha]:
        """Ask the forge for all its tags, full name to object; nothing of them is fetched.

        For a sweep: it takes the longer the more there are.

        Raises:
            GitBusyError: The forge could not be reached.
        """

    def tagged(self, credentials: str, names: Collection[str]) -> frozenset[str] | None:
        """Ask the forge in one request which of some names are tags; nothing is fetched.

        Args:
            credentials: As `Forge.git_credentials` gives them; "" for none.
            names: Of tags, in short; of those that begin like one of them the forge tells as well.

        Returns:
            None where it does not tell at once.
        """

    def open(self, credentials: str = "", since: float | None = None) -> History:
        """Open it for reading.

        Args:
            credentials: As `Forge.git_credentials` gives them; "" for none.
            since: Refs that nobody fetched after this are fetched when they are asked for, so that
                nothing is taken for absent that was only not looked at. None: they are told as they
                were fetched last.
        """

    def push(self, credentials: str, updates: Sequence[RefUpdate]) -> Pushed:
        """Move all these refs, or none; what was pushed needs no fetch.

        Raises:
            GitBusyError: The forge could not be reached, or failed.
            GitRefusedError: A rule of the forge forbids it.
        """

    def take_over(self, updates: Sequence[RefUpdate]) -> None:
        """Move the mirror's refs as the forge moved its own: what we made needs no fetch.

        A ref that is not at what was expected was fetched meanwhile; then the next look fetches.
        """


class Mirrors(Protocol):
    """What the bot has of all repositories."""

    def of(self, repository_id: RepositoryId, url: str) -> Mirror:
        """The mirror of one repository.

        Args:
            repository_id: Which.
            url: Where git reaches it now, without credentials.
        """

    def trim(self) -> Sequence[str]:
        """Free what is over the bound, the least recently used first; returns which."""
