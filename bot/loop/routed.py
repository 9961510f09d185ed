"""Several forges in one process: each key goes to the controller of its forge."""

from collections.abc import Mapping
from typing import Protocol

import structlog

from bot import keys
from bot.loop.work import Result, Settled, WorkItem

log = structlog.get_logger()


class KeyHandler(Protocol):
    """What handles the keys of one forge: `bot.loop.controller.Controller`."""

    async def work(self, work: WorkItem) -> Result:
        """Bring one key to rest."""

    async def runner_is_back(self) -> None:
        """Look at once at what a function could not be run on."""


class Controllers:
    """A controller for each forge, by its name; they share the database, mirrors and renderer.

    Args:
        served: At least one.
    """

    def __init__(self, served: Mapping[str, KeyHandler]) -> None:
        self._served = served

    async def work(self, work: WorkItem) -> Result:
        """Bring one key to rest.

        What is of a forge that is not served (any more, or by this replica yet) is left alone: the
        sweep that starts when it is served finds what is to be done there.
        """
        controller = self._served.get(keys.forge_of(work.key))
        if controller is None:
            log.info("not looked at", key=str(work.key), reason="its forge is not served here")
            return Settled()
        return await controller.work(work)

    async def runner_is_back(self) -> None:
        """Look at once at what a function could not be run on, at whichever forge."""
        await next(iter(self._served.values())).runner_is_back()
