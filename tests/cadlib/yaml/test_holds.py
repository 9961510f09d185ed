"""The quick check of an edited text never says yes where reading the text would say no."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadlib.errors import PackageError
from cadlib.yaml import Value, read, same
from cadlib.yaml.holds import LONGEST, holds
from tests.choices import each_of


def said(text: str) -> list[Value] | None:
    """What reading in full finds; None where it refuses."""
    try:
        return [each.value for each in read(text.encode()).documents]
    except PackageError:
        return None


WRONG: list[tuple[str, list[Value]]] = [
    ("a: 1\na: 1\n", [{"a": 1, "b": 1}]),  # twice one key, as many as wanted
    ("a: 1\n", [{"a": 1, "b": 1}]),
    ("a: 1\nb: 1\n", [{"a": 1}]),
    ("a: 1\n", [{"a": True}]),
    ("a: true\n", [{"a": 1}]),
    ("a: '1'\n", [{"a": 1}]),
    ("a: 1\n", [{"a": "1"}]),
    ("a: [1, 2]\n", [{"a": [1]}]),
    ("a: [1]\n", [{"a": [1, 2]}]),
    ("a: {}\n", [{"a": []}]),
    ("a:\n", [{"a": ""}]),
    ("a: 1\n---\n", [{"a": 1}]),
    ("a: 1\n", [{"a": 1}, None]),
    ("a: 1\n", []),
    ("x: &x {b: 1}\na:\n  <<: *x\n", [{"x": {"b": 1}, "a": {"<<": {"b": 1}}}]),
    ("<<: {a: 1}\n", [{"<<": {"a": 1}}]),
    ("a: [1\n", [{"a": [1]}]),
    ("{a: 1}: 2\n", [{"a": 2}]),
]


@pytest.mark.parametrize(("text", "values"), WRONG)
def test_what_a_text_does_not_say(text: str, values: list[Value]) -> None:
    """The short-cut counts keys, or compares with `==`, to which true is 1."""
    assert not holds(text, values)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", []),
        ("# nothing\n", []),
        ("---\n---\na: 1\n", [None, {"a": 1}]),
        ("%YAML 1.1\n---\na: !!str 80\n80: 0x10\n", [{"a": "80", "80": 16}]),
        ("a: |\n  x\n  y\nb: >-\n  x\n  y\n", [{"a": "x\ny\n", "b": "x y"}]),
    ],
)
def test_what_a_text_does_say(text: str, values: list[Value]) -> None:
    assert said(text) == values
    assert holds(text, values)


def test_a_long_text_is_left_to_reading_where_limits_apply() -> None:
    assert not holds(f"a: {'x' * LONGEST}\n", [{"a": "x" * LONGEST}])


def test_what_lies_too_deep_is_left_to_reading_which_refuses_it() -> None:
    value: Value = "x"
    for _ in range(100):
        value = [value]

    assert not holds("[" * 100 + "x" + "]" * 100, [value])


LEAVES = ["1", "'1'", "true", "x", "", "*a", "&a y", "!!str 1", "{{ x }}", "~"]
KEYS = ["a", "b", "<<", "'<<'", "1"]
LINES = each_of(
    ["", "  ", "    "], ["", "- "], KEYS, [": "], LEAVES, ["\n"], ["", "", "---\n", "# c\n"]
)
TEXTS = st.lists(LINES.map("".join), max_size=4).map("".join)


VALUES = st.recursive(
    st.sampled_from([1, 1.0, True, "1", "x", None, "", "y"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["a", "b", "<<", "1"]), inner, max_size=2)
    ),
    max_leaves=5,
)


@given(TEXTS, st.lists(VALUES, max_size=2))
def test_yes_means_that_reading_agrees(text: str, others: list[Value]) -> None:
    found = said(text)
    for values in (found or [], others):
        if holds(text, values):
            assert found is not None
            assert len(found) == len(values)
            assert all(map(same, found, values))
