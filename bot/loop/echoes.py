"""What was done last and may not show yet: forges answer with old facts for seconds.

A shortcut, lost with the process: what makes an action safe to repeat is what it depends on.
"""

from collections.abc import Iterable

from bot.look.patience import WAITS
from lifecycle.actions import (
    Action,
    DeleteBranch,
    Merge,
    OpenProposal,
    PushRender,
    Reply,
    Say,
    SetCheck,
    SetDraft,
    Tag,
)


class Echoes:
    """The last action in each place that actions write to, and how long each key has waited."""

    def __init__(self) -> None:
        # Wanted again at once, the forge's answer is old.
        self._done: dict[tuple[object, ...], tuple[object, ...]] = {}
        self._tries: dict[str, int] = {}

    def did(self, actions: Iterable[Action]) -> None:
        """Remember what was done."""
        for action in actions:
            slot = _slot(action)
            if slot:
                self._done[slot[0]] = slot[1]

    def is_stale(self, actions: Iterable[Action]) -> bool:
        """Tell whether a decision repeats what was done last: the forge shows an older state."""
        return any(
            slot is not None and self._done.get(slot[0]) == slot[1] for slot in map(_slot, actions)
        )

    def forget(self) -> None:
        """Forget what was done: somebody asks for it again."""
        self._done.clear()

    def news(self, key: str) -> None:
        """Begin a key's waits anew: what follows on news may be shown late once more."""
        self._tries.pop(key, None)

    def wait(self, key: str) -> float | None:
        """Seconds to wait for what is known to exist: 1, 2, 4, 8; None when that was long enough.

        After None the next wait begins anew.
        """
        tries = self._tries.get(key, 0)
        if tries >= len(WAITS):
            self._tries.pop(key, None)
            return None
        self._tries[key] = tries + 1
        return WAITS[tries]

    def wait_on(self, key: str) -> float:
        """Seconds to wait for what has to show some time: 1, 2, 4, 8, and then 8 again."""
        tries = self._tries.get(key, 0)
        self._tries[key] = tries + 1
        return WAITS[min(tries, len(WAITS) - 1)]


def _slot(action: Action) -> tuple[tuple[object, ...], tuple[object, ...]] | None:
    """What an action writes to, and what it writes; None where repeating is harmless."""
    match action:
        case SetCheck():
            return ("check", action.head, action.name), (action.external_id,)
        case Say():
            return ("say", action.number), (action.body, repr(action.record))
        case Reply():
            return ("reply", action.number, repr(action.record)), ()
        case SetDraft():
            return ("draft", action.number), (action.draft,)
        case OpenProposal():
            return ("open", action.head_ref, action.base_ref), ()
        case PushRender():
            return ("push", action.head_ref), (action.head,)
        case Merge():
            return ("merge", action.number), (action.head, action.base)
        case Tag():
            return ("tag", action.ref), ()
        case DeleteBranch():
            return ("delete", action.head_ref), (action.head,)
        case _:
            return None
