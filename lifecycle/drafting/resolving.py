"""`resolve`: one conflict of an upgrade gets the value of the other side, or another one."""

from collections.abc import Sequence

from cadlib import yaml
from cadlib.diff.fields import HIDDEN
from cadlib.merge.conflicts import Absent, Conflict, Side
from cadlib.package.files import Entry, Files
from cadlib.package.source import ref
from cadlib.yaml import FieldPath, Value
from lifecycle.drafting.fields import value_of
from lifecycle.messages import making as texts

UPSTREAM, LOCAL = "upstream", "local"


def resolve(
    here: Files, before: Files, conflicts: Sequence[Conflict], number: int, wanted: str
) -> dict[str, Entry | None]:
    """Return the file that changes, by its path; nothing where it says so already.

    Args:
        here: The package as it is.
        before: The package before the upgrade.
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
        return _whole(here, before, conflict, wanted)
    entry = here.get(conflict.path)
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


def _whole(here: Files, before: Files, conflict: Conflict, wanted: str) -> dict[str, Entry | None]:
    """A whole file; of a resource inside one people decide in the file."""
    if conflict.resource or wanted not in (UPSTREAM, LOCAL):
        raise texts.conflict_by_hand(conflict.path)
    if wanted == UPSTREAM:
        return {}
    entry = before.get(conflict.path)
    return {} if entry == here.get(conflict.path) else {conflict.path: entry}


def _document(stream: yaml.Stream, resource: str) -> int | None:
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
