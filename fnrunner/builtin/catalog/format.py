"""The catalog's `format`: fields in the usual order, and values in the types of their fields.

Rules:
    - Known fields come first, in one order for all kinds; the others follow by their letters. Two
      lists whose order means nothing are sorted (`cadlib.format`).
    - A value that YAML 1.1 takes for something other than text is text where the schema of its kind
      wants text; in quotes, it is what it says where the schema wants a number or a truth.
    - The annotation `config.kubernetes.io/formatting: none` leaves a resource as it is.

Source: reference/kpt.md, section 6; kyaml's FormatFilter with `UseSchema`.
"""

import json
from dataclasses import replace
from functools import cache
from typing import Final

from cadlib.errors import PackageError
from cadlib.format import Ordered, formatted
from cadlib.format_types import Definitions, typed
from cadlib.resourcelist import Item, ResourceList
from cadlib.yaml import Stream, emit, read, same
from fnrunner.builtin import schema, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.verdict import Verdict
from fnrunner.results import Result

ABOUT: Final = About(
    tags=("v0.1", "v0.1.0", "v0.1.1", "~0.1"),
    summary="Puts fields into the usual order, and values into the types of their fields.",
    doc="""\
It takes no configuration. `apiVersion`, `kind` and `metadata` come first, then `spec` and the rest
in the order that kpt has; containers are sorted by name. A value such as `on` or `1` is put
in quotes where the field holds text, and taken out of them where it holds a number or a truth.
The annotation `config.kubernetes.io/formatting: none` leaves a resource as it is.

Files get the order only where this is the last function that changes the resource.
""",
)


def run(resources: ResourceList) -> Verdict:
    """Format every resource."""
    items, problems = [], []
    for item in resources.items:
        try:
            items.append(_formatted(item))
        except PackageError as error:
            problems.append(_problem(item, error))
    if problems:
        return verdict.refused(resources.items, *problems)
    return Verdict(items=tuple(items), results=())


def _problem(item: Item, error: PackageError) -> Result:
    message = f"failed to format resources: {error.problem}"
    return verdict.at(item, message, "error", "")


def _formatted(item: Item) -> Item:
    if not isinstance(item.value, dict):
        return item
    stream = read(emit(item.value, comments=item.comments).encode())
    document = read(formatted(_typed(stream))).documents[0]
    value, comments = document.value, dict(document.comments)
    in_order = json.dumps(value) == json.dumps(item.value)
    if (in_order and same(value, item.value)) or not isinstance(value, dict):
        return item
    return replace(item, value=Ordered(value), comments=comments)


def _typed(stream: Stream) -> Stream:
    data = typed(stream, _definitions())
    return stream if data is stream.data else read(data)


@cache
def _definitions() -> Definitions:
    return Definitions(schema.load(schema.versions()[-1], strict=False).definitions)
