"""`/continue`: boxes of the dashboard that wait because one failed are begun all the same."""

from dataclasses import dataclass, replace

from lifecycle.commands.spec import CommandRequest, CommandResponse
from lifecycle.messages import boxes as texts


@dataclass(frozen=True, slots=True)
class ContinueCommand:
    """Leave what failed, and what was made from it, and go on with the others."""


def folders(
    _request: CommandRequest, _response: CommandResponse, _command: ContinueCommand
) -> tuple[str, ...]:
    """Return that it is about everything: boxes of many folders may wait."""
    return ("",)


def go_on(
    request: CommandRequest, response: CommandResponse, _command: ContinueCommand
) -> CommandResponse:
    """Go on; refuse where nothing was stopped."""
    waves = response.proposal.talk.boxes
    if not waves.stopped:
        return response.refuse(texts.NOTHING_STOPPED)
    asked = request.comment
    if not asked.button and any(each.since and each.since >= asked.at for each in waves.failed):
        return response.refuse(texts.failed_since(waves.failed))
    return replace(response.say(texts.goes_on(waves)), goes_on=True)
