"""What was done a moment ago and may not show yet: forges answer with old facts for seconds.

A shortcut, lost with the process: what makes an action safe to repeat is what it depends on.
"""

from collections.abc import Iterable

from bot.clock import SYSTEM, Clock
from bot.look.patience import WAITS
from bot.recent import Recent
from lifecycle.actions import Action
from lifecycle.kinds import Described, Repeat, Write

Place = tuple[str | int, ...]

MOST_DONE = 1_500
"""Places of a repository whose last action is remembered: more than the bot writes in 15 s, for
which forges answer with old facts (some 80 in a second of a busy processor; GitHub allows 3)."""

MOST_WAITING = 2_000
"""Keys of a repository whose waits are counted; one that is forgotten begins anew."""

MOST_EARLIER = 8
"""Earlier values of a subject that are remembered."""

GOES_BACK = 2.0
"""Seconds after a write during which facts may be older than it. A decision on such facts that goes
back to an earlier value is not believed yet; somebody who wants that waits so much longer."""

FRESH_FOR = 60.0
"""Seconds for which an old answer may not show what was done: forges answer with facts that are
seconds old, and a look on a busy machine takes some more."""


LONGEST_LOOK = 600.0
"""Seconds after which no look is under way any more that began before a write."""


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
        # The newest value of a subject is the last, and was written at that time.
        self._values: Recent[Place, tuple[tuple[Place, ...], float]] = Recent(MOST_DONE)
        self._tries: Recent[str, int] = Recent(MOST_WAITING)

    def did(self, actions: Iterable[Action]) -> None:
        """Remember what was done."""
        now = self._clock.monotonic()
        self._done.drop_oldest(lambda each: now - each[1] > FRESH_FOR)
        self._values.drop_oldest(lambda each: now - each[1] > LONGEST_LOOK)
        for action in actions:
            writes = action.writes
            self._done.put(writes.place, (writes, now))
            if writes.subject:
                values, _ = self._values.get(writes.subject) or ((), now)
                kept = (*(v for v in values if v != writes.value), writes.value)
                self._values.put(writes.subject, (kept[-MOST_EARLIER:], now))

    @property
    def remembered(self) -> int:
        """How many places and subjects are remembered: those of the last minutes."""
        return len(self._done) + len(self._values)

    def is_stale(self, actions: Iterable[Action], looked_at: float | None = None) -> bool:
        """Tell whether a decision is built on facts that are older than what was just done.

        It repeats that, or it goes back to what was shown before.

        Args:
            actions: The decision.
            looked_at: When reading the facts began, by the monotonic clock; None for now.
        """
        at = self._clock.monotonic() if looked_at is None else looked_at
        return any(self._is_echo(action) or self._goes_back(action, at) for action in actions)

    def forget(self) -> None:
        """Forget what was done: somebody asks for it again."""
        self._done.clear()
        self._values.clear()

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

    def _goes_back(self, action: Described, looked_at: float) -> bool:
        """Tell whether an action writes an earlier value, on facts that may be as old as that."""
        values, at = self._values.get(action.writes.subject) or ((), 0.0)
        return action.writes.value in values[:-1] and looked_at <= at + GOES_BACK
