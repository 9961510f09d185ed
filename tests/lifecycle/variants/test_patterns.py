"""What expressions tell about their cost: patterns, and what each could take; comparisons."""

import pytest

from lifecycle.variants.patterns import comparisons, states, states_of


@pytest.mark.parametrize(
    ("pattern", "least"),
    [
        ("abc", 3),
        ("a{900}", 900),
        ("(a?){900}b", 900),
        ("(?:(?:a){30}){30}", 900),
        ("a{3}|b{900}", 903),
        (r"\pL{300}", 300 * 100),
        ("[ab]{2,900}", 900),
    ],
)
def test_states_are_bounded_from_above(pattern: str, least: int) -> None:
    """The short-cut counts characters."""
    assert states_of(pattern) >= least


def test_a_plain_pattern_has_few() -> None:
    assert states_of("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$") < 500


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("'matches(x)'", 0),
        ("// matches(x)\n'a'", 0),
        ("a.matches('b')", 3),
        ("a.matches('''b''') || matches(a, r\"c\")", 7 + 3),
        ("a.matches(b)", None),
        ("a.matches('b' + c)", None),
        (r"a.matches('\u007b')", None),
        ("a.matches('b') || a.matches(c)", None),
        ("f(a.matches('b'), c)", 3),
    ],
)
def test_patterns_are_found_where_they_are_written_out(text: str, found: int | None) -> None:
    """Short-cuts refused: words in texts and comments; a pattern that is put together; a brace that
    an escape hides."""
    assert states(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a == b", 1),
        ("a != b && b==c", 2),
        ("a <= b ? 'x' : 'y'", 0),
        ("a == 'b' || 1 == c || a != r'x'", 0),
        ("[a] == ['b'] || a in b", 2),
        ("'a == b' // a == b", 0),
        ("'' == a == b", 1),
    ],
)
def test_comparisons_are_counted(text: str, found: int) -> None:
    """Short-cuts refused: those in texts and comments; what a text stands beside may be a list."""
    assert comparisons(text) == found
