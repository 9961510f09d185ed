"""Buttons that were pressed, and boxes that were ticked, as commands that nobody wrote."""

from datetime import datetime

from bot.forges.port import ListedProposal
from bot.look.one_look import OneLook
from lifecycle.access import Person
from lifecycle.boxes import Tick
from lifecycle.facts.conversation import Comment


def commands(look: OneLook, pull: ListedProposal, installed_at: datetime) -> tuple[Comment, ...]:
    """Return what was pressed for a proposal; of one that is not open boxes alone.

    Where several propose a commit, a button counts for the first of them, once. A box of the
    dashboard is about one of them, and was ticked at a time: whoever ticked it was told that it was
    passed on, and is answered there whatever became of it since.

    Args:
        look: The look.
        pull: The proposal.
        installed_at: Since when there is a bot: when a button was pressed does not matter, as none
            of them approves.
    """
    there = (each.pull.number for each in look.state.relevant if each.pull.open)
    first = pull.open and pull.number == min(there, default=0)
    found = []
    for each in look.pressed:
        tick = Tick.of(each.button)
        if tick.proposal == pull.number or (first and not tick.proposal):
            found.append(
                Comment(
                    id=each.number,
                    author=Person(each.person, each.login, bot=False),
                    body=f"/{tick.said}",
                    at=tick.at or installed_at,
                    button=True,
                    boxed=tick.proposal == pull.number,
                )
            )
    return tuple(found)
