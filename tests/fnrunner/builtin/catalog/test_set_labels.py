"""set-labels: where labels go, where they must not, and what it says."""

import pytest

from cadlib.yaml import Value
from fnrunner.builtin import resource
from fnrunner.builtin.catalog import set_labels
from tests.fnrunner.calls import call, config_map, values

TIER = config_map(tier="web")


def labels(value: Value, *path: str) -> Value:
    return resource.field(value, *path)


def test_labels_reach_the_selector_and_the_template() -> None:
    """Short-cut: set `metadata.labels` only."""
    text = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"
        "spec: {selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}}}"
    )
    answer = call(set_labels.run, text, TIER)
    value = answer.values[0]
    assert labels(value, "metadata", "labels") == {"tier": "web"}
    assert labels(value, "spec", "selector", "matchLabels") == {"app": "a", "tier": "web"}
    assert labels(value, "spec", "template", "metadata", "labels") == {"app": "a", "tier": "web"}
    assert answer.messages == ["info: set 3 labels in total"]


def test_keys_are_written_in_order_after_those_that_are_there() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {z: '1', b: '2'}}"
    answer = call(set_labels.run, text, config_map(c="3", a="4", b="5"))
    found = labels(answer.values[0], "metadata", "labels")
    assert isinstance(found, dict)
    assert list(found.items()) == [("z", "1"), ("b", "5"), ("a", "4"), ("c", "3")]


EXISTING_ONLY = {
    "Job": (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n"
        "spec: {selector: {matchLabels: {app: a}}}",
        ("spec", "selector", "matchLabels"),
    ),
    "PodDisruptionBudget": (
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n"
        "spec: {selector: {matchLabels: {app: a}}}",
        ("spec", "selector", "matchLabels"),
    ),
    "NetworkPolicy": (
        "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: a}\n"
        "spec: {podSelector: {matchLabels: {app: a}}}",
        ("spec", "podSelector", "matchLabels"),
    ),
}


@pytest.mark.parametrize(("text", "path"), EXISTING_ONLY.values(), ids=EXISTING_ONLY)
def test_a_new_label_does_not_narrow_a_selector(text: str, path: tuple[str, ...]) -> None:
    answer = call(set_labels.run, text, config_map(app="b", tier="web"))
    assert labels(answer.values[0], *path) == {"app": "b"}


def test_rules_of_a_network_policy_and_spread_constraints_follow() -> None:
    text = """
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: a}
spec:
  ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8}}, {podSelector: {matchLabels: {app: a}}}]}]
  egress: [{to: [{podSelector: {matchLabels: {app: a, x: y}}}]}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: a}
spec:
  template:
    spec:
      topologySpreadConstraints: [{labelSelector: {matchLabels: {app: a}}}]
"""
    answer = call(set_labels.run, text, config_map(app="b"))
    policy, daemons = answer.values
    assert labels(policy, "spec", "ingress") == [
        {
            "from": [
                {"ipBlock": {"cidr": "10.0.0.0/8"}},
                {"podSelector": {"matchLabels": {"app": "b"}}},
            ]
        }
    ]
    assert labels(policy, "spec", "egress") == [
        {"to": [{"podSelector": {"matchLabels": {"app": "b", "x": "y"}}}]}
    ]
    assert labels(daemons, "spec", "template", "spec", "topologySpreadConstraints") == [
        {"labelSelector": {"matchLabels": {"app": "b"}}}
    ]


UNTOUCHED = {
    "a bare kustomization.yaml": "resources: [a.yaml]",
    "local configuration": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
        "  annotations: {config.kubernetes.io/local-config: 'true'}"
    ),
}


@pytest.mark.parametrize("text", UNTOUCHED.values(), ids=UNTOUCHED)
def test_it_leaves_alone(text: str) -> None:
    """Short-cut (the catalog's own): an empty kind matches every kind."""
    answer = call(set_labels.run, text, TIER)
    assert answer.values == tuple(values(text))


def test_a_kind_of_the_same_name_gets_no_selector() -> None:
    text = "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\nspec: {x: 1}"
    answer = call(set_labels.run, text, TIER)
    assert labels(answer.values[0], "metadata", "labels") == {"tier": "web"}
    assert labels(answer.values[0], "spec") == {"x": 1}


def test_labels_that_are_no_mapping_are_an_error_at_their_field() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: [x]}"
    answer = call(set_labels.run, text, TIER)
    assert answer.failed
    assert answer.values == tuple(values(text))
    assert answer.results[0] == {
        "message": "cannot set labels: metadata.labels must be a mapping",
        "severity": "error",
        "resourceRef": {"apiVersion": "v1", "kind": "Pod", "name": "a"},
        "field": {"path": "metadata.labels"},
        "file": {"path": "resources.yaml"},
    }


CONFIGS = {
    "own kind": (
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetLabels\nlabels: {tier: web}",
        ["info: set 1 labels in total"],
        False,
    ),
    "none": (None, ["info: `FunctionConfig` is not given"], True),
    "bare": ("{}", ["info: `FunctionConfig` is not given"], True),
    "empty input": (config_map(), ["info: `FunctionConfig` is not given"], True),
    "no labels": (
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetLabels\nlabels: {}",
        ["warning: no `labels` arguments are given in FunctionConfig"],
        False,
    ),
    "another kind": (
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: BadKind",
        [
            "error: unknown FunctionConfig `BadKind.fn.kpt.dev`, expect `SetLabels.fn.kpt.dev`"
            " or `ConfigMap.v1`"
        ],
        True,
    ),
    "labels in a list": (
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetLabels\nlabels: [a]",
        [
            "error: unable to convert object to *setlabels.SetLabels with error: json: cannot"
            " unmarshal array into Go struct field SetLabels.labels of type map[string]string"
        ],
        True,
    ),
    "a label that is a number": (
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetLabels\nlabels: {a: 1}",
        [
            "error: unable to convert object to *setlabels.SetLabels with error: json: cannot"
            " unmarshal number into Go struct field SetLabels.labels of type string"
        ],
        True,
    ),
}


@pytest.mark.parametrize("version", ["apiVersion: v1", "apiVersion: v2", "metadata: {}"])
def test_a_number_in_a_config_map_is_a_text(version: str) -> None:
    """Short-cut: read a ConfigMap as strictly as the function's own kind."""
    config = f"{version}\nkind: ConfigMap\ndata: {{b: true, a: 7}}"
    answer = call(set_labels.run, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}", config)
    assert labels(answer.values[0], "metadata", "labels") == {"a": "7", "b": "true"}


@pytest.mark.parametrize(("config", "messages", "failed"), CONFIGS.values(), ids=CONFIGS)
def test_configuration(config: str | None, messages: list[str], failed: bool) -> None:
    answer = call(set_labels.run, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}", config)
    assert answer.messages == messages
    assert answer.failed is failed


def test_no_resources() -> None:
    assert call(set_labels.run, "", TIER).messages == ["info: no input resources"]
