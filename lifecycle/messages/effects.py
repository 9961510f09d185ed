"""What a change of the rules would do to other open proposals, as `porchbot/config` says it."""

from collections.abc import Sequence

from lifecycle.facts.effects import FunctionsEffect, RulesEffect
from lifecycle.messages.markdown import code, number, some


def rules_effect_title(effect: RulesEffect | None) -> str:
    """Title of `porchbot/config` where the configuration can be read."""
    if effect is None:
        return "The configuration is valid"
    if not effect.changes:
        return "Valid; no open proposals affected"
    return f"Valid; {number(len(effect.changes), 'open proposal')} would be affected"


def rules_effect(effect: RulesEffect | None) -> str:
    """What a valid change of the configuration would do to the other open proposals."""
    if effect is None:
        return "The configuration can be read."
    lines = [
        f"- #{each.number} ({each.what}): {_waits_for(each.before)} → {_waits_for(each.after)}"
        f"{_untold(each.untold)}"
        for each in effect.changes
    ]
    same = effect.looked - len(effect.changes)
    if same:
        lines.append(f"- {number(same, 'open proposal')} would not be affected.")
    if effect.left:
        lines.append(
            f"- {number(effect.left, 'more open proposal')}, the least recently updated, were not"
            " checked."
        )
    if effect.unread:
        lines.append(
            f"- {number(effect.unread, 'open proposal')} could not be read, and"
            f" {'was' if effect.unread == 1 else 'were'} not checked."
        )
    lines += _not_tried(effect.functions)
    if not lines:
        return "The configuration can be read. No other proposal is open."
    return "\n".join(["With this configuration:", "", *lines])


def _untold(teams: Sequence[str]) -> str:
    """Teams that only the changed rules name."""
    if not teams:
        return ""
    named = some(code(f"team:{team}") for team in teams)
    return f" (members of {named} are not counted: the rules in force do not name it)"


def _not_tried(found: FunctionsEffect) -> list[str]:
    """What was not tried: no function runs by rules that nobody approved."""
    parts = [
        *([f"run {some(found.more, write=code)}"] if found.more else []),
        *([f"no longer run {some(found.fewer, write=code)} as now"] if found.fewer else []),
        *(["allow other functions in packages"] if found.allowed else []),
    ]
    if not parts:
        return []
    return [
        f"- It would also {', '.join(parts)}. That was not tried on open proposals, because"
        " functions run only under merged rules: `porchbot/impact` tries it on packages, `porchbot"
        " check --rules .porchbot.yaml` on one proposal."
    ]


def _waits_for(gates: Sequence[str]) -> str:
    """What a proposal waits for, in a few words."""
    if not gates:
        return "ready"
    return f"waiting: {some(gates)}"
