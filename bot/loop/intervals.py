"""How often sweeps come, all told from one interval; each is drawn a little longer or shorter."""

from dataclasses import dataclass

from bot.keys import Sweep

JITTER = 0.1
"""By how much of itself an interval is longer or shorter: what began together drifts apart."""

PARTS = {Sweep.CHANGES: 1.0, Sweep.DELIVERIES: 1 / 3, Sweep.HEALTH: 4.0}
"""Of the interval of sweeps, 15 minutes by default: how long each lasts."""

MOST_TIMES = 12.0
"""Of the interval of sweeps: how rarely a repository is asked that has long been quiet. Three hours
by default."""

DAY = 86400.0
"""Seconds."""

SOON = 60.0
"""Seconds until a sweep that did not come to its end goes on, at most."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """When the sweeps come.

    Attributes:
        seconds: The interval of sweeps (`PORCHBOT_SWEEP_SECONDS`).
    """

    seconds: float = 900.0

    @property
    def longest(self) -> float:
        """Seconds after which a repository is swept that nothing was seen to change in: a day."""
        return min(DAY, self.seconds * DAY / 900)

    def of_idle(self, quiet: int) -> float:
        """Seconds until a repository is asked again that was quiet so often: 1, 2, 4 … 12 times."""
        return self.seconds * min(float(2 ** min(quiet, 10)), MOST_TIMES)

    def next(self, sweep: Sweep, drawn: float, *, ended: bool = True) -> float:
        """Seconds until a sweep comes again.

        Args:
            sweep: Which.
            drawn: At random, from 0 to 1.
            ended: It came to its end this time.
        """
        whole = self.seconds * PARTS[sweep]
        return (whole if ended else min(whole, SOON)) * (1 - JITTER + 2 * JITTER * drawn)


DEFAULT = Intervals()
