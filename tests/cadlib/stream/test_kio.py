"""Streams of resources: taken apart as text, put together again, and their annotations."""

import random
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cadlib.errors import PackageError
from cadlib.package.files import is_resource_file
from cadlib.stream import kio
from cadlib.stream import places as kio_places
from cadlib.stream.anchors import de_anchored
from cadlib.yaml import FieldPath, Stream, Value, emit, read, same
from tests.cadlib import real, yaml_texts

TWO = """\
# Copyright
---
# the first
kind: A  # kind of a
metadata:
  annotations: {x: "1"}
spec:
    - deep
---
kind: B
text: |
  a
   b
# below
"""
LISTED = """\
apiVersion: v1
kind: List
items:
# the first
- kind: A  # kind of a
  list:
  - 1
  # inside
-   kind: B
    text: |
      a
       b
"""


def _texts(data: str, *, unwrap: bool = True, lists: bool = False) -> list[str]:
    found = kio.read(data.encode(), unwrap=unwrap, lists=lists)
    return [each.data.decode() for each in found.items]


def test_what_is_taken_apart_keeps_its_text() -> None:
    """The short-cut: reading values and writing them afresh loses comments and layout."""
    first, second = _texts(TWO)
    assert first == TWO.replace("---\n", "", 1).split("---\n")[0]
    assert second == TWO.split("---\n")[2]


def test_resources_of_a_list_come_out_with_their_comments_in_column_0() -> None:
    assert _texts(LISTED) == [
        "# the first\nkind: A  # kind of a\nlist:\n- 1\n# inside\n",
        "kind: B\ntext: |\n  a\n   b\n",
    ]


def test_a_list_is_written_with_the_comments_above_its_dashes() -> None:
    wrapped = kio.read(LISTED.encode())
    text = LISTED.replace("-   kind: B\n    text: |\n      a\n       b\n", "")
    again = kio.write(wrapped.items, wrapper=wrapped.wrapper).decode()
    assert again == text + "- kind: B\n  text: |\n    a\n     b\n"


def test_a_list_of_one_kind_is_a_resource_by_itself() -> None:
    """The short-cut: taking every kind that ends in List apart, which kpt does not."""
    data = "apiVersion: v1\nkind: ConfigMapList\nitems:\n- kind: A\n"
    assert _texts(data) == [data]


def test_a_list_beside_another_document_is_not_taken_apart() -> None:
    assert len(_texts("kind: List\nitems: []\n---\nkind: A\n")) == 2
    assert len(_texts("kind: List\nitems:\n- a: b\n", unwrap=False)) == 1


def test_configuration_and_results_come_out_and_go_back() -> None:
    text = (
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"
        "functionConfig:\n  # why\n  a: b # x\n  c:\n  - 1\nresults:\n- message: m\n"
    )
    wrapped = kio.read(text.encode())
    assert wrapped.config is not None
    assert wrapped.config.data == b"# why\na: b # x\nc:\n- 1\n"
    assert (
        kio.write(
            wrapped.items, wrapper=wrapped.wrapper, config=wrapped.config, results=wrapped.results
        ).decode()
        == text
    )


@pytest.mark.parametrize(
    ("text", "kind"), [("- a\n", "SequenceNode"), ("I am not valid", "ScalarNode")]
)
def test_what_is_no_mapping_is_refused_in_kpts_words(text: str, kind: str) -> None:
    with pytest.raises(PackageError, match=f"wrong node kind: expected MappingNode but got {kind}"):
        kio.read(text.encode())


def test_a_bare_list_is_accepted_where_it_is_asked_for() -> None:
    assert _texts("- a\n", lists=True) == ["- a\n"]


def test_a_value_behind_the_separator_is_refused() -> None:
    with pytest.raises(PackageError, match=r"invalid document separator: --- foo"):
        kio.read(b"a: b\n--- foo\nc: d\n")


def test_a_comment_behind_the_separator_and_empty_documents_go() -> None:
    assert _texts("a: b\n--- # x\n---\n# y\n---\nnull\n---\nc: d\n") == ["a: b\n", "c: d\n"]


def test_anchors_of_one_resource_used_in_another_are_written_out() -> None:
    """The short-cut: cutting the text leaves an alias of nothing."""
    data = "kind: List\nitems:\n- a: &x\n    b: c # here\n- d: *x # there\n"
    assert _texts(data) == ["a: &x\n  b: c # here\n", "d: # there\n  b: c # here\n"]


OWN_ANCHORS: Mapping[str, list[str]] = {
    "of a scalar": ["a: &x b # why\nc: *x\n", "d: e\n"],
    "of a mapping": ["a: &x\n  b: c # why\nd: *x\n"],
    "of a list": ["a: &x\n- b\nc: *x\n"],
    "merged": ["a: &x {b: c}\nd:\n  <<: *x\n  e: f\n"],
    "of one name": ["a: &x 1\nb: *x\n", "a: &x 2\nb: *x\n"],
    "in brackets": ["a: [&x 1, *x]\n", "b: c\n"],
    "of a key": ["&x a: b\nc: *x\n"],
    "unused": ["a: &x b\n"],
}


@pytest.mark.parametrize("wanted", OWN_ANCHORS.values(), ids=OWN_ANCHORS)
def test_a_resource_of_a_list_keeps_its_anchors(wanted: list[str]) -> None:
    """The short-cut: every anchor of a list is written out before it is taken apart."""
    items = "".join(f"- {text.rstrip().replace(chr(10), chr(10) + '  ')}\n" for text in wanted)
    assert _texts(f"kind: List\nitems:\n{items}") == wanted


def test_only_what_uses_anchors_of_others_is_written_out() -> None:
    """The short-cut: one resource that leans on another takes the anchors of all."""
    data = "kind: List\nx: &o 1\nitems:\n- a: &x b\n  c: *x\n- d: *o\n- &i\n  e: f\n- *i\n"
    assert _texts(data) == ["a: &x b\nc: *x\n", "d: 1\n", "&i\ne: f\n", "e: f\n"]


def test_aliases_of_the_list_itself_are_followed() -> None:
    data = "kind: List\nx: &l\n- a: b\nitems: *l\n"
    assert _texts(data) == ["a: b\n"]


def test_line_ends_of_windows_become_plain() -> None:
    assert _texts("a: b\r\n---\r\nc: |\r\n  d\r\n") == ["a: b\n", "c: |\n  d\n"]
    assert _texts("a: b\rc: d\n") == ["a: b\nc: d\n"]  # YAML breaks lines there too


def test_a_block_scalar_without_a_line_end_keeps_its_value() -> None:
    """The short-cut: adding the missing line break adds it to the value."""
    items = kio.read(b"a: |\n  x").items
    assert read(kio.write(items)).documents[0].value == {"a": "x"}


_LEAF = st.one_of(st.integers(), st.booleans(), st.none(), st.text(max_size=8))
_VALUE: st.SearchStrategy[Value] = st.recursive(
    _LEAF,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.lists(st.dictionaries(st.text(max_size=5), _VALUE, min_size=1, max_size=2), max_size=3))
@settings(max_examples=80)
def test_what_goes_into_a_list_comes_out_of_it(values: list[dict[str, Value]]) -> None:
    items = [kio.stream_of(emit({**each})) for each in values]
    for wrapper in (kio.RESOURCE_LIST, None):
        found = kio.read(kio.write(items, wrapper=wrapper), unwrap=wrapper is not None).items
        assert len(found) == len(values)
        for item, value in zip(found, values, strict=True):
            assert same(kio_places.value_of(item), {**value})


def test_real_files_go_through_a_list_unchanged() -> None:
    seen = 0
    for files in real.packages().values():
        for path, entry in [*files.items()][::6]:  # a share of them: all take ten seconds
            if not is_resource_file(path):
                continue
            try:
                items = kio.read(entry.data, unwrap=False).items
            except PackageError:  # templates
                continue
            back = kio.read(kio.write(items, wrapper=kio.RESOURCE_LIST)).items
            assert [kio_places.value_of(each) for each in back] == [
                kio_places.value_of(each) for each in items
            ]
            assert [_comments(each) for each in back] == [_comments(each) for each in items]
            seen += len(items)
    assert seen > 100


def _comments(item: Stream) -> dict[FieldPath, str]:
    return dict(item.documents[0].comments)


MERGED = """\
a: &a
  x: 1 # one
  y: [*s]
b:
  <<: *a # gone
  z: 3
c:
- <<: [*a, {"w": 0}]
  x: 2
"""


def test_merge_keys_are_written_out_behind_the_keys_that_are_there() -> None:
    """The short-cut: writing the value afresh loses the comments of what is merged."""
    text = "s: &s text\n" + MERGED
    assert de_anchored(read(text.encode())).data.decode() == (
        "s: text\na:\n  x: 1 # one\n  y: [text]\n"
        "b:\n  z: 3\n  x: 1 # one\n  y: [text]\n"
        'c:\n- x: 2\n  y: [text]\n  "w": 0\n'
    )


def test_aliases_of_text_in_blocks_and_lists_are_written_out() -> None:
    text = "a: &t |\n  one\n  two\nb: *t\nc: &l\n  - 1\n  - x: *t\nd: *l\ne: {f: *l}\n"
    found = de_anchored(read(text.encode()))
    assert b"*" not in found.data
    assert b"&" not in found.data
    assert same(found.documents[0].value, read(text.encode()).documents[0].value)


def test_two_merge_keys_are_refused() -> None:
    with pytest.raises(PackageError, match="duplicate merge key"):
        de_anchored(read(b"a: &a {x: 1}\nb:\n  <<: *a\n  <<: *a\n"))


def test_what_has_no_anchor_keeps_every_byte() -> None:
    stream = read(b"a:   b\n")
    assert de_anchored(stream) is stream


def _annotations(item: str) -> dict[str, str]:
    return kio_places.annotations(kio_places.value_of(kio.stream_of(item)))


def test_annotations_are_put_in_as_edits() -> None:
    """The short-cut: writing the resource anew to add one line to it."""
    item = kio.stream_of("kind: A  # a\nspec:\n    - 1\n")
    found = kio_places.annotated(item, {"x": "0"})
    assert found.data.startswith(item.data)
    assert _annotations(found.data.decode()) == {"x": "0"}
    assert kio_places.annotated(found, {"x": None}).data == item.data


def test_each_kind_of_annotation_is_copied_where_the_other_is_missing() -> None:
    """The short-cut: copying one way only, or over what is there."""
    found = kio_places.legacy(
        {
            kio_places.PATH: "a",
            kio_places.LEGACY_INDEX: "1",
            kio_places.ID: "2",
            kio_places.LEGACY_ID: "3",
        }
    )
    assert found == {kio_places.LEGACY_PATH: "a", kio_places.INDEX: "1"}


def test_resources_sort_by_file_then_by_number() -> None:
    """The short-cut: comparing the indexes as text puts 10 before 9."""
    items = [
        kio.stream_of(
            f"metadata:\n  annotations:\n    {kio_places.PATH}: {path}\n"
            + (f"    {kio_places.INDEX}: '{index}'\n" if index else "")
        )
        for path, index in [("b", "10"), ("b", "9"), ("b", ""), ("a", "1")]
    ]
    assert [kio_places.place(each) for each in kio_places.by_place(items)] == [
        ("a", 1),
        ("b", None),
        ("b", 9),
        ("b", 10),
    ]


def test_an_index_that_is_no_number_is_refused() -> None:
    item = kio.stream_of(f"metadata:\n  annotations:\n    {kio_places.INDEX}: x\n")
    with pytest.raises(PackageError, match="unable to parse"):
        kio_places.place(item)


def test_the_first_list_says_how_lists_are_indented() -> None:
    assert kio_places.seqindent("a:\n  - b\nc:\n- d\n") == "wide"
    assert kio_places.seqindent("a:\n- b\nc:\n  - d\n") == "compact"
    assert kio_places.seqindent("a: |\n  - b\nc:\n    - d\n") == "compact"
    assert kio_places.seqindent("a:\n  # why\n\n  - b\n") == "wide"


KEYS = (
    "a: # why",
    "a: #",
    "a:   # why: # this",
    '"a":  # why',
    '"a #b":',
    '"a:b":',
    "a#b: # c",
    "?\n:",
)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n# below\n", "\n  # below\n"])
def test_how_a_list_is_indented_below_a_key_with_a_comment(key: str, end: str) -> None:
    """The short-cut: a key's line ends in its colon."""
    later = "z:\n%s- x\n"
    assert kio_places.seqindent(f"{key}{end}  - b\n{later % ''}") == "wide"
    assert kio_places.seqindent(f"{key}{end}- b\n{later % '  '}") == "compact"


def test_json_is_written_as_kpt_writes_it() -> None:
    assert kio.to_json({"b": 1, "a": ["é"]}) == b'{\n  "a": [\n    "\xc3\xa9"\n  ],\n  "b": 1\n}\n'


def test_a_dash_in_a_comment_is_no_dash() -> None:
    """The short-cut: the nearest dash before an item."""
    text = (
        "kind: List\nitems:\n- # a-b\n  kind: A # c-d\n  x: y # e-f\n# - g\n-\n  # h-i\n  kind: B\n"
    )
    assert [kio_places.value_of(each) for each in kio.read(text.encode()).items] == [
        {"kind": "A", "x": "y"},
        {"kind": "B"},
    ]


def test_a_large_text_with_many_aliases_is_refused_before_it_is_made() -> None:
    text = f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 100)}]\n"
    with pytest.raises(PackageError, match="too large"):
        de_anchored(read(text.encode()))


@pytest.mark.parametrize("seed", range(40))
def test_lists_in_any_layout_are_taken_apart_and_put_together(seed: int) -> None:
    rng = random.Random(seed)
    values = [yaml_texts.mapping(rng, 3, 1) for _ in range(3)]
    text = yaml_texts.Layout(rng).document({"kind": "List", "items": [*values]})
    wrapped = kio.read(text.encode())
    assert [kio_places.value_of(each) for each in wrapped.items] == values
    again = kio.read(kio.write(wrapped.items, wrapper=wrapped.wrapper))
    assert [kio_places.value_of(each) for each in again.items] == values


def test_the_end_mark_of_a_document_does_not_come_along() -> None:
    """The short-cut: the text up to the next document holds the "..." of this one."""
    for text in ("a: b\n...\n", "---\na: b\n...\n"):
        items = kio.read(text.encode()).items
        assert kio.write(items, wrapper=kio.RESOURCE_LIST).endswith(b"items:\n- a: b\n")
    given = [kio.stream_of("a: b\n...\n"), kio.stream_of("--- # c\nc: d\n")]
    assert kio.write(given) == b"a: b\n---\nc: d\n"


def test_files_with_byte_order_marks_that_were_put_together_are_read() -> None:
    assert _texts("\ufeffa: b\n---\n\ufeffc: d\n") == ["a: b\n", "c: d\n"]


def test_an_anchor_of_nothing_leaves_null() -> None:
    """The short-cut: taking the anchor away leaves one element less."""
    found = de_anchored(read(b"a: [&x ]\nb: &y\nc: *y\nd: &z\n  text\ne: *z\n"))
    assert found.data == b"a: [null ]\nb: null\nc: null\nd:\n  text\ne: text\n"
