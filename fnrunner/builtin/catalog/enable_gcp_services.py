"""The catalog's `enable-gcp-services`: makes a Service of Config Connector for each listed API.

Rules:
    - A `ProjectServiceSet` lists APIs; each becomes a resource beside its file, owned by the set.
      What the set owned before and does not list any more goes.
    - A set is local configuration, and is marked so. Its other annotations go to its Services.
    - One result for each Service: generated, pruned, or recreated where it was there before.

Source: the catalog's functions/go/enable-gcp-services.
"""

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value, same
from fnrunner.builtin import field_paths, resource, scalars, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.resource import ResourceId, ShapeError
from fnrunner.builtin.verdict import FunctionResult
from fnrunner.contract.results import Result

ABOUT: Final = About(
    tags=("v0.1", "v0.1.0", "~0.1"),
    summary="Makes a Google Cloud service resource for each API that a ProjectServiceSet lists.",
    doc="""\
It takes no configuration. In the package, `ProjectServiceSet`
(`blueprints.cloud.google.com/v1alpha1`) has in its `spec`

- `services`: at least one API, such as `compute.googleapis.com`;
- `projectID`: the project, if it is not the namespace's.

Each API becomes a `Service` of Config Connector, named `SET-compute`, in
`service_SET-compute.yaml` next to the set (in a folder named after the namespace, if it has one).
Services that a set no longer lists are removed.
""",
)

_GROUP: Final = "blueprints.cloud.google.com"
_KIND: Final = "ProjectServiceSet"
_API_VERSION: Final = f"{_GROUP}/v1alpha1"
_OWNER: Final = f"{_GROUP}/ownerReference"
_SERVICE: Final = ("serviceusage.cnrm.cloud.google.com/v1beta1", "Service")
_GENERATED: Final = "generated service"
_PRUNED: Final = "pruned service"
_RECREATED: Final = "recreated service"


class _RefusedError(Exception):
    """A set cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class _Done:
    """What became of the Services of one set."""

    message: str
    item: Item

    @property
    def result(self) -> Result:
        return verdict.at(replace(self.item, index=None), self.message, "info", "")


def run(resources: ResourceList) -> FunctionResult:
    """Make the Services, and remove those that are not listed any more."""
    try:
        sets = [item for item in resources.items if _is_set(item.value)]
        items = tuple(_local(item) if _is_set(item.value) else item for item in resources.items)
        done: list[_Done] = []
        for item in sets:
            items, more = _served(items, item)
            done += more
    except _RefusedError as error:
        problem = f"failed to add services: {error}"
        refused = verdict.refused(resources.items, verdict.result(problem, "error"))
        return replace(refused, log=str(error))
    done.sort(key=lambda each: (each.item.path, resource.identity(each.item.value), each.message))
    return FunctionResult(items=items, results=tuple(each.result for each in done))


def _is_set(value: Value) -> bool:
    return (resource.api_version(value), resource.kind(value)) == (_API_VERSION, _KIND)


def _local(item: Item) -> Item:
    if resource.annotation(item.value, resource.LOCAL_CONFIG) == "true":
        return item
    path = ("metadata", "annotations", resource.LOCAL_CONFIG)
    try:
        return replace(item, value=resource.with_field(item.value, path, "true"))
    except ShapeError as error:
        name = ".".join(map(str, error.path)) or "the resource"
        raise _RefusedError(f"{name} of a {_KIND} must be a mapping") from error


def _served(items: tuple[Item, ...], owner: Item) -> tuple[tuple[Item, ...], list[_Done]]:
    """Return the items with the Services of one set, and what became of them."""
    name = resource.name(owner.value)
    reference = f"{_GROUP}/{_KIND}/{name}"
    old = [item for item in items if resource.annotation(item.value, _OWNER) == reference]
    new = {_called(item): item for item in _services(owner, reference)}
    there = {_called(item): item for item in old}
    done = [
        _Done(_RECREATED if called in there else _GENERATED, item) for called, item in new.items()
    ]
    done += [_Done(_PRUNED, item) for item in old if _called(item) not in new]
    # One that stays in its file keeps its place there, and its comments.
    placed = {
        id(item): replace(new[_called(item)], index=item.index, comments=item.comments)
        for item in there.values()
        if _called(item) in new and item.path == new[_called(item)].path
    }
    gone = {id(item) for item in old} - placed.keys()
    kept = [_unchanged(item, placed.get(id(item), item)) for item in items if id(item) not in gone]
    in_place = {_called(item) for item in placed.values()}
    added = [item for called, item in new.items() if called not in in_place]
    return (*kept, *added), done


def _unchanged(old: Item, new: Item) -> Item:
    return old if same(new.value, old.value) else new


def _called(item: Item) -> ResourceId:
    return resource.identity(item.value)


def _services(owner: Item, reference: str) -> Iterator[Item]:
    value = owner.value
    project = resource.field(scalars.written(owner), "spec", "projectID")
    if isinstance(project, dict | list):
        raise _RefusedError("`spec.projectID` must be a text")
    name, namespace = resource.name(value), resource.namespace(value)
    annotations = {
        key: each
        for key, each in resource.mapping(resource.field(value, "metadata", "annotations")).items()
        if key != resource.LOCAL_CONFIG
    }
    for service in _listed(value):
        metadata: dict[str, Value] = {
            "name": f"{name}-{service.partition('.')[0]}",
            "annotations": {**annotations, _OWNER: reference},
        }
        if namespace:
            metadata["namespace"] = namespace
        spec: dict[str, Value] = {"resourceID": service}
        if project not in (None, ""):
            spec["projectRef"] = {"external": field_paths.text(project)}  # a number is one, too
        api_version, kind = _SERVICE
        file = f"{kind.lower()}_{metadata['name']}.yaml"
        yield Item(
            {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec},
            path=posixpath.join(posixpath.dirname(owner.path), namespace, file),
        )


def _listed(value: Value) -> Sequence[str]:
    services = resource.field(value, "spec", "services")
    if not isinstance(services, list) or not services:
        raise _RefusedError("at least one service must be specified under `spec.services[]`")
    found = []
    for service in services:
        if not isinstance(service, str) or service.count(".") < 2:  # such as a.googleapis.com
            raise _RefusedError(f"invalid service specified: {service}")
        found.append(service)
    return found
