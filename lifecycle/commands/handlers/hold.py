"""`/hold` and `/unhold`: keeping a proposal from being published."""

from dataclasses import dataclass

from lifecycle.access import Role
from lifecycle.commands.spec import CommandRequest, CommandResponse
from lifecycle.events import Held, Unheld
from lifecycle.facts.proposal import Stage
from lifecycle.messages import answers as texts


@dataclass(frozen=True, slots=True)
class HoldCommand:
    """Keep from being published; `reason` may be empty."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class UnholdCommand:
    """End a hold."""


def hold(
    request: CommandRequest, response: CommandResponse, command: HoldCommand
) -> CommandResponse:
    """Remember the hold."""
    comment = request.comment
    who = comment.author.login
    return response.cause(
        Held(person=who, at=comment.at, comment=comment.id, reason=command.reason)
    )


def unhold(
    request: CommandRequest, response: CommandResponse, _command: UnholdCommand
) -> CommandResponse:
    """Lift every hold with write access, otherwise one's own: an author lifts no maintainer's."""
    comment = request.comment
    who = comment.author.login
    if response.proposal.stage is Stage.PUBLISHED and not response.memory.holds:
        return response.say(texts.nothing_held())
    every = response.proposal.people.roles.get(who, Role.NONE) >= Role.WRITE
    response = response.cause(Unheld(person=who, at=comment.at, comment=comment.id, every=every))
    left = [each.person for each in response.memory.holds]
    return response.say(texts.still_held(left)) if left else response
