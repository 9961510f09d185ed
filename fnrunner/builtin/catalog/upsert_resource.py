"""The catalog's `upsert-resource`: puts resources in the place of their namesakes, or adds them.

Rules:
    - The same are resources of one group, kind, namespace and name, whatever their version; with
      the annotation `config.kubernetes.io/target-path` only those in that file. All of them are
      replaced, and stay in their files.
    - What is not there yet is added, in the target path's file or one named after it.
    - Annotations that say where a resource lies, or how a function is run, are not taken over.
    - Where the configuration is a resource of the package, its line comments (setters, say) come
      along, in the place of those of what is replaced.

Source: the catalog's functions/go/upsert-resource.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import FieldPath, Value, same
from fnrunner.builtin import resource, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.verdict import FunctionResult

ABOUT: Final = About(
    tags=("v0.1", "v0.1.0", "v0.1.1", "v0.2", "v0.2.0", "v0.2.1", "~0.1 || ~0.2"),
    summary="Replaces a resource by another of the same name, or adds it.",
    doc="""\
The configuration is the resource itself, or a `List` of them in `items`.

A resource replaces all resources with the same group, kind, namespace and name. With the annotation
`config.kubernetes.io/target-path` it replaces only those in that file, and is added to that file
if there are none; without the annotation, a new resource gets its own file.
""",
    example="""\
apiVersion: v1
kind: Service
metadata:
  name: web
  annotations:
    config.kubernetes.io/target-path: web/service.yaml
spec:
  selector:
    app: web
""",
)

Comments = Mapping[FieldPath, str]

_TARGET: Final = "config.kubernetes.io/target-path"
_PLACE: Final = "config.kubernetes.io/path"  # the older annotation, which the catalog's keeps
_FUNCTION: Final = ("config.kubernetes.io/function", "config.k8s.io/function")
_NOT_TAKEN: Final = frozenset(
    (
        *_FUNCTION,
        _TARGET,
        _PLACE,
        "config.kubernetes.io/index",
        "config.k8s.io/id",
        "internal.config.kubernetes.io/path",
        "internal.config.kubernetes.io/index",
        "internal.config.kubernetes.io/seqindent",
        "internal.config.kubernetes.io/id",
        "internal.config.kubernetes.io/annotations-migration-resource-id",
    )
)


def run(resources: ResourceList) -> FunctionResult:
    """Put in the resource, or the resources, that the configuration is."""
    config = resources.config
    given = [config]
    if resource.kind(config) == "List":
        listed = resource.field(config, "items")
        if not isinstance(listed, list | None):
            return _refused(resources, "items must be a list of resources")
        given = resource.items(listed)
    for position, value in enumerate(given):
        if not (resource.kind(value) and resource.name(value)):
            at = "the configuration" if value is config else f"items[{position}]"
            return _refused(resources, f"{at} must be a resource with a kind and a name")
    package = _Package(resources.items)
    comments = next((item.comments for item in resources.items if same(item.value, config)), {})
    for position, value in enumerate(given):
        path = () if value is config else ("items", position)
        package.upsert(value, _below(comments, path))
    return FunctionResult(items=tuple(package.items), results=())


def _refused(resources: ResourceList, problem: str) -> FunctionResult:
    message = f"failed to upsert resource: {problem}"
    return verdict.logged(verdict.refused(resources.items, verdict.result(message, "error")))


class _Package:
    """Resources, found by what they are called."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items: list[Item] = []
        self._positions: dict[tuple[str, ...], list[int]] = {}
        for item in items:
            self._add(item)

    def _add(self, item: Item) -> None:
        self._positions.setdefault(_called(item.value), []).append(len(self.items))
        self.items.append(item)

    def upsert(self, given: Value, comments: Comments) -> None:
        """Replace what is called the same, or add it, with these comments."""
        target, bare = resource.annotation(given, _TARGET), _bare(given)
        comments = _fitting(comments, bare)
        fitting = [
            position
            for position in self._positions.get(_called(given), ())
            if target in ("", self.items[position].path)
            and not _configures(self.items[position].value)
        ]
        for position in fitting:
            self.items[position] = _replaced(self.items[position], bare, comments)
        if not fitting:
            path = target or resource.annotation(given, _PLACE)
            self._add(Item(bare, comments, path=path))


def _replaced(item: Item, value: Value, comments: Comments) -> Item:
    new = item if same(item.value, value) else replace(item, value=value)
    known = item.comments
    if all(known.get(path) == text for path, text in comments.items()):
        return new  # and comments of what stays, stay
    if item.path.endswith(".json"):  # which has no comments
        return new
    # An element that stands where another stood has nothing to do with its comment.
    stay = {
        path: text
        for path, text in _fitting(known, value).items()
        if all(isinstance(step, str) for step in path)
        or same(_at(item.value, path), _at(value, path))
    }
    return replace(new, comments={**stay, **comments})


def _below(comments: Comments, outer: FieldPath) -> Comments:
    """Return the comments below a field, by their paths from there."""
    size = len(outer)
    return {
        path[size:]: text
        for path, text in comments.items()
        if path[:size] == outer and len(path) > size
    }


def _fitting(comments: Comments, value: Value) -> Comments:
    """Return the comments that have a place in a value: behind a scalar, or behind a key."""
    return {path: text for path, text in comments.items() if _has_place(value, path)}


def _has_place(value: Value, path: FieldPath) -> bool:
    found = _at(value, path)
    return bool(found) and (isinstance(path[-1], str) or not isinstance(found[0], dict | list))


def _at(value: Value, path: FieldPath) -> list[Value]:
    """Return the value at a path, alone in a list; an empty list where there is none."""
    for step in path:
        if isinstance(value, dict) and step in value:
            value = value[str(step)]
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return []
    return [value]


def _configures(value: Value) -> bool:
    """Tell whether it configures a function, and is none of the package's resources."""
    return any(resource.annotation(value, key) for key in _FUNCTION)


def _called(value: Value) -> tuple[str, ...]:
    return (
        resource.group(value),
        resource.kind(value),
        resource.namespace(value),
        resource.name(value),
    )


def _bare(value: Value) -> Value:
    """Return a resource without the annotations that are not its own."""
    metadata = resource.mapping(resource.field(value, "metadata"))
    annotations = resource.mapping(metadata.get("annotations"))
    kept = {key: each for key, each in annotations.items() if key not in _NOT_TAKEN}
    if len(kept) == len(annotations):
        return value
    if kept:
        return resource.with_field(value, ("metadata", "annotations"), kept)
    rest = {key: each for key, each in metadata.items() if key != "annotations"}
    return resource.with_field(value, ("metadata",), rest)
