r"""Paths of kustomize's replacements: `spec.containers.[name=web].env.0.value`.

Rules:
    - Parts are separated by dots; `\.` is a dot within a part, `[a.b/c]` a key with dots.
    - A number is a position in a list, `-` (where a value is read) its last element.
    - `[key=value]` picks elements of a list by a field, `[=value]` by themselves. Where a value
      is read, the first that is equal is meant; where one is written, all that a regular
      expression fits, be it in the middle.
    - `*` is every element; only where a value is written.
    - Written through a text that is JSON or YAML, the path goes on inside it.

Source: kustomize, kyaml/yaml/match.go, kyaml/yaml/fns.go, api/filters/replacement.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Final

from cadlib.errors import PackageError
from cadlib.yaml import EditError, Value, edit, emit, read
from cadlib.yaml.scalars import inline
from fnrunner.builtin import regex
from fnrunner.builtin.regex import PatternError

_MOST_PARTS: Final = 100
_MARGIN: Final = re.compile(r"^[{\[]\n([ \t]+)\S")
_NUMBER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)

Change = Callable[[Value], Value]


class PathError(Exception):
    """A path cannot be followed; the text says why."""


def split(path: str) -> tuple[str, ...]:
    """Return the parts of a path.

    Raises:
        PathError: There are more than 100; no resource is that deep.
    """
    pieces = _unescaped(path)
    if len(pieces) > _MOST_PARTS:
        raise PathError(f"the path has {len(pieces)} parts, more than {_MOST_PARTS}")
    parts: list[str] = []
    while pieces:
        part = pieces.pop(0)
        if part.startswith("[") and not part.endswith("]"):
            while pieces and not part.endswith("]"):
                part += f".{pieces.pop(0)}"
            part = part if "=" in part else part.strip("[]")
        parts.append(part)
    return tuple(parts)


def _unescaped(path: str) -> list[str]:
    pieces = path.split(".")
    if len(pieces) > 1 and not pieces[0]:
        del pieces[0]
    whole = pieces[:1]
    for piece in pieces[1:]:
        if whole[-1].endswith("\\"):
            whole[-1] = f"{whole[-1][:-1]}.{piece}"
        else:
            whole.append(piece)
    return whole


def text(value: Value) -> str:
    """Return a scalar as YAML writes it, text as it is, and nothing for null."""
    if isinstance(value, str | None):
        return value or ""
    return inline(value) if isinstance(value, bool | int | float) else emit(value).strip()


def get(value: Value, parts: Sequence[str]) -> Value:
    """Return the value at a path, or None where there is none.

    Raises:
        PathError: It leads through a value of the wrong kind, or has parts that cannot be read.
    """
    for part in filter(None, map(str.strip, parts)):
        if value is None:
            return None
        value = _step(value, part)
    return value


def _step(value: Value, part: str) -> Value:
    if isinstance(value, dict) and part in value:
        return value[part]  # a key may look like a number
    if _NUMBER.fullmatch(part) or part == "-":
        return _at(value, part)
    if part == "*":
        raise PathError("wildcard is not supported in PathGetter")
    if _is_entry(part):
        key, wanted = _entry(part)
        listed = _list(value)
        return next((each for each in listed if _is(each, key, wanted)), None)
    return _mapping(value).get(part)


def _at(value: Value, part: str) -> Value:
    listed = _list(value)
    position = len(listed) - 1 if part == "-" else int(part)
    if position < 0 and part != "-":
        raise PathError(f"array index {position} cannot be negative")
    return listed[position] if 0 <= position < len(listed) else None


def _is(value: Value, key: str, wanted: str) -> bool:
    if not key:
        return not isinstance(value, dict | list) and text(value) == wanted
    return isinstance(value, dict) and key in value and text(value[key]) == wanted


def put(value: Value, parts: Sequence[str], change: Change, *, create: bool) -> tuple[Value, int]:
    """Return a copy of a value with whatever a path leads to changed, and how many that were.

    Args:
        value: A resource or a part of one; it stays as it is.
        parts: From `split`.
        change: Gets each value that is there (None for a new one), and returns the one wanted.
        create: Make what is missing: fields, elements that `[key=value]` names, and the
            element after the last of a list.

    Raises:
        PathError: It leads through a value of the wrong kind, or past the end of a list.
        Exception: Whatever `change` raises.
    """
    if not parts:
        return change(value), 1
    part = parts[0]
    if value is None and create:
        value = [] if _NUMBER.fullmatch(part) or _is_entry(part) or part == "*" else {}
    if isinstance(value, str):
        inside = _put_inside(value, parts, change, create=create)
        if inside is not None:
            return inside
    if isinstance(value, dict) and part in value:
        return _put_field(value, parts, change, create=create)
    if _NUMBER.fullmatch(part):
        return _put_at(value, parts, change, create=create)
    if _is_entry(part):
        return _put_entries(value, parts, change, create=create)
    if part == "*":
        listed = _list(value)
        return _put_each(listed, range(len(listed)), parts[1:], change, create=create)
    return _put_field(value, parts, change, create=create)


def _put_field(
    value: Value, parts: Sequence[str], change: Change, *, create: bool
) -> tuple[Value, int]:
    old = _mapping(value)
    if parts[0] not in old and not create:
        return value, 0
    new, count = put(old.get(parts[0]), parts[1:], change, create=create)
    return {**old, parts[0]: new}, count


def _put_at(
    value: Value, parts: Sequence[str], change: Change, *, create: bool
) -> tuple[Value, int]:
    listed, position = _list(value), int(parts[0])
    if position == len(listed) and create:
        listed = [*listed, None]
    if not 0 <= position < len(listed):
        raise PathError(f"index {position} specified but only {len(listed)} elements found")
    return _put_each(listed, [position], parts[1:], change, create=create)


def _put_entries(
    value: Value, parts: Sequence[str], change: Change, *, create: bool
) -> tuple[Value, int]:
    key, pattern = _entry(parts[0])
    listed = _list(value)
    fitting = [i for i, each in enumerate(listed) if _fits(each, key, pattern)]
    if not fitting and create:
        made: Value = {key: pattern} if key else pattern
        listed, fitting = [*listed, made], [len(listed)]
    return _put_each(listed, fitting, parts[1:], change, create=create)


def _put_each(
    listed: list[Value],
    positions: Sequence[int],
    parts: Sequence[str],
    change: Change,
    *,
    create: bool,
) -> tuple[Value, int]:
    copy, total = list(listed), 0
    for position in positions:
        copy[position], count = put(listed[position], parts, change, create=create)
        total += count
    return copy, total


def _fits(value: Value, key: str, pattern: str) -> bool:
    try:
        if not key:
            return not isinstance(value, dict | list) and regex.found(pattern, text(value))
        return isinstance(value, dict) and key in value and regex.found(pattern, text(value[key]))
    except PatternError as error:
        raise PathError(str(error)) from error


def _put_inside(
    value: str, parts: Sequence[str], change: Change, *, create: bool
) -> tuple[Value, int] | None:
    """Go on inside a text that is JSON or YAML; None where it is neither, or holds no fields."""
    if value.lstrip()[:1] in ("{", "["):
        return _put_json(value, parts, change, create=create)
    try:
        stream = read(value.encode())
    except PackageError:
        return None
    if len(stream.documents) != 1 or not isinstance(stream.documents[0].value, dict | list):
        return None
    new, count = put(stream.documents[0].value, parts, change, create=create)
    try:
        return (edit(stream, {0: new}).decode() if count else value), count
    except EditError as error:
        raise PathError(f"the text it leads into cannot be changed: {error}") from error


def _put_json(
    value: str, parts: Sequence[str], change: Change, *, create: bool
) -> tuple[Value, int] | None:
    try:
        old: Value = json.loads(value)
    except (ValueError, RecursionError):  # too deep to be a document that somebody wrote
        return None
    new, count = put(old, parts, change, create=create)
    if not count:
        return value, 0
    margin = _MARGIN.search(value)  # of what is laid out for people
    end = value[len(value.rstrip()) :]
    if margin:
        return json.dumps(new, indent=margin[1], ensure_ascii=False) + end, count
    return json.dumps(new, separators=(",", ":"), ensure_ascii=False) + end, count


def _is_entry(part: str) -> bool:
    return part.startswith("[") and part.endswith("]")


def _entry(part: str) -> tuple[str, str]:
    key, equals, wanted = part[1:-1].partition("=")
    if not equals:
        raise PathError(
            "list path element must contain fieldName and fieldValue for element to match"
        )
    return key, wanted


def _mapping(value: Value) -> dict[str, Value]:
    if not isinstance(value, dict | None):
        raise _wrong_kind("MappingNode", value)
    return value or {}


def _list(value: Value) -> list[Value]:
    if not isinstance(value, list | None):
        raise _wrong_kind("SequenceNode", value)
    return value or []


def _wrong_kind(wanted: str, value: Value) -> PathError:
    found, shown = "ScalarNode", f"{text(value)}\n"
    if isinstance(value, dict | list):
        found, shown = "MappingNode" if isinstance(value, dict) else "SequenceNode", emit(value)
    return PathError(f"wrong node kind: expected {wanted} but was {found}: node contents:\n{shown}")
