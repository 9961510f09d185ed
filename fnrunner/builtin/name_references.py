"""Renaming resources, and what refers to them by name.

Rules:
    - Where names stand is kustomize's table of name references: Kubernetes' own kinds.
    - A reference follows a resource of the right kind that had this name and that the referrer
      can reach: in its namespace or in none, or in any if the referrer is in none.
    - A reference that says a kind or a namespace means only a resource that has them.
    - The annotation `config.kubernetes.io/depends-on` follows too. A resource that does not say
      its namespace is meant by a reference into any.

Source: kustomize, api/internal/konfig/builtinpluginconsts/namereference.go and
api/filters/nameref; cli-utils, annotation depends-on.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from cadlib.yaml import Value
from fnrunner.builtin import field_spec, resource
from fnrunner.builtin.field_spec import FieldSpec
from fnrunner.builtin.resource import ShapeError

DEPENDS_ON: Final = "config.kubernetes.io/depends-on"

_NAMESPACED: Final = re.compile(r"([-.\w]*)/namespaces/([-.\w]*)/([-.\w]*)/([-.\w]*)", re.ASCII)
_CLUSTER_SCOPED: Final = re.compile(r"([-.\w]*)/([-.\w]*)/([-.\w]*)", re.ASCII)


class _Target(NamedTuple):
    """Which resources a field refers to; "" is any."""

    kind: str
    group: str = ""
    version: str = ""

    def means(self, value: Value) -> bool:
        return (
            self.kind == resource.kind(value)
            and self.group in ("", resource.group(value))
            and self.version in ("", resource.version(value))
        )


class _Renamed(NamedTuple):
    value: Value  # as it was
    new: str


def renamed(values: Sequence[Value], names: Mapping[int, str]) -> list[Value]:
    """Return resources under their new names, with the references to them.

    Args:
        values: The resources, with their old names. They stay as they are.
        names: New names, by position in `values`.

    Returns:
        The resources in order; those that do not change are the same objects. A resource that
        is not shaped as its kind wants keeps its references.
    """
    changed = _Changed([_Renamed(values[i], new) for i, new in names.items()])
    found = []
    for position, value in enumerate(values):
        new = changed.references_in(value)
        if position in names:
            new = resource.with_field(new, ("metadata", "name"), names[position])
        found.append(new)
    return found


class _Changed:
    """What was renamed."""

    def __init__(self, renamed: Iterable[_Renamed]) -> None:
        self._by_name: dict[str, list[_Renamed]] = {}
        for each in renamed:
            self._by_name.setdefault(resource.name(each.value), []).append(each)
        self._kinds = {
            resource.kind(each.value) for named in self._by_name.values() for each in named
        }
        self._fields: dict[tuple[str, str], Sequence[tuple[_Target, FieldSpec]]] = {}

    def references_in(self, value: Value) -> Value:
        """Return a resource with its references changed."""
        referrer = value
        for target, spec in self._fields_of(value):
            reference = _Reference(self, referrer, target, spec)
            try:
                value = field_spec.change(value, spec.path, reference.changed)
            except ShapeError:
                continue  # to say so is a validator's job
        return self._depends_on(value)

    def _fields_of(self, value: Value) -> Sequence[tuple[_Target, FieldSpec]]:
        """Return where a resource may name one of a kind that was renamed."""
        called = resource.api_version(value), resource.kind(value)
        if called not in self._fields:
            self._fields[called] = [
                (target, spec)
                for target, spec in _table().get(called[1], ())
                if target.kind in self._kinds and spec.means(value)
            ]
        return self._fields[called]

    def named(self, name: str) -> Sequence[_Renamed]:
        """Return what had a name."""
        return self._by_name.get(name, ())

    def _depends_on(self, value: Value) -> Value:
        given = resource.annotation(value, DEPENDS_ON)
        if not given:
            return value
        new = ",".join(map(self._dependency, given.split(",")))
        if new == given:
            return value
        return resource.with_field(value, ("metadata", "annotations", DEPENDS_ON), new)

    def _dependency(self, text: str) -> str:
        bare = text.strip()
        namespace = None
        if parts := _NAMESPACED.fullmatch(bare):
            group, namespace, kind, name = parts.groups()
        elif parts := _CLUSTER_SCOPED.fullmatch(bare):
            group, kind, name = parts.groups()
        else:
            return text
        for each in self.named(name):
            same = (group, kind) == (resource.group(each.value), resource.kind(each.value))
            if same and resource.namespace(each.value) in ("", namespace or ""):
                return text[: text.rindex(name)] + each.new + text[text.rindex(name) + len(name) :]
        return text


class _Reference:
    """A field of one resource that names others."""

    def __init__(
        self, changed: _Changed, referrer: Value, target: _Target, spec: FieldSpec
    ) -> None:
        self._changed = changed
        self._referrer = referrer
        self._target = target
        self._role = spec.path[-2:] == ("roleRef", "name")

    def changed(self, value: Value) -> Value:
        """Return what to write: a name, a mapping with one, or a list of either."""
        if isinstance(value, list):
            new = [self.changed(each) for each in value]
            return new if any(a is not b for a, b in zip(new, value, strict=True)) else value
        if isinstance(value, dict):
            return self._in_mapping(value)
        found = next(self._candidates(value), None) if isinstance(value, str) else None
        return found.new if found else value

    def _in_mapping(self, value: dict[str, Value]) -> Value:
        name, kind, namespace = (resource.field(value, k) for k in ("name", "kind", "namespace"))
        if not isinstance(name, str) or kind not in (None, self._target.kind):
            return value
        candidates = list(self._candidates(name, namespace))
        if not candidates:
            return value
        new: dict[str, Value] = {**value, "name": candidates[0].new}
        written = resource.namespace(candidates[0].value)
        if namespace is None and written and len(candidates) == 1:
            new["namespace"] = written
        return new

    def _candidates(self, name: str, namespace: Value = None) -> Iterator[_Renamed]:
        for each in self._changed.named(name):
            if (
                self._target.means(each.value)
                and self._is_the_role(each.value)
                and self._reaches(each.value, namespace)
            ):
                yield each

    def _is_the_role(self, value: Value) -> bool:
        role = resource.field(self._referrer, "roleRef") if self._role else None
        group, kind = resource.field(role, "apiGroup"), resource.field(role, "kind")
        if group is None or kind is None:
            return True
        return (group, kind) == (resource.group(value), resource.kind(value))

    def _reaches(self, value: Value, namespace: Value) -> bool:
        there = resource.effective_namespace(value)
        if namespace is not None:
            return there == namespace
        here = resource.effective_namespace(self._referrer)
        return there is None or here is None or there == here


# --- where names stand ----------------------------------------------------------------------

_POD: Final = (("Pod", "spec"),)
_TEMPLATES: Final = (
    ("PodTemplate", "template/spec"),
    ("Deployment", "spec/template/spec"),
    ("ReplicaSet", "spec/template/spec"),
    ("DaemonSet", "spec/template/spec"),
    ("StatefulSet", "spec/template/spec"),
    ("Job", "spec/template/spec"),
    ("CronJob", "spec/jobTemplate/spec/template/spec"),
)
# kustomize's table has other kinds for what is not a ConfigMap or a Secret.
_WORKLOADS: Final = (
    *_POD,
    ("StatefulSet", "spec/template/spec"),
    ("Deployment", "spec/template/spec"),
    ("ReplicationController", "spec/template/spec"),
    ("CronJob", "spec/jobTemplate/spec/template/spec"),
    ("Job", "spec/template/spec"),
    ("DaemonSet", "spec/template/spec"),
)
_INGRESS: Final = r"metadata/annotations/nginx.ingress.kubernetes.io\/"


def _in_pods(
    kinds: Sequence[tuple[str, str]], *paths: str, version: str = ""
) -> Iterator[FieldSpec]:
    for kind, folder in kinds:
        for path in paths:
            yield _field(kind, f"{folder}/{path}", version=version)


def _field(kind: str, path: str, group: str = "", version: str = "") -> FieldSpec:
    return FieldSpec(field_spec.keys(path), group, version, kind)


def _containers(*paths: str) -> list[str]:
    return [f"{kind}/{path}" for kind in ("containers", "initContainers") for path in paths]


def _config_maps() -> Iterator[FieldSpec]:
    paths = (
        "volumes/configMap/name",
        *_containers("env/valueFrom/configMapKeyRef/name", "envFrom/configMapRef/name"),
        "volumes/projected/sources/configMap/name",
    )
    yield from _in_pods(_POD, *paths, version="v1")
    yield from _in_pods(_TEMPLATES, *paths)
    yield _field("Node", "spec/configSource/configMap")
    yield _field("Role", "rules/resourceNames")
    yield _field("ClusterRole", "rules/resourceNames")
    yield _field("Ingress", f"{_INGRESS}fastcgi-params-configmap")


def _secrets() -> Iterator[FieldSpec]:
    paths = (
        "volumes/secret/secretName",
        *_containers("env/valueFrom/secretKeyRef/name", "envFrom/secretRef/name"),
        "imagePullSecrets/name",
        "volumes/projected/sources/secret/name",
    )
    yield from _in_pods(_POD, *paths, version="v1")
    yield from _in_pods(_TEMPLATES, *paths)
    yield _field("Ingress", "spec/tls/secretName")
    yield _field("Ingress", r"metadata/annotations/ingress.kubernetes.io\/auth-secret")
    yield _field("Ingress", f"{_INGRESS}auth-secret")
    yield _field("Ingress", f"{_INGRESS}auth-tls-secret")
    yield _field("ServiceAccount", "imagePullSecrets/name")
    for key in ("secretName", "adminSecretName", "userSecretName", "secretRef"):
        yield _field("StorageClass", f"parameters/{key}")
    yield _field("Role", "rules/resourceNames")
    yield _field("ClusterRole", "rules/resourceNames")
    path = "spec/template/spec/containers/env/valueFrom/secretKeyRef/name"
    yield _field("Service", path, "serving.knative.dev", "v1")
    yield _field("PersistentVolume", "spec/azureFile/secretName")


def _services() -> Iterator[FieldSpec]:
    yield _field("StatefulSet", "spec/serviceName", "apps")
    yield _field("Ingress", "spec/rules/http/paths/backend/serviceName")
    yield _field("Ingress", "spec/backend/serviceName")
    yield _field("Ingress", "spec/rules/http/paths/backend/service/name")
    yield _field("Ingress", "spec/defaultBackend/service/name")
    yield _field("APIService", "spec/service/name", "apiregistration.k8s.io")
    for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
        yield _field(kind, "webhooks/clientConfig/service", "admissionregistration.k8s.io")


def _service_accounts() -> Iterator[FieldSpec]:
    yield _field("RoleBinding", "subjects", _RBAC)
    yield _field("ClusterRoleBinding", "subjects", _RBAC)
    yield from _in_pods(_WORKLOADS, "serviceAccountName")


_RBAC: Final = "rbac.authorization.k8s.io"
_ADMISSION: Final = "admissionregistration.k8s.io"
_SCALED: Final = (_field("HorizontalPodAutoscaler", "spec/scaleTargetRef/name"),)


@cache
def _table() -> Mapping[str, Sequence[tuple[_Target, FieldSpec]]]:
    """Return where names stand, by the kind of who refers."""
    listed: list[tuple[_Target, Iterable[FieldSpec]]] = [
        (_Target("Deployment"), _SCALED),
        (_Target("ReplicationController"), _SCALED),
        (_Target("ReplicaSet"), _SCALED),
        (_Target("StatefulSet"), _SCALED),
        (_Target("ConfigMap", version="v1"), _config_maps()),
        (_Target("Secret", version="v1"), _secrets()),
        (_Target("Service", version="v1"), _services()),
        (_Target("Role", _RBAC), [_field("RoleBinding", "roleRef/name", _RBAC)]),
        (
            _Target("ClusterRole", _RBAC),
            [_field(kind, "roleRef/name", _RBAC) for kind in ("RoleBinding", "ClusterRoleBinding")],
        ),
        (_Target("ServiceAccount", version="v1"), _service_accounts()),
        (
            _Target("PersistentVolumeClaim", version="v1"),
            _in_pods(_WORKLOADS, "volumes/persistentVolumeClaim/claimName"),
        ),
        (
            _Target("PersistentVolume", version="v1"),
            [
                _field("PersistentVolumeClaim", "spec/volumeName"),
                _field("ClusterRole", "rules/resourceNames"),
            ],
        ),
        (
            _Target("StorageClass", "storage.k8s.io", "v1"),
            [
                _field("PersistentVolume", "spec/storageClassName"),
                _field("PersistentVolumeClaim", "spec/storageClassName"),
                _field("StatefulSet", "spec/volumeClaimTemplates/spec/storageClassName"),
            ],
        ),
        (
            _Target("PriorityClass", "scheduling.k8s.io", "v1"),
            _in_pods(_WORKLOADS, "priorityClassName"),
        ),
        (
            _Target("IngressClass", "networking.k8s.io", "v1"),
            [_field("Ingress", "spec/ingressClassName")],
        ),
        (
            _Target("ValidatingAdmissionPolicy", _ADMISSION),
            [_field("ValidatingAdmissionPolicyBinding", "spec/policyName", _ADMISSION)],
        ),
    ]
    found: dict[str, list[tuple[_Target, FieldSpec]]] = {}
    for target, specs in listed:
        for spec in specs:
            found.setdefault(spec.kind, []).append((target, spec))
    return found
