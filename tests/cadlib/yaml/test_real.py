"""Every YAML file of the real packages: read, kept to the byte, edited by its own lines only."""

import copy
import difflib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache

from cadlib.package.files import Files
from cadlib.yaml import FieldPath, Stream, Value, edit, read
from cadlib.yaml.emit import entry
from cadlib.yaml.tree import Map, Node, Seq, key_text
from tests.cadlib.real import packages, whole_packages
from tests.counting import lines


def files(given: Mapping[str, Files]) -> Iterator[tuple[str, str, bytes]]:
    """Package, path and bytes of each file that a reader of packages would read."""
    for package, entries in given.items():
        for path, found in entries.items():
            if path.endswith((".yaml", ".yml", "Kptfile")) and found.mode != "120000":
                yield package, path, found.data


@cache
def streams() -> tuple[tuple[str, str, Stream], ...]:
    """Package, path and stream of each file; read once, since tests only look at them."""
    return tuple(
        (package, path, read(data, path=path)) for package, path, data in files(packages())
    )


def test_no_change_same_bytes() -> None:
    """The short-cut normalises what it reads."""
    count = 0
    for _, path, data in files(packages()):
        stream = read(data, path=path)
        assert edit(stream, {n: each.value for n, each in enumerate(stream.documents)}) == data
        count += 1

    assert count > 800


def test_setting_one_label_changes_the_lines_that_had_to_change() -> None:
    """Short-cuts: dump the document; or be one line off at comments, `{}` and blank lines."""
    changed: Counter[str] = Counter()
    necessary: Counter[str] = Counter()
    for package, path, stream in streams():
        wanted, lines = labelled(stream)
        edited = edit(stream, wanted, write=_one_scalar)
        found = changed_lines(stream.data, edited)
        assert found == lines, f"{package}/{path}"
        changed[package] += found
        necessary[package] += lines

    for package in sorted(changed):
        print(f"{package}: {changed[package]} lines changed, {necessary[package]} had to")
    print(f"all: {changed.total()} lines changed, {necessary.total()} had to")
    assert changed == necessary
    assert necessary.total() > 1000


def labelled(stream: Stream) -> tuple[dict[int, Value], int]:
    """The value of each resource with one more label, and how many lines that takes."""
    wanted: dict[int, Value] = {}
    lines = 0
    for position, document in enumerate(stream.documents):
        if isinstance(document.value, dict) and "kind" in document.value:
            wanted[position], necessary = with_label(document.value)
            lines += necessary
    return wanted, lines


def with_label(resource: Value) -> tuple[Value, int]:
    """A resource with one more label, and how many lines that takes."""
    value = copy.deepcopy(resource)
    assert isinstance(value, dict)
    lines, inner = 1, value
    for key in ("metadata", "labels"):
        found = inner.get(key)
        if not isinstance(found, dict) or not found:
            lines += 1  # the line of a mapping that opens
            found = inner[key] = {}
        inner = found
    inner["porch.example/tested"] = "yes"
    return value, lines


def test_inserting_elements_changes_their_lines_only() -> None:
    """In front, in the middle and at the end of the first list of each document.

    Short-cuts: write the list anew; or put one between an element and its comments.
    """
    changed: Counter[str] = Counter()
    necessary: Counter[str] = Counter()
    for package, _, stream in streams():
        wanted: dict[int, Value] = {}
        for position, document in enumerate(stream.documents):
            path_to = next(_lists(document.root, block=False), None)
            if path_to is None:
                continue
            wanted[position] = copy.deepcopy(document.value)
            found = _at(wanted[position], path_to)
            new: Value = {"name": "porch-tested", "v": 1} if isinstance(found[0], dict) else "new"
            for place in (0, 1 + len(found) // 2, len(found) + 2):
                found.insert(place, new)
            necessary[package] += 3 * len(new) if isinstance(new, dict) else 3
        changed[package] += changed_lines(stream.data, edit(stream, wanted, write=_one_element))

    for package in sorted(changed):
        print(f"{package}: {changed[package]} lines changed, {necessary[package]} had to")
    print(f"all: {changed.total()} lines changed, {necessary.total()} had to")
    assert changed == necessary
    assert necessary.total() > 1000


def test_removed_and_moved_elements_leave_the_others_lines() -> None:
    """The short-cut lets comments stay where an element was."""
    count = 0
    for package, path, stream in streams():
        before = Counter(stream.data.split(b"\n"))
        shorter: dict[int, Value] = {}
        moved: dict[int, Value] = {}
        for position, document in enumerate(stream.documents):
            paths = _lists(document.root, block=True)
            longer = (each for each in paths if len(_at(document.value, each)) > 1)
            path_to = next(longer, None)
            if path_to is not None:
                shorter[position] = copy.deepcopy(document.value)
                first = _at(shorter[position], path_to).pop(0)
                moved[position] = copy.deepcopy(shorter[position])
                _at(moved[position], path_to).append(first)
        assert Counter(edit(stream, shorter).split(b"\n")) <= before, f"{package}/{path}"
        assert Counter(edit(stream, moved).split(b"\n")) == before, f"{package}/{path}"
        count += len(moved)

    print(f"{count} lists, each shortened and rotated")
    assert count > 200


def _lists(node: Node, *, block: bool, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Where lists lie that are not empty, outer ones first; those of schemas are left out."""
    if isinstance(node, Seq) and node.items and not (block and node.flow):
        yield path
    if isinstance(node, Map):
        for key, value in zip(node.keys, node.values, strict=True):
            if key.value != "openAPIV3Schema":
                yield from _lists(value, block=block, path=(*path, key_text(key)))
    elif isinstance(node, Seq):
        for index, item in enumerate(node.items):
            yield from _lists(item, block=block, path=(*path, index))


def _at(value: Value, path: FieldPath) -> list[Value]:
    for step in path:
        value = value[step]  # type: ignore[index]  # a field that is there
    assert isinstance(value, list)
    return value


def _one_element(key: str | None, value: Value, indent: int, **_: object) -> list[str]:
    """Write an element, and refuse all text that is more than the one added."""
    assert key is None
    assert value in ("new", {"name": "porch-tested", "v": 1})
    return entry(key, value, indent)


def _one_scalar(key: str | None, value: Value, indent: int, **_: object) -> list[str]:
    """Write a key, and refuse the text of more than one node with a value of its own."""
    inner = value
    while isinstance(inner, dict):
        assert len(inner) == 1, f"{key}: this is more than the one node that was added"
        (inner,) = inner.values()
    assert not isinstance(inner, list)
    return entry(key, value, indent)


def changed_lines(old: bytes, new: bytes) -> int:
    # Without their "\n": a last line that gets one stays the same line.
    before, after = old.split(b"\n"), new.split(b"\n")
    shorter = min(len(before), len(after))
    start = next((n for n in range(shorter) if before[n] != after[n]), shorter)
    rest = range(1, shorter - start + 1)
    same = next((n - 1 for n in rest if before[-n] != after[-n]), len(rest))
    matcher = difflib.SequenceMatcher(
        None, before[start : len(before) - same], after[start : len(after) - same], autojunk=False
    )
    return sum(
        max(old_end - old_start, new_end - new_start)
        for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes()
        if tag != "equal"
    )


def test_a_line_of_a_large_file_is_read_in_some_forty_lines_of_code() -> None:
    """The largest file there, of 1 MB. The short-cut finds each node's line from the beginning."""
    _, path, data = max(files(whole_packages()), key=lambda each: len(each[2]))

    assert len(data) > 1_000_000
    assert lines(lambda: read(data, path=path)) < 60 * data.count(b"\n")  # 40 were measured
