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
        if self.old is not None and self.new is not None:
            parts.append(f"{_short(self.old)} -> {_short(self.new)}")
        elif self.old is not None:
            parts.append(f"removed {_short(self.old)}")
        elif self.new is not None:
            parts.append(f"added {_short(self.new)}")
        else:
            parts.append(self.kind)
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
    pairs, removed = _paired(before, after)
    found = [Change(path=was.path, kind=ChangeKind.REMOVED, resource=was.ref) for was in removed]
    for was, now in pairs:
        found += _compared(was, now)
    told = {change.path for change in found}
    told |= {was.path for was, now in pairs if was and was.path != now.path}
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


def _paired(
    before: Sequence[_Resource], after: Sequence[_Resource]
) -> tuple[list[tuple[_Resource | None, _Resource]], list[_Resource]]:
    """Pair resources of one name: in one file first, then wherever they went.

    Returns:
        Those that are there now, each with what it was; and those that are gone.
    """
    in_file: dict[object, list[_Resource]] = defaultdict(list)
    for was in before:
        in_file[was.path, was.ref].append(was)
    there = [in_file[now.path, now.ref] for now in after]
    pairs = [(left.pop(0) if left else None, now) for left, now in zip(there, after, strict=True)]
    elsewhere: dict[ResourceRef, list[_Resource]] = defaultdict(list)
    for left in in_file.values():
        for was in left:
            elsewhere[was.ref].append(was)
    found: list[tuple[_Resource | None, _Resource]] = []
    for before_or_none, now in pairs:
        left = [] if before_or_none else elsewhere[now.ref]
        found.append((left.pop(0) if left else before_or_none, now))
    return found, [was for left in elsewhere.values() for was in left]


def _compared(was: _Resource | None, now: _Resource) -> Iterator[Change]:
    if was is None:
        yield Change(path=now.path, kind=ChangeKind.ADDED, resource=now.ref)
    else:
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
