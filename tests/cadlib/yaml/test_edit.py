"""Edits: what the text is before and after, to the byte.

Longer than 400 lines: a table of edits: the text before and after.
"""

import copy
from collections.abc import Callable
from typing import Final

import pytest

from cadlib.errors import Place
from cadlib.yaml import DELETED, EditError, FieldPath, Value, append, edit, emit, parse_field, read
from cadlib.yaml.emit import entry
from cadlib.yaml.patch import Patch
from tests.counting import assert_in_proportion

REMOVE: Final = object()

Changes = dict[str, object]


def with_changes(value: Value, changes: Changes) -> Value:
    """The value with fields set, or removed."""
    new = copy.deepcopy(value)
    for name, wanted in changes.items():
        *parents, last = parse_field(name)
        inner = new
        for step in parents:
            inner = _child(inner, step)
        if wanted is REMOVE:
            assert isinstance(inner, dict)
            del inner[str(last)]
        elif isinstance(inner, list):
            assert isinstance(last, int)
            inner[last : last + 1] = [wanted]  # type: ignore[list-item]  # a value of the tables
        else:
            assert isinstance(inner, dict)
            inner[str(last)] = wanted  # type: ignore[assignment]  # a value of the tables
    return new


def _child(value: Value, step: str | int) -> Value:
    if isinstance(value, list):
        assert isinstance(step, int)
        return value[step]
    assert isinstance(value, dict)
    assert isinstance(step, str)
    return value[step]


def edited(text: str, changes: Changes) -> str:
    stream = read(text.encode(), path="f.yaml")
    value = with_changes(stream.documents[0].value, changes)
    return edit(stream, {0: value}).decode()


SCALARS: dict[str, tuple[str, Changes, str]] = {
    "plain stays plain": ("a: x # c\n", {"a": "y z"}, "a: y z # c\n"),
    "single quotes stay": ("a: 'x'\n", {"a": "it's"}, "a: 'it''s'\n"),
    "double quotes stay": ('a: "x"\n', {"a": 'y"é'}, 'a: "y\\"é"\n'),
    "single quotes cannot hold a control character": ("a: 'x'\n", {"a": "\x07"}, 'a: "\\u0007"\n'),
    "a number loses the quotes": ("a: 'x'\n", {"a": 3}, "a: 3\n"),
    "a text like a boolean gets quotes": ("a: x\n", {"a": "yes"}, 'a: "yes"\n'),
    "a text like an octal gets quotes": ("a: x\n", {"a": "0755"}, 'a: "0755"\n'),
    "a text like a float gets quotes": ("a: x\n", {"a": "1e3"}, 'a: "1e3"\n'),
    "a text like a thousand gets quotes": ("a: x\n", {"a": "1_000"}, 'a: "1_000"\n'),
    "a text like a date gets quotes": ("a: x\n", {"a": "2024-01-01"}, 'a: "2024-01-01"\n'),
    "a text like a time of day gets quotes": ("a: x\n", {"a": "12:30"}, 'a: "12:30"\n'),
    "an address needs none": ("a: x\n", {"a": "10.0.0.2:80"}, "a: 10.0.0.2:80\n"),
    "null": ("a: x\n", {"a": None}, "a: null\n"),
    "booleans": ("a: x\nb: true\n", {"a": True, "b": False}, "a: true\nb: false\n"),
    "floats": ("a: 1\nb: 1\n", {"a": 0.5, "b": float("-inf")}, "a: 0.5\nb: -.inf\n"),
    "a value for nothing": ("a: # c\nb:\n", {"a": "x", "b": 1}, "a: x # c\nb: 1\n"),
    "an item for nothing": ("- # c\n-\n", {"[0]": "x", "[1]": 1}, "- x\n- 1\n"),
    "a wide character before it": ("é: 😀 # x\n", {"é": "v"}, "é: v # x\n"),
    "a folded plain scalar": ("a: x\n  y\nb: 1\n", {"a": "z"}, "a: z\nb: 1\n"),
    "untouched numbers keep their text": (
        "a: 0755\nb: 1_000\nc: 1.10\nd: 1\n",
        {"d": 2},
        "a: 0755\nb: 1_000\nc: 1.10\nd: 2\n",
    ),
    "1.0 for 1 is no change": ("a: 1\nb: 2\n", {"a": 1.0, "b": 3}, "a: 1\nb: 3\n"),
    "in braces": ("a: {b: x, c: 1} # c\n", {"a.b": "p,q"}, 'a: {b: "p,q", c: 1} # c\n'),
    "in brackets": ("a: [ x, y ]\n", {"a[1]": "z:1"}, 'a: [ x, "z:1" ]\n'),
    "nothing in braces": ("a: {b: , c}\n", {"a.b": 1, "a.c": 2}, "a: {b: 1, c: 2}\n"),
    "JSON": ('{"a": "x", "b": 1}\n', {"a": "y", "b": "z"}, '{"a": "y", "b": "z"}\n'),
    "behind an anchor": ("a: &x 1 # c\n", {"a": 2}, "a: &x 2 # c\n"),
    "behind a tag": ("a: !!str 1\n", {"a": "2"}, 'a: !!str "2"\n'),
    "a whole document": ("# c\nx\n", {}, "# c\nx\n"),
    "several lines open a block": (
        "a: x # c\nb: 1\n",
        {"a": "one\ntwo\n"},
        "a: | # c\n  one\n  two\nb: 1\n",
    ),
    "several lines in quotes stay in quotes": ("a: 'x'\n", {"a": "1\n2"}, 'a: "1\\n2"\n'),
    "several lines in braces": ("a: {b: x}\n", {"a.b": "1\n2"}, 'a: {b: "1\\n2"}\n'),
    "a literal block changes one line": (
        "a: |  # c\n    one\n    two\n\n    three\n\nb: 1\n",
        {"a": "one\n2\n\nthree\n"},
        "a: |  # c\n    one\n    2\n\n    three\n\nb: 1\n",
    ),
    "a literal block loses its last newline": (
        "a: |\n  one\nb: 1\n",
        {"a": "one\ntwo"},
        "a: |-\n  one\n  two\nb: 1\n",
    ),
    "a literal block with an indicator": (
        "a:\n  b: |2\n      x\n    y\n",
        {"a.b": "  z\ny\n"},
        "a:\n  b: |2\n      z\n    y\n",
    ),
    "a block that keeps its blank lines": (
        "a: |+\n  x\n\nb: 1\n",
        {"a": "y\n\n", "c": 2},
        "a: |+\n  y\n\nb: 1\nc: 2\n",
    ),
    "a folded block of one line": ("a: >-\n  x y\n", {"a": "z"}, "a: >-\n  z\n"),
    "a folded block of several lines": (
        "a: > # c\n  x\n  y\nb: 1\n",
        {"a": "x\ny\n\nz\n"},
        "a: > # c\n  x\n\n  y\n\n\n  z\nb: 1\n",
    ),
    "a block that kept its blank lines loses its last": (
        "a: |+ # c\n  x\n\n\nb: 1\n",
        {"a": "y\nz"},
        "a: |- # c\n  y\n  z\nb: 1\n",
    ),
    "a block that kept its blank lines becomes one line": (
        "a: >+ # c\n  x\n\nb: 1\n",
        {"a": 5},
        "a: 5 # c\nb: 1\n",
    ),
    "lines that a folded block would not fold make it literal": (
        "a: >-\n  x y\n",
        {"a": "x\n  y"},
        "a: |-\n  x\n    y\n",
    ),
    "a block without text gets some": (
        "a: |-\n\nb: >\nc: |\n  x\n\n",
        {"a": "x\ny", "b": "z\n", "c": ""},
        'a: |-\n  x\n  y\n\nb: >\n  z\nc: ""\n\n',
    ),
    "blank lines at the end go into quotes": ("a: x\n", {"a": "1\n\n"}, 'a: "1\\n\\n"\n'),
    "what a block cannot hold goes into quotes": (
        "a: x\nb: x\n",
        {"a": "1\n\x07", "b": " 1\n2"},
        'a: "1\\n\\u0007"\nb: " 1\\n2"\n',
    ),
    "a block becomes a number": ("a: | # c\n  x\nb: 1\n", {"a": 1}, "a: 1 # c\nb: 1\n"),
    "a block becomes text that needs quotes": ("a: |\n  x\n", {"a": " y"}, 'a: " y"\n'),
}

KEYS: dict[str, tuple[str, Changes, str]] = {
    "after the last sibling": (
        "metadata:\n  name: x\n  labels:\n    a: b # c\n# about spec\nspec: 1\n",
        {"metadata.labels.c": "d", "metadata.z": "v"},
        "metadata:\n  name: x\n  labels:\n    a: b # c\n    c: d\n  z: v\n# about spec\nspec: 1\n",
    ),
    "at the siblings' column": ("a:\n      b: 1\n", {"a.c": 2}, "a:\n      b: 1\n      c: 2\n"),
    "an empty mapping opens": (
        "metadata:\n    labels: {} # c\n",
        {"metadata.labels.a": "b"},
        "metadata:\n    labels: # c\n        a: b\n",
    ),
    "no value opens": ("m:\n  l: # c\n  n: 1\n", {"m.l": {"a": "b"}},
                       "m:\n  l: # c\n    a: b\n  n: 1\n"),
    "parents are made": (
        "kind: A\n",
        {"metadata": {"labels": {"a": "yes"}}},
        'kind: A\nmetadata:\n  labels:\n    a: "yes"\n',
    ),
    "after a block scalar, before its blank lines": (
        "a:\n  b: |\n    x\n\n\nc: 1\n",
        {"a.d": 1},
        "a:\n  b: |\n    x\n  d: 1\n\n\nc: 1\n",
    ),
    "after blank lines that count": (
        "a:\n  b: |+\n    x\n\n# c\nc: 1\n", {"a.d": 1},
        "a:\n  b: |+\n    x\n\n  d: 1\n# c\nc: 1\n",
    ),
    "in braces": ("l: { a: b } # c\n", {"l.c": "d"}, "l: { a: b, c: d } # c\n"),
    "in braces, with the comma there": ("l: {a: b,}\n", {"l.c": "d"}, "l: {a: b, c: d,}\n"),
    "in braces over lines": (
        '{\n  "a": 1,\n  "b": {}\n}\n',
        {"c": "d", "b": {"x": "y"}},
        '{\n  "a": 1,\n  "b": {"x": "y"},\n  "c": "d"\n}\n',
    ),
    "without final newline": ("a: 1\nb: 2", {"c": 3}, "a: 1\nb: 2\nc: 3"),
    "after a block that has no final newline": (
        "d:\n  a: |\n    x", {"d.b": 1}, "d:\n  a: |-\n    x\n  b: 1",
    ),
    "CRLF": ("a:\r\n  b: 1\r\nc: |\r\n  x\r\n", {"a.d": {"e": 2}},
             "a:\r\n  b: 1\r\n  d:\r\n    e: 2\r\nc: |\r\n  x\r\n"),
    "CRLF on some lines": ("a: 1\r\nb: 2\nc:\r\n  d: 1\n", {"c.e": 1},
                           "a: 1\r\nb: 2\nc:\r\n  d: 1\n  e: 1\n"),
    "BOM": ("\ufeffa: 1\n", {"b": "\ufeff"}, '\ufeffa: 1\nb: "\\ufeff"\n'),
    "tabs in comments": ("a: 1\t#\tx\n", {"a": 2}, "a: 2\t#\tx\n"),
    "in a list with an anchor": ("a: &x-y # -\n  - b\n", {"a[1]": "c"},
                                 "a: &x-y # -\n  - b\n  - c\n"),
    "in an item": ("- a: 1\n- b: 2\n", {"[0].c": 3}, "- a: 1\n  c: 3\n- b: 2\n"),
    "a wide list for a wide one": (
        "a:\n    - x\n", {"b": ["v", {"c": 1, "d": ["z"]}]},
        "a:\n    - x\nb:\n  - v\n  - c: 1\n    d:\n      - z\n",
    ),
    "a compact list for a compact one": ("a:\n- x\n", {"b": ["v"]}, "a:\n- x\nb:\n- v\n"),
    "the nearest list decides": (
        "a:\n- x\nb:\n  c:\n    - y\n", {"b.d": ["z"]},
        "a:\n- x\nb:\n  c:\n    - y\n  d:\n    - z\n",
    ),
    "several lines become a block": ("a: 1\n", {"b": "x\n# y\n"}, "a: 1\nb: |\n  x\n  # y\n"),
    "keys that need quotes": (
        "a: 1\n", {'["yes"]': 1, '["a: b"]': 2, '["80"]': 3, '["<<"]': 4},
        'a: 1\n"yes": 1\n"a: b": 2\n"80": 3\n"<<": 4\n',
    ),
    "before the document's end": (
        "%YAML 1.1\n---\na: 1\n...\n# after\n", {"b": 2},
        "%YAML 1.1\n---\na: 1\nb: 2\n...\n# after\n",
    ),
    "beside a merge key": (
        "x: &x {a: 1, b: 2}\ny:\n  <<: *x\n  c: 3\n", {"y.a": 9},
        "x: &x {a: 1, b: 2}\ny:\n  <<: *x\n  c: 3\n  a: 9\n",
    ),
    "beside a merge key in braces": (
        "x: &x {a: 1}\ny: {<<: *x}\n", {"y.a": 9}, "x: &x {a: 1}\ny: {<<: *x, a: 9}\n",
    ),
    "at the end of a list": (
        "a:\n  - x # c\n# b\nb: []\nc: [1]\n", {"a[1]": {"v": 1}, "b": ["z"], "c[1]": "w"},
        "a:\n  - x # c\n  - v: 1\n# b\nb:\n  - z\nc: [1, w]\n",
    ),
}  # fmt: skip

REMOVED: dict[str, tuple[str, Changes, str]] = {
    "with its lines and comments": (
        "a: 1\n\n# about b\n# more\nb: # x\n  c: |\n    t\n\n  d: 1\n# about e\ne: 2\n",
        {"b": REMOVE},
        "a: 1\n\n# about e\ne: 2\n",
    ),
    "the licence stays": ("# licence\na: 1\nb: 2\n", {"a": REMOVE}, "# licence\nb: 2\n"),
    "the last one without final newline": ("a: 1\nb: 2", {"b": REMOVE}, "a: 1"),
    "one for another": ("a: 1\nb: 2", {"b": REMOVE, "c": 3}, "a: 1\nc: 3"),
    "behind a dash": ("- a: 1 # x\n  b: 2\n", {"[0].a": REMOVE}, "- b: 2\n"),
    "behind a dash, with a comment for the next": (
        "- a: 1\n  # about b\n  b: 2\n", {"[0].a": REMOVE}, "# about b\n- b: 2\n",
    ),
    "two behind a dash": (
        "- a: 1\n  b: 2\n  c: 3\n  d: 4\n",
        {"[0].a": REMOVE, "[0].b": REMOVE, "[0].d": REMOVE},
        "- c: 3\n",
    ),
    "all behind a dash, for another": (
        "- a: 1\n  b: 2\n- 3\n", {"[0].a": REMOVE, "[0].b": REMOVE, "[0].c": 3}, "- c: 3\n- 3\n",
    ),
    "the last in a mapping": ("a:\n  b: 1 # x\nc: 1\n", {"a.b": REMOVE}, "a: {}\nc: 1\n"),
    "in braces": ("{a: 1, b: 2, c: 3}\n", {"b": REMOVE}, "{a: 1, c: 3}\n"),
    "the last in braces": ("{ a: 1, b: 2 }\n", {"b": REMOVE}, "{ a: 1 }\n"),
    "the last two in braces, for another": (
        "{ a: 1, b: 2, c: 3 }\n", {"b": REMOVE, "c": REMOVE, "d": 4}, "{ a: 1, d: 4 }\n",
    ),
    "all in braces": ("x: {a: 1}\n", {"x.a": REMOVE}, "x: {}\n"),
    "all in braces, for another": ("x: {a: 1}\n", {"x.a": REMOVE, "x.b": 2}, "x: {b: 2}\n"),
}  # fmt: skip

KINDS: dict[str, tuple[str, Changes, str]] = {
    "a scalar becomes a mapping": ("a: x # c\n", {"a": {"b": 1}}, "a: # c\n  b: 1\n"),
    "a scalar becomes a list": ("a: x\n", {"a": [1]}, "a:\n- 1\n"),
    "a block scalar becomes a mapping": ("a: |\n  x\nb: 1\n", {"a": {"c": 1}},
                                         "a:\n  c: 1\nb: 1\n"),
    "a mapping becomes a scalar": ("a: # c\n  b: 1\nd: 1\n", {"a": "x"}, "a: x # c\nd: 1\n"),
    "a mapping becomes a list": ("a: # c\n  b: 1\nd: 1\n", {"a": [1]}, "a: # c\n- 1\nd: 1\n"),
    "an item becomes a mapping": ("- x # c\n-   y\n", {"[0]": {"a": 1, "b": 2}},
                                  "- a: 1\n  b: 2\n-   y\n"),
    "an item without value becomes a mapping": ("-\n- 1\n", {"[0]": {"a": 1}}, "- a: 1\n- 1\n"),
    "an item becomes a scalar": ("- a: 1\n  b: 2\n- 1\n", {"[0]": "x"}, "- x\n- 1\n"),
    "in braces": ("{a: x, b: [1]}\n", {"a": {"c": "d"}, "b": 1}, "{a: {c: d}, b: 1}\n"),
    "a list becomes empty": ("a:\n  - 1\nb: 2\n", {"a": []}, "a: []\nb: 2\n"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "changes", "after"), SCALARS.values(), ids=SCALARS)
def test_a_changed_scalar_keeps_its_style(before: str, changes: Changes, after: str) -> None:
    """The short-cut writes every new scalar as the library dumps it."""
    assert edited(before, changes) == after


@pytest.mark.parametrize(("before", "changes", "after"), KEYS.values(), ids=KEYS)
def test_a_new_key_goes(before: str, changes: Changes, after: str) -> None:
    """The short-cut dumps the parent mapping anew."""
    assert edited(before, changes) == after


@pytest.mark.parametrize(("before", "changes", "after"), REMOVED.values(), ids=REMOVED)
def test_a_key_is_removed(before: str, changes: Changes, after: str) -> None:
    """The short-cut removes up to the next key, and that key's comment with it."""
    assert edited(before, changes) == after


@pytest.mark.parametrize(("before", "changes", "after"), KINDS.values(), ids=KINDS)
def test_one_kind_of_value_becomes_another(before: str, changes: Changes, after: str) -> None:
    assert edited(before, changes) == after


ALIASES: dict[str, tuple[str, Changes, str]] = {
    "changed at the anchor, for all": (
        "a: &x 1\nb: *x\n", {"a": 2, "b": 2}, "a: &x 2\nb: *x\n"),
    "changed at the anchor only": ("a: &x 1\nb: *x # c\n", {"a": 2}, "a: &x 2\nb: 1 # c\n"),
    "changed at the alias only": ("a: &x 1\nb: *x # c\n", {"b": "yes"}, 'a: &x 1\nb: "yes" # c\n'),
    "and what lies between": (
        "a: &x 1\nb: {}\nc: []\nd: e\nf: *x\n", {"a": 2, "f": 2},
        "a: &x 2\nb: {}\nc: []\nd: e\nf: *x\n"),
    "in braces": ("a: &x 1\nb: {c: *x }\n", {"b.c": "p,q"}, 'a: &x 1\nb: {c: "p,q" }\n'),
    "a mapping, for all": (
        "a: &x\n  k: 1\nb: *x\n", {"a.l": 2, "b.l": 2}, "a: &x\n  k: 1\n  l: 2\nb: *x\n"),
    "a merged mapping, for all": (
        "a: &x\n  k: 1\nb:\n  <<: *x\n  m: 3\n", {"a.k": 2, "b.k": 2},
        "a: &x\n  k: 2\nb:\n  <<: *x\n  m: 3\n"),
    "a merged mapping, not for all": (
        "a: &x\n  k: 1\nb:\n  <<: *x\n  m: 3\n", {"a.k": 2},
        "a: &x\n  k: 2\nb:\n  <<: *x\n  m: 3\n  k: 1\n"),
    "a list of merged mappings": (
        "a: &x {k: 1}\nb: &y {l: 2}\nc:\n  <<: [*x, *y]\n", {"c.l": 3},
        "a: &x {k: 1}\nb: &y {l: 2}\nc:\n  <<: [*x, *y]\n  l: 3\n"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "changes", "after"), ALIASES.values(), ids=ALIASES)
def test_what_an_alias_stands_for(before: str, changes: Changes, after: str) -> None:
    """The short-cut follows the alias and changes every other place too."""
    assert edited(before, changes) == after


REFUSED: dict[str, tuple[str, Changes, str]] = {
    "below an alias": (
        "a: &x {k: 1}\nb:\n  c: *x\n",
        {"b.c.k": 2},
        "f.yaml:3, b.c: the change would affect an alias, and with it every other place that"
        " shares it. Write the value out in place of *x.",
    ),
    "a removed key of a merge key": (
        "a: &x {k: 1}\nb:\n  <<: *x\n  m: 1\n",
        {"b.k": REMOVE},
        "f.yaml:3, b.k: the key comes from a merge key and cannot be removed."
        " Remove the merge key and write its keys here.",
    ),
    "a block with an anchor": (
        "a: &x\n  k: 1\n",
        {"a": 1},
        "f.yaml:1, a: the block &x would become something else. Replace it by hand.",
    ),
    "a key without which another shows through": (
        "a: &x {k: 1}\nb:\n  <<: *x\n  k: 2\n  l: 3\n",
        {"b.k": REMOVE},
        "f.yaml:3, b.k: the key comes from a merge key and cannot be removed."
        " Remove the merge key and write its keys here.",
    ),
}


@pytest.mark.parametrize(("text", "changes", "message"), REFUSED.values(), ids=REFUSED)
def test_an_edit_is_refused(text: str, changes: Changes, message: str) -> None:
    """The short-cut writes the document anew, or changes every place that shares a value."""
    with pytest.raises(EditError) as caught:
        edited(text, changes)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: {{ .x }}\n",
            "f.yaml:1: a template cannot be changed field by field. Change the file by hand.",
        ),
        (
            "---\n# c\n",
            "f.yaml:3: a document without a value cannot be changed field by field."
            " Change the file by hand.",
        ),
    ],
)
def test_what_has_no_value_is_not_edited(text: str, message: str) -> None:
    stream = read(text.encode(), path="f.yaml")

    assert edit(stream, {0: None}) == text.encode()
    with pytest.raises(EditError) as caught:
        edit(stream, {0: {"a": 1}})

    assert str(caught.value) == message


def test_a_text_that_would_not_read_as_wanted_never_comes_out() -> None:
    """The short-cut trusts the writer. This one here lies."""
    stream = read(b"a: 1\n", path="f.yaml")

    with pytest.raises(EditError) as caught:
        edit(stream, {0: {"a": 1, "b": 2}}, write=lambda *_, **__: ["b: 3"])
    assert str(caught.value) == (
        "f.yaml:1: the edited text would not have the wanted value. Make this change by hand."
    )
    with pytest.raises(EditError, match=r"does not fit into the text .*not YAML"):
        edit(stream, {0: {"a": 1, "b": 2}}, write=lambda *_, **__: ["b: ["])


@pytest.mark.parametrize(
    ("before", "wanted", "after"),
    [
        (
            "# why\na.com/x: y # line\n# other\nz: 1\n",
            {"z": 1, "b.com/x": "y"},
            "# why\nb.com/x: y # line\n# other\nz: 1\n",
        ),
        (
            "volume:\n  'emptyDir': # why\n    # how\n    medium: Memory\n",
            {"volume": {"scratch": {"medium": "Memory"}}},
            "volume:\n  'scratch': # why\n    # how\n    medium: Memory\n",
        ),
        ('{"a/x": 1, "z": 2}\n', {"b/x": 1}, '{"b/x": 1}\n'),
        ("b: 2\na/x: 1 # why\n", {"c/x": 1}, "c/x: 1 # why\n"),
        ("on: true # why\nz: 1\n", {"z": 1, "debug": True}, "z: 1\ndebug: true\n"),
        ("!!str a/x: 1 # why\nz: 1\n", {"b/x": 1, "z": 1}, "z: 1\nb/x: 1\n"),
    ],
)
def test_a_key_is_renamed(before: str, wanted: Value, after: str) -> None:
    """The short-cut removes one key with its comments, and writes another."""
    assert edit(read(before.encode()), {0: wanted}).decode() == after


def test_no_more_than_one_new_key_is_ever_written() -> None:
    """The short-cut falls back to writing a parent, or the whole document, anew."""
    text = "kind: A\nmetadata: {} # c\nspec:\n- a: 1\n- b: {c: d}\n"
    stream = read(text.encode())
    wanted = with_changes(
        stream.documents[0].value, {"metadata.labels": {"x": "y"}, "spec[0].z": 1, "spec[1].b.e": 2}
    )
    written: list[tuple[str | None, Value]] = []

    def one_node(key: str | None, value: Value, indent: int, **_: object) -> list[str]:
        assert _size(value) <= 1, "this is more than one node's text"
        written.append((key, value))
        return entry(key, value, indent)

    data = edit(stream, {0: wanted}, write=one_node)

    assert read(data).documents[0].value == wanted
    assert written == [("labels", {"x": "y"}), ("z", 1)]


def _size(value: Value) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(map(_size, inner)) if isinstance(value, dict | list) else 1


DOCUMENTS = "# licence\n\n# about a\na: 1\n---\n# about b\nb: 2\n---\n# nothing\n---\nc: 3\n"

DELETED_DOCUMENTS: dict[str, tuple[str, set[int], str]] = {
    "the first": (DOCUMENTS, {0}, "# licence\n\n" + DOCUMENTS[DOCUMENTS.index("---") :]),
    "one between": (DOCUMENTS, {1}, DOCUMENTS.replace("---\n# about b\nb: 2\n", "")),
    "the last": (DOCUMENTS, {3}, DOCUMENTS.removesuffix("---\nc: 3\n")),
    "the first, and nothing above": ("a: 1\n---\nb: 2\n", {0}, "b: 2\n"),
    "the first, and a mark with a comment": ("a: 1\n--- # b\nb: 2\n", {0}, "--- # b\nb: 2\n"),
    "the first behind its mark": ("--- # x\na: 1\n---\nb: 2\n", {0}, "---\nb: 2\n"),
    "behind an end mark": ("a: 1\n...\n---\nb: 2\n", {0}, "b: 2\n"),
    "the first two": ("a: 1\n---\nb: 2\n---\nc: 3\n", {0, 1}, "c: 3\n"),
    "the first before one of comments": ("a: 1\n---\n# c\n", {0}, "---\n# c\n"),
    "all": ("a: 1\n---\nb: 2\n", {0, 1}, ""),
    "the last without final newline": ("a: 1\n---\nb: 2", {1}, "a: 1"),
    "with CRLF": ("a: 1\r\n---\r\nb: 2\r\n", {0}, "b: 2\r\n"),
}


@pytest.mark.parametrize(
    ("before", "gone", "after"), DELETED_DOCUMENTS.values(), ids=DELETED_DOCUMENTS
)
def test_a_document_is_deleted(before: str, gone: set[int], after: str) -> None:
    """The short-cut joins the others with new marks, and loses what stands between."""
    stream = read(before.encode())

    assert edit(stream, dict.fromkeys(gone, DELETED)).decode() == after


def test_other_documents_keep_every_byte() -> None:
    stream = read(DOCUMENTS.encode())

    assert edit(stream, {1: {"b": 3}}).decode() == DOCUMENTS.replace("b: 2", "b: 3")
    assert edit(stream, {}) is stream.data


APPENDED: dict[str, tuple[str, str]] = {
    "to nothing": ("", "k:\n- v\n"),
    "to a comment": ("# c\n", "# c\nk:\n- v\n"),
    "to a document": ("a: 1\n", "a: 1\n---\nk:\n- v\n"),
    "in its style": ("a:\n  - 1\n", "a:\n  - 1\n---\nk:\n  - v\n"),
    "without final newline": ("a: 1", "a: 1\n---\nk:\n- v\n"),
    "behind a mark": ("a: 1\n---\n", "a: 1\n---\nk:\n- v\n"),
    "behind an end": ("a: 1\n...\n", "a: 1\n...\n---\nk:\n- v\n"),
    "with CRLF and BOM": ("\ufeffa: 1\r\n", "\ufeffa: 1\r\n---\r\nk:\r\n- v\r\n"),
    "behind a block without final newline": ("- |2 # c\n   x", "- |2- # c\n   x\n---\nk:\n- v\n"),
    "behind blank lines that count": ("a: |+\n  x\n\n", "a: |+\n  x\n\n---\nk:\n- v\n"),
}


@pytest.mark.parametrize(("before", "after"), APPENDED.values(), ids=APPENDED)
def test_documents_are_appended(before: str, after: str) -> None:
    """The short-cut puts a mark everywhere."""
    stream = read(before.encode())
    data = append(stream, [{"k": ["v"]}])

    assert data.decode() == after
    assert [d.value for d in read(data).documents if not d.empty] == [
        *(d.value for d in stream.documents if not d.empty),
        {"k": ["v"]},
    ]


def test_emitted_text_is_stable_and_plain() -> None:
    value: Value = {
        "a": {"b": [], "c": {}, "d": None, "e": ""},
        "f": [["x", ["v"]], {"g": {"h": 1}, "i": "1\n2"}, "a\n\n"],
        "j": "x: y",
    }
    comments: dict[FieldPath, str] = {("a",): "# 1", ("a", "b"): "# 2", ("f", 0, 1, 0): "# 3"}

    assert emit(value, comments=comments) == (
        "a: # 1\n  b: [] # 2\n  c: {}\n  d: null\n  e: \"\"\n"
        "f:\n- - x\n  - - v # 3\n- g:\n    h: 1\n  i: |-\n    1\n    2\n- \"a\\n\\n\"\n"
        'j: "x: y"\n'
    )  # fmt: skip
    assert emit("x") == "x\n"
    assert emit([]) == "[]\n"


def test_edits_that_overlap_are_refused() -> None:
    patch = Patch(read(b"abc").source)
    patch.replace(0, 2, "x")
    patch.delete(1, 3)

    with pytest.raises(ValueError, match="two edits of one file overlap"):
        patch.apply()


def test_an_error_says_where() -> None:
    with pytest.raises(EditError) as caught:
        edited("x: &x\n  b: [1]\na: *x\n", {"a.b[0]": 3})

    assert caught.value.place == Place("f.yaml", 3, "a")


GROWING: dict[str, tuple[str, Value]] = {
    "keys in mappings": ("k{}:\n  a: # c\n", {"a": 1, "b": {"c": 2}}),
    "mappings that open": ("k{}: {{}}\n", {"a": 1, "b": [2]}),
    "scalars": ("# c\nk{}: 1 # d\n", "x\ny"),
}


@pytest.mark.parametrize(("line", "wanted"), GROWING.values(), ids=GROWING)
def test_many_edits_take_time_by_their_number(line: str, wanted: Value) -> None:
    """The short-cut looks at the whole document for each edit."""

    def editing(size: int) -> Callable[[], object]:
        stream = read("".join(map(line.format, range(size))).encode())
        return lambda: edit(stream, {0: {f"k{number}": wanted for number in range(size)}})

    assert_in_proportion(editing, 60)


def test_keys_come_in_the_wanted_order_with_what_stands_beside_them() -> None:
    """The short-cut dumps the mapping, or loses what stands beside its keys."""
    text = b"# licence\n\nc: 3 # c\nz: 0\n# about b\nb:\n# two\n- y: 2\n  # x\n  x: 2\na: |\n  1\n"
    wanted: Value = {"a": "1\n", "b": [{"x": 2, "y": 2}], "c": 3, "z": 0}

    assert edit(read(text), {0: wanted}, reorder=True).decode() == (
        "# licence\n\na: |\n  1\n# about b\nb:\n# two\n# x\n- x: 2\n  y: 2\nc: 3 # c\nz: 0\n"
    )
    assert edit(read(text), {0: wanted}) == text
