"""`/why` and `/help`: what is missing, and what can be asked for."""

from dataclasses import dataclass

from lifecycle.commands.permission import verdict
from lifecycle.commands.spec import CommandRequest, CommandResponse
from lifecycle.gates import judge
from lifecycle.messages import answers as texts


@dataclass(frozen=True, slots=True)
class WhyCommand:
    """Tell every gate; `field` is the one field that is asked about, "" for all."""

    field: str = ""


@dataclass(frozen=True, slots=True)
class HelpCommand:
    """List the commands."""


def why(request: CommandRequest, response: CommandResponse, command: WhyCommand) -> CommandResponse:
    """Tell every gate, or what is said about one field."""
    judgement = judge(request.facts, response.proposal, response.memory)
    return response.say(texts.why(response.proposal, judgement, command.field))


def list_commands(
    request: CommandRequest, response: CommandResponse, _command: HelpCommand
) -> CommandResponse:
    """List what means something now: how it is written, what it does, what this person lacks."""
    p = response.proposal
    rows = [
        (row.usage, row.help, texts.lacking(verdict(request, response, row), p))
        for row in request.table.rows
        if p.stage in row.stages
        and (p.content.approvable or row.question)
        and (request.facts.same_repository or not row.pushes)
    ]
    return response.say(texts.help_text(rows))
