"""kustomize's field specs."""

import re

import pytest

from cadlib.yaml import Value
from fnrunner.builtin import field_spec
from fnrunner.builtin.field_spec import FieldSpec, FieldSpecError
from fnrunner.builtin.resource import ShapeError
from tests.fnrunner.calls import values

CHANGES = {
    "through lists, said or not": (
        "spec/a[]/b/c",
        "{spec: {a: [{b: [{c: 1}, {d: 2}]}, {b: {c: 3}}]}}",
        "{spec: {a: [{b: [{c: new}, {d: 2}]}, {b: {c: new}}]}}",
    ),
    "a key with a slash": (
        r"metadata/annotations/a.b\/c",
        "{metadata: {annotations: {a.b/c: x}}}",
        "{metadata: {annotations: {a.b/c: new}}}",
    ),
    "null is missing": ("a/b", "{a: null}", "{a: null}"),
    "a list at the end is one value": ("a", "{a: [1]}", "{a: new}"),
}


@pytest.mark.parametrize(("path", "text", "expected"), CHANGES.values(), ids=CHANGES)
def test_change(path: str, text: str, expected: str) -> None:
    """Short-cut: look one key up after the other."""
    value = values(text)[0]
    changed = field_spec.change(value, field_spec.keys(path), lambda _: "new")
    assert changed == values(expected)[0]
    assert value == values(text)[0]


def test_what_does_not_change_is_the_same_object() -> None:
    value = values("{a: [{b: 1}], c: {d: 1}}")[0]
    for path in ("a/b", "a/x", "x/y"):
        assert field_spec.change(value, field_spec.keys(path), lambda old: old) is value


def test_a_scalar_on_the_way_is_told_with_its_place() -> None:
    with pytest.raises(ShapeError) as caught:
        field_spec.change({"a": [{"b": "x"}]}, ("a", "b", "c"), lambda old: old)

    assert caught.value.path == ("a", 0, "b")


def test_means() -> None:
    value: Value = {"apiVersion": "apps/v1", "kind": "Deployment"}
    assert FieldSpec(("a",)).means(value)
    assert FieldSpec(("a",), group="apps", version="v1", kind="Deployment").means(value)
    for other in ({"group": "batch"}, {"version": "v2"}, {"kind": "Pod"}):
        assert not FieldSpec(("a",), **other).means(value)


def test_read() -> None:
    given = values(r"{path: '/spec/a\/b[]/c', group: g, version: v1, kind: K, create: true}")[0]
    assert field_spec.read(given, "x") == FieldSpec(("spec", "a/b[]", "c"), "g", "v1", "K")


REFUSED = {
    "text": "x[0] must be a mapping with a `path`",
    "{}": "x[0] must have a `path`",
    "{path: /}": "x[0] must have a `path`",
    f"{{path: {'a/' * 200}}}": "x[0].path has 200 keys, more than 100",
    "{path: a, version: 1}": "x[0].version must be a text; put it in quotes",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items(), ids=REFUSED)
def test_read_refuses(text: str, message: str) -> None:
    with pytest.raises(FieldSpecError, match=f"^{re.escape(message)}$"):
        field_spec.read(values(text)[0], "x[0]")
