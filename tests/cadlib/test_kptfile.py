"""The Kptfile: read as strictly as kpt reads it, with the line of what is wrong."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from cadlib import kptfile
from cadlib.errors import PackageError, Place
from cadlib.kptfile import Condition, Function, GitRef, Kptfile, Selector

CASES = Path(__file__).resolve().parents[2] / "../shared/cases/runtime/cases.jsonl"
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
    ).mutators

    assert [function.config_map for function in functions] == [
        {"tag": "1.10"},
        {"tag": "1.10"},
        # what a merge key brings in is known as a value only
        {"tag": "1.1", "b": "c"},
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
            Function(
                image="set-labels:v0.1",
                name="labels",
                config_path="labels.yaml",
                selectors=(Selector(kind="Deployment", labels={"a": "b"}),),
                exclude=(Selector(name="x"),),
                place=Place("Kptfile", 32, "pipeline.mutators[0]"),
            ),
            Function(exec="sed -e s/a/b/", place=Place("Kptfile", 41, "pipeline.mutators[1]")),
        ),
        validators=(
            Function(
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
    "a list": ("- a\n", "Kptfile:1, apiVersion: this is 'no apiVersion', 'no kind', not a Kptfile"),
    "an old version": (
        HEAD.replace("/v1", "/v1alpha2"),
        "Kptfile:1, apiVersion: the Kptfile has the old version 'kpt.dev/v1alpha2'."
        " Bring it to 'kpt.dev/v1' as kpt's migration guide says.",
    ),
    "another kind": (
        "apiVersion: v1\nkind: ConfigMap\n",
        "Kptfile:1, apiVersion: this is 'v1', 'ConfigMap', not a Kptfile."
        " Write `apiVersion: kpt.dev/v1` and `kind: Kptfile`.",
    ),
    "a misspelt field": (
        HEAD + "pipline:\n  mutators: []\n",
        "Kptfile:5, pipline: kpt knows no field 'pipline' here. Write 'pipeline'.",
    ),
    "a misspelt field deep inside": (
        PIPE + "  - image: a\n    configmap: {}\n",
        "Kptfile:8, pipeline.mutators[0].configmap:"
        " kpt knows no field 'configmap' here. Write 'configMap'.",
    ),
    "a field from kpt's documentation that kpt refuses": (
        PIPE + "  - image: a\n    configRef: {kind: A, name: b}\n",
        "Kptfile:8, pipeline.mutators[0].configRef:"
        " kpt knows no field 'configRef' here. Use configPath or configMap.",
    ),
    "metadata as Kubernetes has it": (
        HEAD + "  creationTimestamp: null\n",
        "Kptfile:5, metadata.creationTimestamp:"
        " kpt knows no field 'creationTimestamp' here. Remove it.",
    ),
    "a duplicate key": (HEAD + "kind: Kptfile\n", "Kptfile:5"),
    "a list where a mapping should be": (
        HEAD + "pipeline:\n- image: a\n",
        "Kptfile:5, pipeline: this is a list, and kpt wants a mapping. Write a mapping here.",
    ),
    "a mapping where a text should be": (
        PIPE + "  - image: {a: b}\n",
        "Kptfile:7, pipeline.mutators[0].image: this is a mapping, and kpt wants a text."
        " Write a text here.",
    ),
    "a text where a list should be": (
        PIPE.rstrip() + " a\n",
        "Kptfile:6, pipeline.mutators: this is a single value, and kpt wants a list.",
    ),
    "a list where keys with texts should be": (
        HEAD + "  labels: [a]\n",
        "Kptfile:5, metadata.labels: this is a list, and kpt wants keys with texts.",
    ),
    "a text where a number should be": (
        HEAD + "status: {renderStatus: {mutationSteps: [{exitCode: none}]}}\n",
        "Kptfile:5, status.renderStatus.mutationSteps[0].exitCode:"
        " this is a single value, and kpt wants a number.",
    ),
    "a nested configMap": (
        PIPE + "  - image: a\n    configMap:\n      x: [1]\n",
        "Kptfile:9, pipeline.mutators[0].configMap.x: this is a list, and kpt wants a text.",
    ),
    "no function": (
        PIPE + "  - name: a\n",
        "Kptfile:7, pipeline.mutators[0]: the function has neither `image` nor `exec`."
        " Give exactly one of the two.",
    ),
    "image and exec": (
        PIPE + "  - image: a\n    exec: b\n",
        "Kptfile:7, pipeline.mutators[0]: the function has both `image` and `exec`.",
    ),
    "two configurations": (
        PIPE + "  - image: a\n    configPath: a.yaml\n    configMap: {a: b}\n",
        "the function has both `configMap` and `configPath`. Give at most one of the two.",
    ),
    "a configuration outside": (
        PIPE + "  - image: a\n    configPath: ../a.yaml\n",
        "Kptfile:8, pipeline.mutators[0].configPath: the path '../a.yaml' leads out of the"
        " package. Give the path of a file in this package, relative to the Kptfile.",
    ),
    "a bad image": (
        PIPE + "  - image: Set-Labels\n",
        "Kptfile:7, pipeline.mutators[0].image: 'Set-Labels' is no name of an image.",
    ),
    "a bad tag": (
        PIPE + "  - image: a\n    tag: .b\n",
        "Kptfile:8, pipeline.mutators[0].tag: '.b' is no tag of an image.",
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


TAGS: dict[str, tuple[str, str, str | None]] = {
    "none": ("a:v1", "", "a:v1"),
    "added": ("a", "v2", "a:v2"),
    "instead of the image's": ("r:5000/x/a:v1", "v2", "r:5000/x/a:v2"),
    "instead of a digest": ("a@sha256:" + "0" * 64, "latest", "a:latest"),
    "a name with an x in it": ("a", "v1.2.3-x.1", "a:v1.2.3-x.1"),
    "a range": ("a", "~1.2", None),
    "a range of two": ("a", ">=1.2, <2", None),
    "a version with two numbers": ("a", "v1.2", "a:v1.2"),
    "a wildcard": ("a", "1.x", None),
}


@pytest.mark.parametrize(("image", "tag", "expected"), TAGS.values(), ids=TAGS)
def test_tag(image: str, tag: str, expected: str | None) -> None:
    assert kptfile.with_tag(image, tag) == expected


def test_short_names_come_from_the_catalog() -> None:
    """The short-cut is to look for ":" anywhere, which takes a port for a tag."""
    assert kptfile.resolve_image("set-labels") == (
        "ghcr.io/kptdev/krm-functions-catalog/set-labels:latest"
    )
    assert kptfile.resolve_image("localhost:5000/a") == "localhost:5000/a:latest"
    assert kptfile.resolve_image("a:v1", "x.io/y/") == "x.io/y/a:v1"


def test_a_long_image_name_is_refused_at_once() -> None:
    assert not kptfile.is_image("a-" * 100_000)


def _value(case: Mapping[str, Any]) -> object:
    match case["kind"]:
        case "function-name":
            return kptfile.is_image(case["image"])
        case "config-path":
            return kptfile.config_path_problem(case["path"]) == ""
        case "resolve-image":
            return kptfile.resolve_image(case["image"], case["prefix"])
        case "has-tag-or-digest":
            return kptfile.has_tag_or_digest(case["image"])
        case "base-name-and-tag":
            return kptfile.base_name_and_tag(case["image"])
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
        return expected if kptfile.has_tag_or_digest(expected) else f"{expected}:latest"
    return case["valid"] if "valid" in case else case["expected"]


COUNTS = {
    "function-name": 12,
    "config-path": 10,
    "resolve-image": 4,
    "has-tag-or-digest": 7,
    "base-name-and-tag": 5,
    "kptfile-validate": 5,
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


def test_the_cases_ground_without_them() -> None:
    """What the public cases show, in short, for a checkout that stands alone."""
    good = ("a", "a:v1.3_beta", "a.b.c:1234/foo/bar/x", "e:v0@sha256:" + "a" * 64)
    bad = ("a::@!", "a/a/", "e.com/.dots/i", "Foo/FarB", "a@v1", "", "a:")

    assert [kptfile.is_image(image) for image in (*good, *bad)] == [True] * 4 + [False] * 7
    assert [
        bool(kptfile.config_path_problem(path)) for path in ("a/b", "./a", "a/../b", "a//b")
    ] == [False] * 4
    assert [bool(kptfile.config_path_problem(path)) for path in ("", "/a", "..", "a/.../b")] == [
        True
    ] * 4
