"""What differs between two states of a package, by resource and field, for people.

Files are compared byte for byte first, and only those that differ are parsed. Values
of Secrets never appear: that they differ does.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from cadlib.errors import PackageError
from cadlib.findings import ResourceRef
from cadlib.limits import DEFAULT, Limits
from cadlib.package import SUBMODULE, SYMLINK, Entry, Files, is_resource_file
from cadlib.source import missing, ref
from cadlib.yaml import FieldPath, Value, field_text, same
from cadlib.yaml import read as read_yaml

HIDDEN = "(hidden)"
# Longest value shown in `str(change)`: about as much as fits beside a field in one line.
_SHOWN = 60
_SECRET_FIELDS = ("data", "stringData")
# Holds a copy of the whole resource, its secret values included.
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class ChangeKind(StrEnum):
    """What happened to a resource, field or file."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One difference.

    `str()` gives one line, such as "deploy.yaml: Deployment shop/cart:
    spec.replicas: 3 -> 4", with long values cut.

    Attributes:
        path: File; the new one for a resource that moved.
        kind: Added, removed or changed.
        resource: The resource; None when it is the file as a whole.
        field: The field, such as "spec.replicas"; "" for the whole resource or file,
            "mode" for a file whose mode changed.
        old: Its value before, as text; None if it had none or it is not shown.
        new: Its value after, likewise.
    """

    path: str
    kind: ChangeKind
    resource: ResourceRef | None = None
    field: str = ""
    old: str | None = None
    new: str | None = None

    def __str__(self) -> str:
        parts = [self.path]
        if self.resource:
            name = "/".join(filter(None, (self.resource.namespace, self.resource.name)))
            parts.append(f"{self.resource.kind} {name}")
        parts += [self.field] if self.field else []
        match self.old, self.new:
            case None, None:
                parts.append(self.kind)
            case None, str(new):
                parts.append(f"added {_short(new)}")
            case str(old), None:
                parts.append(f"removed {_short(old)}")
            case str(old), str(new):
                parts.append(f"{_short(old)} -> {_short(new)}")
        return ": ".join(parts)


def changes(old: Files, new: Files, limits: Limits = DEFAULT) -> tuple[Change, ...]:
    """Return what differs, by file, then in the order of the resources and fields.

    Args:
        old: The package before; empty if there was none.
        new: The package after; empty if it was removed.
        limits: Files beyond these are compared as a whole.

    Returns:
        Nothing for what is equal as resources; but a file whose bytes differ is always
        among the changes, if need be as a whole.
    """
    paths = sorted(path for path in {*old, *new} if old.get(path) != new.get(path))
    read = {path: (_read(path, old, limits), _read(path, new, limits)) for path in paths}
    both = {path: pair for path, pair in read.items() if None not in pair}
    before = [each for pair in both.values() for each in pair[0] or ()]
    after = [each for pair in both.values() for each in pair[1] or ()]
    found: list[Change] = []
    for was, now in _pairs(before, after):
        found += _compared(was, now)
    told = {change.path for change in found} | _moved_from(before, after)
    for path in paths:
        found += _whole_file(path, old.get(path), new.get(path), told=path in told)
    return tuple(sorted(found, key=lambda change: change.path))


@dataclass(frozen=True, slots=True, eq=False)
class _Resource:
    path: str
    value: Value
    ref: ResourceRef


def _read(path: str, files: Files, limits: Limits) -> list[_Resource] | None:
    """Return the resources of a file; None when it cannot be read as such."""
    entry = files.get(path)
    if entry is None or not is_resource_file(path) or entry.mode in (SYMLINK, SUBMODULE):
        return []
    try:
        stream = read_yaml(entry.data, path=path, limits=limits)
    except PackageError:  # rendering says what is wrong; here it is a file that differs
        return None
    return [
        _Resource(path, document.value, ref(document.value))
        for document in stream.documents
        if not (document.empty or document.template or missing(document.value))
    ]


def _pairs(
    before: Sequence[_Resource], after: Sequence[_Resource]
) -> Iterator[tuple[_Resource | None, _Resource | None]]:
    """Pair resources of one name: in one file first, then wherever they went."""
    in_file: dict[object, list[_Resource]] = defaultdict(list)
    for was in before:
        in_file[was.path, was.ref].append(was)
    pairs: list[tuple[_Resource | None, _Resource]] = []
    for now in after:
        there = in_file[now.path, now.ref]
        pairs.append((there.pop(0) if there else None, now))
    elsewhere: dict[ResourceRef, list[_Resource]] = defaultdict(list)
    for left in in_file.values():
        for was in left:
            elsewhere[was.ref].append(was)
    for was_or_none, now in pairs:
        left = elsewhere[now.ref] if was_or_none is None else []
        yield (left.pop(0) if left else was_or_none), now
    for left in elsewhere.values():
        for was in left:
            yield was, None


def _moved_from(before: Sequence[_Resource], after: Sequence[_Resource]) -> set[str]:
    """Return the files all of whose resources are told of under another file."""
    return {was.path for was, now in _pairs(before, after) if was and now and was.path != now.path}


def _compared(was: _Resource | None, now: _Resource | None) -> Iterator[Change]:
    if was is None and now is not None:
        yield Change(path=now.path, kind=ChangeKind.ADDED, resource=now.ref)
    elif now is None and was is not None:
        yield Change(path=was.path, kind=ChangeKind.REMOVED, resource=was.ref)
    elif was is not None and now is not None:
        if was.path != now.path:
            yield Change(
                path=now.path,
                kind=ChangeKind.CHANGED,
                resource=now.ref,
                field="file",
                old=was.path,
                new=now.path,
            )
        for path, old, new in _fields(was.value, now.value, (), hidden=False):
            yield Change(
                path=now.path,
                kind=_kind(old, new),
                resource=now.ref,
                field=field_text(path),
                old=old,
                new=new,
            )


def _fields(
    old: Value, new: Value, at: FieldPath, *, hidden: bool
) -> Iterator[tuple[FieldPath, str | None, str | None]]:
    if same(old, new):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        secret = "Secret" in (old.get("kind"), new.get("kind"))
        for key in [*old, *(key for key in new if key not in old)]:
            veiled = hidden or (secret and key in _SECRET_FIELDS) or key == _LAST_APPLIED
            here = (*at, key)
            if key in old and key in new:
                yield from _fields(old[key], new[key], here, hidden=veiled)
            else:
                yield (
                    here,
                    _text(old[key], veiled) if key in old else None,
                    _text(new[key], veiled) if key in new else None,
                )
    elif isinstance(old, list) and isinstance(new, list):
        yield from _items(old, new, at, hidden=hidden)
    else:
        yield at, _text(old, hidden), _text(new, hidden)


def _items(
    old: Sequence[Value], new: Sequence[Value], at: FieldPath, *, hidden: bool
) -> Iterator[tuple[FieldPath, str | None, str | None]]:
    """Compare lists: by `name` where each item has one of its own, else by position."""
    before, after = _names(old), _names(new)
    if before is None or after is None:
        before, after = list(range(len(old))), list(range(len(new)))
    position = {name: index for index, name in enumerate(after)}
    for index, name in enumerate(before):
        if name in position:
            to = position[name]
            yield from _fields(old[index], new[to], (*at, to), hidden=hidden)
        else:
            yield (*at, index), _text(old[index], hidden), None
    known = set(before)
    for index, name in enumerate(after):
        if name not in known:
            yield (*at, index), None, _text(new[index], hidden)


def _names(items: Sequence[Value]) -> list[object] | None:
    names = [item.get("name") if isinstance(item, dict) else None for item in items]
    unique = all(isinstance(name, str) for name in names) and len(set(map(str, names))) == len(
        names
    )
    return [*names] if unique else None


def _whole_file(path: str, old: Entry | None, new: Entry | None, *, told: bool) -> Iterator[Change]:
    if old and new and old.mode != new.mode:
        yield Change(path=path, kind=ChangeKind.CHANGED, field="mode", old=old.mode, new=new.mode)
        told = told or old.data == new.data
    if not told:
        kind = ChangeKind.ADDED if not old else ChangeKind.CHANGED if new else ChangeKind.REMOVED
        yield Change(path=path, kind=kind)


def _kind(old: str | None, new: str | None) -> ChangeKind:
    if old is None:
        return ChangeKind.ADDED
    return ChangeKind.REMOVED if new is None else ChangeKind.CHANGED


def _text(value: Value, hidden: bool) -> str:
    if hidden:
        return HIDDEN
    if isinstance(value, str) and not _looks_typed(value):
        return value
    return json.dumps(_veiled(value), ensure_ascii=False)


def _looks_typed(text: str) -> bool:
    """Return whether a string would be taken for something else without its quotes."""
    try:
        json.loads(text)
    except ValueError:
        return not text
    return True


def _veiled(value: Value) -> Value:
    """Hide the values of Secrets inside a value that is shown as a whole."""
    if isinstance(value, list):
        return [_veiled(item) for item in value]
    if not isinstance(value, dict):
        return value
    secret = value.get("kind") == "Secret"
    return {
        key: HIDDEN
        if (secret and key in _SECRET_FIELDS) or key == _LAST_APPLIED
        else _veiled(inner)
        for key, inner in value.items()
    }


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}..."


__all__ = ["HIDDEN", "Change", "ChangeKind", "changes"]
