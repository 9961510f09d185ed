"""Tokens that a process takes out of the shared buckets before it needs them (ADR 27)."""

from collections.abc import Mapping
from math import inf

from bot.store.buckets import Draw

AHEAD = 16.0
"""Tokens of a bucket that a process takes at most before it needs them: as many as it used in the
moments before, so that a look takes a few statements and a lonely request takes no more than its
own. All are lost with the process, or unused."""

PLENTY = 0.5
"""Share of a bucket that stays when tokens are taken ahead: nobody ever waits for those."""

IN_HAND = 10.0
"""Seconds from one statement to the next at most while something is asked: so late is a pause heard
that another replica was asked for."""


class TokensAhead:
    """Tokens that a process has taken before it needs them.

    Attributes:
        dropped: How often they were given up.
    """

    def __init__(self) -> None:
        self.dropped = 0
        self._tokens: dict[str, float] = {}
        self._used: dict[str, float] = {}  # of each bucket, in the moments before
        self._until = -inf
        self._rests = False

    def covers(self, draws: Mapping[str, Draw], now: float) -> bool:
        """Use them for these draws, if there are enough of each."""
        late = now >= self._until
        if late:
            self._used, self._rests = {}, False
        for name, draw in draws.items():
            self._used[name] = self._used.get(name, 0.0) + draw.tokens
        tokens = self._tokens
        if late or any(tokens.get(name, 0.0) < draw.tokens for name, draw in draws.items()):
            return False
        for name, draw in draws.items():
            tokens[name] -= draw.tokens
        return True

    def wanted(self, draws: Mapping[str, Draw]) -> dict[str, float]:
        """How many to take ahead of each bucket; empty while little was used.

        A twentieth of the bucket at most, so that what a replica loses is little.
        """
        most = {n: min(AHEAD, d.bucket.size / 20, self._used.get(n, 0)) for n, d in draws.items()}
        first = any(self._used.get(name, 0.0) <= draw.tokens for name, draw in draws.items())
        if first or self._rests:
            return {}
        return {name: max(0.0, more - self._tokens.get(name, 0.0)) for name, more in most.items()}

    def took(self, more: Mapping[str, float], now: float, dropped: int) -> None:
        """A statement was granted, and these were taken with it.

        Args:
            more: Tokens by the name of their bucket.
            now: When.
            dropped: How often they had been given up when it was asked for; since then they may
                have been again.
        """
        if dropped == self.dropped:
            for name, tokens in more.items():
                self._tokens[name] = self._tokens.get(name, 0.0) + tokens
        self._until = now + IN_HAND

    def drop(self) -> None:
        """Give them up, and take none for a while: there are not plenty, or nothing may be asked.

        From any thread.
        """
        self.dropped += 1
        self._rests = True
        self._tokens, self._used = {}, {}
