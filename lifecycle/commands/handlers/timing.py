"""`/freeze`, `/thaw` and `/override`: publishing stopped at once, and exceptions from that."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from lifecycle import timing
from lifecycle.access import AccessAction
from lifecycle.commands.spec import CommandRequest, CommandResponse
from lifecycle.events import Frozen, Overridden, Thawed, content
from lifecycle.gates import judge
from lifecycle.judgement import GateState
from lifecycle.messages import answers
from lifecycle.messages import timing as texts
from lifecycle.policy import Policy
from lifecycle.rights import Refused, Target, Unsure, authorise, facts_of


@dataclass(frozen=True, slots=True)
class FreezeCommand:
    """Freeze a folder, "" for everything, until a moment or for a while."""

    path: str
    until: datetime | timedelta | None
    reason: str


@dataclass(frozen=True, slots=True)
class ThawCommand:
    """Lift what was frozen: a folder as it was named, or everything."""

    path: str | None


@dataclass(frozen=True, slots=True)
class OverrideCommand:
    """Let the proposal past a gate."""

    gate: str
    reason: str


def freeze(
    request: CommandRequest, response: CommandResponse, command: FreezeCommand
) -> CommandResponse:
    """Remember the freeze, for the whole repository."""
    comment = request.comment
    until = command.until
    if isinstance(until, timedelta):
        until = comment.at + until
    if until is not None and until <= comment.at:
        return response.refuse(texts.over(until))
    refused = _refused(request, response, "freeze", command.path)
    if refused:
        return response.refuse(refused)
    frozen = Frozen(
        person=comment.author.login,
        at=comment.at,
        comment=comment.id,
        path=command.path,
        until=until,
        reason=command.reason,
    )
    return response.cause(frozen).say(texts.freeze_done(frozen))


def thaw(
    request: CommandRequest, response: CommandResponse, command: ThawCommand
) -> CommandResponse:
    """Lift freezes; refuse where nothing of the kind is frozen."""
    comment = request.comment
    log = request.facts.freezes | response.memory.freezes
    standing = timing.standing_freezes(log, comment.at)
    lifted = [each for each in standing if command.path in (None, each.path)]
    if not standing:
        return response.say(texts.NOTHING_FROZEN)
    if not lifted:
        return response.refuse(texts.still_frozen(command.path or "", standing))
    for each in lifted:
        if refused := _refused(request, response, "thaw", each.path):
            return response.refuse(refused)
    thawed = Thawed(
        person=comment.author.login,
        at=comment.at,
        comment=comment.id,
        path=command.path,
        lifts=tuple(sorted(each.name for each in lifted)),
    )
    return response.cause(thawed).say(texts.thawed(lifted))


def override(
    request: CommandRequest, response: CommandResponse, command: OverrideCommand
) -> CommandResponse:
    """Remember an exception; only for a gate that keeps this from being published now."""
    p, comment = response.proposal, request.comment
    gates = judge(request.facts, p, response.memory).gates
    excepted = {gate.name for gate in gates if timing.has_exceptions(p, gate.name)}
    waiting = {gate.name for gate in gates if gate.state is not GateState.HOLDS} & excepted
    if not timing.has_exceptions(p, command.gate):
        return response.refuse(texts.NEVER_OVERRIDDEN)
    if command.gate not in waiting:
        there = [timing.spelled(gate) for gate in sorted(waiting)]
        return response.refuse(texts.no_such_gate(timing.spelled(command.gate), there))
    response = response.cause(
        Overridden(
            person=comment.author.login,
            account=comment.author.id,
            at=comment.at,
            comment=comment.id,
            gate=command.gate,
            reason=command.reason,
            trees=content(p.content.trees),
            head=p.place.head,
            base_ref=p.place.base_ref,
        )
    )
    still = judge(request.facts, p, response.memory)
    missing = any(gate.name == command.gate for gate in still.open)
    return response.say(texts.override_done(timing.spelled(command.gate), missing=missing))


def _refused(request: CommandRequest, response: CommandResponse, word: str, path: str) -> str:
    """Why the writer may not freeze a folder; "" where he may: the proposal is only the place."""
    p = response.proposal
    rules = p.rules.policy if isinstance(p.rules.policy, Policy) else Policy()
    found = authorise(
        request.comment.author, AccessAction.FREEZE, Target((path,)), facts_of(p, rules)
    )
    if isinstance(found, Refused):
        return answers.access_refused(word, found, p)
    return answers.access_unsure(word, found) if isinstance(found, Unsure) else ""
