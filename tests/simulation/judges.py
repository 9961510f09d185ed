"""What judges beside the oracle: each is asked about everything that the bot does."""

from collections.abc import Iterator
from typing import Protocol

from tests.simulation.diary import Entry


class Judge(Protocol):
    """Judges one kind of what a bot does."""

    def judge(self, entry: Entry) -> Iterator[tuple[str, str]]:
        """Judge something that the bot did: check and reason of each violation."""
