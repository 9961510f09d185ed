"""Kubernetes' JSON schemas, compiled to plain functions and kept.

It owns the schema files of the `kubernetes-validate` distribution and how they are read.
Those files use few keywords of JSON Schema, so each schema becomes one closure per node:
twenty times as fast as a general validator (17 microseconds for a Deployment). A keyword that is
not known here stops the compilation; a test compiles every schema of every version, and
another holds the errors found against those of `jsonschema`.

Messages are worded as kubeconform's (santhosh-tekuri/jsonschema) are.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path as FilePath
from typing import Any, Final

from cadlib.yaml import Value, same
from fnrunner.builtin.resource import Path

_VERSION: Final = re.compile(r"v(\d+)\.(\d+)\.\d+-local")
_DATE_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
# Order of the names in a message, as in the library that kubeconform uses.
_TYPES: Final = ("null", "boolean", "number", "integer", "string", "array", "object")
_INSIDE: Final = ("properties", "additionalProperties", "items")
_METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_NOTES: Final = ("description", "default", "$schema", "$id")  # say nothing about a value


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """One way in which a value breaks its schema.

    Attributes:
        path: Where in the value; () for the whole. Fields that should not be there, and those
            that are missing, are reported where they are or should be: at what holds them.
        message: What is wrong.
    """

    path: Path
    message: str


Check = Callable[[Value, Path, list[SchemaProblem]], None]
_Schema = Mapping[str, Any]


class UnknownKeywordError(Exception):
    """A schema file says something that is not understood here."""


class Schemas:
    """The schemas of one Kubernetes version."""

    def __init__(self, definitions: Mapping[str, _Schema]) -> None:
        self._definitions = definitions
        self._names = {
            (gvk["group"], gvk["version"], gvk["kind"]): name
            for name, schema in definitions.items()
            for gvk in schema.get("x-kubernetes-group-version-kind", ())
        }
        self._checks: dict[str, Check] = {}

    @property
    def definitions(self) -> Mapping[str, _Schema]:
        """The schemas by name, as the file has them."""
        return self._definitions

    def problems(
        self, group: str, version: str, kind: str, value: Value
    ) -> list[SchemaProblem] | None:
        """Return what is wrong with a resource, or None when its kind has no schema."""
        name = self._names.get((group, version, kind))
        if name is None:
            return None
        found: list[SchemaProblem] = []
        self._named(name)(value, (), found)
        return found

    def metadata(self) -> Check:
        """Return the check of `metadata`, which is the same for every kind."""
        return self._named(_METADATA)

    def _named(self, name: str) -> Check:
        if name not in self._checks:
            self._checks[name] = self._compile(self._definitions[name])
        return self._checks[name]

    def _compile(self, schema: _Schema) -> Check:
        # What is wrong with a value itself comes before what is wrong inside it.
        keys = sorted(schema, key=_INSIDE.__contains__)
        checks = [check for key in keys if (check := self._keyword(key, schema))]
        if len(checks) == 1:
            return checks[0]

        def each(value: Value, path: Path, found: list[SchemaProblem]) -> None:
            for check in checks:
                check(value, path, found)

        return each

    def _keyword(self, key: str, schema: _Schema) -> Check | None:
        """Return the check of one keyword, or None when another one's covers it."""
        match key:
            case "$ref":
                return self._reference(schema[key])
            case "type":
                return check_types(_names(schema[key]))
            case "oneOf":
                return _one_of(schema[key])
            case "enum":
                return check_enum(schema[key])
            case "format":
                return check_date_time if schema[key] == "date-time" else None
            case "items":
                return check_items(self._compile(schema[key]))
            case "required":
                return check_required(schema[key])
            case "properties":
                return self._fields(schema)
            case "additionalProperties":
                return None if "properties" in schema else self._fields(schema)
        if key in _NOTES or key.startswith("x-kubernetes-"):
            return None
        raise UnknownKeywordError(key)

    def _reference(self, reference: str) -> Check:
        name = reference.rpartition("/")[2]
        if name not in self._definitions:
            raise UnknownKeywordError(f"$ref {reference}")

        # Looked up at each use, since definitions refer to themselves.
        def check(value: Value, path: Path, found: list[SchemaProblem]) -> None:
            self._named(name)(value, path, found)

        return check

    def _fields(self, schema: _Schema) -> Check:
        fields = {key: self._compile(part) for key, part in schema.get("properties", {}).items()}
        additional = schema.get("additionalProperties", True)
        if isinstance(additional, bool):
            return check_fields(fields, None, closed=not additional)
        return check_fields(fields, self._compile(additional))


def versions() -> tuple[str, ...]:
    """Return the Kubernetes versions that schemas are shipped for, such as "1.33", oldest first."""
    found = {
        (int(match[1]), int(match[2]))
        for folder in _folder().iterdir()
        if (match := _VERSION.fullmatch(folder.name))
    }
    return tuple(f"{major}.{minor}" for major, minor in sorted(found))


@lru_cache(maxsize=4)  # one takes about 20 MB; few are used at a time
def load(version: str, *, strict: bool) -> Schemas:
    """Return the schemas of one of `versions()`.

    Args:
        version: Such as "1.33".
        strict: Whether fields that a schema does not name are problems.
    """
    name = f"v{version}.0-local{'-strict' if strict else ''}"
    text = (_folder() / name / "_definitions.json").read_bytes()
    return Schemas(json.loads(text)["$defs"])


@lru_cache(maxsize=1)
def _folder() -> FilePath:
    # Found without importing the package, which would pull in what we do not need.
    spec = find_spec("kubernetes_validate")
    assert spec is not None, "the distribution depends on kubernetes-validate"  # noqa: S101 - as it says
    assert spec.origin is not None  # noqa: S101 - an ordinary package has a file
    return FilePath(spec.origin).parent / "kubernetes-json-schema"


def _names(types: str | list[str]) -> tuple[str, ...]:
    return (types,) if isinstance(types, str) else tuple(types)


def _is(value: Value, name: str) -> bool:
    match name:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            return whole and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
    raise UnknownKeywordError(f"type {name}")


# Python types that mean a JSON type without a further look.
_PLAIN: Final[Mapping[str, type]] = {
    "null": type(None),
    "boolean": bool,
    "integer": int,
    "string": str,
    "array": list,
    "object": dict,
}


def check_types(names: tuple[str, ...]) -> Check:
    """Return the check that a value has one of some JSON types."""
    plain = frozenset(_PLAIN[name] for name in names if name in _PLAIN)

    def check(value: Value, path: Path, found: list[SchemaProblem]) -> None:
        if type(value) not in plain and not any(_is(value, name) for name in names):
            found.append(SchemaProblem(path, _mismatch(value, names)))

    return check


def _mismatch(value: Value, wanted: Iterable[str]) -> str:
    kind = next(name for name in _TYPES if _is(value, name))
    return f"got {kind}, want {' or '.join(sorted(set(wanted), key=_TYPES.index))}"


def _one_of(alternatives: list[_Schema]) -> Check:
    """Return the check of `oneOf`; here all alternatives are bare types."""
    if any(set(alternative) != {"type"} for alternative in alternatives):
        raise UnknownKeywordError("oneOf with more than types")
    types = [_names(alternative["type"]) for alternative in alternatives]

    def check(value: Value, path: Path, found: list[SchemaProblem]) -> None:
        fitting = [names for names in types if any(_is(value, name) for name in names)]
        if len(fitting) != 1:
            # In the end the types that only one alternative has are wanted.
            wanted = {name for names in types for name in names} - {"null"}
            found.append(SchemaProblem(path, _mismatch(value, wanted)))

    return check


def check_enum(allowed: list[Value]) -> Check:
    """Return the check that a value is one of those allowed."""
    shown = ", ".join(f"'{value}'" for value in allowed)
    message = f"value must be {shown}" if len(allowed) == 1 else f"value must be one of {shown}"

    def check(value: Value, path: Path, found: list[SchemaProblem]) -> None:
        if not any(same(value, each) for each in allowed):  # for `in`, 1 is true
            found.append(SchemaProblem(path, message))

    return check


def check_date_time(value: Value, path: Path, found: list[SchemaProblem]) -> None:
    """Check that a text is a day and a time, as RFC 3339 writes them."""
    if not isinstance(value, str):
        return
    if _DATE_TIME.fullmatch(value):
        try:
            datetime.fromisoformat(value.upper())
        except ValueError:
            pass  # it looks like one, but names no day or time there is
        else:
            return
    found.append(SchemaProblem(path, f"'{value}' is not valid date-time"))


def check_items(inner: Check) -> Check:
    """Return the check of every element of a list."""

    def check(value: Value, path: Path, found: list[SchemaProblem]) -> None:
        if isinstance(value, list):
            for position, entry in enumerate(value):
                inner(entry, (*path, position), found)

    return check


def check_required(names: list[str]) -> Check:
    """Return the check that a mapping has some fields."""

    def check(value: Value, path: Path, found: list[SchemaProblem]) -> None:
        if not isinstance(value, dict):
            return
        if missing := [f"'{name}'" for name in names if name not in value]:
            noun = "property" if len(missing) == 1 else "properties"
            found.append(SchemaProblem(path, f"missing {noun} {', '.join(missing)}"))

    return check


def check_fields(
    fields: Mapping[str, Check], other: Check | None, *, closed: bool = False
) -> Check:
    """Return the check of what a mapping holds.

    Args:
        fields: The checks of the fields that a schema names.
        other: The check of all others; None lets them pass.
        closed: There may be no others; they are told together, after what is wrong elsewhere.
    """

    def check(value: Value, path: Path, found: list[SchemaProblem]) -> None:
        if not isinstance(value, dict):
            return
        for key, part in value.items():
            if inner := fields.get(key, other):
                inner(part, (*path, key), found)
        if closed and (unknown := [f"'{key}'" for key in value if key not in fields]):
            found.append(
                SchemaProblem(path, f"additional properties {', '.join(unknown)} not allowed")
            )

    return check
