"""What drafts wait for while the repository of their upstream cannot be read.

The command that asks for such a draft waits alone, is tried again at growing distances, and is
refused in the end: whoever said it is told to repeat it, and nothing else waits for that long.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta

from bot.clock import Clock
from lifecycle.facts.drafts import MOST_DRAFTS, DraftRequest, DraftWait

FIRST, MOST = timedelta(seconds=15), timedelta(minutes=2)
"""How long after the first try comes the second one; what that doubles to at most."""

TRIES, LONGEST = 5, timedelta(minutes=10)
"""Nothing is given up before so many tries, nor before so much time."""

OLD = timedelta(hours=1)
"""After so long since somebody asked for it, a second try is enough: a process that ends again and
again, and counts anew each time, would never give up."""

MOST_KEPT = 1000
"""Requests that are remembered; of more, those that began to wait first are tried anew."""


class AwayError(Exception):
    """The repository of an upstream cannot be read now, whoever asks for it."""


class Away:
    """Remembers since when drafts wait; lost with the process, but for when each was asked for.

    Args:
        clock: When each try was.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waits: dict[tuple[int, DraftRequest], DraftWait] = {}

    def asked(self, number: int, requests: Collection[DraftRequest]) -> None:
        """Forget what nobody asks for any more.

        Args:
            number: Of the pull request or issue.
            requests: All that is asked for there.
        """
        over = [(n, r) for n, r in self._waits if n == number and r not in requests]
        for each in over:
            del self._waits[each]

    def waits(self, number: int, request: DraftRequest) -> DraftWait | None:
        """Return what a draft waits for; None where it is to be tried now.

        Args:
            number: Of the pull request or issue where it is asked for.
            request: Which one.
        """
        found = self._waits.get((number, request))
        return found if found is not None and self._clock.now() < found.again else None

    def room(self, number: int, requests: Collection[DraftRequest]) -> list[DraftRequest]:
        """Return what there is room for in one look; what waits takes none of the others.

        Args:
            number: As in `waits`.
            requests: What is asked for there, in its order.
        """
        tried = [each for each in requests if (number, each) in self._waits]
        others = [each for each in requests if (number, each) not in self._waits]
        return [*tried[:MOST_DRAFTS], *others[:MOST_DRAFTS]]

    def failed(
        self, number: int, request: DraftRequest, asked: datetime | None = None
    ) -> DraftWait:
        """Remember that a try failed; return what the draft waits for.

        Args:
            number: As in `waits`.
            request: As in `waits`.
            asked: When somebody asked for it; None where nobody did.
        """
        now = self._clock.now()
        before = self._waits.pop((number, request), None)
        if before is None or before.over:  # what was given up is asked for once more
            before = DraftWait(since=now, again=now, tries=0)
        tries = before.tries + 1
        over = tries >= TRIES and now - before.since >= LONGEST
        over = over or (tries > 1 and asked is not None and now - asked >= OLD)
        again = now + min(MOST, FIRST * 2 ** min(tries - 1, 10))
        found = replace(before, tries=tries, again=again, over=over)
        while len(self._waits) >= MOST_KEPT:
            del self._waits[next(iter(self._waits))]
        self._waits[number, request] = found
        return found

    def came(self, number: int, request: DraftRequest) -> None:
        """Forget a draft that was made.

        Args:
            number: As in `waits`.
            request: As in `waits`.
        """
        self._waits.pop((number, request), None)
