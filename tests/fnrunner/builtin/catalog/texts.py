"""Calls a builtin function on the text of one file, as a package has it."""

from collections.abc import Sequence

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import edit, read
from fnrunner.builtin import lookup
from fnrunner.contract.results import Result


def items(text: str, path: str = "resources.yaml") -> tuple[Item, ...]:
    """Return the resources of a file, with their comments and their text."""
    documents = read(text.encode()).documents
    return tuple(
        Item(each.value, each.comments, path, each.index, each)
        for each in documents
        if not each.empty
    )


def called(
    name: str, text: str, /, *, path: str = "resources.yaml", **data: str
) -> tuple[str, Sequence[Result], bool]:
    """Run a function on a file; `data` are those of a ConfigMap.

    Returns:
        The file afterwards, what the function said, and whether it failed.
    """
    given = items(text, path)
    config: object = {"apiVersion": "v1", "kind": "ConfigMap", "data": dict(data)}
    answer = lookup.get(name).run(ResourceList(given, config))  # type: ignore[arg-type]
    stream = read(text.encode())
    if answer.failed:
        assert list(answer.items) == list(given)
        return text, answer.results, True
    places = [number for number, each in enumerate(stream.documents) if not each.empty]
    changed = [
        (place, after)
        for place, before, after in zip(places, given, answer.items, strict=True)
        if after is not before
    ]
    new = edit(
        stream,
        {place: item.value for place, item in changed},
        comments={place: item.comments for place, item in changed},
    )
    return new.decode(), answer.results, False


def messages(results: Sequence[Result]) -> list[str]:
    """Return what was said, in order."""
    return [str(each["message"]) for each in results]
