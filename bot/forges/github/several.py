"""Several Apps of one GitHub served by one process, as during a move from one to another.

Each repository is served by exactly one of them: where two are installed, by the one that comes
first, which is the newest. What the others wrote and signed there is ours as well.
"""

from collections.abc import Mapping, Sequence

import structlog

from bot.forges.port import (
    BotIdentity,
    Drift,
    FailedDeliveries,
    Forge,
    ForgeBusyError,
    ForgeDeniedError,
    ForgeMissingError,
    ForgeRefusedError,
    Forges,
    Installation,
    LoggedDelivery,
    Repository,
)
from bot.keys import Key
from bot.store.hints import Hint
from lifecycle.identity import RepositoryId

log = structlog.get_logger()

TWICE = (
    "two Apps of this bot are installed on a repository, and the newer one serves it: take it out"
    " of the installation of the older one"
)


class SeveralForges:
    """Apps of one GitHub, as one; implements `bot.forges.port.Forges`.

    The first has to answer. An older one that does not any more, because it was deleted, keeps
    nothing from being served.

    Args:
        apps: Newest first; at least one.
    """

    def __init__(self, apps: Sequence[Forges]) -> None:
        self._apps = tuple(apps)
        self._owners: dict[int, Forges] = {}
        self._told: set[RepositoryId] = set()

    @property
    def name(self) -> str:
        """Of their GitHub."""
        return self._apps[0].name

    @property
    def most_parts(self) -> int:
        """Of their GitHub."""
        return self._apps[0].most_parts

    async def identity(self) -> BotIdentity:
        """The newest one; the others are former ones of it."""
        return await self._apps[0].identity()

    async def check(self) -> None:
        """Ask for the newest one."""
        await self._apps[0].check()

    async def installations(self) -> Sequence[Installation]:
        """Those of all of them; GitHub counts them together."""
        found: list[Installation] = []
        for app in self._apps:
            try:
                listed = await app.installations()
            except (ForgeRefusedError, ForgeBusyError) as error:
                if app is self._apps[0]:
                    raise
                log.warning("an older App does not answer", why=str(error))
                continue
            self._owners |= {each.number: app for each in listed}
            found += listed
        return found

    async def installation(self, number: int) -> Installation | None:
        """One installation, of whichever App it is."""
        unsure: list[ForgeBusyError | ForgeRefusedError] = []
        for app in self._apps:
            try:
                found = await app.installation(number)
            except (ForgeBusyError, ForgeRefusedError) as error:
                unsure += [] if self._is_gone(app, error) else [error]
                continue
            if found is not None:
                self._owners[number] = app
                return found
        if unsure:
            raise unsure[0]
        self._owners.pop(number, None)
        return None

    async def is_installed(self, repository: RepositoryId | str) -> bool:
        """Whether any of them has a repository, or an older one that cannot be asked may."""
        for app in self._apps:
            try:
                if await app.is_installed(repository):
                    return True
            except (ForgeBusyError, ForgeRefusedError) as error:
                if app is self._apps[0]:
                    raise
                if not self._is_gone(app, error):
                    return True
        return False

    def _is_gone(self, app: Forges, error: Exception) -> bool:
        """Whether an App was deleted: an older one is, once GitHub does not know it."""
        return app is not self._apps[0] and isinstance(error, ForgeDeniedError)

    async def repositories_of(self, installation: int) -> Sequence[Repository]:
        """Those of one installation that no newer App has."""
        app = await self._owner(installation)
        taken = await self._served_before(app)
        listed = await app.repositories_of(installation)
        for repository in listed:
            if repository.id in taken and repository.id not in self._told:
                self._told.add(repository.id)
                older = (await app.identity()).login
                log.warning(TWICE, repository=repository.full_name, older=older)
        return [repository for repository in listed if repository.id not in taken]

    async def repository_by_id(self, repository_id: RepositoryId, installation: int) -> Repository:
        """One repository, as it is named now; missing where a newer App has it as well."""
        app = await self._owner(installation)
        if repository_id in await self._served_before(app):
            raise ForgeMissingError("read it", "a newer App of this bot is installed there")
        return await app.repository_by_id(repository_id, installation)

    def of(self, repository: Repository) -> Forge:
        """The forge for one repository."""
        return self._owners[repository.installation].of(repository)

    def wakes_of(self, headers: Mapping[str, str], body: bytes) -> Mapping[Key, Hint]:
        """As each of them reads it."""
        return self._apps[0].wakes_of(headers, body)

    async def drift(self, url: str = "") -> Sequence[Drift]:
        """Of the newest; and what both have."""
        found = list(await self._apps[0].drift(url))
        for app in self._apps[1:]:
            try:
                found += await self._twice(app)
            except (ForgeRefusedError, ForgeBusyError) as error:
                found.append(
                    Drift(
                        place="An older App of this bot",
                        found=f"GitHub does not accept it ({error.reason})",
                        wanted="an App that exists, or none in the bot's settings",
                        fix="If it was deleted on GitHub, run `porchbot setup --forget NUMBER`",
                        harmful=False,
                    )
                )
        return found

    async def failed_deliveries(self, page: str = "") -> FailedDeliveries:
        """Those of the newest; what an older one could not bring, sweeps find."""
        return await self._apps[0].failed_deliveries(page)

    async def delivery(self, guid: str) -> LoggedDelivery | None:
        """Of the newest, whose checks are those that people see."""
        return await self._apps[0].delivery(guid)

    async def logged_delivery(self, number: int) -> LoggedDelivery | None:
        """Likewise."""
        return await self._apps[0].logged_delivery(number)

    async def _twice(self, app: Forges) -> list[Drift]:
        """Repositories of an older App that a newer one has, too."""
        taken, login = await self._served_before(app), (await app.identity()).login
        return [
            Drift(
                place=f"{repository.full_name}, installation of the older App {login}",
                found="a newer App of this bot serves it as well",
                wanted="one installation only",
                fix=f"Remove it from the installation of {login}",
                harmful=False,
            )
            for number in await _active(app)
            for repository in await app.repositories_of(number)
            if repository.id in taken
        ]

    async def _served_before(self, app: Forges) -> set[RepositoryId]:
        """What newer ones have; where nothing changed, these lists cost nothing."""
        taken: set[RepositoryId] = set()
        for newer in self._apps[: self._apps.index(app)]:
            try:
                for number in await _active(newer):
                    taken |= {each.id for each in await newer.repositories_of(number)}
            except ForgeDeniedError as error:
                if not self._is_gone(newer, error):
                    raise
        return taken

    async def _owner(self, installation: int) -> Forges:
        if installation not in self._owners and await self.installation(installation) is None:
            raise ForgeMissingError("read the installation", "no App of this bot has it")
        return self._owners[installation]


async def _active(app: Forges) -> list[int]:
    return [each.number for each in await app.installations() if not each.suspended]
