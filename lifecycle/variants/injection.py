"""Injection: resources that ask for it get `data` or `spec` of an object that the rule names.

Rules
- A resource asks by the annotation `kpt.dev/config-injection`, as required or optional.
- The objects are those of its version and kind in the variant's namespace. The first injector that
  fits the resource and names one of them decides; where it names several, that is an error.
- Secrets are never injected.
- What came of it stands in the Kptfile: a condition for each such resource, and a readiness gate
  for each required one. Those of resources that ask no more go.
- Beside Porch's annotation stands where the object came from, and the commit: the one at which it
  last said something else.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cadlib.errors import PackageError, Place
from cadlib.package import files as packages
from cadlib.package.files import KPTFILE, Files
from cadlib.package.source import ref
from cadlib.yaml import Document, Stream, Value, edit, read
from lifecycle.messages import variants as messages
from lifecycle.variants import conditions
from lifecycle.variants.objects import KubeObject, KubeObjectIndex, group_and_version
from lifecycle.variants.values import Injector

ASKS: Final = "kpt.dev/config-injection"
"""The annotation of a resource that asks for it: "required" or "optional"."""

INJECTED: Final = "kpt.dev/injected-resource"
"""The annotation that names what was injected."""

INJECTED_FROM: Final = "porchbot.dev/injected-from"
"""The annotation that says where that stands, as "acme/inventory/teams.yaml@<commit>"."""

_SEQUENCE, _SCALAR = 2, 8
"""How Porch's parser counts the kinds of nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionPoint:
    """A resource that asks for injection, and what came of it.

    Attributes:
        file: Where it stands.
        position: Of its document in that file.
        api_version: Its group and version.
        kind: Its kind.
        name: Its name.
        required: The package is not ready without.
        errors: What is wrong with it; of several, all.
        injected: The name of the object; "" where nothing was injected.
    """

    file: str
    position: int = 0
    api_version: str = ""
    kind: str = ""
    name: str = ""
    required: bool = False
    errors: tuple[str, ...] = ()
    injected: str = ""

    @property
    def condition(self) -> str:
        """The type of its condition."""
        return f"{conditions.PREFIX}{self.kind}.{self.name}"


@dataclass(frozen=True, slots=True)
class Injected:
    """A package after injection.

    Attributes:
        files: What changed, by path.
        points: What came of each resource that asks for it.
        sources: The objects that were injected, each once.
    """

    files: Mapping[str, bytes]
    points: tuple[InjectionPoint, ...]
    sources: tuple[KubeObject, ...]


def inject(
    files: Files, injectors: Sequence[Injector], objects: KubeObjectIndex, namespace: str
) -> Injected:
    """Inject objects into a package.

    Args:
        files: The package.
        injectors: Of the rule, in order.
        objects: What can be injected.
        namespace: Where the objects are.

    Raises:
        PackageError: A file cannot be read, a resource asks in a way that nobody knows, or several
            objects match; nothing is injected.
    """
    streams = parsed(files)
    points = find(streams)
    problem = invalid(points)
    if problem:
        raise PackageError(Place(points[0].file), problem, messages.FIX_POINTS)
    changed: dict[str, dict[int, Value]] = {}
    done: list[InjectionPoint] = []
    sources: list[KubeObject] = []
    for point in points:
        found = _source(point, injectors, objects.of(namespace, point.api_version, point.kind))
        if isinstance(found, str):
            done.append(replace(point, errors=(found,) if found else ()))
            continue
        value = streams[point.file].documents[point.position].value
        wanted = _filled(value, found)
        done.append(replace(point, injected=found.name))
        sources += [] if any(found is each for each in sources) else [found]
        if wanted != value:
            changed.setdefault(point.file, {})[point.position] = wanted
    texts = {path: edit(streams[path], {**values}) for path, values in changed.items()}
    if KPTFILE in files:
        before = texts.get(KPTFILE, files[KPTFILE].data)
        after = conditions.written(before, done)
        if after != before:
            texts[KPTFILE] = after
    return Injected(texts, tuple(done), tuple(sources))


# --- which resources ask for it -------------------------------------------------------------------


def parsed(files: Files) -> dict[str, Stream]:
    """Return the files that may hold resources, parsed, in the order of their paths.

    Raises:
        PackageError: One is no YAML, or holds what is no object; in Porch's words.
    """
    streams = {}
    for path in sorted(files):
        if not packages.is_resource_file(path) or files[path].mode == packages.SYMLINK:
            continue
        try:
            stream = read(files[path].data, path=path)
        except PackageError as error:
            raise PackageError(
                error.place, messages.no_objects(path, error.problem), error.fix
            ) from error
        for document in stream.documents:
            _check(document, path)
        streams[path] = stream
    return streams


def _check(document: Document, path: str) -> None:
    value = document.value
    if document.empty or document.template or value is None or isinstance(value, dict):
        return
    number = _SEQUENCE if isinstance(value, list) else _SCALAR
    problem = messages.no_objects(path, f"unhandled node kind {number}")
    raise PackageError(Place(path, document.start_line), problem, messages.FIX_OBJECTS)


def find(streams: Mapping[str, Stream]) -> list[InjectionPoint]:
    """Return the resources that ask for injection, in the order of the files."""
    return [
        point
        for path, stream in streams.items()
        for position, document in enumerate(stream.documents)
        for point in _points(path, position, document.value)
    ]


def _points(path: str, position: int, value: Value) -> Iterator[InjectionPoint]:
    asks = _annotations(value).get(ASKS)
    if asks is None:
        return
    found = ref(value)
    name = f"{found.kind}/{found.name}"
    known = asks in ("required", "optional")
    yield InjectionPoint(
        file=path,
        position=position,
        api_version=found.api_version,
        kind=found.kind,
        name=found.name,
        required=asks == "required",
        errors=() if known else (messages.bad_point(path, name, ASKS, f"{asks}"),),
    )


def invalid(points: Iterable[InjectionPoint]) -> str:
    """Tell why nothing can be injected, in Porch's words; "" where it can."""
    told: list[str] = []
    seen: dict[str, InjectionPoint] = {}
    for point in points:
        told += point.errors
        other = seen.get(point.condition)
        if other is not None:
            told.append(messages.same_condition(point.condition, other.file, point.file))
        seen[point.condition] = point
    return messages.bad_points(told) if told else ""


# --- what is injected -----------------------------------------------------------------------------


def _source(
    point: InjectionPoint, injectors: Sequence[Injector], objects: Sequence[KubeObject]
) -> KubeObject | str:
    """Return what is injected, or why nothing is: "" where nothing was chosen."""
    if (point.api_version, point.kind) == ("v1", "Secret"):
        return messages.NO_SECRETS
    if not injectors:
        return messages.NO_INJECTORS
    if not objects:
        return messages.no_such_objects(point.api_version, point.kind)
    for injector in injectors:
        if not fits_kind(injector, point.api_version, point.kind):
            continue
        named = [each for each in objects if each.name == injector.name]
        if len(named) > 1:
            told = messages.several_objects(injector.name, [each.origin for each in named])
            raise PackageError(Place(point.file), messages.bad_points([told]), messages.FIX_SEVERAL)
        if named:
            field = _field(point)
            found = named[0].value
            return named[0] if field in found else messages.no_field(field, injector.name)
    return ""


def fits_kind(injector: Injector, api_version: str, kind: str) -> bool:
    """Tell whether an injector may choose objects of a group, version and kind."""
    group, version = group_and_version(api_version)
    pairs = ((injector.group, group), (injector.version, version), (injector.kind, kind))
    return all(wanted is None or wanted == found for wanted, found in pairs)


def _field(point: InjectionPoint) -> str:
    group, _ = group_and_version(point.api_version)
    return "data" if (group, point.kind) == ("", "ConfigMap") else "spec"


def _filled(value: Value, source: KubeObject) -> Value:
    """Return a resource with what is injected; where that is there already, its commit stays."""
    resource = value if isinstance(value, dict) else {}
    point = InjectionPoint(file="", api_version=source.api_version, kind=source.kind)
    field = _field(point)
    metadata = resource.get("metadata")
    annotations = dict(_annotations(value))
    wanted = source.value[field]
    origin = annotations.get(INJECTED_FROM)
    same = resource.get(field) == wanted and annotations.get(INJECTED) == source.name
    stays = same and isinstance(origin, str) and origin.startswith(f"{source.origin}@")
    annotations[INJECTED] = source.name
    if source.commit and not stays:
        annotations[INJECTED_FROM] = f"{source.origin}@{source.commit}"
    inner = metadata if isinstance(metadata, dict) else {}
    return {**resource, "metadata": {**inner, "annotations": annotations}, field: wanted}


def _annotations(value: Value) -> dict[str, Value]:
    metadata = value.get("metadata") if isinstance(value, dict) else None
    found = metadata.get("annotations") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}
