"""The catalog's `apply-replacements`: copies a field of one resource into fields of others.

Longer than 400 lines: a function of the catalog is one module; a quarter reads its configuration.

Rules:
    - Exactly one resource may be the source. Its group, version, kind, name and namespace are
      compared as they are ("default" where it names no namespace, whatever its kind); those
      of targets are regular expressions that must fit whole.
    - A `reject` with labels or annotations rejects by them alone, as one with a name does.
    - Every path of a target must lead somewhere in each resource selected; with `create` what
      is missing is made.
    - A field that is there keeps its type: a number stays a number where the text of the
      source is one, and text stays text. A new field has the type of the source. Digits are
      those of the file: 1.10 is put as "1.10", 0644 as "0644".
    - Replacements see what those before them did. All that they put must stay within a limit:
      thirty of them that each double a field would fill any memory.

Source: the catalog's functions/go/apply-replacements; kustomize, api/filters/replacement.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NoReturn

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value, same
from fnrunner.builtin import field_paths, label_selector, regex, resource, scalars, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.field_paths import PathError
from fnrunner.builtin.label_selector import LabelSelectorError
from fnrunner.builtin.regex import PatternError
from fnrunner.builtin.verdict import FunctionResult

ABOUT: Final = About(
    tags=("v0.1", "v0.1.0", "v0.1.1", "v0.1.2", "v0.1.3", "v0.1.4", "v0.1.5", "~0.1"),
    summary="Copies a field of one resource into fields of others.",
    doc="""\
`ApplyReplacements` (`fn.kpt.dev/v1alpha1`) with `replacements` as in kustomize. Each has

- `source`: `group`, `version`, `kind`, `name`, `namespace` of exactly one resource, its
  `fieldPath` (default: `metadata.name`), and `options`; or `sourceValue`, a fixed text.
- `targets`: each with `select` (the same fields, as regular expressions, `labelSelector` and
  `annotationSelector`), `reject` (a list of the same), `fieldPaths` and `options`.

In a path, `[name=web]` selects elements of a list, `0` the first element, and `*` (in targets only)
all elements; `\\.` is a dot within a key, and so is a dot in `[a.b/c]`. In targets the part after
`=` is a regular expression, which may match any part of the value. A path can continue inside a
string that holds JSON or YAML.

`options` has `delimiter` and `index` (which part of the string; -1 in a target inserts the value
before the first part), and `create`. Like kustomize, this function ignores `encoding`.

A field keeps its type: `"8080"` replacing 80 becomes the number 8080. A mapping can replace a
scalar; the catalog's function leaves an empty string there.
""",
    example="""\
apiVersion: fn.kpt.dev/v1alpha1
kind: ApplyReplacements
metadata:
  name: replacements
replacements:
- source:
    kind: Service
    fieldPath: metadata.name
  targets:
  - select:
      kind: Deployment
    fieldPaths:
    - metadata.annotations.service
    options:
      create: true
""",
)

_API_VERSION: Final = "fn.kpt.dev/v1alpha1"
_KIND: Final = "ApplyReplacements"
_NAME: Final = "metadata.name"
_MOST: Final = 50_000_000  # characters put into fields, which is more than a package may have


class _RefusedError(Exception):
    """The replacements cannot be read or made; the text says why."""


@dataclass(frozen=True, slots=True)
class _Options:
    delimiter: str = ""
    index: int = 0
    create: bool = False

    def __str__(self) -> str:
        if not self.delimiter and not self.create:
            return ""
        return f"{self.delimiter}({self.index}), create={str(self.create).lower()}"


@dataclass(frozen=True, slots=True)
class _Selector:
    """Which resources are meant; what is empty does not matter."""

    group: str = ""
    version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    labels: str = ""
    annotations: str = ""

    @property
    def names(self) -> bool:
        """Whether it says anything but labels and annotations."""
        return any((self.group, self.version, self.kind, self.name, self.namespace))

    def is_source(self, value: Value) -> bool:
        return (
            self.group in ("", resource.group(value))
            and self.version in ("", resource.version(value))
            and self.kind in ("", resource.kind(value))
            and self.name in ("", resource.name(value))
            and self.namespace in ("", resource.namespace(value) or resource.DEFAULT_NAMESPACE)
        )

    def is_target(self, value: Value) -> bool:
        return (
            regex.fits(self.group, resource.group(value))
            and regex.fits(self.version, resource.version(value))
            and regex.fits(self.kind, resource.kind(value))
            and regex.fits(self.name, resource.name(value))
            and regex.fits(self.namespace, resource.namespace(value))
        )

    def has_marks(self, value: Value) -> bool:
        """Tell whether labels and annotations are as it says."""
        return all(
            label_selector.selects(selector, _texts(resource.field(value, "metadata", key)))
            for key, selector in (("annotations", self.annotations), ("labels", self.labels))
        )

    def __str__(self) -> str:
        kind = f"{self.kind or '[noKind]'}.{self.version or '[noVer]'}.{self.group or '[noGrp]'}"
        return f"{kind}/{self.name or '[noName]'}.{self.namespace or '[noNs]'}"


@dataclass(frozen=True, slots=True)
class _Source:
    selector: _Selector
    path: str
    options: _Options

    def __str__(self) -> str:
        return ":".join(filter(None, (str(self.selector), self.path, str(self.options))))


@dataclass(frozen=True, slots=True)
class _Target:
    select: _Selector
    reject: tuple[_Selector, ...]
    paths: tuple[str, ...]
    options: _Options

    def selects(self, value: Value) -> bool:
        return (
            self.select.has_marks(value)
            and not any(self._rejects(each, value) for each in self.reject)
            and self.select.is_target(value)
        )

    @staticmethod
    def _rejects(selector: _Selector, value: Value) -> bool:
        marked = bool(selector.labels or selector.annotations) and selector.has_marks(value)
        return marked or (selector.names and selector.is_target(value))


@dataclass(frozen=True, slots=True)
class _Replacement:
    source: _Source | None
    value: Value  # what to put, where there is no source
    targets: tuple[_Target, ...]


def run(resources: ResourceList) -> FunctionResult:
    """Make the replacements that the configuration lists."""
    items, left = resources.items, _MOST
    try:
        for replacement in _read(resources.config):
            items, left = _replaced(items, replacement, left)
    except (_RefusedError, PatternError, LabelSelectorError) as error:
        return verdict.refused(resources.items, verdict.result(str(error), "error"))
    return FunctionResult(items=items, results=())


# --- replacing ------------------------------------------------------------------------------


def _replaced(
    items: tuple[Item, ...], replacement: _Replacement, left: int
) -> tuple[tuple[Item, ...], int]:
    """Return the items after a replacement, and how many characters may still be put."""
    new = replacement.value
    if replacement.source:
        new = _found(items, replacement.source)
    size = _size(new, left)
    for target in replacement.targets:
        changed = []
        for item in items:
            new_item, places = item, 0
            if target.selects(item.value):
                new_item, places = _changed(item, target, new)
            changed.append(new_item)
            left -= size * places
            if left < 0:
                raise _RefusedError(f"the replacements put more than {_MOST} characters")
        items = tuple(changed)
    return items, left


def _size(value: Value, most: int) -> int:
    """Return about how many characters a value has; not much more than `most`."""
    size, rest = 0, [value]
    while rest and size <= most:
        each = rest.pop()
        size += len(each) + 1 if isinstance(each, str) else 1
        if isinstance(each, dict):
            size += sum(map(len, each))
            rest += each.values()
        elif isinstance(each, list):
            rest += each
    return size


def _found(items: Sequence[Item], source: _Source) -> Value:
    matches = [item for item in items if source.selector.is_source(item.value)]
    if not matches:
        raise _RefusedError(f"nothing selected by {source}")
    if len(matches) > 1:
        raise _RefusedError(f"multiple matches for selector {source}")
    path = source.path or _NAME
    try:
        found = field_paths.get(scalars.written(matches[0]), field_paths.split(path))
    except PathError as error:
        raise _RefusedError(f"error looking up replacement source: {error}") from error
    if found in (None, {}, []):
        raise _RefusedError(
            f"fieldPath `{path}` is missing for replacement source {source.selector}"
        )
    return _part(found, source.options)


def _part(value: Value, options: _Options) -> Value:
    """Return the part of a source's value that its options name."""
    if not options.delimiter:
        return value
    whole = _scalar_text(value)
    parts = whole.split(options.delimiter)
    if not 0 <= options.index < len(parts):
        raise _RefusedError(f"options.index {options.index} is out of bounds for value {whole}")
    part = parts[options.index]
    return part if isinstance(value, str) else scalars.resolved(part)


def _changed(item: Item, target: _Target, new: Value) -> tuple[Item, int]:
    """Return the item with the value put, and in how many places it was put."""
    value, total = scalars.written(item), 0
    for path in target.paths or (_NAME,):
        value, count = _put(value, path, new, target.options)
        total += count
    return (item if same(value, item.value) else replace(item, value=value)), total


def _put(value: Value, path: str, new: Value, options: _Options) -> tuple[Value, int]:
    problem = (
        f"unable to find{' or create' if options.create else ''} field {_quoted(path)}"
        " in replacement target"
    )
    try:
        changed, count = field_paths.put(
            value,
            field_paths.split(path),
            lambda old: _merged(old, new, options),
            create=options.create,
        )
    except PathError as error:
        raise _RefusedError(f"{problem}: {error}") from error
    if not count:
        raise _RefusedError(problem)
    return changed, count


def _merged(old: Value, new: Value, options: _Options) -> Value:
    if not options.delimiter:
        return _typed(old, new)
    parts, part = _scalar_text(old).split(options.delimiter), _scalar_text(new)
    if options.index < 0:
        parts.insert(0, part)
    elif options.index >= len(parts):
        parts.append(part)
    else:
        parts[options.index] = part
    joined = options.delimiter.join(parts)
    return _typed(old, joined if isinstance(new, str) else scalars.resolved(joined))


def _typed(old: Value, new: Value) -> Value:
    """Return a value as the type of the one whose place it takes, where it can be one."""
    if isinstance(old, dict | list | None) or isinstance(new, dict | list):
        return new
    if isinstance(old, str):
        return field_paths.text(new)
    meant = scalars.resolved(new) if isinstance(new, str) else new
    alike = isinstance(meant, bool) == isinstance(old, bool) and not isinstance(meant, str | None)
    return meant if alike else new


def _scalar_text(value: Value) -> str:
    if isinstance(value, dict | list):
        raise _RefusedError("delimiter option can only be used with scalar nodes")
    return field_paths.text(value)


def _texts(value: Value) -> dict[str, str]:
    return {key: field_paths.text(each) for key, each in resource.mapping(value).items()}


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# --- reading the configuration --------------------------------------------------------------


def _read(config: Value) -> Iterator[_Replacement]:
    if not config:
        raise _RefusedError("FunctionConfig is missing. Expect `ApplyReplacements`")
    kind, api_version = resource.kind(config), resource.api_version(config)
    if (kind, api_version) != (_KIND, _API_VERSION):
        raise _RefusedError(
            f"received functionConfig of kind {kind} and apiVersion {api_version}, only"
            f" functionConfig of kind {_KIND} and apiVersion {_API_VERSION} is supported"
        )
    # All are read before the first is made, so that a mistake anywhere is told.
    listed = _list(resource.field(config, "replacements"), "replacements")
    return iter([_replacement(each, f"replacements[{i}]") for i, each in enumerate(listed)])


def _replacement(value: Value, at: str) -> _Replacement:
    given = _mapping(value, at)
    source, literal, targets = (given.get(key) for key in ("source", "sourceValue", "targets"))
    if (source is None and literal is None) or targets is None:
        raise _RefusedError("replacements must specify a source and at least one target")
    if source is not None and literal is not None:
        raise _RefusedError("value and resource selectors are mutually exclusive")
    if isinstance(literal, dict | list):
        _complain(f"{at}.sourceValue", "a text")
    listed = _list(targets, f"{at}.targets")
    return _Replacement(
        source=None if source is None else _source(source, f"{at}.source"),
        value=literal,
        targets=tuple(_target(each, f"{at}.targets[{i}]") for i, each in enumerate(listed)),
    )


def _source(value: Value, at: str) -> _Source:
    given = _mapping(value, at)
    return _Source(
        selector=_selector(given, at),
        path=_text(given, "fieldPath", at),
        options=_options(given.get("options"), f"{at}.options"),
    )


def _target(value: Value, at: str) -> _Target:
    given = _mapping(value, at)
    if given.get("select") is None:
        raise _RefusedError("target must specify resources to select")
    rejects = _list(given.get("reject"), f"{at}.reject")
    paths = _list(given.get("fieldPaths"), f"{at}.fieldPaths")
    return _Target(
        select=_selector(given["select"], f"{at}.select"),
        reject=tuple(_selector(each, f"{at}.reject[{i}]") for i, each in enumerate(rejects)),
        paths=tuple(_path(each, f"{at}.fieldPaths[{i}]") for i, each in enumerate(paths)),
        options=_options(given.get("options"), f"{at}.options"),
    )


def _selector(value: Value, at: str) -> _Selector:
    given = _mapping(value, at)
    return _Selector(
        group=_text(given, "group", at),
        version=_text(given, "version", at),
        kind=_text(given, "kind", at),
        name=_text(given, "name", at),
        namespace=_text(given, "namespace", at),
        labels=_text(given, "labelSelector", at),
        annotations=_text(given, "annotationSelector", at),
    )


def _options(value: Value, at: str) -> _Options:
    given = _mapping({} if value is None else value, at)
    index, create = given.get("index", 0), given.get("create", False)
    if isinstance(index, bool) or not isinstance(index, int | None):
        _complain(f"{at}.index", "a whole number")
    if not isinstance(create, bool | None):
        _complain(f"{at}.create", "true or false")
    return _Options(_text(given, "delimiter", at), index or 0, bool(create))


def _path(value: Value, at: str) -> str:
    if not isinstance(value, str):
        _complain(at, "a text")
    return value


def _text(given: dict[str, Value], key: str, at: str) -> str:
    value = given.get(key)
    if not isinstance(value, str | None):
        _complain(f"{at}.{key}", "a text; put it in quotes")
    return value or ""


def _mapping(value: Value, at: str) -> dict[str, Value]:
    if not isinstance(value, dict):
        _complain(at, "a mapping")
    return value


def _list(value: Value, at: str) -> list[Value]:
    if not isinstance(value, list | None):
        _complain(at, "a list")
    return value or []


def _complain(at: str, wanted: str) -> NoReturn:
    raise _RefusedError(f"unable to convert functionConfig to replacements:\n{at} must be {wanted}")
