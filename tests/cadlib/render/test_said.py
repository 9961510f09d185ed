"""Rendering: what is said of what functions found, and of functions that break the rules."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from cadlib.findings import Severity
from cadlib.package.files import Entry
from cadlib.render.pipeline import CallOutcome, PipelineFunction
from cadlib.stream.resourcelist import Item, ResourceList, encode
from cadlib.yaml import Value
from tests.cadlib.render.driving import (
    KPTFILE,
    NEW,
    Behaviour,
    drive,
    failing,
    named,
    pipeline,
    put,
    resource,
    saying,
    tree,
    with_value,
)

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
            replace(item, value=with_value(item.value, ("spec", "list"), longer))
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
        f"Kptfile:7, pipeline.mutators[0]: the function returned invalid output: {problem}"
        in run.texts[0]
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
        "error: Kptfile:7, pipeline.validators[0]: the function returned invalid output: "
    )
    assert len(run.calls) == 2


def test_what_a_function_said_is_kept_when_it_breaks_the_rules() -> None:
    run = drive(
        tree(Kptfile=pipeline("bad")),
        {"bad": lambda given: CallOutcome(resources=encode([]) + b"results:\n- message: hello\n")},
    )

    assert [each.rpartition("]: ")[2] for each in run.texts] == [
        "the function returned invalid output: it added or removed 'Kptfile'."
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


def test_a_validator_may_speak_of_what_a_mutator_made() -> None:
    run = drive(
        tree(Kptfile=pipeline("make", validators=["check"])),
        {
            "make": lambda given: [*given.items, Item(value=NEW, comments={}, path="", index=None)],
            "check": saying({"message": "m", "resourceRef": {"kind": "A", "name": "n"}}),
        },
    )

    assert run.texts == ["info: a_n.yaml: m"]
