"""Cases of functions on values: the texts of a case as items, and what a function says of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from cadlib.package import files as packages
from cadlib.stream.resourcelist import Item, ResourceList, bare
from cadlib.yaml import Value, read
from fnrunner.builtin import lookup
from fnrunner.builtin.verdict import FunctionResult


def items(text: str, path: str = "") -> list[Item]:
    """Return the documents of a text, where they lie as they say or as the documents of a file."""
    found: list[Item] = []
    for document in read(text.encode(), path=path).documents:
        if not document.empty:
            item = bare(_with_texts(document.value), document.comments)
            place = (item.path or path, len(found) if item.index is None else item.index)
            found.append(Item(item.value, item.comments, *place))
    return found


def files(tree: Mapping[str, str]) -> list[Item]:
    """Return the resources of a tree in kpt's order."""
    paths = sorted(filter(packages.is_resource_file, tree), key=lambda path: path.split("/"))
    return [item for path in paths for item in items(tree[path], path)]


def run(name: str, given: Sequence[Item], config: str | None) -> FunctionResult:
    """Run a builtin function; `config` is its functionConfig as YAML."""
    value = next((each.value for each in read((config or "").encode()).documents), None)
    return lookup.get(name).run(ResourceList(tuple(given), value))


def messages(verdict: FunctionResult) -> list[Any]:
    """Return the messages of a verdict."""
    return [result["message"] for result in verdict.results]


def _with_texts(value: Value) -> Value:
    """Return a resource whose index is text, as annotations are; cases write it as a number."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(value, dict) or not isinstance(annotations, dict):
        return value
    texts: Value = {
        key: str(each) if isinstance(each, int) and not isinstance(each, bool) else each
        for key, each in annotations.items()
    }
    return {**value, "metadata": {**metadata, "annotations": texts}}  # type: ignore[dict-item] # a mapping, above
