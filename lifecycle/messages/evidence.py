"""Texts of the evidence in a tag: what each gate asked for, told also of those that hold."""

from collections.abc import Iterable, Mapping, Sequence

from lifecycle.access import AccessAction, AppSource, Source
from lifecycle.automatic import ByItself
from lifecycle.messages import gates as texts
from lifecycle.needs import Need

_WANTED: Mapping[str, str] = {
    "proposed": "a pull request that is ready for review",
    "rendered": "every file equals the output of the package's functions and the guardrails",
    "valid": "no findings of severity error",
    "ready": "status True for each condition of info.readinessGates",
    "up to date": "no newer change of the package on the base branch",
    "asked": "an approval with `/approve`",
    "merge queue": "a place in the merge queue",
    "no objection": "no review that requests changes",
    "no hold": "nobody holds it",
    texts.RULES_APPROVED: "the approvals that a change to the rules needs",
}
"""Name of a gate to what it asks for, where the gate itself says so only while it does not hold."""


def wanted(name: str, needs: Sequence[Need]) -> str:
    """What a gate asks for that holds; its name where that says enough.

    Args:
        name: Of the gate.
        needs: The rules that approvals had to meet; those of folders, and of both configurations
            where two hold.
    """
    if name == texts.APPROVED and needs:
        several = len(needs) > 1
        return "; ".join((f"{_places(each)}: " if several else "") + _need(each) for each in needs)
    if name.startswith(texts.CHECK):
        return texts.CHECK_WANTED
    return _WANTED.get(name, name)


def _places(need: Need) -> str:
    first = " (first revision)" if need.action is AccessAction.REGISTER else ""
    return ", ".join(place or "." for place in need.packages) + first


def _need(need: Need) -> str:
    if need.automatic is ByItself.VARIANT:
        return "nobody, for what the bot alone made for a variant"
    if need.automatic:
        apps = [each for each in need.rule.automatic if isinstance(each, AppSource)]
        return f"nobody, for patch-level changes by {_spelled(apps)}"
    authors = ", authors too" if need.rule.self_allowed else ""
    return f"{need.needed} from {_spelled(need.rule.sources)}{authors}"


def _spelled(sources: Iterable[Source]) -> str:
    return ", ".join(source.spelling for source in sources)
