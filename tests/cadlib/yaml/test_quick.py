"""The quick reader: what it reads, the full reader reads the same; the rest it leaves alone."""

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cadlib.errors import PackageError
from cadlib.limits import STREAM
from cadlib.stream import resourcelist
from cadlib.stream.resourcelist import Item
from cadlib.yaml import emit, quick, read
from cadlib.yaml.tree import Value
from tests.choices import each_of
from tests.counting import assert_seconds_in_proportion

ROOT = Path(__file__).parents[3]
REAL = sorted(
    path
    for folder in (ROOT / "examples", ROOT / "tests", ROOT.parent / "shared" / "packages")
    for path in folder.rglob("*")
    if path.suffix in (".yaml", ".yml") or path.name == "Kptfile"
)


def check(text: str) -> bool:
    """Hold what is read against the full reader; say whether it was read at all."""
    found = quick.read(text)
    if found is None:
        return False
    (document,) = read(text.encode(), limits=STREAM).documents
    assert json.dumps(found[0]) == json.dumps(document.value)  # order, 1 and true, NaN
    assert found[1] == dict(document.comments)
    return True


READ = {
    "a mapping in a mapping": "a:\n  b: 1\n  c:\n    d: x\ne: y\n",
    "a list at the column of its key": "a:\n- b: 1\n  c: 2\n- b: 3\nd: 4\n",
    "a list further in": "a:\n    - b\n    - c: 1\n      d: 2\ne: 3\n",
    "a list of words": "- a\n- 1\n- true\n- ''\n- ~\n",
    "nothing behind a key": "a:\nb:\n  c:\nd:\n- e:\n- f:\n",
    "numbers, words and text": (
        "a: 0755\nb: 1_000\nc: 1e3\nd: .inf\ne: yes\nf: Null\ng: 0x1F\nh: -1\ni: 1.5\nj: 12:30\n"
    ),
    "quotes": "a: 'it''s'\nb: \"a\\nb\\\\\\\"\"\nc: \"\"\nd: '# no comment'\n\"e f\": 1\n'g': 2\n",
    "signs inside plain text": "a: b#c\nb: http://x:80/y\nc: a, b [c] {d} & * ! | > ' \" % @ `\n",
    "comments": (
        "# first\na: 1 # one\nb: # two\n  c: x # three  \n\n  # between\nd: # four\n- e # five\n"
    ),
    "brackets": "a: {}\nb: [] # none\nc: [x, 'y z', \"w\", 1, true]\n",
    "literal blocks": "a: | # text\n  one\n    two\n\n  three\n\nb: |-\n    x\n# end\nc: 1\n",
    "literal blocks in lists": "- |\n a\n-  |-\n  b\n- c: |\n   d\n   e\n  f: 1\n",
    "a literal block with tabs": "a: |\n  all:\n  \tmake\n",
    "marks in a literal block": "a: |\n  ---\n  - b: &c\n",
    "text that is not ASCII": "a: für Ärger\nb: \"日本\"\nc: x # ¡sí!\n",
    "no line break at the end": "a: 1\nb: x",
    "a key with many signs": "config.kubernetes.io/depends-on: a\n80: b\n",
}  # fmt: skip


@pytest.mark.parametrize("text", READ.values(), ids=READ)
def test_what_resources_consist_of_is_read(text: str) -> None:
    """Short-cut: decline everything, which is never wrong."""
    assert check(text)


LEFT = {
    "nothing": "",
    "nothing but comments": "# a\n\n",
    "a word": "a\n",
    "an anchor": "a: &x 1\nb: *x\n",
    "a tag": "a: !!str 1\n",
    "a merge key": "a:\n  <<: {b: 1}\n",
    "a mapping in braces": "a: {b: 1}\n",
    "a list over two lines": "a: [b,\n  c]\n",
    "a folded block": "a: >\n  b\n",
    "a block that keeps its line breaks": "a: |+\n  b\n\n",
    "a block with its margin in the header": "a: |2\n    b\n",
    "a block that begins with a blank line": "a: |\n\n  b\n",
    "a block that ends with the text": "a: |\n  b",
    "a tab before the margin of a block": "a: |\n  b\n\t\n",
    "plain text over two lines": "a: b\n  c\n",
    "quotes over two lines": "a: 'b\n  c'\n",
    "quotes with other escapes": 'a: "\\x41"\n',
    "a tab": "a:\tb\n",
    "a tab before a comment": "a: b\t# c\n",
    "a document mark": "---\na: 1\n",
    "two documents": "a: 1\n---\nb: 2\n",
    "the end of a document": "a: 1\n...\n",
    "a directive": "%YAML 1.1\n---\na: 1\n",
    "a template": "a: {{ .x }}\n",
    "a key that is asked for": "? a\n: b\n",
    "a key with a blank": "a b: 1\n",
    "a list in a list": "- - a\n",
    "a dash alone": "-\n  a: 1\n",
    "a carriage return": "a: 1\r\nb: 2\r\n",
    "another line break": "a: b\u2028c: d\n",
    "a byte order mark": "\ufeffa: 1\n",
    "a control character": "a: \x07\n",
    "forty-one levels": "".join(f"{'  ' * n}a:\n" for n in range(60)) + f"{'  ' * 60}b: 1\n",
    "a very long key": f"{'k' * 1100}: 1\n",
}


@pytest.mark.parametrize("text", LEFT.values(), ids=LEFT)
def test_what_is_unusual_is_left_to_the_full_reader(text: str) -> None:
    """Short-cut: read what looks like a key and a value, whatever is around it."""
    assert quick.read(text) is None


WRONG = {
    "a key twice": "a: 1\nb: 2\na: 3\n",
    "a value inside a value": "a: b: c\n",
    "a mapping below a word": "a: 1\n  b: 2\n",
    "a list below a word": "a: 1\n- b\n",
    "a mapping behind a list": "- a\nb: 1\n",
    "a column that nothing has": "a:\n    b: 1\n  c: 2\n",
    "a column further out": "  a: 1\nb: 2\n",
    "a list item in the wrong column": "a:\n  - b\n - c\n",
    "a dash behind a key": "a: - b\n",
    "something behind quotes": "a: 'b' c\n",
    "a bracket that is not closed": "a: [b\n",
    "a comment that swallows a key": "a: 'b #\n'c: d\n",
    "text under a block": "a: |\n    b\n  c: d\n",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_left_to_the_full_reader(text: str) -> None:
    """Short-cut: make something of it."""
    with pytest.raises(PackageError, match=r"is not YAML|occurs twice in this mapping"):
        read(text.encode())
    assert quick.read(text) is None


WORDS = [
    "a", "b", "1", "0755", "1e3", "true", "~", "x y", "a#b", "a:b", "-1", "--x", "*/5", "'q'",
    "'it''s'", '"d"', '"a\\nb"', '"\\x41"', "{}", "[]", "[a, b]", "[a,'b c']", "[ ]", "{a: b}",
    "|", "|-", "|+", ">", "&x y", "*x", "!t", "- z", "a: b", "<<", "ü", "#", "a #", "'", '"',
    "[", "]", "?", "? a", ":", "=", "%", "@", "...", "---", "\t", "\u00a0", "\u2028", "''",
]  # fmt: skip
KEYS = ["a", "b", "c.d/e", "80", '"q r"', "'s'", "<<", "x y", "ü", "-", "? k"]
TAILS = ["", "", "", " # note", "  ", " #", "#no", "\t# t", " # two  "]


def _line(parts: tuple[str, ...]) -> str:
    indent, dash, key, gap, value, tail = parts
    return f"{indent}{dash}{key}{gap if key and value else ''}{value}{tail}"


INDENTS = [" " * width for width in (0, 0, 0, 2, 2, 2, 4, 4, 6, 1, 3)]
DASHES = ["", "", "", "- ", "- ", "-   ", "-"]
COLONS = [*[""] * 4, *(f"{key}:" for key in KEYS)]
GAPS = [" ", " ", "  ", ""]
LINES = each_of(INDENTS, DASHES, COLONS, GAPS, [*[""] * len(WORDS), *WORDS], TAILS).map(_line)
"""Lines that are, or resemble, one of a resource."""


def test_no_group_is_repeated_possessively() -> None:
    """Python before 3.11.5, as Debian 12 has it, reads `- rapid` as `apid` where one is."""
    source = inspect.getsource(quick)
    assert re.findall(r"\)[?*+}]\+(?!`)", source) == []


@settings(max_examples=400)
@given(st.lists(LINES, max_size=9), st.booleans())
@example(["a: |", "  b", "# c", "   # d", "e: 1"], True)
@example(["a:", "- b:", "- c: 1 # d", "  e:", "  - f"], True)
def test_lines_of_any_kind_are_read_as_the_full_reader_reads_them(
    found: list[str], ended: bool
) -> None:
    """Short-cut: hold the reader against texts that somebody thought of."""
    check("\n".join(found) + "\n" * ended)


VALUES: st.SearchStrategy[Value] = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-99, 99), st.floats(allow_nan=False),
        st.text("ab 1:#-'\"\n\t{}[]|>&*!?=,.éü", max_size=8),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text("ab1.-/ :", max_size=4), inner, max_size=3),
    ),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=300)
@given(VALUES)
def test_what_is_written_is_read_as_the_full_reader_reads_it(value: Value) -> None:
    check(emit({"key": value}))


CHANGES = each_of(
    ["comment", "blank", "indent", "insert", "delete"], TAILS, range(7), ["", "#"], [1, 2, 4]
)


@st.composite
def spoilt(draw: st.DrawFn) -> str:
    """A text that was written well, and then changed in a few places."""
    text = emit({"a": draw(VALUES), "b": [{"c": 1, "d": "x"}, "y"]}).split("\n")
    for what, tail, blanks, mark, further in draw(st.lists(CHANGES, min_size=1, max_size=3)):
        place = draw(st.integers(0, len(text) - 1))
        match what:
            case "comment":
                text[place] += tail
            case "blank":
                text.insert(place, " " * blanks + mark)
            case "indent":
                text[place] = " " * further + text[place]
            case "insert":
                text.insert(place, draw(LINES))
            case _:
                text[place : place + 1] = []
                text = text or [""]
    return "\n".join(text)


@settings(max_examples=400)
@given(spoilt())
def test_what_was_changed_by_hand_is_read_as_the_full_reader_reads_it(text: str) -> None:
    check(text)


def test_real_packages_are_read_alike() -> None:
    """Short-cut: read what our own writer writes."""
    texts = [
        part
        for path in REAL
        for part in path.read_bytes().decode(errors="replace").split("\n---\n")
        if "\ufffd" not in part
    ]
    assert sum(map(check, texts)) > len(texts) / 2


def test_what_a_line_means_is_not_shared() -> None:
    """Short-cut: hand out the empty list that is remembered with its line."""
    text = "a: []\nb: {}\nc: [x]\n"
    first = quick.read(text)
    assert first is not None
    assert isinstance(first[0], dict)
    for each in first[0].values():
        assert isinstance(each, list | dict)
        each.clear()
    first[0]["a"].append("z")  # type: ignore[union-attr] # a list, as was just seen

    assert quick.read(text) == ({"a": [], "b": {}, "c": ["x"]}, {})


LONG: dict[str, Callable[[int], str]] = {
    "blanks": lambda n: "a: b" + " " * n + "c\n",
    "blanks on many lines": lambda n: ("a: b" + " " * 300 + "\n") * (n // 300),
    "quotes": lambda n: "a: '" + "''" * (n // 2) + "\n",
    "words in brackets": lambda n: "a: [" + "b," * (n // 2) + "\n",
    "dashes": lambda n: "- " * (n // 2) + "\n",
    "many blocks": lambda n: "".join(f"k{i}: |\n  x\n" for i in range(n // 16)),
    "a block without end": lambda n: "a: |\n" + "  x\n" * (n // 5) + "b",
    "lines that are all unlike": lambda n: "".join(f"k{i}: v{i}\n" for i in range(n // 16)),
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_it_takes_no_longer_than_the_text_is_long(text: Callable[[int], str]) -> None:
    """Short-cut: patterns that try every end of a text that does not fit."""

    def reading(size: int) -> Callable[[], object]:
        made = text(size)
        return lambda: quick.read(made)

    assert_seconds_in_proportion(reading, 16_000)


def test_a_list_is_the_same_whoever_reads_it() -> None:
    value: Value = {"kind": "A", "metadata": {"name": "a", "annotations": {"note": "x"}}}
    plain = Item(value, {("kind",): "# c"}, "a.yaml", 1)
    data = resourcelist.encode([plain], {"kind": "C"})
    by_full = resourcelist.decode(b"---\n" + data)

    assert resourcelist.decode(data) == by_full
    assert by_full.items == (plain,)
