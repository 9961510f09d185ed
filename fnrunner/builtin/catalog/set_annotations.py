"""The catalog's `set-annotations`: puts annotations on every resource and every pod template.

Rules:
    - Local configuration gets them too.
    - Where they go is a list of field specifications, kustomize's own (`_USUAL`) after those
      of the configuration. A specification without group, version or kind means any.
    - What a path crosses is made where the specification says `create`; a list on the way
      means each of its entries. A key with `[]` stands for a list, and none is made.
    - One result for each field, changed or not, sorted by file, position and field.

Source: the catalog's functions/go/set-annotations; kustomize's commonAnnotations.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value, field_text
from fnrunner.builtin import alone, field_spec, resource, scalars, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.alone import ConfigRefusedError, PerResourceFunction
from fnrunner.builtin.field_spec import FieldSpec, FieldSpecError
from fnrunner.builtin.resource import Path, ShapeError
from fnrunner.builtin.verdict import FunctionResult
from fnrunner.contract.results import Result

ABOUT: Final = About(
    tags=("v0.1", "v0.1.3", "v0.1.4", "v0.1.5", "v0.1.6", "v0.1.7"),
    summary="Sets annotations on every resource and every pod template.",
    doc="""\
- A ConfigMap whose data are the annotations; or
- `SetAnnotations` (`fn.kpt.dev/v1alpha1`) with `annotations`, and `additionalAnnotationFields`: a
  list of `path` (keys joined by "/"), `create`, and optional `group`, `version`, `kind`.
""",
    example="""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: function-input
data:
  owner: network
""",
    alone=True,
)


@dataclass(frozen=True, slots=True)
class _Spec(FieldSpec):
    """A field that holds annotations; what is missing on the way is made if `create` is set."""

    create: bool = True


def _usual(path: str, kind: str = "", *, group: str = "", version: str = "") -> _Spec:
    return _Spec(field_spec.keys(path), group, version, kind)


_TEMPLATE: Final = "spec/template/metadata/annotations"
_USUAL: Final = (
    _usual("metadata/annotations"),
    _usual(_TEMPLATE, "ReplicationController", version="v1"),
    _usual(_TEMPLATE, "Deployment"),
    _usual(_TEMPLATE, "ReplicaSet"),
    _usual(_TEMPLATE, "DaemonSet"),
    _usual(_TEMPLATE, "StatefulSet"),
    _usual(_TEMPLATE, "Job", group="batch"),
    _usual("spec/jobTemplate/metadata/annotations", "CronJob", group="batch"),
    _usual("spec/jobTemplate/spec/template/metadata/annotations", "CronJob", group="batch"),
)


_Place = tuple[str, int, str]  # file, position in it, field


@dataclass(frozen=True, slots=True)
class _Note:
    """Where annotations stand in one resource, or why they cannot."""

    places: tuple[_Place, ...] = ()
    problem: Result | None = None


def run(resources: ResourceList) -> FunctionResult:
    """Set the annotations that the configuration names."""
    return alone.run(begin, resources)


def begin(config: Value) -> PerResourceFunction[_Note]:
    """Read the configuration."""
    return _SetAnnotations(*_read(config))


class _SetAnnotations:
    """The annotations to set, and where."""

    def __init__(self, annotations: Mapping[str, str], specs: Sequence[_Spec]) -> None:
        self._annotations = annotations
        self._specs = specs
        self._fitting: dict[tuple[str, str], Sequence[_Spec]] = {}  # by apiVersion and kind

    def each(self, item: Item) -> tuple[Item, _Note]:
        value, found = item.value, []
        try:
            for spec in self._specs_for(value):
                value, paths = _annotate(value, spec.path, self._annotations, create=spec.create)
                found += paths
        except ShapeError as error:
            field = field_text(error.path)
            problem = f"cannot set annotations: {field or 'the resource'} must be a mapping"
            return item, _Note(problem=verdict.at(item, problem, "error", field))
        places = tuple((item.path, item.index or 0, field_text(path)) for path in found)
        return item if value is item.value else replace(item, value=value), _Note(places)

    def _specs_for(self, value: Value) -> Sequence[_Spec]:
        called = resource.api_version(value), resource.kind(value)
        found = self._fitting.get(called)
        if found is None:
            found = [spec for spec in self._specs if spec.means(value)]
            self._fitting[called] = found
        return found

    def total(self, notes: Sequence[_Note]) -> tuple[tuple[Result, ...], bool]:
        problems = tuple(note.problem for note in notes if note.problem)
        if problems:
            return problems, True
        message = f"set annotations: {_json(self._annotations)}"
        return _results({place for note in notes for place in note.places}, message), False


def _read(config: Value) -> tuple[dict[str, str], tuple[_Spec, ...]]:
    specs: tuple[_Spec, ...] = ()
    kind, api_version = resource.kind(config), resource.api_version(config)
    if (kind, api_version) == ("ConfigMap", "v1"):
        annotations = _texts(resource.field(config, "data"))
    elif (api_version, kind) in _OWN_KINDS and config:
        annotations = _strings(resource.field(config, "annotations"))
        specs = _extra_specs(config)
    else:
        raise _refused("`functionConfig` must be a `ConfigMap` or `SetAnnotations`")
    if not annotations:
        raise _refused("input annotation list cannot be empty")
    return dict(sorted(annotations.items())), (*specs, *_USUAL)


def _refused(problem: str) -> ConfigRefusedError:
    message = f"failed to configure function: {problem}"
    return ConfigRefusedError(verdict.result(message, "error"), log=f"[error]: {message}")


_OWN_KINDS: Final = (
    ("fn.kpt.dev/v1alpha1", "SetAnnotations"),
    ("fn.kpt.dev/v1alpha1", "SetAnnotationConfig"),  # its older name
    ("", ""),  # kustomize's bare form
)


def _texts(data: Value) -> dict[str, str]:
    """Return the data of a ConfigMap as kpt reads it: each scalar as its text, null as ""."""
    found = scalars.of_config(data)
    if found is None:
        raise _refused("`data` must be a mapping from the names of annotations to texts")
    return found


def _strings(value: Value) -> dict[str, str]:
    if value is not None and not isinstance(value, dict):
        raise _refused("`annotations` must be a mapping of strings")
    found = {}
    for key, annotation in (value or {}).items():
        if not isinstance(annotation, str):
            raise _refused(f"annotation `{key}` must be a string; put it in quotes")
        found[key] = annotation
    return found


def _extra_specs(config: Value) -> tuple[_Spec, ...]:
    added = resource.field(config, "additionalAnnotationFields")
    older = resource.field(config, "fieldSpecs")
    if added is not None and older is not None:
        raise _refused(
            "`fieldSpecs` has been deprecated, please rename it to `additionalAnnotationFields`"
        )
    key, specs = ("fieldSpecs", older) if added is None else ("additionalAnnotationFields", added)
    if not isinstance(specs, list | None):
        raise _refused(f"`{key}` must be a list")
    return tuple(_spec(each, f"{key}[{i}]") for i, each in enumerate(specs or ()))


def _spec(value: Value, at: str) -> _Spec:
    try:
        spec = field_spec.read(value, at)
    except FieldSpecError as error:
        raise _refused(str(error)) from error
    create = resource.field(value, "create") is True
    return _Spec(spec.path, spec.group, spec.version, spec.kind, create)


def _json(annotations: Mapping[str, str]) -> str:
    # As Go writes JSON: fit to stand in HTML.
    text = json.dumps(annotations, separators=(",", ":"), ensure_ascii=False)
    return re.sub("[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _results(found: set[_Place], message: str) -> tuple[Result, ...]:
    # No severity: the catalog's function gives none.
    if not found:
        return ({"message": "no annotations applied"},)
    return tuple(
        {
            "message": message,
            "field": {"path": field},
            **({"file": verdict.file(path, index)} if path else {}),
        }
        for path, index, field in sorted(found)
    )


def _annotate(
    value: Value,
    keys: tuple[str, ...],
    annotations: Mapping[str, str],
    *,
    create: bool,
    done: Path = (),
) -> tuple[Value, list[Path]]:
    """Return a copy of `value` with annotations at `keys`, and the paths where they stand.

    Raises:
        ShapeError: Something on the way is neither a mapping nor a list.
    """
    if isinstance(value, list):
        return _annotate_each(value, keys, annotations, create=create, done=done)
    if value is not None and not isinstance(value, dict):
        raise ShapeError(done)
    old = value or {}
    if not keys:
        same = all(old.get(key) == wanted for key, wanted in annotations.items())
        return (value if same else {**old, **annotations}), [done]
    key = keys[0].removesuffix("[]")
    if old.get(key) is None and (not create or key != keys[0]):
        return value, []
    new, paths = _annotate(old.get(key), keys[1:], annotations, create=create, done=(*done, key))
    return (value if new is old.get(key) else {**old, key: new}), paths


def _annotate_each(
    value: list[Value],
    keys: tuple[str, ...],
    annotations: Mapping[str, str],
    *,
    create: bool,
    done: Path,
) -> tuple[Value, list[Path]]:
    copy, paths = list(value), []
    for position, entry in enumerate(value):
        copy[position], more = _annotate(
            entry, keys, annotations, create=create, done=(*done, position)
        )
        paths += more
    same = all(new is old for new, old in zip(copy, value, strict=True))
    return (value if same else copy), paths
