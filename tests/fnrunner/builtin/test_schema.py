"""Compiled schemas: they find what jsonschema finds, in every version, and name the place."""

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from cadlib.yaml import Value, field_text
from fnrunner.builtin import schema
from fnrunner.builtin.resource import Path
from tests.fnrunner.calls import values

NEWEST = schema.versions()[-1]

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, creationTimestamp: null}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx
        ports: [{containerPort: 80}]
        resources: {limits: {cpu: 1, memory: 64Mi}}
        livenessProbe: {httpGet: {port: http, path: /}}
"""


def found(value: Value, *, strict: bool = True) -> dict[str, str]:
    """Problems of a Deployment by field."""
    problems = schema.load(NEWEST, strict=strict).problems("apps", "v1", "Deployment", value)
    assert problems is not None
    return {field_text(problem.path): problem.message for problem in problems}


def changed(path: Path, new: Value) -> Value:
    """The Deployment with one field changed."""
    value = values(DEPLOYMENT)[0]
    inner: Any = value
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    return value


def test_a_good_resource_has_no_problem() -> None:
    assert found(values(DEPLOYMENT)[0]) == {}


CONTAINER: Path = ("spec", "template", "spec", "containers", 0)
WRONG: dict[str, tuple[Path, Value, dict[str, str]]] = {
    "type": (
        ("spec", "replicas"),
        "many",
        {"spec.replicas": "got string, want null or integer"},
    ),
    "a boolean is no integer": (
        ("spec", "replicas"),
        True,
        {"spec.replicas": "got boolean, want null or integer"},
    ),
    "required": (
        ("spec",),
        {"replicas": 1},
        {"spec": "missing properties 'selector', 'template'"},
    ),
    "one required": (
        CONTAINER,
        {"image": "nginx"},
        {"spec.template.spec.containers[0]": "missing property 'name'"},
    ),
    "unknown field": (
        ("spec", "replicsa"),
        3,
        {"spec": "additional properties 'replicsa' not allowed"},
    ),
    "either type": (
        (*CONTAINER, "livenessProbe", "httpGet", "port"),
        ["http"],
        {
            "spec.template.spec.containers[0].livenessProbe.httpGet.port": (
                "got array, want integer or string"
            )
        },
    ),
    "choice": (
        ("kind",),
        "Deployment",
        {},
    ),
    "values of a map": (
        ("metadata", "labels"),
        {"a": 1},
        {"metadata.labels.a": "got number, want null or string"},
    ),
    "date": (
        ("metadata", "creationTimestamp"),
        "2024-13-01T00:00:00Z",
        {"metadata.creationTimestamp": "'2024-13-01T00:00:00Z' is not valid date-time"},
    ),
    "a good date": (("metadata", "creationTimestamp"), "2024-12-01T00:00:00Z", {}),
}


@pytest.mark.parametrize(("path", "new", "expected"), WRONG.values(), ids=WRONG)
def test_message(path: Path, new: Value, expected: dict[str, str]) -> None:
    assert found(changed(path, new)) == expected


def test_all_problems_are_reported() -> None:
    """Short-cut: stop at the first."""
    value = changed(("spec",), {"replicas": "x", "paused": 1, "template": []})
    assert found(value) == {
        "spec": "missing property 'selector'",
        "spec.replicas": "got string, want null or integer",
        "spec.paused": "got number, want null or boolean",
        "spec.template": "got array, want null or object",
    }


def test_unknown_fields_pass_when_not_strict() -> None:
    assert found(changed(("spec", "replicsa"), 3), strict=False) == {}


def test_a_group_of_the_same_first_word_is_another_group() -> None:
    """Short-cut: look the file up by the first word of the group, as it is named."""
    schemas = schema.load(NEWEST, strict=True)
    assert schemas.problems("networking.example.com", "v1", "NetworkPolicy", {}) is None
    assert schemas.problems("networking.k8s.io", "v1", "NetworkPolicy", {}) == []


@pytest.mark.parametrize("version", schema.versions())
@pytest.mark.parametrize("strict", [True, False])
def test_every_schema_compiles(version: str, strict: bool) -> None:
    schemas = schema.load.__wrapped__(version, strict=strict)

    assert len([schemas._named(name) for name in schemas._definitions]) > 400


def oracle() -> Draft202012Validator:
    """jsonschema's own validator of the same schema."""
    folder = schema._folder() / f"v{NEWEST}.0-local-strict"
    definitions = json.loads((folder / "_definitions.json").read_bytes())
    name = "io.k8s.api.apps.v1.Deployment"
    registry: Registry[Any] = Resource.from_contents(definitions) @ Registry()
    root = {"$ref": f"{definitions['$id']}#/$defs/{name}"}
    return Draft202012Validator(root, registry=registry)


ORACLE = oracle()


def paths(value: Value) -> list[Path]:
    """Every place in a value."""
    places: list[Path] = []

    def walk(part: Value, path: Path) -> None:
        places.append(path)
        if isinstance(part, dict):
            for key, entry in part.items():
                walk(entry, (*path, key))
        if isinstance(part, list):
            for position, entry in enumerate(part):
                walk(entry, (*path, position))

    walk(value, ())
    return places[1:]


PARTS = st.sampled_from(
    [None, True, 0, 7, 1.5, 2.0, "x", "2024-01-01T00:00:00Z", [], [1], ["a"], {}, {"a": "b"}]
)


@given(st.lists(st.tuples(st.integers(min_value=0), PARTS), max_size=4))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_it_finds_what_jsonschema_finds(changes: list[tuple[int, Value]]) -> None:
    value = values(DEPLOYMENT)[0]
    for number, part in changes:
        places = paths(value)
        value = changed_at(value, places[number % len(places)], part) if places else value
    expected = {tuple(error.absolute_path) for error in ORACLE.iter_errors(value)}
    problems = schema.load(NEWEST, strict=True).problems("apps", "v1", "Deployment", value)
    assert problems is not None
    ours = {
        problem.path
        for problem in problems
        if "date-time" not in problem.message  # which jsonschema takes for a note
    }
    assert ours == expected


def changed_at(value: Value, path: Path, new: Value) -> Value:
    """A value with one place replaced, if the place is still there."""
    inner: Any = value
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = deepcopy(new)
    return value
