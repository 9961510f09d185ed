"""Schemas of custom resources: what the API server refuses, prunes and allows."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft4Validator

from cadlib.yaml import Value, field_text
from fnrunner.builtin import schema, structural
from fnrunner.builtin.structural import DefinitionError
from tests.fnrunner.calls import values

METADATA = schema.load(schema.versions()[-1], strict=True).metadata()


def definition(spec: str, **version: Value) -> Value:
    """A definition whose `spec` field has a schema."""
    inner = values(spec)[0]
    whole: Value = {"type": "object", "properties": {"spec": inner}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "spec": {
            "group": "x.io",
            "names": {"kind": "X"},
            "versions": [{"name": "v1", "schema": {"openAPIV3Schema": whole}, **version}],
        },
    }


def found(spec: str, value: str, *, strict: bool = True) -> dict[str, str]:
    """What is wrong with a resource whose `spec` has a value, by field; "; " in between."""
    kinds = structural.kinds(definition(spec), strict=strict, metadata=METADATA)
    whole: Value = {
        "apiVersion": "x.io/v1",
        "kind": "X",
        "metadata": {"name": "a"},
        "spec": values(value)[0],
    }
    told: dict[str, list[str]] = {}
    for problem in kinds["x.io", "v1", "X"].problems(whole):
        told.setdefault(field_text(problem.path), []).append(problem.message)
    return {field: "; ".join(messages) for field, messages in told.items()}


CASES: dict[str, tuple[str, str, dict[str, str]]] = {
    "a field that is pruned": (
        "type: object\nproperties: {a: {type: object, properties: {b: {type: string}}}}",
        "{a: {b: x, c: 1, d: 2}}",
        {"spec.a": "additional properties 'c', 'd' not allowed"},
    ),
    "all of an object without fields is pruned": (
        "type: object",
        "{a: 1}",
        {"spec": "additional properties 'a' not allowed"},
    ),
    "unknown fields that are kept": (
        "type: object\nx-kubernetes-preserve-unknown-fields: true\n"
        "properties: {a: {type: object, properties: {}}}",
        "{other: 1, a: {b: 1}}",
        {"spec.a": "additional properties 'b' not allowed"},
    ),
    "a map": (
        "type: object\nadditionalProperties: {type: integer}",
        "{a: 1, b: x}",
        {"spec.b": "got string, want integer"},
    ),
    "fields named below anyOf alone": (
        "type: object\nproperties: {a: {type: string}}\nanyOf: [{required: [a]}, {required: [b]}]",
        "{c: 1}",
        {"spec": "'anyOf' failed; additional properties 'c' not allowed"},
    ),
    "integer or string": (
        "type: array\nitems: {x-kubernetes-int-or-string: true}",
        "[1, x, true]",
        {"spec[2]": "got boolean, want integer or string"},
    ),
    "null where it may not be": ("type: string", "null", {"spec": "got null, want string"}),
    "null where it may be": ("{type: string, nullable: true, minLength: 2}", "null", {}),
    "an embedded resource": (
        "{type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: string}}}",
        "{apiVersion: v1, metadata: {labels: 1}, spec: x, more: 1}",
        {
            "spec": "missing property 'kind'; additional properties 'more' not allowed",
            "spec.metadata.labels": "got number, want null or object",
        },
    ),
    "a set": (
        "{type: array, x-kubernetes-list-type: set, items: {type: string}}",
        "[a, b, a]",
        {"spec": "items at 0 and 2 are equal"},
    ),
    "a list that is a map": (
        "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name, port],"
        " items: {type: object, x-kubernetes-preserve-unknown-fields: true}}",
        "[{name: a, port: 1}, {name: a, port: 2}, {name: a, port: 1, x: y}]",
        {"spec": "items at 0 and 2 have the same name and port"},
    ),
    "a pattern is looked for anywhere": (
        "{type: array, items: {type: string, pattern: '[0-9]$'}}",
        "[a1, a]",
        {"spec[1]": "'a' does not match pattern '[0-9]$'"},
    ),
    "a bound": ("{type: integer, minimum: 1}", "0", {"spec": "minimum: got 0, want 1"}),
    "a bound of its own": (
        "{type: number, maximum: 1, exclusiveMaximum: true}",
        "1",
        {"spec": "exclusiveMaximum: got 1, want 1"},
    ),
    "large numbers": (
        "{type: integer, maximum: 1000000}",
        "1234567",
        {"spec": "maximum: got 1234567, want 1000000"},
    ),
    "lengths": (
        "{type: object, additionalProperties: {type: string, maxLength: 2}, maxProperties: 1}",
        "{a: abc, b: ab}",
        {"spec": "maxProperties: got 2, want 1", "spec.a": "maxLength: got 3, want 2"},
    ),
    "one of several": (
        "{type: integer, oneOf: [{minimum: 1}, {minimum: 2}]}",
        "3",
        {"spec": "'oneOf' failed, subschemas 0, 1 matched"},
    ),
    "none of several": (
        "{type: integer, oneOf: [{minimum: 1}, {minimum: 2}]}",
        "0",
        {"spec": "'oneOf' failed, none matched"},
    ),
    "not": ("{type: string, not: {enum: [a]}}", "a", {"spec": "'not' failed"}),
    "a choice": (
        "{type: string, enum: [a, b]}",
        "c",
        {"spec": "value must be one of 'a', 'b'"},
    ),
    "formats": (
        "{type: array, items: {type: string, format: date}}",
        "['2024-02-30', '2024-02-29', '20240229']",
        {
            "spec[0]": "'2024-02-30' is not valid date",
            "spec[2]": "'20240229' is not valid date",
        },
    ),
    "a number of few bits": (
        "{type: integer, format: int32}",
        "2147483648",
        {"spec": "2147483648 is not valid int32"},
    ),
    "a format that nobody checks": ("{type: string, format: colour}", "x", {}),
}


@pytest.mark.parametrize(("spec", "value", "problems"), CASES.values(), ids=CASES)
def test_problems(spec: str, value: str, problems: dict[str, str]) -> None:
    """Short-cut: hand the schema to a validator of JSON Schema, which knows none of Kubernetes'."""
    assert found(spec, value) == problems


def test_unknown_fields_pass_unless_strict() -> None:
    spec = "type: object\nproperties: {a: {type: string}}"
    assert found(spec, "{b: 1}", strict=False) == {}
    assert found(spec, "{a: 1}", strict=False) == {"spec.a": "got number, want string"}


def test_metadata_is_kubernetes_own() -> None:
    """Short-cut: take metadata for a field that the schema does not name."""
    kinds = structural.kinds(definition("type: object"), strict=True, metadata=METADATA)
    kind = kinds["x.io", "v1", "X"]
    good: dict[str, Value] = {"apiVersion": "x.io/v1", "kind": "X", "metadata": {"name": "a"}}
    assert kind.problems(good) == []
    wrong = kind.problems({**good, "metadata": {"name": "a", "labelz": {}}})
    assert [(problem.path, problem.message) for problem in wrong] == [
        (("metadata",), "additional properties 'labelz' not allowed")
    ]


def test_a_schema_may_restrict_metadata() -> None:
    """Short-cut: let Kubernetes' own schema take the place of what the definition says."""
    whole = definition("type: object")
    top: Any = whole
    top = top["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    top["metadata"] = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}}
    kind = structural.kinds(whole, strict=True, metadata=METADATA)["x.io", "v1", "X"]
    good: Value = {"metadata": {"name": "abc", "labels": {"a": "b"}}}
    assert kind.problems(good) == []
    (problem,) = kind.problems({"metadata": {"name": "abcd", "labels": {"a": "b"}}})
    assert (problem.path, problem.message) == (("metadata", "name"), "maxLength: got 4, want 3")


def test_versions_that_are_not_served_are_none() -> None:
    made = structural.kinds(definition("{}", served=False), strict=True, metadata=METADATA)
    assert made == {}


def test_the_older_form_has_one_schema_for_all_versions() -> None:
    whole = values("""
spec:
  group: x.io
  names: {kind: X}
  validation: {openAPIV3Schema: {type: object, properties: {a: {type: string}}}}
  versions: [{name: v1, served: true}, {name: v2, served: true}]
---
spec:
  group: x.io
  names: {kind: X}
  version: v3
  preserveUnknownFields: true
  validation: {openAPIV3Schema: {type: object, properties: {a: {type: string}}}}
""")
    many, one = (structural.kinds(each, strict=True, metadata=METADATA) for each in whole)
    assert sorted(many) == [("x.io", "v1", "X"), ("x.io", "v2", "X")]
    assert [each.message for each in many["x.io", "v2", "X"].problems({"b": 1})] == [
        "additional properties 'b' not allowed"
    ]
    assert one["x.io", "v3", "X"].problems({"b": 1}) == []


WRONG = {
    "no mapping": ("[a]", r"versions\[0\].schema.openAPIV3Schema.properties.spec: a schema must"),
    "no type": ("{type: text}", "properties.spec.type: 'text' is not a valid schema type"),
    "a reference": ("{$ref: '#/a'}", "a reference is not allowed in a schema"),
    "no number": ("{minimum: x}", "properties.spec.minimum: 'x' is not a number"),
    "a pattern that RE2 has not": (
        r"{pattern: '(a)\1'}",
        "properties.spec.pattern: .* is not a valid pattern",
    ),
}


@pytest.mark.parametrize(("spec", "message"), WRONG.values(), ids=WRONG)
def test_what_no_definition_may_say(spec: str, message: str) -> None:
    kinds = structural.kinds(definition(spec), strict=True, metadata=METADATA)
    for _ in range(2):
        with pytest.raises(DefinitionError, match=message):
            kinds["x.io", "v1", "X"].problems({})


LEAVES: list[Any] = [
    {"type": "string"},
    {"type": "integer", "minimum": 1, "maximum": 3},
    {"type": "string", "pattern": "^a"},
    {"enum": ["a", 1]},
    {"type": "boolean"},
]
SCHEMAS = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        st.builds(lambda each: {"type": "array", "items": each, "maxItems": 2}, inner),
        st.builds(
            lambda each, names: {"type": "object", "properties": each, "required": names},
            st.dictionaries(st.sampled_from("ab"), inner, min_size=1),
            st.lists(st.sampled_from("ab"), min_size=1, unique=True),
        ),
        st.builds(lambda each: {"anyOf": each}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda each: {"oneOf": each}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda each: {"not": each}, inner),
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    st.sampled_from(["a", "b", 0, 1, 2, 5, True, None]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner)
    ),
    max_leaves=6,
)


@given(SCHEMAS, VALUES)
def test_plain_schemas_mean_what_they_mean_in_json_schema(spec: Any, value: Any) -> None:
    """Short-cut: let the words of the problems stand for what they are about."""
    made = structural.kinds(
        {
            "spec": {
                "group": "x.io",
                "names": {"kind": "X"},
                "versions": [
                    {"name": "v1", "schema": {"openAPIV3Schema": {"properties": {"spec": spec}}}}
                ],
            }
        },
        strict=False,
        metadata=METADATA,
    )
    problems = made["x.io", "v1", "X"].problems({"spec": value})
    assert (problems == []) == Draft4Validator(spec).is_valid(value)
