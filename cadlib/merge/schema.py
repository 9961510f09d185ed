"""Merge schemas: which lists are associative, and which values are atomic.

Rules:
- A list is associative, its elements matched by their merge keys, where the OpenAPI
  schema of Kubernetes 1.21 says so (`x-kubernetes-patch-strategy: merge`; the keys are
  `x-kubernetes-list-map-keys` or else `x-kubernetes-patch-merge-key`), as in kpt; where
  a CustomResourceDefinition at hand says so, by the same words or by
  `x-kubernetes-list-type: map`; and where a comment on the field itself does
  (`# {"x-kubernetes-patch-merge-key": "name", ...}`).
- Every other list is replaced as a whole.
- A mapping of a known kind is whole: half of it means something else or nothing. Labels,
  annotations and data are not: each of their keys stands by itself.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cadlib.yaml import Value

_MERGE_KEY = "x-kubernetes-patch-merge-key"
_STRATEGY = "x-kubernetes-patch-strategy"
_LIST_TYPE = "x-kubernetes-list-type"
_MAP_KEYS = "x-kubernetes-list-map-keys"

NOTES = (_STRATEGY, "$ref")
"""What a comment with a schema holds."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The merge schema of one field.

    Attributes:
        keys: Fields that tell the elements of a list apart; () for a list that is a set
            of plain values; None if the list is replaced as a whole.
        whole: A mapping whose fields belong together, and so for what is below it.
        fields: What is known of the fields of a mapping.
        every: What is known of each field that is not in `fields`, or None.
        items: What is known of the elements of a list, or None.
        one_of: Groups of fields; of each group a mapping has one at most.
    """

    keys: tuple[str, ...] | None = None
    whole: bool = False
    fields: Mapping[str, "Schema"] = field(default_factory=dict)
    every: "Schema | None" = None
    items: "Schema | None" = None
    one_of: tuple[frozenset[str], ...] = ()

    def at(self, key: str) -> "Schema":
        """Return the schema of a field of this mapping."""
        return self.fields.get(key) or self.every or self._below

    @property
    def element(self) -> "Schema":
        """The schema of this list's elements."""
        return self.items or self._below

    @property
    def _below(self) -> "Schema":
        return WHOLE if self.whole else UNKNOWN


UNKNOWN = Schema()
WHOLE = Schema(whole=True)
_LOOSE = Schema(every=UNKNOWN)


def _whole(**fields: Schema) -> Schema:
    return Schema(whole=True, fields=fields)


def _listed(items: Schema, *keys: str) -> Schema:
    return Schema(keys=keys, whole=True, items=items)


def _choice(*one_of: str, **fields: Schema) -> Schema:
    return Schema(whole=True, fields=fields, one_of=(frozenset(one_of),))


# The types of k8s.io/api 0.21, and Kustomization, with fields that have a patch strategy
# "merge", and those on the way to them. The names of volume sources are those up to today.
_CONDITIONS = _whole(conditions=_listed(WHOLE, "type"))
_PROBE = _choice("exec", "httpGet", "tcpSocket", "grpc")
_LIFECYCLE = _whole(postStart=_PROBE, preStop=_PROBE)
_ENV = _choice(
    "value",
    "valueFrom",
    valueFrom=_choice("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef"),
)
_VOLUME = _choice(
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "glusterfs",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "persistentVolumeClaim",
    "photonPersistentDisk",
    "portworxVolume",
    "projected",
    "quobyte",
    "rbd",
    "scaleIO",
    "secret",
    "storageos",
    "vsphereVolume",
)
_PROBES = {
    "livenessProbe": _PROBE,
    "readinessProbe": _PROBE,
    "startupProbe": _PROBE,
    "lifecycle": _LIFECYCLE,
}
_CONTAINER_FIELDS = {
    "env": _listed(_ENV, "name"),
    "volumeMounts": _listed(WHOLE, "mountPath"),
    "volumeDevices": _listed(WHOLE, "devicePath"),
    **_PROBES,
}
_CONTAINER = _whole(**_CONTAINER_FIELDS, ports=_listed(WHOLE, "containerPort", "protocol"))
_EPHEMERAL_CONTAINER = _whole(**_CONTAINER_FIELDS)
_LOOSE_MAPS = {"labels": _LOOSE, "annotations": _LOOSE}
_METADATA = Schema(
    fields={
        **_LOOSE_MAPS,
        "finalizers": _listed(WHOLE),
        "ownerReferences": _listed(WHOLE, "uid"),
    }
)
_POD_SPEC = _whole(
    containers=_listed(_CONTAINER, "name"),
    initContainers=_listed(_CONTAINER, "name"),
    ephemeralContainers=_listed(_EPHEMERAL_CONTAINER, "name"),
    imagePullSecrets=_listed(WHOLE, "name"),
    volumes=_listed(_VOLUME, "name"),
    hostAliases=_listed(WHOLE, "ip"),
    topologySpreadConstraints=_listed(WHOLE, "topologyKey", "whenUnsatisfiable"),
)
_TEMPLATE = _whole(metadata=_METADATA, spec=_POD_SPEC)
_JOB_SPEC = _whole(template=_TEMPLATE)
_JOB_TEMPLATE = _whole(metadata=_METADATA, spec=_JOB_SPEC)
_WORKLOAD = {"spec": _whole(template=_TEMPLATE), "status": _CONDITIONS}
_WEBHOOKS = {"webhooks": _listed(WHOLE, "name")}

# Types that a comment on a field may name, by the last part of their name; kinds, too.
_TYPES = {
    **{
        f"{kind}Spec": _whole(template=_TEMPLATE)
        for kind in (
            "Deployment",
            "DaemonSet",
            "ReplicaSet",
            "StatefulSet",
            "ReplicationController",
            "Job",
        )
    },
    "JobTemplateSpec": _JOB_TEMPLATE,
    "CronJobSpec": _whole(jobTemplate=_JOB_TEMPLATE),
    "ServiceSpec": _whole(ports=_listed(WHOLE, "port", "protocol")),
    "Volume": _VOLUME,
    "Probe": _PROBE,
    "Lifecycle": _LIFECYCLE,
    "Container": _CONTAINER,
    "EphemeralContainer": _EPHEMERAL_CONTAINER,
    "EnvVar": _ENV,
    "PodSpec": _POD_SPEC,
    "PodTemplateSpec": _TEMPLATE,
    "ObjectMeta": _METADATA,
}

_KINDS: Mapping[tuple[str, str], Mapping[str, Schema]] = {
    ("", "Pod"): {
        "spec": _POD_SPEC,
        "status": _whole(conditions=_listed(WHOLE, "type"), podIPs=_listed(WHOLE, "ip")),
    },
    ("", "PodTemplate"): {"template": _TEMPLATE},
    ("", "EphemeralContainers"): {"ephemeralContainers": _listed(_EPHEMERAL_CONTAINER, "name")},
    ("", "ReplicationController"): _WORKLOAD,
    ("", "Service"): {
        "spec": _whole(ports=_listed(WHOLE, "port", "protocol")),
        "status": _CONDITIONS,
    },
    ("", "ServiceAccount"): {"secrets": _listed(WHOLE, "name")},
    ("", "Namespace"): {"status": _CONDITIONS},
    ("", "Node"): {
        "spec": _whole(podCIDRs=_listed(WHOLE)),
        "status": _whole(conditions=_listed(WHOLE, "type"), addresses=_listed(WHOLE, "type")),
    },
    ("", "PersistentVolumeClaim"): {"status": _CONDITIONS},
    ("", "ComponentStatus"): {"conditions": _listed(WHOLE, "type")},
    ("", "ConfigMap"): {"data": _LOOSE, "binaryData": _LOOSE},
    ("", "Secret"): {"data": _LOOSE, "stringData": _LOOSE},
    **{
        (group, kind): _WORKLOAD
        for group in ("apps", "extensions")
        for kind in ("Deployment", "DaemonSet", "ReplicaSet", "StatefulSet")
    },
    ("batch", "Job"): {"spec": _JOB_SPEC, "status": _CONDITIONS},
    ("batch", "CronJob"): {"spec": _whole(jobTemplate=_JOB_TEMPLATE)},
    ("policy", "PodDisruptionBudget"): {"status": _CONDITIONS},
    ("storage.k8s.io", "CSINode"): {"spec": _whole(drivers=_listed(WHOLE, "name"))},
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOKS,
    ("apiregistration.k8s.io", "APIService"): {"status": _CONDITIONS},
    ("kustomize.config.k8s.io", "Kustomization"): {
        "configMapGenerator": _listed(WHOLE, "name"),
        "secretGenerator": _listed(WHOLE, "name"),
    },
}
_GROUPS = frozenset(("", "apps", "autoscaling", "batch", "extensions", "policy"))
_RESOURCES = {
    key: Schema(whole=True, fields={"metadata": _METADATA, **fields})
    for key, fields in _KINDS.items()
}
_RESOURCE = Schema(whole=True, fields={"metadata": _METADATA})
# kpt refuses a function that has both of one of these pairs.
_FUNCTIONS = Schema(
    items=Schema(one_of=(frozenset(("image", "exec")), frozenset(("configPath", "configMap"))))
)
_RESOURCES["kpt.dev", "Kptfile"] = Schema(
    fields={"pipeline": Schema(fields={"mutators": _FUNCTIONS, "validators": _FUNCTIONS})}
)


class MergeSchemas:
    """Answers for resources: Kubernetes' own kinds, and those of the definitions given.

    Args:
        crds: CustomResourceDefinitions, v1 or v1beta1, taken when the first kind is asked
            for that is not Kubernetes' own; other resources are passed over. For a kind
            that is defined twice the first definition counts.
    """

    __slots__ = ("_crds", "_known", "_unread")

    def __init__(self, crds: Iterable[Value] = ()) -> None:
        self._unread = iter(crds)
        self._crds: dict[tuple[str, str, str], object] = {}
        self._known: dict[tuple[str, str, str], Schema] = {}

    def of(self, resource: Value) -> Schema:
        """Return the schema of a resource, by its apiVersion and kind."""
        whole = resource if isinstance(resource, dict) else {}
        api_version, kind = whole.get("apiVersion"), whole.get("kind")
        if not isinstance(api_version, str) or not isinstance(kind, str):
            return UNKNOWN
        group, version = split(api_version)
        if (group, kind) in _RESOURCES:
            return _RESOURCES[group, kind]
        key = (group, version, kind)
        if key not in self._known:
            self._known[key] = self._defined(key) or _other(group)
        return self._known[key]

    def _defined(self, key: tuple[str, str, str]) -> Schema | None:
        for crd in self._unread:
            for defined, schema in _definitions(crd):
                self._crds.setdefault(defined, schema)
        return _resource(self._crds[key]) if key in self._crds else None


def split(api_version: str) -> tuple[str, str]:
    """Return group and version of an apiVersion; the group of "v1" is ""."""
    group, _, version = api_version.rpartition("/")
    return group, version


def _other(group: str) -> Schema:
    """Return what is known of a kind by its group alone."""
    ours = group in _GROUPS or group.endswith(".k8s.io")
    return _RESOURCE if ours and not group.endswith("config.k8s.io") else UNKNOWN


def of_comment(comment: str) -> Schema | None:
    """Return the schema that a comment declares for its mapping or list; None if it declares none.

    Args:
        comment: With its "#", such as `# {"x-kubernetes-patch-merge-key":"name", ...}` or
            `# {"$ref":"#/definitions/io.k8s.api.core.v1.PodSpec"}`.
    """
    text = comment.lstrip("#").strip()
    if not (text.startswith("{") and any(each in text for each in NOTES)):
        return None
    try:
        found = _of_openapi(json.loads(text))
    except ValueError:  # words in braces, meant for people
        return None
    return None if found is UNKNOWN else found


def _definitions(crd: Value) -> Iterator[tuple[tuple[str, str, str], object]]:
    if not isinstance(crd, dict) or crd.get("kind") != "CustomResourceDefinition":
        return
    spec = _mapping(crd.get("spec"))
    group, kind = spec.get("group"), _mapping(spec.get("names")).get("kind")
    if not isinstance(group, str) or not isinstance(kind, str):
        return
    shared = _mapping(spec.get("validation")).get("openAPIV3Schema")
    versions = spec.get("versions")
    named = [_mapping(each) for each in versions] if isinstance(versions, list) else []
    if isinstance(spec.get("version"), str):  # v1beta1
        named.append({"name": spec["version"]})
    for version in named:
        own = _mapping(version.get("schema")).get("openAPIV3Schema")
        name = version.get("name")
        if isinstance(name, str) and (own or shared):
            yield (group, name, kind), own or shared


def _resource(schema: object) -> Schema:
    found = _of_openapi(schema)
    return Schema(
        whole=True,
        fields={**found.fields, "metadata": _METADATA},
        every=found.every,
    )


def _of_openapi(schema: object) -> Schema:
    """Translate a schema as OpenAPI writes it."""
    node = _mapping(schema)
    reference = node.get("$ref")
    if isinstance(reference, str):
        name = reference.rpartition(".")[2]
        kinds = (each for (_, kind), each in _RESOURCES.items() if kind == name)
        return _TYPES.get(name) or next(kinds, UNKNOWN)
    properties, items = node.get("properties"), node.get("items")
    every = node.get("additionalProperties")
    return Schema(
        keys=_keys(node),
        whole=isinstance(properties, dict) and bool(properties),
        fields={key: _of_openapi(each) for key, each in _mapping(properties).items()},
        every=_of_openapi(every) if isinstance(every, dict) else None,
        items=_of_openapi(items) if isinstance(items, dict) else None,
    )


def _keys(node: Mapping[str, object]) -> tuple[str, ...] | None:
    keys, key = node.get(_MAP_KEYS), node.get(_MERGE_KEY)
    merged = "merge" in str(node.get(_STRATEGY, "")).split(",")
    if isinstance(keys, list) and (merged or node.get(_LIST_TYPE) == "map"):
        return tuple(str(each) for each in keys)
    if merged and isinstance(key, str):
        return (key,)
    return () if merged or node.get(_LIST_TYPE) == "set" else None


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
