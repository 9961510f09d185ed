"""Values between a rendering and its driver: calls, outcomes, steps."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TypeAlias, TypeVar

from cadlib.stream.resourcelist import Item, entries, framed
from cadlib.yaml import Value

PIPELINE = "pipeline"
GUARDRAIL = "guardrail"
COMMAND = "command"


@dataclass(frozen=True)  # no slots: `lines` is kept in its dictionary
class GivenItems:
    """The resources that a function is given; the next one is given the same where none changed.

    Attributes:
        items: They, in order.
    """

    items: Sequence[Item]

    @cached_property
    def lines(self) -> bytes:
        """Their lines in a ResourceList, written when first asked for."""
        return entries(self.items)


@dataclass(frozen=True, kw_only=True)  # no slots: `resources` is kept in its dictionary
class FunctionCall:
    """A function to run, and what to run it on.

    A runner in this process takes `items` and `config` as they are and must not change
    their values, which are shared; any other takes `resources`.

    Attributes:
        image: Full name of the image, with tag or digest; "" when `exec` is set.
        exec: Command to run in place of an image, as written; "" for an image.
        given: The resources; their paths are relative to `package`.
        config: The function's configuration; None if there is none.
        package: The package whose pipeline it is part of, relative to the root
            package; "" for the root itself.
        step: Its place in the pipeline, such as "mutators[0]".
        source: "pipeline" (from a Kptfile), "guardrail" (from configuration) or "command".
        counted: It is given some of the resources only, so people are told how many.
    """

    image: str
    exec: str = ""
    given: GivenItems
    config: Value
    package: str
    step: str
    source: str
    counted: bool = False

    @property
    def function(self) -> str:
        """The function's image, or its command."""
        return self.image or self.exec

    @property
    def items(self) -> Sequence[Item]:
        """The resources, in order."""
        return self.given.items

    @cached_property
    def resources(self) -> bytes:
        """The ResourceList to send, YAML in UTF-8, written when first asked for."""
        return framed(self.given.lines, self.config)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOutcome:
    """The outcome of a call.

    Attributes:
        resources: The ResourceList that came back, or None if none did.
        items: The resources that came back, from a runner in this process, in place of
            `resources`. An item that is the very object of the call did not change.
        results: The function's findings, in the form of a ResourceList's `results`;
            where empty, those in `resources` are read.
        error: Why the function failed; "" if it did not. `results` count all the same.
        log: What it wrote for people.
        exit_code: Its exit status; None where it has none, as when it could not be run.
        digest: What ran, such as the "sha256:…" of the image; "" where nobody says.
        fix: What to do about the error, a sentence without its full stop; "" for the usual.
    """

    resources: bytes | None = None
    items: Sequence[Item] | None = None
    results: Sequence[Mapping[str, object]] = ()
    error: str = ""
    log: str = ""
    exit_code: int | None = None
    digest: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One function that ran, or could not.

    Attributes:
        image: Full name of its image; "" for a command.
        exec: Its command; "" for an image.
        name: Its name in the Kptfile; "" if it has none.
        package: As in `FunctionCall`.
        step: As in `FunctionCall`.
        source: As in `FunctionCall`.
        said: Its findings, as it wrote them.
        log: What it wrote for people.
        ok: Whether it ran to its end and kept the rules.
        exit_code: Its exit status; 1 for one that failed without.
        error: What went wrong other than that the function failed: it could not be run,
            or broke a rule; "" for nothing.
        listed: results.yaml has it: it was run, and its resources break no rule.
        called: It was its turn: people are told that it ran.
        digest: As in `CallOutcome`.
    """

    image: str
    exec: str = ""
    name: str = ""
    package: str
    step: str
    source: str
    said: Sequence[Mapping[str, object]] = ()
    log: str = ""
    ok: bool
    exit_code: int = 0
    error: str = ""
    called: bool = True
    listed: bool = True
    digest: str = ""

    @property
    def results(self) -> int:
        """How many findings it made."""
        return len(self.said)

    @property
    def function(self) -> str:
        """The function's image, or its command."""
        return self.image or self.exec

    @property
    def mutates(self) -> bool:
        """Whether what it made of the resources counts."""
        return self.step.startswith("mutators")


class RenderStage(StrEnum):
    """The progress of a rendering in a package before it failed there."""

    READ = "read"
    PACKAGE = "package"
    PIPELINE = "pipeline"


T = TypeVar("T")
Driven: TypeAlias = Generator[FunctionCall, CallOutcome, T]
"""Yields calls, is sent their outcomes, and returns a result."""
