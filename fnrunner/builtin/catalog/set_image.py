"""The catalog's `set-image`: changes the name, tag or digest of an image wherever it is used.

Rules:
    - `name` is a regular expression that must fit the image up to its tag and digest. It may
      hold a tag; then only this one is meant.
    - A new tag or digest takes the place of both; a new name alone keeps them.
    - An image that is already as wanted is not counted.

Source: the catalog's functions/go/set-image; kustomize, api/filters/imagetag.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value, field_text
from fnrunner.builtin import alone, field_spec, regex, resource, scalars, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.alone import ConfigRefusedError, PerResourceFunction
from fnrunner.builtin.field_spec import FieldSpec, FieldSpecError
from fnrunner.builtin.regex import PatternError
from fnrunner.builtin.resource import ShapeError
from fnrunner.builtin.verdict import FunctionResult
from fnrunner.contract.results import Result

ABOUT: Final = About(
    tags=("v0.1", "v0.1.0", "v0.1.1", "v0.1.2", "~0.1"),
    summary="Changes the name, tag or digest of an image wherever it is used.",
    doc="""\
- A ConfigMap with `name` and one or more of `newName`, `newTag`, `digest`; or
- `SetImage` (`fn.kpt.dev/v1alpha1`) with these in `image`, and `additionalImageFields`: a list
  of `path` (such as `spec/manifest/images[]/image`), `group`, `version` and `kind`.

`name` is the image without tag and digest, with its registry if it has one: `nginx` is not
`docker.io/nginx`. It is a regular expression.

It changes containers and init containers of Pods, Deployments, StatefulSets, ReplicaSets and
DaemonSets; for other kinds, such as CronJobs, add `additionalImageFields`.
""",
    example="""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: image
data:
  name: nginx
  newName: registry.example.com/nginx
  newTag: "1.27"
""",
    alone=True,
)

_KEYS: Final = ("name", "newName", "newTag", "digest")
_CONTAINERS: Final = ("containers[]", "initContainers[]")
# Older versions of the catalog's function miss init containers: they look for `iniContainers`.
_USUAL: Final = (
    *(FieldSpec(("spec", each, "image"), kind="Pod") for each in _CONTAINERS),
    *(
        FieldSpec(("spec", "template", "spec", each, "image"), kind=kind)
        for kind in ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet")
        for each in _CONTAINERS
    ),
)
# After the name: a tag and a digest, either of which may be missing. Some tools write braces.
_SUFFIX: Final = r"(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?"


@dataclass(frozen=True, slots=True)
class _Image:
    """What to change; "" stays."""

    name: str
    new_name: str
    tag: str
    digest: str

    def changed(self, image: str) -> str:
        if not regex.found(f"^{self.name}{_SUFFIX}$", image):
            return image
        name, tag, digest = _split(image)
        if self.tag or self.digest:
            tag, digest = self.tag, self.digest
        return (self.new_name or name) + (tag and f":{tag}") + (digest and f"@{digest}")


@dataclass(frozen=True, slots=True)
class _Note:
    count: int = 0
    problem: Result | None = None


def run(resources: ResourceList) -> FunctionResult:
    """Change the image that the configuration names."""
    found = alone.run(begin, resources)
    if not found.failed:
        return found
    ended = str(found.results[-1]["message"])
    if not ended.startswith(_TERMINATED):
        return found
    return replace(found, log=f"failed to evaluate function: {ended}")


def begin(config: Value) -> PerResourceFunction[_Note]:
    """Read the configuration."""
    said = () if config else (verdict.result("`FunctionConfig` is not given", "info"),)
    try:
        image, added = _read(config)
        # Tried here, so that a mistake is told once and not for each image.
        regex.found(image.name, "")
    except (_ConfigError, FieldSpecError, PatternError) as error:
        raise ConfigRefusedError(
            *said,
            verdict.result(str(error), "error"),
            verdict.result(f"{_TERMINATED}{error}", "error"),
        ) from error
    return _SetImage(image, (*_USUAL, *added))


_TERMINATED: Final = "function is terminated: "


class _ConfigError(Exception):
    """The configuration cannot be used; the text says why."""


class _SetImage:
    """The image to change, and where."""

    def __init__(self, image: _Image, specs: Sequence[FieldSpec]) -> None:
        self._image = image
        self._specs = specs

    def each(self, item: Item) -> tuple[Item, _Note]:
        if resource.kind(item.value) == "CustomResourceDefinition":
            return item, _Note()  # holds schemas, not images
        value, counted = item.value, _Counted(self._image)
        try:
            for spec in self._specs:
                if spec.means(value):
                    value = field_spec.change(value, spec.path, counted.new)
        except ShapeError as error:
            field = field_text(error.path)
            message = f"cannot set the image: {field} must be a mapping or a list"
            return item, _Note(problem=verdict.at(item, message, "error", field))
        return item if value is item.value else replace(item, value=value), _Note(counted.number)

    def total(self, notes: Sequence[_Note]) -> tuple[tuple[Result, ...], bool]:
        problems = tuple(note.problem for note in notes if note.problem)
        number = sum(note.count for note in notes)
        summary = verdict.result(f"summary: updated a total of {number} image(s)", "info")
        return (*problems, summary), bool(problems)


class _Counted:
    """How many images were changed."""

    def __init__(self, image: _Image) -> None:
        self._image = image
        self.number = 0

    def new(self, value: Value) -> Value:
        if not isinstance(value, str):
            return value
        changed = self._image.changed(value)
        self.number += changed != value
        return value if changed == value else changed


def _split(image: str) -> tuple[str, str, str]:
    """Return the name, tag and digest of an image; a registry's port is part of the name."""
    name, _, digest = image.partition("@")
    registry, slash, rest = name.partition("/")
    if not slash:
        registry, rest = "", name
    rest, _, tag = rest.partition(":")
    return f"{registry}{slash}{rest}", tag, digest


def _read(config: Value) -> tuple[_Image, tuple[FieldSpec, ...]]:
    added: tuple[FieldSpec, ...] = ()
    kind, group = resource.kind(config), resource.group(config)
    if not config:
        given: Mapping[str, Value] = {}
    elif (kind, group) == ("ConfigMap", ""):
        data = resource.field(config, "data")
        # A number is the text it is written as here, unlike in its own kind.
        given = scalars.of_config(data) or _mapping(data, "data")
        for key in given:
            if key not in _KEYS:
                raise _ConfigError(f"ConfigMap has wrong field name {key}")
    elif (kind, group) == ("SetImage", "fn.kpt.dev"):
        given = _mapping(resource.field(config, "image"), "image")
        added = _added(resource.field(config, "additionalImageFields"))
    else:
        name = ".".join(filter(None, (kind, group)))
        raise _ConfigError(
            f"unknown FunctionConfig `{name}`, expect `SetImage.fn.kpt.dev` or `ConfigMap.v1`"
        )
    return _image(given), added


def _image(given: Mapping[str, Value]) -> _Image:
    texts = []
    for key in _KEYS:
        value = given.get(key)
        if not isinstance(value, str | None):
            raise _ConfigError(f"`{key}` must be a text; put it in quotes")
        texts.append(value or "")
    image = _Image(*texts)
    if not image.name:
        raise _ConfigError("must specify `name`")
    if not (image.new_name or image.tag or image.digest):
        raise _ConfigError("must specify one of `newName`, `newTag`, or `digest`")
    return image


def _added(value: Value) -> tuple[FieldSpec, ...]:
    if not isinstance(value, list | None):
        raise _ConfigError("`additionalImageFields` must be a list")
    at = "additionalImageFields[{}]".format
    return tuple(field_spec.read(each, at(i)) for i, each in enumerate(value or ()))


def _mapping(value: Value, at: str) -> Mapping[str, Value]:
    if not isinstance(value, dict | None):
        raise _ConfigError(f"`{at}` must be a mapping")
    return value or {}
