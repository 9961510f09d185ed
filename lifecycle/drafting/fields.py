"""`set`: one field of one resource, or one setter of a package, gets another value.

Rules
- A name that a package's `apply-setters` knows is a setter: its configuration is changed, and the
  rendering does the rest, as in kpt. A path of a field is looked for otherwise.
- Exactly one place must fit; several are listed, none is guessed. `Kind/name` narrows the search,
  and may name a field that is not there yet.
- The value keeps the type of the one before it: what was a text stays one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cadlib import yaml
from cadlib.errors import PackageError
from cadlib.images import base_name_and_tag
from cadlib.package import files as packages
from cadlib.package.files import KPTFILE, Entry, Files
from cadlib.yaml import FieldPath, Value
from lifecycle.messages import making as texts

SETTERS = "apply-setters"

MOST_FILES = 5_000
"""Files that are searched."""


@dataclass(frozen=True, slots=True)
class _Found:
    """One place that fits.

    Attributes:
        path: The file.
        document: Its position in the file.
        field: Where in it.
        shown: The place, for people.
    """

    path: str
    document: int
    field: FieldPath
    shown: str


def set_value(files: Files, resource: str, field: str, value: str) -> dict[str, Entry]:
    """Return the changed file of a package, by its path; nothing where the value is that already.

    Args:
        files: The package, subpackages included.
        resource: "Kind/name"; "" for any resource.
        field: Path of a field such as "spec.replicas", or the name of a setter.
        value: The new value, as written.

    Raises:
        PackageError: No place fits, or several do, or the value does not.
    """
    streams = dict(_streams(files))
    found = [] if resource else list(_setters(streams, field))
    path = yaml.parse_field(field)
    if not found:
        found = list(_fields(streams, resource, path))
    if not found and resource:
        found = [
            _Found(at, number, path, _shown(at, value_))
            for at, number, value_ in _resources(streams, resource)
        ]
    if len(found) != 1:
        raise (
            texts.no_place(field, resource)
            if not found
            else texts.several_places(field, [each.shown for each in found])
        )
    place = found[0]
    stream = streams[place.path]
    new = _changed(stream.documents[place.document].value, place.field, value, place.path)
    data = yaml.edit(stream, {place.document: new})
    entry = files[place.path]
    return {} if data == entry.data else {place.path: Entry(data, entry.mode)}


def _streams(files: Files) -> Iterator[tuple[str, yaml.Stream]]:
    """The files that hold resources and can be read."""
    paths = [p for p in files if packages.name(p) == KPTFILE or packages.is_resource_file(p)]
    for path in sorted(paths)[:MOST_FILES]:
        if files[path].mode in (packages.REGULAR, packages.EXECUTABLE):
            try:
                yield path, yaml.read(files[path].data, path=path)
            except PackageError:
                continue  # rendering says what is wrong with it


def _setters(streams: Mapping[str, yaml.Stream], name: str) -> Iterator[_Found]:
    """Places where a setter of that name has its value."""
    for path, stream in streams.items():
        if packages.name(path) != KPTFILE or not stream.documents:
            continue
        pipeline = _map(_map(stream.documents[0].value).get("pipeline"))
        mutators = pipeline.get("mutators")
        for at, each in enumerate(mutators if isinstance(mutators, list) else ()):
            function = _map(each)
            image = function.get("image")
            if not isinstance(image, str) or base_name_and_tag(image)[0] != SETTERS:
                continue
            if name in _map(function.get("configMap")):
                field: FieldPath = ("pipeline", "mutators", at, "configMap", name)
                yield _Found(path, 0, field, f"{path}: {yaml.field_text(field)}")
            config = function.get("configPath")
            file = packages.join(packages.folder(path), config) if isinstance(config, str) else ""
            for number, document in enumerate(streams[file].documents if file in streams else ()):
                if name in _map(_map(document.value).get("data")):
                    yield _Found(file, number, ("data", name), f"{file}: data.{name}")


def _resources(
    streams: Mapping[str, yaml.Stream], resource: str
) -> Iterator[tuple[str, int, Value]]:
    """Resources of a kind and name, all for ""."""
    kind, _, name = resource.partition("/")
    for path, stream in streams.items():
        for number, document in enumerate(stream.documents):
            value = _map(document.value)
            named = _map(value.get("metadata")).get("name")
            if "kind" in value and (not resource or (value["kind"], named) == (kind, name)):
                yield path, number, value


def _fields(streams: Mapping[str, yaml.Stream], resource: str, path: FieldPath) -> Iterator[_Found]:
    """Places where a field stands; of Kptfiles only if they are named."""
    for at, number, value in _resources(streams, resource):
        if packages.name(at) == KPTFILE and not resource:
            continue
        field = _resolved(value, path)
        if field:
            yield _Found(at, number, field, _shown(at, value))


def _shown(path: str, value: Value) -> str:
    root = _map(value)
    return f"{path}: {root.get('kind')}/{_map(root.get('metadata')).get('name')}"


def _resolved(value: Value, path: FieldPath) -> FieldPath:
    """A path as it stands in a value, elements named `[name=app]` or `[app]` by position; ()."""
    found: list[str | int] = []
    for step in path:
        if isinstance(value, dict) and isinstance(step, str) and step in value:
            value = value[step]
        elif isinstance(value, list):
            at = _position(value, step)
            if at is None:
                return ()
            value, step = value[at], at
        else:
            return ()
        found.append(step)
    return tuple(found)


def _position(value: list[Value], step: str | int) -> int | None:
    if isinstance(step, int):
        return step if step < len(value) else None
    key, equals, wanted = step.partition("=")
    if not equals:
        if step.isdecimal() and int(step) < len(value):
            return int(step)
        key, wanted = "name", step
    fits = [at for at, each in enumerate(value) if str(_map(each).get(key)) == wanted]
    return fits[0] if len(fits) == 1 else None


def _changed(value: Value, path: FieldPath, text: str, file: str) -> Value:
    """A value with one field changed, or put where there was none."""
    if not path:
        return value_of(value, text, file)
    step, rest = path[0], path[1:]
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return [*value[:step], _changed(value[step], rest, text, file), *value[step + 1 :]]
    if isinstance(value, dict) and isinstance(step, str):
        inner = _changed(value[step], rest, text, file) if step in value else _new(rest, text, file)
        return {**value, step: inner}
    raise texts.no_field(file)


def _new(path: FieldPath, text: str, file: str) -> Value:
    """A field that is not there yet, with what is around it."""
    new = value_of(None, text, file)
    for step in reversed(path):
        if not isinstance(step, str) or "=" in step:
            raise texts.no_field(file)
        new = {step: new}
    return new


def value_of(old: Value, text: str, file: str) -> Value:
    """Return a text as YAML reads it; what was a text stays one.

    Args:
        old: What stands there.
        text: As somebody wrote it.
        file: For messages.

    Raises:
        PackageError: It is no YAML, or no value in place of a mapping or list.
    """
    try:
        documents = yaml.read(text.encode(), path=file).documents
    except PackageError as error:
        if isinstance(old, str):
            return text
        raise texts.no_value(file, error.problem) from error
    new = documents[0].value if documents else None
    if isinstance(old, str) and not isinstance(new, str):
        return text
    if isinstance(old, dict | list) and type(new) is not type(old):
        raise texts.no_scalar(file)
    return new


def _map(value: Value) -> dict[str, Value]:
    return value if isinstance(value, dict) else {}
