"""The catalog's `list-setters`: tells which setters a package has, and what they are now.

Rules:
- First come the values that the root Kptfile's pipeline gives to apply-setters, of several calls
  the last; then those that fields with setters in their comments show.
- The value that was found first is told, the type of a field rather than that of a Kptfile's
  text, and how many fields name the setter.

Source: the catalog's functions/go/list-setters.
"""

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from cadlib.kptfile import reader as kptfiles
from cadlib.kptfile.reader import Kptfile, KptfileError, PipelineFunction
from cadlib.package.files import KPTFILE
from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import FieldPath, Value, emit, same
from cadlib.yaml.tree import Seq
from fnrunner.builtin import resource, scalars, setters, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.verdict import FunctionResult

ABOUT: Final = About(
    tags=("v0.1", "v0.1.0", "v0.1.1", "v0.1.2", "v0.1.3"),
    summary="Lists the setters of a package and their values.",
    doc="""\
It needs no configuration. Each setter is a result: its name, its value (from the Kptfile's
pipeline, or from the fields), its type (`str`, `int`, `bool`, `float` or `array`), and the number
of fields that use it.
""",
    written=True,
)

# What go-yaml reads as a point in time, where it stands without quotes.
_TIMESTAMP: Final = re.compile(
    r"""[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}
    (?:
        [Tt][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})
        | [ ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?
    )?""",
    re.VERBOSE,
)
_FAILED: Final = "failed to list setters: "
_TEXT: Final = "str"


@dataclass(slots=True)
class Setter:
    """A setter of a package.

    Attributes:
        name: Its name.
        value: Its value, as text.
        type: "str", "int", "float", "bool", "timestamp", "null" or "array".
        count: How many fields name it.
    """

    name: str
    value: str
    type: str
    count: int = 0

    def __str__(self) -> str:
        return f"Name: {self.name}, Value: {self.value}, Type: {self.type}, Count: {self.count}"


@dataclass(slots=True)
class FoundSetter:
    """What was found in a package.

    Attributes:
        lists: Setters of lists, by name.
        texts: Those of scalars, by name.
        warning: Why the Kptfile gave none; "" where it did.
        broken: The Kptfile's pipeline itself is at fault.
    """

    lists: dict[str, Setter] = field(default_factory=dict)
    texts: dict[str, Setter] = field(default_factory=dict)
    warning: str = ""
    broken: bool = False

    def setters(self) -> list[Setter]:
        """Return all, by name; a list before a scalar of its name."""
        return sorted((*self.lists.values(), *self.texts.values()), key=lambda each: each.name)


class _UndiscoveredError(Exception):
    """The Kptfile gives no setters; the text says why."""

    def __init__(self, problem: str, *, broken: bool = False) -> None:
        super().__init__(problem)
        self.broken = broken


def run(resources: ResourceList) -> FunctionResult:
    """List the setters; nothing is changed."""
    try:
        found = discovered(resources.items)
    except KptfileError as error:
        message = f"{_FAILED}unable to read Kptfile: {error.problem}"
        item = next(each for each in resources.items if each.path == KPTFILE)
        problem = verdict.at(item, message, "error", error.place.field)
        return verdict.logged(verdict.refused(resources.items, problem), _FAILED)
    results = [{"message": str(each)} for each in found.setters()]
    if not results:
        results = [{"message": "no setters found", "severity": "warning"}]
    if found.broken:
        results.append({"message": found.warning, "severity": "warning"})
    return FunctionResult(items=resources.items, results=tuple(results))


def discovered(items: Sequence[Item]) -> FoundSetter:
    """Find the setters of a package.

    Args:
        items: Its resources, Kptfiles among them.

    Raises:
        KptfileError: The root Kptfile is none.
    """
    found = FoundSetter()
    try:
        for name, text in _given(items).items():
            elements = _elements(text)
            if elements is None:
                found.texts[name] = Setter(name, text, _TEXT)
            else:
                found.lists[name] = Setter(name, f"[{', '.join(elements)}]", "array")
    except _UndiscoveredError as error:
        found.warning, found.broken = str(error), error.broken
    for item in items:
        _look(item, found)
    return found


def _look(item: Item, found: FoundSetter) -> None:
    """Count what the comments of a resource name."""
    patterns = {path: setters.pattern(comment) for path, comment in item.comments.items()}
    if not any(patterns.values()):
        return
    for path, value in scalars.fields(item.value):
        pattern = patterns.get(path)
        if not pattern:
            continue
        if isinstance(value, list):
            texts = sorted(scalars.text(item, (*path, i), each) for i, each in enumerate(value))
            name = pattern.removeprefix("${").removesuffix("}")
            new = Setter(name, f"[{', '.join(texts)}]", "array")
            found.lists.setdefault(name, new).count += 1
            continue
        kind = _type(item, path, value)
        for name, text in setters.derived(pattern, scalars.text(item, path, value)).items():
            setter = found.texts.setdefault(name, Setter(name, text, kind))
            setter.count += 1
            if setter.type == _TEXT:
                setter.type = kind


def _type(item: Item, path: FieldPath, value: Value) -> str:
    """Return the type of a scalar as go-yaml calls it."""
    match value:
        case bool():
            return "bool"
        case int():
            return "int" if -(2**63) <= value < 2**64 else "float"
        case float():
            return "float"
        case str():
            node = item.document.scalar(path) if item.document is not None else None
            plain = node is not None and not node.style and node.raw == value
            return "timestamp" if plain and _TIMESTAMP.fullmatch(value) else _TEXT
        case _:
            return "null"


def _given(items: Sequence[Item]) -> dict[str, str]:
    """Return the values that the root Kptfile gives to apply-setters, by name."""
    at = {each.path: each for each in reversed(items)}
    if KPTFILE not in at:
        raise _UndiscoveredError(
            "unable to find Kptfile, please include --include-meta-resources flag if a Kptfile is"
            " present"
        )
    kptfile = _kptfile(at[KPTFILE])
    if resource.field(at[KPTFILE].value, "pipeline") is None:
        raise _UndiscoveredError("unable to find Pipeline declaration in Kptfile")
    given: dict[str, str] = {}
    for function in kptfile.mutators:
        if "apply-setters" in function.image:
            given |= _configured(function, at)
    if not given:
        raise _UndiscoveredError("unable to find apply-setters fn in Kptfile Pipeline.Mutators")
    return given


def _kptfile(item: Item) -> Kptfile:
    document = item.document
    if document is not None and same(document.value, item.value):
        return kptfiles.read(document.source.text.encode())
    return kptfiles.read(emit(item.value).encode())


def _configured(function: PipelineFunction, at: Mapping[str, Item]) -> Mapping[str, str]:
    if function.config_map is not None:
        return function.config_map
    if not function.config_path:
        problem = "unable to find ConfigMap or ConfigPath fnConfig for apply-setters"
        raise _UndiscoveredError(problem, broken=True)
    path = function.config_path
    file = at.get(posixpath.normpath(path))
    if file is None:
        raise _UndiscoveredError(
            f'file {path} doesn\'t exist, please ensure the file specified in "configPath" exists'
            " and retry",
            broken=True,
        )
    found = scalars.of_config(resource.field(scalars.written(file), "data"))
    if found is None:
        problem = f"`data` of {path} is not a mapping from the names of setters to texts"
        raise _UndiscoveredError(problem, broken=True)
    return found


def _elements(text: str) -> list[str] | None:
    """Return the elements of a list in YAML as they are written; None for any other text."""
    document = setters.parsed(text)
    if document is None or not isinstance(document.root, Seq):
        return None
    whole = document.source.text
    return [whole[node.start : node.end].replace("\n", "") for node in document.root.items]
