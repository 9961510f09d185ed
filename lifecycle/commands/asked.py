"""What commands without an answer ask about: a look finds that out before they are answered."""

from lifecycle.access import Person
from lifecycle.commands.answers import pending
from lifecycle.commands.handlers import ledger
from lifecycle.commands.handlers.questions import DiffCommand, WhyCommand, untold
from lifecycle.facts.proposal import Proposal
from lifecycle.memory import Memory


def compared_with(proposal: Proposal, remembered: Memory) -> frozenset[int]:
    """Return the revisions that somebody asks to have the proposal compared with."""
    return frozenset(
        command.revision
        for _, parsed in pending(proposal, remembered)
        for command in parsed.commands
        if isinstance(command, DiffCommand) and command.revision
    )


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
