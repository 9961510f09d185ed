"""Schemas of custom resources, from the definitions in a package, compiled to plain functions.

Longer than 400 lines: one compiler, with a small check for each keyword of a schema.

Rules:
    - A version that is served counts; its schema is `openAPIV3Schema`, for all versions one in
      the older form (v1beta1).
    - apiVersion, kind and metadata need not be named; metadata is Kubernetes' own, of which a
      schema may restrict some fields.
    - Fields that a schema does not name are pruned by the API server: strict, they are problems.
      `x-kubernetes-preserve-unknown-fields` allows them, at its own level only. What stands below
      allOf, anyOf, oneOf and not adds rules about values, and no fields.
    - `x-kubernetes-int-or-string`, `nullable`, embedded resources, lists that are sets or maps:
      as the API server has them. Patterns are RE2's. Rules in CEL are not held against anything.
    - What no definition may say (a reference, a pattern that is none) is an error of its own.

Messages are worded as in `fnrunner.builtin.schema`.

Source: Kubernetes, custom resource definitions (apiextensions.k8s.io/v1, JSONSchemaProps).
"""

import ipaddress
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import cached_property
from typing import Any, Final

import re2

from cadlib.yaml import Value, field_text
from fnrunner.builtin import resource
from fnrunner.builtin.resource import Path
from fnrunner.builtin.schema import (
    Check,
    SchemaProblem,
    check_date_time,
    check_enum,
    check_fields,
    check_items,
    check_required,
    check_types,
)

GROUP: Final = "apiextensions.k8s.io"
KIND: Final = "CustomResourceDefinition"

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_LIST_TYPE: Final = "x-kubernetes-list-type"
_RULES: Final = "x-kubernetes-validations"
_Schema = Mapping[str, Any]
_Measure = tuple[type | tuple[type, ...], Callable[[Any], float], Callable[[float, float], bool]]


class DefinitionError(Exception):
    """A definition says something that no definition may say.

    Attributes:
        path: Where in the resource.
        problem: What is wrong there.
    """

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{field_text(path)}: {problem}")
        self.path = path
        self.problem = problem


class CustomKind:
    """A kind of custom resource, in one version; its schema is compiled when first used."""

    def __init__(self, schema: Value, path: Path, *, strict: bool, metadata: Check) -> None:
        self._schema = schema
        self._path = path
        self._compiler = _Compiler(strict=strict, metadata=metadata)

    @cached_property
    def _check(self) -> Check:
        return self._compiler.whole(self._schema, self._path)

    def problems(self, value: Value) -> list[SchemaProblem]:
        """Return what is wrong with a resource.

        Raises:
            DefinitionError: The schema cannot be used.
        """
        found: list[SchemaProblem] = []
        self._check(value, (), found)
        return found

    @property
    def rules(self) -> bool:
        """Whether its schema, once used, has rules in CEL, which are not held."""
        return self._compiler.rules


def problems(value: Value, schema: Value, path: Path, at: Path) -> list[SchemaProblem]:
    """Return what is wrong with a value that is no resource, unknown fields aside.

    Args:
        value: The value.
        schema: What it is held against, as a definition has it.
        path: Where that stands.
        at: Where the value stands.

    Raises:
        DefinitionError: The schema cannot be used.
    """
    found: list[SchemaProblem] = []
    _Compiler(strict=False, metadata=_all(())).value(schema, path)(value, at, found)
    return found


Kinds = Mapping[tuple[str, str, str], CustomKind]
"""Custom kinds by group, version and kind."""


def is_definition(value: Value) -> bool:
    """Tell whether a resource is a CustomResourceDefinition."""
    return (resource.group(value), resource.kind(value)) == (GROUP, KIND)


def kinds(definition: Value, *, strict: bool, metadata: Check) -> Kinds:
    """Return the kind that a definition defines, in each version that has a schema.

    Args:
        definition: A CustomResourceDefinition.
        strict: Whether fields that a schema does not name are problems.
        metadata: Checks `metadata`.
    """
    spec = resource.mapping(resource.field(definition, "spec"))
    group = resource.text(spec.get("group"))
    kind = resource.text(resource.field(spec, "names", "kind"))
    keep = spec.get("preserveUnknownFields") is True
    return {
        (group, version, kind): CustomKind(
            schema, path, strict=strict and not keep, metadata=metadata
        )
        for version, schema, path in _versions(spec)
    }


def _versions(spec: _Schema) -> Iterable[tuple[str, Value, Path]]:
    """Yield the versions that are served, each with its schema and where that stands."""
    shared = resource.field(spec.get("validation"), "openAPIV3Schema")
    there: Path = ("spec", "validation", "openAPIV3Schema")
    versions = resource.items(spec.get("versions"))
    if not versions and shared is not None:
        yield resource.text(spec.get("version")), shared, there
    for position, each in enumerate(versions):
        if resource.field(each, "served") is False:
            continue
        schema = resource.field(each, "schema", "openAPIV3Schema")
        path: Path = ("spec", "versions", position, "schema", "openAPIV3Schema")
        if schema is None:
            schema, path = shared, there
        if schema is not None:
            yield resource.text(resource.field(each, "name")), schema, path


class _Compiler:
    """Makes the check of one version's schema."""

    def __init__(self, *, strict: bool, metadata: Check) -> None:
        self.rules = False
        self._strict = strict
        self._metadata = metadata

    def whole(self, schema: Value, path: Path) -> Check:
        """Return the check of a resource, which has apiVersion, kind and metadata."""
        return self._node(schema, path, structural=True, head=True)

    def value(self, schema: Value, path: Path) -> Check:
        """Return the check of a value that is no resource."""
        return self._node(schema, path, structural=False)

    def _node(self, schema: Value, path: Path, *, structural: bool, head: bool = False) -> Check:
        """Return the check of a value.

        Args:
            schema: What it is held against.
            path: Where that stands in the definition.
            structural: Fields that are not named here are pruned.
            head: The value is a resource.
        """
        if not isinstance(schema, dict):
            raise DefinitionError(path, "a schema must be a mapping")
        self.rules = self.rules or bool(schema.get(_RULES))
        checks = [
            *self._of_value(schema, path),
            *self._combined(schema, path),
            *self._inside(schema, path, structural=structural, head=head),
        ]
        if schema.get("nullable") is not True:
            return _all(checks)
        inner = _all(checks)

        def nullable(value: Value, at: Path, found: list[SchemaProblem]) -> None:
            if value is not None:
                inner(value, at, found)

        return nullable

    def _of_value(self, schema: _Schema, path: Path) -> Iterable[Check]:
        if schema.get(_INT_OR_STRING) is True:
            yield check_types(("integer", "string"))
        elif (wanted := schema.get("type")) is not None and wanted != "":
            if wanted not in _TYPES:
                raise DefinitionError((*path, "type"), f"{wanted!r} is not a valid schema type")
            yield _typed(str(wanted), nullable=schema.get("nullable") is True)
        if isinstance(allowed := schema.get("enum"), list):
            yield check_enum(allowed)
        if check := _FORMATS.get(str(schema.get("format"))):
            yield check
        if (pattern := schema.get("pattern")) is not None:
            yield _pattern(pattern, (*path, "pattern"))
        for key, (types, measure, fits) in _MEASURES.items():
            if (bound := schema.get(key)) is not None:
                yield _bounded(key, bound, types, measure, fits, path)
        yield from _limits(schema, path)
        if "$ref" in schema:
            raise DefinitionError((*path, "$ref"), "a reference is not allowed in a schema")

    def _combined(self, schema: _Schema, path: Path) -> Iterable[Check]:
        yield from self._parts(schema, "allOf", path)
        if anyway := self._parts(schema, "anyOf", path):
            yield _any_of(anyway)
        if exactly := self._parts(schema, "oneOf", path):
            yield _one_of(exactly)
        if (refused := schema.get("not")) is not None:
            yield _not(self._node(refused, (*path, "not"), structural=False))

    def _parts(self, schema: _Schema, key: str, path: Path) -> Sequence[Check]:
        return [
            self._node(each, (*path, key, position), structural=False)
            for position, each in enumerate(resource.items(schema.get(key)))
        ]

    def _inside(
        self, schema: _Schema, path: Path, *, structural: bool, head: bool
    ) -> Iterable[Check]:
        embedded = schema.get(_EMBEDDED) is True
        if isinstance(required := schema.get("required"), list):
            yield check_required([str(each) for each in required])
        if embedded:
            yield check_required(["apiVersion", "kind"])
        if (items := schema.get("items")) is not None:
            yield check_items(self._node(items, (*path, "items"), structural=structural))
        if unique := _unique(schema):
            yield unique
        yield self._fields(schema, path, structural=structural, head=head or embedded)

    def _fields(self, schema: _Schema, path: Path, *, structural: bool, head: bool) -> Check:
        properties = resource.mapping(schema.get("properties"))
        fields = {
            key: self._node(each, (*path, "properties", key), structural=structural)
            for key, each in properties.items()
            if not (head and key == "metadata")
        }
        if head:
            fields |= {"apiVersion": _IS_TEXT, "kind": _IS_TEXT}
            fields["metadata"] = self._of_metadata(properties, path)
        additional = schema.get("additionalProperties")
        if isinstance(additional, dict):
            at = (*path, "additionalProperties")
            return check_fields(fields, self._node(additional, at, structural=structural))
        return check_fields(fields, None, closed=self._is_closed(schema, structural=structural))

    def _of_metadata(self, properties: _Schema, path: Path) -> Check:
        """Return the check of metadata, of which a schema may restrict some fields."""
        if "metadata" not in properties:
            return self._metadata
        at = (*path, "properties", "metadata")
        own = self._node(properties["metadata"], at, structural=False)
        return _all([self._metadata, own])

    def _is_closed(self, schema: _Schema, *, structural: bool) -> bool:
        """Tell whether fields that the schema does not name are problems."""
        additional = schema.get("additionalProperties")
        if additional is False:
            return True
        pruned = additional is None and schema.get(_PRESERVE) is not True
        is_object = schema.get("type") == "object" or "properties" in schema
        return self._strict and structural and pruned and is_object


def _all(checks: Sequence[Check]) -> Check:
    def each(value: Value, path: Path, found: list[SchemaProblem]) -> None:
        for check in checks:
            check(value, path, found)

    return checks[0] if len(checks) == 1 else each


def _typed(wanted: str, *, nullable: bool) -> Check:
    return check_types((wanted, "null") if nullable else (wanted,))


_IS_TEXT: Final = check_types(("string",))


def _pattern(pattern: Value, path: Path) -> Check:
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(str(pattern), options)
    except re2.error as error:
        raise DefinitionError(path, f"{pattern!r} is not a valid pattern") from error

    def check(value: Value, at: Path, found: list[SchemaProblem]) -> None:
        if isinstance(value, str) and not compiled.search(value):
            found.append(SchemaProblem(at, f"'{value}' does not match pattern '{pattern}'"))

    return check


_AT_LEAST: Final[Callable[[float, float], bool]] = lambda got, want: got >= want  # noqa: E731
_AT_MOST: Final[Callable[[float, float], bool]] = lambda got, want: got <= want  # noqa: E731
# Of each bound the values it is about, what of them is measured, and how it holds.
_MEASURES: Final[Mapping[str, _Measure]] = {
    "minLength": (str, len, _AT_LEAST),
    "maxLength": (str, len, _AT_MOST),
    "minItems": (list, len, _AT_LEAST),
    "maxItems": (list, len, _AT_MOST),
    "minProperties": (dict, len, _AT_LEAST),
    "maxProperties": (dict, len, _AT_MOST),
    "multipleOf": (
        (int, float),
        lambda value: value,
        lambda got, want: want != 0 and got % want == 0,
    ),
}


def _limits(schema: _Schema, path: Path) -> Iterable[Check]:
    """Yield the checks of minimum and maximum; a flag beside either leaves the bound itself out."""
    for key, flag, within in (
        ("minimum", "exclusiveMinimum", _AT_LEAST),
        ("maximum", "exclusiveMaximum", _AT_MOST),
    ):
        bound = schema.get(key)
        if bound is None:
            continue
        without = schema.get(flag) is True
        fits = _without_bound(within) if without else within
        shown = flag if without else key
        yield _bounded(key, bound, (int, float), lambda value: value, fits, path, shown=shown)


def _without_bound(fits: Callable[[float, float], bool]) -> Callable[[float, float], bool]:
    return lambda got, want: got != want and fits(got, want)


def _bounded(
    key: str,
    bound: Value,
    types: type | tuple[type, ...],
    measure: Callable[[Any], float],
    fits: Callable[[float, float], bool],
    path: Path,
    *,
    shown: str = "",
) -> Check:
    if not isinstance(bound, int | float) or isinstance(bound, bool):
        raise DefinitionError((*path, key), f"{bound!r} is not a number")
    limit = bound

    def check(value: Value, at: Path, found: list[SchemaProblem]) -> None:
        if isinstance(value, types) and not isinstance(value, bool):
            got = measure(value)
            if not fits(got, limit):
                found.append(
                    SchemaProblem(at, f"{shown or key}: got {_plain(got)}, want {_plain(limit)}")
                )

    return check


def _plain(number: float) -> str:
    whole = isinstance(number, float) and number.is_integer()
    return str(int(number) if whole else number)


def _any_of(parts: Sequence[Check]) -> Check:
    def check(value: Value, at: Path, found: list[SchemaProblem]) -> None:
        if not any(_fits(part, value) for part in parts):
            found.append(SchemaProblem(at, "'anyOf' failed"))

    return check


def _one_of(parts: Sequence[Check]) -> Check:
    def check(value: Value, at: Path, found: list[SchemaProblem]) -> None:
        fitting = [position for position, part in enumerate(parts) if _fits(part, value)]
        if not fitting:
            found.append(SchemaProblem(at, "'oneOf' failed, none matched"))
        elif len(fitting) > 1:
            first, second, *_ = fitting
            found.append(SchemaProblem(at, f"'oneOf' failed, subschemas {first}, {second} matched"))

    return check


def _not(part: Check) -> Check:
    def check(value: Value, at: Path, found: list[SchemaProblem]) -> None:
        if _fits(part, value):
            found.append(SchemaProblem(at, "'not' failed"))

    return check


def _fits(check: Check, value: Value) -> bool:
    found: list[SchemaProblem] = []
    check(value, (), found)
    return not found


def _unique(schema: _Schema) -> Check | None:
    """Return the check that no two elements of a list are the same, where they may not be."""
    keys = [str(each) for each in resource.items(schema.get("x-kubernetes-list-map-keys"))]
    as_map = schema.get(_LIST_TYPE) == "map" and bool(keys)
    if not as_map and schema.get(_LIST_TYPE) != "set" and schema.get("uniqueItems") is not True:
        return None

    def named(element: Value) -> str:
        whole = resource.mapping(element)
        return _canonical([whole.get(key) for key in keys] if as_map else element)

    def check(value: Value, at: Path, found: list[SchemaProblem]) -> None:
        seen: dict[str, int] = {}
        for position, element in enumerate(resource.items(value)):
            first = seen.setdefault(named(element), position)
            if first != position:
                same = f"have the same {' and '.join(keys)}" if as_map else "are equal"
                found.append(SchemaProblem(at, f"items at {first} and {position} {same}"))

    return check


def _canonical(value: Value) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _text_format(name: str, reads: Callable[[str], object]) -> Check:
    def check(value: Value, at: Path, found: list[SchemaProblem]) -> None:
        if not isinstance(value, str):
            return
        try:
            reads(value)
        except ValueError:
            found.append(SchemaProblem(at, f"'{value}' is not valid {name}"))

    return check


def _date(text: str) -> date:
    if len(text) != len("2006-01-02"):  # Python reads shorter ways of writing a day, too
        raise ValueError(text)
    return date.fromisoformat(text)


def _number_format(bits: int) -> Check:
    most = 2 ** (bits - 1)

    def check(value: Value, at: Path, found: list[SchemaProblem]) -> None:
        if isinstance(value, int) and not isinstance(value, bool) and not -most <= value < most:
            found.append(SchemaProblem(at, f"{value} is not valid int{bits}"))

    return check


# Formats that the API server holds values against; it takes no notice of others.
_FORMATS: Final[Mapping[str, Check]] = {
    "date-time": check_date_time,
    "datetime": check_date_time,
    "date": _text_format("date", _date),
    "ipv4": _text_format("ipv4", ipaddress.IPv4Address),
    "ipv6": _text_format("ipv6", ipaddress.IPv6Address),
    "cidr": _text_format("cidr", lambda text: ipaddress.ip_network(text, strict=False)),
    "int32": _number_format(32),
    "int64": _number_format(64),
}
