"""Differences from kpt's merge that are on purpose, and those that are not."""

from typing import Any

import pytest

from cadlib.merge.conflicts import ABSENT
from cadlib.package.files import Entry
from tests.cases.merge_deviations import explained, explained_files

A, A2 = {"name": "a", "x": 1, "y": 1}, {"name": "a", "x": 2, "y": 1}
B = {"name": "b", "x": 1}

# What kpt gives, what we give, the original, the local and the updated state.
STATES: dict[str, tuple[Any, Any, Any, Any, Any, set[str]]] = {
    "braces that nobody wrote": (
        {"m": {}}, {}, {"m": {"a": 1}}, {"m": {"a": 1}}, {}, {"D20"},
    ),
    "an element whole": (
        {"l": [B, {"name": "a", "x": 2}]}, {"l": [B, A2]},
        {"l": [A]}, {"l": [B]}, {"l": [A2]}, {"D21"},
    ),
    "a mapping whole": (
        {"m": {"x": 2}}, {"m": {"x": 2, "y": 1}},
        {"m": {"x": 1, "y": 1}}, {}, {"m": {"x": 2, "y": 1}}, {"D22"},
    ),
    "upstream's order": (
        {"l": [A, B]}, {"l": [B, A]}, {"l": [A]}, {"l": [A]}, {"l": [B, A]}, {"D23"},
    ),
    "a list that upstream emptied": ({"l": [A]}, {"l": []}, {"l": [A]}, {"l": [A]}, {"l": []},
                                     {"D31"}),
    "and that kpt leaves out": ({}, {"l": []}, {"l": [A]}, {"l": [A2]}, {"l": []}, {"D31"}),
    "a null that upstream wrote": ({}, {"a": None}, {"a": 1}, {"a": 1}, {"a": None}, {"D30"}),
    "a null that upstream wrote over a change": (
        {}, {"a": None}, {"a": 1}, {"a": 2}, {"a": None}, set(),
    ),
    "a list that upstream made an empty mapping": (
        {}, {"l": {}}, {"l": [A]}, {"l": [A2]}, {"l": {}}, {"D29"},
    ),
    "a list that nobody emptied": (
        {"l": [A]}, {"l": []}, {"l": [A]}, {"l": [A]}, {"l": [A]}, set(),
    ),
    "another value": ({"a": 1}, {"a": 2}, {"a": 0}, {"a": 1}, {"a": 2}, set()),
    "another order, for no reason": (
        {"l": [A, B]}, {"l": [B, A]}, {"l": [A]}, {"l": [A, B]}, {"l": [A]}, set(),
    ),
    "a field that is lost": ({"m": {"a": 1}}, {}, {}, {"m": {"a": 1}}, {}, set()),
    "an element of nobody": (
        {"l": [{"name": "a", "x": 2}]}, {"l": [{"name": "a", "x": 2, "z": 9}]},
        {"l": [A]}, {"l": []}, {"l": [A2]}, set(),
    ),
    "one that is explained and one that is not": (
        {"m": {}, "a": 1}, {"a": 2}, {"m": {"a": 1}, "a": 1}, {"m": {"a": 1}, "a": 1}, {"a": 1},
        set(),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kpt", "ours", "origin", "local", "updated", "entries"), STATES.values(), ids=STATES
)
def test_explained(
    kpt: Any, ours: Any, origin: Any, local: Any, updated: Any, entries: set[str]
) -> None:
    """The short-cut lets every difference pass that looks like a known one."""
    assert explained(kpt, ours, origin, local, updated) == entries


def test_what_is_nowhere_is_no_leftover() -> None:
    """The short-cut takes nothing for braces."""
    assert explained(1, ABSENT, ABSENT, ABSENT, ABSENT) == set()


def files(text: str) -> dict[str, Entry]:
    """Return a package of one file."""
    return {"a.yaml": Entry(text.encode())}


def test_a_comment_is_explained_if_it_is_upstreams() -> None:
    """The short-cut passes over comments."""
    plain, theirs = files("kind: Foo\na: 1\n"), files("kind: Foo\na: 1 # theirs\n")
    other = files("kind: Foo\na: 1 # other\n")

    assert explained_files(["a.yaml"], plain, theirs, (plain, plain, theirs)) == {"D24"}
    assert explained_files(["a.yaml"], plain, other, (plain, plain, theirs)) == set()
    assert explained_files(["a.yaml"], theirs, plain, (plain, plain, theirs)) == set()
