"""Paths of replacements: how they are read, followed and written."""

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadlib.yaml import Value
from fnrunner.builtin import field_paths
from fnrunner.builtin.field_paths import PathError, get, put, split
from tests.fnrunner.calls import values

POD: Value = values(
    """
metadata: {annotations: {a.b/c: x}, "0": zero}
spec:
  containers:
  - {name: web, image: "nginx:1", args: [-v, --port=80]}
  - {name: web-proxy, image: "envoy:2", ports: [{port: 80}]}
"""
)[0]

SPLITS = {
    "dots": ("spec.a.b", ("spec", "a", "b")),
    "a dot within a key": (r"data.config\.yaml.x", ("data", "config.yaml", "x")),
    "two dots within a key": (r"data.a\.b\.c", ("data", "a.b.c")),
    "a key in brackets": ("annotations.[a.b/c]", ("annotations", "a.b/c")),
    "an element whose value has dots": ("list.[name=a.b.c].x", ("list", "[name=a.b.c]", "x")),
    "an element by itself": ("args.[=-v]", ("args", "[=-v]")),
    "a leading dot": (".spec.a", ("spec", "a")),
    "a bracket that never closes": ("list.[name=a.b", ("list", "[name=a.b")),
}


@pytest.mark.parametrize(("path", "parts"), SPLITS.values(), ids=SPLITS)
def test_split(path: str, parts: tuple[str, ...]) -> None:
    """Short-cut: split at every dot."""
    assert split(path) == parts


READS = {
    "a field": ("spec.containers.0.name", "web"),
    "the last element": ("spec.containers.-.name", "web-proxy"),
    "an element by its field, equal and not alike": ("spec.containers.[name=web].image", "nginx:1"),
    "an element by a number in it": ("spec.containers.1.ports.[port=80].port", 80),
    "an element by itself": ("spec.containers.0.args.[=-v]", "-v"),
    "a key with dots": ("metadata.annotations.[a.b/c]", "x"),
    "a key that looks like a number": ("metadata.0", "zero"),
    "nothing behind the end of a list": ("spec.containers.7.name", None),
    "nothing of the kind": ("spec.containers.[name=db].image", None),
    "no such field": ("status.phase", None),
}


@pytest.mark.parametrize(("path", "found"), READS.values(), ids=READS)
def test_get(path: str, found: Value) -> None:
    assert get(POD, split(path)) == found


REFUSED = {
    "spec.containers.name": "expected MappingNode but was SequenceNode",
    "spec.0": "expected SequenceNode but was MappingNode",
    "metadata.annotations.[a.b/c].d": "expected MappingNode but was ScalarNode",
    "spec.containers.*.name": "wildcard is not supported in PathGetter",
    "spec.containers.-2": "array index -2 cannot be negative",
    "spec.containers.[web]": "list path element must contain fieldName and fieldValue",
}


@pytest.mark.parametrize(("path", "problem"), REFUSED.items(), ids=REFUSED)
def test_get_refuses(path: str, problem: str) -> None:
    with pytest.raises(PathError, match=problem):
        get(POD, split(path))


def changed(value: Value, path: str, *, create: bool = False) -> tuple[Value, int]:
    before = deepcopy(value)
    new, count = put(value, split(path), lambda _: "new", create=create)
    assert value == before
    return new, count


WRITES = {
    "all elements that the expression fits, in the middle too": (
        "[name=web].image", "[{name: web, image: a}, {name: web-2, image: b}, {name: c}]",
        "[{name: web, image: new}, {name: web-2, image: new}, {name: c}]", 2),
    "anchored, only one": (
        "[name=^web$].image", "[{name: web, image: a}, {name: web-2, image: b}]",
        "[{name: web, image: new}, {name: web-2, image: b}]", 1),
    "every element": ("*.a", "[{a: 1}, {a: 2, b: 3}]", "[{a: new}, {a: new, b: 3}]", 2),
    "an element by itself": ("args.[=^-v$]", "{args: [-v, -w]}", "{args: [new, -w]}", 1),
    "by position": ("1", "[a, b]", "[a, new]", 1),
    "nothing there": ("a.b", "{a: {c: 1}}", "{a: {c: 1}}", 0),
    "inside compact JSON": (r"d.c\.json.n.0", """{d: {c.json: '{"n":[1,2],"é":0}'}}""",
        """{d: {c.json: '{"n":["new",2],"é":0}'}}""", 1),
    "inside YAML, whose comments stay": ("d.x", '{d: "# why\\nx: 1 # how\\ny: 2\\n"}',
        '{d: "# why\\nx: new # how\\ny: 2\\n"}', 1),
}  # fmt: skip


@pytest.mark.parametrize(("path", "text", "expected", "count"), WRITES.values(), ids=WRITES)
def test_put(path: str, text: str, expected: str, count: int) -> None:
    assert changed(values(text)[0], path) == (values(expected)[0], count)


CREATES = {
    "fields": ("a.b.c", "{}", "{a: {b: {c: new}}}"),
    "what was null": ("a.b", "{a: null}", "{a: {b: new}}"),
    "the first element": ("a.0.b", "{}", "{a: [{b: new}]}"),
    "the next element": ("1.x", "[{x: 1}]", "[{x: 1}, {x: new}]"),
    "a named element in each": (
        "*.env.[name=A].value", "[{env: [{name: B}]}, {}]",
        "[{env: [{name: B}, {name: A, value: new}]}, {env: [{name: A, value: new}]}]"),
}  # fmt: skip


@pytest.mark.parametrize(("path", "text", "expected"), CREATES.values(), ids=CREATES)
def test_put_creates(path: str, text: str, expected: str) -> None:
    assert changed(values(text)[0], path, create=True)[0] == values(expected)[0]


def test_a_list_does_not_grow_by_more_than_one() -> None:
    with pytest.raises(PathError, match=r"^index 5 specified but only 1 elements found$"):
        put(["a"], ("5",), lambda _: "new", create=True)


def test_a_broken_expression_is_told() -> None:
    with pytest.raises(PathError, match=r"^`\(` is not a valid regular expression: missing \)"):
        put([{"name": "a"}], ("[name=(]", "x"), lambda _: "new", create=False)


def test_a_text_that_is_no_structure_is_the_wrong_kind() -> None:
    with pytest.raises(PathError, match="expected MappingNode but was ScalarNode"):
        put({"a": "plain text"}, ("a", "b"), lambda _: "new", create=True)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(True, "true"), (80, "80"), (1.5, "1.5"), (None, ""), ("x", "x"), ({"a": 1}, "a: 1")],
)
def test_text(value: Value, shown: str) -> None:
    assert field_paths.text(value) == shown


def test_a_path_has_an_end() -> None:
    with pytest.raises(PathError, match=r"^the path has 5000 parts, more than 100$"):
        split(".".join("a" * 5000))


def test_json_that_is_too_deep_is_text() -> None:
    with pytest.raises(PathError, match="expected MappingNode but was ScalarNode"):
        put({"a": "[" * 100_000}, ("a", "b"), lambda _: "new", create=False)


def test_json_keeps_its_layout() -> None:
    """Short-cut: write it as JSON is written by default."""
    text = '{\n    "a": [\n        1,\n        2\n    ],\n    "é": {}\n}\n'
    assert changed({"x": text}, "x.a.1") == ({"x": text.replace("2", '"new"')}, 1)


KEYS = st.text("abc.", min_size=1, max_size=3).filter(lambda key: "\\" not in key)
TREES: st.SearchStrategy[Value] = st.recursive(
    st.integers() | st.none(),
    lambda inner: st.dictionaries(KEYS, inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=10,
)


def leaves(value: Value, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The parts that lead to each leaf."""
    if isinstance(value, dict):
        return [leaf for key, each in value.items() for leaf in leaves(each, (*path, key))]
    if isinstance(value, list):
        return [leaf for i, each in enumerate(value) for leaf in leaves(each, (*path, str(i)))]
    return [path]


@given(tree=TREES)
def test_what_is_put_is_found_and_nothing_else_changes(tree: Value) -> None:
    for parts in leaves(tree):
        new, count = put(tree, parts, lambda _: "new", create=False)
        assert count == 1
        assert get(new, parts) == "new"
        assert put(new, parts, lambda _, at=parts: get(tree, at), create=False)[0] == tree  # type: ignore[misc] # mypy knows no defaults of lambdas


@given(parts=st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=6))
def test_parts_joined_are_split_again(parts: list[str]) -> None:
    assert split(".".join(parts)) == tuple(parts)
    assert split(r"\.".join(parts)) == (".".join(parts),)
