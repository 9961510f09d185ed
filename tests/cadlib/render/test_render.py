"""Rendering: which calls are made, what is written, and what is said about bad input.

Longer than 400 lines: two tables: what is called and written, and what is said of bad input.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadlib.findings import Severity
from cadlib.limits import PackageLimits
from cadlib.package.files import Entry, Files
from cadlib.render.pipeline import CallOutcome, FunctionCall, PipelineFunction, Rendered, render
from cadlib.stream.resourcelist import Item, ResourceList, decode, encode
from cadlib.yaml import Value, read
from tests.cadlib import real

CATALOG = "ghcr.io/kptdev/krm-functions-catalog/"
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n"

Behaviour = Callable[[ResourceList], Sequence[Item] | CallOutcome]


@dataclass
class Run:
    """What a driven rendering did."""

    rendered: Rendered
    calls: list[FunctionCall] = field(default_factory=list)

    @property
    def seen(self) -> list[tuple[str, str, str, list[str]]]:
        """For each call: function, package, step, and the resources in order."""
        return [
            (
                call.image.removeprefix(CATALOG).removesuffix(":latest"),
                call.package,
                call.step,
                [f"{item.path}/{item.index}" for item in decode(call.resources).items],
            )
            for call in self.calls
        ]

    @property
    def texts(self) -> list[str]:
        """The findings as people read them."""
        return [f"{each.severity}: {each}" for each in self.rendered.findings]


def tree(**files: str) -> dict[str, Entry]:
    """Make a package; `__` stands for "/", `_yaml` at the end for ".yaml"."""
    return {
        path.replace("__", "/").replace("_yaml", ".yaml"): Entry(text.encode())
        for path, text in files.items()
    }


def pipeline(*mutators: str, validators: Sequence[str] = ()) -> str:
    """Make a Kptfile with these functions, each by name or as a flow mapping."""
    lines = [KPTFILE, "pipeline:\n"]
    for key, functions in (("mutators", mutators), ("validators", validators)):
        lines += [f"  {key}:\n"] if functions else []
        lines += [f"  - {each if '{' in each else f'image: {each}'}\n" for each in functions]
    return "".join(lines)


def resource(name: str, rest: str = "", kind: str = "Thing") -> str:
    """Make a resource's text."""
    return f"apiVersion: x.io/v1\nkind: {kind}\nmetadata:\n  name: {name}\n{rest}"


def drive(
    files: Files,
    behaviours: Mapping[str, Behaviour] | None = None,
    *,
    mutators: Sequence[PipelineFunction] = (),
    validators: Sequence[PipelineFunction] = (),
    limits: PackageLimits | None = None,
) -> Run:
    """Render with these functions, by short name; others return what they get."""
    steps = render(
        files, mutators=mutators, validators=validators, limits=limits or PackageLimits()
    )
    calls: list[FunctionCall] = []
    try:
        call = next(steps)
        while True:
            calls.append(call)
            name = call.image.removeprefix(CATALOG).partition(":")[0]
            call = steps.send(_outcome((behaviours or {}).get(name, same), call))
    except StopIteration as done:
        rendered: Rendered = done.value
        return Run(rendered, calls)


def _outcome(behaviour: Behaviour, call: FunctionCall) -> CallOutcome:
    given = decode(call.resources)
    came = behaviour(given)
    if isinstance(came, CallOutcome):
        return came
    return CallOutcome(resources=encode(came, given.config))


def same(given: ResourceList) -> Sequence[Item]:
    """Return the resources as they came."""
    return given.items


def put(*path: str, value: Value) -> Behaviour:
    """Make a function that sets one field of every resource."""

    def behaviour(given: ResourceList) -> Sequence[Item]:
        return [replace(item, value=_with(item.value, path, value)) for item in given.items]

    return behaviour


def _with(old: Value, path: Sequence[str], value: Value) -> Value:
    if not path:
        return value
    inner = old if isinstance(old, dict) else {}
    return {**inner, path[0]: _with(inner.get(path[0]), path[1:], value)}


def named(item: Item) -> Any:
    """Return a resource's name."""
    return item.value["metadata"]["name"]  # type: ignore[index,call-overload]  # a test's own resource


# --- what is written


ODD = (
    "\ufeff# head\r\napiVersion:   v1 # one\r\nkind: 'ConfigMap'\r\nmetadata: {name: \"odd\" }\r\n"
    "data:\r\n    a:   |\r\n        x  \r\n\r\n    b: 0755\r\n---\r\n# only a comment\r\n---\r\n"
    "kind: ConfigMap\r\napiVersion: v1\r\nmetadata:\r\n    name: &n two\r\ndata: {x: *n}"
)


def test_a_package_that_no_function_changes_keeps_every_byte() -> None:
    """The short-cut is to write every resource that was sent."""
    run = drive(tree(Kptfile=pipeline("a"), odd_yaml=ODD))

    assert run.rendered.changes == {}
    assert run.seen == [
        ("a", "", "mutators[0]", ["Kptfile/0", "odd.yaml/0", "odd.yaml/1"]),
    ]
    assert run.texts == []
    assert not run.rendered.failed


def test_a_changed_value_changes_its_line_only() -> None:
    """The short-cut is to write the changed resource anew, and lose its comments."""
    text = "# top\n" + resource("a", "  namespace: 'old' # here\nspec: {x: [1,2]}\n")
    run = drive(
        tree(Kptfile=KPTFILE + "  namespace: new\n", a_yaml=text),
        {"ns": put("metadata", "namespace", value="new")},
        mutators=[PipelineFunction(image="ns")],
    )

    assert run.rendered.changes == {"a.yaml": text.replace("'old'", "'new'").encode()}


def test_rendering_what_was_rendered_writes_nothing() -> None:
    files = tree(Kptfile=pipeline("l"), a_yaml=resource("a", "spec:\n  x: 1\n"))
    behaviours = {"l": put("metadata", "labels", value={"tier": "db"})}
    first = drive(files, behaviours).rendered.changes
    again = {**files, **{path: Entry(data) for path, data in first.items() if data is not None}}

    assert sorted(first) == ["Kptfile", "a.yaml"]
    assert drive(again, behaviours).rendered.changes == {}


def test_a_new_resource_goes_to_its_default_path() -> None:
    """The short-cut is to leave out what has no path annotation."""
    made: list[Value] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "shop"}},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
    ]
    run = drive(
        tree(Kptfile=KPTFILE, sub__Kptfile=pipeline("make")),
        {
            "make": lambda given: [
                *given.items,
                *(Item(value=value, comments={}, path="", index=None) for value in made),
            ]
        },
    )

    assert run.texts == []
    assert run.rendered.changes == {
        "sub/namespace_shop.yaml": (b"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n"),
        "sub/shop/configmap_m.yaml": (
            b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m\n  namespace: shop\n"
        ),
    }


def test_new_resources_share_a_file_that_is_there() -> None:
    new: Value = {"apiVersion": "v1", "kind": "A", "metadata": {"name": "new"}}
    run = drive(
        tree(Kptfile=pipeline("make"), a_yaml=resource("a")),
        {
            "make": lambda given: [
                *given.items,
                Item(value=new, comments={}, path="a.yaml", index=1),
            ]
        },
    )

    assert run.rendered.changes == {
        "a.yaml": (
            resource("a") + "---\napiVersion: v1\nkind: A\nmetadata:\n  name: new\n"
        ).encode()
    }


def drop(*names: str) -> Behaviour:
    """Make a function that removes resources."""
    return lambda given: [item for item in given.items if named(item) not in names]


def test_a_file_that_loses_one_resource_and_gains_another() -> None:
    run = drive(
        tree(Kptfile=pipeline("swap"), a_yaml=resource("a") + "---\n" + resource("b")),
        {
            "swap": lambda given: [
                *(item for item in given.items if named(item) != "a"),
                Item(value=NEW, comments={}, path="a.yaml", index=2),
            ]
        },
    )

    data = run.rendered.changes["a.yaml"] or b""
    assert [each.value for each in read(data).documents] == [
        read(resource("b").encode()).documents[0].value,
        NEW,
    ]


def test_empty_annotations_stay() -> None:
    """The short-cut is to take out our annotations and then what looks left over."""

    def tidy(given: ResourceList) -> Sequence[Item]:
        return [replace(item, value=_without_annotations(item.value)) for item in given.items]

    text = resource("a", "  annotations: {}\nspec: 1\n")

    assert drive(tree(Kptfile=pipeline("tidy"), a_yaml=text), {"tidy": tidy}).rendered.changes == {}


def _without_annotations(value: Value) -> Value:
    whole: Any = value
    metadata = {key: inner for key, inner in whole["metadata"].items() if key != "annotations"}
    return {**whole, "metadata": metadata}


def test_a_validator_may_speak_of_what_a_mutator_made() -> None:
    run = drive(
        tree(Kptfile=pipeline("make", validators=["check"])),
        {
            "make": lambda given: [*given.items, Item(value=NEW, comments={}, path="", index=None)],
            "check": saying({"message": "m", "resourceRef": {"kind": "A", "name": "n"}}),
        },
    )

    assert run.texts == ["info: a_n.yaml: m"]


def test_removed_resources_leave_their_file_and_an_empty_file_goes() -> None:
    """The short-cut is to write an empty file, or to drop the comments of those that stay."""
    run = drive(
        tree(
            Kptfile=pipeline("drop"),
            both_yaml="# both\n" + resource("a") + "---\n" + resource("b", "# tail\n"),
            all_yaml=resource("c") + "---\n" + resource("d"),
            values_yaml="replicas: 3\n",
        ),
        {"drop": drop("a", "c", "d")},
    )

    changes = run.rendered.changes
    assert run.texts == []
    assert sorted(changes) == ["all.yaml", "both.yaml"]
    assert changes["all.yaml"] is None
    assert [each.value for each in read(changes["both.yaml"] or b"").documents] == [
        read(resource("b").encode()).documents[0].value
    ]


def test_a_file_with_more_than_resources_is_not_deleted() -> None:
    files = tree(Kptfile=pipeline("drop"), mixed_yaml="some: values\n---\n" + resource("a"))
    changes = drive(files, {"drop": drop("a")}).rendered.changes

    assert [each.value for each in read(changes["mixed.yaml"] or b"").documents] == [
        {"some": "values"}
    ]


def test_a_resource_that_moves_leaves_its_old_file() -> None:
    def move(given: ResourceList) -> Sequence[Item]:
        return [
            replace(item, path="db/b.yaml", index=0) if named(item) == "b" else item
            for item in given.items
        ]

    run = drive(tree(Kptfile=pipeline("move"), b_yaml=resource("b")), {"move": move})

    assert run.texts == []
    assert run.rendered.changes == {"b.yaml": None, "db/b.yaml": resource("b").encode()}


def test_a_resource_may_be_moved_by_the_older_annotation_alone() -> None:
    """The short-cut is to read one kind of annotation; older functions know the other."""

    def move(given: ResourceList) -> CallOutcome:
        data = encode(given.items).replace(
            b" config.kubernetes.io/path: b.yaml", b" config.kubernetes.io/path: c.yaml"
        )
        return CallOutcome(resources=data)

    run = drive(tree(Kptfile=pipeline("move"), b_yaml=resource("b")), {"move": move})

    assert run.rendered.changes == {"b.yaml": None, "c.yaml": resource("b").encode()}


def test_a_resource_that_lost_its_path_stays_where_it_was() -> None:
    """The short-cut is to take it for a new one, in a new file without its comments."""
    text = resource("b", "spec:\n  x: 1 # one\n")
    run = drive(
        tree(Kptfile=pipeline("bare"), deep__b_yaml=text),
        {
            "bare": lambda given: [
                replace(_moved(item), value=_with(item.value, ["spec", "x"], 2))
                if named(item) == "b"
                else item
                for item in given.items
            ]
        },
    )

    assert run.rendered.changes == {"deep/b.yaml": text.replace("1 #", "2 #").encode()}


def _moved(item: Item) -> Item:
    return replace(item, path="", index=None)


# --- which calls are made


def test_subpackages_come_first_and_see_only_themselves() -> None:
    """The short-cut is to run the pipelines in the order of their paths, each over all."""
    run = drive(
        tree(
            Kptfile=pipeline("root"),
            a_yaml=resource("a"),
            z_yaml=resource("z"),
            m__Kptfile=pipeline("m1", "m2"),
            m__a_yaml=resource("ma"),
            m__deep__down__Kptfile=pipeline("deep"),
            m__deep__other_yaml=resource("other"),
            b__Kptfile=KPTFILE,
            b__b_yaml=resource("b"),
        ),
        validators=[PipelineFunction(image="check")],
    )

    m = ["Kptfile/0", "a.yaml/0", "deep/other.yaml/0", "deep/down/Kptfile/0"]
    everything = [
        "Kptfile/0",
        "a.yaml/0",
        "z.yaml/0",
        "b/Kptfile/0",
        "b/b.yaml/0",
        *(f"m/{path}" for path in m),
    ]
    assert run.seen == [
        ("deep", "m/deep/down", "mutators[0]", ["Kptfile/0"]),
        ("m1", "m", "mutators[0]", m),
        ("m2", "m", "mutators[1]", m),
        ("root", "", "mutators[0]", everything),
        ("check", "", "validators[0]", everything),
    ]
    assert [call.source for call in run.calls] == ["pipeline"] * 4 + ["guardrail"]
    assert run.rendered.calls == 5
    assert all(step.ok for step in run.rendered.steps)


def test_each_function_sees_what_the_one_before_left() -> None:
    seen: list[object] = []

    def look(given: ResourceList) -> Sequence[Item]:
        seen.append(
            [item.value.get("spec") for item in given.items if isinstance(item.value, dict)]
        )
        return ()

    run = drive(
        tree(Kptfile=KPTFILE, s__Kptfile=pipeline("one", "two", validators=["look", "look"])),
        {"one": put("spec", "a", value=1), "two": put("spec", "b", value=True), "look": look},
    )

    assert seen == [[{"a": 1, "b": True}]] * 2
    assert sorted(run.rendered.changes) == ["s/Kptfile"]


def test_configurations() -> None:
    """The short-cut is to read the file of `configPath`, and miss what functions did to it."""
    run = drive(
        tree(
            Kptfile=pipeline(
                "{image: one, configPath: ./c.yaml}",
                '{image: two, configMap: {a: 1.10, b: yes, c: "x"}}',
                "three",
                "{image: four, configPath: c.yaml}",
            ),
            c_yaml=resource("c", "spec: {x: 1}\n", kind="Config"),
        ),
        {"two": put("spec", "x", value=2)},
    )

    config = {"apiVersion": "x.io/v1", "kind": "Config", "metadata": {"name": "c"}}
    assert [_plain(decode(call.resources).config) for call in run.calls] == [
        {**config, "spec": {"x": 1}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "function-input"},
            "data": {"a": "1.10", "b": "yes", "c": "x"},
        },
        None,
        {**config, "spec": {"x": 2}},
    ]


def _plain(value: Value) -> Value:
    return value or None


def test_images_are_named_in_full() -> None:
    run = drive(
        tree(Kptfile=pipeline("a", "b:v1", "{image: 'x.io/c:v1', tag: v2}")),
        validators=[PipelineFunction(image="localhost:5000/d")],
    )

    assert [call.image for call in run.calls] == [
        CATALOG + "a:latest",
        CATALOG + "b:v1",
        "x.io/c:v2",
        "localhost:5000/d:latest",
    ]


def test_what_krmignore_excludes_is_not_sent() -> None:
    """The short-cut is to apply the root's patterns everywhere, or those of no subpackage."""
    run = drive(
        {
            **tree(
                Kptfile=pipeline("root"),
                a_yaml=resource("a"),
                gen__b_yaml=resource("b"),
                bad_yaml="{",
                sub__Kptfile=KPTFILE,
                sub__a_yaml=resource("a"),
                sub__c_yaml=resource("c"),
            ),
            ".krmignore": Entry(b"# generated\ngen/\na.yaml\nbad.*\nKptfile\n"),
            "sub/.krmignore": Entry(b"/c.yaml\n"),
        }
    )

    assert run.seen == [("root", "", "mutators[0]", ["Kptfile/0", "sub/Kptfile/0", "sub/a.yaml/0"])]
    assert run.texts == []


# --- what is said


def failing(error: str, *results: Mapping[str, object]) -> Behaviour:
    """Make a function that fails."""
    return lambda given: CallOutcome(resources=None, results=results, error=error)


def saying(*results: Mapping[str, object]) -> Behaviour:
    """Make a function that changes nothing and reports."""
    return lambda given: CallOutcome(resources=encode(given.items), results=results)


TWO = "# head\n" + resource("one", "spec:\n  a: 1\n  b:\n  - c: 2\n") + "---\n" + resource("two")
ABOUT: dict[str, tuple[Mapping[str, object], str]] = {
    "file and field": (
        {"file": {"path": "two.yaml"}, "field": {"path": "spec.b[0].c"}},
        "sub/two.yaml:9, spec.b[0].c",
    ),
    "a field with a dot in front": (
        {"file": {"path": "two.yaml"}, "field": {"path": ".spec.a"}},
        "sub/two.yaml:7, spec.a",
    ),
    "a JSON pointer": (
        {"file": {"path": "two.yaml"}, "field": {"path": "/spec/b/0/c"}},
        "sub/two.yaml:9, spec.b[0].c",
    ),
    "a field that is missing, at its parent": (
        {"file": {"path": "two.yaml"}, "field": {"path": "spec.b[0].d"}},
        "sub/two.yaml:9, spec.b[0].d",
    ),
    "a position in the file": ({"file": {"path": "two.yaml", "index": 1}}, "sub/two.yaml:11"),
    "a resource by name": (
        {
            "resourceRef": {"apiVersion": "x.io/v1", "kind": "Thing", "name": "two"},
            "field": {"path": "metadata.name"},
        },
        "sub/two.yaml:14, metadata.name",
    ),
    "a resource by name, where the position is wrong": (
        {"file": {"path": "two.yaml", "index": 0}, "resourceRef": {"kind": "Thing", "name": "two"}},
        "sub/two.yaml:11",
    ),
    "nothing: where the function is called": ({}, "sub/Kptfile:7, pipeline.validators[0]"),
    "a resource without a name": (
        {"resourceRef": {"kind": "Thing"}},
        "sub/Kptfile:7, pipeline.validators[0]",
    ),
    "a field that nobody can read": (
        {"file": {"path": "two.yaml"}, "field": {"path": "[" + "1" * 5000 + "]"}},
        "sub/two.yaml:2, [" + "1" * 5000 + "]",
    ),
    "a position that is no number": (
        {"file": {"path": "two.yaml", "index": "x"}},
        "sub/two.yaml:2",
    ),
    "a resource that is not there": (
        {"resourceRef": {"kind": "Thing", "name": "three"}},
        "sub/Kptfile:7, pipeline.validators[0]",
    ),
    "a file outside": (
        {"file": {"path": "../../etc/passwd"}},
        "sub/Kptfile:7, pipeline.validators[0]",
    ),
    "a file that is no resource": ({"file": {"path": "README.md"}}, "sub/README.md"),
    "a file of YAML that is no resource": (
        {"file": {"path": "values.yaml"}, "field": {"path": "a.1.b"}},
        "sub/values.yaml:3, a[1].b",
    ),
    "a position as text": ({"file": {"path": "two.yaml", "index": "1"}}, "sub/two.yaml:11"),
    "no position, and a field that only the second has": (
        {"file": {"path": "list.yaml"}, "field": {"path": "items.0.spec"}},
        "sub/list.yaml:12, items[0].spec",
    ),
    "a resource in a List, and a field of it": (
        {
            "resourceRef": {"kind": "Thing", "name": "inner"},
            "file": {"path": "list.yaml"},
            "field": {"path": ".spec.a"},
        },
        "sub/list.yaml:17, items[1].spec.a",
    ),
    "a resource in a List, and a field of the List": (
        {
            "resourceRef": {"kind": "Thing", "name": "inner"},
            "field": {"path": "items.0.metadata.name"},
        },
        "sub/list.yaml:11, items[0].metadata.name",
    ),
    "a resource in a List": ({"resourceRef": {"name": "inner"}}, "sub/list.yaml:13, items[1]"),
}

LIST = (
    resource("plain")
    + """\
---
apiVersion: v1
kind: List
metadata: {name: all}
items:
- {apiVersion: x.io/v1, kind: Thing,
   metadata: {name: first},
   spec: {a: 0}}
- apiVersion: x.io/v1
  kind: Thing
  metadata: {name: inner}
  spec:
    a: 1
"""
)


@pytest.mark.parametrize(("about", "place"), ABOUT.values(), ids=ABOUT)
def test_results_get_file_and_line(about: Mapping[str, object], place: str) -> None:
    """The short-cut is to copy the path as it is, relative to the subpackage, without a line."""
    run = drive(
        {
            **tree(
                Kptfile=KPTFILE,
                sub__Kptfile=pipeline(validators=["check"]),
                sub__two_yaml=TWO,
                sub__list_yaml=LIST,
                sub__values_yaml="a:\n- 1\n- b: 2\n",
            ),
            "sub/README.md": Entry(b""),
        },
        {"check": saying({"message": "m", "severity": "warning", **about})},
    )

    said = [str(each) for each in run.rendered.findings if each.function]
    assert said == [f"{place}: m"]
    assert not run.rendered.failed


def test_a_line_is_that_of_the_file_where_a_function_put_something_in_front() -> None:
    """The short-cut counts in the list as it is now, and shows the neighbour."""

    def grown(given: ResourceList) -> Sequence[Item]:
        longer: Value = ["zero", "one", "two"]
        return [
            replace(item, value=_with(item.value, ("spec", "list"), longer))
            if named(item) == "a"
            else item
            for item in given.items
        ]

    said = {"message": "m", "severity": "warning", "file": {"path": "a.yaml"}}
    run = drive(
        tree(
            Kptfile=pipeline("grow", validators=["check"]),
            a_yaml=resource("a", "spec:\n  list: [one,\n    two]\n"),
        ),
        {"grow": grown, "check": saying({**said, "field": {"path": "spec.list.2"}})},
    )

    assert run.texts == ["warning: a.yaml:7, spec.list[2]: m"]


def test_what_a_guardrail_says_about_no_place_is_about_the_package() -> None:
    """The short-cut is no place at all, which no annotation can be put at."""
    run = drive(
        tree(Kptfile=KPTFILE),
        {"check": failing("exit status 1", {"message": "m"})},
        validators=[PipelineFunction(image="check")],
    )

    assert run.texts == [
        "error: Kptfile: the function failed: exit status 1."
        " Look at what it says, then at its configuration and the resources.",
        "info: Kptfile: m",
    ]


def test_results_inside_the_resource_list_count_too() -> None:
    run = drive(
        tree(Kptfile=pipeline("check"), a_yaml=resource("a")),
        {
            "check": lambda given: CallOutcome(
                resources=encode(given.items) + b"results:\n- message: hello\n  severity: info\n"
            )
        },
    )

    assert run.texts == ["info: Kptfile:7, pipeline.mutators[0]: hello"]


def test_a_mutator_that_fails_ends_it_and_nothing_is_written() -> None:
    """The short-cut is to raise, and lose what the function said before it failed."""
    run = drive(
        tree(Kptfile=pipeline("one", "two", "three", validators=["check"])),
        {
            "one": put("metadata", "labels", value={"a": "b"}),
            "two": failing("exit status 1", {"message": "look here", "severity": "warning"}),
        },
    )

    assert [each[0] for each in run.seen] == ["one", "two"]
    assert run.rendered.changes == {}
    assert run.rendered.failed
    assert run.texts == [
        "error: Kptfile:8, pipeline.mutators[1]: the function failed: exit status 1."
        " Look at what it says, then at its configuration and the resources.",
        "warning: Kptfile:8, pipeline.mutators[1]: look here",
    ]
    assert [(step.ok, step.results) for step in run.rendered.steps] == [(True, 0), (False, 1)]


def test_a_validator_that_fails_does_not_silence_the_next() -> None:
    run = drive(
        tree(Kptfile=pipeline("one", validators=["two", "three"])),
        {
            "one": put("metadata", "labels", value={"a": "b"}),
            "two": failing("exit status 1", {"message": "bad", "severity": "error"}),
            "three": saying({"message": "odd"}),
        },
    )

    assert run.rendered.failed
    assert run.texts == [
        "error: Kptfile:9, pipeline.validators[0]: bad",
        "info: Kptfile:10, pipeline.validators[1]: odd",
    ]
    assert sorted(run.rendered.changes) == ["Kptfile"]


NEW: Value = {"apiVersion": "v1", "kind": "A", "metadata": {"name": "n"}}
BROKEN: dict[str, tuple[Behaviour, str]] = {
    "nothing": (lambda given: CallOutcome(), "it returned no resources"),
    "no resource list": (lambda given: CallOutcome(resources=b"kind: Pod\n"), ""),
    "no YAML": (lambda given: CallOutcome(resources=b"{"), ""),
    "a resource without a kind": (
        lambda given: [
            *given.items,
            Item(value={"apiVersion": "v1"}, comments={}, path="", index=None),
        ],
        "output resource list must contain only KRM resources: _.yaml: resource must have `kind`",
    ),
    "a path out of the package": (
        lambda given: [*given.items, Item(value=NEW, comments={}, path="a/../../n.yaml", index=0)],
        "function must not modify resources outside of package: resource has path a/../../n.yaml",
    ),
    "a folder for a path": (
        lambda given: [*given.items, Item(value=NEW, comments={}, path="s/", index=None)],
        "config.kubernetes.io/path cannot be a directory: s/",
    ),
    "two at one place": (
        lambda given: [*given.items, Item(value=NEW, comments={}, path="./a.yaml", index=0)],
        'resource at path "a.yaml" and index "0" already exists',
    ),
    "no Kptfile any more": (lambda given: given.items[1:], "it added or removed 'Kptfile'"),
}


@pytest.mark.parametrize(("behaviour", "problem"), BROKEN.values(), ids=BROKEN)
def test_a_function_that_breaks_the_rules(behaviour: Behaviour, problem: str) -> None:
    run = drive(
        tree(Kptfile=pipeline("bad", validators=["check"]), a_yaml=resource("a")),
        {"bad": behaviour},
    )

    assert run.rendered.failed
    assert run.rendered.changes == {}
    assert [each.severity for each in run.rendered.findings] == [Severity.ERROR]
    assert (
        f"Kptfile:7, pipeline.mutators[0]: the function broke the rules: {problem}" in run.texts[0]
    )
    assert len(run.calls) == 1


GARBLED: dict[str, Behaviour] = {
    "nothing": BROKEN["nothing"][0],
    "no resource list": BROKEN["no resource list"][0],
    "no YAML": BROKEN["no YAML"][0],
}


@pytest.mark.parametrize("behaviour", GARBLED.values(), ids=GARBLED)
def test_a_validator_whose_answer_cannot_be_read_has_not_passed(behaviour: Behaviour) -> None:
    """The short-cut is to look for results, find none, and let the package through."""
    run = drive(tree(Kptfile=pipeline(validators=["bad", "next"])), {"bad": behaviour})

    assert run.rendered.failed
    assert len(run.texts) == 1
    assert run.texts[0].startswith(
        "error: Kptfile:7, pipeline.validators[0]: the function broke the rules: "
    )
    assert len(run.calls) == 2


def test_what_a_function_said_is_kept_when_it_breaks_the_rules() -> None:
    run = drive(
        tree(Kptfile=pipeline("bad")),
        {"bad": lambda given: CallOutcome(resources=encode([]) + b"results:\n- message: hello\n")},
    )

    assert [each.rpartition("]: ")[2] for each in run.texts] == [
        "the function broke the rules: it added or removed 'Kptfile'."
        " A package is made or removed by hand; keep its Kptfile in the function's output.",
        "hello",
    ]


PLACED: dict[str, tuple[str, str]] = {
    "a text file": (
        "README.md",
        "README.md: a function put a resource into a file that holds none",
    ),
    "another ending": ("n.txt", "n.txt: a function put a resource into a file that holds none"),
    "git's own folder": (".git/n.yaml", ".git/n.yaml: the path has a part '.git'"),
    "below a file": ("a.yaml/n.yaml", "a.yaml/n.yaml: a function put a resource where a file and"),
    "a folder": ("d.yaml", "d.yaml: a function put a resource where a file and"),
}


@pytest.mark.parametrize(("path", "problem"), PLACED.values(), ids=PLACED)
def test_a_resource_where_no_file_can_be(path: str, problem: str) -> None:
    run = drive(
        {
            **tree(Kptfile=pipeline("make"), a_yaml=resource("a")),
            "README.md": Entry(b"text"),
            "d.yaml/x": Entry(b""),
        },
        {"make": lambda given: [*given.items, Item(value=NEW, comments={}, path=path, index=0)]},
    )

    assert run.rendered.failed
    assert run.rendered.changes == {}
    assert [problem in text for text in run.texts] == [True]


BOMB = (
    b"a: &a [x,x,x,x,x,x,x,x,x]\n"
    b"b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
    b"c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
    b"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
    b"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"
    b"f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n"
)
BAD: dict[str, tuple[dict[str, Entry], str]] = {
    "no Kptfile": ({"a.yaml": Entry(b"a: b\n")}, "error: Kptfile: the package has no Kptfile."),
    "a Kptfile that is no YAML": (
        {"Kptfile": Entry(b"kind: Kptfile\n  x: [\n")},
        "error: Kptfile:2: the file is not YAML",
    ),
    "a Kptfile that is not UTF-8": (
        {"Kptfile": Entry(KPTFILE.encode() + b"info: {site: \xff}\n")},
        "error: Kptfile:5: byte",
    ),
    "a field that kpt does not know": (
        {"Kptfile": Entry(KPTFILE.encode() + b"pipelines: {}\n")},
        "error: Kptfile:5, pipelines: field pipelines not found in type v1.KptFile.",
    ),
    "an old version": (
        {"Kptfile": Entry(KPTFILE.replace("/v1", "/v1alpha1").encode())},
        'error: Kptfile:1, apiVersion: old resource version "v1alpha1" found in Kptfile.',
    ),
    "a subpackage's Kptfile": (
        tree(Kptfile=KPTFILE, sub__Kptfile="kind: Kptfile\n"),
        'error: sub/Kptfile:1, apiVersion: unknown resource type "/, Kind=Kptfile" found',
    ),
    "a symlink out of the package": (
        {**tree(Kptfile=KPTFILE), "l.yaml": Entry(b"../../secret.yaml", "120000")},
        "error: l.yaml: the symlink points out of the package, at '../../secret.yaml'."
        " Replace the symlink by the file it should stand for.",
    ),
    "a path upwards": (
        {**tree(Kptfile=KPTFILE), "a/../../b.yaml": Entry(b"")},
        "error: a/../../b.yaml: the path has a part '.' or '..'.",
    ),
    "an alias bomb": (
        {**tree(Kptfile=KPTFILE), "bomb.yaml": Entry(BOMB)},
        "error: bomb.yaml:5: the aliases of this file stand for more than 10000 nodes.",
    ),
    "20,001 files": (
        {**tree(Kptfile=KPTFILE), **{f"{n}.yaml": Entry(b"") for n in range(20_000)}},
        "error: Kptfile: the package holds 20001 files, more than 20000."
        " Split it into smaller packages, or move what is not configuration elsewhere.",
    ),
    "a folder named like a revision": (
        tree(Kptfile=KPTFILE, v5__Kptfile=KPTFILE),
        "error: v5/Kptfile: a folder named like a revision, 'v5', cannot be a package.",
    ),
    "a duplicate key": (
        tree(Kptfile=KPTFILE, a_yaml=resource("a") + "kind: Other\n"),
        "error: a.yaml:5, kind: the key 'kind' stands in this mapping twice, first on line 2.",
    ),
    "a file that is not UTF-8": (
        {**tree(Kptfile=KPTFILE), "a.yaml": Entry(resource("a").encode() + b"x: \xe9\n")},
        "error: a.yaml:5: byte",
    ),
    "a file that is no YAML": (
        tree(Kptfile=KPTFILE, a_yaml=resource("a") + "x: [1, 2\n"),
        "error: a.yaml:6: the file is not YAML",
    ),
    "a file that is no YAML and quotes a template": (
        tree(Kptfile=KPTFILE, a_yaml=resource("a") + "b: '{{ .x }}'\nc:\nd: e\nf: [1, 2\ng: h\n"),
        "error: a.yaml:9: the file is not YAML",
    ),
    "too deep": (
        tree(Kptfile=KPTFILE, a_yaml="[" * 65 + "]" * 65),
        "error: a.yaml:1: mappings and lists lie more than 64 deep.",
    ),
    "a template in the Kptfile": (
        tree(Kptfile=KPTFILE + "info: {{ .x }}\n"),
        "error: Kptfile:1: the Kptfile is a template and not YAML.",
    ),
    "patterns to ignore that cannot be read": (
        {**tree(Kptfile=KPTFILE), ".krmignore": Entry(b"\xff")},
        "error: .krmignore: the patterns cannot be read:",
    ),
    "a configuration that is missing": (
        tree(Kptfile=pipeline("{image: a, configPath: c.yaml}")),
        "error: Kptfile:7, pipeline.mutators[0].configPath:"
        ' failed to open functionConfig from path "c.yaml": open c.yaml: no such file or directory.'
        " Give the path of a file in this package, relative to the Kptfile.",
    ),
    "a configuration in a subpackage": (
        tree(
            Kptfile=pipeline("{image: a, configPath: s/c.yaml}"),
            s__Kptfile=KPTFILE,
            s__c_yaml=resource("c"),
        ),
        "error: Kptfile:7, pipeline.mutators[0].configPath:"
        ' functionConfig resource for mutator "a" is missing from path "s/c.yaml", this also occurs'
        ' if "s/c.yaml" is part of a subpackage. Name a file of this package itself',
    ),
    "two configurations in one file": (
        tree(
            Kptfile=pipeline("{image: a, configPath: c.yaml}"),
            c_yaml=resource("c") + "---\n" + resource("d"),
        ),
        "error: Kptfile:7, pipeline.mutators[0].configPath:"
        ' functionConfig "c.yaml" must not contain more than one config, got 2.',
    ),
    "a configuration without a name": (
        tree(Kptfile=pipeline("{image: a, configPath: c.yaml}"), c_yaml="kind: C\n"),
        "error: Kptfile:7, pipeline.mutators[0].configPath:"
        " resource must have `apiVersion`. Give it apiVersion, kind and metadata.name.",
    ),
    "exec": (
        tree(Kptfile=pipeline("{exec: rm -rf /}")),
        "error: Kptfile:7, pipeline.mutators[0].exec: `exec` of a function is not supported."
        " Use a function that has an image.",
    ),
    "a range of versions": (
        tree(Kptfile=pipeline("{image: a, tag: ~1.2}")),
        "error: Kptfile:7, pipeline.mutators[0].tag: `tag` with a range of versions",
    ),
}
GOES_ON = {
    "an alias bomb",
    "a duplicate key",
    "a file that is not UTF-8",
    "a file that is no YAML",
    "a file that is no YAML and quotes a template",
    "too deep",
    "patterns to ignore that cannot be read",
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    """The short-cut is to let the parser's exception through."""
    files, text = BAD[name]
    run = drive(files)

    assert [line[: len(text)] for line in run.texts] == [text]
    assert run.rendered.findings[0].fix
    assert run.rendered.changes == {}
    assert run.rendered.failed == (name not in GOES_ON)
    assert run.calls == []


def test_many_small_bombs_are_one_large_one() -> None:
    """The short-cut is a limit for each file: 20,000 of them fill the memory."""
    small = b"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b]\n"
    limits = PackageLimits(nodes=1_000, package_nodes=2_000)
    files = tree(Kptfile=KPTFILE) | {f"{n}.yaml": Entry(small) for n in range(8)}

    assert drive(files, limits=limits).texts == [
        f"error: {n}.yaml: the aliases of the package's files, up to this one, stand for more"
        " than 2000 nodes. Write the values out, or use fewer aliases."
        for n in (5, 6, 7)
    ]


def test_the_bomb_is_the_one_that_was_meant() -> None:
    assert len(BOMB) < 442


HELM = {
    "a block": "{{- if .Values.on }}\napiVersion: v1\nkind: A\nmetadata:\n  name: a\n{{- end }}\n",
    "a value": "apiVersion: v1\nkind: A\nmetadata:\n  name: {{ .Values.name }}\n",
    "a value with more": "apiVersion: v1\nkind: A\nmetadata:\n  name: {{ .name }}-x\n  b: c\n",
    "an include": 'kind: A\nmetadata:\n  labels:\n    {{- include "a.b" . | nindent 4 }}\nx: y\n',
    "a range": "kind: A\nx:\n{{- range .Values.y }}\n- a: {{ . }}\n{{- end }}\n",
}


@pytest.mark.parametrize("text", HELM.values(), ids=HELM)
def test_templates_pass_untouched_with_a_warning(text: str) -> None:
    """The short-cut is an error, as kpt has it, for every package that wraps a chart."""
    run = drive(
        tree(Kptfile=pipeline("l"), chart__t_yaml=text, a_yaml=resource("a")),
        {"l": put("metadata", "labels", value={"a": "b"})},
    )

    assert [each.split(":")[0:2] for each in run.texts] == [["warning", " chart/t.yaml"]]
    assert sorted(run.rendered.changes) == ["Kptfile", "a.yaml"]
    assert not run.rendered.failed


def test_any_template_in_the_folder_of_a_chart_is_one() -> None:
    text = "a: '{{ .x }}'\n\n\nb: {\nc: d\n"
    run = drive(tree(Kptfile=KPTFILE, c__templates__t_yaml=text, t_yaml=text))

    assert [each.split(",")[0] for each in run.texts] == [
        "warning: c/templates/t.yaml:6: this is a template and not YAML",
        "error: t.yaml:6: the file is not YAML: while parsing a flow mapping",
    ]


def test_what_is_no_resource_passes_untouched() -> None:
    run = drive(
        {
            **tree(
                Kptfile=pipeline("l"),
                values_yaml="replicas: 3\n",
                kustomization_yaml="resources: [a.yaml]\n",
                list_yaml="- a\n- b\n",
                comments_yaml="# nothing\n---\n# here\n",
                empty_yaml="",
                nameless_yaml="apiVersion: v1\nkind: A\n",
            ),
            "picture.png": Entry(b"\x89PNG\r\n\xff\x00"),
            "package.json": Entry(b'{"name": "x"}'),
            "tool": Entry(b"\x7fELF", "100755"),
            "link.yaml": Entry(b"values.yaml", "120000"),
        },
        {"l": put("metadata", "labels", value={"a": "b"})},
    )

    assert run.seen == [("l", "", "mutators[0]", ["Kptfile/0"])]
    assert sorted(run.rendered.changes) == ["Kptfile"]
    assert run.texts == [
        "info: nameless.yaml:1: A without metadata.name: no function sees it."
        " Give it a name if it is a resource."
    ]


def test_all_that_is_wrong_is_said_at_once() -> None:
    run = drive(
        tree(
            Kptfile=pipeline("{exec: a}", "{image: b, configPath: c.yaml}"),
            bad_yaml="{",
            s__Kptfile="kind: x\n",
        )
    )

    assert [each.place.path for each in run.rendered.findings] == [
        "Kptfile",
        "Kptfile",
        "bad.yaml",
        "s/Kptfile",
    ]
    assert run.calls == []


@given(
    st.dictionaries(
        st.sampled_from(["a.yaml", "b/Kptfile", ".krmignore", "b/.krmignore", "c.json", "d.yml"]),
        st.binary(max_size=60)
        | st.text(alphabet="ab:-{}[]&*!|>'\"#%@,? \n\t\r\u2028\ufeff", max_size=60).map(str.encode),
    )
)
def test_nothing_is_raised_whatever_the_files_hold(files: dict[str, bytes]) -> None:
    whole = {"Kptfile": Entry(pipeline("a").encode())} | {
        path: Entry(data) for path, data in files.items()
    }

    assert drive(whole).rendered.changes == {}


# --- real packages and public cases


def _as_is(name: str, files: Files) -> tuple[Files, str]:
    """Replace every pipeline by one that sets the namespace that is already there."""
    kept = {path: entry for path, entry in files.items() if not path.endswith("Kptfile")}
    return {**kept, "Kptfile": Entry(pipeline("identity", "namespace").encode())}, name


def namespace_again(given: ResourceList) -> Sequence[Item]:
    """Set each resource's namespace to what it is."""
    items = []
    for item in given.items:
        old: Any = item.value
        if "namespace" in old["metadata"]:
            value = _with(item.value, ["metadata", "namespace"], old["metadata"]["namespace"])
            items.append(replace(item, value=value))
        else:
            items.append(item)
    return items


def test_real_packages_are_their_own_rendering_when_nothing_changes() -> None:
    """The short-cut is a round trip through values, which changes almost every file."""
    written, broken, sent = {}, {}, 0
    for name, files in real.packages().items():
        whole, _ = _as_is(name, files)
        run = drive(whole, {"namespace": namespace_again})
        sent += len(decode(run.calls[0].resources).items) if run.calls else 0
        if run.rendered.changes:
            written[name] = sorted(run.rendered.changes)
        if run.rendered.failed:
            broken[name] = run.texts
    print(f"\n{len(real.packages())} packages, {sent} resources: {len(written)} written to")

    assert written == {}
    assert broken == {}
