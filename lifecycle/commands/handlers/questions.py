"""`/why` and `/help`: what is missing, and what can be asked for."""

from dataclasses import dataclass, replace
from typing import Any

from cadlib.diff.changes import ChangeKind
from lifecycle.commands.permission import verdict
from lifecycle.commands.spec import CommandRequest, CommandResponse, CommandSpec
from lifecycle.facts.proposal import Proposal
from lifecycle.gates import judge
from lifecycle.messages import answers as texts


@dataclass(frozen=True, slots=True)
class WhyCommand:
    """Tell every gate; `field` is the one field that is asked about, "" for all."""

    field: str = ""


@dataclass(frozen=True, slots=True)
class DiffCommand:
    """Tell what changes; `revision` is what it is compared with, 0 for the merge base."""

    revision: int = 0


@dataclass(frozen=True, slots=True)
class HelpCommand:
    """List the commands."""


def why(request: CommandRequest, response: CommandResponse, command: WhyCommand) -> CommandResponse:
    """Tell every gate, or what is said about one field, once it was looked into what set that."""
    if untold(response.proposal, command.field):
        return replace(response, waits=True)
    judgement = judge(request.facts, response.proposal, response.memory)
    return response.say(texts.why(response.proposal, judgement, command.field))


def untold(proposal: Proposal, about: str) -> bool:
    """Tell whether it was not looked into yet what set a field that a proposal may change.

    Args:
        proposal: The proposal.
        about: What is asked about; "" for no field.
    """
    if not about or about in proposal.origins:
        return False
    return any(
        about in str(change) or (change.kind is ChangeKind.ADDED and not change.field)
        for v in proposal.verdicts
        for change in v.diff
    )


def diff(
    _request: CommandRequest, response: CommandResponse, command: DiffCommand
) -> CommandResponse:
    """Tell what the proposal changes, or what it holds that a revision does not."""
    return response.say(texts.diff(response.proposal, command.revision))


def list_commands(
    request: CommandRequest, response: CommandResponse, _command: HelpCommand
) -> CommandResponse:
    """List what means something now: how it is written, what it does, what this person lacks."""
    p = response.proposal
    rows = [
        (
            (row.usage, *_aliases(p, row)),
            row.help,
            texts.lacking(verdict(request, response, row), p),
        )
        for row in request.table.rows
        if p.stage in row.stages
        and (row.dashboard if p.place.issue else row.proposals)
        and (p.place.issue or p.content.approvable or row.anywhere)
        and (request.facts.same_repository or not row.pushes)
    ]
    return response.say(texts.help_text(rows))


def _aliases(proposal: Proposal, row: CommandSpec[Any]) -> tuple[str, ...]:
    """Other words for a command, those of the repository as well."""
    given = proposal.rules.policy.aliases.items()
    return (*row.aliases, *sorted(alias for alias, word in given if word == row.word))
