"""A clock that moves only when it is told to."""

import asyncio
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class ManualClock:
    """Implements `bot.clock.Clock`: who sleeps moves it on, and lets the other tasks run.

    Attributes:
        seconds: Since the beginning.
        drawn: Where random numbers come from.
    """

    seconds: float = 0.0
    drawn: random.Random = field(default_factory=lambda: random.Random(0))

    def now(self) -> datetime:
        """The beginning, and the seconds since."""
        return BEGINNING + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        """Seconds since the beginning."""
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        """Move on by so much at once."""
        self.seconds += seconds
        await asyncio.sleep(0)

    def random(self) -> float:
        """The next of a row that is always the same."""
        return self.drawn.random()
