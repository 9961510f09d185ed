"""What holds for every text and every edit: generated ones here, real files elsewhere."""

import json
import random
from collections.abc import Callable, Iterator

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from cadlib.errors import PackageError
from cadlib.yaml import (
    EditError,
    FieldPath,
    Value,
    append,
    edit,
    emit,
    field_text,
    parse_field,
    read,
    same,
)
from cadlib.yaml.match import match, rising
from cadlib.yaml.scalars import inline, plain, resolve
from cadlib.yaml.tree import Map, Node, Seq, key_text
from tests.cadlib.yaml_texts import Layout, changed, mapping

seeds = st.integers(0, 2**32)
texts = st.text(max_size=20) | st.sampled_from(
    [
        "yes",
        "0755",
        "1_0",
        "1e3",
        "=",
        "<<",
        "~",
        "- a",
        "a: b",
        "a #b",
        " a",
        "a\n",
        "\n",
        "'",
        "...",
    ]
)
values: st.SearchStrategy[Value] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=15,
)


def generated(seed: int) -> tuple[random.Random, Value, bytes]:
    """A value and a file of it, by one of the layouts people use."""
    rng = random.Random(seed)
    value: Value = mapping(rng, 4, 1)
    text = Layout(rng).document(value)
    if rng.random() < 0.2:
        text = text.replace("\n", "\r\n")
    if rng.random() < 0.2:
        text = text.rstrip("\r\n")
    if rng.random() < 0.2:
        text = "\ufeff" + text
    return rng, value, text.encode()


@given(values)
@example({"a": "\x85\u2028\ufeff\x7f"})
@example(["x\n\ty\n", "\tx\ny", "a\n \nb\n", "a\n\n"])
def test_what_is_emitted_reads_back(value: Value) -> None:
    (document,) = read(emit(value).encode()).documents

    assert same(document.value, value)


@given(texts)
def test_text_stays_text(text: str) -> None:
    """In every style, and inside braces too."""
    for style in ("", "'", '"'):
        for flow in (False, True):
            written = inline(text, style=style, flow=flow)
            assert read(f"[{written}]".encode() if flow else f"- {written}\n".encode()).documents[
                0
            ].value == [text]
    if plain(text):
        assert resolve(text) == text


@given(st.lists(st.integers(0, 99) | st.text(max_size=8), max_size=4).map(tuple))
def test_field_names_read_back(path: FieldPath) -> None:
    assert parse_field(field_text(path)) == path


@settings(max_examples=300)
@given(seeds)
def test_no_change_same_bytes(seed: int) -> None:
    _, _, data = generated(seed)
    stream = read(data)

    assert edit(stream, {0: stream.documents[0].value}) == data


@given(seeds)
def test_values_that_went_through_json_are_no_change(seed: int) -> None:
    """The short-cut loses blank lines, quotes, order, or a missing final newline."""
    _, _, data = generated(seed)
    stream = read(data)
    wanted = json.loads(json.dumps(stream.documents[0].value, sort_keys=True))

    assert edit(stream, {0: wanted}) == data


@settings(max_examples=600)
@given(seeds)
def test_an_edit_reads_as_wanted_and_touches_its_own_lines_only(seed: int) -> None:
    """The short-cut dumps what it cannot edit."""
    rng, value, data = generated(seed)
    stream = read(data)
    document = stream.documents[0]
    assume(same(document.value, value))  # a cut final newline may belong to the last value
    wanted = changed(rng, value)
    assume(isinstance(wanted, dict) and wanted)
    edited = edit(stream, {0: wanted})

    assert same(read(edited).documents[0].value, wanted)
    touched = set(_touched(document.root, wanted, stream.source.line))
    lines = data.decode().split("\n")
    kept = [line for number, line in enumerate(lines, 1) if number not in touched and line.strip()]
    assert _in_order(kept, edited.decode().split("\n"))


def _touched(node: Node, wanted: Value, line: Callable[[int], int]) -> Iterator[int]:
    """The lines that a difference may change: its own, its comments', its parent's if empty."""
    if same(node.value, wanted):
        return
    if isinstance(node, Map) and isinstance(wanted, dict) and node.keys and wanted:
        for index, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            name = key_text(key)
            if name in wanted:
                yield from _touched(value, wanted[name], line)
            else:
                above = node.values[index - 1].end if index else 0
                yield from range(line(above) + bool(index), line(max(key.end, value.end)) + 1)
        if node.flow or line(node.start) == line(node.keys[0].start):
            yield from range(line(node.start), line(node.end) + 1)
    elif isinstance(node, Seq) and isinstance(wanted, list) and node.items and wanted:
        yield from _touched_in_list(node, wanted, line)
    else:
        # Another kind of value: the line of its key may change with it.
        yield from range(line(node.start) - 1, line(max(node.start, node.end)) + 1)


def _touched_in_list(node: Seq, wanted: list[Value], line: Callable[[int], int]) -> Iterator[int]:
    found = match(node.value, wanted)
    stays = rising([index for index in found if index is not None])
    if node.flow:
        yield from range(line(node.start), line(node.end) + 1)
        return
    for index, item in enumerate(node.items):
        if index in stays:
            yield from _touched(item, wanted[found.index(index)], line)
        else:  # with what stands between it and its neighbours
            above = line(node.items[index - 1].end) if index else line(node.start)
            below = node.items[index + 1].start if index + 1 < len(node.items) else item.end
            yield from range(above, line(below) + 1)
    if len(stays) < len(wanted):
        yield line(node.start)  # a dash before it may get other company


def _in_order(kept: list[str], lines: list[str]) -> bool:
    rest = iter(lines)
    return all(line in rest for line in kept)


@given(seeds, values)
def test_an_appended_document_leaves_the_others(seed: int, value: Value) -> None:
    assume(value is not None)
    _, _, data = generated(seed)
    stream = read(data)
    longer = append(stream, [value])

    # A block scalar that ended the file without a newline has to say so now.
    assert longer.replace(b"|-", b"|").startswith(data.replace(b"|-", b"|"))
    found = read(longer).documents
    assert len(found) == 2
    assert same(found[0].value, stream.documents[0].value)
    assert same(found[1].value, value)


@given(
    st.binary(max_size=40)
    | st.text(alphabet="ab:-{}[]&*!|>'\"#%@,? \n\t\r\u2028\ufeff<", max_size=40).map(str.encode)
)
def test_no_text_does_worse_than_a_package_error(data: bytes) -> None:
    try:
        stream = read(data, path="f")
    except PackageError as error:
        assert error.place.path == "f"  # noqa: PT017 - that it came is not asserted
        return
    for document in stream.documents:
        assert document.line(("a", 0)) or document.empty
        assert len(document.comments) < len(data)
    assert edit(stream, {n: each.value for n, each in enumerate(stream.documents)}) == data
    for position, document in enumerate(stream.documents):
        if not document.template and not document.empty:
            value = document.value
            for wanted in (
                {"k": value},
                "w",
                [value],
                {**value, "k": 1} if isinstance(value, dict) else 1,
            ):
                try:
                    found = read(edit(stream, {position: wanted})).documents[position].value
                except EditError:
                    continue
                assert same(found, wanted)
