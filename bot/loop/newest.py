"""Finds a project that was just made, at a forge that tells nobody of it.

A GitLab without a group's webhook (Premium) and without a system hook tells of a new project only
after it has a webhook of its own. Sweeps find it (`discovery`); a question in between costs one
request, however many projects there are.
"""

from typing import Protocol, runtime_checkable

from bot import keys
from bot.clock import Clock
from bot.forges.port import BotIdentity, ForgeBusyError, ForgeRefusedError
from bot.store.port import Store
from bot.store.values import StoreError
from lifecycle.identity import RepositoryId

PART = 1 / 15
"""Of the interval of sweeps, 15 minutes by default: how long to wait between two questions."""


@runtime_checkable
class NewestForges(Protocol):
    """A forge that can be asked for what was made last."""

    @property
    def name(self) -> str:
        """Which forge."""

    async def identity(self) -> BotIdentity:
        """Who the bot is there."""

    async def newest(self) -> RepositoryId | None:
        """The repository made last of those that are to be served; None where there is none."""


async def watch(forges: NewestForges, store: Store, interval: float, clock: Clock) -> None:
    """Have the forge swept when a repository was made that nobody serves, until cancelled.

    Args:
        forges: The forge.
        store: What is served, and where the sweep is asked for.
        interval: Seconds between two sweeps.
        clock: How long to wait.
    """
    told: RepositoryId | None = None
    while True:
        await clock.sleep(interval * PART * (0.9 + 0.2 * clock.random()))
        try:
            newest = await forges.newest()
            if newest is None or newest == told:  # told once: what has no code is never served
                continue
            account = (await forges.identity()).account
            if newest not in await store.repositories.repositories(forges.name, account):
                await store.queue.wake(keys.SweepKey(keys.Sweep.CHANGES, forges.name))
            told = newest
        except (ForgeBusyError, ForgeRefusedError, StoreError):
            continue  # sweeps meet the same, and say so
