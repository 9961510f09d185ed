"""Git: the history of a mirror on disk, opened for one look.

Package content is never checked out. Objects are written straight into the object database; how
refs move is for `bot.git.mirror`. Ref names are always spelled in full.
"""

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Self

from gitdb import IStream
from gitdb.db import GitDB

from bot.git import merge as git_merge
from bot.git import refs as git_refs
from bot.git.caches import MirrorCaches
from bot.git.commit import CommitReader
from bot.git.difference import differ
from bot.git.objects import GitObject, ObjectReader
from bot.git.port import (
    MOST_ENTRIES,
    MOST_LISTED,
    Commit,
    Difference,
    GitBusyError,
    MissingObjectError,
    ObjectTooLargeError,
    Refs,
    TrialMerge,
)
from bot.git.process import GitSlowError, environment, reason, run
from bot.git.trees import StoredTrees
from lifecycle.messages.checks import large_folder, large_tag
from lifecycle.names import HEADS, TAGS, Sha

_NEAR = 8
"""First parents that are looked at before git is started to find a merge base."""


class DiskHistory(CommitReader, StoredTrees):
    """Implements `History` by `git cat-file`, and by other commands where git knows better.

    Args:
        folder: The mirror.
        kept: What looks before this one have learnt of it.
        broken: Called when what a commit is made of cannot be read.
        known: Gives the refs at a place as they were fetched; None where only the disk knows.
        merge_seconds: For working out one merge.
    """

    def __init__(
        self,
        folder: Path,
        kept: MirrorCaches,
        broken: Callable[[], None],
        known: Callable[[str], Refs | None],
        merge_seconds: float = git_merge.SECONDS,
    ) -> None:
        super().__init__(ObjectReader(folder, environment(folder)))
        self._folder = folder
        self._kept = kept
        self._broken = broken
        self._known = known
        self._merge_seconds = merge_seconds
        self._refs: Mapping[str, Refs] = {}  # by place; replaced, never changed, for threads

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The mirror's folder."""
        return str(self._folder)

    def refs(self, *places: str) -> Refs:
        """Branches and tags by full name: the object each names, and the commit behind that.

        As they were fetched last, and within one look always the same.

        Args:
            places: Refs or folders of refs, such as "refs/tags/net/core"; none for all.
        """
        found: dict[str, tuple[Sha, Sha]] = {}
        for place in places or (HEADS, TAGS):
            found |= self._refs.get(place) or self._listed(place)
        return found

    def _listed(self, place: str) -> Refs:
        around = next((p for p in git_refs.around(place) if p in self._refs), None)
        if around is not None:
            return git_refs.at(self._refs[around], [place])
        found = self._known(place)
        if found is None:
            found = git_refs.listed(self._folder, [place])
        self._refs = {**self._refs, place: found}
        return found

    def ref(self, name: str) -> Sha | None:
        """The commit of a branch or tag; None when there is no such ref.

        Raises:
            ObjectTooLargeError: A tag that was left out when others were fetched.
        """
        found = self.refs(name).get(name)
        if found and not found[1]:
            raise ObjectTooLargeError(large_tag())
        return found[1] if found else None

    def commit(self, sha: str) -> Commit:
        """One commit.

        Raises:
            MissingObjectError: It is not in the mirror.
        """
        return self._kept.commits.get_or(sha, lambda: super(DiskHistory, self).commit(sha))

    def object(self, sha: str, most: int) -> GitObject:
        """An object by its id, with the first bytes of its data.

        Raises:
            MissingObjectError: It is not in the mirror.
        """
        found = self.read(sha, most)
        if found is None:
            raise _missing(sha)
        return found

    def store(self, kind: str, data: bytes) -> str:
        """Write a loose object; gives its id."""
        stored = GitDB(str(self._folder / "objects")).store(
            IStream(kind.encode(), len(data), BytesIO(data))
        )
        sha = str(stored.hexsha.decode())
        if kind in ("commit", "tag"):
            self._kept.written.keep(sha, True)
        return sha

    def unreadable(self, sha: str, error: Exception | None) -> Exception:
        """The mirror is broken where git is not: the next fetch begins anew."""
        if isinstance(error, OSError):
            return error
        self._broken()
        return _missing(sha)

    def too_wide(self, tree: str) -> Exception:
        """Whoever pushed it must push something else."""
        return ObjectTooLargeError(large_folder(tree, MOST_ENTRIES))

    def merge_base(self, one: str, other: str) -> Sha | None:
        """The best common ancestor; None when the histories have nothing in common.

        Where there are several it is the one that forges show a proposal's changes against.

        Raises:
            MissingObjectError: One of them is not in the mirror.
        """
        if self._is_near(other, one):
            return Sha(other)
        found = self._merge_bases(one, other)
        return Sha(found[0]) if found else None

    def _merge_bases(self, one: str, other: str) -> tuple[str, ...]:
        return self._kept.bases.get_or(
            f"{one} {other}", lambda: git_merge.merge_bases(self._folder, one, other)
        )

    def _is_near(self, ancestor: str, of: str) -> bool:
        """Whether a commit is the other or a few first parents before it, as bases mostly are."""
        sha = of
        for _ in range(_NEAR):
            if sha == ancestor:
                return True
            parents = self.commit(sha).parents
            if not parents:
                return False
            sha = parents[0]
        return sha == ancestor

    def difference(self, before: str, after: str) -> Difference:
        """What differs between two commits; kept, since it never changes.

        Args:
            before: A commit; "" for nothing at all.
            after: A commit.
        """
        one, other = (self.root(each) if each else "" for each in (before, after))
        return self._kept.differences.get_or(
            f"{one} {other}", lambda: differ(self.entries, one, other)
        )

    def changed_within(self, base: str, head: str, paths: Sequence[str]) -> bool:
        """Whether a commit of `head` that `base` lacks changes one of these paths; no merges."""
        self.commit(base), self.commit(head)  # git would say less of what is missing
        line = self._line(base, head)
        if line is not None and all(path.rpartition("/")[2] for path in paths):
            made = ((self.commit(sha).parents[0], sha) for sha in line)
            return any(self.entry(old, p) != self.entry(new, p) for old, new in made for p in paths)
        asked = ["rev-list", "--full-history", "--no-merges", "--max-count=1"]
        return bool(self._commits([*asked, head, f"^{base}", "--", *paths]))

    def last_change(self, tip: str, path: str) -> Sha | None:
        """The newest commit of the first-parent line that changed a path, however far back."""
        self.commit(tip)
        found = self._commits(["rev-list", "--first-parent", "--max-count=1", tip, "--", path])
        return Sha(found[0]) if found else None

    def cut_within(self, base: str, head: str) -> bool:
        """Whether a commit of `head` that `base` lacks has more text than is read.

        So it is where there are more commits than anybody looks at.
        """
        self.commit(base), self.commit(head)  # git would say less of what is missing
        listed = self._line(base, head)
        if listed is None:
            asked = ["rev-list", f"--max-count={MOST_LISTED + 1}", head, f"^{base}"]
            listed = self._commits(asked)
        return len(listed) > MOST_LISTED or any(self.commit(sha).cut for sha in listed)

    def _line(self, base: str, head: str) -> tuple[str, ...] | None:
        """The commits of `head` that `base` lacks, where they are few and none is a merge."""
        below, sha, found = self.merge_base(head, base), head, list[str]()
        while sha != below:
            parents = self.commit(sha).parents
            if len(parents) != 1 or len(found) == _NEAR:
                return None
            found.append(sha)
            sha = parents[0]
        return tuple(found)

    def _commits(self, command: Sequence[str]) -> tuple[str, ...]:
        """The commits that git lists; kept, since the histories of commits never change."""

        def listing() -> tuple[str, ...]:
            try:
                done = run(self._folder, command)
            except GitSlowError as error:
                raise GitBusyError(f"git rev-list is slow: {error}") from error
            if done.returncode:
                raise GitBusyError(f"git rev-list failed: {reason(done.stderr)}")
            return tuple(done.stdout.split())

        return self._kept.listed.get_or("\0".join(command), listing)

    def merged(self, base: str, head: str) -> TrialMerge:
        """What merging a head into a base would give.

        One that took too long is not tried again, wherever the base moves, until the head moves or
        the base is merged into it: it would keep a core busy at each look.

        Raises:
            GitBusyError: Git failed.
            MissingObjectError: One of them is not in the mirror.
        """
        return self._kept.merges.get_or(f"{base} {head}", lambda: self._merge(base, head))

    def _merge(self, base: str, head: str) -> TrialMerge:
        bases = (base,) if self._is_near(base, head) else self._merge_bases(base, head)
        if bases == (base,):
            return TrialMerge(self.commit(head).tree, self.difference(base, head))
        tried = f"{head} {' '.join(bases)}"
        if tried in self._kept.too_slow:
            return TrialMerge("", too_slow=True)
        ground = (base, self.commit(base).tree)
        try:
            return git_merge.work_out(
                self._folder, self.entries, ground, head, bases, self._merge_seconds
            )
        except GitSlowError:
            self._kept.too_slow.add(tried)
            return TrialMerge("", too_slow=True)

    def written_merge(self, one: str, other: str) -> tuple[str, tuple[str, ...]]:
        """Merge two commits, and keep the objects; the tree, and the paths that conflict."""
        return git_merge.write(self._folder, one, other, self._merge_seconds)

    def contains(self, tip: str, sha: str) -> bool:
        """Whether a commit is in the history of a tip; a tip that is gone holds nothing."""
        if not self.has(tip) or not self.has(sha):
            return False
        return self._is_near(sha, tip) or self._kept.held.get_or(
            f"{tip} {sha}", lambda: git_merge.is_ancestor(self._folder, sha, tip)
        )


def _missing(sha: str) -> MissingObjectError:
    return MissingObjectError(f"object {sha} is not in the mirror")
