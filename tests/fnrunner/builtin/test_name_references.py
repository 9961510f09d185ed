"""References to renamed resources."""

from copy import deepcopy

import pytest

from cadlib.yaml import Value
from fnrunner.builtin import resource
from fnrunner.builtin.name_references import DEPENDS_ON, renamed
from tests.fnrunner.calls import values

POD_SPEC = """
      serviceAccountName: account
      priorityClassName: urgent
      imagePullSecrets: [{name: secret}]
      initContainers:
      - env: [{name: A, valueFrom: {configMapKeyRef: {name: config, key: k}}}]
        envFrom: [{configMapRef: {name: config}}, {secretRef: {name: secret}}]
      containers:
      - env:
        - {name: B, valueFrom: {secretKeyRef: {name: secret, key: k}}}
        - {name: config, value: config}
      volumes:
      - {name: config, configMap: {name: config}}
      - {name: a, secret: {secretName: secret}}
      - {name: b, persistentVolumeClaim: {claimName: claim}}
      - name: c
        projected: {sources: [{configMap: {name: config}}, {secret: {name: secret}}]}
      - {name: d, configMap: {name: elsewhere}}
"""
TARGETS = """
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: config}}
---
{apiVersion: v1, kind: Secret, metadata: {name: secret}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: claim}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: account}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: urgent}}
"""
NEW_POD_SPEC = (
    POD_SPEC.replace("name: config, key", "name: new-config, key")
    .replace("configMapRef: {name: config}", "configMapRef: {name: new-config}")
    .replace("configMap: {name: config}", "configMap: {name: new-config}")
    .replace("name: secret", "name: new-secret")
    .replace("secretName: secret", "secretName: new-secret")
    .replace("claimName: claim", "claimName: new-claim")
    .replace("serviceAccountName: account", "serviceAccountName: new-account")
    .replace("priorityClassName: urgent", "priorityClassName: new-urgent")
)

# Kinds whose pods may refer to all of these; the table knows fewer for PodTemplate, say.
PODS = {
    "Pod": ("v1", ("spec",)),
    "Deployment": ("apps/v1", ("spec", "template", "spec")),
    "StatefulSet": ("apps/v1", ("spec", "template", "spec")),
    "DaemonSet": ("apps/v1", ("spec", "template", "spec")),
    "Job": ("batch/v1", ("spec", "template", "spec")),
    "CronJob": ("batch/v1", ("spec", "jobTemplate", "spec", "template", "spec")),
}


def within(kind: str, spec: str) -> Value:
    """A resource of a kind with a pod's spec in its place."""
    version, path = PODS[kind]
    head: Value = {"apiVersion": version, "kind": kind, "metadata": {"name": "who"}}
    return resource.with_field(head, path, values(spec)[0])


@pytest.mark.parametrize("kind", PODS)
def test_pods(kind: str) -> None:
    """Short-cut: replace the name wherever it stands."""
    given = [within(kind, POD_SPEC), *values(TARGETS)]
    before = deepcopy(given)
    names = {i: f"new-{resource.name(each)}" for i, each in enumerate(given) if i}

    found = renamed(given, names)

    assert found[0] == within(kind, NEW_POD_SPEC)
    assert [resource.name(each) for each in found[1:]] == list(names.values())
    assert given == before


REFERENCES = {
    "an autoscaler's workload": (
        "{kind: HorizontalPodAutoscaler, spec: {scaleTargetRef: {kind: Deployment, name: x}}}",
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}}",
        ("spec", "scaleTargetRef", "name"),
        "new-x",
    ),
    "an ingress's service": (
        "{kind: Ingress, spec: {defaultBackend: {service: {name: x}}}}",
        "{apiVersion: v1, kind: Service, metadata: {name: x}}",
        ("spec", "defaultBackend", "service", "name"),
        "new-x",
    ),
    "an ingress's class": (
        "{kind: Ingress, spec: {ingressClassName: x}}",
        "{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: x}}",
        ("spec", "ingressClassName"),
        "new-x",
    ),
    "an annotation": (
        "{kind: Ingress, metadata: {annotations: {nginx.ingress.kubernetes.io/auth-secret: x}}}",
        "{apiVersion: v1, kind: Secret, metadata: {name: x}}",
        ("metadata", "annotations", "nginx.ingress.kubernetes.io/auth-secret"),
        "new-x",
    ),
    "names in a role": (
        "{kind: Role, rules: [{resourceNames: [y, x]}]}",
        "{apiVersion: v1, kind: Secret, metadata: {name: x}}",
        ("rules",),
        [{"resourceNames": ["y", "new-x"]}],
    ),
    "a service of a set": (
        "{apiVersion: apps/v1, kind: StatefulSet, spec: {serviceName: x}}",
        "{apiVersion: v1, kind: Service, metadata: {name: x}}",
        ("spec", "serviceName"),
        "new-x",
    ),
    "only of the kind that is meant": (
        "{apiVersion: apps/v1, kind: StatefulSet, spec: {serviceName: x}}",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}",
        ("spec", "serviceName"),
        "x",
    ),
    "not in another namespace": (
        "{kind: Pod, apiVersion: v1, metadata: {namespace: a}, spec: {serviceAccountName: x}}",
        "{apiVersion: v1, kind: ServiceAccount, metadata: {name: x, namespace: b}}",
        ("spec", "serviceAccountName"),
        "x",
    ),
    "default is where who names none is": (
        "{kind: Pod, apiVersion: v1, metadata: {namespace: default},"
        " spec: {serviceAccountName: x}}",
        "{apiVersion: v1, kind: ServiceAccount, metadata: {name: x}}",
        ("spec", "serviceAccountName"),
        "new-x",
    ),
    "a misshapen one is left alone": (
        "{kind: Ingress, spec: {defaultBackend: text}}",
        "{apiVersion: v1, kind: Service, metadata: {name: x}}",
        ("spec", "defaultBackend"),
        "text",
    ),
}


@pytest.mark.parametrize(("who", "target", "path", "found"), REFERENCES.values(), ids=REFERENCES)
def test_reference(who: str, target: str, path: tuple[str, ...], found: Value) -> None:
    given = [*values(who), *values(target)]
    assert resource.field(renamed(given, {1: "new-x"})[0], *path) == found


BINDING = """
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: binding, namespace: a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: x}
subjects:
- {kind: ServiceAccount, name: x, namespace: b}
- {kind: ServiceAccount, name: x, namespace: c}
- {kind: ServiceAccount, name: y}
- {kind: User, name: x}
- {kind: ServiceAccount}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: x}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: x, namespace: a}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: x, namespace: b}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: y, namespace: a}}
"""


def test_a_binding_follows_the_role_and_the_accounts_it_says() -> None:
    """Short-cut: compare names only."""
    given = values(BINDING)
    found = renamed(given, {1: "cluster-x", 2: "role-x", 3: "b-x", 4: "a-y"})[0]
    assert resource.field(found, "roleRef", "name") == "cluster-x"
    assert resource.field(found, "subjects") == [
        {"kind": "ServiceAccount", "name": "b-x", "namespace": "b"},
        {"kind": "ServiceAccount", "name": "x", "namespace": "c"},
        {"kind": "ServiceAccount", "name": "a-y", "namespace": "a"},
        {"kind": "User", "name": "x"},
        {"kind": "ServiceAccount"},
    ]


def test_the_service_of_a_webhook_is_a_mapping() -> None:
    given = values(
        """
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: hook}
webhooks: [{clientConfig: {service: {name: s, namespace: n}}}, {clientConfig: {url: u}}]
---
{apiVersion: v1, kind: Service, metadata: {name: s, namespace: n}}
"""
    )
    assert resource.field(renamed(given, {1: "new-s"})[0], "webhooks") == [
        {"clientConfig": {"service": {"name": "new-s", "namespace": "n"}}},
        {"clientConfig": {"url": "u"}},
    ]


DEPENDS = {
    "in a namespace": ("apps/namespaces/n/Deployment/a", "apps/namespaces/n/Deployment/new-a"),
    "in another one": ("apps/namespaces/m/Deployment/a", "apps/namespaces/m/Deployment/a"),
    "in none": ("example.com/Thing/b", "example.com/Thing/new-b"),
    "of the core": ("/namespaces/n/Secret/c", "/namespaces/n/Secret/new-c"),
    "one whose namespace is not said": ("/namespaces/any/Secret/c", "/namespaces/any/Secret/new-c"),
    "of another group": ("batch/namespaces/n/Deployment/a", "batch/namespaces/n/Deployment/a"),
    "several": (
        "example.com/Thing/b, apps/namespaces/n/Deployment/a,x",
        "example.com/Thing/new-b, apps/namespaces/n/Deployment/new-a,x",
    ),
    "no reference": ("anything at all", "anything at all"),
    "a name that is also a kind": ("example.com/b/b", "example.com/b/b"),
}


@pytest.mark.parametrize(("before", "after"), DEPENDS.values(), ids=DEPENDS)
def test_depends_on(before: str, after: str) -> None:
    given = values(
        f"""
{{apiVersion: v1, kind: Pod, metadata: {{name: p, annotations: {{{DEPENDS_ON}: "{before}"}}}}}}
---
{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: a, namespace: n}}}}
---
{{apiVersion: example.com/v1, kind: Thing, metadata: {{name: b}}}}
---
{{apiVersion: v1, kind: Secret, metadata: {{name: c}}}}
"""
    )
    found = renamed(given, {1: "new-a", 2: "new-b", 3: "new-c"})
    assert resource.annotation(found[0], DEPENDS_ON) == after
    assert [resource.name(each) for each in found] == ["p", "new-a", "new-b", "new-c"]


def test_what_does_not_change_is_the_same_object() -> None:
    given = values(
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {serviceAccountName: x}}"
    )
    assert renamed(given, {})[0] is given[0]
