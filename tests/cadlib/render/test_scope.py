"""Rendering: which resources a function is given, in which order, and what a failure leaves."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from cadlib.package.files import Files
from cadlib.render.pipeline import CallOutcome, FunctionCall, Options, Rendered, RenderStage, render
from cadlib.stream.resourcelist import Item
from cadlib.yaml import Value
from tests.cadlib.render.driving import KPTFILE, pipeline, resource, tree

BREADTH_FIRST = '  annotations: {kpt.dev/bfs-rendering: "true"}\n'
SAVE = '  annotations: {kpt.dev/save-on-render-failure: "True"}\n'


def drive(files: Files, **options: object) -> tuple[Rendered, list[FunctionCall]]:
    """Render with functions that say in an annotation that they were there.

    One named `fail` fails, one named `drop` returns nothing, one named `make` adds a resource.
    """
    steps = render(files, options=Options(**options))  # type: ignore[arg-type]  # a test's own
    calls: list[FunctionCall] = []
    try:
        call = next(steps)
        while True:
            calls.append(call)
            call = steps.send(_outcome(call))
    except StopIteration as done:
        rendered: Rendered = done.value
        return rendered, calls


def _outcome(call: FunctionCall) -> CallOutcome:
    name = call.function.rpartition("/")[2].partition(":")[0]
    if name == "fail":
        return CallOutcome(error="no", exit_code=3, log="words")
    if name == "drop":
        return CallOutcome(items=[each for each in call.items if each.path.endswith("Kptfile")])
    made = [Item({"apiVersion": "v1", "kind": "Made", "metadata": {"name": "m"}})]
    marked = [replace(each, value=_marked(each.value, name)) for each in call.items]
    return CallOutcome(items=[*marked, *(made if name == "make" else [])])


def _marked(value: Value, name: str) -> Value:
    assert isinstance(value, dict)
    old = value.get("by")
    return {**value, "by": f"{old} {name}" if old else name}


def kptfile(text: str, annotations: str = "") -> str:
    """Make a root Kptfile with an annotation."""
    return text.replace(KPTFILE, KPTFILE + annotations)


def seen(calls: list[FunctionCall]) -> Mapping[str, list[str]]:
    """Return the names of the resources that each function was given."""
    return {
        call.function.rpartition("/")[2].partition(":")[0]: [each.path for each in call.items]
        for call in calls
    }


def test_a_function_sees_what_it_selects_and_the_rest_keeps_its_place() -> None:
    """The short-cut: hand over all resources, or lose those that were not selected."""
    files = tree(
        Kptfile=pipeline(
            "{image: one, selectors: [{kind: A}, {kind: A, name: a}, {name: c}]}",
            "{image: make, exclude: [{kind: Kptfile}]}",
        ),
        a_yaml=resource("a", kind="A"),
        b_yaml=resource("b"),
        c_yaml=resource("c"),
    )

    rendered, calls = drive(files)

    assert [(call.counted, [each.path for each in call.items]) for call in calls] == [
        (True, ["a.yaml", "c.yaml"]),
        (True, ["a.yaml", "b.yaml", "c.yaml"]),
    ]
    assert sorted(rendered.changes) == ["a.yaml", "b.yaml", "c.yaml", "made_m.yaml"]
    assert b"by: one make" in (rendered.changes["a.yaml"] or b"")


def test_what_a_function_drops_of_its_selection_is_deleted() -> None:
    """The short-cut: keep what did not come back, since it may not have been selected."""
    files = tree(
        Kptfile=pipeline("{image: drop, selectors: [{kind: A}]}"),
        a_yaml=resource("a", kind="A"),
        b_yaml=resource("b"),
    )

    assert drive(files)[0].changes == {"a.yaml": None}


def packages() -> dict[str, str]:
    """Make packages inside one another; each pipeline has one function named like its package."""
    return {
        "a__Kptfile": pipeline("a"),
        "a__x_yaml": resource("x"),
        "a__b__Kptfile": pipeline("b"),
        "a__b__y_yaml": resource("y"),
        "c__Kptfile": pipeline("c"),
    }


def test_breadth_first_each_package_comes_before_those_inside_it() -> None:
    """The short-cut: turn the order of the pipelines round, which is not level by level."""
    files = tree(Kptfile=kptfile(pipeline("root"), BREADTH_FIRST), **packages())

    rendered, calls = drive(files)

    assert seen(calls) == {
        "root": ["Kptfile", "a/Kptfile", "a/x.yaml", "a/b/Kptfile", "a/b/y.yaml", "c/Kptfile"],
        "a": ["Kptfile", "x.yaml", "b/Kptfile", "b/y.yaml"],
        "c": ["Kptfile"],
        "b": ["Kptfile", "y.yaml"],
    }
    assert list(seen(calls)) == ["root", "a", "c", "b"]
    assert b"by: root a b" in (rendered.changes["a/b/y.yaml"] or b"")


@pytest.mark.parametrize("annotation", [BREADTH_FIRST, ""])
def test_what_a_parent_makes_stays_its_own(annotation: str) -> None:
    """The short-cut: give what a function adds to the package that is rendered last."""
    files = tree(Kptfile=kptfile(pipeline("make"), annotation), **packages())

    rendered, _ = drive(files)

    assert rendered.changes["made_m.yaml"]
    assert not rendered.failed


@pytest.mark.parametrize(
    ("annotations", "root", "inner", "partial"),
    [
        ("", "root", "fail", {}),
        (SAVE, "fail", "one", {"a/Kptfile": "one", "a/x.yaml": "one"}),
        (SAVE, "root", "fail", {}),
        (
            SAVE.replace("{", '{kpt.dev/bfs-rendering: "true", '),
            "root",
            "fail",
            dict.fromkeys(("Kptfile", "a/Kptfile", "a/x.yaml", "b/Kptfile"), "root"),
        ),
    ],
)
def test_what_a_failure_leaves(
    annotations: str, root: str, inner: str, partial: Mapping[str, str]
) -> None:
    """The short-cut: write what was done so far always, or only where the root fails."""
    files = tree(
        Kptfile=kptfile(pipeline(root), annotations),
        a__Kptfile=pipeline(inner),
        a__x_yaml=resource("x"),
        b__Kptfile=KPTFILE,
    )

    rendered, _ = drive(files)

    assert rendered.changes == {}
    assert rendered.failed
    assert not rendered.complete
    assert {
        path: data.rpartition(b"by: ")[2].decode().strip()
        for path, data in rendered.partial.items()
    } == partial


def test_a_failure_deep_inside_keeps_what_was_rendered_elsewhere() -> None:
    """The short-cut (kpt's): keep nothing where the failure is two levels below the root."""
    files = tree(
        Kptfile=kptfile(pipeline("root"), SAVE),
        a__Kptfile=pipeline("one"),
        b__Kptfile=KPTFILE,
        b__c__Kptfile=pipeline("drop", "two", "fail"),
        b__c__x_yaml=resource("x"),
    )

    rendered, _ = drive(files)

    assert sorted(rendered.partial) == ["a/Kptfile", "b/c/Kptfile"]
    assert rendered.failure is not None
    assert (rendered.failure.package, rendered.failure.stage) == ("b/c", RenderStage.PIPELINE)


def test_as_kpt_the_first_validator_that_fails_is_the_last() -> None:
    """The short-cut: one rule for the bot and for the command line."""
    files = tree(Kptfile=pipeline("one", validators=["fail", "two"]), a_yaml=resource("a"))

    assert drive(files)[0].calls == 3
    rendered, calls = drive(files, as_kpt=True)
    assert len(calls) == 2
    assert [(each.exit_code, each.log, each.error) for each in rendered.steps] == [
        (0, "", ""),
        (3, "words", ""),
    ]


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("values: 1\n", "`apiVersion`"),
        ("apiVersion: v1\nmetadata: {name: a}\n", "`kind`"),
        ("apiVersion: v1\nkind: A\n", "`metadata.name`"),
        ("- a\n", "`apiVersion`"),
    ],
)
def test_as_kpt_yaml_that_is_no_resource_is_refused(text: str, lacks: str) -> None:
    """The short-cut: say so before anything runs; kpt runs the packages inside first."""
    files = tree(
        Kptfile=pipeline("one"), s__Kptfile=pipeline("two"), s__Kustomization="a: 1\n", v_yaml=text
    )

    rendered, calls = drive(files, as_kpt=True)

    problem = (
        f"input resource list must contain only KRM resources: v.yaml: resource must have {lacks}"
    )
    assert len(calls) == 1
    assert rendered.failure is not None
    assert rendered.failure.error is not None
    assert rendered.failure.error.problem == problem
    assert [each.error for each in rendered.steps] == ["", problem]
    assert not drive(files)[0].failed


def test_new_resources_of_a_file_come_by_their_index_and_last_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The short-cut: those without an index first, as kpt's writer has it, or as they came."""

    def made(name: str, path: str, index: int | None) -> Item:
        value: Value = {"apiVersion": "v1", "kind": "M", "metadata": {"name": name}}
        return Item(value, path=path, index=index)

    items = [
        made("three", "n.yaml", None),
        made("two", "n.yaml", 8),
        made("one", "n.yaml", 7),
        made("alone", "n.json", None),
    ]
    monkeypatch.setattr(
        f"{__name__}._outcome", lambda call: CallOutcome(items=[*call.items, *items], exit_code=0)
    )

    rendered, _ = drive(tree(Kptfile=pipeline("make")))

    text = rendered.changes["n.yaml"] or b""
    assert [line for line in text.decode().splitlines() if "name:" in line] == [
        "  name: one",
        "  name: two",
        "  name: three",
    ]
    assert (rendered.changes["n.json"] or b"").startswith(b'{\n  "apiVersion": "v1",')


def test_commands_run_only_where_they_are_allowed() -> None:
    """The short-cut: leave it to whoever runs the calls."""
    files = tree(Kptfile=pipeline('{exec: "one -x"}'), a_yaml=resource("a"))
    twice = tree(Kptfile=pipeline("{exec: one}", "{exec: two}"))
    assert [each.exec for each in drive(twice, as_kpt=True)[0].steps] == ["one"]

    rendered, calls = drive(files, as_kpt=True)
    assert calls == []
    assert [each.error for each in rendered.steps] == [
        "must run with `--allow-exec` option to allow running function binaries"
    ]
    assert drive(files)[0].calls == 0
    rendered, calls = drive(files, allow_exec=True)
    assert [(call.image, call.exec, call.function) for call in calls] == [("", "one -x", "one -x")]


def test_a_range_of_versions_means_the_highest_tag_in_it() -> None:
    """The short-cut: compare tags as texts, by which v0.9 comes after v0.10."""
    files = tree(Kptfile=pipeline("{image: one, tag: ~0.1}", "{image: x.io/two:v9, tag: ^1 }"))
    tags = {"one": ["v0.9.9", "v0.1.9", "v0.1.10", "latest"], "two": ["v1.2", "v2.0"]}

    rendered, calls = drive(files, tags=lambda image: tags[image.rpartition("/")[2]])

    assert [call.image.rpartition("/")[2] for call in calls] == ["one:v0.1.10", "two:v1.2"]
    assert not rendered.failed
    failed, _ = drive(files, tags=lambda _: [], as_kpt=True)
    assert 'no tag could be found matching the version constraint "~0.1"' in str(failed.findings)
