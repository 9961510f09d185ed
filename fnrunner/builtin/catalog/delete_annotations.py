"""The catalog's `delete-annotations`: takes annotations off every resource.

Rules:
    - Resources without apiVersion, kind or name are left alone.
    - Local configuration loses them too.
    - `annotations` goes where nothing is left in it.
    - One result with the number of resources, and one for each annotation that went.

Source: the catalog's contrib/functions/go/delete-annotations, whose
messages these are.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import FieldPath, Value
from fnrunner.builtin import alone, resource, verdict
from fnrunner.builtin.about import About
from fnrunner.builtin.alone import ConfigRefusedError, PerResourceFunction
from fnrunner.builtin.verdict import FunctionResult
from fnrunner.contract.results import Result

_KEY: Final = "annotationKeys"
ABOUT: Final = About(
    tags=("v0.1", "v0.1.0", "~0.1"),
    summary="Deletes annotations from every resource.",
    doc="""\
Data of a ConfigMap: `annotationKeys`, the annotations to delete, separated by commas.

Results: the number of resources that changed, and each annotation that was deleted.
""",
    example="""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: function-input
data:
  annotationKeys: policy.library/doc-gen,owner
""",
    alone=True,
)


def run(resources: ResourceList) -> FunctionResult:
    """Delete the annotations that the configuration names."""
    return alone.run(begin, resources)


def begin(config: Value) -> PerResourceFunction[tuple[Result, ...]]:
    """Read the configuration."""
    given = resource.text(resource.field(config, "data", _KEY))
    # Blanks around a key are no part of it: no annotation's name has any.
    keys = [key for each in given.split(",") if (key := each.strip())]
    if not keys:
        # The catalog's words.
        problem = f"{_KEY} was not provided as part of the config or paramters to the function"
        log = f"failed to evaluate function: {problem}"
        raise ConfigRefusedError(verdict.result(problem, "error"), log=log)
    return _DeleteAnnotations(keys)


class _DeleteAnnotations:
    """The annotations to delete."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = tuple(dict.fromkeys(keys))

    def each(self, item: Item) -> tuple[Item, tuple[Result, ...]]:
        annotations = resource.field(item.value, "metadata", "annotations")
        if not isinstance(annotations, dict) or not _is_named(item.value):
            return item, ()
        gone = [key for key in self._keys if key in annotations]
        if not gone:
            return item, ()
        return _without(item, annotations, gone), tuple(_removed(item, key) for key in gone)

    def total(self, notes: Sequence[tuple[Result, ...]]) -> tuple[tuple[Result, ...], bool]:
        count = sum(bool(note) for note in notes)
        message = f"The provided annotations were deleted from {count} resource(s)"
        if not count:
            message = "None of the resources had the provided annotations to delete"
        return (verdict.result(message, "info"), *(each for note in notes for each in note)), False


def _is_named(value: Value) -> bool:
    return resource.is_krm(value) and bool(resource.name(value))


def _without(item: Item, annotations: dict[str, Value], gone: Sequence[str]) -> Item:
    metadata = resource.mapping(resource.field(item.value, "metadata"))
    kept: Value = {key: each for key, each in annotations.items() if key not in gone}
    if kept:
        new: Value = {**metadata, "annotations": kept}
    else:
        new = {key: each for key, each in metadata.items() if key != "annotations"}
    value = resource.with_field(item.value, ("metadata",), new)
    return replace(item, value=value, comments=_comments(item, gone, bool(kept)))


def _comments(item: Item, gone: Sequence[str], stays: bool) -> dict[FieldPath, str]:
    """Return the comments that stay; those of what went go with it."""
    paths: list[FieldPath] = [("metadata", "annotations", key) for key in gone]
    if not stays:
        paths.append(("metadata", "annotations"))
    return {path: text for path, text in item.comments.items() if path not in paths}


def _removed(item: Item, key: str) -> Result:
    # Spelt as the catalog's function spells it.
    message = f"Annonation: [{key}] removed from resource: [{resource.name(item.value)}]"
    found = verdict.result(message, "info")
    return {**found, "file": verdict.file(item.path, None)} if item.path else found
