"""One function on a folder or a stream."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from cadlib.kptfile.reader import PipelineFunction, Selector
from cadlib.package.files import Entry
from cadlib.render.calls import CallOutcome, FunctionCall
from cadlib.render.evaluate import Evaluated, Evaluation, evaluate, evaluate_stream
from cadlib.stream import kio
from cadlib.stream.resourcelist import Item

A = "# a\napiVersion: v1\nkind: A\nmetadata:\n  name: a # name\nsize: 1 # s\n"
B = "apiVersion: v1\nkind: B\nmetadata:\n  name: b\n"
FUNCTION = PipelineFunction(image="f")

Behaviour = Callable[[FunctionCall], CallOutcome]


def drive(steps: Evaluation, behaviour: Behaviour) -> tuple[Evaluated, list[FunctionCall]]:
    """Run it."""
    calls = []
    try:
        call = next(steps)
        while True:
            calls.append(call)
            call = steps.send(behaviour(call))
    except StopIteration as done:
        result: Evaluated = done.value
        return result, calls


def grow(call: FunctionCall) -> CallOutcome:
    """Set a size everywhere."""
    items = [
        replace(each, value={**each.value, "size": 2}) if isinstance(each.value, dict) else each
        for each in call.items
    ]
    return CallOutcome(items=items, exit_code=0)


def folder(**files: str) -> dict[str, Entry]:
    """Make a folder."""
    return {
        path.replace("__", "/").replace("_yaml", ".yaml"): Entry(text.encode())
        for path, text in files.items()
    }


def test_a_folder_needs_no_kptfile_and_any_kptfile_is_a_resource() -> None:
    """The short-cut: read it as a package, which refuses an old or a missing Kptfile."""
    old = "apiVersion: kpt.dev/v1alpha1\nkind: Kptfile\nmetadata:\n  name: s\n"
    files = folder(a_yaml=A, s__Kptfile=old, s__b_yaml=B)

    result, calls = drive(evaluate(files, FUNCTION, None), grow)

    assert [each.path for each in calls[0].items] == ["a.yaml", "s/Kptfile", "s/b.yaml"]
    assert result.changes == {
        "a.yaml": A.replace("1 #", "2 #").encode(),
        "s/Kptfile": f"{old}size: 2\n".encode(),
        "s/b.yaml": f"{B}size: 2\n".encode(),
    }


def test_the_file_of_the_configuration_is_left_alone() -> None:
    """The short-cut: leave it out of what is given, so that it is deleted afterwards."""
    files = folder(a_yaml=A, c_yaml=B)

    result, calls = drive(evaluate(files, FUNCTION, {"kind": "B"}, left_out="c.yaml"), grow)

    assert [each.path for each in calls[0].items] == ["a.yaml"]
    assert list(result.changes) == ["a.yaml"]


def test_an_empty_answer_deletes() -> None:
    """The short-cut: an answer without resources is none."""
    result, _ = drive(evaluate(folder(a_yaml=A), FUNCTION, None), lambda _: CallOutcome(items=[]))

    assert (result.changes, result.failed) == ({"a.yaml": None}, False)


def test_a_function_that_fails_changes_nothing() -> None:
    """The short-cut: write what came back whatever the exit status."""
    result, _ = drive(
        evaluate(folder(a_yaml=A), FUNCTION, None),
        lambda _: CallOutcome(items=[], error="no", exit_code=2, log="words"),
    )

    assert (result.changes, result.failed, result.error) == ({}, True, None)
    assert (result.steps[0].exit_code, result.steps[0].log) == (2, "words")


def test_an_absolute_path_lies_below_the_folder() -> None:
    """The short-cut: refuse it, or write it where it says."""
    made = Item({"apiVersion": "v1", "kind": "M", "metadata": {"name": "m"}}, path="/x/y.yaml")

    result, _ = drive(
        evaluate(folder(a_yaml=A), FUNCTION, None),
        lambda call: CallOutcome(items=[*call.items, made]),
    )

    assert list(result.changes) == ["x/y.yaml"]


def test_an_answer_that_cannot_be_read_is_told_from_a_file() -> None:
    """The short-cut: "the file is not YAML", and people look for it in the folder."""
    result, _ = drive(
        evaluate(folder(a_yaml=A), FUNCTION, None), lambda _: CallOutcome(resources=b"a: [")
    )

    assert "what it returned cannot be read: the file is not YAML" in str(result.error)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("v.yaml", "values: 1\n", "v.yaml: resource must have `apiVersion`"),
        ("v.yaml", "a: [\n", "is not YAML"),
    ],
)
def test_a_folder_with_other_yaml_is_refused(name: str, text: str, problem: str) -> None:
    """The short-cut: pass over what is no resource."""
    files = {**folder(a_yaml=A), name: Entry(text.encode())}

    result, calls = drive(evaluate(files, FUNCTION, None), grow)

    assert calls == []
    assert result.failed
    assert problem in str(result.error)


def test_selectors_choose_from_a_stream_too() -> None:
    """The short-cut: selectors for folders only."""
    function = replace(FUNCTION, selectors=(Selector(kind="B"),))
    stream = kio.read(f"{A}---\n{B}".encode())

    result, calls = drive(evaluate_stream(stream, function, None), grow)

    assert calls[0].counted
    texts = [each.source.text for each in result.items]
    assert texts[0].startswith(A.partition("size")[0].rstrip())
    assert "size: 1 # s" in texts[0]
    assert "size: 2" in texts[1]


def test_documents_get_a_path_and_their_position() -> None:
    """The short-cut: a path without an index, so that the order is lost."""
    stream = kio.read(f"{A}---\n{B}".encode())

    _, calls = drive(evaluate_stream(stream, FUNCTION, None), grow)

    assert [(each.path, each.index) for each in calls[0].items] == [
        ("a_a.yaml", 0),
        ("b_b.yaml", 1),
    ]


def test_a_list_comes_back_with_the_text_and_the_annotations_it_had() -> None:
    """The short-cut: write every resource anew."""
    notes = (
        "    annotations:\n      config.kubernetes.io/path: 'x.yaml'\n"
        "      internal.config.kubernetes.io/path: 'x.yaml'\n"
        "      internal.config.kubernetes.io/seqindent: 'wide'\n"
    )
    text = (
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
        f"- apiVersion: v1\n  kind: A\n  metadata:\n    name: a # n\n{notes}  size:   1\n"
    )
    stream = kio.read(text.encode())

    same, _ = drive(
        evaluate_stream(stream, FUNCTION, None), lambda call: CallOutcome(items=call.items)
    )
    grown, _ = drive(evaluate_stream(stream, FUNCTION, None), grow)

    assert kio.write(same.items, wrapper=stream.wrapper).decode() == text
    changed = kio.write(grown.items, wrapper=stream.wrapper).decode()
    assert changed == text.replace("size:   1", "size:   2")


def test_what_is_made_in_a_stream_says_where_it_lies() -> None:
    """The short-cut: leave it to whoever reads the stream next."""

    def make(call: FunctionCall) -> CallOutcome:
        made: Sequence[Item] = [
            Item({"apiVersion": "v1", "kind": "M", "metadata": {"name": "m", "namespace": "n"}})
        ]
        return CallOutcome(items=[*call.items, *made], exit_code=0)

    result, _ = drive(evaluate_stream(kio.read(B.encode()), FUNCTION, None), make)

    assert "internal.config.kubernetes.io/path: n/m_m.yaml" in result.items[1].source.text
