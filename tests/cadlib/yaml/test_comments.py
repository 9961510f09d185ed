"""Line comments that an edit sets, changes and removes, and those that stay."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadlib.yaml import EditError, FieldPath, Value, append, edit, field_text, parse_field, read
from cadlib.yaml.comments import agree
from tests.cadlib.yaml.test_properties import generated
from tests.cadlib.yaml_texts import changed


def commented(text: str, comments: dict[str, str], value: Value | None = None) -> str:
    stream = read(text.encode(), path="f")
    wanted = {parse_field(field): comment for field, comment in comments.items()}
    values = {} if value is None else {0: value}
    return edit(stream, values, comments={0: wanted}).decode()


TABLE: dict[str, tuple[str, dict[str, str], str]] = {
    "set on a scalar": ("a: x\n", {"a": "# c"}, "a: x # c\n"),
    "changed, the blanks before it kept": ("a: x   # c\n", {"a": "# d"}, "a: x   # d\n"),
    "removed with its blanks": ("a: x\t # c\nb: 1\n", {}, "a: x\nb: 1\n"),
    "on a block": ("a:\n  b: 1\n", {"a": "# c"}, "a: # c\n  b: 1\n"),
    "on a block with an anchor": ("a: &x\n  b: 1\n", {"a": "# c"}, "a: &x # c\n  b: 1\n"),
    "on a list": ("a:\n- b\n", {"a": "# c", "a[0]": "# d"}, "a: # c\n- b # d\n"),
    "from a block to its element": (
        "a: # c\n- b\n", {"a[0]": "# c"}, "a:\n- b # c\n"),
    "behind brackets": ("a: [b, c]\n", {"a": "# c"}, "a: [b, c] # c\n"),
    "behind brackets over lines": ("a: [\n  b,\n]\n", {"a": "# c"}, "a: [\n  b,\n] # c\n"),
    "behind a comma": ("a: [\n  b,\n  c\n]\n", {"a[0]": "# b", "a[1]": "# c"},
                       "a: [\n  b, # b\n  c # c\n]\n"),
    "on a block scalar": ("a: |2-\n   b\n", {"a": "# c"}, "a: |2- # c\n   b\n"),
    "off a block scalar": ("a: > # c\n  b\n", {}, "a: >\n  b\n"),
    "on nothing": ("a:\nb: 1\n", {"a": "# c"}, "a: # c\nb: 1\n"),
    "behind blanks": ("a: x  \n", {"a": "# c"}, "a: x # c\n"),
    "on a scalar over lines": ("a: 'b\n  c'\n", {"a": "# c"}, "a: 'b\n  c' # c\n"),
    "on an alias": ("a: &x 1\nb: *x\n", {"b": "# c"}, "a: &x 1\nb: *x # c\n"),
    "blanks at its end count for nothing": ("a: x # c  \n", {"a": "# c"}, "a: x # c  \n"),
    "CRLF": ("a: x\r\nb: y # d\r\n", {"a": "# c"}, "a: x # c\r\nb: y\r\n"),
    "without final newline": ("a: x", {"a": "# c"}, "a: x # c"),
    "a whole document": ("x\n", {"": "# c"}, "x # c\n"),
    "an element in brackets gets a line": (
        "a:\n  b: [x, 'y', {z: 1}] # b\n", {"a.b": "# b", "a.b[1]": "# y"},
        "a:\n  b: # b\n  - x\n  - 'y' # y\n  - {z: 1}\n"),
    "a key in braces gets a line": (
        "a:\n    b: 1\nc: {d: 1, e: 2}\n", {"c.e": "# e"},
        "a:\n    b: 1\nc:\n    d: 1\n    e: 2 # e\n"),
    "an element of brackets behind a dash gets a line": (
        "- [x, y]\n", {"[0][1]": "# y"}, "- - x\n  - y # y\n"),
    "brackets in brackets are opened one after the other": (
        "a: [{b: 1, c: [2, 3]}, [4]]\n", {"a[0].c[1]": "# three"},
        "a:\n- b: 1\n  c:\n  - 2\n  - 3 # three\n- [4]\n"),
    "what stands behind brackets behind a dash goes above them": (
        "a:\n  - {b: 1, c: 2} # d\n  - - [3, 4] # e\n",
        {"a[0]": "# d", "a[0].b": "# f", "a[1][0]": "# g", "a[1][0][0]": "# h"},
        "a:\n  # d\n  - b: 1 # f\n    c: 2\n  # g\n  - - - 3 # h\n      - 4\n"),
    "and is gone where it is not wanted": (
        "- {b: 1} # d\n", {"[0].b": "# e"}, "- b: 1 # e\n"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "comments", "after"), TABLE.values(), ids=TABLE)
def test_a_line_comment_goes(before: str, comments: dict[str, str], after: str) -> None:
    """The short-cut appends the comment to the line that the field begins on."""
    assert commented(before, comments) == after


def test_a_comment_and_its_value_change_at_once() -> None:
    """The short-cut looks for the comment where it was before the value changed."""
    text = "a: x # old\nb: [1, 2] # b\nc:\n- name: p # p\n- name: q\n"

    after = commented(
        text,
        {"a": "# new", "b[2]": "# three", "c[0].name": "# q", "d.e": "# e"},
        {"a": "y\nz\n", "b": [1, 2, 3], "c": [{"name": "q"}], "d": {"e": 1}},
    )

    assert after == (
        "a: | # new\n  y\n  z\nb:\n- 1\n- 2\n- 3 # three\nc:\n- name: q # q\nd:\n  e: 1 # e\n"
    )


@pytest.mark.parametrize(
    ("text", "comments", "message"),
    [
        ("a: [[b, c], [\n d]]\n", {"a[0][0]": "# c"},
         "f:1, a[0][0]: the comment would swallow the rest of its line."
         " Write the comment on a line of its own."),
        ("a: {}\n", {"a.b": "# c"},
         "f:1, a.b: there is no place for a line comment. Write the comment on a line of its own."),
        ("a: b\n", {"a": "c"},
         "f:1, a: 'c' is no line comment. Write the comment on a line of its own."),
        ("a: b\n", {"a": "# c\nd"},
         "f:1, a: '# c\\nd' is no line comment. Write the comment on a line of its own."),
    ],
)  # fmt: skip
def test_a_comment_without_a_place_is_refused(
    text: str, comments: dict[str, str], message: str
) -> None:
    """The short-cut writes it where it becomes part of something else, or drops it."""
    with pytest.raises(EditError) as caught:
        commented(text, comments)

    assert str(caught.value) == message


def test_an_appended_document_has_its_comments() -> None:
    stream = read(b"a: 1 # a\n")
    data = append(stream, [{"b": 2}, {"c": 3}], comments=[{("b",): "# b"}, None])

    assert data == b"a: 1 # a\n---\nb: 2 # b\n---\nc: 3\n"


@given(st.integers(0, 2**32))
def test_comments_of_a_changed_document_are_the_wanted_ones(seed: int) -> None:
    """With a change of the value beside it; and what is read again agrees."""
    rng, value, data = generated(seed)
    stream = read(data)
    wanted = changed(rng, value) if rng.random() < 0.5 else stream.documents[0].value
    if not isinstance(wanted, dict) or not wanted:
        return
    comments = dict(_comments(rng, wanted, ()))
    try:
        edited = edit(stream, {0: wanted}, comments={0: comments})
    except EditError as error:
        # Inside brackets over lines, and beside them, not every field has a place.
        assert "comment" in str(error)  # noqa: PT017 - that it came is not asserted
        return

    assert agree(read(edited).documents[0].comments, comments)


def _comments(rng: random.Random, found: Value, path: FieldPath) -> "list[tuple[FieldPath, str]]":
    chosen = [(path, f"# {field_text(path)}")] if path and rng.random() < 0.2 else []
    if isinstance(found, dict):
        return chosen + [
            each for key, item in found.items() for each in _comments(rng, item, (*path, key))
        ]
    return chosen


def test_without_wanted_comments_all_stay_with_what_they_describe() -> None:
    """The short-cut keeps them by field: `a[0]` describes something else now."""
    text = "a:\n- x # x\n- y # y\nb: {c: 1} # b\n"

    after = edit(read(text.encode()), {0: {"a": ["y", "x"], "b": {"d": 2}}}).decode()

    assert read(after.encode()).documents[0].comments == {
        ("a", 0): "# y",
        ("a", 1): "# x",
        ("b",): "# b",
    }
