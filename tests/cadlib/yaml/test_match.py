"""Which element of a list became which."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadlib.yaml import Value, same
from cadlib.yaml.match import match, merge_key, renamed, rising
from tests.cadlib.yaml.test_properties import values


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([], ["a"], [None]),
        (["a"], [], []),
        (["a", "b"], ["b"], [1]),
        (["a", "b", "a"], ["a", "a"], [0, 2]),
        (["a", "a"], ["a"], [0]),
        (["a", "b", "c"], ["d", "b", "e"], [0, 1, 2]),
        ([1, True], [True], [1]),
        ([1], [1.0], [0]),
        ([{"name": "a", "v": 1}, {"name": "b"}], [{"name": "b"}, {"name": "a", "v": 2}], [1, 0]),
        ([{"name": "a", "v": 1}], [{"name": "b", "v": 1}], [0]),
        ([{"name": "a", "v": 1}], [{"name": "b", "v": 2}], [None]),
        ([{"name": "a"}, {"name": "a", "v": 1}], [{"name": "a", "v": 1}], [1]),
        ([{"p": 1, "q": 1}, {"p": 2}], [{"p": 2}, {"p": 1, "q": 2}], [1, None]),
        ([{"p": 1, "q": 1}, {"p": 2}], [{"p": 3, "q": 1}, {"p": 2}], [0, 1]),
        ([[1], [2]], [[2], [1]], [1, 0]),
        (
            [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}],
            [{"containerPort": 53, "protocol": "UDP"}],
            [1],
        ),
    ],
)
def test_match(old: list[Value], new: list[Value], expected: list[int | None]) -> None:
    """The short-cut matches by place, as kpt does."""
    assert match(old, new) == expected


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([{"name": "a"}, {"name": "b"}], ("name",)),
        ([{"name": "a", "mountPath": "/x"}, {"name": "a", "mountPath": "/y"}], ("mountPath",)),
        ([{"name": "a"}, {"name": "a"}], None),
        ([{"name": "a"}, "b"], None),
        ([{"name": ["a"]}], None),
        ([{"key": 1}, {"key": True}], ("key",)),
    ],
)
def test_the_key_that_tells_elements_apart(
    items: list[Value], expected: tuple[str, ...] | None
) -> None:
    """The short-cut takes `name` wherever there is one."""
    assert merge_key(items) == expected


@given(st.lists(values, max_size=4), st.lists(values, max_size=4), st.randoms())
def test_no_element_is_two_and_equal_ones_are_found(
    old: list[Value], more: list[Value], rng: random.Random
) -> None:
    new = rng.sample([*old, *more], rng.randint(0, len(old) + len(more)))
    found = match(old, new)
    used = [index for index in found if index is not None]

    assert len(found) == len(new)
    assert len(set(used)) == len(used)
    for place, index in enumerate(found):
        if index is None:
            free = [each for each in range(len(old)) if each not in used]
            assert not any(same(old[each], new[place]) for each in free)


@given(st.permutations(range(7)))
def test_rising(positions: list[int]) -> None:
    found = rising(positions)

    assert found == sorted(found)
    assert [each for each in positions if each in found] == found
    best = max(
        sum(1 for _ in chosen)
        for bits in range(1, 2 ** len(positions))
        if (chosen := [each for n, each in enumerate(positions) if bits >> n & 1]) == sorted(chosen)
    )
    assert len(found) == best


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a.com/x": "1"}, {"b.com/x": "1"}, {"a.com/x": "b.com/x"}),
        ({"x": "1", "y": "2"}, {"p/x": "1", "y": "2"}, {"x": "p/x"}),
        ({"emptyDir": {"a": 1}}, {"cache": {"a": 1}}, {"emptyDir": "cache"}),
        # The short-cut takes every key with the same value, and tells lies about it.
        ({"enabled": True}, {"debug": True}, {}),
        ({"emptyDir": {}}, {"other": {}}, {}),
        ({"a/x": "1"}, {"b/x": "2"}, {}),
        ({"a/x": "1"}, {"a/x": "1", "b/x": "1"}, {}),
        ({"a/x": "1", "b/x": "1"}, {"c/x": "1"}, {}),
        ({"a/x": "1"}, {"b/x": "1", "c/x": "1"}, {}),
    ],
)
def test_renamed_keys(
    old: dict[str, Value], new: dict[str, Value], expected: dict[str, str]
) -> None:
    """The short-cut knows a key by its name alone, or by any value."""
    assert renamed(old, new) == expected
