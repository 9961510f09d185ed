"""Three-way merge of a package's resources, file by file.

Rules
- A file that one side left as it was is taken from the other, byte for byte, and so is a
  document. Only what both sides changed is read.
- A resource that upstream removed goes if it is, as a resource, what it was; one that
  changed locally stays, and that is told. A resource that was removed locally stays
  removed. One that is new upstream comes with its text and comments.
- A resource that was moved to another file locally stays there and receives what changed
  upstream; one that upstream moved goes along with its local changes.
- A file that is no YAML, or a template, is one piece: if both sides changed it, the
  policy decides. If one side removed it and the other changed it, the local side counts.
- Nothing is added to any resource: identity comes from the original (see
  `cadlib.merge.pairs`).

Source: docs/design.md, "kpt: merging resources".
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from cadlib.merge.conflicts import ABSENT, Conflict, veiled
from cadlib.merge.documents import MergedDocument, equal, merge_documents
from cadlib.merge.pairs import (
    PackageState,
    Pairing,
    PlacedDocument,
    Triple,
)
from cadlib.merge.policy import ConflictPolicy
from cadlib.merge.schema import MergeSchemas
from cadlib.merge.text import FileEdits, by_lines
from cadlib.package.files import KPTFILE, Entry, Files, name
from cadlib.package.source import ref
from cadlib.yaml import DELETED, Deleted, Value

_ENDINGS = (".yaml", ".yml")
_REMOVED_HERE = "removed locally and changed upstream"
_REMOVED_THERE = "changed locally and removed upstream"


@dataclass(frozen=True, slots=True)
class MergedFiles:
    """The merged files and their conflicts.

    Attributes:
        files: The merged files by path, those that did not change too.
        conflicts: What both sides changed, by file and line.
    """

    files: dict[str, Entry]
    conflicts: tuple[Conflict, ...]


def merge_resources(
    origin: Files,
    local: Files,
    updated: Files,
    *,
    policy: ConflictPolicy = ConflictPolicy.UPSTREAM,
    crds: Iterable[Value] = (),
) -> MergedFiles:
    """Merge the `*.yaml` and `*.yml` files of one package; others are passed over.

    Args:
        origin: The files that both sides began with, without those of subpackages.
        local: The local ones.
        updated: Those upstream.
        policy: Who wins a conflict. With `FAIL` the result is that of `UPSTREAM`, and the
            caller refuses it if there are conflicts.
        crds: CustomResourceDefinitions besides those in these files, see `definitions`.

    Raises:
        PackageError: A file holds two resources of one identity.
    """
    states = (
        PackageState(_yaml_files(origin), "original upstream"),
        PackageState(_yaml_files(local), "local"),
        PackageState(_yaml_files(updated), "updated upstream"),
    )
    return _Merge(*states, policy, crds).merged()


def _yaml_files(files: Files) -> dict[str, Entry]:
    return {
        path: entry
        for path, entry in files.items()
        if path.endswith(_ENDINGS) and name(path) != KPTFILE
    }


class _Merge:
    """One merge: the three states, and what is found on the way."""

    def __init__(
        self,
        origin: PackageState,
        local: PackageState,
        updated: PackageState,
        policy: ConflictPolicy,
        crds: Iterable[Value],
    ) -> None:
        self._origin = origin
        self._local = local
        self._updated = updated
        self._policy = policy
        self._schemas = MergeSchemas(
            chain(crds, definitions(updated.files, local.files, origin.files))
        )
        self._conflicts: list[Conflict] = []
        self._work: dict[str, FileEdits] = {}
        self._moving: list[tuple[PlacedDocument, PlacedDocument]] = []
        # By file, where the resources that were in it at first are now locally.
        self._homes: dict[str, set[str]] = defaultdict(set)

    def merged(self) -> MergedFiles:
        """Merge."""
        files, contested = self._taken()
        texts = [path for path in contested if self._is_text(path)]
        for path in texts:
            _put(files, path, self._whole(path))
        rest = [path for path in contested if path not in texts]
        for path in rest:
            _put(files, path, self._base(path))
        for triple in Pairing(self._origin, self._local, self._updated).triples(rest):
            self._settle(triple)
        for work in self._work.values():
            work.write()
            self._conflicts += work.conflicts
        for source, target in self._moving:
            self._move(source, target)
        for path, work in self._work.items():
            _put(files, path, self._assembled(path, work))
        ordered = dict(sorted(files.items()))
        told = sorted(self._conflicts, key=lambda each: (each.path, each.line or 0, each.field))
        return MergedFiles(ordered, tuple(told))

    # Files.

    def _taken(self) -> tuple[dict[str, Entry], list[str]]:
        """Return the files that one side left as they were, and the paths of the others."""
        origin, local, updated = self._origin.files, self._local.files, self._updated.files
        files: dict[str, Entry] = {}
        contested: list[str] = []
        for path in sorted({*origin, *local, *updated}):
            was, ours, theirs = origin.get(path), local.get(path), updated.get(path)
            if theirs == was:
                _put(files, path, ours)
            elif ours == was:
                _put(files, path, theirs)
            elif ours == theirs and ours is not None:
                _put(files, path, ours)
            else:  # also where both removed it: its resources may be elsewhere now
                contested.append(path)
        return files, contested

    def _is_text(self, path: str) -> bool:
        return any(each.is_text(path) for each in (self._origin, self._local, self._updated))

    def _whole(self, path: str) -> Entry | None:
        """Return a contested file that can only be taken as a whole."""
        ours, theirs = self._local.files.get(path), self._updated.files.get(path)
        if ours is None and theirs is None:
            return None
        if ours is None or theirs is None:
            chosen, reason = "local", _REMOVED_HERE if ours is None else _REMOVED_THERE
        else:
            chosen = self._policy.side
            reason = "changed on both sides, and not YAML that can be merged"
        self._conflicts.append(
            Conflict(path=path, line=1 if ours else None, chosen=chosen, reason=reason)
        )
        return ours if chosen == "local" else theirs

    def _base(self, path: str) -> Entry | None:
        """Return the file that a contested one is made from."""
        ours, theirs = self._local.files.get(path), self._updated.files.get(path)
        was = self._origin.files.get(path)
        if ours is None:
            return theirs
        mode = theirs.mode if theirs and was and ours.mode == was.mode else ours.mode
        return replace(ours, mode=mode)

    def _is_from_upstream(self, path: str) -> bool:
        """Tell whether a file of the result is made from the one upstream."""
        ours = self._local.files.get(path)
        return ours is None or ours == self._origin.files.get(path) != self._updated.files.get(path)

    def _at(self, path: str) -> FileEdits:
        if path not in self._work:
            side = self._updated if self._is_from_upstream(path) else self._local
            self._work[path] = FileEdits(side.stream(path))
        return self._work[path]

    # Resources.

    def _settle(self, triple: Triple) -> None:
        if triple.origin and triple.local:
            self._homes[triple.origin.path].add(triple.local.path)
        match triple:
            case Triple(_, None, None) | Triple(None, _, None):
                pass
            case Triple(None, None, PlacedDocument() as new):
                self._added_upstream(new)
            case Triple(PlacedDocument() as origin, PlacedDocument() as local, None):
                self._removed_upstream(origin, local)
            case Triple(PlacedDocument() as origin, None, PlacedDocument() as updated):
                self._removed_locally(origin, updated)
            case Triple(origin, PlacedDocument() as local, PlacedDocument() as updated):
                self._both(origin, local, updated)

    def _added_upstream(self, new: PlacedDocument) -> None:
        home = self._home(new)
        if home is not None:
            self._at(new.path).dropped.add(new.position)
            self._at(home).added.append(new.piece)
        elif not self._is_from_upstream(new.path):
            self._at(new.path).added.append(new.piece)

    def _home(self, new: PlacedDocument) -> str | None:
        """Return the file to which all resources beside a new one were moved locally."""
        homes = self._homes.get(new.path, set())
        if new.path in self._local.files or len(homes) != 1:
            return None
        (home,) = homes
        sides = (self._local, self._updated)
        there = {each.identity for side in sides for each in side.resources(home)}
        return None if new.identity in there else home

    def _removed_upstream(self, origin: PlacedDocument, local: PlacedDocument) -> None:
        merged = merge_documents(origin.document, local.document, None, path=local.path)
        self._conflicts += merged.conflicts
        if merged.value is DELETED:
            self._at(local.path).dropped.add(local.position)

    def _removed_locally(self, origin: PlacedDocument, updated: PlacedDocument) -> None:
        if self._is_from_upstream(updated.path):
            self._at(updated.path).dropped.add(updated.position)
        before, now = origin.document.value, updated.document.value
        if not equal(before, now):
            self._conflicts.append(
                Conflict(
                    path=origin.path,
                    resource=str(ref(now)),
                    base=veiled(now, (), before),
                    ours=ABSENT,
                    theirs=veiled(now, (), now),
                    chosen="local",
                    reason=_REMOVED_HERE,
                )
            )

    def _both(
        self, origin: PlacedDocument | None, local: PlacedDocument, updated: PlacedDocument
    ) -> None:
        there = {each.identity for each in self._local.resources(updated.path)}
        moved = (
            origin is not None
            and local.path == origin.path != updated.path
            and local.identity not in there
        )
        if not moved and local.path != updated.path and self._is_from_upstream(updated.path):
            self._at(updated.path).dropped.add(updated.position)
        if moved:
            self._at(local.path).dropped.add(local.position)
            self._at(updated.path)
            self._moving.append((local, updated))
        if updated.piece.like(origin.piece if origin else local.piece):
            return
        if origin and local.piece.like(origin.piece):
            self._at(local.path).replaced[local.position] = local.piece.holding(updated.piece)
            return
        merged = merge_documents(
            origin.document if origin else None,
            local.document,
            updated.document,
            schemas=self._schemas,
            policy=self._policy,
            path=local.path,
        )
        self._conflicts += merged.conflicts
        self._write(origin, local, updated, merged)

    def _write(
        self,
        origin: PlacedDocument | None,
        local: PlacedDocument,
        updated: PlacedDocument,
        merged: MergedDocument,
    ) -> None:
        work, position = self._at(local.path), local.position
        if isinstance(merged.value, Deleted):
            work.dropped.add(position)
            return
        if origin:
            texts = (origin.piece, local.piece, updated.piece)
            piece = by_lines(*texts, merged.value, merged.comments)
            if piece:
                work.replaced[position] = piece
                return
        work.values[position] = merged.value
        work.like[position] = (updated.document,)
        if merged.comments is not None:
            work.comments[position] = merged.comments

    # Text.

    def _move(self, source: PlacedDocument, target: PlacedDocument) -> None:
        """Put a resource's merged text where upstream moved it to."""
        piece = self._at(source.path).piece(source.position)
        work = self._at(target.path)
        if self._is_from_upstream(target.path):
            work.replaced[target.position] = target.piece.holding(piece)
        else:
            work.added.append(piece)

    def _assembled(self, path: str, work: FileEdits) -> Entry | None:
        data = work.data()
        base = self._base(path)
        return None if data is None or base is None else replace(base, data=data)


def _put(files: dict[str, Entry], path: str, entry: Entry | None) -> None:
    if entry is None:
        files.pop(path, None)
    else:
        files[path] = entry


def definitions(*trees: Files) -> Iterator[Value]:
    """Yield the CustomResourceDefinitions in the YAML files of these trees.

    Files are read as they are asked for.
    """
    seen: set[bytes] = set()
    for files in trees:
        state = PackageState(_yaml_files(files), "")
        for path, entry in state.files.items():
            if entry.data in seen or b"CustomResourceDefinition" not in entry.data:
                continue
            seen.add(entry.data)
            stream = state.stream(path)
            for document in stream.documents if stream else ():
                yield document.value


__all__ = ["MergedFiles", "definitions", "merge_resources"]
