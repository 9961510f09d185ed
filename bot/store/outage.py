"""Whether the database is away: then one asks for all, and the others are told at once.

Whoever waited for it themselves would wait seconds each, hundreds at a time; the forge gives up
after ten.
"""

import time

import structlog

from bot.store.values import StoreError

log = structlog.get_logger()

AGAIN = 0.5
"""Seconds until somebody asks again whether it is back."""


class Outage:
    """The outage that goes on, if one does; its begin and its end are logged, a line each."""

    def __init__(self) -> None:
        self._error: StoreError | None = None
        self._since = self._next = 0.0
        self._refused = 0

    def refuse(self, patience: float) -> None:
        """Go on if the database is there, or if it is this one's turn to find out.

        Args:
            patience: Seconds that finding out may take: until then nobody else does.

        Raises:
            StoreError: It is away.
        """
        if self._error is None:
            return
        now = time.monotonic()
        if now < self._next:
            self._refused += 1
            # One of its own for each: a traceback grows with every raise.
            raise StoreError(str(self._error))
        self._next = now + patience + AGAIN

    def goes_on(self, error: StoreError) -> None:
        """The database did not answer."""
        now = time.monotonic()
        if self._error is None:
            self._since, self._refused = now, 0
            log.error("the database is away", reason=str(error))
        self._error, self._next = error, now + AGAIN

    def ends(self) -> None:
        """The database answered."""
        if self._error is not None:
            seconds = round(time.monotonic() - self._since, 1)
            log.warning("the database is back", seconds=seconds, refused=self._refused)
            self._error = None
