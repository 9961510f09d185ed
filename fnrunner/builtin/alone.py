"""Functions that process each resource independently of all others.

What became of a resource is kept, and such a function is called for the others only: `total` puts
what it noted about all of them together.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin import verdict
from fnrunner.builtin.answered import answers
from fnrunner.builtin.verdict import FunctionResult
from fnrunner.contract.results import Result

Note = TypeVar("Note")


class PerResourceFunction(Protocol, Generic[Note]):
    """A function with its configuration."""

    def each(self, item: Item) -> tuple[Item, Note]:
        """Return what becomes of one resource, and what to note about it.

        It neither moves nor removes a resource; one that does not change is returned as the
        object that came.
        """

    def total(self, notes: Sequence[Note]) -> tuple[tuple[Result, ...], bool]:
        """Return the results for all resources, from their notes in order, and whether it failed.

        A function that fails changes nothing.
        """


class ConfigRefusedError(Exception):
    """The function cannot begin.

    Attributes:
        results: Why.
        log: What it says to people besides.
    """

    def __init__(self, *results: Result, log: str = verdict.FAILURE_LOG) -> None:
        super().__init__(*results)
        self.results = results
        self.log = log


def run(
    begin: Callable[[Value], PerResourceFunction[Note]], resources: ResourceList
) -> FunctionResult:
    """Run such a function on a list.

    Args:
        begin: Reads the configuration; raises RefusedError.
        resources: What to run it on.
    """
    try:
        function = begin(resources.config)
    except ConfigRefusedError as error:
        return replace(verdict.refused(resources.items, *error.results), log=error.log)
    known = answers(begin.__module__, repr(resources.config))
    items, notes = [], []
    for item in resources.items:
        answer = known.get(item)
        if answer is None:
            answer = function.each(item)
            if item.document is None:  # else it is another object the next time
                known.keep(item, answer)
        changed, note = answer
        items.append(changed)
        notes.append(note)
    results, failed = function.total(notes)
    if failed:
        return verdict.refused(resources.items, *results)
    return FunctionResult(items=tuple(items), results=results)
