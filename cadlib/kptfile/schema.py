"""The fields of a Kptfile: what each holds, in kpt's order, and what does not fit.

Rules
- A field that kpt does not know, or that holds another kind of value, is an error, in the
  words of the decoder that kpt uses; a near field is proposed.
- null stands for nothing. A single value that is no text is taken as its text, as in kpt.
- The order of the fields is the one that kpt writes them in.

Source: kptdev/kpt, api/kptfile/v1/types.go; go-yaml for the words.
"""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from cadlib.errors import quoted
from cadlib.yaml import FieldPath, Value


class ScalarType(Enum):
    """A scalar type, by kpt's name for it."""

    TEXT = "string"
    TEXTS = "map[string]string"
    NUMBER = "int"
    ANYTHING = "interface {}"


@dataclass(frozen=True, slots=True)
class Struct:
    """A mapping with known fields; `name` is kpt's name for it."""

    name: str
    fields: Mapping[str, "Shape"]


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list."""

    item: "Shape"


Shape: TypeAlias = ScalarType | Struct | ListOf


@dataclass(frozen=True, slots=True)
class TypeMismatch:
    """One value of the wrong type.

    Attributes:
        at: The field.
        key: The place to show is the field's key, not its value.
        problem: What kpt's decoder says of it.
        fix: What to do.
    """

    at: FieldPath
    key: bool
    problem: str
    fix: str


_GIT: Mapping[str, Shape] = {
    "repo": ScalarType.TEXT,
    "directory": ScalarType.TEXT,
    "ref": ScalarType.TEXT,
}
_MARKS: Mapping[str, Shape] = {"labels": ScalarType.TEXTS, "annotations": ScalarType.TEXTS}
_SELECTOR = Struct(
    "v1.Selector",
    {
        "apiVersion": ScalarType.TEXT,
        "kind": ScalarType.TEXT,
        "name": ScalarType.TEXT,
        "namespace": ScalarType.TEXT,
        **_MARKS,
    },
)
FUNCTION = Struct(
    "v1.Function",
    {
        "image": ScalarType.TEXT,
        "exec": ScalarType.TEXT,
        "configPath": ScalarType.TEXT,
        "configMap": ScalarType.TEXTS,
        "name": ScalarType.TEXT,
        "tag": ScalarType.TEXT,
        "selectors": ListOf(_SELECTOR),
        "exclude": ListOf(_SELECTOR),
    },
)
_STEP = Struct(
    "v1.PipelineStepResult",
    {
        "name": ScalarType.TEXT,
        "image": ScalarType.TEXT,
        "exec": ScalarType.TEXT,
        "executionError": ScalarType.TEXT,
        "stderr": ScalarType.TEXT,
        "exitCode": ScalarType.NUMBER,
        "results": ScalarType.ANYTHING,
        "errorResults": ScalarType.ANYTHING,
    },
)
_UPSTREAM = Struct(
    "v1.Upstream",
    {
        "type": ScalarType.TEXT,
        "git": Struct("v1.Git", _GIT),
        "updateStrategy": ScalarType.TEXT,
    },
)
_LOCK = Struct(
    "v1.Locator",
    {
        "type": ScalarType.TEXT,
        "git": Struct("v1.GitLock", {**_GIT, "commit": ScalarType.TEXT}),
        "generic": Struct(
            "v1.GenericLock",
            {
                "storeID": ScalarType.TEXT,
                "resourceID": ScalarType.TEXT,
                "resourceVersion": ScalarType.TEXT,
            },
        ),
    },
)
_INFO = Struct(
    "v1.PackageInfo",
    {
        "site": ScalarType.TEXT,
        "emails": ListOf(ScalarType.TEXT),
        "license": ScalarType.TEXT,
        "licenseFile": ScalarType.TEXT,
        "description": ScalarType.TEXT,
        "keywords": ListOf(ScalarType.TEXT),
        "man": ScalarType.TEXT,
        "readinessGates": ListOf(Struct("v1.ReadinessGate", {"conditionType": ScalarType.TEXT})),
    },
)
_CONDITION = Struct(
    "v1.Condition",
    {
        "type": ScalarType.TEXT,
        "status": ScalarType.TEXT,
        "reason": ScalarType.TEXT,
        "message": ScalarType.TEXT,
    },
)
KPTFILE = Struct(
    "v1.KptFile",
    {
        "apiVersion": ScalarType.TEXT,
        "kind": ScalarType.TEXT,
        "metadata": Struct(
            "yaml.ObjectMeta", {"name": ScalarType.TEXT, "namespace": ScalarType.TEXT, **_MARKS}
        ),
        "upstream": _UPSTREAM,
        "upstreamLock": _LOCK,
        "info": _INFO,
        "pipeline": Struct(
            "v1.Pipeline", {"mutators": ListOf(FUNCTION), "validators": ListOf(FUNCTION)}
        ),
        "inventory": Struct(
            "v1.Inventory",
            {
                "namespace": ScalarType.TEXT,
                "name": ScalarType.TEXT,
                "inventoryID": ScalarType.TEXT,
                **_MARKS,
            },
        ),
        "status": Struct(
            "v1.Status",
            {
                "conditions": ListOf(_CONDITION),
                "renderStatus": Struct(
                    "v1.RenderStatus",
                    {
                        "mutationSteps": ListOf(_STEP),
                        "validationSteps": ListOf(_STEP),
                        "errorSummary": ScalarType.TEXT,
                    },
                ),
            },
        ),
    },
)
"""A whole Kptfile."""


def misfits(value: Value, shape: Shape = KPTFILE, at: FieldPath = ()) -> Iterator[TypeMismatch]:
    """Yield every field below `value` that kpt refuses, in the file's order."""
    if value is None or shape is ScalarType.ANYTHING:
        return
    match shape, value:
        case Struct(), dict():
            for key, inner in value.items():
                if key in shape.fields:
                    yield from misfits(inner, shape.fields[key], (*at, key))
                else:
                    yield _unknown(key, shape, at)
        case ListOf(), list():
            for index, inner in enumerate(value):
                yield from misfits(inner, shape.item, (*at, index))
        case ScalarType.TEXTS, dict():
            for key, inner in value.items():
                yield from misfits(inner, ScalarType.TEXT, (*at, key))
        case ScalarType.TEXT, str() | int() | float():
            return
        case ScalarType.NUMBER, int() if not isinstance(value, bool):
            return
        case _:
            yield _misfit(value, shape, at)


def _misfit(value: Value, shape: Shape, at: FieldPath) -> TypeMismatch:
    wanted = _kind(shape)
    return TypeMismatch(
        at,
        False,
        f"cannot unmarshal {_found(value)} into {go_name(shape)}",
        f"Write {wanted} here",
    )


def _unknown(key: str, shape: Struct, at: FieldPath) -> TypeMismatch:
    close = difflib.get_close_matches(key, shape.fields, n=1)
    fix = f"Write {close[0]!r}" if close else "Remove it"
    if key == "configRef" and shape is FUNCTION:  # in kpt's documents, not in its program
        fix = "Use configPath or configMap"
    return TypeMismatch(
        (*at, key), True, f"field {quoted(key)} not found in type {shape.name}", fix
    )


def go_name(shape: Shape) -> str:
    """Return kpt's name for a kind of value."""
    match shape:
        case Struct(name=name):
            return name
        case ListOf(item=item):
            return f"[]{go_name(item)}"
        case _:
            return shape.value


def _kind(shape: Shape) -> str:
    match shape:
        case Struct():
            return "a mapping"
        case ListOf():
            return "a list"
        case ScalarType.TEXTS:
            return "keys with text values"
        case _:
            return "a number" if shape is ScalarType.NUMBER else "a text"


# The decoder shows a long text by its beginning: its longest, and what it keeps of it.
_SHOWN, _KEPT = 10, 7


def _found(value: Value) -> str:
    match value:
        case dict():
            return "!!map"
        case list():
            return "!!seq"
        case bool():
            return f"!!bool `{str(value).lower()}`"
        case int():
            return f"!!int `{_short(str(value))}`"
        case float():
            return f"!!float `{_short(str(value))}`"
        case _:
            return f"!!str `{_short(str(value))}`"


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_KEPT]}..."
