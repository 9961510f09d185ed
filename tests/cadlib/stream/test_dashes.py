"""Where the dashes of a list stand, whatever stands before them."""

from collections.abc import Callable

import pytest

from cadlib.stream.text import dashes
from cadlib.yaml import read
from cadlib.yaml.tree import Map, Seq
from tests.counting import assert_seconds_in_proportion


def listed(text: str) -> Seq:
    """The list below `items`."""
    root = read(text.encode()).documents[0].root
    assert isinstance(root, Map)
    found = root.at("items")
    assert found is not None
    assert isinstance(found[1], Seq)
    return found[1]


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize("before", ["", " !a" + "&" * 200, " &a-b # - c"])
def test_items_are_found_behind_any_line_break(before: str, line_break: str) -> None:
    """The short-cut knows Unix's line break: with another, a dash is looked for in each part of the
    anchor, for ever, or none is found."""
    item = "- apiVersion: v1\n  kind: ConfigMap\n"
    text = f"apiVersion: v1\nkind: List\nitems:{before}{line_break}{item}"

    assert dashes(text, listed(text)) == [text.index(item)]


def test_a_dash_that_is_not_there_is_looked_for_once() -> None:
    """The short-cut tries an anchor in each of its parts: 30 characters take half a minute."""
    gone = listed("items:\n- apiVersion: v1\n")

    def looking(size: int) -> Callable[[], object]:
        def look() -> None:
            with pytest.raises(AssertionError):
                dashes("items:\n" + "&" * (size + 8), gone)

        return look

    assert_seconds_in_proportion(looking, 1, rounds=3)
