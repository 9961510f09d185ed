"""Rendering: which calls are made, and what is written."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cadlib.package.files import Entry, Files
from cadlib.render.pipeline import CallOutcome, PipelineFunction
from cadlib.stream.resourcelist import Item, ResourceList, decode, encode
from cadlib.yaml import Value, read
from tests.cadlib import real
from tests.cadlib.render.driving import (
    CATALOG,
    KPTFILE,
    NEW,
    Behaviour,
    drive,
    named,
    pipeline,
    put,
    resource,
    tree,
    with_value,
)

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
                replace(_moved(item), value=with_value(item.value, ["spec", "x"], 2))
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
            value = with_value(item.value, ["metadata", "namespace"], old["metadata"]["namespace"])
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
