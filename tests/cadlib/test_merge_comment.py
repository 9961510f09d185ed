"""kpt's notes on where a resource comes from."""

import pytest

from cadlib.merge_comment import parse, upstream_name, with_merge_comments
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


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "apiVersion: apps/v1\nkind: A\nmetadata:\n    name: x # n\n\nspec: 1\n",
            "apiVersion: apps/v1\nkind: A\nmetadata: # kpt-merge: /x\n    name: x # n\n"
            "    annotations:\n        internal.kpt.dev/upstream-identifier: apps|A|default|x\n"
            "\nspec: 1\n",
        ),
        (
            "kind: A\nmetadata: # other\n  name: x\n  namespace: n\n",
            "kind: A\nmetadata: # kpt-merge: n/x\n  name: x\n  namespace: n\n"
            '  annotations:\n    internal.kpt.dev/upstream-identifier: "|A|n|x"\n',
        ),
        (
            "kind: A\nmetadata: # kpt-merge: n/old\n  name: x\n  annotations: {a: b}\n",
            "kind: A\nmetadata: # kpt-merge: n/old\n  name: x\n"
            '  annotations: {a: b, internal.kpt.dev/upstream-identifier: "|A|n|old"}\n',
        ),
        ("kind: A\nmetadata:\n  annotations: {}\n", "kind: A\nmetadata:\n  annotations: {}\n"),
        ("kind: A\n---\n# c\n---\n- 1\n", "kind: A\n---\n# c\n---\n- 1\n"),
    ],
)
def test_the_notes_are_written(before: str, after: str) -> None:
    """The short-cut encodes the file anew."""
    once = with_merge_comments(before.encode())

    assert once.decode() == after
    assert with_merge_comments(once) == once
