"""What commands without an answer ask about: a look finds that out before they are answered."""

from lifecycle.access import Person
from lifecycle.commands.answers import pending
from lifecycle.commands.handlers import ledger
from lifecycle.commands.handlers.questions import DiffCommand, WhyCommand, untold
from lifecycle.commands.handlers.rebase import RebaseCommand
from lifecycle.commands.permission import refusal
from lifecycle.commands.spec import CommandRequest, CommandResponse
from lifecycle.commands.table import TABLE
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal
from lifecycle.memory import Memory


def compared_with(proposal: Proposal, remembered: Memory) -> frozenset[int]:
    """Return the revisions that somebody asks to have the proposal compared with."""
    return frozenset(
        command.target.revision
        for _, parsed in pending(proposal, remembered)
        for command in parsed.commands
        if isinstance(command, DiffCommand) and command.target.revision
    )


def compared(proposal: Proposal, remembered: Memory) -> tuple[tuple[str, int], ...]:
    """Return the packages that somebody wants compared on the dashboard issue, and with what."""
    found = (
        (command.target.package, command.target.revision)
        for _, parsed in pending(proposal, remembered)
        for command in parsed.commands
        if isinstance(command, DiffCommand)
    )
    return tuple(dict.fromkeys((p, number) for p, number in found if p is not None))


def updated(facts: Facts, proposal: Proposal, remembered: Memory) -> tuple[str, ...]:
    """Return the packages whose draft somebody with the right wants to be brought up to date."""
    found = []
    for comment, parsed in pending(proposal, remembered):
        request = CommandRequest(facts, comment, TABLE)
        response = CommandResponse(proposal, remembered)
        found += [
            command.package
            for command in parsed.commands
            if isinstance(command, RebaseCommand)
            and command.package is not None
            and not command.onto
            and not refusal(request, response, TABLE.row(command), command)
        ]
    return tuple(dict.fromkeys(found))


def asked_about(proposal: Proposal, remembered: Memory) -> frozenset[str]:
    """Return the fields that somebody asks about, of which it is not known yet what set them."""
    return frozenset(
        command.field
        for _, parsed in pending(proposal, remembered)
        for command in parsed.commands
        if isinstance(command, WhyCommand) and untold(proposal, command.field)
    )


def named(proposal: Proposal, remembered: Memory) -> tuple[tuple[str, int], ...]:
    """Return the revisions that somebody wants withdrawn or deprecated, at most `MOST_NAMED`."""
    found = (
        ledger.named(proposal, command)
        for _, parsed in pending(proposal, remembered)
        for command in parsed.commands
        if isinstance(command, ledger.DeleteCommand | ledger.DeprecateCommand)
    )
    return tuple(dict.fromkeys(each for each in found if each))[: ledger.MOST_NAMED]


def deleting(proposal: Proposal, remembered: Memory) -> tuple[Person, ...]:
    """Return who wants something withdrawn or removed and has no answer yet."""
    found = (
        comment.author
        for comment, parsed in pending(proposal, remembered)
        if any(isinstance(command, ledger.DeleteCommand) for command in parsed.commands)
    )
    return tuple(dict.fromkeys(found))


def removed(proposal: Proposal, remembered: Memory) -> tuple[str, ...]:
    """Return the packages that the proposal removes and somebody wants to go with all revisions."""
    found = (
        ledger.removed(proposal, command)
        for _, parsed in pending(proposal, remembered)
        for command in parsed.commands
        if isinstance(command, ledger.DeleteCommand)
    )
    return tuple(dict.fromkeys(each for each in found if each is not None))
