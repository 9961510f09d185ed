"""Readiness gates: what a Kptfile waits for keeps its package from being published."""

from dataclasses import replace

import pytest

from lifecycle.actions import Merge
from lifecycle.decide import decide
from lifecycle.facts.verdicts import ReadinessGate, Verdict
from lifecycle.gates import judge
from lifecycle.judgement import Gate, GateState
from lifecycle.memory import read
from tests.lifecycle.samples import APPROVER, PROPOSAL, changed, facts, said

TRUE = ReadinessGate("Ready", "True")
FALSE = ReadinessGate("example.com/Scanned", "False", "Findings", "3 images are not scanned")
BAD_STATUS = ReadinessGate("Ready", "true")
MISSING = ReadinessGate("Ready")


def gate(*conditions: ReadinessGate) -> Gate | None:
    verdicts = (replace(PROPOSAL.verdicts[0], readiness=conditions),)
    proposal = replace(PROPOSAL, verdicts=verdicts)
    found = judge(facts(proposal), proposal, read(proposal)).gates
    return next((each for each in found if each.name == "ready"), None)


SAID: dict[str, tuple[tuple[ReadinessGate, ...], str | None, str]] = {
    "no readiness gates": ((), None, ""),
    "all hold": ((TRUE,), GateState.HOLDS, "1 condition of `info.readinessGates` is True"),
    "one does not": (
        (TRUE, FALSE),
        GateState.BLOCKED,
        "`net/core`: condition `example.com/Scanned` is `False`"
        " (Findings: 3 images are not scanned)",
    ),
    "nobody has set it": (
        (MISSING,),
        GateState.BLOCKED,
        "`net/core`: condition `Ready` is not there",
    ),
    "another spelling is not True": (
        (BAD_STATUS,),
        GateState.BLOCKED,
        "`net/core`: condition `Ready` is `true`",
    ),
}


@pytest.mark.parametrize(("conditions", "state", "actual"), SAID.values(), ids=SAID)
def test_the_gate(conditions: tuple[ReadinessGate, ...], state: str | None, actual: str) -> None:
    found = gate(*conditions)

    assert (found and found.state, found.actual if found else "") == (state, actual)


@pytest.mark.parametrize(("condition", "merges"), [(TRUE, True), (FALSE, False), (MISSING, False)])
def test_an_approved_proposal_waits_for_its_readiness_gates(
    condition: ReadinessGate, merges: bool
) -> None:
    """The short-cut shows the gate and merges: Porch's server does that, its command line asks."""
    verdicts = (Verdict(package="net/core", readiness=(condition,)),)
    approved = changed(PROPOSAL, comments=(said(APPROVER, "/approve"),), verdicts=verdicts)

    actions = decide(facts(approved), publishing=True)

    assert any(isinstance(each, Merge) for each in actions) is merges
