"""Finding out what there is to serve: installations, and the repositories of each.

Each installation has a key of its own, so that one that fails (an IP allow list, a suspension, an
outage) waits by itself, says why in its row, and keeps none of the others from being found. A list
may lack things for once: what was served and is not listed is asked for by its number before it is
believed to be gone.
"""

import structlog

from bot import keys
from bot.forges.port import (
    ForgeBusyError,
    ForgeMissingError,
    ForgeRefusedError,
    Forges,
    Installation,
)
from bot.loop.idle import IdleWatch
from bot.store.hints import START, Hint
from bot.store.port import Store

EVERYTHING = Hint(everything=frozenset({"rediscovery"}))
"""All that is found is to be swept, whatever was seen to change."""

log = structlog.get_logger()


class Discovery:
    """Keeps the index of what is served, and wakes it.

    Args:
        forges: The forge that is served.
        store: The index and the work.
        idle: Which of what was found to sweep.
    """

    def __init__(self, forges: Forges, store: Store, idle: IdleWatch) -> None:
        self._idle = idle
        self._forges = forges
        self._store = store

    async def installations(self, hint: Hint = EVERYTHING) -> None:
        """Wake every installation; what belongs to none that works is not served any more.

        Args:
            hint: With it: by `EVERYTHING` all repositories are swept, else those that changed.
        """
        listed = list(await self._forges.installations())
        for number in sorted(
            await self._store.repositories.installations(self._forges.name)
            - {each.number for each in listed}
        ):
            try:
                one = await self._forges.installation(number)
            except (ForgeBusyError, ForgeRefusedError):
                one = Installation(number)  # its own key waits, and says why
            listed += [] if one is None else [one]
        working = [each.number for each in listed if not each.suspended]
        for name in await self._store.repositories.only_installations(self._forges.name, working):
            log.warning("not served any more: no installation that works", repository=name)
        await self._store.queue.wake_all(
            {keys.InstallationKey(number, self._forges.name): hint for number in working}
        )

    async def repositories(self, installation: int, asked: Hint) -> None:
        """Have the repositories of an installation swept that are new, or changed, or all of them.

        What the installation has lost is not served any more.
        """
        served = await self._store.repositories.repositories(self._forges.name, installation)
        try:
            found = await self._forges.repositories_of(installation)
        except ForgeMissingError:
            found = ()  # gone meanwhile; its repositories may be in another
        for repository in found:
            await self._store.repositories.rename(repository)
        ids = [r.id for r in found]
        for number in sorted(served - set(ids)):
            ids += [number] if await self._forges.is_installed(number) else []
        for name in await self._store.repositories.only_repositories(
            self._forges.name, installation, ids
        ):
            log.warning("not served any more: not in its installation", repository=name)
        if asked.everything:
            hint = Hint(installations=frozenset({installation}))
            await self._store.queue.wake_all({keys.RepositoryKey(number): hint for number in ids})
        else:
            fresh = {each.id for each in found} - served
            await self._idle.round(found, fresh, started=START in asked.by)
