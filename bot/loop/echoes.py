"""What was done a moment ago and may not show yet: forges answer with old facts for seconds.

A shortcut, lost with the process: what makes an action safe to repeat is what it depends on.
"""

from collections.abc import Iterable

from bot.clock import SYSTEM, Clock
from bot.look.patience import WAITS
from bot.loop.recent import Recent
from lifecycle.actions import Action
from lifecycle.kinds import Described, Repeat, Write

Place = tuple[str | int, ...]

MOST_DONE = 5_000
"""Places of a repository whose last action is remembered: many times what is done in 15 s."""

MOST_WAITING = 2_000
"""Keys of a repository whose waits are counted; one that is forgotten begins anew."""

FRESH_FOR = 60.0
"""Seconds for which an old answer may not show what was done: forges answer with facts that are
seconds old, and a look on a busy machine takes some more."""


class Echoes:
    """The last action in each place that actions write to, and how long each key has waited.

    Args:
        clock: How long ago an action was done. What follows on one of more than `FRESH_FOR`
            seconds ago has another reason than an old answer: somebody took it back.
    """

    def __init__(self, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        # Wanted again at once, the forge's answer is old.
        self._done: Recent[Place, tuple[Write, float]] = Recent(MOST_DONE)
        self._tries: Recent[str, int] = Recent(MOST_WAITING)

    def did(self, actions: Iterable[Action]) -> None:
        """Remember what was done."""
        now = self._clock.monotonic()
        for action in actions:
            self._done.put(action.writes.place, (action.writes, now))

    def is_stale(self, actions: Iterable[Action]) -> bool:
        """Tell whether a decision repeats what was just done: the forge shows an older state."""
        return any(self._is_echo(action) for action in actions)

    def forget(self) -> None:
        """Forget what was done: somebody asks for it again."""
        self._done.clear()

    def news(self, key: str) -> None:
        """Begin a key's waits anew: what follows on news may be shown late once more."""
        self._tries.drop(key)

    def wait(self, key: str) -> float | None:
        """Seconds to wait for what is known to exist: 1, 2, 4, 8; None when that was long enough.

        After None the next wait begins anew.
        """
        tries = self._tries.get(key) or 0
        if tries >= len(WAITS):
            self._tries.drop(key)
            return None
        self._tries.put(key, tries + 1)
        return WAITS[tries]

    def wait_on(self, key: str) -> float:
        """Seconds to wait for what has to show some time: 1, 2, 4, 8, and then 8 again."""
        tries = self._tries.get(key) or 0
        self._tries.put(key, tries + 1)
        return WAITS[min(tries, len(WAITS) - 1)]

    def _is_echo(self, action: Described) -> bool:
        """Tell whether an action writes again what was just written to its place."""
        if action.KIND.repeat is not Repeat.NOTICED:
            return False
        done, at = self._done.get(action.writes.place) or (None, 0.0)
        return done == action.writes and self._clock.monotonic() - at <= FRESH_FOR
