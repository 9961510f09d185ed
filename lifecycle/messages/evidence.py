"""Texts of the evidence in a tag: what each gate asked for, told also of those that hold."""

from collections.abc import Mapping

from lifecycle.messages import gates as texts
from lifecycle.policy import Policy

_WANTED: Mapping[str, str] = {
    "proposed": "a pull request that is ready for review",
    "rendered": "every file is what the package's functions and the guardrails make of it",
    "valid": "no finding of severity error",
    "ready": "status True for each condition of info.readinessGates",
    "up to date": "the base branch did not change the package meanwhile",
    "asked": "an approval by `/approve`",
    "merge queue": "a place in the merge queue",
    "no objection": "no review that asks for changes",
    "no hold": "nobody holds it",
    texts.RULES_APPROVED: "the approvals that a change of the rules needs",
}
"""Name of a gate to what it asks for, where the gate itself says so only while it does not hold."""


def wanted(name: str, policy: object) -> str:
    """What a gate asks for that holds; its name where that says enough.

    Args:
        name: Of the gate.
        policy: The rules that judged.
    """
    if name == texts.APPROVED and isinstance(policy, Policy):
        rule = policy.approve
        sources = ", ".join(source.spelling for source in rule.sources)
        return f"{rule.require} from {sources}" + (", authors too" if rule.self_allowed else "")
    if name.startswith(texts.CHECK):
        return texts.CHECK_WANTED
    return _WANTED.get(name, name)
