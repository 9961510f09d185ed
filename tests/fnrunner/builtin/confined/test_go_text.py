"""Texts as Go prints them."""

import pytest

from fnrunner.builtin.confined.go_text import float_text, sprintf

FORMATS: dict[str, tuple[str, list[str | float], str]] = {
    "values": ("%v is %v, %v", ["a", 1, 0.5], "a is 1, 0.5"),
    "a percent sign": ("100%% of %s", ["a"], "100% of a"),
    "widths": ("%5d|%-5s|%5s|%05d|%-5d|", [1, "a", "b", -2, 3], "    1|a    |    b|-0002|3    |"),
    "signs": ("%+d %+d %+v", [1, -1, 0.5], "+1 -1 +0.5"),
    "precisions": ("%.2f %f %.1e %.2s %.0f", [1.5, 0.25, 1500.0, "abc", 2.5],
                   "1.50 0.250000 1.5e+03 ab 2"),
    "bases": ("%x %X %o %b %x", [255, 255, 8, 5, "az"], "ff FF 10 101 617a"),
    "quotes": ("%q", ['a"ü'], '"a\\"ü"'),
    "too few": ("%v and %d", ["a"], "a and %!d(MISSING)"),
    "too many": ("%v", ["a", "b", 1, 1.5], "a%!(EXTRA string=b, int=1, float64=1.5)"),
    "another kind": ("%d %s %f %t", ["a", 1, 2, "true"],
                     "%!d(string=a) %!s(int=1) %!f(int=2) %!t(string=true)"),
    "no verb": ("a%", [], "a%!(NOVERB)"),
    "large and small": ("%v %v %v %v", [1e20, 1e21, 0.0001, 0.00001],
                        "1e+20 1e+21 0.0001 1e-05"),
}  # fmt: skip


@pytest.mark.parametrize(("form", "values", "text"), FORMATS.values(), ids=FORMATS)
def test_sprintf(form: str, values: list[str | float], text: str) -> None:
    """Short-cut: Python's own formats, which raise where Go tells in the text."""
    assert sprintf(form, values) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0, "0"), (-2.0, "-2"), (1e6, "1e+06"), (123456.5, "123456.5"), (1.5e-7, "1.5e-07")],
)
def test_numbers_have_an_exponent_from_a_power_on(number: float, text: str) -> None:
    assert float_text(number, exponent_from=6) == text
