"""The catalog's `generate-folders`: makes Folders of Config Connector from a hierarchy of names.

Rules:
    - Each name becomes a Folder called after its path, in letters that a name may have. One that
      is there already is replaced in its file; others get a file named after them.
    - Folders refer to what they are in: with fields since v1alpha3, with annotations before.
    - The hierarchy's annotations go to its Folders (since v1alpha2), but for those about itself.
    - A subtree is a part of the hierarchy with a name, for several places.

Source: the catalog's functions/ts/generate-folders and functions/go/generate-folders.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value, same
from fnrunner.builtin import field_paths, resource, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.name_references import DEPENDS_ON
from fnrunner.builtin.resource import ResourceId
from fnrunner.builtin.verdict import FunctionResult
from fnrunner.contract.results import Result

ABOUT: Final = About(
    tags=("v0.1", "v0.1.0", "v0.1.1", "~0.1"),
    summary="Creates Google Cloud folders from a hierarchy of names.",
    doc="""\
It takes no configuration. In the package, `ResourceHierarchy`
(`blueprints.cloud.google.com/v1alpha3`) has in its `spec`

- `parentRef`: the parent of all folders: `external` (its number) and `kind` (`Organization`, the
  default, or `Folder`);
- `config`: a list of names, or of names with such a list: `- dev: [web, data]`;
- `subtrees`: named lists, to which `config` refers with `$subtree`.

The older versions `cft.dev/v1alpha2`, and `cft.dev/v1alpha1` with `organization`, `layers` and a
list of names for each layer in `config`, are accepted with a warning.
""",
)

_KIND: Final = "ResourceHierarchy"
_V3: Final = "blueprints.cloud.google.com/v1alpha3"
_V2: Final = "cft.dev/v1alpha2"
_V1: Final = "cft.dev/v1alpha1"
_GROUP: Final = "resourcemanager.cnrm.cloud.google.com"
_ORGANIZATION: Final = "Organization"
_FOLDER: Final = "Folder"
_SUBTREE: Final = "$subtree"
# The others that are not handed on say where a resource lies; items have them elsewhere.
_OWN: Final = (resource.LOCAL_CONFIG, "config.k8s.io/function")
_LONGEST: Final = 253  # of a name in Kubernetes
_DEEPEST: Final = 20  # Google Cloud allows ten folders in each other
_MOST: Final = 10_000  # folders; an organization may have no more by far


class _RefusedError(Exception):
    """A hierarchy cannot be used; the text, after its kind and name, says why."""


@dataclass(frozen=True, slots=True)
class _Node:
    name: str
    children: "tuple[_Node, ...]" = ()


@dataclass(frozen=True, slots=True)
class _Tree:
    """A hierarchy.

    Attributes:
        parent: What holds it, and of which kind that is.
        native: Whether Folders refer by fields.
    """

    parent: str
    kind: str
    nodes: tuple[_Node, ...]
    annotations: Mapping[str, Value]
    namespace: str
    native: bool = False


def run(resources: ResourceList) -> FunctionResult:
    """Make the Folders of every hierarchy in the package."""
    folders: dict[ResourceId, Value] = {}
    results: list[Result] = []
    problems: list[Result] = []
    for item in resources.items:
        if resource.kind(item.value) != _KIND:
            continue
        try:
            results += _warnings(item)
            tree = _read(item.value)
            made = _folders(tree) if tree else []
            results += _emptiness(item)
        except _RefusedError as error:
            message = f"{_KIND} {resource.name(item.value)} {error}"
            problems.append(verdict.at(item, message, "error", ""))
            continue
        folders.update({resource.identity(each): each for each in made})
    if problems:
        # The library that the catalog's function is built on says nothing besides.
        return replace(verdict.refused(resources.items, *results, *problems), log="")
    return FunctionResult(items=_merged(resources.items, folders), results=tuple(results))


def _merged(items: Sequence[Item], folders: dict[ResourceId, Value]) -> tuple[Item, ...]:
    """Return the items with those folders replaced that are there, and the others added."""
    merged = []
    for item in items:
        new = folders.pop(resource.identity(item.value), item.value)
        merged.append(item if same(item.value, new) else replace(item, value=new))
    return (*merged, *map(Item, folders.values()))


def _warnings(item: Item) -> Iterator[Result]:
    name, version = resource.name(item.value), resource.api_version(item.value)
    if version in (_V1, _V2):
        message = (
            f"{_KIND} {name} references an older Resource Hierarchy GroupVersion."
            f" Latest GroupVersion is {_V3}."
        )
        yield verdict.at(item, message, "warning", "")
    elif version != _V3:
        message = (
            f'{_KIND} {name} has unrecognized apiVersion "{version}"; supported versions:'
            f" {_V3}, {_V2}, {_V1}"
        )
        yield verdict.at(item, message, "warning", "")


def _emptiness(item: Item) -> Iterator[Result]:
    """Say that a hierarchy has no names."""
    spec = resource.mapping(resource.field(item.value, "spec"))
    if resource.api_version(item.value) in (_V2, _V3) and not spec.get("config"):
        missing = "an empty spec.config" if "config" in spec else "no spec.config defined"
        name = resource.name(item.value)
        message = f"{_KIND} {name} has {missing}; no folders will be generated"
        yield verdict.at(item, message, "info", "")


# --- reading --------------------------------------------------------------------------------


def _read(value: Value) -> _Tree | None:
    match resource.api_version(value):
        case "cft.dev/v1alpha1":
            return _layers(value)
        case "cft.dev/v1alpha2" | "blueprints.cloud.google.com/v1alpha3" as version:
            return _tree(value, native=version == _V3)
    return None


def _layers(value: Value) -> _Tree:
    organization = _text(resource.field(value, "spec", "organization"))
    if not organization:
        raise _RefusedError("has an undefined organization")
    layers = resource.items(resource.field(value, "spec", "layers"))
    if not layers:
        raise _RefusedError("has no layers defined")
    names = []
    for layer in map(_text, layers):
        found = resource.field(value, "spec", "config", layer)
        if not isinstance(found, list):
            raise _RefusedError(
                f'has a layer "{layer}" that has no corresponding config entry. Either add to'
                f" spec.config.{layer} or remove it from spec.layers"
            )
        names.append([_text(each) for each in found])
    nodes: tuple[_Node, ...] = ()
    for layer_names in reversed(names):
        nodes = tuple(_Node(name, nodes) for name in layer_names)
    return _Tree(organization, _ORGANIZATION, nodes, {}, resource.namespace(value))


def _tree(value: Value, *, native: bool) -> _Tree:
    parent = _text(resource.field(value, "spec", "parentRef", "external"))
    if not parent:
        raise _RefusedError("has an undefined parentRef")
    kind = _text(resource.field(value, "spec", "parentRef", "kind")) or _ORGANIZATION
    if kind not in (_ORGANIZATION, _FOLDER):
        raise _RefusedError("has an unsupported parentRef kind")
    reader = _Reader(resource.mapping(resource.field(value, "spec", "subtrees")))
    annotations = resource.mapping(resource.field(value, "metadata", "annotations"))
    return _Tree(
        parent=parent,
        kind=kind,
        nodes=reader.nodes(resource.field(value, "spec", "config")),
        annotations={key: each for key, each in annotations.items() if key not in _OWN},
        namespace=resource.namespace(value),
        native=native,
    )


class _Reader:
    """Reads lists of names, with the subtrees that they name."""

    def __init__(self, subtrees: Mapping[str, Value]) -> None:
        self._subtrees = subtrees
        self._read: dict[str, tuple[_Node, ...]] = {}
        self._open: list[str] = []

    def nodes(self, value: Value) -> tuple[_Node, ...]:
        """Return what a list of names, or a reference to one, stands for."""
        if isinstance(value, dict) and _SUBTREE in value:
            return self._subtree(_text(value[_SUBTREE]))
        if value is None:
            return ()
        if not isinstance(value, list):
            raise _RefusedError("has a part of spec.config that is no list of names")
        return tuple(node for each in value for node in self._entry(each))

    def _entry(self, value: Value) -> Sequence[_Node]:
        if isinstance(value, dict):
            if _SUBTREE in value:
                return self.nodes(value)
            return [_Node(name, self.nodes(each)) for name, each in value.items()]
        if isinstance(value, list):
            raise _RefusedError("has a list without a name in spec.config")
        return [_Node(_text(value))] if value is not None else ()

    def _subtree(self, name: str) -> tuple[_Node, ...]:
        if name not in self._subtrees:
            raise _RefusedError(f'references non-existent subtree "{name}"')
        if name in self._open:
            raise _RefusedError(f'has a subtree that contains itself: "{name}"')
        if len(self._open) == _DEEPEST:
            raise _RefusedError(f"has subtrees within subtrees, more than {_DEEPEST} deep")
        if name not in self._read:
            self._open.append(name)
            self._read[name] = self.nodes(self._subtrees[name])
            self._open.pop()
        return self._read[name]


def _text(value: Value) -> str:
    return "" if isinstance(value, dict | list) else field_paths.text(value)


# --- writing --------------------------------------------------------------------------------


def _folders(tree: _Tree) -> list[Value]:
    # Subtrees within subtrees, or layers, stand for far more folders than they have lines.
    found = list(islice(_below(tree, tree.nodes, ()), _MOST + 1))
    if len(found) > _MOST:
        raise _RefusedError(f"stands for more than {_MOST} folders")
    return found


def _below(tree: _Tree, nodes: Sequence[_Node], path: tuple[str, ...]) -> Iterator[Value]:
    for node in nodes:
        yield _folder(tree, node.name, path)
        yield from _below(tree, node.children, (*path, node.name))


def _folder(tree: _Tree, name: str, path: tuple[str, ...]) -> Value:
    parent = _normalized(".".join(path))
    annotations = dict(tree.annotations)
    spec: dict[str, Value] = {"displayName": name}
    if not tree.native:
        outermost = not path and tree.kind == _ORGANIZATION
        key = "organization-id" if outermost else "folder-ref"
        annotations[f"cnrm.cloud.google.com/{key}"] = parent if path else _normalized(tree.parent)
    elif path:
        spec["folderRef"] = {"name": parent}
        if tree.namespace:
            place = f"{_GROUP}/namespaces/{tree.namespace}/{_FOLDER}/{parent}"
            annotations[DEPENDS_ON] = place
    else:
        spec["organizationRef" if tree.kind == _ORGANIZATION else "folderRef"] = {
            "external": tree.parent
        }
    metadata: dict[str, Value] = {"name": _normalized(".".join((*path, name)))}
    if annotations:
        metadata["annotations"] = annotations
    if tree.namespace:
        metadata["namespace"] = tree.namespace
    return {
        "apiVersion": f"{_GROUP}/v1beta1",
        "kind": _FOLDER,
        "metadata": metadata,
        "spec": spec,
    }


def _normalized(name: str) -> str:
    """Return a name in the letters that a resource's name may have.

    Dashes are not made fewer: the folder would be another one for those who have it already.
    """
    bare = re.sub("['\"]", "", name.lower())
    bare = re.sub("[^a-z0-9.-]", "", re.sub("[_ ]", "-", bare))
    bare = re.sub(r"-+\.[-.]*|\.[-.]+", "-", bare)  # no part may begin or end with a dash
    return bare.strip("-.")[:_LONGEST].rstrip("-.") or "unnamed"
