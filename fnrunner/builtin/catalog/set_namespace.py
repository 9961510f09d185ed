"""The catalog's `set-namespace`: puts every resource into one namespace.

Rules:
    - Local configuration is left alone.
    - Set are: `metadata.namespace` of what lives in a namespace; the name of a Namespace;
      the Service that a CustomResourceDefinition's webhook or an APIService points to, if
      there is one; the subjects of a ClusterRoleBinding that name a namespace. Subjects of a
      RoleBinding in a namespace are not: the catalog's function leaves them too.
    - Without `namespaceMatcher` all of them change, but resources that came from more than
      one upstream namespace are refused: they would be thrown together.
    - With it, only those change that are in that namespace, or were upstream.
    - `config.kubernetes.io/depends-on` follows the resource it names.
    - A wrong configuration fails, as in the catalog since v0.4.5; before, it passed.
    - Of the configuration's group, version and kind those count that it says: data without a
      kind are those of a ConfigMap.

Source: the catalog's functions/go/set-namespace.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin import resource, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.answered import AnswerCache, answers
from fnrunner.builtin.resource import Path, ResourceId, ShapeError, field, text
from fnrunner.builtin.verdict import FunctionResult
from fnrunner.contract.results import Result

ABOUT: Final = About(
    tags=("v0.3", "v0.3.4", "v0.4", "v0.4.1", "v0.4.2", "v0.4.3", "v0.4.4", "v0.4.5"),
    summary="Sets the namespace of every resource.",
    doc="""\
- A ConfigMap with `namespace`, and optionally `namespaceMatcher`: then only resources in that
  namespace (or with it in their upstream) change;
- the package context, a ConfigMap named `kptfile.kpt.dev` with `name`; or
- `SetNamespace` (`fn.kpt.dev/v1alpha1`) with the same two fields.
""",
    example="""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: function-input
data:
  namespace: shop
""",
)

DEPENDS_ON: Final = "config.kubernetes.io/depends-on"
_CONTEXT_NAME: Final = "kptfile.kpt.dev"  # name of the ConfigMap in package-context.yaml

# <group>/namespaces/<namespace>/<kind>/<name>
_NAMESPACED_REFERENCE: Final = re.compile(r"([-.\w]*)/namespaces/([-.\w]*)/([-.\w]*)/([-.\w]*)")


@dataclass(frozen=True, slots=True)
class _Config:
    namespace: str
    matcher: str


@dataclass(frozen=True, slots=True)
class _Applied:
    """A resource, and what is asked of it more than once; local configuration does not count."""

    value: Value
    counts: bool
    namespaced: bool
    origin: ResourceId | None
    depends_on: str


class _ConfigError(Exception):
    """The configuration does not say which namespace to set."""


def run(resources: ResourceList) -> FunctionResult:
    """Set the namespace that the configuration names."""
    try:
        config = _read(resources.config)
    except _ConfigError as error:
        return verdict.refused(resources.items, _complaint(error, resources.config))
    applied = [each for item in resources.items if (each := _applied(item.value)).counts]
    problem = _mixed_origins(applied)
    if problem and not config.matcher:
        return verdict.refused(resources.items, verdict.result(problem, "error"))
    return _Run(config, applied).over(resources.items)


def _applied(value: Value) -> _Applied:
    known: AnswerCache[_Applied] = answers(__name__, "")
    found = known.get(value)
    if found is None:
        found = _Applied(
            value,
            not resource.is_local(value),
            resource.is_namespaced(value),
            resource.origin(value),
            resource.annotation(value, DEPENDS_ON),
        )
        known.keep(value, found)
    return found


def _read(config: Value) -> _Config:
    if not config:
        raise _ConfigError(
            "FunctionConfig is missing. Expect `ConfigMap.v1` or `SetNamespace.v1alpha1.fn.kpt.dev`"
        )
    if _may_be(config, "", "v1", "ConfigMap"):
        return _read_config_map(config)
    if _may_be(config, "fn.kpt.dev", "v1alpha1", "SetNamespace"):
        read = _texts(config, ("namespace", "namespaceMatcher"), "fn.kpt.dev.v1alpha1.SetNamespace")
        if not read["namespace"]:
            raise _ConfigError("`namespace` should not be empty")
        return _Config(read["namespace"], read["namespaceMatcher"])
    raise _ConfigError(
        f"unknown functionConfig Kind={resource.kind(config)}"
        f" ApiVersion={resource.api_version(config)},"
        " expect `ConfigMap.v1` or `SetNamespace.v1alpha1.fn.kpt.dev`"
    )


def _may_be(config: Value, group: str, version: str, kind: str) -> bool:
    """Tell whether it says nothing else; the core group, like one left out, fits any."""
    return (
        (not group or resource.group(config) in ("", group))
        and resource.version(config) in ("", version)
        and resource.kind(config) in ("", kind)
    )


def _read_config_map(config: Value) -> _Config:
    data = field(config, "data")
    keys = ("namespace", "name", "namespaceMatcher", *resource.mapping(data))
    read = _texts({} if data is None else data, keys, "ConfigMap")
    namespace = read["namespace"]
    if not namespace and resource.name(config) == _CONTEXT_NAME:
        namespace = read["name"]
    if not namespace:
        # The catalog says so of the package's context as well, where it also means `data.name`.
        raise _ConfigError("`data.namespace` should not be empty")
    return _Config(namespace, read["namespaceMatcher"])


def _texts(value: Value, keys: Sequence[str], kind: str) -> dict[str, str]:
    """Return texts of a mapping, "" for what is missing or null."""
    if not isinstance(value, dict):
        raise _ConfigError(f"failed to parse FunctionConfig as {kind}")
    found = {}
    for key in keys:
        each = value.get(key)
        if not isinstance(each, str | None):
            raise _ConfigError(f"failed to parse FunctionConfig as {kind}")
        found[key] = each or ""
    return found


def _complaint(error: _ConfigError, config: Value) -> Result:
    # To the letter as the catalog's: a configuration comes from no file of the list.
    return {
        "message": str(error),
        "severity": "error",
        "resourceRef": resource.reference(config),
        "file": {"index": -1},
    }


def _mixed_origins(applied: Sequence[_Applied]) -> str:
    """Return why all cannot go into one namespace, or ""."""
    found = set()
    for each in applied:
        came_from = each.origin
        if came_from is None or not each.namespaced:
            continue
        if came_from.namespace == resource.UNKNOWN_NAMESPACE:
            return (
                f"{_short(each.value)} is namespace-scoped, but has cluster-scoped or unknown"
                f" scoped origin {came_from}"
            )
        found.add(came_from.namespace)
    if len(found) < 2:
        return ""
    return (
        "unable to use origin `namespace` to match. expect a single upstream namespace, found"
        f" {_listed(found)}. please switch to use `namespaceMatcher`to specify the namespace"
        " value you want to change"
    )


class _Run:
    """One pass over the resources, which counts what it changes."""

    def __init__(self, config: _Config, applied: Sequence[_Applied]) -> None:
        self._config = config
        self._applied = applied
        dependent = any(each.depends_on for each in applied)
        # What stays as it is, whatever else is there.
        self._idle: AnswerCache[bool] = answers(__name__, repr(config))
        self._known = {_reference(each.value) for each in applied if dependent and each.namespaced}
        self._matched: list[Result] = []
        self._fields = _Count()
        self._references = _Count()

    def over(self, items: Sequence[Item]) -> FunctionResult:
        changed: dict[int, Value] = {}
        # The catalog visits what is not namespaced first; its messages come in that order.
        for each in sorted(self._applied, key=lambda each: each.namespaced):
            if self._idle.get(each.value):
                continue
            value = self._depends_on(self._resource(each), each.depends_on)
            if value is not each.value:
                changed[id(each.value)] = value
            elif not each.depends_on:
                self._idle.keep(value, True)
        return FunctionResult(
            items=tuple(
                replace(item, value=changed[id(item.value)]) if id(item.value) in changed else item
                for item in items
            ),
            results=(*self._matched, self._field_summary(), self._reference_summary()),
        )

    def _resource(self, each: _Applied) -> Value:
        value = each.value
        if each.namespaced:
            named = resource.namespace(value) or resource.DEFAULT_NAMESPACE
            came_from = each.origin.namespace if each.origin else named
            return self._set(value, ("metadata", "namespace"), came_from)
        match resource.api_version(value), resource.kind(value):
            case "v1", "Namespace":
                came_from = each.origin.name if each.origin else resource.name(value)
                return self._set(value, ("metadata", "name"), came_from)
            case "apiextensions.k8s.io/v1", "CustomResourceDefinition":
                return self._service(
                    value, ("spec", "conversion", "webhook", "clientConfig", "service")
                )
            case "apiregistration.k8s.io/v1", "APIService":
                return self._service(value, ("spec", "service"))
            case _, "ClusterRoleBinding" | "RoleBinding":
                return self._subjects(value)
        return value

    def _service(self, value: Value, path: tuple[str, ...]) -> Value:
        if not isinstance(field(value, *path), dict):
            return value  # without a Service there is nothing to point at
        return self._set(value, (*path, "namespace"))

    def _subjects(self, value: Value) -> Value:
        for position, subject in enumerate(resource.items(field(value, "subjects"))):
            if isinstance(field(subject, "namespace"), str):
                value = self._set(value, ("subjects", position, "namespace"))
        return value

    def _set(self, value: Value, path: Path, origin: str = "") -> Value:
        """Set one field if the rules want it; `origin` is its value upstream, if known."""
        wanted, matcher = self._config.namespace, self._config.matcher
        if origin == resource.UNKNOWN_NAMESPACE:
            return value
        found = text(_at(value, path))  # something else there names no namespace
        current = found or resource.DEFAULT_NAMESPACE
        if current == wanted and (found or matcher):
            return value
        try:
            changed = resource.with_field(value, path, wanted)
        except ShapeError:
            return value  # misshapen; to say so is a validator's job
        if current == wanted:
            return changed  # it was only implied; the catalog writes it out and does not count it
        if matcher and matcher not in (current, origin):
            return value
        if matcher and matcher == origin:
            message = f"[{_short(value)}] has matching origin {origin}"
            self._matched.append(verdict.result(message, "info"))
        self._fields.add(current)
        return changed

    def _depends_on(self, value: Value, reference: str) -> Value:
        if not reference:
            return value
        parts = _NAMESPACED_REFERENCE.fullmatch(reference)
        if parts is None or reference not in self._known:
            return value
        group, namespace, kind, name = parts.groups()
        wanted, matcher = self._config.namespace, self._config.matcher
        if namespace == wanted or (matcher and matcher != namespace):
            return value
        self._references.add(namespace)
        new = f"{group}/namespaces/{wanted}/{kind}/{name}"
        return resource.with_field(value, ("metadata", "annotations", DEPENDS_ON), new)

    def _field_summary(self) -> Result:
        wanted = self._config.namespace
        return self._fields.summary(
            wanted,
            changed="namespace",
            nothing=f'all matching namespaces are already "{wanted}". no value changed',
        )

    def _reference_summary(self) -> Result:
        return self._references.summary(
            self._config.namespace,
            changed="`depends-on` annotation namespace",
            nothing="all `depends-on` annotations are up-to-date. no `namespace` changed",
        )


class _Count:
    """How many values changed, and which ones they were."""

    def __init__(self) -> None:
        self._number = 0
        self._old: set[str] = set()

    def add(self, old: str) -> None:
        self._number += 1
        self._old.add(old)

    def summary(self, wanted: str, *, changed: str, nothing: str) -> Result:
        if not self._number:
            return verdict.result(nothing, "info")
        return verdict.result(
            f'{changed} {_listed(self._old)} updated to "{wanted}",'
            f" {self._number} value(s) changed",
            "info",
        )


def _at(value: Value, path: Path) -> Value:
    for key in path:
        if isinstance(key, int):
            value = resource.items(value)[key]
        else:
            value = resource.mapping(value).get(key)
    return value


def _reference(value: Value) -> str:
    group, kind, namespace, name = resource.identity(value)
    return f"{group}/namespaces/{namespace}/{kind}/{name}"


def _listed(names: set[str]) -> str:
    return f"[{' '.join(sorted(names))}]"


def _short(value: Value) -> str:
    return (
        f"Resource(apiVersion={resource.api_version(value)}, kind={resource.kind(value)},"
        f" namespace={resource.namespace(value)}, name={resource.name(value)})"
    )
