"""Gates and the judgement over all of them, as values.

The same value feeds the check run, the summary comment and `/why`, so that no two of them can
disagree (docs/design.md, "Checks"; trap 7).
"""

from dataclasses import dataclass
from enum import StrEnum

from lifecycle.approvals import Approvals


class GateState(StrEnum):
    """The state of a gate."""

    HOLDS = "holds"
    WAITS = "waits"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Leaf:
    """One rule below a gate, with its reason in words.

    Attributes:
        state: Whether it is met.
        text: What is so, in Markdown, without a full stop.
        leaves: The rules below it.
    """

    state: GateState
    text: str
    leaves: tuple["Leaf", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One condition for publishing.

    Attributes:
        name: One or two words.
        state: Whether it lets through.
        actual: What is so.
        wanted: What must be so; "" when it holds.
        who: Who can supply it; "" when it holds.
        leaves: The rules that it comes from, where there is more to say than `actual` does.
        cause: What it is counted by beside its name, one of few words; "" where the name says all.
    """

    name: str
    state: GateState
    actual: str
    wanted: str = ""
    who: str = ""
    cause: str = ""
    leaves: tuple[Leaf, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """All gates of one proposal, in the order people meet them.

    Attributes:
        gates: Every gate, those that hold too.
        approvals: The approvals; None where the configuration cannot be read.
    """

    gates: tuple[Gate, ...]
    approvals: Approvals | None

    @property
    def holds(self) -> bool:
        """True when every gate holds."""
        return all(gate.state is GateState.HOLDS for gate in self.gates)

    @property
    def open(self) -> tuple[Gate, ...]:
        """The gates that do not hold."""
        return tuple(gate for gate in self.gates if gate.state is not GateState.HOLDS)
