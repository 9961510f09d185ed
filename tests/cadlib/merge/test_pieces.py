"""The documents of a file as pieces of its text."""

import pytest

from cadlib.merge.pieces import joined, pieces
from cadlib.yaml import read

TEXTS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "one document": ("a: 1\n", [("", "a: 1\n")]),
    "comments before the first mark are its own": (
        "# c\n---\na: 1\n", [("# c\n---", "\na: 1\n")],
    ),
    "a comment behind a mark belongs to the document": (
        "a: 1\n--- # c\nb: 1\n", [("", "a: 1\n"), ("--- # c", "\nb: 1\n")],
    ),
    "comments at the end belong to the document before": (
        "a: 1\n# c\n---\nb: 1\n", [("", "a: 1\n# c\n"), ("---", "\nb: 1\n")],
    ),
    "directives and ends": (
        "%YAML 1.1\n---\na: 1\n...\n---\nb: 1\n",
        [("%YAML 1.1\n---", "\na: 1\n...\n"), ("---", "\nb: 1\n")],
    ),
    "an empty document": ("---\n# c\n---\nb: 1\n", [("---", "\n# c\n"), ("---", "\nb: 1\n")]),
    "a text that looks like a mark": ("a: |\n  ---\n---\nb: 1", [("", "a: |\n  ---\n"),
                                                                 ("---", "\nb: 1")]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TEXTS.values(), ids=TEXTS)
def test_pieces(text: str, expected: list[tuple[str, str]]) -> None:
    """The short-cut splits at every line of three dashes."""
    stream = read(text.encode())
    found = pieces(stream)

    assert [(each.mark, each.body) for each in found] == expected
    assert joined(found, [], stream) == text.encode()


def test_a_piece_takes_the_place_of_another() -> None:
    """The short-cut puts two marks, or none, between documents."""
    first, second = pieces(read(b"a: 1\n---\nb: 1\n"))

    assert (second.holding(first).mark, second.holding(first).body) == ("---", "\na: 1\n")
    assert (first.holding(second).mark, first.holding(second).body) == ("", "b: 1\n")


def test_what_is_left_begins_without_a_mark_if_the_file_did() -> None:
    """The short-cut leaves the mark of the second document at the top."""
    stream = read("\ufeffa: 1\n---\nb: 1".encode())
    _, second = pieces(stream)

    assert joined([second], [second], stream) == "\ufeffb: 1\n---\nb: 1".encode()


def test_lines_end_as_in_the_file() -> None:
    """The short-cut brings the line ends of another file."""
    windows, unix = read(b"a: 1\r\n"), read(b"b: 1\n")

    assert joined(pieces(windows), pieces(unix), windows) == b"a: 1\r\n---\r\nb: 1\r\n"
    assert joined(pieces(unix), pieces(windows), unix) == b"b: 1\n---\na: 1\n"
    assert pieces(windows)[0].like(pieces(read(b"a: 1\n"))[0])
