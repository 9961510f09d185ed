"""The catalog's `set-project-id`: sets a Google Cloud project where none is set yet.

Rules:
    - Every Kptfile's setter `project-id` is set, where its first `apply-setters` has it: in its
      `configMap`, or in the file that `configPath` names. A pipeline without one gets it.
    - Resources of Config Connector get the annotation `cnrm.cloud.google.com/project-id`, but for
      its own system's (`core.cnrm.cloud.google.com`).
    - What is set already stays; an empty text counts as not set.

Source: the catalog's functions/go/set-project-id.
"""

import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NoReturn

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin import resource, scalars, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.resource import Path, ShapeError
from fnrunner.builtin.verdict import FunctionResult

ABOUT: Final = About(
    tags=("v0.1", "v0.1.0", "v0.2", "v0.2.0", "v0.2.1", "~0.1 || ~0.2"),
    summary="Sets the Google Cloud project, as a setter and as an annotation, if none is set yet.",
    doc="""\
A ConfigMap with `project-id`.

The setter `project-id` is set in the configuration of `apply-setters` in each Kptfile; a Kptfile
without that function gets it. Resources of Config Connector get the annotation
`cnrm.cloud.google.com/project-id`.
""",
    example="""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: project
data:
  project-id: my-project
""",
)

_SETTER: Final = "project-id"
_ANNOTATION: Final = "cnrm.cloud.google.com/project-id"
_CONNECTOR: Final = re.compile(r"(\w+)\.cnrm\.cloud\.google\.com/\w+", re.ASCII)
_SYSTEM: Final = "core"
_FUNCTION: Final = "apply-setters"
_IMAGE: Final = "gcr.io/kpt-fn/apply-setters:v0.2"


class _RefusedError(Exception):
    """The project cannot be set; the text says why."""


def run(resources: ResourceList) -> FunctionResult:
    """Set the project that the configuration names."""
    items = list(resources.items)
    try:
        project = _project(resources.config)
        kptfiles = [i for i, item in enumerate(items) if _is_kptfile(item.value)]
        if not kptfiles:
            _refuse(
                "failed to find Kptfile: unable to find Kptfile, please include"
                " --include-meta-resources flag if a Kptfile is present"
            )
        for position in kptfiles:
            _set_in_package(items, position, project)
    except _RefusedError as error:
        problem = verdict.result(str(error), "error")
        return verdict.logged(verdict.refused(resources.items, problem))
    except ShapeError as error:
        field = ".".join(map(str, error.path)) or "the resource"
        message = f"failed to set project-id setter: {field} must be a mapping"
        problem = verdict.result(message, "error")
        return verdict.logged(verdict.refused(resources.items, problem))
    return FunctionResult(items=tuple(_annotated(item, project) for item in items), results=())


def _project(config: Value) -> str:
    found = (scalars.of_config(resource.field(config, "data")) or {}).get(_SETTER)
    if not found:
        raise _RefusedError(
            f"missing `.data.{_SETTER}` field in `ConfigMap` FunctionConfig; it must be a text"
        )
    return found


def _is_kptfile(value: Value) -> bool:
    return (resource.group(value), resource.kind(value)) == ("kpt.dev", "Kptfile")


def _set_in_package(items: list[Item], position: int, project: str) -> None:
    item = items[position]
    mutators = resource.items(resource.field(item.value, "pipeline", "mutators"))
    for i, function in enumerate(mutators):
        if _FUNCTION not in resource.text(resource.field(function, "image")):
            continue
        if resource.field(function, "configMap") is not None:
            path = ("pipeline", "mutators", i, "configMap", _SETTER)
            items[position] = _with_setter(item, path, project)
            return
        config_path = resource.text(resource.field(function, "configPath"))
        if not config_path:
            _refuse(
                "error updating Kptfile: unable to find `ConfigMap` or `configPath` as the"
                f" `functionConfig` for {_FUNCTION}"
            )
        _set_in_file(items, posixpath.dirname(item.path), config_path, project)
        return
    added: Value = {"image": _IMAGE, "configMap": {_SETTER: project}}
    value = resource.with_field(item.value, ("pipeline", "mutators"), [*mutators, added])
    items[position] = replace(item, value=value)


def _set_in_file(items: list[Item], folder: str, config_path: str, project: str) -> None:
    wanted = posixpath.normpath(posixpath.join(folder, config_path))
    for position, item in enumerate(items):
        if posixpath.normpath(item.path or ".") == wanted:
            items[position] = _with_setter(item, ("data", _SETTER), project)
            return
    _refuse(
        f"error updating Kptfile: failed to find setter file: file {config_path} doesn't exist,"
        ' please ensure the file specified in "configPath" exists and retry'
    )


def _with_setter(item: Item, path: Path, project: str) -> Item:
    """Return a resource with the setter at a path, unless it has one."""
    holder = _at(item.value, path[:-1])
    if isinstance(holder, dict) and holder.get(_SETTER) not in (None, ""):
        return item
    return replace(item, value=resource.with_field(item.value, path, project))


def _at(value: Value, path: Sequence[str | int]) -> Value:
    for key in path:
        value = resource.items(value)[key] if isinstance(key, int) else resource.field(value, key)
    return value


def _annotated(item: Item, project: str) -> Item:
    matched = _CONNECTOR.fullmatch(resource.api_version(item.value))
    if matched is None or matched[1] == _SYSTEM:
        return item
    # A number of a project, without quotes, is one that is set, too.
    if resource.field(item.value, "metadata", "annotations", _ANNOTATION) not in (None, ""):
        return item
    path = ("metadata", "annotations", _ANNOTATION)
    try:
        return replace(item, value=resource.with_field(item.value, path, project))
    except ShapeError:
        return item  # misshapen; to say so is a validator's job


def _refuse(problem: str) -> NoReturn:
    raise _RefusedError(f"failed to set project-id setter: {problem}")
