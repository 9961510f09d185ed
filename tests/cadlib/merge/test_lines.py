"""Texts merged line by line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadlib.merge.lines import merged_lines

TEXTS: dict[str, tuple[str, str, str, str | None]] = {
    "each side its own line": ("a b c d", "A b c d", "a b c D", "A b c D"),
    "lines next to each other": ("a b", "A b", "a B", "A B"),
    "both add at one place: ours first": ("a b", "a x b", "a y b", "a x y b"),
    "both add the same": ("a b", "a x b", "a x b", "a x b"),
    "both change one line": ("a b", "a x", "a y", None),
    "both change it alike": ("a b c", "a x c", "a x C", None),
    "one removes what the other changes": ("a b c", "a c", "a x c", None),
    "both remove": ("a b c", "a c", "a c", "a c"),
    "equal lines in plenty": ("x x x x", "x x y x x", "x x x x z", "x x y x x z"),
}


@pytest.mark.parametrize(("base", "ours", "theirs", "expected"), TEXTS.values(), ids=TEXTS)
def test_merged_lines(base: str, ours: str, theirs: str, expected: str | None) -> None:
    """The short-cut takes one side where the two meet."""
    texts = (each.replace(" ", "\n") for each in (base, ours, theirs))
    merged = merged_lines(*texts)

    assert (merged and merged.replace("\n", " ")) == expected


def test_too_many_equal_lines_are_not_compared() -> None:
    """The short-cut takes the third power of any length: minutes for these."""
    plain, mixed = "\n".join("x" * 2_000), "\n".join("yx" * 1_000 + "y")

    assert merged_lines(plain, mixed, f"{plain}\nz") is None
    assert merged_lines(plain, f"{plain}\nx", f"y\n{plain}") == f"y\n{plain}\nx"


lines = st.lists(st.sampled_from("abc"), max_size=8).map("\n".join)


@given(lines, lines)
def test_what_one_side_left_alone_is_the_other(one: str, other: str) -> None:
    """The short-cut loses lines at the ends."""
    assert merged_lines(one, one, other) == merged_lines(one, other, one) == other
