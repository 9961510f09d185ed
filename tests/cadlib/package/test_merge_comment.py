"""kpt's notes on where a resource comes from."""

import pytest

from cadlib.package.merge_comment import parse, upstream_name
from cadlib.yaml import read


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# kpt-merge: ns/name", ("ns", "name")),
        ("#kpt-merge:ns/name", ("ns", "name")),
        ("# kpt-merge: /name", ("", "name")),
        ("# kpt-merge: a/b/c", ("a", "b/c")),
        ("# kpt-merge: name", None),
        ("# kpt-set: ns/name", None),
        ("# see kpt-merge: ns/name", None),
    ],
)
def test_what_a_comment_says(comment: str, expected: tuple[str, str] | None) -> None:
    """The short-cut crashes on a comment without a slash, as kpt does."""
    assert parse(comment) == expected


def test_the_comment_is_read_behind_metadata_only() -> None:
    found = read(
        b"metadata: # kpt-merge: a/b\n  name: x\n---\nmetadata:\n  name: x # kpt-merge: a/b\n"
    )

    assert [upstream_name(each) for each in found.documents] == [("a", "b"), None]
