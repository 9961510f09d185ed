"""Finding out what there is to serve: installations, and the repositories of each.

Each installation has a key of its own, so that one that fails (an IP allow list, a suspension, an
outage) waits by itself, says why in its row, and keeps none of the others from being found. A list
may lack things for once: what was served and is not listed is asked for by its number before it is
believed to be gone.
"""

import structlog

from bot import keys
from bot.forges.port import ForgeMissingError, Forges
from bot.store.hints import NOTHING, Hint
from bot.store.port import Store

log = structlog.get_logger()


class Discovery:
    """Keeps the index of what is served, and wakes it.

    Args:
        forges: The forge that is served.
        store: The index and the work.
    """

    def __init__(self, forges: Forges, store: Store) -> None:
        self._forges = forges
        self._store = store

    async def installations(self) -> None:
        """Wake every installation; what belongs to none that works is not served any more."""
        listed = list(await self._forges.installations())
        for number in sorted(
            await self._store.repositories.installations(self._forges.name)
            - {each.number for each in listed}
        ):
            one = await self._forges.installation(number)
            listed += [] if one is None else [one]
        working = [each.number for each in listed if not each.suspended]
        for name in await self._store.repositories.only_installations(self._forges.name, working):
            log.warning("not served any more: no installation that works", repository=name)
        await self._store.queue.wake_all(
            {keys.InstallationKey(number, self._forges.name): NOTHING for number in working}
        )

    async def repositories(self, installation: int) -> None:
        """Wake every repository of an installation; what it has lost is not served any more."""
        try:
            found = await self._forges.repositories_of(installation)
        except ForgeMissingError:
            found = ()  # gone meanwhile; its repositories may be in another
        for repository in found:
            await self._store.repositories.rename(repository)
        ids = [r.id for r in found]
        for number in sorted(
            await self._store.repositories.repositories(self._forges.name, installation) - set(ids)
        ):
            ids += [number] if await self._forges.is_installed(number) else []
        for name in await self._store.repositories.only_repositories(
            self._forges.name, installation, ids
        ):
            log.warning("not served any more: not in its installation", repository=name)
        hint = Hint(installations=frozenset({installation}))
        await self._store.queue.wake_all({keys.RepositoryKey(number): hint for number in ids})
