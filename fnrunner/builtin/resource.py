"""Accessors for resources as in the catalog's functions SDK: group, name, scope, origin.

All functions here take a resource as a plain value and tolerate one that is not shaped
as it should be: they answer with what is missing, since to complain is a validator's job.

Source: docs/design.md, "The function catalog"; the SDK is kptdev/krm-functions-sdk, go/fn.
"""

from typing import Final, NamedTuple

from cadlib.yaml import Value

UNKNOWN_NAMESPACE: Final = "~C"  # how an upstream identifier writes "has no namespace"
DEFAULT_NAMESPACE: Final = "default"
LOCAL_CONFIG: Final = "config.kubernetes.io/local-config"
UPSTREAM_IDENTIFIER: Final = "internal.kpt.dev/upstream-identifier"

Path = tuple[str | int, ...]


class ResourceId(NamedTuple):
    """Names a resource: group, kind, namespace ("~C" when it has none) and name."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return "|".join(self)


class ShapeError(Exception):
    """A field that must be a mapping holds something else.

    Attributes:
        path: Where that is in the resource.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(".".join(map(str, path)))
        self.path = path


def mapping(value: Value) -> dict[str, Value]:
    """Return a value that is a mapping, or an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Value) -> list[Value]:
    """Return a value that is a list, or an empty one."""
    return value if isinstance(value, list) else []


def text(value: Value) -> str:
    """Return a value that is a string, or ""."""
    return value if isinstance(value, str) else ""


def field(value: Value, *path: str) -> Value:
    """Return the value at a path of keys, or None when there is none."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def with_field(value: Value, path: Path, new: Value, *, done: Path = ()) -> Value:
    """Return a copy of a value with one field set; what is not on the path is shared.

    Copying matters: one Python object may stand in two places, where the YAML has an alias.

    Args:
        value: A resource or a part of one.
        path: Keys and list positions; keys that are missing or null become mappings.
        new: What to put there.
        done: Where `value` is, for the error.

    Raises:
        ShapeError: The path goes through a value that is not a mapping.
    """
    if not path:
        return new
    key, rest = path[0], path[1:]
    if isinstance(key, int) and isinstance(value, list):
        copy = list(value)
        copy[key] = with_field(copy[key], rest, new, done=(*done, key))
        return copy
    if isinstance(key, str) and (value is None or isinstance(value, dict)):
        old = value or {}
        return {**old, key: with_field(old.get(key), rest, new, done=(*done, key))}
    raise ShapeError(done)


def api_version(value: Value) -> str:
    """Return `apiVersion`, or ""."""
    return text(field(value, "apiVersion"))


def kind(value: Value) -> str:
    """Return `kind`, or ""."""
    return text(field(value, "kind"))


def group(value: Value) -> str:
    """Return the API group; "" for the core group and when there is none."""
    before, slash, _ = api_version(value).partition("/")
    return before if slash else ""


def version(value: Value) -> str:
    """Return the API version without the group, such as "v1"."""
    return api_version(value).rpartition("/")[2]


def name(value: Value) -> str:
    """Return `metadata.name`, or ""."""
    return text(field(value, "metadata", "name"))


def namespace(value: Value) -> str:
    """Return `metadata.namespace`, or ""."""
    return text(field(value, "metadata", "namespace"))


def annotation(value: Value, key: str) -> str:
    """Return one annotation, or "" when it is missing or not a string."""
    return text(field(value, "metadata", "annotations", key))


def reference(value: Value) -> dict[str, str]:
    """Return the `resourceRef` of a result, leaving out what is not there."""
    found = {
        "apiVersion": api_version(value),
        "kind": kind(value),
        "name": name(value),
        "namespace": namespace(value),
    }
    return {key: part for key, part in found.items() if part}


def is_krm(value: Value) -> bool:
    """Tell whether a resource has apiVersion and kind; a bare `kustomization.yaml` has not."""
    return bool(api_version(value) and kind(value))


def is_local(value: Value) -> bool:
    """Tell whether it is configuration for tools, which is never applied to a cluster."""
    return annotation(value, LOCAL_CONFIG) not in ("", "false")


def is_namespaced(value: Value) -> bool:
    """Tell whether it lives in a namespace; a kind not known does if it has a field for one."""
    known = _SCOPES.get((group(value), kind(value)))
    return "namespace" in mapping(field(value, "metadata")) if known is None else known


def effective_namespace(value: Value) -> str | None:
    """Return the namespace it would be created in; None where it cannot be in one.

    A kind that is not known counts as one that can.
    """
    named = namespace(value)
    if named or _SCOPES.get((group(value), kind(value)), True):
        return named or DEFAULT_NAMESPACE
    return None


def identity(value: Value) -> ResourceId:
    """Return what it is called; a namespaced resource that names none is in "default"."""
    unnamed = DEFAULT_NAMESPACE if is_namespaced(value) else UNKNOWN_NAMESPACE
    return ResourceId(group(value), kind(value), namespace(value) or unnamed, name(value))


def origin(value: Value) -> ResourceId | None:
    """Return what it was called upstream, or None when it does not say (readably)."""
    said = annotation(value, UPSTREAM_IDENTIFIER)
    if not said:
        return None
    parts = [part.strip() for part in said.split("|")]
    return ResourceId(*parts) if len(parts) == 4 else None  # group|kind|namespace|name


def _scopes(namespaced: bool, kinds: dict[str, str]) -> dict[tuple[str, str], bool]:
    return {(group, kind): namespaced for group, names in kinds.items() for kind in names.split()}


# Kinds that Kubernetes ships, by group. The API's own list (`kubectl api-resources`), with
# the groups that came before today's (extensions, policy's PodSecurityPolicy).
_SCOPES: Final = {
    **_scopes(
        False,
        {
            "": "ComponentStatus Namespace Node PersistentVolume",
            "admissionregistration.k8s.io": "MutatingAdmissionPolicy "
            "MutatingAdmissionPolicyBinding MutatingWebhookConfiguration "
            "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding "
            "ValidatingWebhookConfiguration",
            "apiextensions.k8s.io": "CustomResourceDefinition",
            "apiregistration.k8s.io": "APIService",
            "authentication.k8s.io": "SelfSubjectReview TokenReview",
            "authorization.k8s.io": "SelfSubjectAccessReview SelfSubjectRulesReview "
            "SubjectAccessReview",
            "certificates.k8s.io": "CertificateSigningRequest ClusterTrustBundle",
            "extensions": "PodSecurityPolicy",
            "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
            "internal.apiserver.k8s.io": "StorageVersion",
            "networking.k8s.io": "IPAddress IngressClass ServiceCIDR",
            "node.k8s.io": "RuntimeClass",
            "policy": "PodSecurityPolicy",
            "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding",
            "resource.k8s.io": "DeviceClass ResourceSlice",
            "scheduling.k8s.io": "PriorityClass",
            "storage.k8s.io": "CSIDriver CSINode StorageClass VolumeAttachment "
            "VolumeAttributesClass",
        },
    ),
    **_scopes(
        True,
        {
            "": "Binding ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod "
            "PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount",
            "apps": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
            "authorization.k8s.io": "LocalSubjectAccessReview",
            "autoscaling": "HorizontalPodAutoscaler",
            "batch": "CronJob Job",
            "coordination.k8s.io": "Lease",
            "discovery.k8s.io": "EndpointSlice",
            "events.k8s.io": "Event",
            "extensions": "DaemonSet Deployment Ingress NetworkPolicy ReplicaSet",
            "networking.k8s.io": "Ingress NetworkPolicy",
            "policy": "Eviction PodDisruptionBudget",
            "rbac.authorization.k8s.io": "Role RoleBinding",
            "resource.k8s.io": "ResourceClaim ResourceClaimTemplate",
            "storage.k8s.io": "CSIStorageCapacity",
        },
    ),
}
