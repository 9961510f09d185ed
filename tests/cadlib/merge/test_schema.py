"""What is known of lists and mappings of resources."""

import pytest

from cadlib.merge.schema import UNKNOWN, WHOLE, MergeSchemas, Schema, of_comment
from cadlib.yaml import Value


def at(schema: Schema, *steps: str) -> Schema:
    """Follow field names; "*" stands for the elements of a list."""
    for step in steps:
        schema = schema.element if step == "*" else schema.at(step)
    return schema


POD = ("spec", "template", "spec")
KEYS: dict[str, tuple[str, str, tuple[str, ...], tuple[str, ...] | None]] = {
    "containers of a deployment": ("apps/v1", "Deployment", (*POD, "containers"), ("name",)),
    "containers of a cron job": (
        "batch/v1", "CronJob", ("spec", "jobTemplate", *POD, "containers"), ("name",),
    ),
    "containers of a pod": ("v1", "Pod", ("spec", "initContainers"), ("name",)),
    "ports of a container": (
        "apps/v1", "StatefulSet", (*POD, "containers", "*", "ports"), ("containerPort", "protocol"),
    ),
    "ports of an ephemeral container are one value": (
        "v1", "Pod", ("spec", "ephemeralContainers", "*", "ports"), None,
    ),
    "ports of a service": ("v1", "Service", ("spec", "ports"), ("port", "protocol")),
    "mounts": ("batch/v1", "Job", (*POD, "containers", "*", "volumeMounts"), ("mountPath",)),
    "finalizers are a set": ("v1", "Namespace", ("metadata", "finalizers"), ()),
    "arguments are one value": ("apps/v1", "Deployment", (*POD, "containers", "*", "args"), None),
    "rules of a role are one value": ("rbac.authorization.k8s.io/v1", "Role", ("rules",), None),
    "claims of a stateful set are one value": (
        "apps/v1", "StatefulSet", ("spec", "volumeClaimTemplates"), None,
    ),
    "a foreign kind of a known name": ("custom/v1", "Deployment", (*POD, "containers"), None),
}  # fmt: skip


@pytest.mark.parametrize(("api_version", "kind", "path", "keys"), KEYS.values(), ids=KEYS)
def test_merge_keys_of_kubernetes(
    api_version: str, kind: str, path: tuple[str, ...], keys: tuple[str, ...] | None
) -> None:
    """The short-cut: every list whose elements have a `name` is associative."""
    schema = MergeSchemas().of({"apiVersion": api_version, "kind": kind})

    assert at(schema, *path).keys == keys


def test_labels_stand_for_themselves_and_probes_do_not() -> None:
    """The short-cut: all mappings of a known kind are alike."""
    schema = MergeSchemas().of({"apiVersion": "apps/v1", "kind": "Deployment"})

    assert at(schema, "metadata", "labels").whole is False
    assert at(schema, *POD, "containers", "*", "livenessProbe").whole is True
    assert at(schema, "spec", "strategy", "rollingUpdate").whole is True


def crd(**items: Value) -> Value:
    listed: Value = {"type": "array", "items": {"type": "object"}, **items}
    spec: Value = {"type": "object", "properties": {"things": listed}}
    schema: Value = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "spec": {
            "group": "example.org",
            "names": {"kind": "Shelf"},
            "versions": [{"name": "v1", "schema": schema}],
        },
    }


LISTS: dict[str, tuple[dict[str, Value], tuple[str, ...] | None]] = {
    "type map": ({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"]},
                 ("a", "b")),
    "patch merge key": (
        {"x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "id"}, ("id",),
    ),
    "merge among other strategies": (
        {"x-kubernetes-patch-strategy": "merge,retainKeys", "x-kubernetes-patch-merge-key": "id"},
        ("id",),
    ),
    "type set": ({"x-kubernetes-list-type": "set"}, ()),
    "type atomic": ({"x-kubernetes-list-type": "atomic"}, None),
    "nothing said": ({}, None),
}  # fmt: skip


@pytest.mark.parametrize(("said", "keys"), LISTS.values(), ids=LISTS)
def test_merge_keys_of_custom_resources(
    said: dict[str, Value], keys: tuple[str, ...] | None
) -> None:
    """The short-cut: only the extensions of patches count, as in kpt."""
    schemas = MergeSchemas([{"kind": "ConfigMap"}, None, crd(**said)])
    schema = schemas.of({"apiVersion": "example.org/v1", "kind": "Shelf"})

    assert at(schema, "spec", "things").keys == keys
    assert at(schema, "metadata", "finalizers").keys == ()


def test_a_definition_counts_for_its_version_alone() -> None:
    """The short-cut looks a kind up by its name."""
    said: dict[str, Value] = {"x-kubernetes-list-type": "set"}
    schemas = MergeSchemas([crd(**said)])

    assert schemas.of({"apiVersion": "example.org/v2", "kind": "Shelf"}) == UNKNOWN
    assert schemas.of({"apiVersion": "other.org/v1", "kind": "Shelf"}) == UNKNOWN
    assert schemas.of("no resource") == UNKNOWN


def test_a_comment_tells_of_its_list() -> None:
    """The short-cut: whatever is in braces is a schema."""
    said = (
        '# {"items":{"$ref": "#/definitions/io.k8s.api.core.v1.Container"},'
        '"x-kubernetes-patch-merge-key":"name","x-kubernetes-patch-strategy": "merge"}'
    )
    found = of_comment(said)

    assert found is not None
    assert found.keys == ("name",)
    assert at(found, "*", "env").keys == ("name",)
    assert of_comment("# {see x-kubernetes-patch-strategy in the manual}") is None
    assert of_comment('# {"$openapi":"replicas"}') is None
    assert of_comment('# {"$ref":"#/definitions/com.example.Unheard"}') is None


def test_nothing_is_known_below_the_unknown() -> None:
    """The short-cut: what is below a known kind is unknown."""
    assert at(UNKNOWN, "a", "*", "b") == UNKNOWN
    assert at(WHOLE, "a", "*", "b") == WHOLE
