"""What came of actions: how each went, and what the forge or git said to it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from bot.forges.port import ForgeBusyError, ForgeRefusedError
from bot.git.port import GitBusyError, GitRefusedError
from lifecycle.actions import Action


class ActionOutcome(StrEnum):
    """How carrying out an action went; of several, how that of the last one tried did."""

    DONE = "done"
    LOOK_AGAIN = "look again"
    WAIT = "wait"
    BROKE = "broke"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class ActionResult:
    """What came of one action.

    Attributes:
        outcome: How it went.
        why: What the forge or git said to that; "" where there is nothing to say.
        commit: What it made that git will show, as far as the forge said.
    """

    outcome: ActionOutcome
    why: str = ""
    commit: str = field(default="", compare=False)


DONE = ActionResult(ActionOutcome.DONE)


class Report:
    """What came of each action, kept up while they are carried out."""

    def __init__(self) -> None:
        self._came: dict[int, ActionResult] = {}

    def note(self, action: Action, came: ActionResult) -> None:
        """Remember what came of an action."""
        self._came[id(action)] = came

    def note_rest(self, actions: Iterable[Action], came: ActionResult) -> None:
        """Remember what came of those of some actions that were not done before."""
        for action in actions:
            self._came.setdefault(id(action), came)

    def of(self, action: Action) -> ActionResult:
        """What came of an action: this very one, as two may be equal."""
        return self._came.get(id(action), ActionResult(ActionOutcome.NOT_TRIED))

    @contextmanager
    def breaking(self, actions: Iterable[Action]) -> Iterator[None]:
        """What breaks inside the block broke these actions, as far as they were not done."""
        try:
            yield
        except BaseException as error:
            known = isinstance(
                error, ForgeBusyError | ForgeRefusedError | GitBusyError | GitRefusedError
            )
            why = f"{type(error).__name__}: {error}" if known else type(error).__name__
            self.note_rest(actions, ActionResult(ActionOutcome.BROKE, why))
            raise
