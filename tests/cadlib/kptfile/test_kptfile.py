"""The Kptfile: read as strictly as kpt reads it, with the line of what is wrong.

Longer than 400 lines: a table of mistakes, and what is said of each.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from cadlib import images
from cadlib.errors import PackageError, Place
from cadlib.kptfile import reader as kptfile
from cadlib.kptfile.reader import (
    Condition,
    GenericRef,
    GitRef,
    Kptfile,
    KptfileError,
    PipelineFunction,
    Selector,
)
from tests.counting import assert_in_proportion

CASES = Path(__file__).resolve().parents[3] / "../shared/cases/runtime/cases.jsonl"
HEAD = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n"


def read(text: str) -> Kptfile:
    """Read a Kptfile's text."""
    return kptfile.read(text.encode())


def test_config_map_values_are_the_text_in_the_file() -> None:
    """The short-cut is `str(value)`, which makes 1.1 of 1.10 and True of true."""
    functions = read(
        HEAD
        + "pipeline:\n  mutators:\n  - image: set-labels\n    configMap:\n"
        + "      tag: 1.10\n      on: true\n      mode: 0755\n      quoted: 'a b'\n      none:\n"
    ).mutators

    assert functions[0].config_map == {
        "tag": "1.10",
        "on": "true",
        "mode": "0755",
        "quoted": "a b",
        "none": "",
    }


def test_config_map_values_behind_aliases_and_merge_keys() -> None:
    functions = read(
        HEAD
        + "pipeline:\n  mutators:\n  - image: a\n    configMap: &c\n      tag: 1.10\n"
        + "  - image: a\n    configMap: *c\n"
        + "  - image: a\n    configMap:\n      <<: *c\n      b: c\n"
        + "  - image: a\n    configMap:\n      <<: {on: true}\n"
    ).mutators

    assert [function.config_map for function in functions] == [
        {"tag": "1.10"},
        {"tag": "1.10"},
        # what a merge key brings in is known as a value only
        {"tag": "1.1", "b": "c"},
        {"on": "true"},
    ]


def test_everything_is_read() -> None:
    text = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app
  namespace: shop
  labels: {a: b}
  annotations:
    config.kubernetes.io/local-config: "true"
upstream:
  type: git
  git:
    repo: https://example.com/r
    directory: /app
    ref: app/v1
  updateStrategy: resource-merge
upstreamLock:
  type: git
  git:
    repo: https://example.com/r
    directory: /app
    ref: app/v1
    commit: 0123456789abcdef
info:
  description: An app
  site: https://example.com
  emails: [a@example.com]
  keywords: [one, two]
  readinessGates:
  - conditionType: config.ready
pipeline:
  mutators:
  - image: set-labels:v0.1
    name: labels
    configPath: labels.yaml
    selectors:
    - kind: Deployment
      labels:
        a: b
    exclude:
    - name: x
  - exec: sed -e s/a/b/
  validators:
  - image: kubeconform
    tag: v0.2
    configMap: {strict: "true"}
status:
  conditions:
  - type: config.ready
    status: "True"
    reason: Done
  renderStatus:
    mutationSteps:
    - image: set-labels:v0.1
      exitCode: 0
      results: [{message: a}]
"""
    assert read(text) == Kptfile(
        name="app",
        namespace="shop",
        labels={"a": "b"},
        annotations={"config.kubernetes.io/local-config": "true"},
        upstream=GitRef(repo="https://example.com/r", directory="/app", ref="app/v1"),
        upstream_lock=GitRef(
            repo="https://example.com/r",
            directory="/app",
            ref="app/v1",
            commit="0123456789abcdef",
        ),
        update_strategy="resource-merge",
        description="An app",
        readiness_gates=("config.ready",),
        conditions=(Condition("config.ready", "True", "Done"),),
        mutators=(
            PipelineFunction(
                image="set-labels:v0.1",
                name="labels",
                config_path="labels.yaml",
                selectors=(Selector(kind="Deployment", labels={"a": "b"}),),
                exclude=(Selector(name="x"),),
                place=Place("Kptfile", 32, "pipeline.mutators[0]"),
            ),
            PipelineFunction(
                exec="sed -e s/a/b/", place=Place("Kptfile", 41, "pipeline.mutators[1]")
            ),
        ),
        validators=(
            PipelineFunction(
                image="kubeconform",
                tag="v0.2",
                config_map={"strict": "true"},
                place=Place("Kptfile", 43, "pipeline.validators[0]"),
            ),
        ),
    )


PIPE = HEAD + "pipeline:\n  mutators:\n"
REFUSED: dict[str, tuple[str, str]] = {
    "no YAML": ("a: [", "Kptfile:"),
    "empty": ("# nothing\n", "Kptfile: the Kptfile holds 0 YAML documents. Leave exactly one"),
    "two documents": (
        HEAD + "---\n" + HEAD,
        "Kptfile: the Kptfile holds 2 YAML documents. Leave exactly one, of kind Kptfile.",
    ),
    "a template": (HEAD + "info: {{ .x }}\n", "is a template"),
    "a list": (
        "- a\n",
        'Kptfile:1, apiVersion: unknown resource type "/, Kind=" found in Kptfile.',
    ),
    "an old version": (
        HEAD.replace("/v1", "/v1alpha2"),
        'Kptfile:1, apiVersion: old resource version "v1alpha2" found in Kptfile.'
        " Bring it to 'kpt.dev/v1' as kpt's migration guide says.",
    ),
    "another kind": (
        "apiVersion: v1\nkind: ConfigMap\n",
        'Kptfile:1, apiVersion: unknown resource type "/v1, Kind=ConfigMap" found in Kptfile.'
        " Write `apiVersion: kpt.dev/v1` and `kind: Kptfile`.",
    ),
    "a newer version": (
        HEAD.replace("/v1", "/v2"),
        'unknown resource type "kpt.dev/v2, Kind=Kptfile" found in Kptfile.',
    ),
    "a misspelt field": (
        HEAD + "pipline:\n  mutators: []\n",
        "Kptfile:5, pipline: field pipline not found in type v1.KptFile. Write 'pipeline'.",
    ),
    "a misspelt field deep inside": (
        PIPE + "  - image: a\n    configmap: {}\n",
        "Kptfile:8, pipeline.mutators[0].configmap:"
        " field configmap not found in type v1.Function. Write 'configMap'.",
    ),
    "a field from kpt's documentation that kpt refuses": (
        PIPE + "  - image: a\n    configRef: {kind: A, name: b}\n",
        "Kptfile:8, pipeline.mutators[0].configRef:"
        " field configRef not found in type v1.Function. Use configPath or configMap.",
    ),
    "metadata as Kubernetes has it": (
        HEAD + "  creationTimestamp: null\n",
        "Kptfile:5, metadata.creationTimestamp:"
        " field creationTimestamp not found in type yaml.ObjectMeta. Remove it.",
    ),
    "several at once": (
        HEAD + "inventory: {x: y}\npipeline:\n  mutators: a\n",
        "Kptfile:5, inventory.x: field x not found in type v1.Inventory;"
        " line 7: cannot unmarshal !!str `a` into []v1.Function. Remove it.",
    ),
    "a store other than git for what is wanted": (
        HEAD + "upstream: {type: generic, generic: {storeID: a}}\n",
        "Kptfile:5, upstream.generic: field generic not found in type v1.Upstream.",
    ),
    "a duplicate key": (HEAD + "kind: Kptfile\n", "Kptfile:5"),
    "a list where a mapping should be": (
        HEAD + "pipeline:\n- image: a\n",
        "Kptfile:5, pipeline: cannot unmarshal !!seq into v1.Pipeline. Write a mapping here.",
    ),
    "a mapping where a text should be": (
        PIPE + "  - image: {a: b}\n",
        "Kptfile:7, pipeline.mutators[0].image: cannot unmarshal !!map into string."
        " Write a text here.",
    ),
    "a text where a list should be": (
        PIPE.rstrip() + " a long name\n",
        "Kptfile:6, pipeline.mutators:"
        " cannot unmarshal !!str `a long ...` into []v1.Function. Write a list here.",
    ),
    "a list where keys with text values should be": (
        HEAD + "  labels: [a]\n",
        "Kptfile:5, metadata.labels: cannot unmarshal !!seq into map[string]string."
        " Write keys with text values here.",
    ),
    "a text where a number should be": (
        HEAD + "status: {renderStatus: {mutationSteps: [{exitCode: none}]}}\n",
        "Kptfile:5, status.renderStatus.mutationSteps[0].exitCode:"
        " cannot unmarshal !!str `none` into int. Write a number here.",
    ),
    "something true where a list should be": (
        HEAD + "info: {emails: true}\n",
        "Kptfile:5, info.emails: cannot unmarshal !!bool `true` into []string.",
    ),
    "a number where a mapping should be": (
        HEAD + "info: 12345678901\n",
        "Kptfile:5, info: cannot unmarshal !!int `1234567...` into v1.PackageInfo.",
    ),
    "a fraction where a number should be": (
        HEAD + "status: {renderStatus: {mutationSteps: [{exitCode: 1.5}]}}\n",
        "cannot unmarshal !!float `1.5` into int. Write a number here.",
    ),
    "a list behind an alias": (
        HEAD + "  labels: &l {a: b}\ninfo:\n  emails: *l\n",
        "Kptfile:7, info.emails: cannot unmarshal !!map into []string.",
    ),
    "a nested configMap": (
        PIPE + "  - image: a\n    configMap:\n      x: [1]\n",
        "Kptfile:9, pipeline.mutators[0].configMap.x: cannot unmarshal !!seq into string.",
    ),
    "no function": (
        PIPE + "  - name: a\n",
        "Kptfile:7, pipeline.mutators[0]: must specify a functon (`image` or `exec`) to execute."
        " Give exactly one of the two.",
    ),
    "image and exec": (
        PIPE + "  - image: a\n    exec: b\n",
        "Kptfile:7, pipeline.mutators[0]: must not specify both `image` and `exec` at the same"
        " time.",
    ),
    "two configurations": (
        PIPE + "  - image: a\n    configPath: a.yaml\n    configMap: {a: b}\n",
        "functionConfig must not specify both `configMap` and `configPath` at the same time."
        " Give at most one of the two.",
    ),
    "a configuration outside": (
        PIPE + "  - image: a\n    configPath: ../a.yaml\n",
        "Kptfile:8, pipeline.mutators[0].configPath: path must not be outside the package."
        " Give the path of a file in this package, relative to the Kptfile.",
    ),
    "an absolute path": (PIPE + "  - image: a\n    configPath: /a\n", "path must be relative."),
    "a blank path": (PIPE + "  - image: a\n    configPath: ' '\n", "path must not be empty."),
    "a bad image": (
        PIPE + "  - image: Set-Labels\n",
        'Kptfile:7, pipeline.mutators[0].image: function image reference "Set-Labels" is invalid:',
    ),
    "a bad tag": (
        PIPE + "  - image: a\n    tag: .b\n",
        'Kptfile:8, pipeline.mutators[0].tag: `function.tag` ".b" must be a valid image tag:',
    ),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(text: str, message: str) -> None:
    """The short-cut is to take the fields one knows and pass over the rest."""
    with pytest.raises(PackageError) as caught:
        read(text)

    assert message in str(caught.value)


def test_null_stands_for_nothing() -> None:
    assert read(HEAD + "pipeline:\n  mutators:\n  validators: null\ninfo:\nstatus: ~\n") == Kptfile(
        name="app"
    )


def test_scalars_count_as_written() -> None:
    """The short-cut is to take the value: a commit of digits loses its zero, 1.10 is 1.1."""
    found = read(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: 1.10\n"
        "upstreamLock:\n  type: git\n  git:\n    ref: 1e3\n    commit: 0123456\n"
        "pipeline:\n  mutators:\n  - image: a\n    tag: 1.10\n"
    )

    assert (found.name, found.mutators[0].tag) == ("1.10", "1.10")
    assert found.upstream_lock == GitRef(ref="1e3", commit="0123456")


def test_a_lock_of_another_store_than_git() -> None:
    found = read(
        HEAD + "upstreamLock:\n  type: generic\n  generic:\n"
        "    storeID: DB\n    resourceID: a/b\n    resourceVersion: 3\n"
    )

    assert found.upstream_lock is None
    assert found.generic_lock == GenericRef(store="DB", resource="a/b", version="3")


def test_a_path_beside_an_empty_config_map() -> None:
    """kpt looks at what a configMap holds; `configMap: {}` is none."""
    found = read(PIPE + "  - image: a\n    configPath: a.yaml\n    configMap: {}\n")

    assert found.mutators[0].config_path == "a.yaml"


FRAMES: dict[str, tuple[str, str]] = {
    "a rule": (
        PIPE + "  - image: a\n    configPath: ../x\n",
        "Kptfile is invalid:\nField: `pipeline.mutators[0].configPath`\n"
        'Value: "../x"\nReason: path must not be outside the package\n',
    ),
    "a rule without a value": (
        PIPE + "  - exec: a\n    image: b\n",
        "Kptfile is invalid:\nField: `pipeline.mutators[0]`\n"
        "Reason: must not specify both `image` and `exec` at the same time\n",
    ),
    "fields": (
        HEAD + "inventory: {x: y}\nfoo: bar\n",
        'Error: Kptfile at "p" can\'t be read.\n\nDetails:\nyaml: unmarshal errors:\n'
        "  line 5: field x not found in type v1.Inventory\n"
        "  line 6: field foo not found in type v1.KptFile",
    ),
    "no YAML": (
        "a: [",
        'Error: Kptfile at "p" can\'t be read.\n\nDetails:\n'
        "yaml: line 1: did not find expected node content",
    ),
    "no character": (
        HEAD + "info:\n  site: \x07\n",
        'Error: Kptfile at "p" can\'t be read.\n\nDetails:\n'
        "yaml: control characters are not allowed (read up to line 6)",
    ),
    "no colon": (
        HEAD + "info\n  site: a\n",
        'Error: Kptfile at "p" can\'t be read.\n\nDetails:\n'
        "yaml: line 5: could not find expected ':' (read up to line 6)",
    ),
    "a colon too many": (
        HEAD + "info:\n  site: a: b\n",
        'Error: Kptfile at "p" can\'t be read.\n\nDetails:\n'
        "yaml: line 6: mapping values are not allowed in this context",
    ),
    "a list that is not closed": (
        HEAD + "info:\n  keywords: [a,\n  site: b\n",
        'Error: Kptfile at "p" can\'t be read.\n\nDetails:\n'
        "yaml: line 5: did not find expected ',' or ']' (read up to line 7)",
    ),
    "nothing": (
        "",
        'Error: Kptfile at "p" can\'t be read.\n\n'
        "Details:\nyaml: the Kptfile holds 0 YAML documents",
    ),
    "the first version": (
        HEAD.replace("/v1", "/v1alpha1"),
        'Error: Kptfile at "p" has an old version ("v1alpha1") of the Kptfile schema.\n'
        "Please update the package to the latest format by following"
        " https://kpt.dev/installation/migration.",
    ),
    "another kind": (
        "apiVersion: v1\nkind: ConfigMap\n",
        'Error: Kptfile at "p" has an unknown resource type ("/v1, Kind=ConfigMap").',
    ),
}


@pytest.mark.parametrize(("text", "expected"), FRAMES.values(), ids=FRAMES)
def test_what_kpt_prints(text: str, expected: str) -> None:
    """The short-cut: the words for a file that is read by people, in kpt's frame."""
    with pytest.raises(KptfileError) as caught:  # the whole text is compared
        read(text)

    assert caught.value.as_kpt("p") == expected


def _value(case: Mapping[str, Any]) -> object:
    match case["kind"]:
        case "function-name":
            return images.is_image(case["image"])
        case "config-path":
            return kptfile.config_path_problem(case["path"]) == ""
        case "resolve-image":
            return images.resolve_image(case["image"], case["prefix"])
        case "has-tag-or-digest":
            return images.has_tag_or_digest(case["image"])
        case "base-name-and-tag":
            return images.base_name_and_tag(case["image"])
        case "validate-image-prefix":
            return not images.is_prefix(case["prefix"])
        case _:
            return _is_valid(case["kptfile"])


def _is_valid(fields: Mapping[str, Any]) -> bool:
    whole = {"apiVersion": "kpt.dev/v1", "kind": "Kptfile", **fields}
    try:
        read(json.dumps(whole))
    except PackageError:
        return False
    return True


def _expected(case: Mapping[str, Any]) -> object:
    if case["kind"] == "base-name-and-tag":
        return case["expected_name"], case.get("expected_tag", "")
    if case["kind"] == "resolve-image":
        # kpt adds the tag in a later step, which ours takes at once
        expected: str = case["expected"]
        return expected if images.has_tag_or_digest(expected) else f"{expected}:latest"
    return next(case[key] for key in ("valid", "expected_error", "expected") if key in case)


COUNTS = {
    "function-name": 12,
    "config-path": 10,
    "resolve-image": 4,
    "has-tag-or-digest": 7,
    "base-name-and-tag": 5,
    "kptfile-validate": 5,
    "validate-image-prefix": 12,
}


def _public_cases(kind: str) -> Iterator[Mapping[str, Any]]:
    if not CASES.exists():
        pytest.skip(f"{CASES} is missing: the shared cases are not beside this checkout")
    for case in map(json.loads, CASES.read_text().splitlines()):
        if case["kind"] == kind:
            yield case


@pytest.mark.parametrize("kind", COUNTS)
def test_public_cases(kind: str) -> None:
    cases = list(_public_cases(kind))

    assert {case["id"]: _value(case) for case in cases} == {
        case["id"]: _expected(case) for case in cases
    }
    assert len(cases) == COUNTS[kind]


def test_config_paths_without_the_cases() -> None:
    """What the public cases show, in short, for a checkout that stands alone."""
    assert [kptfile.config_path_problem(path) for path in ("a/b", "./a", "a/../b", "a//b")] == [
        ""
    ] * 4
    assert [bool(kptfile.config_path_problem(path)) for path in ("", "/a", "..", "a/.../b")] == [
        True
    ] * 4


def test_a_hundred_unknown_fields_are_told() -> None:
    """Short-cut refused: each is told with its line, which is looked for among all others: 16,000
    took minutes."""
    with pytest.raises(KptfileError, match="field k0 not found") as caught:
        read(HEAD + "".join(f"k{number}: 1\n" for number in range(300)))

    assert caught.value.details.count(" not found in type ") == 100


def test_a_kptfile_of_many_labels_is_read_in_proportion() -> None:
    """Short-cut refused: each field is looked for among all of them: 40,000 took 40 s."""

    def reading(count: int) -> Callable[[], object]:
        labels = {f"label{number}": "1.10" for number in range(count)}
        text = "".join(f"    {name}: {value}\n" for name, value in labels.items())
        data = f"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\n  labels:\n{text}"
        assert kptfile.read(data.encode()).labels == labels
        return lambda: kptfile.read(data.encode())

    assert_in_proportion(reading, 200)
