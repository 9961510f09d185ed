"""What proposals wait for, as the index and the metrics have it."""

from collections.abc import Iterable

from bot.store.values import Wait
from lifecycle.judgement import Gate
from lifecycle.messages import gates as gate_texts
from lifecycle.terms import Terms

REASONS = frozenset(
    {
        "approved",
        "asked",
        "branch reviews",
        "check",
        "commands",
        "configuration",
        "freeze",
        "fresh approval",
        "impact",
    }
    | {"merge queue", "merge result", "mergeable"}
    | {"no hold", "no objection", "proposed", "publishing", "ready", "record", "rendered"}
    | {"rules approved", "same head", "tag", "unused", "up to date", "valid", "window"}
)
"""What waits are counted by: names of gates, without those of checks and tags."""

OTHER = "other"
"""Counts what is not among them."""


def of_gates(gates: Iterable[Gate]) -> tuple[Wait, ...]:
    """Return a wait for each gate that does not hold."""
    return tuple(
        Wait(
            gate=gate.name,
            reason=reason(gate.name, gate.cause),
            actual=gate.actual,
            wanted=gate.wanted,
            who=gate.who,
        )
        for gate in gates
    )


def in_line(base: str, terms: Terms) -> Wait:
    """Return the wait of a proposal whose gates hold."""
    return Wait(
        gate="publishing",
        reason="publishing",
        actual=terms.said(gate_texts.in_line(base)),
        wanted=terms.said(gate_texts.IN_LINE_WANTED),
        who="porchbot",
    )


def reason(gate: str, cause: str = "") -> str:
    """Return what the wait for a gate is counted by, one of few words: its name, and the cause."""
    first = gate.partition(" ")[0]
    named = first if first in {"check", "tag"} else gate
    return f"{named} {cause}".strip().replace(" ", "_") if named in REASONS else OTHER
