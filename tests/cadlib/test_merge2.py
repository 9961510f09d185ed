"""Strategic merge patches."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadlib.errors import PackageError
from cadlib.merge2 import Directive, directive, merge2
from cadlib.yaml import DELETED, Deleted, Document, Value, emit, read, same


def document(text: str) -> Document:
    """Read one document."""
    (found,) = read(text.encode()).documents
    return found


def of(value: Value) -> Document:
    """Return a document with a value."""
    return document(emit(value))


def pod(*containers: Value, **fields: Value) -> Value:
    """Return a pod."""
    spec: Value = {"containers": list(containers), **fields}
    return {"apiVersion": "v1", "kind": "Pod", "spec": spec}


FIELDS: dict[str, tuple[Value, Value, Value]] = {
    "a value is replaced, its siblings stay": ({"a": 2}, {"a": 1, "b": 1}, {"a": 2, "b": 1}),
    "null removes": ({"a": None, "b": {"c": None}}, {"a": 1, "b": {"c": 1}}, {"b": {}}),
    "null of what is not there says nothing": ({"a": {"b": None}}, {}, {"a": {}}),
    "null that the patch does not name stays": ({"b": 1}, {"a": None}, {"a": None, "b": 1}),
    "delete a mapping": ({"a": {"$patch": "delete"}}, {"a": {"b": 1}, "c": 1}, {"c": 1}),
    "delete what is not there": ({"a": {"$patch": "delete", "b": 1}}, {"c": 1}, {"c": 1}),
    "replace a mapping": ({"a": {"$patch": "replace", "b": 2}}, {"a": {"c": 1}}, {"a": {"b": 2}}),
    "merge, said aloud": ({"a": {"$patch": "merge", "b": 2}}, {"a": {"c": 1}},
                          {"a": {"c": 1, "b": 2}}),
    "a directive in what is new": ({"a": {"b": {"$patch": "replace", "c": 1}}}, {},
                                   {"a": {"b": {"c": 1}}}),
    "a list is replaced": ({"a": [3]}, {"a": [1, 2]}, {"a": [3]}),
    "an empty list empties": ({"a": []}, {"a": [1, 2]}, {"a": []}),
}  # fmt: skip


@pytest.mark.parametrize(("patch", "value", "expected"), FIELDS.values(), ids=FIELDS)
def test_fields(patch: Value, value: Value, expected: Value) -> None:
    """The short-cut is a merge patch of JSON."""
    assert merge2(of(patch), of(value)).value == expected


A: Value = {"name": "a", "image": "a:1"}
B: Value = {"name": "b", "image": "b:1"}
C: Value = {"name": "c", "image": "c:1"}
A_MORE: Value = {"name": "a", "image": "a:2", "tty": True}

LISTS: dict[str, tuple[list[Value], bool, list[Value]]] = {
    "merged by name, new ones last": ([C, {"name": "a", "image": "a:2", "tty": True}], False,
                                      [A_MORE, B, C]),
    "those of the patch first": ([C, {"name": "b"}], True, [C, B, A]),
    "one deleted": ([{"name": "a", "$patch": "delete"}], False, [B]),
    "one replaced": ([{"name": "a", "$patch": "replace"}], False, [{"name": "a"}, B]),
    "all replaced": ([{"$patch": "replace"}, C], False, [C]),
}  # fmt: skip


@pytest.mark.parametrize(("patch", "prepend", "expected"), LISTS.values(), ids=LISTS)
def test_lists(patch: list[Value], prepend: bool, expected: list[Value]) -> None:
    """The short-cut replaces every list."""
    patched = merge2(of(pod(*patch)), of(pod(A, B)), prepend=prepend)

    assert patched.value == pod(*expected)


def test_sets() -> None:
    """The short-cut replaces a list of plain values."""

    def finalizers(*names: Value) -> Document:
        return of({"apiVersion": "v1", "kind": "Pod", "metadata": {"finalizers": [*names]}})

    patched = merge2(finalizers("a", "b"), finalizers("b", "c"))
    first = merge2(finalizers("a", "b"), finalizers("b", "c"), prepend=True)

    assert patched.value == finalizers("b", "c", "a").value
    assert first.value == finalizers("a", "b", "c").value


def test_a_list_can_be_deleted() -> None:
    """The short-cut leaves it empty."""
    patch = of(pod({"$patch": "delete"}, A, x=1))

    assert merge2(patch, of(pod(A, B))).value == {
        "apiVersion": "v1", "kind": "Pod", "spec": {"x": 1},
    }  # fmt: skip


def test_a_document_can_be_deleted() -> None:
    """The short-cut leaves an empty mapping."""
    assert merge2(of({"$patch": "delete"}), of(pod(A))).value is DELETED


def test_names_are_keys_where_it_is_asked_for() -> None:
    """The short-cut infers always, or never."""
    patch, value = of({"items": [{"name": "a", "x": 1}]}), of({"items": [{"name": "a", "y": 1}]})

    assert merge2(patch, value).value == {"items": [{"name": "a", "x": 1}]}
    assert merge2(patch, value, infer=True).value == {"items": [{"name": "a", "y": 1, "x": 1}]}


def test_comments() -> None:
    """The short-cut keeps those of the document alone."""
    value = document("a: 1 # old\nb: # list\n- 1\nc: 1 # kept\ngone: 1 # gone\n")
    patch = document("a: 2 # new\nb: # other\n- 2\nd: 1 # also\ngone: null\n")

    assert merge2(patch, value).comments == {
        ("a",): "# new", ("b",): "# list", ("c",): "# kept", ("d",): "# also",
    }  # fmt: skip


MISFITS: dict[str, tuple[Value, Value, str]] = {
    "a scalar for a mapping": (
        {"a": {"b": 1}}, {"a": {"b": {"c": 1}}},
        "p.yaml:2, a.b: wrong node kind: the patch has a scalar where there is a mapping.",
    ),
    "a list for a mapping": (
        {"a": [1]}, {"a": {"b": 1}},
        "p.yaml:1, a: wrong node kind: the patch has a list where there is a mapping.",
    ),
    "no such directive": (
        {"a": {"$patch": "drop"}}, {"a": {"b": 1}},
        "p.yaml:1, a: unknown patch strategy 'drop'. Write merge, replace or delete.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("patch", "value", "text"), MISFITS.values(), ids=MISFITS)
def test_misfits(patch: Value, value: Value, text: str) -> None:
    """The short-cut replaces what does not fit."""
    (named,) = read(emit(patch).encode(), path="p.yaml").documents

    with pytest.raises(PackageError, match=re.escape(text)):
        merge2(named, of(value))


def test_directives() -> None:
    """The short-cut looks for the directive of a list in its first element."""
    assert directive([1, {"$patch": "delete"}]) == (Directive.DELETE, [1])
    assert directive({"$patch": "replace", "a": 1}) == (Directive.REPLACE, {"a": 1})
    assert directive({"a": 1}) == (Directive.MERGE, {"a": 1})
    with pytest.raises(ValueError, match="no implemented strategic merge patch strategy"):
        directive("text")


values = st.recursive(
    st.integers(0, 3) | st.sampled_from(["x", "y"]),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
)
fields = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


@given(fields)
def test_a_patch_of_all_that_is_there_changes_nothing(value: dict[str, Value]) -> None:
    """The short-cut appends what it finds."""
    patched = merge2(of(value), of(value)).value

    assert not isinstance(patched, Deleted)
    assert same(patched, value)


@given(fields)
def test_a_patch_onto_nothing_is_the_patch(value: dict[str, Value]) -> None:
    """The short-cut adds what is there already in part."""
    patched = merge2(of(value), document("{}\n")).value

    assert not isinstance(patched, Deleted)
    assert same(patched, value)
