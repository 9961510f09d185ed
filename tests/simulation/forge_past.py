"""What the simulated forge showed before: each value is kept when it changes, and never copied.

Real forges answer from replicas that are seconds behind. Here a moment is the number of changes
that the forge has seen; what a read shows at a moment is the value that was kept last by then.
"""

from bisect import bisect_right
from collections.abc import Hashable
from typing import Any


class Past:
    """Values by what they are of, with the moment since when each is shown.

    Attributes:
        now: Changes so far.
    """

    def __init__(self) -> None:
        self.now = 0
        self._since: dict[Hashable, list[int]] = {}
        self._values: dict[Hashable, list[Any]] = {}

    def keep(self, key: Hashable, value: Any) -> None:
        """From now on this is shown."""
        since = self._since.setdefault(key, [])
        values = self._values.setdefault(key, [])
        if since and since[-1] == self.now:
            values[-1] = value
        else:
            since.append(self.now)
            values.append(value)

    def at(self, key: Hashable, moment: int, default: Any = None) -> Any:
        """What was shown at a moment; the default where nothing was."""
        since = self._since.get(key)
        if since is None:
            return default
        place = len(since) if since[-1] <= moment else bisect_right(since, moment)
        return self._values[key][place - 1] if place else default
