"""What was done last and may not show yet: forges answer with old facts for seconds.

A shortcut, lost with the process: what makes an action safe to repeat is what it depends on.
"""

from collections.abc import Iterable, Mapping

from bot.look.patience import WAITS
from lifecycle.actions import Action
from lifecycle.kinds import Described, Repeat, Write

Place = tuple[str | int, ...]


class Echoes:
    """The last action in each place that actions write to, and how long each key has waited."""

    def __init__(self) -> None:
        # Wanted again at once, the forge's answer is old.
        self._done: dict[Place, Write] = {}
        self._tries: dict[str, int] = {}

    def did(self, actions: Iterable[Action]) -> None:
        """Remember what was done."""
        self._done |= {action.writes.place: action.writes for action in actions}

    def is_stale(self, actions: Iterable[Action]) -> bool:
        """Tell whether a decision repeats what was done last: the forge shows an older state."""
        return any(_is_echo_of(action, self._done) for action in actions)

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


def _is_echo_of(action: Described, done: Mapping[Place, Write]) -> bool:
    """Tell whether an action writes again what was written last to its place."""
    noticed = action.KIND.repeat is Repeat.NOTICED
    return noticed and done.get(action.writes.place) == action.writes
