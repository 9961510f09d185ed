"""set-namespace: which fields change, which must not, and what it says."""

import pytest

from cadlib.yaml import Value
from fnrunner.builtin import resource
from fnrunner.builtin.catalog import set_namespace
from fnrunner.builtin.verdict import FAILURE_LOG
from tests.fnrunner.calls import call, config_map, values

STAGING = config_map(namespace="staging")
UP_TO_DATE = "info: all `depends-on` annotations are up-to-date. no `namespace` changed"


def deployment(name: str = "cart", namespace: str = "", extra: str = "") -> str:
    line = f"\n  namespace: {namespace}" if namespace else ""
    return f"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}{line}{extra}\n"


def test_a_resource_without_a_namespace_gets_one() -> None:
    """Short-cut: replace only a namespace that is written."""
    answer = call(set_namespace.run, deployment(), STAGING)
    assert answer.values == tuple(values(deployment(namespace="staging")))
    assert answer.messages == [
        'info: namespace [default] updated to "staging", 1 value(s) changed',
        UP_TO_DATE,
    ]


def test_old_namespaces_are_listed_sorted_and_counted() -> None:
    text = "---\n".join([deployment("a", "old"), deployment("b", "db"), deployment("c")])
    answer = call(set_namespace.run, text, STAGING)
    assert answer.messages[0] == (
        'info: namespace [db default old] updated to "staging", 3 value(s) changed'
    )


def test_nothing_to_change_leaves_the_very_same_items() -> None:
    answer = call(set_namespace.run, deployment(namespace="staging"), STAGING)
    assert answer.messages == [
        'info: all matching namespaces are already "staging". no value changed',
        UP_TO_DATE,
    ]


CLUSTER = """
apiVersion: v1
kind: Namespace
metadata: {name: old}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: b}
subjects: [{kind: ServiceAccount, name: s, namespace: old}, {kind: Group, name: g}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: c}
spec: {conversion: {webhook: {clientConfig: {service: {name: s}}}}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: d}
spec: {service: {name: s, namespace: old}}
"""


def test_cluster_wide_resources_change_where_they_name_a_namespace() -> None:
    """Short-cut: set `metadata.namespace` of everything."""
    answer = call(set_namespace.run, CLUSTER, STAGING)
    namespace, binding, definition, service = answer.values
    assert resource.name(namespace) == "staging"
    assert resource.field(binding, "subjects") == [
        {"kind": "ServiceAccount", "name": "s", "namespace": "staging"},
        {"kind": "Group", "name": "g"},
    ]
    path = ("spec", "conversion", "webhook", "clientConfig", "service", "namespace")
    assert resource.field(definition, *path) == "staging"
    assert resource.field(service, "spec", "service", "namespace") == "staging"
    assert not any(resource.namespace(value) for value in answer.values)


UNTOUCHED = {
    "a custom resource without a namespace": "apiVersion: x.io/v1\nkind: X\nmetadata: {name: a}",
    "a CRD without a webhook": (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}"
    ),
    "an APIService of the API server itself": (
        "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: a}\n"
        "spec: {group: x.io}"
    ),
    "local configuration": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
        "  annotations: {config.kubernetes.io/local-config: 'true'}"
    ),
    "a Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}",
    "a file that is no resource": "resources: [a.yaml]",
    "a cluster role that names a namespace": (
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n"
        "metadata: {name: a, namespace: old}"
    ),
    "metadata that is not a mapping": "apiVersion: v1\nkind: Namespace\nmetadata: [a]",
    "a Namespace of another group": "apiVersion: x.io/v1\nkind: Namespace\nmetadata: {name: a}",
    "a resource that has no kind": "apiVersion: v1\nmetadata: {name: a}",
    "a Service of an APIService before v1": (
        "apiVersion: apiregistration.k8s.io/v1beta1\nkind: APIService\nmetadata: {name: a}\n"
        "spec: {service: {name: s, namespace: old}}"
    ),
}


@pytest.mark.parametrize("text", UNTOUCHED.values(), ids=UNTOUCHED)
def test_it_leaves_alone(text: str) -> None:
    answer = call(set_namespace.run, text, STAGING)
    assert answer.values == tuple(values(text))


EMPTY = ('""', "null", "7")


@pytest.mark.parametrize("found", EMPTY)
@pytest.mark.parametrize("kind", ["apiVersion: v1\nkind: Pod", "apiVersion: x.io/v1\nkind: X"])
def test_a_namespace_that_names_none_is_set(kind: str, found: str) -> None:
    """Short-cut: take a kind that is not known for one in no namespace where it is empty."""
    answer = call(set_namespace.run, f"{kind}\nmetadata: {{name: a, namespace: {found}}}", STAGING)
    assert resource.namespace(answer.values[0]) == "staging"
    assert answer.messages[0] == (
        'info: namespace [default] updated to "staging", 1 value(s) changed'
    )


def test_a_role_binding_changes_where_it_is_in_no_namespace() -> None:
    """Short-cut: change the subjects of ClusterRoleBindings only."""
    text = (
        "apiVersion: x.io/v1\nkind: RoleBinding\nmetadata: {name: b%s}\n"
        "subjects: [{kind: ServiceAccount, name: s, namespace: old}]"
    )
    outside = call(set_namespace.run, text % "", STAGING).values[0]
    assert resource.items(resource.field(outside, "subjects"))[0] == {
        "kind": "ServiceAccount",
        "name": "s",
        "namespace": "staging",
    }
    inside = call(set_namespace.run, text % ", namespace: a", STAGING).values[0]
    assert "staging" not in str(resource.field(inside, "subjects"))
    assert resource.namespace(inside) == "staging"


def test_a_matcher_changes_only_what_it_names() -> None:
    """Short-cut: count a missing namespace as one to be filled in."""
    text = "---\n".join([deployment("a", "old"), deployment("b", "other"), deployment("c")])
    config = config_map(namespace="new", namespaceMatcher="old")
    answer = call(set_namespace.run, text, config)
    assert [resource.namespace(value) for value in answer.values] == ["new", "other", ""]
    assert answer.messages == [
        "info: [Resource(apiVersion=apps/v1, kind=Deployment, namespace=old, name=a)]"
        " has matching origin old",
        'info: namespace [old] updated to "new", 1 value(s) changed',
        UP_TO_DATE,
    ]


def came_from(namespace: str) -> str:
    line = f'internal.kpt.dev/upstream-identifier: "apps|Deployment|{namespace}|cart"'
    return f"\n  annotations:\n    {line}"


def test_a_matcher_also_means_the_namespace_upstream() -> None:
    text = deployment("cart", "mine", came_from("example"))
    answer = call(set_namespace.run, text, config_map(namespace="new", namespaceMatcher="example"))
    assert [resource.namespace(value) for value in answer.values] == ["new"]
    assert answer.messages[0] == (
        "info: [Resource(apiVersion=apps/v1, kind=Deployment, namespace=mine, name=cart)]"
        " has matching origin example"
    )


def test_two_upstream_namespaces_are_not_thrown_together() -> None:
    text = "---\n".join(
        [deployment("a", "x", came_from("two")), deployment("b", "y", came_from("one"))]
    )
    answer = call(set_namespace.run, text, STAGING)
    assert answer.values == tuple(values(text))
    assert answer.messages == [
        "error: unable to use origin `namespace` to match. expect a single upstream namespace,"
        " found [one two]. please switch to use `namespaceMatcher`to specify the namespace value"
        " you want to change"
    ]
    assert answer.failed


def test_depends_on_follows_the_resource_it_names() -> None:
    """Short-cut: rewrite every depends-on annotation."""
    annotation = "config.kubernetes.io/depends-on"
    inside = f"\n  annotations:\n    {annotation}: apps/namespaces/old/Deployment/a"
    outside = f"\n  annotations:\n    {annotation}: apps/namespaces/old/Deployment/elsewhere"
    text = "---\n".join(
        [deployment("a", "old"), deployment("b", "old", inside), deployment("c", "old", outside)]
    )
    answer = call(set_namespace.run, text, STAGING)
    assert [resource.annotation(value, annotation) for value in answer.values] == [
        "",
        "apps/namespaces/staging/Deployment/a",
        "apps/namespaces/old/Deployment/elsewhere",
    ]
    assert answer.messages[1] == (
        'info: `depends-on` annotation namespace [old] updated to "staging", 1 value(s) changed'
    )


def test_two_places_that_share_one_object_change_apart() -> None:
    """Short-cut: change the value in place, and with it whatever an alias shares."""
    shared: dict[str, Value] = {"name": "cart"}
    first: Value = {"apiVersion": "v1", "kind": "Pod", "metadata": shared}
    second: Value = {"apiVersion": "x.io/v1", "kind": "X", "metadata": shared}
    resource.with_field(first, ("metadata", "namespace"), "staging")
    assert second == {"apiVersion": "x.io/v1", "kind": "X", "metadata": {"name": "cart"}}


CONFIGS = {
    "package context": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kptfile.kpt.dev}\ndata: {name: staging}",
        'info: namespace [default] updated to "staging", 1 value(s) changed',
    ),
    "own kind": (
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetNamespace\nnamespace: staging",
        'info: namespace [default] updated to "staging", 1 value(s) changed',
    ),
    "none": (
        None,
        "error: FunctionConfig is missing. Expect `ConfigMap.v1` or"
        " `SetNamespace.v1alpha1.fn.kpt.dev`",
    ),
    "empty": ("{}", "error: FunctionConfig is missing. Expect `ConfigMap.v1` or"
        " `SetNamespace.v1alpha1.fn.kpt.dev`"),
    "no namespace": (config_map(name="x"), "error: `data.namespace` should not be empty"),
    "package context without a name": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kptfile.kpt.dev}\ndata: {a: b}",
        "error: `data.namespace` should not be empty",
    ),
    "a ConfigMap that does not say so": (
        "data: {namespace: staging}",
        'info: namespace [default] updated to "staging", 1 value(s) changed',
    ),
    "own kind without a version": (
        "kind: SetNamespace\nnamespace: staging",
        'info: namespace [default] updated to "staging", 1 value(s) changed',
    ),
    "own kind of another version": (
        "apiVersion: fn.kpt.dev/v1\nkind: SetNamespace\nnamespace: staging",
        "error: unknown functionConfig Kind=SetNamespace ApiVersion=fn.kpt.dev/v1, expect"
        " `ConfigMap.v1` or `SetNamespace.v1alpha1.fn.kpt.dev`",
    ),
    "a number": (
        "apiVersion: v1\nkind: ConfigMap\ndata: {namespace: 7}",
        "error: failed to parse FunctionConfig as ConfigMap",
    ),
    "data that are a list": (
        "apiVersion: v1\nkind: ConfigMap\ndata: [a]",
        "error: failed to parse FunctionConfig as ConfigMap",
    ),
    "a number in its own kind": (
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetNamespace\nnamespace: staging\n"
        "namespaceMatcher: 7",
        "error: failed to parse FunctionConfig as fn.kpt.dev.v1alpha1.SetNamespace",
    ),
    "own kind without a namespace": (
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetNamespace",
        "error: `namespace` should not be empty",
    ),
    "another kind": (
        "apiVersion: x.io/v1\nkind: X",
        "error: unknown functionConfig Kind=X ApiVersion=x.io/v1, expect `ConfigMap.v1` or"
        " `SetNamespace.v1alpha1.fn.kpt.dev`",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("config", "message"), CONFIGS.values(), ids=CONFIGS)
def test_configuration(config: str | None, message: str) -> None:
    """The short-cut: an error among the results of a function that ends well."""
    answer = call(set_namespace.run, deployment(), config)
    refused = message.startswith("error: ")
    assert answer.messages[0] == message
    assert answer.failed == refused
    assert answer.log == (FAILURE_LOG if refused else "")
    assert (answer.values == tuple(values(deployment()))) == refused


def test_an_error_about_the_configuration_names_it() -> None:
    """Short-cut: tell a file only where the configuration is missing."""
    answer = call(set_namespace.run, deployment(), "apiVersion: v1\nkind: ConfigMap")
    assert answer.results == (
        {
            "message": "`data.namespace` should not be empty",
            "severity": "error",
            "resourceRef": {"apiVersion": "v1", "kind": "ConfigMap"},
            "file": {"index": -1},
        },
    )


SCOPES = [
    ("apiVersion: kpt-test\nkind: KptTestResource\nmetadata: {namespace: ''}", True),
    ("apiVersion: v1\nkind: ResourceQuota", True),
    ("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding", False),
    ("apiVersion: kpt-test\nkind: KptTestResource\nmetadata: {namespace: example}", True),
    ("apiVersion: kpt-test\nkind: KptTestResource", False),
]


@pytest.mark.parametrize(("text", "expected"), SCOPES)
def test_scope(text: str, expected: bool) -> None:
    assert resource.is_namespaced(values(text)[0]) is expected
