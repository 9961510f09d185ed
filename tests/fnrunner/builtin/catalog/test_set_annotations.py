"""set-annotations: where annotations go and what it says."""

import pytest

from fnrunner.builtin import resource
from fnrunner.builtin.catalog import set_annotations
from tests.fnrunner.calls import call, config_map, values

OWNER = config_map(owner="team-a")


def test_annotations_reach_the_template_even_where_it_must_be_made() -> None:
    """Short-cut: set `metadata.annotations` only."""
    text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 1}"
    answer = call(set_annotations.run, text, OWNER)
    assert answer.values == (
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "a", "annotations": {"owner": "team-a"}},
            "spec": {
                "replicas": 1,
                "template": {"metadata": {"annotations": {"owner": "team-a"}}},
            },
        },
    )
    assert answer.results == (
        {
            "message": 'set annotations: {"owner":"team-a"}',
            "field": {"path": "metadata.annotations"},
            "file": {"path": "resources.yaml"},
        },
        {
            "message": 'set annotations: {"owner":"team-a"}',
            "field": {"path": "spec.template.metadata.annotations"},
            "file": {"path": "resources.yaml"},
        },
    )


def test_what_is_there_already_is_reported_and_not_touched() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {annotations: {owner: team-a, x: y}}"
    answer = call(set_annotations.run, text, OWNER)
    assert answer.values == tuple(values(text))
    assert len(answer.results) == 1


def test_local_configuration_gets_them_too() -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
        "  annotations: {config.kubernetes.io/local-config: 'true'}"
    )
    answer = call(set_annotations.run, text, OWNER)
    assert resource.annotation(answer.values[0], "owner") == "team-a"


def test_a_cron_job_has_three_places() -> None:
    text = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}"
    answer = call(set_annotations.run, text, OWNER)
    assert len(answer.results) == 3


EXTRA = """
apiVersion: fn.kpt.dev/v1alpha1
kind: SetAnnotations
annotations: {owner: team-a}
additionalAnnotationFields:
- {path: spec/parts/notes, kind: X, group: x.io, create: true}
- {path: spec/maybe/notes, kind: X}
- {path: 'spec/with\\/slash', kind: X, version: v1}
- {path: spec/never, kind: Y, create: true}
"""


def test_fields_of_the_configuration() -> None:
    """Short-cut: create what a specification does not ask to create."""
    text = """
apiVersion: x.io/v1
kind: X
metadata: {annotations: {owner: team-a}}
spec:
  parts: [{name: a}, {name: b, notes: {owner: team-b}}]
  with/slash: {x: y}
"""
    answer = call(set_annotations.run, text, EXTRA)
    assert resource.field(answer.values[0], "spec") == {
        "parts": [
            {"name": "a", "notes": {"owner": "team-a"}},
            {"name": "b", "notes": {"owner": "team-a"}},
        ],
        "with/slash": {"x": "y", "owner": "team-a"},
    }


def test_a_list_is_not_made() -> None:
    """Short-cut: take the brackets of a path for a mere hint, and make a mapping."""
    config = """
apiVersion: fn.kpt.dev/v1alpha1
kind: SetAnnotations
annotations: {owner: team-a}
additionalAnnotationFields: [{path: "spec/parts[]/notes", create: true}]
"""
    spec = "spec: {%s}"
    text = "---\n".join(
        "apiVersion: x.io/v1\nkind: X\nmetadata: {name: a}\n" + spec % parts + "\n"
        for parts in ("", "parts: null", "parts: [{}]")
    )
    answer = call(set_annotations.run, text, config)
    assert [resource.field(value, "spec") for value in answer.values] == [
        {},
        {"parts": None},
        {"parts": [{"notes": {"owner": "team-a"}}]},
    ]


CONFIGS = {
    "bare": ("annotations: {a: b}", "-: set annotations: {\"a\":\"b\"}", False),
    "numbers in a ConfigMap": (
        "apiVersion: v1\nkind: ConfigMap\ndata: {a: 1, b: true, c: null}",
        '-: set annotations: {"a":"1","b":"true","c":""}',
        False,
    ),
    "signs that mean something in HTML": (
        config_map(a="x?a=1&b=<c>"),
        '-: set annotations: {"a":"x?a=1\\u0026b=\\u003cc\\u003e"}',
        False,
    ),
    "fields that are no list": (
        "annotations: {a: b}\nadditionalAnnotationFields: {path: spec}",
        "error: failed to configure function: `additionalAnnotationFields` must be a list",
        True,
    ),
    "older fields that are no list": (
        "annotations: {a: b}\nfieldSpecs: spec",
        "error: failed to configure function: `fieldSpecs` must be a list",
        True,
    ),
    "a field that is no mapping": (
        "annotations: {a: b}\nfieldSpecs: [spec]",
        "error: failed to configure function: fieldSpecs[0] must be a mapping with a `path`",
        True,
    ),
    "a kind that is a number": (
        "annotations: {a: b}\nadditionalAnnotationFields: [{path: spec, kind: 7}]",
        "error: failed to configure function: additionalAnnotationFields[0].kind must be a text;"
        " put it in quotes",
        True,
    ),
    "a field without a path": (
        "annotations: {a: b}\nadditionalAnnotationFields: [{kind: X}]",
        "error: failed to configure function: additionalAnnotationFields[0] must have a `path`",
        True,
    ),
    "a list in a ConfigMap": (
        "apiVersion: v1\nkind: ConfigMap\ndata: {a: [b]}",
        "error: failed to configure function: `data` must be a mapping from the names of"
        " annotations to texts",
        True,
    ),
    "none": (
        None,
        "error: failed to configure function: `functionConfig` must be a `ConfigMap` or"
        " `SetAnnotations`",
        True,
    ),
    "another kind": (
        "apiVersion: x.io/v1\nkind: X",
        "error: failed to configure function: `functionConfig` must be a `ConfigMap` or"
        " `SetAnnotations`",
        True,
    ),
    "no annotations": (
        config_map(),
        "error: failed to configure function: input annotation list cannot be empty",
        True,
    ),
    "both lists of fields": (
        "annotations: {a: b}\nfieldSpecs: []\nadditionalAnnotationFields: []",
        "error: failed to configure function: `fieldSpecs` has been deprecated, please rename it"
        " to `additionalAnnotationFields`",
        True,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("config", "message", "failed"), CONFIGS.values(), ids=CONFIGS)
def test_configuration(config: str | None, message: str, failed: bool) -> None:
    """Short-cut: pass over what is not shaped as it should be, and set less than was asked."""
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}"
    answer = call(set_annotations.run, text, config)
    assert answer.messages == [message]
    assert answer.failed is failed
    assert answer.log == (f"[error]: {message.removeprefix('error: ')}" if failed else "")


def test_something_in_the_way_is_an_error_at_its_field() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: text}"
    answer = call(set_annotations.run, text, OWNER)
    assert answer.failed
    assert answer.messages == [
        "error: cannot set annotations: metadata.annotations must be a mapping"
    ]


def test_no_resources() -> None:
    assert call(set_annotations.run, "", OWNER).messages == ["-: no annotations applied"]
