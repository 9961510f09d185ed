"""A command as a row of the table: how it is written, when and by whom, and what it does.

Its handler is given the request and the response so far, and returns the response with what the
command adds: effects, events to remember, words to say.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from lifecycle.access import AccessAction
from lifecycle.actions import Action, SetDraft
from lifecycle.commands.grammar import Argument
from lifecycle.events import RESTRAINTS, Approval, Event, Held, Rejected, TakenBack, Unheld
from lifecycle.facts.conversation import Comment
from lifecycle.facts.head import Facts
from lifecycle.facts.proposal import Proposal, Stage
from lifecycle.memory import Memory

C = TypeVar("C")

_OVERRULED: Mapping[type[Event], tuple[type[Event], ...]] = {
    Approval: (Approval, TakenBack),
    TakenBack: (Approval, TakenBack),
    Held: (Held,),
    Unheld: (Held, Unheld),
    Rejected: (Rejected,),
}
"""What an event undoes that the same comment caused before."""


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """One comment with commands.

    Attributes:
        facts: The facts that all of them are answered by.
        comment: The comment.
        table: The commands that there are.
    """

    facts: Facts
    comment: Comment
    table: "Table"

    @property
    def asked(self) -> int:
        """Number of the comment, by which what it asks for is known; greater than older ones'."""
        if self.comment.id > 0:
            return self.comment.id
        return 1 + max(p.talk.newest_comment for p in self.facts.proposals)


@dataclass(frozen=True, slots=True)
class CommandResponse:
    """The effects, events and texts of the commands of one comment so far.

    Attributes:
        proposal: As it will stand once the effects were done.
        memory: What is to be remembered then.
        effects: What to do, in order.
        texts: What to say, in order.
        caused: Events that this comment caused.
        refused: Something was refused.
        confused: Something was not understood.
        render_asked: Number of the comment where it asked for a render commit; otherwise 0.
        update_asked: The same for a merge of the base branch.
        waits: It is answered once its effects are done.
        denied: Its writer lacks the right, or it means nothing at this stage.
        goes_on: It says to go on with boxes after something failed.
    """

    proposal: Proposal
    memory: Memory
    effects: tuple[Action, ...] = ()
    texts: tuple[str, ...] = ()
    caused: tuple[Event, ...] = ()
    refused: bool = False
    confused: bool = False
    render_asked: int = 0
    update_asked: int = 0
    waits: bool = False
    denied: bool = False
    goes_on: bool = False

    def refuse(self, text: str) -> "CommandResponse":
        """Add a refusal to the answer."""
        return replace(self, texts=(*self.texts, text), refused=True)

    def say(self, text: str) -> "CommandResponse":
        """Add a text to the answer."""
        return replace(self, texts=(*self.texts, text))

    def cause(self, event: Event) -> "CommandResponse":
        """Add an event to remember.

        Within one comment the later command counts: no time and no number tells them apart.
        """
        response = self
        for before in self.caused:
            if isinstance(before, _OVERRULED.get(type(event), ())):
                response = response.without(before)
        return replace(
            response, memory=response.memory.adding(event), caused=(*response.caused, event)
        )

    def without(self, event: Event) -> "CommandResponse":
        """Take an event back, as if it had not happened."""
        return replace(
            self,
            memory=self.memory.without(event),
            caused=tuple(e for e in self.caused if e != event),
        )

    @property
    def restraints(self) -> tuple[Event, ...]:
        """What keeps from publishing: it counts at once, also while another command waits."""
        return tuple(e for e in self.caused if isinstance(e, RESTRAINTS))

    @property
    def at_once(self) -> tuple[Action, ...]:
        """The effects while one of the commands waits: what is proposed is so with the answer."""
        back = self.proposal.place.draft
        return tuple(e for e in self.effects if back or not isinstance(e, SetDraft))

    def as_draft(self, draft: bool) -> "CommandResponse":
        """Turn the proposal into a draft, or a draft into a proposal; back again is no effect."""
        if self.proposal.place.draft == draft:
            return self
        proposal = replace(self.proposal, place=replace(self.proposal.place, draft=draft))
        effects: list[Action] = [e for e in self.effects if not isinstance(e, SetDraft)]
        if not self.turned:
            effects.append(SetDraft(self.proposal.place.number, draft))
        return replace(self, proposal=proposal, effects=tuple(effects))

    @property
    def turned(self) -> bool:
        """Whether an earlier command of the comment proposes it, or sends it back."""
        return any(isinstance(e, SetDraft) for e in self.effects)

    @property
    def approval(self) -> Approval | None:
        """What the same comment approved."""
        return next((e for e in self.caused if isinstance(e, Approval)), None)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CommandSpec(Generic[C]):
    """One command.

    Attributes:
        word: As written after the slash, in lower case.
        command: Its class; each argument is a field.
        arguments: In the order in which they take their parts of the line.
        stages: At which it means something; at others it is refused (docs/design.md, "Stages").
        action: What giving it asks for: the rule of that action tells who may.
        handler: Adds to the response what the command comes to; called only where stage and right
            allow it.
        help: What it does, in one line.
        question: It only asks, and is answered also where no package is touched.
        folders: Of a command about the repository: which of its folders one is about, "" for all.
            It means the same under every pull request, and takes the right for these folders by the
            rules of the default branch alone. None for a command about the proposal.
        of_proposal: Under a pull request it is about that one, and `folders` count on the dashboard
            issue alone.
        dashboard: It means something on the dashboard issue.
        proposals: It means something under a pull request.
        pushes: It pushes to the head branch: that takes what pushing takes, and to have written a
            part does not suffice. Where the branch is in a fork it comes to an explanation only.
        aliases: Other words for it, such as those of other bots.
    """

    word: str
    command: type[C]
    arguments: tuple[Argument, ...] = ()
    stages: frozenset[Stage]
    action: AccessAction
    handler: Callable[[CommandRequest, CommandResponse, C], CommandResponse]
    help: str
    question: bool = False
    folders: Callable[[CommandRequest, CommandResponse, C], tuple[str, ...]] | None = None
    of_proposal: bool = False
    dashboard: bool = False
    proposals: bool = True
    pushes: bool = False
    aliases: tuple[str, ...] = ()

    @property
    def anywhere(self) -> bool:
        """It means something also where no package is touched."""
        return self.question or self.of_repository

    @property
    def of_repository(self) -> bool:
        """It means the same under every pull request, whatever that touches."""
        return self.folders is not None and not self.of_proposal

    def fits(self, proposal: Proposal) -> bool:
        """Tell whether it means something at a proposal's stage; the dashboard issue has none."""
        return proposal.place.issue or proposal.stage in self.stages

    def about(
        self, proposal: Proposal
    ) -> Callable[[CommandRequest, CommandResponse, C], tuple[str, ...]] | None:
        """Return what tells its folders where it is given; None where it is about a proposal."""
        return None if self.of_proposal and not proposal.place.issue else self.folders

    @property
    def usage(self) -> str:
        """How it is written, such as "hold [reason]"."""
        return " ".join(filter(None, [self.word, *(each.usage for each in self.arguments)]))


class Table:
    """The commands that there are.

    Attributes:
        rows: In the order of the help text.

    Raises:
        ValueError: Two rows have one word or one class.
    """

    def __init__(self, rows: Sequence[CommandSpec[Any]]) -> None:
        self.rows = tuple(rows)
        named = [(word, row) for row in rows for word in (row.word, *row.aliases)]
        self._words = dict(named)
        self._classes = {row.command: row for row in rows}
        if len(named) != len(self._words) or len(rows) != len(self._classes):
            raise ValueError("two commands have one word or one class: give each its own")

    @property
    def words(self) -> Sequence[str]:
        """The words of all commands, without their aliases."""
        return tuple(row.word for row in self.rows)

    def named(self, word: str) -> CommandSpec[Any] | None:
        """The row of a word or alias; None for a word that is no command."""
        return self._words.get(word)

    def row(self, command: object) -> CommandSpec[Any]:
        """The row of a command that was parsed."""
        return self._classes[type(command)]
