"""`/freeze`, `/thaw` and `/override`: publishing stopped at once, and exceptions from that."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from difflib import get_close_matches

from lifecycle import limits, records, replay, timing
from lifecycle.commands.spec import CommandRequest, CommandResponse
from lifecycle.events import Frozen, Overridden, Thawed, content
from lifecycle.facts.proposal import Proposal
from lifecycle.gates import judge
from lifecycle.judgement import GateState
from lifecycle.messages import timing as texts
from lifecycle.windows import overlap

MOST_NEAREST = 3
"""Folders that are named to who wrote one that is not there."""


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
    if nearest := _nothing_there(response.proposal, command.path):
        return response.refuse(texts.nothing_there(command.path, command.reason, nearest))
    frozen = Frozen(
        person=comment.author.login,
        at=comment.at,
        comment=comment.id,
        path=command.path,
        until=until,
        reason=command.reason,
    )
    before = (each for each in response.memory.freezes if isinstance(each, Frozen))
    if any(each.name == frozen.name and each != frozen for each in before):
        return response.refuse(texts.frozen_twice(frozen.path))
    if _is_too_much(request, response, frozen):
        return response.refuse(texts.TOO_MUCH_FROZEN)
    folder = "" if command.path else _named(response.proposal, command.reason)
    return response.cause(frozen).say(texts.freeze_done(frozen, folder))


def thaw(
    request: CommandRequest, response: CommandResponse, command: ThawCommand
) -> CommandResponse:
    """Lift freezes; refuse where nothing of the kind is frozen."""
    comment = request.comment
    standing, lifted = _standing(request, response, command)
    if not standing:
        return response.say(texts.NOTHING_FROZEN)
    if not lifted:
        return response.refuse(texts.still_frozen(command.path or "", standing))
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
    made = Overridden(
        person=comment.author.login,
        account=comment.author.id,
        at=comment.at,
        comment=comment.id,
        gate=command.gate,
        reason=command.reason,
        trees=content(p.content.trees),
        head=p.place.head,
        base_ref=p.place.base_ref,
        windows=timing.closed_since(p, comment.at) if command.gate == "window" else (),
    )
    if not timing.covers(request.facts, p, response.memory, made):
        return response.refuse(texts.stopped_since(timing.spelled(command.gate)))
    response = response.cause(made)
    still = judge(request.facts, p, response.memory)
    missing = any(gate.name == command.gate for gate in still.open)
    return response.say(texts.override_done(timing.spelled(command.gate), missing=missing))


def frozen_folders(
    _request: CommandRequest, _response: CommandResponse, command: FreezeCommand
) -> tuple[str, ...]:
    """Return the folder that a freeze is about."""
    return (command.path,)


def thawed_folders(
    request: CommandRequest, response: CommandResponse, command: ThawCommand
) -> tuple[str, ...]:
    """Return the folders of the freezes that a thaw lifts; what it names where that is none."""
    _, lifted = _standing(request, response, command)
    return tuple(each.path for each in lifted) or (command.path or "",)


def _standing(
    request: CommandRequest, response: CommandResponse, command: ThawCommand
) -> tuple[Sequence[Frozen], Sequence[Frozen]]:
    """What was frozen when somebody commented, and what of that is meant; none of later."""
    log, comment = request.facts.freezes | response.memory.freezes, request.comment
    standing = [
        each
        for each in timing.standing_freezes(log, comment.at)
        if (each.at, each.comment) < (comment.at, comment.id)
    ]
    return standing, [each for each in standing if command.path in (None, each.path)]


def _is_too_much(request: CommandRequest, response: CommandResponse, frozen: Frozen) -> bool:
    """Whether one more freeze could not be kept; the first one of everything always can."""
    log = request.facts.freezes | response.memory.freezes
    there = replay.frozen_since(log, frozen.at)
    kept = replay.pack(replay.frozen_since(there | {frozen}, frozen.at))
    first = not frozen.path and not any(e.path == "" for e in replay.freezes(there))
    return records.length(kept) > limits.FREEZES and not first


def _nothing_there(p: Proposal, path: str) -> tuple[str, ...]:
    """The nearest folders to one that no package lies in or over; none where one does."""
    known = p.lookups.known_packages
    packages = _packages(p)
    if not path or not known or any(overlap(path, package) for package in packages):
        return ()
    folders = _folders(packages)
    near = get_close_matches(path, sorted(folders), n=MOST_NEAREST, cutoff=0.4)
    return tuple(near or sorted(folder for folder in folders if "/" not in folder)[:MOST_NEAREST])


def _named(p: Proposal, reason: str) -> str:
    """The folder of packages that a reason begins with, which nobody took for one; "" for none."""
    word = next(iter(reason.split()), "").rstrip(":,.")
    return word if word in _folders(_packages(p)) else ""


def _packages(p: Proposal) -> frozenset[str]:
    return p.lookups.known_packages | {t.package for t in p.content.touched}


def _folders(packages: frozenset[str]) -> set[str]:
    """Folders that packages lie in, and their own."""
    return {"/".join(package.split("/")[:n]) for package in packages for n in range(1, 9)}
