"""The catalog's `set-name-prefix`: puts one prefix of names in the place of another.

Rules:
    - A name that is the old prefix, or begins with it and a hyphen, gets the new one in its place.
    - The new prefix is the package's name, from the package's context, unless one is given.
    - Local configuration and kpt's inventory keep their names. References follow
      (name_references), and so do those of owners and of Config Connector (`_PLACES`). What is
      in a namespace that was renamed moves with it.

Source: the catalog's functions/go/set-name-prefix and functions/go/bind/pkg/meta.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin import field_spec, name_references, resource, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.name_references import DEPENDS_ON
from fnrunner.builtin.resource import ShapeError
from fnrunner.builtin.verdict import FunctionResult

ABOUT: Final = About(
    tags=(),  # the catalog has it without a release
    summary="Replaces one prefix of resource names by another, such as the package's name.",
    doc="""\
A ConfigMap with `prefix`, the new prefix (default: the package's name), and `oldPrefix`, the
prefix to replace (default: `packagename`). Without a configuration both have their defaults.

`packagename` and `packagename-web` become `NEW` and `NEW-web`; `packagenames` stays. Local
configuration keeps its names. References in Kubernetes' built-in kinds and in Config Connector's
are updated, and so are owners, the resources in a renamed Namespace, and the annotation
`config.kubernetes.io/depends-on`.
""",
    example="""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: prefix
data:
  prefix: shop
  oldPrefix: packagename
""",
)

_OLD: Final = "packagename"
_CONTEXT: Final = "kptfile.kpt.dev"  # the ConfigMap that kpt keeps the package's name in


class _RefusedError(Exception):
    """The function cannot begin; the text says why."""


@dataclass(frozen=True, slots=True)
class _Prefixes:
    old: str
    new: str

    def edited(self, name: str) -> str:
        if name == self.old or name.startswith(f"{self.old}-"):
            return self.new + name.removeprefix(self.old)
        return name


def run(resources: ResourceList) -> FunctionResult:
    """Rename the resources."""
    items = resources.items
    try:
        prefixes = _read(resources.config, items)
    except _RefusedError as error:
        return verdict.refused(items, verdict.result(str(error), "error"))
    olds = [resource.name(item.value) for item in items]
    news = [
        prefixes.edited(old) if _may_change(item.value) else old
        for old, item in zip(olds, items, strict=True)
    ]
    names = {i: new for i, new in enumerate(news) if new != olds[i]}
    renamed = _Renamed((items[i].value, new) for i, new in names.items())
    values = list(map(renamed.in_, name_references.renamed([each.value for each in items], names)))
    return FunctionResult(
        items=tuple(
            item if item.value is value else replace(item, value=value)
            for item, value in zip(items, values, strict=True)
        ),
        results=(),
    )


def _may_change(value: Value) -> bool:
    inventory = (resource.group(value), resource.kind(value)) == ("kpt.dev", "ResourceGroup")
    return not inventory and not resource.is_local(value)


def _read(config: Value, items: tuple[Item, ...]) -> _Prefixes:
    kind, api_version = resource.kind(config), resource.api_version(config)
    if config and (kind, api_version) != ("ConfigMap", "v1"):
        raise _RefusedError(
            f"functionConfig error: unknown functionConfig Kind {api_version}, Kind={kind};"
            " give a ConfigMap"
        )
    data = resource.field(config, "data")
    if not isinstance(data, dict | None):
        raise _RefusedError("functionConfig error: `data` must be a mapping")
    old = _text(data or {}, "oldPrefix", _OLD)
    new = _text(data or {}, "prefix", "")
    if not old:
        raise _RefusedError("`data.oldPrefix` should not be empty")
    if not new and "prefix" in (data or {}):
        raise _RefusedError("`data.prefix` should not be empty")
    return _Prefixes(old, new or _package_name(items))


def _text(data: dict[str, Value], key: str, default: str) -> str:
    value = data.get(key, default)
    if not isinstance(value, str):
        raise _RefusedError(f"functionConfig error: `data.{key}` must be a text; put it in quotes")
    return value


def _package_name(items: tuple[Item, ...]) -> str:
    """Return the package's name, from its context."""
    found = [
        item.value
        for item in items
        if resource.is_local(item.value) and resource.name(item.value) == _CONTEXT
    ]
    if not found:
        raise _RefusedError("unable to find package context object")
    if len(found) > 1:
        raise _RefusedError("found multiple matches for package-context object")
    name = resource.text(resource.field(found[0], "data", "name"))
    if not name:
        raise _RefusedError("package name (data.name) not set in package context object")
    return name


# --- references that name_references does not know ------------------------------------------

_CONTAINER: Final = "container.cnrm.cloud.google.com"
_IAM: Final = "iam.cnrm.cloud.google.com"
_RESOURCES: Final = "resourcemanager.cnrm.cloud.google.com"
_SERVICES: Final = "serviceusage.cnrm.cloud.google.com"
_PORCH: Final = "config.porch.kpt.dev"
_RBAC: Final = "rbac.authorization.k8s.io"

_GroupKind = tuple[str, str]
_ACCOUNT: Final = (_IAM, "IAMServiceAccount")
_FOLDER: Final = (_RESOURCES, "Folder")
_SAYS: Final = ("", "")  # a reference that says itself what it means

# By the group and kind of who refers: the fields, and what they mean.
_PLACES: Final[Mapping[_GroupKind, Sequence[tuple[str, _GroupKind]]]] = {
    (_CONTAINER, "ContainerNodePool"): (
        ("spec/clusterRef", (_CONTAINER, "ContainerCluster")),
        ("spec/nodeConfig/serviceAccountRef", _ACCOUNT),
    ),
    (_IAM, "IAMPolicyMember"): (
        ("spec/memberFrom/serviceAccountRef", _ACCOUNT),
        ("spec/resourceRef", _SAYS),
    ),
    (_IAM, "IAMPartialPolicy"): (
        ("spec/bindings/members/memberFrom/serviceAccountRef", _ACCOUNT),
        ("spec/resourceRef", _SAYS),
    ),
    _FOLDER: (("spec/folderRef", _FOLDER),),
    (_RESOURCES, "Project"): (("spec/folderRef", _FOLDER),),
    (_SERVICES, "Service"): (("spec/projectRef", (_RESOURCES, "Project")),),
    (_PORCH, "WorkloadIdentityBinding"): (
        ("spec/resourceRef", _ACCOUNT),
        ("spec/serviceAccountRef", ("", "ServiceAccount")),
    ),
    # Their names are changed already; the namespaces are not.
    (_RBAC, "RoleBinding"): (("subjects", _SAYS),),
    (_RBAC, "ClusterRoleBinding"): (("subjects", _SAYS),),
}
_OWNERS: Final = ("metadata/ownerReferences", _SAYS)


class _Renamed:
    """What was renamed, and the references to it."""

    def __init__(self, renamed: Iterable[tuple[Value, str]]) -> None:
        self._new = {
            (
                resource.group(old),
                resource.kind(old),
                resource.namespace(old),
                resource.name(old),
            ): new
            for old, new in renamed
        }

    def in_(self, value: Value) -> Value:
        """Return a resource with its references changed; the same object if none is."""
        here = resource.namespace(value)
        places = _PLACES.get((resource.group(value), resource.kind(value)), ())
        for path, means in (_OWNERS, *places):
            reference = _Reference(self, here, means)
            try:
                value = field_spec.change(value, field_spec.keys(path), reference.changed)
            except ShapeError:
                continue  # to say so is a validator's job
        return self._moved(value, here)

    def name(self, meant: _GroupKind, namespace: str, old: str) -> str:
        """Return the new name of what is meant, the old one if it has none."""
        return self._new.get((*meant, namespace, old), old)

    def namespace(self, old: str) -> str:
        """Return the new name of a Namespace."""
        return self.name(("", "Namespace"), "", old)

    def _moved(self, value: Value, here: str) -> Value:
        if self.namespace(here) != here:
            value = resource.with_field(value, ("metadata", "namespace"), self.namespace(here))
        given = resource.annotation(value, DEPENDS_ON)
        new = ",".join(map(self._dependency, given.split(",")))
        if new == given:
            return value
        return resource.with_field(value, ("metadata", "annotations", DEPENDS_ON), new)

    def _dependency(self, text: str) -> str:
        parts = text.split("/")  # <group>/namespaces/<namespace>/<kind>/<name>
        if len(parts) == 5 and parts[1] == "namespaces":
            parts[2] = self.namespace(parts[2])
        return "/".join(parts)


class _Reference:
    """A field of one resource that names another, and perhaps its namespace."""

    def __init__(self, renamed: _Renamed, here: str, means: _GroupKind) -> None:
        self._renamed = renamed
        self._here = here
        self._means = means

    def changed(self, value: Value) -> Value:
        """Return what to write: a mapping with a name, or a list of such."""
        if isinstance(value, list):
            new = [self.changed(each) for each in value]
            return new if any(a is not b for a, b in zip(new, value, strict=True)) else value
        if not isinstance(value, dict) or resource.text(value.get("external")):
            return value
        name, namespace = (resource.text(value.get(key)) for key in ("name", "namespace"))
        meant = self._meant(value)
        news = {
            "name": self._renamed.name(meant, namespace or self._here, name),
            "namespace": self._renamed.namespace(namespace),
        }
        changed = {key: new for key, new in news.items() if new != resource.text(value.get(key))}
        return {**value, **changed} if changed else value

    def _meant(self, value: dict[str, Value]) -> _GroupKind:
        if self._means != _SAYS:
            return self._means
        group = resource.group(value) or resource.text(value.get("apiGroup"))
        return group, resource.kind(value)
