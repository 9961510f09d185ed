"""set-name-prefix: which names change, and where the new prefix comes from."""

import pytest

from fnrunner.builtin import resource
from fnrunner.builtin.catalog import set_name_prefix
from fnrunner.builtin.name_references import DEPENDS_ON
from tests.fnrunner.calls import Answer, call, config_map, values

LOCAL = 'annotations: {config.kubernetes.io/local-config: "true"}'
CONTEXT = f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: kptfile.kpt.dev, {LOCAL}}}
data: {{name: shop}}
"""
TEXT = f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: packagename-web}}
spec: {{template: {{spec: {{serviceAccountName: packagename}}}}}}
---
{{apiVersion: v1, kind: ServiceAccount, metadata: {{name: packagename}}}}
---
{{apiVersion: v1, kind: Service, metadata: {{name: packagenames}}}}
---
{{apiVersion: v1, kind: Service, metadata: {{name: my-packagename-web}}}}
---
{{apiVersion: v1, kind: ConfigMap, metadata: {{name: packagename-local, {LOCAL}}}}}
---
{{apiVersion: kpt.dev/v1alpha1, kind: ResourceGroup, metadata: {{name: packagename}}}}
"""


def names(answer: Answer) -> list[str]:
    assert not answer.failed, answer.messages
    assert answer.results == ()
    return [resource.name(value) for value in answer.values]


def test_the_prefix_is_the_package_and_whole_words_only() -> None:
    """Short-cut: replace the text at the beginning of every name."""
    answer = call(set_name_prefix.run, f"{TEXT}---{CONTEXT}", None)
    assert names(answer) == [
        "shop-web",
        "shop",
        "packagenames",
        "my-packagename-web",
        "packagename-local",
        "packagename",
        "kptfile.kpt.dev",
    ]
    path = ("spec", "template", "spec", "serviceAccountName")
    assert resource.field(answer.values[0], *path) == "shop"


def test_given_prefixes() -> None:
    config = config_map(prefix="new", oldPrefix="my-packagename")
    assert names(call(set_name_prefix.run, TEXT, config))[2:4] == ["packagenames", "new-web"]


IN_A_NAMESPACE = """
{apiVersion: v1, kind: Namespace, metadata: {name: packagename}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: packagename-admins
  namespace: packagename
  annotations: {config.kubernetes.io/depends-on: /namespaces/packagename/ServiceAccount/s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}
subjects: [{kind: ServiceAccount, name: s, namespace: packagename}, {kind: Group, name: g}]
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: s, namespace: packagename-other}}
"""


def test_a_renamed_namespace_takes_its_resources_along() -> None:
    """Short-cut: change names, and where names stand, but no namespaces."""
    config = config_map(prefix="shop")
    _, binding, outside = call(set_name_prefix.run, IN_A_NAMESPACE, config).values
    assert binding == {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {
            "name": "shop-admins",
            "namespace": "shop",
            "annotations": {DEPENDS_ON: "/namespaces/shop/ServiceAccount/s"},
        },
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "admin",
        },
        "subjects": [
            {"kind": "ServiceAccount", "name": "s", "namespace": "shop"},
            {"kind": "Group", "name": "g"},
        ],
    }
    assert resource.namespace(outside) == "packagename-other"


OWNERS = """
apiVersion: v1
kind: Secret
metadata:
  name: s
  namespace: a
  ownerReferences:
  - {apiVersion: x.io/v1, kind: Owner, name: packagename}
  - {apiVersion: y.io/v1, kind: Owner, name: packagename}
---
{apiVersion: x.io/v2, kind: Owner, metadata: {name: packagename, namespace: a}}
---
{apiVersion: y.io/v1, kind: Owner, metadata: {name: packagename, namespace: b}}
"""


def test_owners_keep_what_is_theirs() -> None:
    """Short-cut: take an owner of another group or namespace for the one that is meant."""
    secret = call(set_name_prefix.run, OWNERS, config_map(prefix="shop")).values[0]
    owners = resource.items(resource.field(secret, "metadata", "ownerReferences"))
    assert [resource.field(each, "name") for each in owners] == ["shop", "packagename"]


GOOGLE = """
apiVersion: container.cnrm.cloud.google.com/v1beta1
kind: ContainerNodePool
metadata: {name: packagename-nodes}
spec:
  clusterRef: {name: packagename}
  nodeConfig: {serviceAccountRef: {name: packagename, external: packagename}}
---
{apiVersion: container.cnrm.cloud.google.com/v1beta1, kind: ContainerCluster,
 metadata: {name: packagename}}
---
{apiVersion: iam.cnrm.cloud.google.com/v1beta1, kind: IAMServiceAccount,
 metadata: {name: packagename}}
---
apiVersion: iam.cnrm.cloud.google.com/v1beta1
kind: IAMPartialPolicy
metadata: {name: policy}
spec:
  resourceRef: {apiVersion: container.cnrm.cloud.google.com/v1beta1, kind: ContainerCluster,
                name: packagename}
  bindings:
  - members:
    - {memberFrom: {serviceAccountRef: {name: packagename}}}
    - {member: packagename}
---
apiVersion: resourcemanager.cnrm.cloud.google.com/v1beta1
kind: Project
metadata: {name: p, namespace: packagename}
spec: {folderRef: {name: packagename, namespace: folders}}
---
{apiVersion: resourcemanager.cnrm.cloud.google.com/v1beta1, kind: Folder,
 metadata: {name: packagename, namespace: other}}
"""


def test_references_of_config_connector_follow() -> None:
    """Short-cut: know the references of Kubernetes' own kinds only."""
    pool, _, _, policy, project, _ = call(
        set_name_prefix.run, GOOGLE, config_map(prefix="shop")
    ).values
    assert resource.field(pool, "spec") == {
        "clusterRef": {"name": "shop"},
        "nodeConfig": {"serviceAccountRef": {"name": "packagename", "external": "packagename"}},
    }
    assert resource.field(policy, "spec", "resourceRef", "name") == "shop"
    assert resource.field(policy, "spec", "bindings") == [
        {
            "members": [
                {"memberFrom": {"serviceAccountRef": {"name": "shop"}}},
                {"member": "packagename"},
            ]
        }
    ]
    assert resource.field(project, "spec", "folderRef", "name") == "packagename"
    assert resource.namespace(project) == "packagename"


FAILS = {
    "no context": (None, TEXT, "unable to find package context object"),
    "two contexts": (
        None,
        f"{CONTEXT}---{CONTEXT}",
        "found multiple matches for package-context object",
    ),
    "a context without a name": (
        None,
        CONTEXT.replace("name: shop", "other: shop"),
        "package name (data.name) not set in package context object",
    ),
    "an empty prefix": (config_map(prefix=""), CONTEXT, "`data.prefix` should not be empty"),
    "an empty old prefix": (
        config_map(prefix="a", oldPrefix=""),
        CONTEXT,
        "`data.oldPrefix` should not be empty",
    ),
    "a number": (
        "{apiVersion: v1, kind: ConfigMap, data: {prefix: 7}}",
        CONTEXT,
        "functionConfig error: `data.prefix` must be a text; put it in quotes",
    ),
    "no mapping": (
        "{apiVersion: v1, kind: ConfigMap, data: [a]}",
        CONTEXT,
        "functionConfig error: `data` must be a mapping",
    ),
    "another kind": (
        "{apiVersion: g/v1, kind: K}",
        CONTEXT,
        "functionConfig error: unknown functionConfig Kind g/v1, Kind=K; give a ConfigMap",
    ),
}


@pytest.mark.parametrize(("config", "text", "message"), FAILS.values(), ids=FAILS)
def test_failed(config: str | None, text: str, message: str) -> None:
    answer = call(set_name_prefix.run, text, config)
    assert answer.failed
    assert answer.messages == [f"error: {message}"]
    assert answer.values == tuple(values(text))
