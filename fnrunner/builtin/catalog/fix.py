"""The catalog's `fix`: brings packages of kpt before 1.0 to today's form.

Longer than 400 lines: a function of the catalog is one module, and this one knows two old forms.

Rules:
    - A Kptfile of v1alpha1 has its fields moved to where v1 has them: packageMetadata to info,
      upstream to upstream and upstreamLock, setters in openAPI to an apply-setters function with
      `setters.yaml`, functions declared by annotations to the pipeline, each with its
      configuration in a file of its own at the top of the package.
    - A Kptfile of v1alpha2 keeps its fields; setters in a `configMap` move to `setters.yaml`.
    - One of v1 stays, and so does everything in a package that has no Kptfile of its own.
    - Comments that mark setters are written in today's form, substitutions spelt out.
    - What has no place in v1 (dependencies, Starlark functions, a version) is dropped, and the log
      says so.

Source: the catalog's functions/go/fix, whose messages these are.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from cadlib.errors import PackageError
from cadlib.package import files as packages
from cadlib.package.files import KPTFILE
from cadlib.stream.format import key_order
from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import FieldPath, Value, emit, read
from cadlib.yaml.tree import Scalar, Seq
from fnrunner.builtin import field_paths, resource, scalars, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.verdict import FunctionResult
from fnrunner.contract.results import Result

ABOUT: Final = About(
    tags=("v0.2", "v0.2.0", "v0.2.1", "~0.1", "~0.2"),
    summary="Converts packages from before kpt 1.0 to the current format.",
    doc="""\
It takes no configuration. Run it with `porchbot fn eval` on the folder of a package whose Kptfile
is of `kpt.dev/v1alpha1` or `v1alpha2`; subpackages are converted as well. Check the pipeline
afterwards: all functions become mutators, so move validators by hand.

Results: what was changed in each Kptfile. The log lists what v1 cannot express.
""",
)

_V1: Final = "kpt.dev/v1"
_SETTERS: Final = "setters.yaml"
_APPLY_SETTERS: Final = "gcr.io/kpt-fn/apply-setters:"
_FUNCTION: Final = ("config.kubernetes.io/function", "config.k8s.io/function")
_CONTAINER: Final = "config.kubernetes.io/container"  # before there was `function`
_DECLARED: Final = (*_FUNCTION, _CONTAINER)
_INVENTORY: Final = "cli-utils.sigs.k8s.io/inventory-id"
_DEFINITIONS: Final = "io.k8s.cli."
_KINDS: Final = ("setters", "substitutions")
_DROPPED: Final = ("dependencies", "functions")
_KEPT: Final = ("apiVersion", "kind", "metadata", "inventory")
_MOVED: Final = ("packageMetadata", "upstream", "openAPI")
_KNOWN: Final = frozenset((*_KEPT, *_MOVED, *_DROPPED))
_INVALID: Final = "please make sure the package has a valid 'v1alpha1' Kptfile"


class FixError(Exception):
    """The package cannot be brought to today's form."""


def run(resources: ResourceList) -> FunctionResult:
    """Fix the package and its subpackages."""
    if not any(_is_kptfile(item) for item in resources.items):
        return _refused(
            resources,
            "Kptfile not found in directory tree, make sure you specify"
            " '--include-meta-resources' flag",
        )
    try:
        return _Fix(resources.items).verdict()
    except FixError as error:
        return _refused(resources, str(error))


def _refused(resources: ResourceList, problem: str) -> FunctionResult:
    message = f"failed to fix package: {problem}"
    return FunctionResult(
        items=resources.items,
        results=(verdict.result(message, "error"),),
        failed=True,
        log=problem,
    )


def _is_kptfile(item: Item) -> bool:
    return resource.kind(item.value) == KPTFILE


class _Fix:
    """One pass over a package."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = list(items)
        self._results: list[Result] = []
        self._added: list[Item] = []
        self._log: list[str] = []
        kptfiles = [each for each in items if packages.name(each.path) == KPTFILE]
        self._packages = frozenset(packages.folder(each.path) for each in kptfiles)
        self._settings = {
            packages.folder(each.path): _Definitions(scalars.written(each))
            for each in items
            if _is_kptfile(each)
        }

    def verdict(self) -> FunctionResult:
        for position, item in enumerate(self._items):
            if _is_kptfile(item):
                self._items[position] = self._kptfile(item)
            elif _label(item.value, _INVENTORY):
                self._say(
                    item.path,
                    "Please refer to https://googlecontainertools.github.io/kpt/reference/live/alpha/,"
                    ' this package is using "inventory-object"',
                )
            else:
                # A configuration may have moved, but not out of its package.
                self._items[position] = self._marked(item)
        return FunctionResult(
            items=(*self._items, *self._added),
            results=tuple(self._results),
            log="".join(f"{line}\n" for line in self._log),
        )

    def _say(self, path: str, message: str) -> None:
        self._results.append({"message": message, "file": {"path": path}})

    # --- Kptfiles --------------------------------------------------------------------------

    def _kptfile(self, item: Item) -> Item:
        version = resource.api_version(item.value)
        if version == _V1:
            self._say(
                item.path, f"This package is already fixed as it is on latest apiVersion {_V1}"
            )
            return item
        if "v1alpha2" in version:
            value = self._of_v1alpha2(item)
        elif "v1alpha1" in version:
            value = self._of_v1alpha1(item)
        else:
            raise FixError(f"{_INVALID}: {item.path} is of {version!r}")
        comments = {path: text for path, text in item.comments.items() if _has(value, path)}
        return replace(item, value=value, comments=comments)

    def _of_v1alpha2(self, item: Item) -> Value:
        self._say(item.path, f"Updated apiVersion to {_V1}")
        value = resource.with_field(scalars.written(item), ("apiVersion",), _V1)
        mutators = resource.items(resource.field(value, "pipeline", "mutators"))
        for position, function in enumerate(mutators):
            setters = resource.mapping(resource.field(function, "configMap"))
            if (
                _APPLY_SETTERS not in resource.text(resource.field(function, "image"))
                or not setters
            ):
                continue
            path = self._add_setters(item, setters)
            self._say(path, "Moved setters from configMap to configPath")
            changed: Value = {
                ("configPath" if key == "configMap" else key): (
                    packages.name(path) if key == "configMap" else each
                )
                for key, each in resource.mapping(function).items()
            }
            value = resource.with_field(value, ("pipeline", "mutators", position), changed)
        return value

    def _of_v1alpha1(self, item: Item) -> Value:
        old = resource.mapping(scalars.written(item))
        for key in old:
            if key not in _KNOWN:
                raise FixError(f"{_INVALID}: {item.path} has a field {key!r}, which is not known")
        info, upstream = self._info(item.path, old), self._upstream(item.path, old)
        new: dict[str, Value] = {
            "apiVersion": _V1,
            "kind": KPTFILE,
            "metadata": old.get("metadata"),
            **upstream,
            **info,
        }
        mutators = self._functions(item)
        if setters := self._settings[packages.folder(item.path)].setters():
            path = self._add_setters(item, setters)
            self._say(item.path, 'Transformed "openAPI" definitions to "apply-setters" function')
            function: Value = {"image": f"{_APPLY_SETTERS}v0.2", "configPath": packages.name(path)}
            mutators.insert(0, function)
        new["pipeline"] = _filled({"mutators": mutators})  # there even where it is empty
        if inventory := old.get("inventory"):
            new["inventory"] = inventory
        for key in _DROPPED:
            if old.get(key):
                self._log.append(f"{item.path}: `{key}` is dropped: {_V1} has no place for it")
        return new

    def _info(self, path: str, old: Mapping[str, Value]) -> dict[str, Value]:
        given = old.get("packageMetadata")
        if given is None:
            return {}
        self._say(path, 'Transformed "packageMetadata" to "info"')
        email = resource.field(given, "email")
        emails: list[Value] = [email] if email else []
        if resource.field(given, "version"):
            self._log.append(
                f"{path}: `packageMetadata.version` is dropped: {_V1} has no place for it"
            )
        return {
            "info": _filled(
                {
                    "site": resource.field(given, "url"),
                    "emails": emails,
                    "license": resource.field(given, "license"),
                    "description": resource.field(given, "shortDescription"),
                    "keywords": resource.field(given, "tags"),
                    "man": resource.field(given, "man"),
                }
            )
        }

    def _upstream(self, path: str, old: Mapping[str, Value]) -> dict[str, Value]:
        given = old.get("upstream")
        if given is None:
            return {}
        self._say(path, 'Transformed "upstream" to "upstream" and "upstreamLock"')
        kind = resource.field(given, "type")
        # A ref such as 1.10 is a text, in quotes or not.
        git = {
            key: _text(resource.field(given, "git", key)) for key in ("repo", "directory", "ref")
        }
        commit = _text(resource.field(given, "git", "commit"))
        return {
            "upstream": _filled(
                {"type": kind, "git": _filled(git), "updateStrategy": "resource-merge"}
            ),
            "upstreamLock": _filled({"type": kind, "git": _filled({**git, "commit": commit})}),
        }

    def _functions(self, kptfile: Item) -> list[Value]:
        """Return the functions that a package declares by annotations; their files move."""
        package = packages.folder(kptfile.path)
        found: list[Value] = []
        for position, item in enumerate(self._items):
            image = _declared(item.value)
            if not image or packages.owner_of(item.path, self._packages) != package:
                continue
            moved = self._moved(item, package)
            self._items[position] = moved
            self._say(
                kptfile.path,
                f"Added {json.dumps(image)} to mutators list, please move it to validators section"
                " if it is a validator function",
            )
            found.append({"image": image, "configPath": packages.name(moved.path)})
        return found

    def _moved(self, item: Item, package: str) -> Item:
        """Return a function's configuration alone in a file at the top of its package."""
        path = self._free(packages.join(package, f"{resource.name(item.value)}.yaml"), item)
        metadata = resource.mapping(resource.field(item.value, "metadata"))
        annotations: dict[str, Value] = {
            key: each
            for key, each in resource.mapping(metadata.get("annotations")).items()
            if key not in _DECLARED
        }
        kept: Value = {
            key: annotations if key == "annotations" else each
            for key, each in metadata.items()
            if key != "configFn" and (key != "annotations" or annotations)
        }
        value = resource.with_field(item.value, ("metadata",), kept)
        comments = {key: text for key, text in item.comments.items() if _has(value, key)}
        return Item(value, comments, path, item.index if path == item.path else 0)

    def _add_setters(self, kptfile: Item, setters: Mapping[str, Value]) -> str:
        """Add the file of a package's setters, and return its path."""
        path = self._free(packages.join(packages.folder(kptfile.path), _SETTERS))
        self._added.append(setters_file(setters, path))
        return path

    def _free(self, path: str, mover: Item | None = None) -> str:
        """Return a path at which nothing else lies: a configuration is alone in its file."""
        taken = {each.path for each in (*self._items, *self._added) if each is not mover}
        stem, number, found = path.removesuffix(".yaml"), 1, path
        while found in taken:
            number += 1
            found = f"{stem}-{number}.yaml"
        return found

    # --- other resources -------------------------------------------------------------------

    def _marked(self, item: Item) -> Item:
        """Return a resource with its setters marked in today's form."""
        owner = packages.owner_of(item.path, self._packages)
        if owner is None or not item.comments:
            return item
        definitions = self._settings.get(owner) or _Definitions(None)
        comments = {
            path: definitions.marker(text, _at(item.value, path))
            for path, text in item.comments.items()
        }
        return item if comments == dict(item.comments) else replace(item, comments=comments)


def setters_file(setters: Mapping[str, Value], path: str) -> Item:
    """Return the configuration of apply-setters.

    Args:
        setters: Values by name; lists as "[a, b]".
        path: Where it is to lie.

    Raises:
        FixError: A list cannot be read.
    """
    data: Value = {key: _standard(_text(setters[key])) for key in sorted(setters, key=key_order)}
    value: Value = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "setters"},
        "data": data,
    }
    return Item(value, path=path, index=0)


def _text(value: Value) -> str:
    """Return what a field says that is to hold text; numbers have the digits of their file."""
    return json.dumps(value) if isinstance(value, dict | list) else field_paths.text(value)


def _standard(text: str) -> str:
    """Return a list in flow style as one in block style, and any other text as it is."""
    if not text.startswith("["):
        return text
    try:
        document = read(text.encode()).documents[0]
    except PackageError as error:
        reason = error.problem.rpartition(", ")[2]
        # Read to the end, it is there that something is missing.
        told = f"yaml: line {error.place.line or text.count(chr(10)) + 1}: {reason}"
        raise FixError(
            f"failed to parse the array node value {json.dumps(text)} with error {json.dumps(told)}"
        ) from error
    root = document.root
    if not isinstance(root, Seq):
        return text
    whole = document.source.text
    return "".join(
        f"- {whole[item.start : item.end]}\n" if isinstance(item, Scalar) else emit([value])
        for item, value in zip(root.items, resource.items(document.value), strict=True)
    )


class _Definitions:
    """The setters and substitutions that a Kptfile of v1alpha1 defines."""

    def __init__(self, kptfile: Value) -> None:
        self._all = resource.mapping(resource.field(kptfile, "openAPI", "definitions"))

    def setters(self) -> dict[str, Value]:
        """Return the values of the setters by name."""
        found: dict[str, Value] = {}
        for key, definition in self._all.items():
            if not key.startswith(f"{_DEFINITIONS}setters."):
                continue
            setter = resource.field(definition, "x-k8s-cli", "setter")
            if setter is None:
                raise FixError(f"missing x-k8s-cli.setter for {key}")
            values = resource.items(resource.field(setter, "listValues"))
            listed = f"[{', '.join(map(_text, values))}]"
            name = resource.text(resource.field(setter, "name"))
            found[name] = listed if values else resource.field(setter, "value")
        return found

    def marker(self, comment: str, value: Value) -> str:
        """Return a comment in today's form, or as it is where it marks nothing.

        Args:
            comment: With its "#".
            value: What it stands beside.
        """
        name = _marks(comment)
        if name is None:
            return comment
        if isinstance(value, list):  # which only a setter sets, whether it is defined or not
            return f"# kpt-set: ${{{name.rpartition('.')[2]}}}"
        definition = self._named(name)
        pattern = None if definition is None else self._pattern(definition, ())
        return comment if pattern is None else f"# kpt-set: {pattern}"

    def _named(self, name: str) -> Value:
        """Return a definition by its name, with or without what kind it is of."""
        for key in (name, *(f"{kind}.{name}" for kind in _KINDS)):
            if found := self._all.get(f"{_DEFINITIONS}{key}"):
                return found
        return None

    def _pattern(self, definition: Value, above: tuple[str, ...]) -> str | None:
        """Return what a setter or a substitution is in today's form, None where it is neither."""
        extension = resource.field(definition, "x-k8s-cli")
        if (setter := resource.field(extension, "setter")) is not None:
            chosen = resource.text(resource.field(setter, "value"))
            values = resource.mapping(resource.field(setter, "enumValues"))
            if above and chosen in values:
                return _text(values[chosen])
            return f"${{{_text(resource.field(setter, 'name'))}}}"
        substitution = resource.field(extension, "substitution")
        if substitution is None:
            return None
        name = _text(resource.field(substitution, "name"))
        if name in above:
            raise FixError(f"cyclic substitution detected with name {name}")
        pattern = _text(resource.field(substitution, "pattern"))
        for each in resource.items(resource.field(substitution, "values")):
            marker = _text(resource.field(each, "marker"))
            inner = self._pattern(self._referred(each, name), (*above, name))
            pattern = pattern.replace(marker, inner or "") if marker else pattern
        return pattern

    def _referred(self, value: Value, name: str) -> Value:
        reference = resource.text(resource.field(value, "ref"))
        if not reference:
            raise FixError(f"missing reference on substitution {name}")
        found = self._all.get(reference.removeprefix("#/definitions/"))
        if found is None:
            raise FixError(f"substitution {name} refers to {reference}, which is not defined")
        return found


def _marks(comment: str) -> str | None:
    """Return the setter or substitution that a comment of before 1.0 names, or None."""
    try:
        told = json.loads(comment.lstrip("#"))
    except ValueError:
        return None
    if not isinstance(told, dict):
        return None
    name, reference = told.get("$kpt-set"), told.get("$ref")
    if isinstance(name, str) and name:
        return name
    prefix = f"#/definitions/{_DEFINITIONS}"
    if isinstance(reference, str) and reference.startswith(prefix):
        return reference.removeprefix(prefix)
    return None


def _declared(value: Value) -> str:
    """Return the image of the function whose configuration a resource says it is, or ""."""
    for key in _FUNCTION:
        text = resource.annotation(value, key)
        if text:
            try:
                documents = read(text.encode()).documents
            except PackageError:
                continue
            spec = documents[0].value if documents else None
            return resource.text(resource.field(spec, "container", "image"))
    spec = resource.field(value, "metadata", "configFn")
    if spec is not None:
        return resource.text(resource.field(spec, "container", "image"))
    return resource.annotation(value, _CONTAINER)


def _label(value: Value, key: str) -> str:
    return resource.text(resource.field(value, "metadata", "labels", key))


def _filled(value: Mapping[str, Value]) -> dict[str, Value]:
    return {key: each for key, each in value.items() if each not in (None, "", [], {})}


def _has(value: Value, path: FieldPath) -> bool:
    """Tell whether a value has a field, null or not."""
    if not path:
        return True
    above, key = _at(value, path[:-1]), path[-1]
    if isinstance(above, list):
        return isinstance(key, int) and key < len(above)
    return isinstance(above, dict) and key in above


def _at(value: Value, path: FieldPath) -> Value:
    for key in path:
        if isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        elif isinstance(value, dict) and isinstance(key, str):
            value = value.get(key)
        else:
            return None
    return value
