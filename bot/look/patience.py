"""Tells how long to wait for what the forge should show: it answers with old facts for seconds.

Source: docs/design.md, "Stale facts".
"""

from collections.abc import Collection, Hashable
from itertools import accumulate

from bot.clock import SYSTEM, Clock

WAITS = (1.0, 2.0, 4.0, 8.0)
"""Seconds between looks while the forge does not show what is known to exist."""


class Patience:
    """Remembers since when each thing has been missed; a shortcut, lost with the process.

    Args:
        clock: Whose seconds are counted.
    """

    def __init__(self, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._since: dict[Hashable, dict[Hashable, float]] = {}

    def wait(self, place: Hashable, missed: Collection[Hashable]) -> float | None:
        """Say how long to wait for what is missed in one place.

        Args:
            place: Such as the number of a proposal.
            missed: All that is missed there now; what is there again is forgotten.

        Returns:
            Seconds after which to look again; None once everything was waited for long enough.
        """
        now = self._clock.monotonic()
        before = self._since.pop(place, {})
        since = {thing: before.get(thing, now) for thing in missed}
        if since:
            self._since[place] = since
        waited = [now - at for at in since.values()]
        left = [until - w for w in waited for until in accumulate(WAITS) if until > w]
        return min(left, default=None)
