"""When the bot ceased to only observe (`PORCHBOT_MODE`): what was said by then never counts.

No log of the forge or of git has it, so the database does: processes tell it how they run, again
and again, so that one that is made anew meanwhile has it as well (ADR 81).
"""

from contextlib import suppress
from datetime import datetime

from bot.clock import Clock
from bot.store.port import Repositories
from bot.store.values import StoreError

EVERY = 60.0
"""Seconds between two words."""


async def keep(
    repositories: Repositories, ended: datetime | None, clock: Clock, *, observes: bool
) -> None:
    """Tell how this process runs, until cancelled.

    Args:
        repositories: Whom to tell.
        ended: When the bot ceased to observe, as was told at the start.
        clock: The time, and how long to wait between two words.
        observes: It only observes.
    """
    while True:
        await clock.sleep(EVERY)
        with suppress(StoreError):  # whoever waits for the database says so already
            await repositories.observing(observes, clock.now(), ended)
