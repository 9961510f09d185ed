"""`/why` and `/help`: what is missing, and what can be asked for."""

from dataclasses import dataclass, replace
from typing import Any

from cadlib.diff.values import ChangeKind
from lifecycle.commands.grammar import RevisionTarget
from lifecycle.commands.permission import verdict
from lifecycle.commands.spec import CommandRequest, CommandResponse, CommandSpec
from lifecycle.facts.proposal import Proposal
from lifecycle.gates import judge
from lifecycle.messages import answers as texts
from lifecycle.messages import diffs
from lifecycle.messages import drafts as draft_texts


@dataclass(frozen=True, slots=True)
class WhyCommand:
    """Tell every gate; `field` is the one field that is asked about, "" for all."""

    field: str = ""


@dataclass(frozen=True, slots=True)
class DiffCommand:
    """Tell what changes, of which package, and since which revision; 0 for the merge base."""

    target: RevisionTarget


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
    if not about or about in proposal.lookups.origins:
        return False
    return any(
        about in str(change) or (change.kind is ChangeKind.ADDED and not change.field)
        for v in proposal.verdicts
        for change in v.diff
    )


def folders(
    _request: CommandRequest, _response: CommandResponse, command: DiffCommand
) -> tuple[str, ...]:
    """Return the package that is asked about."""
    return () if command.target.package is None else (command.target.package,)


def diff(
    request: CommandRequest, response: CommandResponse, command: DiffCommand
) -> CommandResponse:
    """Tell what the proposal changes, or what it holds that a revision does not.

    On the dashboard issue, the same of a package: of its open draft, or of the base branch.
    """
    p, package = response.proposal, command.target.package
    if not p.place.issue:
        if package is not None and package not in (t.package for t in p.content.touched):
            return response.refuse(diffs.not_here("diff", package))
        return response.say(diffs.diff(p, command.target.revision, package))
    word = request.table.row(command).word
    if package is None:
        return response.refuse(draft_texts.which(word, ()))
    found = p.lookups.open_drafts.diffs.get((package, command.target.revision))
    if found is None:
        return replace(response, waits=True)
    if found.problem:
        return response.refuse(draft_texts.not_made(word, found.problem))
    return response.say(diffs.package_diff(found))


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
        if row.fits(p)
        and (row.dashboard if p.place.issue else row.proposals)
        and (p.place.issue or p.content.approvable or row.anywhere)
        and (request.facts.same_repository or not row.pushes)
    ]
    return response.say(texts.help_text(rows))


def _aliases(proposal: Proposal, row: CommandSpec[Any]) -> tuple[str, ...]:
    """Other words for a command, those of the repository as well."""
    given = proposal.rules.policy.aliases.items()
    return (*row.aliases, *sorted(alias for alias, word in given if word == row.word))
