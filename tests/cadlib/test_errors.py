"""Errors about packages, whatever the package holds."""

from cadlib.errors import MOST_PATH, MOST_TEXT, PackageError, Place


def test_an_error_has_a_bound_whatever_it_quotes() -> None:
    """Short-cuts refused: a bound where a name is known to be long, and none where nobody thought
    of it; the text alone is cut, and what others put together of its parts is not."""
    long = "x" * 2_000_000
    error = PackageError(Place(long, 3, long), long, long)
    assert len(str(error)) < 2 * (MOST_PATH + MOST_TEXT) + 100
    parts = (error.place.path, error.place.field, error.problem, error.fix)
    assert [len(each) for each in parts] == [MOST_PATH + 1] * 2 + [MOST_TEXT + 1] * 2
    assert error.place.line == 3

    short = PackageError(Place("a.yaml", 3, "b"), "it is wrong", "Mend it")
    assert str(short) == "a.yaml:3, b: it is wrong. Mend it."
