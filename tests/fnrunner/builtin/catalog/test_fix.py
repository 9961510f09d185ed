"""fix: what becomes of Kptfiles, setters and functions of kpt before 1.0."""

from typing import Any

import pytest

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value, read
from fnrunner.builtin.catalog import fix
from fnrunner.builtin.verdict import FunctionResult
from tests.fnrunner.builtin.catalog import texts

OLD = """
apiVersion: kpt.dev/v1alpha1
kind: Kptfile
metadata:
  name: shop # as ever
packageMetadata: {shortDescription: A shop, email: a@b.c, version: v1}
upstream: {type: git, git: {repo: r, directory: /d, ref: v1, commit: abc}}
dependencies: [{name: db}]
openAPI:
  definitions:
    io.k8s.cli.setters.tag: {x-k8s-cli: {setter: {name: tag, value: "1.0"}}}
    io.k8s.cli.setters.size:
      x-k8s-cli: {setter: {name: size, value: s, enumValues: {s: small, l: large}}}
    io.k8s.cli.setters.zones: {x-k8s-cli: {setter: {name: zones, listValues: [a, b]}}}
    io.k8s.cli.substitutions.image:
      x-k8s-cli:
        substitution:
          name: image
          pattern: shop-SIZE:TAG
          values:
          - {marker: TAG, ref: "#/definitions/io.k8s.cli.setters.tag"}
          - {marker: SIZE, ref: "#/definitions/io.k8s.cli.setters.size"}
"""
MARKED = """
apiVersion: v1
kind: X
metadata:
  name: x
tag: 1.0 # {"$kpt-set":"tag"}
older: 1.0 # {"$ref":"#/definitions/io.k8s.cli.setters.tag"}
image: shop-small:1.0 # {"$kpt-set":"image"}
zones: # {"$kpt-set":"zones"}
- a
unknown: 1 # {"$kpt-set":"nobody"}
other: 1 # a note
"""
FUNCTION = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: labels
  annotations:
    config.kubernetes.io/function: |
      container: {image: gcr.io/kpt-fn/set-labels:v0.1}
data: {a: b}
"""


def items(**texts: str) -> tuple[Item, ...]:
    """Files by path, with "__" for "/"."""
    return tuple(
        Item(document.value, document.comments, name.replace("__", "/"), index)
        for name, text in texts.items()
        for index, document in enumerate(
            each for each in read(text.encode()).documents if not each.empty
        )
    )


def fixed(*given: Item) -> FunctionResult:
    return fix.run(ResourceList(given))


def by_path(verdict: FunctionResult) -> dict[str, Any]:
    return {item.path: item.value for item in verdict.items}


def messages(verdict: FunctionResult) -> list[object]:
    return [result["message"] for result in verdict.results]


def test_a_kptfile_has_its_fields_where_v1_has_them() -> None:
    """Short-cut: change the version, and leave the fields that v1 does not know."""
    verdict = fixed(*items(Kptfile=OLD))
    git = {"repo": "r", "directory": "/d", "ref": "v1"}
    found = by_path(verdict)
    assert list(found["Kptfile"].items()) == [
        ("apiVersion", "kpt.dev/v1"),
        ("kind", "Kptfile"),
        ("metadata", {"name": "shop"}),
        ("upstream", {"type": "git", "git": git, "updateStrategy": "resource-merge"}),
        ("upstreamLock", {"type": "git", "git": {**git, "commit": "abc"}}),
        ("info", {"emails": ["a@b.c"], "description": "A shop"}),
        (
            "pipeline",
            {
                "mutators": [
                    {"image": "gcr.io/kpt-fn/apply-setters:v0.2", "configPath": "setters.yaml"}
                ]
            },
        ),
    ]
    assert found["setters.yaml"]["data"] == {"size": "s", "tag": "1.0", "zones": "- a\n- b\n"}
    assert verdict.items[0].comments == {("metadata", "name"): "# as ever"}
    assert verdict.log == (
        "Kptfile: `packageMetadata.version` is dropped: kpt.dev/v1 has no place for it\n"
        "Kptfile: `dependencies` is dropped: kpt.dev/v1 has no place for it\n"
    )


def test_setters_are_marked_in_todays_form() -> None:
    """Short-cut: put the name of a substitution where its pattern belongs."""
    verdict = fixed(*items(Kptfile=OLD, **{"x.yaml": MARKED}))
    marked = {item.path: item.comments for item in verdict.items}["x.yaml"]
    assert marked == {
        ("tag",): "# kpt-set: ${tag}",
        ("older",): "# kpt-set: ${tag}",
        ("image",): "# kpt-set: shop-small:${tag}",
        ("zones",): "# kpt-set: ${zones}",
        ("unknown",): '# {"$kpt-set":"nobody"}',
        ("other",): "# a note",
    }


def test_each_package_has_setters_of_its_own() -> None:
    """Short-cut: resolve every marker with the root's definitions."""
    empty = "apiVersion: kpt.dev/v1alpha1\nkind: Kptfile\nmetadata: {name: inner}"
    verdict = fixed(*items(Kptfile=OLD, inner__Kptfile=empty, **{"inner__x.yaml": MARKED}))
    marked = {item.path: item.comments for item in verdict.items}["inner/x.yaml"]
    assert marked[("tag",)] == '# {"$kpt-set":"tag"}'
    assert by_path(verdict)["inner/Kptfile"]["pipeline"] == {}


def test_declared_functions_stand_in_the_pipeline_each_with_a_file() -> None:
    """Short-cut: leave two configurations in one file, which kpt 1.0 refuses."""
    other = FUNCTION.replace("set-labels", "set-annotations")
    bare = "apiVersion: kpt.dev/v1alpha1\nkind: Kptfile\nmetadata: {name: a}"
    verdict = fixed(*items(Kptfile=bare, **{"deep/fns.yaml": f"{FUNCTION}---{other}"}))
    found = by_path(verdict)
    assert found["Kptfile"]["pipeline"]["mutators"] == [
        {"image": "gcr.io/kpt-fn/set-labels:v0.1", "configPath": "labels.yaml"},
        {"image": "gcr.io/kpt-fn/set-annotations:v0.1", "configPath": "labels-2.yaml"},
    ]
    assert found["labels.yaml"]["metadata"] == {"name": "labels"}
    assert [item.path for item in verdict.items] == ["Kptfile", "labels.yaml", "labels-2.yaml"]
    assert messages(verdict) == [
        f'Added "gcr.io/kpt-fn/{name}:v0.1" to mutators list, please move it to validators section'
        " if it is a validator function"
        for name in ("set-labels", "set-annotations")
    ]


LATER = """
apiVersion: kpt.dev/v1alpha2
kind: Kptfile
metadata: {name: a}
pipeline:
  mutators:
  - image: gcr.io/kpt-fn/set-labels:v0.1
    configMap: {a: b}
  - image: gcr.io/kpt-fn/apply-setters:v0.2
    configMap: {zones: "[a, b]", name: x}
"""


OLDER = {
    "metadata.configFn": "  configFn: {container: {image: gcr.io/kpt-fn/old:v1}}\n",
    "an annotation with the image": (
        "  annotations: {config.kubernetes.io/container: gcr.io/kpt-fn/old:v1}\n"
    ),
}


@pytest.mark.parametrize("declaration", OLDER.values(), ids=OLDER)
def test_older_ways_to_declare_a_function_are_known(declaration: str) -> None:
    """Short-cut: look for the annotation `function` alone."""
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: old\n{declaration}data: {{a: b}}\n"
    found = by_path(fixed(*items(Kptfile=OLD, **{"fn__a.yaml": text})))
    assert found["Kptfile"]["pipeline"]["mutators"][1:] == [
        {"image": "gcr.io/kpt-fn/old:v1", "configPath": "old.yaml"}
    ]
    assert found["old.yaml"]["metadata"] == {"name": "old"}


NUMBERS = {
    "v1alpha1": (
        "upstream: {type: git, git: {repo: r, directory: /, ref: 1.10}}\n"
        "openAPI: {definitions: {io.k8s.cli.setters.v: {x-k8s-cli: {setter: {name: v,"
        " value: 1.10}}}, io.k8s.cli.setters.l: {x-k8s-cli: {setter: {name: l,"
        " listValues: [1.10, 010]}}}}}\n",
        {"v": "1.10", "l": "- 1.10\n- 010\n"},
    ),
    "v1alpha2": (
        "upstream: {type: git, git: {repo: r, directory: /, ref: '1.10'}}\n"
        "pipeline: {mutators: [{image: 'gcr.io/kpt-fn/apply-setters:v0.1',"
        " configMap: {v: 1.10, m: 0644, b: true}}]}\n",
        {"v": "1.10", "m": "0644", "b": "true"},
    ),
}


@pytest.mark.parametrize("version", NUMBERS)
def test_numbers_become_the_texts_they_are_written_as(version: str) -> None:
    """Short-cut: take what the numbers would be written as, so that 1.10 becomes 1.1."""
    fields, data = NUMBERS[version]
    head = f"apiVersion: kpt.dev/{version}\nkind: Kptfile\nmetadata:\n  name: a\n"
    found = by_path(fixed(*texts.items(head + fields, "Kptfile")))
    assert found["setters.yaml"]["data"] == data
    assert found["Kptfile"]["upstream"]["git"]["ref"] == "1.10"


def test_a_part_of_several_substitutions_is_no_circle() -> None:
    """Short-cut: take what was met before for a circle, wherever that was."""
    both = """\
    io.k8s.cli.substitutions.both:
      x-k8s-cli:
        substitution:
          name: both
          pattern: ONE+TWO
          values:
          - {marker: ONE, ref: "#/definitions/io.k8s.cli.substitutions.image"}
          - {marker: TWO, ref: "#/definitions/io.k8s.cli.substitutions.image"}
"""
    text = 'apiVersion: v1\nkind: X\nmetadata: {name: x}\nboth: a # {"$kpt-set":"both"}\n'
    found = fixed(*items(Kptfile=OLD + both, **{"x.yaml": text}))
    assert found.items[1].comments == {("both",): "# kpt-set: shop-small:${tag}+shop-small:${tag}"}


@pytest.mark.parametrize("version", ["v1", "v1alpha1"])
def test_a_function_without_an_image_stays_as_it_is(version: str) -> None:
    """Short-cut: make every declared function one of the pipeline."""
    image = "container: {image: gcr.io/kpt-fn/set-labels:v0.1}"
    text = FUNCTION if version == "v1" else FUNCTION.replace(image, "starlark: {path: a.star}")
    kptfile = f"apiVersion: kpt.dev/{version}\nkind: Kptfile\nmetadata: {{name: a}}"
    given = items(Kptfile=kptfile, **{"fn__a.yaml": text})
    assert fixed(*given).items[1] == given[1]


def test_a_kptfile_is_known_by_its_kind() -> None:
    """Short-cut: look up its setters by the name of its file, and fail where it has another."""
    found = by_path(fixed(*items(**{"other.yaml": OLD})))
    assert found["other.yaml"]["apiVersion"] == "kpt.dev/v1"
    assert found["setters.yaml"]["data"]["tag"] == "1.0"
    marked = fixed(*items(Kptfile=MARKED, **{"x.yaml": MARKED, "a__Kptfile": OLD}))
    assert marked.items[1].comments["tag",] == '# {"$kpt-set":"tag"}'


def test_setters_of_v1alpha2_move_into_a_file() -> None:
    """Short-cut: take the configuration of the first mutator for that of the setters."""
    verdict = fixed(*items(Kptfile=LATER, **{"setters.yaml": "kind: X\nmetadata: {name: a}"}))
    found = by_path(verdict)
    assert found["Kptfile"]["apiVersion"] == "kpt.dev/v1"
    assert found["Kptfile"]["pipeline"]["mutators"] == [
        {"image": "gcr.io/kpt-fn/set-labels:v0.1", "configMap": {"a": "b"}},
        {"image": "gcr.io/kpt-fn/apply-setters:v0.2", "configPath": "setters-2.yaml"},
    ]
    assert list(found["setters-2.yaml"]["data"].items()) == [("name", "x"), ("zones", "- a\n- b\n")]
    assert verdict.results[1] == {
        "message": "Moved setters from configMap to configPath",
        "file": {"path": "setters-2.yaml"},
    }


def test_a_package_of_today_stays() -> None:
    given = items(Kptfile="apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}")
    verdict = fixed(*given)
    assert verdict.items[0] is given[0]
    assert messages(verdict) == [
        "This package is already fixed as it is on latest apiVersion kpt.dev/v1"
    ]


def test_an_inventory_object_is_pointed_out() -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: i\n"
        "  labels: {cli-utils.sigs.k8s.io/inventory-id: x}"
    )
    verdict = fixed(*items(Kptfile=OLD, **{"i.yaml": text}))
    assert messages(verdict)[-1] == (
        "Please refer to https://googlecontainertools.github.io/kpt/reference/live/alpha/,"
        ' this package is using "inventory-object"'
    )


def cyclic() -> str:
    return OLD.replace('io.k8s.cli.setters.tag"}', 'io.k8s.cli.substitutions.image"}')


WRONG = {
    "no Kptfile": (
        items(**{"x.yaml": MARKED}),
        "Kptfile not found in directory tree, make sure you specify"
        " '--include-meta-resources' flag",
    ),
    "a version that never was": (
        items(Kptfile="apiVersion: kpt.dev/v3\nkind: Kptfile"),
        "please make sure the package has a valid 'v1alpha1' Kptfile: Kptfile is of 'kpt.dev/v3'",
    ),
    "a field that never was": (
        items(Kptfile=f"{OLD}pipelines: {{}}\n"),
        "please make sure the package has a valid 'v1alpha1' Kptfile: Kptfile has a field"
        " 'pipelines', which is not known",
    ),
    "a circle": (
        items(Kptfile=cyclic(), **{"x.yaml": MARKED}),
        "cyclic substitution detected with name image",
    ),
    "nothing to refer to": (
        items(Kptfile=OLD.replace("cli.setters.tag:", "cli.setters.gat:"), **{"x.yaml": MARKED}),
        "substitution image refers to #/definitions/io.k8s.cli.setters.tag, which is not defined",
    ),
    "a list that is none": (
        items(Kptfile=LATER.replace("[a, b]", "[a,")),
        'failed to parse the array node value "[a," with error'
        ' "yaml: line 1: did not find expected node content"',
    ),
}


@pytest.mark.parametrize(("given", "problem"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_fixed_is_left_as_it_is(given: tuple[Item, ...], problem: str) -> None:
    verdict = fixed(*given)
    assert verdict.failed
    assert verdict.items == given
    assert verdict.results == (
        {"message": f"failed to fix package: {problem}", "severity": "error"},
    )


def test_elements_of_a_list_keep_their_text() -> None:
    """Short-cut: write the values anew, and 010 becomes 8."""
    data: Value = fix.setters_file({"l": "[010, 'x', {a: 1}]"}, "s.yaml").value["data"]  # type: ignore[index,call-overload] # a mapping
    assert data == {"l": "- 010\n- 'x'\n- a: 1\n"}
