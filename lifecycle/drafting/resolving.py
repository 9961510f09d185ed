"""`resolve`: one conflict of an upgrade gets the value of the other side, or another one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cadlib import yaml
from cadlib.diff.fields import HIDDEN
from cadlib.errors import PackageError
from cadlib.merge.conflicts import ABSENT, COMMENT, NOT_WRITTEN, Absent, Conflict, Side
from cadlib.merge.elements import Known
from cadlib.merge.pieces import pieces
from cadlib.merge.text import FileEdits
from cadlib.package import files as packages
from cadlib.package.files import KPTFILE, Entry, Files
from cadlib.package.source import ref
from cadlib.yaml import FieldPath, Value
from lifecycle.drafting.fields import value_of
from lifecycle.messages import making as texts

UPSTREAM, LOCAL = "upstream", "local"

_ADDRESS = ("upstream", "upstreamLock")
"""Fields of a Kptfile of which a conflict tells an address in one line, and no value."""


@dataclass(frozen=True, slots=True)
class ConflictedPackage:
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
    of: ConflictedPackage, conflicts: Sequence[Conflict], number: int, wanted: str
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
    if conflict.reason.startswith(NOT_WRITTEN):
        raise texts.conflict_unwritten(conflict.path)
    if not path:
        return _whole(of, conflict, wanted)
    if packages.name(conflict.path) == KPTFILE and path[0] in _ADDRESS:
        raise texts.conflict_of_address(conflict.path)
    entry = of.here.get(conflict.path)
    if entry is None:
        raise texts.conflict_gone(conflict.path)
    stream = yaml.read(entry.data, path=conflict.path)
    number_of = _document(stream, conflict.resource)
    if number_of is None:
        raise texts.conflict_gone(conflict.path)
    here = stream.documents[number_of].value
    before = _document_of(of.before, conflict)
    path, there = _placed(path, conflict, here, before.value if before else None)
    if conflict.reason == COMMENT:
        data = _commented(stream, number_of, path, sides.get(wanted))
        return {} if data == entry.data else {conflict.path: Entry(data, entry.mode)}
    old = _at(here, path) if there else _told(conflict)
    new: Side = sides[wanted] if wanted in sides else value_of(old, wanted, conflict.path)
    if _hides(new):
        raise texts.conflict_hidden(conflict.path)
    if not there and isinstance(new, Absent):
        return {}
    lent = _document_of(of.theirs if wanted == UPSTREAM else of.before, conflict)
    keeps = _reached(lent.value if lent else None, conflict)
    changed = _put(here, path, new, conflict.path, anew=not there, keeps=keeps)
    if lent is None or wanted not in sides:
        data = yaml.edit(stream, {number_of: changed})
    else:
        inside = _inside(lent, conflict, before) if there else {}
        data = _as_lent(stream, number_of, changed, path, lent, inside)
    return {} if data == entry.data else {conflict.path: Entry(data, entry.mode)}


def _whole(of: ConflictedPackage, conflict: Conflict, wanted: str) -> dict[str, Entry | None]:
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
    if entry is not None and here is None:
        above = any(each in of.here for each in packages.upwards(packages.folder(path)) if each)
        if above or any(each.startswith(f"{path}/") for each in of.here):
            raise texts.conflict_in_the_way(path)
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


def _document_of(files: Files, conflict: Conflict) -> yaml.Document | None:
    """The resource as one side has it; None where that has none there."""
    entry = files.get(conflict.path)
    stream = None if entry is None else yaml.read(entry.data, path=conflict.path)
    found = None if stream is None else _document(stream, conflict.resource)
    return None if stream is None or found is None else stream.documents[found]


def _reached(value: Value, conflict: Conflict) -> int:
    """How many of the steps around a field there are in a resource as a side has it."""
    known, steps = iter(conflict.known), yaml.parse_field(conflict.field)
    for reached, each in enumerate(steps):
        step: str | int = each
        if isinstance(each, int):
            element = next(known, None)
            items = value if isinstance(value, list) else []
            places = element.places(items) if element else []
            step = places[0] if len(places) == 1 else len(items)
        value = _at(value, (step,))
        if value is None:
            return reached
    return max(len(steps) - 1, 0)


def _commented(stream: yaml.Stream, number: int, path: FieldPath, comment: Side) -> bytes:
    """The text of a file where a field has the comment of a side.

    Args:
        stream: The file.
        number: The position of the resource in it.
        path: The field.
        comment: The comment; None where no side was asked for.

    Raises:
        PackageError: No side was asked for, or the field is not there.
    """
    document = stream.documents[number]
    if comment is None:
        raise texts.conflict_of_comment(stream.source.path)
    if document.line(path) is None:
        raise texts.conflict_gone(stream.source.path)
    comments = {at: text for at, text in document.comments.items() if at != path}
    if not isinstance(comment, Absent):
        comments[path] = str(comment)
    return yaml.edit(stream, {number: document.value}, comments={number: comments})


def _inside(
    lent: yaml.Document, conflict: Conflict, before: yaml.Document | None
) -> Mapping[FieldPath, str]:
    """The line comments inside a field as a side has it, by what follows the path of the field."""
    wanted = yaml.parse_field(conflict.field)
    try:
        path, _ = _placed(wanted, conflict, lent.value, before.value if before else None)
    except PackageError:
        return {}
    end = len(path)
    return {at[end:]: text for at, text in lent.comments.items() if at[:end] == path != at}


def _as_lent(
    stream: yaml.Stream,
    number: int,
    value: Value,
    path: FieldPath,
    lent: yaml.Document,
    inside: Mapping[FieldPath, str],
) -> bytes:
    """The text of a file with a value of a side, and with what that side says beside it.

    Args:
        stream: The file.
        number: The position of the resource in it.
        value: The resource as it is to be.
        path: The field that is the side's.
        lent: The resource as the side has it.
        inside: Its line comments inside the field.
    """
    like, end = {number: (lent,)}, len(path)
    if not isinstance(_at(value, path), dict | list):
        return yaml.edit(stream, {number: value}, like=like)
    said = stream.documents[number].comments
    others = {at: text for at, text in said.items() if at[:end] != path or at == path}
    comments = {number: others | {(*path, *at): text for at, text in inside.items()}}
    try:
        return yaml.edit(stream, {number: value}, like=like, comments=comments)
    except yaml.EditError:  # one has no place, such as inside braces
        return yaml.edit(stream, {number: value}, like=like)


def _placed(
    path: FieldPath, conflict: Conflict, here: Value, before: Value
) -> tuple[FieldPath, bool]:
    """A field by the positions that elements of lists have here, and whether it is there.

    An upgrade, and whoever pushed since, may have put others before an element, or taken some out.
    An element is known as the merge knew it; one that two others could be is none.

    Args:
        path: The field, by positions before the upgrade.
        conflict: About it.
        here: The resource as it is.
        before: The resource as it was before the upgrade.

    Raises:
        PackageError: An element around the field is not there any more.
    """
    found: list[str | int] = []
    known = iter(conflict.known)
    for step in path:
        if not isinstance(step, int) or not isinstance(here, list):
            found.append(step)
            here, before = _at(here, (step,)), _at(before, (step,))
            continue
        element = next(known, None)
        places = [] if element is None else element.places(here)
        items = before if isinstance(before, list) else []
        last = len(found) == len(path) - 1
        if element and last and not places and ABSENT in (conflict.ours, conflict.theirs):
            stood = (Known.of([each], element.keys).places(here) for each in items[:step])
            return (*found, 1 + max((n for each in stood for n in each), default=-1)), False
        if len(places) != 1:
            raise texts.conflict_gone(conflict.path)
        found.append(places[0])
        here, before = here[places[0]], _at(before, (step,))
    return tuple(found), True


def _told(conflict: Conflict) -> Value:
    """What is told of an element of a list, by the first side that has it."""
    sides = (conflict.ours, conflict.theirs, conflict.base)
    return next((each for each in sides if not isinstance(each, Absent)), None)


def _put(
    value: Value, path: FieldPath, new: Side, file: str, *, anew: bool = False, keeps: int
) -> Value:
    """A value with one field set, or taken out.

    Args:
        value: It.
        path: The field.
        new: What it becomes.
        file: For messages.
        anew: Put an element between others.
        keeps: Steps of the path that stay where nothing is left in them: an empty selector is
            not the same as none.

    Raises:
        PackageError: The field has no place.
    """
    step, rest = path[0], path[1:]
    if isinstance(value, list) and isinstance(step, int):
        if not rest:
            kept = [] if isinstance(new, Absent) else [new]
            return [*value[:step], *kept, *value[step if anew else step + 1 :]]
        if step < len(value):
            inner = _put(value[step], rest, new, file, anew=anew, keeps=keeps - 1)
            return [*value[:step], inner, *value[step + 1 :]]
    if isinstance(value, dict) and isinstance(step, str):
        if rest:
            if step not in value and isinstance(new, Absent):
                return value
            inner = _put(value.get(step, {}), rest, new, file, anew=anew, keeps=keeps - 1)
            new = ABSENT if inner == {} and value.get(step) != {} and keeps < 1 else inner
        if isinstance(new, Absent):
            return {key: each for key, each in value.items() if key != step}
        return {**value, step: new}
    raise texts.conflict_gone(file)
