"""kubeconform: what it checks, what it passes over, and what its configuration means."""

import pytest

from fnrunner.builtin import schema
from fnrunner.builtin.catalog import kubeconform
from tests.fnrunner.calls import call, config_map, values

STRICT = config_map(strict="true")
BROKEN = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: nginx, namespace: shop}
spec: {replicas: invalid}
"""
CUSTOM = "apiVersion: custom.io/v1\nkind: Custom\nmetadata: {name: custom}\nspec: {a: b}"


def test_every_error_has_its_place() -> None:
    """Short-cut: stop at the first error."""
    answer = call(kubeconform.run, CUSTOM + "\n---" + BROKEN, STRICT)
    assert answer.failed
    assert answer.values == tuple(values(CUSTOM + "\n---" + BROKEN))
    reference = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "nginx",
        "namespace": "shop",
    }
    assert answer.results == (
        {
            "message": "missing properties 'selector', 'template'",
            "severity": "error",
            "resourceRef": reference,
            "field": {"path": "spec"},
            "file": {"path": "resources.yaml", "index": 1},
        },
        {
            "message": "got string, want null or integer",
            "severity": "error",
            "resourceRef": reference,
            "field": {"path": "spec.replicas"},
            "file": {"path": "resources.yaml", "index": 1},
        },
    )


def test_a_custom_resource_passes_and_the_log_says_so() -> None:
    answer = call(kubeconform.run, CUSTOM, STRICT)
    assert (answer.failed, answer.results) == (False, ())
    assert answer.log == "no schema for custom.io/v1 Custom: not checked\n"


def test_a_missing_schema_is_an_error_when_asked_for() -> None:
    answer = call(kubeconform.run, CUSTOM, config_map(ignore_missing_schemas="false"))
    assert answer.failed
    assert answer.messages == [
        f"error: no schema found for custom.io/v1 Custom in Kubernetes {schema.versions()[-1]}:"
        " add its kind to `skip_kinds`, or set `ignore_missing_schemas`"
    ]


PASSED_OVER = {
    "a Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}",
    "a function's configuration": (
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetLabels\nmetadata: {name: a}"
    ),
    "local configuration": (
        "apiVersion: x.io/v1\nkind: X\nmetadata:\n  name: a\n"
        "  annotations: {config.kubernetes.io/local-config: 'true'}"
    ),
    "a file without a kind": "resources: [a.yaml]",
}


@pytest.mark.parametrize("text", PASSED_OVER.values(), ids=PASSED_OVER)
def test_what_no_cluster_sees_needs_no_schema(text: str) -> None:
    answer = call(kubeconform.run, text, config_map(ignore_missing_schemas="false"))
    assert (answer.failed, answer.results) == (False, ())


@pytest.mark.parametrize("kinds", ["Deployment", "X, Deployment", "apps/v1/Deployment"])
def test_kinds_to_skip(kinds: str) -> None:
    assert not call(kubeconform.run, BROKEN, config_map(skip_kinds=kinds)).failed


def test_an_unknown_field_passes_unless_strict() -> None:
    text = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {portz: []}"
    assert not call(kubeconform.run, text, None).failed
    assert call(kubeconform.run, text, STRICT).messages == [
        "error: additional properties 'portz' not allowed"
    ]


def test_a_place_is_told_as_the_catalog_does() -> None:
    """Short-cut: tell unknown fields one by one, and elements in brackets."""
    text = """
apiVersion: v1
kind: Pod
metadata: {name: a, annotations: {example.org/a: 1}}
spec:
  containers:
  - {name: a, imag: x, por: y, image: 5}
"""
    answer = call(kubeconform.run, text, STRICT)
    assert [(each["message"], each["field"]) for each in answer.results] == [  # type: ignore[index] # plain data
        ("got number, want null or string", {"path": "metadata.annotations.example.org.a"}),
        ("got number, want null or string", {"path": "spec.containers.0.image"}),
        ("additional properties 'imag', 'por' not allowed", {"path": "spec.containers.0"}),
    ]


LIST = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: 1}}
- {apiVersion: x.io/v1, kind: X, metadata: {name: b}}
"""


def test_a_list_is_looked_at_piece_by_piece() -> None:
    """Short-cut: find no schema for it, and pass it over."""
    answer = call(kubeconform.run, LIST, config_map(ignore_missing_schemas="false"))
    values, unknown = answer.results
    assert (values["field"], unknown["field"]) == ({"path": "items.0.data.a"}, {"path": "items.1"})  # type: ignore[index] # plain data
    assert "x.io/v1 X" in str(unknown["message"])  # type: ignore[index] # plain data
    assert not call(kubeconform.run, LIST, config_map(skip_kinds="ConfigMap")).failed


def test_a_version_is_chosen() -> None:
    """Short-cut: take the newest, whatever is asked for."""
    text = "apiVersion: flowcontrol.apiserver.k8s.io/v1beta2\nkind: FlowSchema\nspec: 1"
    assert call(kubeconform.run, text, config_map(kubernetes_version="v1.25.3")).failed
    assert not call(kubeconform.run, text, None).failed


FIRST, LAST = schema.versions()[0], schema.versions()[-1]
REFUSED = {
    "another place for schemas": (
        config_map(schema_location="https://example.com"),
        "error: `schema_location` names https://example.com, but schemas are neither fetched nor"
        " read from folders: leave it out, and put the definitions of custom resources into the"
        " package",
    ),
    "more places for schemas": (
        config_map(additional_schema_locations="default,/schemas"),
        "error: `additional_schema_locations` names /schemas, but schemas are neither fetched nor"
        " read from folders: leave it out, and put the definitions of custom resources into the"
        " package",
    ),
    "a version without schemas": (
        config_map(kubernetes_version="1.9"),
        f"error: `kubernetes_version` is 1.9, but there are schemas only for {FIRST} to {LAST}:"
        " choose one of these",
    ),
    "a key that is not known": (
        config_map(strickt="true"),
        "error: the configuration has a key `strickt`; known are strict, ignore_missing_schemas,"
        " skip_kinds, schema_location, additional_schema_locations, kubernetes_version",
    ),
}


@pytest.mark.parametrize(("config", "message"), REFUSED.values(), ids=REFUSED)
def test_a_configuration_that_cannot_be_kept_is_refused(config: str, message: str) -> None:
    answer = call(kubeconform.run, BROKEN, config)
    assert answer.failed
    assert answer.messages == [message]


def test_configuration_in_fields_of_another_kind() -> None:
    config = "apiVersion: fn.kpt.dev/v1alpha1\nkind: X\nskip_kinds: Deployment\nstrict: true"
    assert not call(kubeconform.run, BROKEN, config).failed


@pytest.mark.parametrize("place", ["", "default", "file:///jsonschema", "default, default"])
def test_a_location_that_means_the_schemas_that_are_there(place: str) -> None:
    assert not call(kubeconform.run, CUSTOM, config_map(schema_location=place)).failed


DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: customs.custom.io}
spec:
  group: custom.io
  names: {kind: Custom, plural: customs}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties: {size: {type: integer, minimum: 1}}
"""


def test_a_definition_in_the_package_is_the_schema_of_its_kind() -> None:
    """Short-cut: know Kubernetes' own kinds only, and take every other for good."""
    answer = call(kubeconform.run, CUSTOM + "\n---" + DEFINITION, STRICT)
    assert answer.failed
    assert [(each["message"], each["field"]) for each in answer.results] == [  # type: ignore[index] # plain data
        ("missing property 'size'", {"path": "spec"}),
        ("additional properties 'a' not allowed", {"path": "spec"}),
    ]


def test_a_kind_that_is_defined_is_not_missing() -> None:
    good = CUSTOM.replace("a: b", "size: 2")
    config = config_map(ignore_missing_schemas="false", strict="true")
    answer = call(kubeconform.run, good + "\n---" + DEFINITION, config)
    assert (answer.failed, answer.results, answer.log) == (False, (), "")
    other = call(kubeconform.run, good.replace("/v1", "/v2") + "\n---" + DEFINITION, config)
    assert other.messages == [
        "error: no schema found for custom.io/v2 Custom in Kubernetes"
        f" {schema.versions()[-1]}: add its kind to `skip_kinds`, or set `ignore_missing_schemas`"
    ]


def test_a_definition_that_cannot_be_used_is_told_at_its_place() -> None:
    """Short-cut: pass over a schema that cannot be read, and so check nothing."""
    broken = DEFINITION.replace("minimum: 1", 'pattern: "("')
    answer = call(kubeconform.run, f"{broken}\n---\n{CUSTOM}\n---\n{CUSTOM}", STRICT)
    assert answer.failed
    path = "spec.versions.0.schema.openAPIV3Schema.properties.spec.properties.size.pattern"
    assert answer.results == (
        {
            "message": "the schema cannot be used: '(' is not a valid pattern",
            "severity": "error",
            "resourceRef": {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "name": "customs.custom.io",
            },
            "field": {"path": path},
            "file": {"path": "resources.yaml"},
        },
    )


def test_rules_that_are_not_held_are_told() -> None:
    """Short-cut: leave them out without a word."""
    rules = DEFINITION.replace(
        "minimum: 1", "x-kubernetes-validations: [{rule: self > 1, message: larger}]"
    )
    answer = call(kubeconform.run, CUSTOM.replace("a: b", "size: 0") + "\n---" + rules, STRICT)
    assert not answer.failed
    assert answer.log == "rules in CEL for custom.io/v1 Custom: not checked\n"
