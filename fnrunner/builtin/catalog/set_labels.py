"""The catalog's `set-labels`: puts labels on every resource, and into the selectors that need them.

Rules:
    - Local configuration is left alone, and so is a file that does not say its apiVersion
      and kind: the catalog's function writes a Service's selector and a Deployment's into a
      bare `kustomization.yaml`, which breaks it.
    - `_PLACES` lists where labels go. Some places get them in any case; at others only a
      label that is there already changes, since a new one would select something else.
    - The number reported counts every label looked at, changed or not, as in the catalog.

Source: the catalog's functions/go/set-labels.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin import alone, resource, scalars, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.alone import ConfigRefusedError, PerResourceFunction
from fnrunner.builtin.resource import Path, ShapeError
from fnrunner.builtin.verdict import FunctionResult
from fnrunner.contract.results import Result

ABOUT: Final = About(
    tags=("v0.2", "v0.2.0", "v0.2.1", "v0.2.2", "v0.2.3", "v0.2.4", "v0.2.5"),
    summary="Sets labels on every resource, and in the selectors that need them.",
    doc="""\
- A ConfigMap whose data are the labels; or
- `SetLabels` (`fn.kpt.dev/v1alpha1`) with `labels`.

Selectors of workloads and Services always get the labels; in other selectors, where a new label
would select something else (Jobs, disruption budgets, network policies), only existing labels
change.
""",
    example="""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: function-input
data:
  tier: backend
""",
    alone=True,
)

_CONFIG_NAME: Final = "function-input"  # the ConfigMap that kpt makes of a configMap


@dataclass(frozen=True, slots=True)
class _Place:
    """Where labels stand in a kind: keys, "[]" for each entry of a list."""

    path: str
    create: bool
    within: str = ""  # where this is missing, nothing is looked at and nothing counted


_SELECTOR: Final = "spec.selector.matchLabels"
_POD: Final = (
    _Place("spec.template.metadata.labels", create=True, within="spec.template"),
    _Place(
        "spec.template.spec.topologySpreadConstraints.[].labelSelector.matchLabels", create=False
    ),
)
_WORKLOAD: Final = (_Place(_SELECTOR, create=True), *_POD)

# By group and kind. The catalog matches these kinds in any group; here only in their own:
# a Service of serving.knative.dev has no selector, and would get one.
_PLACES: Final[Mapping[tuple[str, str], tuple[_Place, ...]]] = {
    ("", "Service"): (_Place("spec.selector", create=True),),
    ("", "ReplicationController"): (_Place("spec.selector", create=True), *_POD),
    ("apps", "Deployment"): _WORKLOAD,
    ("apps", "ReplicaSet"): _WORKLOAD,
    ("apps", "DaemonSet"): _WORKLOAD,
    ("extensions", "Deployment"): _WORKLOAD,
    ("extensions", "ReplicaSet"): _WORKLOAD,
    ("extensions", "DaemonSet"): _WORKLOAD,
    ("apps", "StatefulSet"): (
        *_WORKLOAD,
        _Place("spec.volumeClaimTemplates.[].metadata.labels", create=True),
        _Place("spec.volumeClaimTemplates.[].selector.matchLabels", create=False),
    ),
    ("batch", "Job"): (_Place(_SELECTOR, create=False), *_POD),
    ("batch", "CronJob"): (
        _Place("spec.jobTemplate.metadata.labels", create=True, within="spec.jobTemplate"),
        _Place(
            "spec.jobTemplate.spec.selector.matchLabels",
            create=False,
            within="spec.jobTemplate.spec",
        ),
        _Place(
            "spec.jobTemplate.spec.template.metadata.labels",
            create=True,
            within="spec.jobTemplate.spec.template",
        ),
        _Place(
            "spec.jobTemplate.spec.template.spec.topologySpreadConstraints.[]"
            ".labelSelector.matchLabels",
            create=False,
        ),
    ),
    ("policy", "PodDisruptionBudget"): (_Place(_SELECTOR, create=False),),
    ("networking.k8s.io", "NetworkPolicy"): (
        _Place("spec.podSelector.matchLabels", create=False),
        _Place("spec.ingress.[].from.[].podSelector.matchLabels", create=False),
        _Place("spec.egress.[].to.[].podSelector.matchLabels", create=False),
    ),
}
_EVERYWHERE: Final = _Place("metadata.labels", create=True)


@dataclass(frozen=True, slots=True)
class _Note:
    """What was seen at one resource; `wanted` unless it is local configuration."""

    wanted: bool
    count: int = 0
    problems: tuple[Result, ...] = ()


def run(resources: ResourceList) -> FunctionResult:
    """Set the labels that the configuration names."""
    return alone.run(begin, resources)


def begin(config: Value) -> PerResourceFunction[_Note]:
    """Read the configuration."""
    return _SetLabels(_read(config))


class _SetLabels:
    """The labels to set; None where no configuration is given."""

    def __init__(self, labels: Mapping[str, str] | None) -> None:
        self._labels = labels

    def each(self, item: Item) -> tuple[Item, _Note]:
        if resource.is_local(item.value):
            return item, _Note(wanted=False)
        if not self._labels or not resource.is_krm(item.value):
            return item, _Note(wanted=True)
        value, count, problems = _label(item, self._labels)
        changed = item if value is item.value else replace(item, value=value)
        return changed, _Note(True, count, tuple(problems))

    def total(self, notes: Sequence[_Note]) -> tuple[tuple[Result, ...], bool]:
        said = [] if self._labels is not None else ["`FunctionConfig` is not given"]
        if not any(note.wanted for note in notes):
            said.append("no input resources")
            return tuple(verdict.result(each, "info") for each in said), False
        if self._labels is None:
            return tuple(verdict.result(each, "info") for each in said), True
        if not self._labels:
            message = "no `labels` arguments are given in FunctionConfig"
            return (verdict.result(message, "warning"),), False
        problems = tuple(problem for note in notes for problem in note.problems)
        count = sum(note.count for note in notes)
        summary = verdict.result(f"set {count} labels in total", "info")
        return (*problems, summary), bool(problems)


def _read(config: Value) -> dict[str, str] | None:
    """Return the labels by key, sorted, or None when no configuration is given."""
    if not config:
        return None
    if (resource.kind(config), resource.group(config)) == ("ConfigMap", ""):
        data = resource.field(config, "data")
        if resource.name(config) == _CONFIG_NAME and not data:
            return None
        texts = scalars.of_config(data)  # numbers are texts here, unlike in its own kind
        return _strings(data, "data") if texts is None else dict(sorted(texts.items()))
    if (resource.kind(config), resource.group(config)) == ("SetLabels", "fn.kpt.dev"):
        return _strings(resource.field(config, "labels"), "labels")
    group = resource.group(config)
    kind = ".".join(part for part in (resource.kind(config), group) if part)
    raise _refused(
        f"unknown FunctionConfig `{kind}`, expect `SetLabels.fn.kpt.dev` or `ConfigMap.v1`"
    )


def _refused(problem: str) -> ConfigRefusedError:
    return ConfigRefusedError(verdict.result(problem, "error"))


def _strings(value: Value, field: str) -> dict[str, str]:
    # The messages are the catalog's, which has them from Go's JSON reader.
    if value is not None and not isinstance(value, dict):
        raise _refused(_wrong_type(value, f"SetLabels.{field}", "map[string]string"))
    labels = {}
    for key, label in sorted((value or {}).items()):
        if not isinstance(label, str):
            raise _refused(_wrong_type(label, f"SetLabels.{field}", "string"))
        labels[key] = label
    return labels


def _wrong_type(value: Value, field: str, wanted: str) -> str:
    found = {list: "array", dict: "object", bool: "bool", str: "string"}.get(type(value), "number")
    return (
        "unable to convert object to *setlabels.SetLabels with error: json: cannot unmarshal"
        f" {found} into Go struct field {field} of type {wanted}"
    )


def _label(item: Item, labels: Mapping[str, str]) -> tuple[Value, int, list[Result]]:
    """Return the labelled value, how many labels were looked at, and what went wrong."""
    value, count, problems = item.value, 0, []
    places = _PLACES.get((resource.group(value), resource.kind(value)), ())
    for place in (_EVERYWHERE, *places):
        try:
            for path in list(_found(value, place)):
                value = _with_labels(value, path, labels, create=place.create)
                count += len(labels)
        except ShapeError as error:
            field = ".".join(map(str, error.path))
            message = f"cannot set labels: {field or 'the resource'} must be a mapping"
            problems.append(verdict.at(item, message, "error", field))
    return value, count, problems


def _found(value: Value, place: _Place) -> Iterator[Path]:
    """Yield the paths of a place in a resource, lists counted out."""
    if place.within and not isinstance(resource.field(value, *place.within.split(".")), dict):
        return
    yield from _expand(value, place.path.split("."), ())


def _expand(value: Value, keys: list[str], done: Path) -> Iterator[Path]:
    if "[]" not in keys:
        yield (*done, *keys)
        return
    split = keys.index("[]")
    entries = resource.items(resource.field(value, *keys[:split]))
    for position, entry in enumerate(entries):
        yield from _expand(entry, keys[split + 1 :], (*done, *keys[:split], position))


def _with_labels(value: Value, path: Path, labels: Mapping[str, str], *, create: bool) -> Value:
    found = _at(value, path)
    if found is not None and not isinstance(found, dict):
        raise ShapeError(path)
    old = found or {}
    new = {key: label for key, label in labels.items() if create or key in old}
    if all(old.get(key) == label for key, label in new.items()):
        return value
    return resource.with_field(value, path, {**old, **new})


def _at(value: Value, path: Path) -> Value:
    for i, key in enumerate(path):
        if isinstance(value, list) and isinstance(key, int):
            value = value[key]
        elif isinstance(value, dict) and isinstance(key, str):
            value = value.get(key)
        elif value is None:
            return None
        else:
            raise ShapeError(path[:i])
    return value
