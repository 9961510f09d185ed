"""`resolve`: one conflict of an upgrade gets the value of the other side, or another one."""

from collections.abc import Sequence
from dataclasses import dataclass

from cadlib import yaml
from cadlib.diff.fields import HIDDEN
from cadlib.merge.conflicts import ABSENT, Absent, Conflict, Side
from cadlib.merge.pieces import pieces
from cadlib.merge.text import FileEdits
from cadlib.package import files as packages
from cadlib.package.files import KPTFILE, Entry, Files
from cadlib.package.source import ref
from cadlib.yaml import FieldPath, Value
from lifecycle.drafting.fields import value_of
from lifecycle.messages import making as texts

UPSTREAM, LOCAL = "upstream", "local"


@dataclass(frozen=True, slots=True)
class Sides:
    """A package whose upgrade had conflicts.

    Attributes:
        here: As it is.
        before: As it was before the upgrade.
        theirs: What came from upstream.
    """

    here: Files
    before: Files
    theirs: Files


def resolve(
    of: Sides, conflicts: Sequence[Conflict], number: int, wanted: str
) -> dict[str, Entry | None]:
    """Return the file that changes, by its path; nothing where it says so already.

    Args:
        of: The package.
        conflicts: Of the upgrade.
        number: Which of them, from 0.
        wanted: "upstream", "local", or a value as YAML has it.

    Raises:
        PackageError: It cannot be done, in words.
    """
    if number >= len(conflicts):
        raise texts.no_conflict()
    conflict = conflicts[number]
    sides: dict[str, Side] = {UPSTREAM: conflict.theirs, LOCAL: conflict.ours}
    path = yaml.parse_field(conflict.field)
    if not path:
        return _whole(of, conflict, wanted)
    entry = of.here.get(conflict.path)
    if entry is None:
        raise texts.conflict_gone(conflict.path)
    stream = yaml.read(entry.data, path=conflict.path)
    number_of = _document(stream, conflict.resource)
    if number_of is None:
        raise texts.conflict_gone(conflict.path)
    old = _at(stream.documents[number_of].value, path)
    new: Side = sides[wanted] if wanted in sides else value_of(old, wanted, conflict.path)
    if _hides(new):
        raise texts.conflict_hidden(conflict.path)
    changed = _put(stream.documents[number_of].value, path, new, conflict.path)
    data = yaml.edit(stream, {number_of: changed})
    return {} if data == entry.data else {conflict.path: Entry(data, entry.mode)}


def _whole(of: Sides, conflict: Conflict, wanted: str) -> dict[str, Entry | None]:
    """A whole file or resource, from the side that is wanted; upgrades leave some of them local."""
    path, here = conflict.path, of.here.get(conflict.path)
    if wanted not in (UPSTREAM, LOCAL):
        raise texts.conflict_by_hand(path, resource=bool(conflict.resource))
    if packages.name(path) == KPTFILE:  # a package that is gone upstream; upgrades keep it
        if wanted == UPSTREAM:
            raise texts.conflict_of_package(packages.folder(path))
        return {}
    entry = (of.theirs if wanted == UPSTREAM else of.before).get(path)
    if conflict.resource:
        value = conflict.theirs if wanted == UPSTREAM else conflict.ours
        gone = isinstance(value, Absent) and conflict.base is not ABSENT
        entry = _with_resource(here, entry, conflict, gone=gone)
    return {} if entry == here else {path: entry}


def _with_resource(
    here: Entry | None, side: Entry | None, conflict: Conflict, *, gone: bool
) -> Entry | None:
    """A file with one resource as a side has it, or without that.

    Args:
        here: The file; None where it is not there.
        side: The file of the side.
        conflict: About the resource.
        gone: The side has it no more.

    Raises:
        PackageError: The side has it elsewhere.
    """
    theirs = None if side is None else yaml.read(side.data, path=conflict.path)
    found = None if theirs is None else _document(theirs, conflict.resource)
    if found is None and not gone:
        raise texts.conflict_by_hand(conflict.path, resource=True)
    if here is None:
        if side is None or theirs is None or found is None:
            return None
        others = {each for each in range(len(theirs.documents)) if each != found}
        data = FileEdits(theirs, dropped=others).data()
        return None if data is None else Entry(data, side.mode)
    stream = yaml.read(here.data, path=conflict.path)
    edits, at = FileEdits(stream), _document(stream, conflict.resource)
    if theirs is None or found is None:
        edits.dropped = set() if at is None else {at}
    elif at is None:
        edits.added = [pieces(theirs)[found]]
    else:
        edits.replaced = {at: edits.piece(at).holding(pieces(theirs)[found])}
    data = edits.data()
    return None if data is None else Entry(data, here.mode)


def _document(stream: yaml.Stream, resource: str) -> int | None:
    """The position of a resource; "" is that of a Kptfile, which no other one stands beside."""
    if not resource:
        return 0 if len(stream.documents) == 1 else None
    found = [n for n, each in enumerate(stream.documents) if str(ref(each.value)) == resource]
    return found[0] if len(found) == 1 else None


def _hides(side: Side) -> bool:
    """Whether a value has something of a Secret left out, however deep: it is no value then."""
    if isinstance(side, dict):
        return any(_hides(each) for each in side.values())
    return any(_hides(each) for each in side) if isinstance(side, list) else side == HIDDEN


def _at(value: Value, path: FieldPath) -> Value:
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _put(value: Value, path: FieldPath, new: Side, file: str) -> Value:
    """A value with one field set, or taken out."""
    step, rest = path[0], path[1:]
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        kept = (
            [] if not rest and isinstance(new, Absent) else [_inner(value[step], rest, new, file)]
        )
        return [*value[:step], *kept, *value[step + 1 :]]
    if isinstance(value, dict) and isinstance(step, str):
        if not rest and isinstance(new, Absent):
            return {key: each for key, each in value.items() if key != step}
        return {**value, step: _inner(value.get(step, {}), rest, new, file)}
    raise texts.conflict_gone(file)


def _inner(value: Value, rest: FieldPath, new: Side, file: str) -> Value:
    return new if not rest and not isinstance(new, Absent) else _put(value, rest, new, file)
