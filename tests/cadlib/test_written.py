"""What functions make of comments reaches the file, and nothing else of it changes."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from cadlib.calls import Outcome
from cadlib.kptfile import Function
from cadlib.package import Entry, Files
from cadlib.render import render
from cadlib.resourcelist import Item, ResourceList, decode, encode
from cadlib.yaml import FieldPath, Value

KPTFILE = Entry(b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: root\n")
TEXT = b"""\
# about the map
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings  # kpt-set: ${name}
data:
  # the first
  first: "1" # one
  list: |
    a
    b

  second: '2'
"""
FIRST, SECOND = ("data", "first"), ("data", "second")


def rendered(
    files: Files, change: Callable[[Item], Item], *, wire: bool = True
) -> dict[str, bytes | None]:
    """Render with one function that treats each item so, over the wire or as values."""
    steps = render(files, mutators=[Function(image="some/function:v1")])
    call = next(steps)
    given = (
        decode(call.resources)
        if wire
        else ResourceList(items=tuple(call.items), config=call.config)
    )
    items = [change(item) for item in given.items]
    outcome = Outcome(resources=encode(items)) if wire else Outcome(items=items)
    with pytest.raises(StopIteration) as end:
        steps.send(outcome)
    assert not end.value.value.findings
    return dict(end.value.value.changes)


def package(text: bytes = TEXT) -> Files:
    return {"Kptfile": KPTFILE, "a.yaml": Entry(text)}


def commented(comments: dict[FieldPath, str]) -> Callable[[Item], Item]:
    def change(item: Item) -> Item:
        if item.path != "a.yaml":
            return item
        kept = {path: text for path, text in (dict(item.comments) | comments).items() if text}
        return replace(item, comments=kept)

    return change


def test_a_comment_that_a_function_sets_is_written_at_its_line() -> None:
    """The short-cut compares values only, and loses what create-setters did."""
    found = rendered(package(), commented({SECOND: "# kpt-set: ${two}"}))

    assert found == {"a.yaml": TEXT.replace(b"second: '2'", b"second: '2' # kpt-set: ${two}")}


def test_a_comment_that_a_function_changes_or_removes_is_changed_or_removed() -> None:
    found = rendered(package(), commented({FIRST: "# uno", ("metadata", "name"): ""}))

    wanted = TEXT.replace(b"# one", b"# uno").replace(b"  # kpt-set: ${name}", b"")
    assert found == {"a.yaml": wanted}


def test_comments_of_a_function_in_this_process_are_written_too() -> None:
    found = rendered(package(), commented({SECOND: "# two"}), wire=False)

    assert found == {"a.yaml": TEXT.replace(b"second: '2'", b"second: '2' # two")}


def test_a_function_that_returns_no_comments_at_all_has_lost_them() -> None:
    """The short-cut takes a JSON round trip for the wish to remove every comment."""

    def change(item: Item) -> Item:
        value = item.value
        assert isinstance(value, dict)
        if item.path != "a.yaml":
            return replace(item, comments={})
        data: dict[str, Value] = {"second": "2", "list": "a\nb\n", "first": "3"}
        return replace(item, value={**value, "data": data}, comments={})

    found = rendered(package(), change)

    assert found == {"a.yaml": TEXT.replace(b'first: "1" # one', b'first: "3" # one')}


def test_a_resource_that_moves_to_another_file_takes_its_text_along() -> None:
    """The short-cut writes the value anew: comments, quotes and blank lines are gone."""
    files = {**package(), "b.yaml": Entry(TEXT.replace(b"settings", b"other"))}

    def change(item: Item) -> Item:
        return replace(item, path="b.yaml", index=1) if item.path == "a.yaml" else item

    found = rendered(files, change)

    assert found == {"a.yaml": None, "b.yaml": files["b.yaml"].data + b"---\n" + TEXT}


NUMBERS = b"""\
apiVersion: v1
kind: A
metadata: {name: a}
version: 1.9 # kpt-set: ${version}
mode: 0644
"""


@pytest.mark.parametrize("head", [b"", b"# a list\n---\n"], ids=["quick reader", "whole reader"])
def test_digits_of_numbers_that_a_function_writes_are_kept(head: bytes) -> None:
    """The short-cut takes what comes back for a value, and writes version 1.10 as 1.1."""
    steps = render(package(NUMBERS), mutators=[Function(image="some/function:v1")])
    sent = next(steps).resources
    assert b"mode: 0644\n" in sent
    with pytest.raises(StopIteration) as end:
        steps.send(Outcome(resources=head + sent.replace(b"version: 1.9 ", b"version: 1.10 ")))

    assert end.value.value.changes == {"a.yaml": NUMBERS.replace(b"1.9", b"1.10")}


@pytest.mark.parametrize(
    ("there", "put", "then"), [(b"1.1", b"1.10", b"1.10"), (b"1.10", b"1.1", b"1.10")]
)
def test_a_number_that_is_put_in_other_digits_is_written_so(
    there: bytes, put: bytes, then: bytes
) -> None:
    """The short-cut compares numbers, and 1.1 stays. But 1.1 for 1.10 is how values are written."""
    files = package(NUMBERS.replace(b"1.9", there))
    steps = render(files, mutators=[Function(image="some/function:v1")])
    sent = next(steps).resources
    answer = sent.replace(b"version: %b " % there, b"version: %b " % put)
    with pytest.raises(StopIteration) as end:
        steps.send(Outcome(resources=answer))

    wanted = {} if then == there else {"a.yaml": NUMBERS.replace(b"1.9", then)}
    assert end.value.value.changes == wanted
