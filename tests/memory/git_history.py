"""The history of a repository in memory, as a look reads it."""

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from bot.git import refs as git_refs
from bot.git.commit import CommitReader
from bot.git.difference import differ
from bot.git.objects import Allow, Entries, GitObject, parse_tree
from bot.git.port import (
    MOST_ENTRIES,
    MOST_LISTED,
    MOST_TREE,
    Commit,
    Difference,
    MissingObjectError,
    ObjectTooLargeError,
    Refs,
    TrialMerge,
)
from lifecycle.messages.checks import large_folder
from lifecycle.names import HEADS, TAGS, Sha
from tests.memory.git_merge import merge
from tests.memory.git_objects import MemoryObjects

MOST_KEPT = 50_000
"""Answers of one method that are kept before all of them are dropped."""


M = TypeVar("M", bound=Callable[..., Any])


def _by_ids(count: int) -> Callable[[M], M]:
    """Keep what a method of `MemoryHistory` says of objects; its first arguments are their ids."""

    def kept(method: M) -> M:
        two = count < 2
        # What follows from objects alone: ids say all of it, for every mirror.
        answers: dict[tuple[object, ...], Any] = {}

        @wraps(method)
        def call(history: "MemoryHistory", *args: Any) -> Any:
            found = answers.get(args, answers)
            if found is not answers:
                known, one = history.known, args[0]
                if (not one or one in known) and (two or not args[1] or args[1] in known):
                    return found
            found = method(history, *args)
            if len(answers) > MOST_KEPT:
                answers.clear()
            answers[args] = found
            return found

        return cast(M, call)

    return kept


class MemoryHistory(CommitReader):
    """Implements `History`."""

    def __init__(self, objects: MemoryObjects, at: Callable[[str], dict[str, str]]) -> None:
        self._objects = objects
        self.known: Mapping[str, tuple[str, bytes]] = objects.known
        self._told = at
        self._refs: dict[str, Refs] = {}

    @_by_ids(1)
    def commit(self, sha: str) -> Commit:
        """As `History` has it."""
        return super().commit(sha)

    @_by_ids(1)
    def tree(self, commit: str, path: str) -> str:
        """As `History` has it."""
        return super().tree(commit, path)

    @_by_ids(1)
    def package(self, commit: str, path: str) -> str:
        """As `History` has it."""
        return super().package(commit, path)

    @_by_ids(1)
    def _at(self, commit: str, path: str) -> tuple[str, int]:
        return super()._at(commit, path)

    @_by_ids(2)
    def difference(self, before: str, after: str) -> Difference:
        """As `History` has it."""
        return super().difference(before, after)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is held."""

    @property
    def name(self) -> str:
        """Whose objects they are."""
        return f"memory/{id(self._objects)}"

    def refs(self, *places: str) -> Refs:
        """As `History` has it."""
        found: dict[str, tuple[Sha, Sha]] = {}
        for place in places or (HEADS, TAGS):
            around = [refs for p, refs in self._refs.items() if git_refs.inside(place, p)]
            if not around:
                told = self._told(place).items()
                self._refs[place] = {ref: (Sha(sha), self._peeled(sha)) for ref, sha in told}
                around = [self._refs[place]]
            found |= git_refs.at(around[0], [place])
        return dict(sorted(found.items()))

    def _peeled(self, sha: str) -> Sha:
        kind, data = self._objects.known[sha]
        return self._peeled(data[7:47].decode()) if kind == "tag" else Sha(sha)

    def ref(self, name: str) -> Sha | None:
        """As `History` has it."""
        around = (refs for place, refs in self._refs.items() if git_refs.inside(name, place))
        there = next(around, None)
        found = (self.refs(name) if there is None else there).get(name)
        return found[1] if found else None

    def object(self, sha: str, most: int) -> GitObject:
        """An object, with the first bytes of its data."""
        if sha not in self._objects.known:
            raise MissingObjectError(f"object {sha} is not in the mirror")
        kind, data = self._objects.known[sha]
        return GitObject(sha, kind, data[:most], len(data))

    def store(self, kind: str, data: bytes) -> str:
        """Keep an object."""
        return self._objects.store(kind, data)

    @_by_ids(1)
    def entries(self, tree: str) -> Entries:
        """What a tree holds."""
        found = self.object(tree, MOST_TREE)
        if found.kind != "tree":
            raise MissingObjectError(f"object {tree} is no tree")
        entries = parse_tree(found.data) if found.size <= MOST_TREE else ()
        if found.size > MOST_TREE or len(entries) > MOST_ENTRIES:
            raise ObjectTooLargeError(large_folder(tree, MOST_ENTRIES))
        return entries

    def beginning(self, blob: str, most: int) -> bytes:
        """The first bytes of a blob."""
        return self.object(blob, most).data

    def contents(self, blobs: Sequence[str], allow: Allow | None = None) -> Mapping[str, bytes]:
        """The data of blobs, by id."""
        found = {}
        for sha in blobs:
            data = self.object(sha, 1 << 40).data
            if allow is not None:
                allow(sha, len(data))
            found[sha] = data
        return found

    def contains(self, tip: str, sha: str) -> bool:
        """As `History` has it."""
        return self.has(tip) and sha in self._ancestors(tip)

    def merge_base(self, one: str, other: str) -> Sha | None:
        """As `History` has it."""
        found = self.bases(one, other)
        return Sha(found[0]) if found else None

    def changed_within(self, base: str, head: str, paths: Sequence[str]) -> bool:
        """As `History` has it."""
        return any(self._changes(sha, paths) for sha in self._within(base, head))

    def last_change(self, tip: str, path: str) -> Sha | None:
        """As `History` has it."""
        sha: str = tip
        while True:
            parents = self.commit(sha).parents
            before = self.entry(parents[0], path) if parents else ""
            if before != self.entry(sha, path):
                return Sha(sha)
            if not parents:
                return None
            sha = parents[0]

    def cut_within(self, base: str, head: str) -> bool:
        """As `History` has it."""
        found = self._within(base, head)
        return len(found) > MOST_LISTED or any(self.commit(sha).cut for sha in found)

    @_by_ids(2)
    def merged(self, base: str, head: str) -> TrialMerge:
        """As `History` has it."""
        bases = self.bases(base, head)
        if not bases:
            return TrialMerge("", unrelated=True)
        if bases == (base,):
            return TrialMerge(self.root(head), self.difference(base, head))
        # Objects of a merge are nobody's: they go with it.
        scratch = MemoryHistory(MemoryObjects(ChainMap({}, self._objects.known)), self._told)
        tree, conflicts = merge(scratch, base, head)
        several = len(bases) > 1
        if conflicts:
            return TrialMerge("", conflicts=tuple(sorted(conflicts)), several=several)
        return TrialMerge(tree, differ(scratch.entries, self.root(base), tree), several=several)

    def written_merge(self, one: str, other: str) -> tuple[str, set[str]]:
        """Merge two commits, and keep the objects."""
        return merge(self, one, other)

    def _changes(self, sha: str, paths: Sequence[str]) -> bool:
        parents = self.commit(sha).parents
        if len(parents) > 1:
            return False
        before = [self.entry(parents[0], path) if parents else "" for path in paths]
        return before != [self.entry(sha, path) for path in paths]

    def _within(self, base: str, head: str) -> set[str]:
        return self._ancestors(head) - self._ancestors(base)

    @_by_ids(1)
    def _ancestors(self, tip: str) -> set[str]:
        found: set[str] = set()
        left = [tip]
        while left:
            sha = left.pop()
            if sha not in found:
                found.add(sha)
                left += self.commit(sha).parents
        return found

    @_by_ids(2)
    def bases(self, one: str, other: str) -> tuple[str, ...]:
        """The best common ancestors, the newest first."""
        common = self._ancestors(one) & self._ancestors(other)
        below = {p for sha in common for p in self.commit(sha).parents}
        best = (sha for sha in common if sha not in below)
        return tuple(sorted(best, key=lambda sha: -self.commit(sha).committed))
