"""The catalog's `drop-comments`: loses all comments, as many functions do by accident.

It is there to try out whoever runs functions: kpt, and porchbot, bring comments back that a
function lost.

Source: the catalog's functions/go/drop-comments; kpt's case fn-render/preserve-comments.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from cadlib.stream.resourcelist import Item, ResourceList
from cadlib.yaml import Value
from fnrunner.builtin import alone
from fnrunner.builtin.about import About
from fnrunner.builtin.alone import PerResourceFunction
from fnrunner.builtin.verdict import FunctionResult
from fnrunner.contract.results import Result

ABOUT: Final = About(
    tags=(">=0",),  # it has had one behaviour
    summary="Deletes all comments, to test that they are restored.",
    doc="""\
It takes no configuration. `porchbot fn render` and `fn eval` restore the comments, because a
function that returns no comments at all has lost them unintentionally.
""",
    alone=True,
)


def run(resources: ResourceList) -> FunctionResult:
    """Return the resources without their comments."""
    return alone.run(begin, resources)


def begin(config: Value) -> PerResourceFunction[None]:  # noqa: ARG001 - it has no use for one
    """Begin; there is nothing to read."""
    return _DropComments()


class _DropComments:
    def each(self, item: Item) -> tuple[Item, None]:
        return (replace(item, comments={}) if item.comments else item), None

    def total(self, notes: Sequence[None]) -> tuple[tuple[Result, ...], bool]:  # noqa: ARG002
        return (), False
