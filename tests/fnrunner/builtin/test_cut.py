"""Lists cut into their items by lines, from the beginning or beside a list much like it."""

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cadlib.stream import resourcelist
from fnrunner.builtin.memory import _cut, _cut_alike
from tests.counting import assert_seconds_in_proportion
from tests.fnrunner.calls import items

POD = "apiVersion: v1\nkind: Pod\nmetadata: {{name: p{i}}}\n"
# Pieces that make lists of all kinds: items, what goes on with one, blank lines, and ends of lists.
PIECES = [
    "- a: 1\n",
    "- b:\n    c: 2\n",
    "  d: 3\n",
    "  - a: 1\n",
    "\n",
    "functionConfig: {}\n",
    "results:\n",
    "-\n",
    "- e",
]


@given(
    st.lists(st.sampled_from(PIECES), max_size=7),
    st.lists(st.sampled_from(PIECES), max_size=3),
    st.integers(0, 7),
    st.integers(0, 7),
    st.sampled_from(["", "functionConfig: {x: y}\n", "functionConfig: {}\nresults:\n- z: 1\n"]),
)
@example(["- a: 1\n"], ["  - a: 1\n"], 0, 0, "")
def test_a_list_that_is_much_like_another_is_cut_as_without_it(
    old: list[str], new: list[str], begin: int, end: int, tail: str
) -> None:
    """The short-cuts: take what looks like an item of the other for one, in the middle of a line,
    where the item goes on, or beyond the end of the list."""
    head = "kind: ResourceList\nitems:\n"
    _, known, _ = _cut((head + "".join(old) + "functionConfig: {}\n").encode())
    now = [*old[:begin], *new, *old[max(begin, end) :]]
    data = (head + "".join(now) + tail).encode()
    assert _cut_alike(data, known) in (None, _cut(data))


def test_one_changed_item_is_all_that_is_cut_anew() -> None:
    """The short-cut cuts everything: the texts are others, and are looked up by all their bytes."""
    texts = [
        resourcelist.entry(item) for item in items("---\n".join(POD.format(i=i) for i in "abc"))
    ]
    changed = [texts[0], texts[1].replace(b"name: pb", b"name: other"), texts[2]]
    head = b"kind: ResourceList\nitems:\n"
    found = _cut_alike(head + b"".join(changed) + b"functionConfig: {}\n", texts)
    assert found == (b"kind: ResourceList\n", changed, b"functionConfig: {}\n")
    assert [new is old for new, old in zip(found[1], texts, strict=True)] == [True, False, True]


LINES = 6 * 1024 * 1024
HUGE: dict[str, Callable[[int], bytes]] = {
    "blank lines": lambda n: b"items:\n" + b"\n" * n,
    "many items": lambda n: b"items:\n" + b"- a\n" * (n // 4),
    "blank lines in an item": lambda n: b"items:\n- a\n" + b"\n" * n,
    "many beginnings": lambda n: b"items:\n" * (n // 7),
    "no line break": lambda n: b"items:\n- " + b"x" * n,
}


@pytest.mark.parametrize("made", HUGE.values(), ids=HUGE)
def test_a_list_as_large_as_a_message_may_be_is_cut_in_time_and_space(
    made: Callable[[int], bytes],
) -> None:
    """Short-cut: one pattern for all items, which keeps a note for every line."""

    def cutting(size: int) -> Callable[[], None]:
        data, known = made(size), [b"- a\n"] * (size // 8)

        def cut() -> None:
            assert _cut_alike(data, known) in (None, _cut(data))
            before, texts, after = _cut(data)
            left_out = len(b"items:\n") if texts else 0
            assert len(before) + left_out + sum(map(len, texts)) + len(after) == len(data)

        return cut

    assert_seconds_in_proportion(cutting, LINES // 256)
    cutting(LINES)()
