"""What functions make of values and comments reaches the file, and nothing else of it changes."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from cadlib.kptfile.reader import PipelineFunction
from cadlib.package.files import Entry, Files
from cadlib.render.calls import CallOutcome
from cadlib.render.pipeline import render
from cadlib.stream.resourcelist import Item, ResourceList, decode, encode
from cadlib.yaml import FieldPath, Value
from tests.cadlib import real
from tests.cadlib.rewriting import answered, labelled, rewritten
from tests.cadlib.rewriting import rendered as rendered_by
from tests.cadlib.yaml.test_real import changed_lines

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
    steps = render(files, mutators=[PipelineFunction(image="some/function:v1")])
    call = next(steps)
    given = (
        decode(call.resources)
        if wire
        else ResourceList(items=tuple(call.items), config=call.config)
    )
    items = [change(item) for item in given.items]
    outcome = CallOutcome(resources=encode(items)) if wire else CallOutcome(items=items)
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
    steps = render(package(NUMBERS), mutators=[PipelineFunction(image="some/function:v1")])
    sent = next(steps).resources
    assert b"mode: 0644\n" in sent
    with pytest.raises(StopIteration) as end:
        steps.send(CallOutcome(resources=head + sent.replace(b"version: 1.9 ", b"version: 1.10 ")))

    assert end.value.value.changes == {"a.yaml": NUMBERS.replace(b"1.9", b"1.10")}


@pytest.mark.parametrize(
    ("there", "put", "then"), [(b"1.1", b"1.10", b"1.10"), (b"1.10", b"1.1", b"1.10")]
)
def test_a_number_that_is_put_in_other_digits_is_written_so(
    there: bytes, put: bytes, then: bytes
) -> None:
    """The short-cut compares numbers, and 1.1 stays. But 1.1 for 1.10 is how values are written."""
    files = package(NUMBERS.replace(b"1.9", there))
    steps = render(files, mutators=[PipelineFunction(image="some/function:v1")])
    sent = next(steps).resources
    answer = sent.replace(b"version: %b " % there, b"version: %b " % put)
    with pytest.raises(StopIteration) as end:
        steps.send(CallOutcome(resources=answer))

    wanted = {} if then == there else {"a.yaml": NUMBERS.replace(b"1.9", then)}
    assert end.value.value.changes == wanted


# --- a function that writes resources anew


DEPLOYMENT = b"""\
# licence

apiVersion: apps/v1
kind: Deployment
metadata: # m
    name: "web"
    labels: {app: web} # l
spec:
  replicas: 0x2 # kpt-set: ${replicas}

  # the containers
  containers:
    # main
    - name: main
      image: 'nginx' # i
    # side
    - name: side
      args: [ -v ]
"""
SERVICE = b"""\
# second
apiVersion: v1
kind: Service
metadata: {name: svc} # s
"""
BOTH = {"Kptfile": KPTFILE, "f.yaml": Entry(DEPLOYMENT + b"---\n" + SERVICE)}


def test_what_a_json_round_trip_loses_comes_back() -> None:
    """The short-cut copies comments onto the text that came back."""
    assert rewritten(BOTH) == BOTH


def test_only_the_changed_values_differ() -> None:
    """Elements are known by their name. The short-cut goes by their place."""

    def change(item: Item) -> Item:
        if not (isinstance(item.value, dict) and item.value["kind"] == "Deployment"):
            return item
        containers: list[Value] = [
            {"args": ["-x"], "image": "busybox", "name": "new"},
            {"args": ["-v"], "name": "side"},
            {"image": "nginx", "name": "main"},
        ]
        return replace(
            item, value={**item.value, "spec": {"replicas": 3, "containers": containers}}
        )

    main = b"    # main\n    - name: main\n      image: 'nginx' # i\n"
    side = b"    # side\n    - name: side\n      args: [ -v ]\n"
    new = b"    - args:\n          - -x\n      image: busybox\n      name: new\n"
    expected = DEPLOYMENT.replace(b"0x2", b"3").replace(main + side, new + side + main)
    assert rewritten(BOTH, change)["f.yaml"].data == expected + b"---\n" + SERVICE


def test_a_renamed_resource_keeps_its_text_and_a_new_one_goes_last() -> None:
    new = Item(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}}, path="f.yaml"
    )
    given = [*decode(_resources(BOTH)).items]
    renamed = [replace(each, value=_renamed(each.value)) for each in given]

    after = answered(BOTH, [*reversed(renamed), new])["f.yaml"].data

    kept = BOTH["f.yaml"].data.replace(b"{name: svc}", b"{name: svc2}")
    assert after == kept + b"---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n    name: new\n"


def _resources(files: Files) -> bytes:
    return next(render(files, mutators=[PipelineFunction(image="some/function:v1")])).resources


def _renamed(value: Value) -> Value:
    assert isinstance(value, dict)
    return {**value, "metadata": {"name": "svc2"}} if value["kind"] == "Service" else value


def test_what_an_alias_shares_is_not_written_out_in_silence() -> None:
    """The short-cut changes the anchor, and with it what the function left alone."""
    text = b"apiVersion: v1\nkind: A\nmetadata: {name: a}\na: &x {k: 1}\nb: *x\n"

    def function(given: ResourceList) -> bytes:
        return encode(given.items).replace(b"  b:\n    k: 1\n", b"  b:\n    k: 2\n")

    done = rendered_by({"Kptfile": KPTFILE, "a.yaml": Entry(text)}, function)

    assert not done.changes
    assert "the change would affect an alias" in "\n".join(map(str, done.findings))


def test_one_label_through_json_changes_the_labels_lines_only() -> None:
    """Every resource of the real packages. The short-cut is one line off somewhere."""
    changed: Counter[str] = Counter()
    necessary: Counter[str] = Counter()
    for package, files in real.packages().items():
        after, lines = labelled(files)
        found = [changed_lines(entry.data, after[path].data) for path, entry in files.items()]
        changed[package], necessary[package] = sum(found), lines
        assert after.keys() == files.keys()

    print(f"{changed.total()} lines changed, {necessary.total()} had to")
    assert changed == necessary
    assert necessary.total() > 1500


@pytest.mark.parametrize("paths", [("x.yaml", "x.yaml/y.yaml"), ("x.json/a/y.yaml", "x.json")])
def test_two_new_files_of_one_name_are_refused(paths: tuple[str, str]) -> None:
    """The short-cut holds each against the files from before: git has no place for both."""
    steps = render(package(), mutators=[PipelineFunction(image="some/function:v1")])
    made = [
        Item({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"n{n}"}}, path=path)
        for n, path in enumerate(paths)
    ]
    given = decode(next(steps).resources).items
    with pytest.raises(StopIteration) as end:
        steps.send(CallOutcome(resources=encode([*given, *made])))
    assert end.value.value.failed
    assert not end.value.value.changes
    assert "a file and a folder would have" in end.value.value.findings[0].message
