"""Input made to exhaust memory or time: each limit refuses it, and below them all work is linear.

Growth is counted in lines of our own code. Texts that are long and hold few values are read by
patterns and by the parser, in C: their growth is that of processor time.
"""

import textwrap
from collections.abc import Callable, Iterable, Iterator

import pytest

from cadlib.diff import changes as diff
from cadlib.errors import PackageError
from cadlib.limits import DEFAULT, PackageLimits
from cadlib.merge.documents import merge_documents
from cadlib.package import files as package
from cadlib.package.files import Entry
from cadlib.stream import kio
from cadlib.stream.format import formatted
from cadlib.yaml import DELETED, Deleted, Stream, Value, edit, emit, read
from tests.cadlib.rewriting import rewritten
from tests.counting import assert_in_proportion, assert_seconds_in_proportion, lines

KPTFILE = Entry(b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n")


# --- limits --------------------------------------------------------------------------------


def test_nodes_of_a_file_are_bounded_to_the_node() -> None:
    """The short-cut counts scalars, and lets `[[],[],[],…` through."""
    exact = PackageLimits(file_nodes=4)

    for text in ("[1, 2, 3]", "{a: 1}", "[[], {}, []]", "- &a 1\n- *a\n"):
        assert read(text.encode(), limits=exact).documents
    for text in ("[1, 2, 3, 4]", "{a: 1, b: 2}", "[[], {}, [], {}]", "a: 1\n---\nb: 2\n---\n3\n"):
        with pytest.raises(PackageError) as caught:
            read(b"# one\n" + text.encode(), path="f.yaml", limits=exact)
        assert "the file has more than 4 nodes: keys, values, mappings and lists" in str(
            caught.value
        )
        assert caught.value.place.line == (4 if "---" in text else 2)


@pytest.mark.parametrize("unit", ["1,", "[],", "*a,"])
def test_a_file_of_small_nodes_is_refused_before_it_is_read_to_its_end(unit: str) -> None:
    """The short-cut counts when the document is complete: 12 s and 500 MB for 4 MiB."""
    text = "[&a 1," + unit * ((DEFAULT.file_bytes - 10) // len(unit)) + "1]"
    assert DEFAULT.file_nodes < text.count(",")
    with pytest.raises(PackageError, match="more than 9000 nodes"):
        read(text.encode(), limits=PackageLimits(file_nodes=9000))

    bounded = PackageLimits(file_nodes=500)

    def refused(count: int) -> Callable[[], object]:
        def reading() -> None:
            with pytest.raises(PackageError, match="more than 500 nodes"):
                read(f"[&a 1,{unit * count}1]".encode(), limits=bounded)

        return reading

    assert lines(refused(20_000)) < 1.5 * lines(refused(600))


def test_empty_documents_are_nodes_too() -> None:
    with pytest.raises(PackageError, match="more than 99 nodes"):
        read(b"---\n" * 100, limits=PackageLimits(file_nodes=99))


def test_what_separates_nodes_is_bounded_in_a_package() -> None:
    """The short-cut bounds the nodes of each file: many files may hold them together."""
    limits = PackageLimits(package_marks=8)
    files = {"Kptfile": KPTFILE, "a.yaml": Entry(b"a: [1,2,3]"), "README.md": Entry(b":" * 99)}

    assert not package.problems(files, limits)
    (found,) = package.problems({**files, "b.json": Entry(b"[1]")}, limits)
    assert "9 characters that separate nodes (:-,?[{), more than 8" in found.message


@pytest.mark.parametrize(
    "text", ["[1,1,1,1]", "{a,b,c}", "- \n-\n- - -\n", "? a\n? b\n", "a: {b: c}\n", "[[[]],{}]"]
)
def test_every_node_stands_beside_a_mark(text: str) -> None:
    """What the bound on a package relies on: two nodes for each mark at most, and one more."""
    nodes = sum(_nodes(document.value) for document in read(text.encode()).documents)
    marks = sum(text.count(mark) for mark in ":-,?[{")

    assert nodes <= 2 * marks + 1


def _nodes(value: Value) -> int:
    match value:
        case dict():
            return 1 + len(value) + sum(map(_nodes, value.values()))
        case list():
            return 1 + sum(map(_nodes, value))
        case _:
            return 1


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "[{a: "])
def test_deep_input_is_refused_without_recursion(opening: str) -> None:
    """The short-cut recurses as deep as the text says, and runs out of stack."""
    with pytest.raises(PackageError) as caught:
        read((opening * 100_000).encode())
    assert "nested more than 64 deep" in str(caught.value) or "not YAML" in str(caught.value)


def test_aliases_do_not_go_deeper_than_nodes_can_be_added() -> None:
    """The short-cut bounds depth as written: `[*a]` in `[*b]` in … is as deep as one likes."""
    chain = "- &a0 [x]\n" + "".join(f"- &a{i} [*a{i - 1}]\n" for i in range(1, 5_000))

    with pytest.raises(PackageError, match="the aliases of this file expand to more than"):
        read(chain.encode())


# --- growth --------------------------------------------------------------------------------


TEXTS: dict[str, Callable[[int], str]] = {
    "keys": lambda n: "".join(f"key{i}: value\n" for i in range(n)),
    "list": lambda n: "a:\n" + "".join(f"- item{i}\n" for i in range(n)),
    "list of mappings": lambda n: "a:\n" + "".join(f"- name: n{i}\n  v: {i}\n" for i in range(n)),
    "list in flow style": lambda n: "a: [" + ", ".join(f"i{i}" for i in range(n)) + "]\n",
    "mapping in flow style": lambda n: "{" + ", ".join(f"k{i}: v" for i in range(n)) + "}\n",
    "documents": lambda n: "".join(f"---\na: {i}\n" for i in range(n)),
    "line comments": lambda n: "".join(f"k{i}: v # {i}\n" for i in range(n)),
    "comments above": lambda n: "".join(f"# {i}\nk{i}: v\n" for i in range(n)),
    "properties": lambda n: "".join(f"k{i}: &a{i} !!str v\n" for i in range(n)),
}

LONG: dict[str, Callable[[int], str]] = {
    "comments in one place": lambda n: "a: 1\n" + "# x\n" * n + "b: 2\n",
    "blank lines": lambda n: "a: 1\n" + "\n" * n + "b: 2\n",
    "one long line": lambda n: f"a: {'word ' * n}\nb: 2\n",
    "blanks before a comment": lambda n: f"a: 1{' ' * 50 * n}# x\nb: 2{' ' * 50 * n}x\n",
    "one long number": lambda n: f"a: {'1' * n}\nb: 1.{'1' * n}\n",
    "block scalar": lambda n: "a: |\n" + "  text # none\n" * n + "b: 2\n",
    "quoted": lambda n: 'a: "' + '\\n \\"#' * n + '"\nb: 2\n',
    "tabs and anchors": lambda n: f"a: &{'x' * 20 * n} 1\nb: !{'y' * 20 * n} 2\n",
}


def _changed(value: Value) -> Value:
    """Every scalar of a value but those that are text of many lines, with another one for it."""
    match value:
        case dict():
            return {key: _changed(each) for key, each in value.items()}
        case list():
            return [_changed(each) for each in value]
        case _:
            return "changed"


def _every(stream: Stream, change: Callable[[Value], Value]) -> dict[int, Value | Deleted]:
    return {n: change(document.value) for n, document in enumerate(stream.documents)}


def _reading(text: str) -> Callable[[], object]:
    return lambda: [document.comments for document in read(text.encode()).documents]


def _editing(text: str) -> Callable[[], object]:
    stream = read(text.encode())
    wanted = _every(stream, _changed)
    return lambda: edit(stream, wanted)


def _adding(text: str) -> Callable[[], object]:
    stream = read(text.encode())
    wanted = _every(stream, _more)
    return lambda: edit(stream, wanted)


def _more(value: Value) -> Value:
    """A value with something new before, inside and behind."""
    if not isinstance(value, dict):
        return value
    items = value.get("a")
    if not isinstance(items, list):
        return {**value, "new": "value"}
    middle = len(items) // 2
    return {**value, "a": ["new 1", *items[:middle], "new 2", *items[middle:], "new 3"]}


def _removing(text: str) -> Callable[[], object]:
    stream = read(text.encode())
    if len(stream.documents) > 1:
        wanted: dict[int, Value | Deleted] = dict.fromkeys(
            range(0, len(stream.documents), 2), DELETED
        )
    else:
        wanted = _every(stream, _half)
    return lambda: edit(stream, wanted)


def _half(value: Value) -> Value:
    if not isinstance(value, dict):
        return value
    items = value.get("a")
    if isinstance(items, list):
        return {**value, "a": items[::2]}
    return {key: value[key] for key in list(value)[::2]} if len(value) > 2 else value


def _turning(text: str) -> Callable[[], object]:
    stream = read(text.encode())
    wanted = _every(stream, _turned)
    return lambda: edit(stream, wanted)


def _turned(value: Value) -> Value:
    if not isinstance(value, dict):
        return value
    items = value.get("a")
    return {**value, "a": items[::-1]} if isinstance(items, list) else value


def _writing(text: str) -> Callable[[], object]:
    values = [document.value for document in read(text.encode()).documents]
    return lambda: [emit(value) for value in values]


def _comparing(text: str) -> Callable[[], object]:
    stream = read(text.encode())
    other = edit(stream, _every(stream, _changed))
    old = {"Kptfile": KPTFILE, "a.yaml": Entry(stream.data)}
    new = {"Kptfile": KPTFILE, "a.yaml": Entry(other)}
    return lambda: diff.changes(old, new)


def _rewriting(text: str) -> Callable[[], object]:
    head = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n"
    if text.startswith("---"):
        text = text.replace("\na: ", f"\n{head}a: ")
    else:
        text = f"{head}data:\n{textwrap.indent(text, '  ')}"
    files = {"Kptfile": KPTFILE, "a.yaml": Entry(text.encode())}
    return lambda: rewritten(files)


def _merging(text: str) -> Callable[[], object]:
    origin = read(text.encode())
    local = read(edit(origin, _every(origin, _half)))
    updated = read(edit(origin, _every(origin, _more)))
    return lambda: [
        merge_documents(*documents)
        for documents in zip(origin.documents, local.documents, updated.documents, strict=True)
    ]


def _formatting(text: str) -> Callable[[], object]:
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
    flow = text.startswith(("{", "---"))
    stream = read((text if flow else head + text).encode())
    return lambda: formatted(stream)


def _listing(text: str) -> Callable[[], object]:
    return lambda: kio.write(kio.read(text.encode()).items)


WORK = {
    "read": _reading,
    "every scalar": _editing,
    "additions": _adding,
    "removals": _removing,
    "turned round": _turning,
    "write": _writing,
    "diff": _comparing,
    "written by a function": _rewriting,
    "merge": _merging,
    "format": _formatting,
    "stream": _listing,
}


def _rows(shapes: Iterable[str]) -> Iterator[tuple[str, str]]:
    for work in WORK:
        for shape in shapes:
            if work != "turned round" or shape.startswith("list"):
                yield work, shape


@pytest.mark.parametrize(("work", "shape"), [*_rows(TEXTS)])
def test_work_grows_with_the_number_of_values_and_no_faster(work: str, shape: str) -> None:
    """The short-cut searches from the start of the text, or of a list, for each thing in it."""
    if (work, shape) == ("format", "mapping in flow style"):
        assert lines(WORK[work](TEXTS[shape](1_000))) < 100  # no resource: left as it is
    else:
        assert_in_proportion(lambda size: WORK[work](TEXTS[shape](size)), 100)


@pytest.mark.parametrize(("work", "shape"), [*_rows(LONG)])
def test_time_grows_with_the_length_of_a_text_and_no_faster(work: str, shape: str) -> None:
    """Short-cut: a pattern that tries every end of blanks, or of a word, from every start."""
    assert_seconds_in_proportion(lambda size: WORK[work](LONG[shape](size)), 400)


@pytest.mark.parametrize("text", ["? {0}\n: 1\n? {0}\n: 2\n", "a: *{0}\n"])
def test_what_an_error_quotes_is_bounded(text: str) -> None:
    """The short-cut quotes all that the file says: 500 kB in errors, logs and checks."""
    with pytest.raises(PackageError) as caught:
        read(text.format("k" * 100_000).encode())

    assert "kkk…" in str(caught.value)
    assert len(str(caught.value)) < 1_000
