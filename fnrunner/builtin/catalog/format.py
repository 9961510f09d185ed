"""The catalog's `format`: fields in the usual order, and values in the types of their fields.

Rules:
    - Known fields come first, in one order for all kinds; the others follow by their letters. Two
      lists whose order means nothing are sorted (`cadlib.stream.format`).
    - A value that YAML 1.1 takes for something other than text is text where the schema of its kind
      wants text, with the digits it has; in quotes, it is what it says where the schema wants
      a number or a truth.
    - Such a text gets quotes where it has none, though it is the same text for porchbot.
    - The annotation `config.kubernetes.io/formatting: none` leaves a resource as it is.

Source: the catalog's functions/go/format; kyaml's FormatFilter with `UseSchema`.
"""

import json
from collections.abc import Iterable, Set
from dataclasses import replace
from functools import cache
from typing import Final

from cadlib.errors import PackageError
from cadlib.stream.format import Ordered, formatted
from cadlib.stream.format_types import Definitions, quoted, typed
from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Document, FieldPath, Stream, Value, digits, emit, read, same
from cadlib.yaml.scalars import Quoted
from fnrunner.builtin import scalars, schema, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.verdict import FunctionResult
from fnrunner.contract.results import Result

ABOUT: Final = About(
    tags=("v0.1", "v0.1.0", "v0.1.1", "~0.1"),
    summary="Sorts fields into the usual order, and corrects the types of values.",
    doc="""\
It takes no configuration. `apiVersion`, `kind` and `metadata` come first, then `spec` and the rest
in kpt's order; containers are sorted by name. A value such as `on` or `1` gets quotes if its
field is a string, and loses them if its field is a number or a boolean. A resource with the
annotation `config.kubernetes.io/formatting: none` stays as it is.

The order reaches the files only if this is the last function that changes the resource.
""",
)


def run(resources: ResourceList) -> FunctionResult:
    """Format every resource."""
    items, problems = [], []
    for item in resources.items:
        try:
            items.append(_formatted(item))
        except PackageError as error:
            problems.append(_problem(item, error))
    if problems:
        log = "\n".join(str(each["message"]) for each in problems)
        return replace(verdict.refused(resources.items, *problems), log=log)
    return FunctionResult(items=tuple(items), results=())


def _problem(item: Item, error: PackageError) -> Result:
    message = f"failed to format resources: {error.problem}"
    return verdict.at(item, message, "error", "")


def _formatted(item: Item) -> Item:
    if not isinstance(item.value, dict):
        return item
    # As text, so that 0644 is "0644" where text is wanted.
    stream = _typed(read(emit(scalars.written(item), comments=item.comments).encode()))
    bare = _has_bare(item, quoted(stream.documents[0], _definitions()))
    document = read(formatted(stream)).documents[0]
    value, comments = document.value, dict(document.comments)
    in_order = json.dumps(value) == json.dumps(item.value)
    if (in_order and not bare and same(value, item.value)) or not isinstance(value, dict):
        return item
    return replace(item, value=Ordered(_in_quotes(document)), comments=comments)


def _typed(stream: Stream) -> Stream:
    data = typed(stream, _definitions())
    return stream if data is stream.data else read(data)


def _has_bare(item: Item, fields: Iterable[FieldPath]) -> bool:
    """Tell whether one of some fields is a text that stands without quotes in the file."""
    nodes = (item.document.scalar(path) for path in fields) if item.document else ()
    return any(node.style == "" and isinstance(node.value, str) for node in nodes if node)


def _in_quotes(document: Document) -> dict[str, Value]:
    """Return the value of a document, its texts that must stand in quotes marked."""
    fields = frozenset(quoted(document, _definitions()))
    value = _marked(digits.written(document.value, document), fields, ())
    assert isinstance(value, dict)  # noqa: S101 - `_formatted` has looked
    return value


def _marked(value: Value, fields: Set[FieldPath], path: FieldPath) -> Value:
    if isinstance(value, dict):
        return {key: _marked(each, fields, (*path, key)) for key, each in value.items()}
    if isinstance(value, list):
        return [_marked(each, fields, (*path, i)) for i, each in enumerate(value)]
    return Quoted(value) if isinstance(value, str) and path in fields else value


@cache
def _definitions() -> Definitions:
    return Definitions(schema.load(schema.versions()[-1], strict=False).definitions)
