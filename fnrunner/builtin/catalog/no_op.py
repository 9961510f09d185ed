"""The catalog's `no-op`: changes nothing; for trying out what runs functions.

Source: the catalog's functions/go/no-op.
"""

from collections.abc import Sequence
from typing import Final

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin import alone
from fnrunner.builtin.about import About
from fnrunner.builtin.alone import PerResourceFunction
from fnrunner.builtin.verdict import FunctionResult
from fnrunner.contract.results import Result

ABOUT: Final = About(
    tags=(">=0",),  # whatever its version, it does nothing
    summary="Changes nothing; for testing a function runner.",
    doc="It needs no configuration, and ignores any.\n",
    alone=True,
)


def run(resources: ResourceList) -> FunctionResult:
    """Return the resources as they are."""
    return alone.run(begin, resources)


def begin(config: Value) -> PerResourceFunction[None]:  # noqa: ARG001 - it has no use for one
    """Begin; there is nothing to read."""
    return _NoOp()


class _NoOp:
    def each(self, item: Item) -> tuple[Item, None]:
        return item, None

    def total(self, notes: Sequence[None]) -> tuple[tuple[Result, ...], bool]:  # noqa: ARG002
        return (), False
