"""Matches resources between the three states of a package, moved ones included.

Rules
- Identity is group, kind, namespace, name and file, as in kpt; the version does not
  count. Name and namespace are those of a comment `# kpt-merge: namespace/name` on
  `metadata` where there is one.
- A resource that is not in its file is looked for in the files that changed on that side:
  it was moved.
- A local resource without the comment may have another namespace, or another name if it
  is else much like the original: functions and people rename what they fetched.
- Two resources of one identity in one file are an error, with kpt's text.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from cadlib.errors import PackageError, Place
from cadlib.merge.pieces import Piece, pieces
from cadlib.merge.schema import split
from cadlib.package.files import SUBMODULE, SYMLINK, Files
from cadlib.package.merge_comment import upstream_name
from cadlib.package.source import ref
from cadlib.yaml import Document, Stream, Value, read, same

_MARK = "kpt-merge:"
# As much of two resources as must be equal for them to be one under another name: their
# labels may have changed with it, but not what they run.
_ALIKE = 0.8
# Pairs of resources of a file that are compared for that: each takes a tenth of a millisecond.
_MOST_PAIRS = 2_500


class ResourceIdentity(NamedTuple):
    """Identity of a resource; `nth` counts those of a file that have no name."""

    group: str
    kind: str
    namespace: str
    name: str
    nth: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class PlacedDocument:
    """One document, and where it stands."""

    identity: ResourceIdentity
    path: str
    position: int
    document: Document
    piece: Piece


class PackageState:
    """A package in one of its three states, read as far as is asked for.

    Args:
        files: Its files.
        name: What kpt calls it: "original upstream", "local" or "updated upstream".
    """

    def __init__(self, files: Files, name: str) -> None:
        self.files = files
        self.name = name
        self._streams: dict[str, Stream | None] = {}
        self._resources: dict[str, tuple[PlacedDocument, ...]] = {}

    def stream(self, path: str) -> Stream | None:
        """Return a file as it was read; None if it is not there or no YAML."""
        if path not in self._streams:
            self._streams[path] = self._read(path)
        return self._streams[path]

    def is_text(self, path: str) -> bool:
        """Tell whether a file exists and is not YAML, so that it is merged as text."""
        if path not in self.files:
            return False
        stream = self.stream(path)
        return stream is None or any(each.template for each in stream.documents)

    def resources(self, path: str) -> tuple[PlacedDocument, ...]:
        """Return the documents of a file, without the empty ones.

        Raises:
            PackageError: Two of them have the same identity.
        """
        if path not in self._resources:
            self._resources[path] = self._identified(path)
        return self._resources[path]

    def _read(self, path: str) -> Stream | None:
        entry = self.files.get(path)
        if entry is None or entry.mode in (SYMLINK, SUBMODULE):
            return None
        try:
            return read(entry.data, path=path)
        except PackageError:  # a template, or broken: the file is merged as a whole
            return None

    def _identified(self, path: str) -> tuple[PlacedDocument, ...]:
        stream = self.stream(path)
        if stream is None:
            return ()
        found: list[PlacedDocument] = []
        seen: Counter[ResourceIdentity] = Counter()
        texts = pieces(stream)
        for position, document in enumerate(stream.documents):
            if document.empty or document.template:
                continue
            identity = _identity(document)
            if seen[identity] and identity.name:
                raise duplicate(self.name, path, document.start_line)
            found.append(
                PlacedDocument(
                    identity._replace(nth=seen[identity]),
                    path,
                    position,
                    document,
                    texts[position],
                )
            )
            seen[identity] += 1
        return tuple(found)


def duplicate(state: str, path: str, line: int | None = None) -> PackageError:
    """Return kpt's error for two resources of one identity."""
    return PackageError(
        Place(path, line),
        f'found duplicate "{state}" resources in file "{path}", please refer to "update"'
        " documentation for the fix",
        "Give one of the two another name, or remove it",
    )


@dataclass(frozen=True, slots=True)
class Triple:
    """One resource in the three states; None where it is not there."""

    origin: PlacedDocument | None
    local: PlacedDocument | None
    updated: PlacedDocument | None


class Pairing:
    """Finds the triples of a package.

    Args:
        origin: The state that both sides began with.
        local: The local state.
        updated: The state upstream.
    """

    def __init__(self, origin: PackageState, local: PackageState, updated: PackageState) -> None:
        self._origin = origin
        self._local = local
        self._updated = updated

    def triples(self, paths: Sequence[str]) -> Iterator[Triple]:
        """Return the resources of these files, and what became of those that left them."""
        taken: set[int] = set()
        for path in paths:
            origin = self._origin.resources(path)
            mine = _matched(origin, self._local.resources(path))
            mine |= self._renamed(origin, path, mine)
            theirs = _matched(origin, self._updated.resources(path))
            for resource in origin:
                local, updated = self._found(resource, mine.get(resource), theirs.get(resource))
                taken |= {id(each) for each in (local, updated) if each}
                yield Triple(resource, local, updated)
        for path in paths:
            ours = [each for each in self._local.resources(path) if id(each) not in taken]
            new = [each for each in self._updated.resources(path) if id(each) not in taken]
            both = _matched(ours, new)
            yield from (Triple(None, each, both.get(each)) for each in ours)
            known = {id(each) for each in both.values()}
            yield from (Triple(None, None, each) for each in new if id(each) not in known)

    def _renamed(
        self,
        origin: Sequence[PlacedDocument],
        path: str,
        known: Mapping[PlacedDocument, PlacedDocument],
    ) -> dict[PlacedDocument, PlacedDocument]:
        """Match what is left of a local file by likeness, where upstream has no such name."""
        taken = {id(each) for each in known.values()}
        there = [each for each in self._local.resources(path) if id(each) not in taken]
        gone = [each for each in origin if each not in known]
        found: dict[PlacedDocument, PlacedDocument] = {}
        if len(gone) * len(there) > _MOST_PAIRS:
            return found
        for resource in gone:
            likeness = [
                (_likeness(resource.document.value, each.document.value), -each.position, each)
                for each in there
                if each.identity[:2] == resource.identity[:2] and not self._is_upstream(each)
            ]
            best = max(likeness, key=lambda each: each[:2], default=None)
            if best and best[0] >= _ALIKE:
                found[resource] = best[2]
                there.remove(best[2])
        return found

    def _is_upstream(self, local: PlacedDocument) -> bool:
        there = (each.identity for each in self._updated.resources(local.path))
        return local.identity in there or local.identity in self._moved_upstream

    def _found(
        self, origin: PlacedDocument, local: PlacedDocument | None, updated: PlacedDocument | None
    ) -> tuple[PlacedDocument | None, PlacedDocument | None]:
        """Look for a resource that left its file, if the other side changed it."""
        if local is None and not (updated and updated.piece.like(origin.piece)):
            local = self._moved_locally.get(origin.identity)
        if updated is None and not (local and local.piece.like(origin.piece)):
            updated = self._moved_upstream.get(origin.identity)
        return local, updated

    @cached_property
    def _moved_locally(self) -> Mapping[ResourceIdentity, PlacedDocument]:
        return self._newcomers(self._local, self._updated)

    @cached_property
    def _moved_upstream(self) -> Mapping[ResourceIdentity, PlacedDocument]:
        return self._newcomers(self._updated, self._local)

    def _newcomers(
        self, side: PackageState, other: PackageState
    ) -> dict[ResourceIdentity, PlacedDocument]:
        """Return the named resources that one side alone has in files where they were not."""
        found: dict[ResourceIdentity, PlacedDocument] = {}
        for path in sorted(side.files):
            if side.files[path] == self._origin.files.get(path):
                continue
            known = {
                each.identity for state in (self._origin, other) for each in state.resources(path)
            }
            for each in side.resources(path):
                if each.identity.name and each.identity not in known:
                    found.setdefault(each.identity, each)
        return found


def _identity(document: Document) -> ResourceIdentity:
    named = ref(document.value)
    group, _ = split(named.api_version)
    namespace, name = named.namespace, named.name
    if _MARK in document.source.text:  # looking for the comments of each document takes longer
        namespace, name = upstream_name(document) or (namespace, name)
    return ResourceIdentity(group, named.kind, namespace, name)


def _matched(
    before: Iterable[PlacedDocument], after: Iterable[PlacedDocument]
) -> dict[PlacedDocument, PlacedDocument]:
    """Match the resources of one file: by identity, and then without the namespace."""
    there = {each.identity: each for each in after}
    found = {each: there.pop(each.identity) for each in before if each.identity in there}
    waiting = _by_name(each for each in before if each not in found)
    fitting = _by_name(there.values())
    for name, rivals in waiting.items():
        if len(rivals) == len(fitting.get(name, ())) == 1:
            found[rivals[0]] = fitting[name][0]
    return found


def _by_name(
    resources: Iterable[PlacedDocument],
) -> dict[tuple[str, str, str], list[PlacedDocument]]:
    found: dict[tuple[str, str, str], list[PlacedDocument]] = defaultdict(list)
    for each in resources:
        found[each.identity.group, each.identity.kind, each.identity.name].append(each)
    return found


def _likeness(left: Value, right: Value) -> float:
    """Return which part of two resources is equal, from 0 to 1; their names do not count."""
    mine, theirs = dict(_leaves(left, ())), dict(_leaves(right, ()))
    every = mine.keys() | theirs.keys()
    equal = sum(key in mine and key in theirs and same(mine[key], theirs[key]) for key in every)
    return equal / len(every) if every else 0.0


def _leaves(
    value: Value, at: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], Value]]:
    if at in _NAMING:
        return
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*at, key))
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*at, index))
    else:
        yield at, value


_NAMING = frozenset((("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")))
