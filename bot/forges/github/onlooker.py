"""A person who looks at a repository with a token of their own, and sees what the bot's App wrote.

Only which App the bot is has to be told: whose comments and check runs are its own follows from it.
"""

from bot.forges.github.access import OneToken
from bot.forges.github.app import AppClients
from bot.forges.github.fields import time
from bot.forges.github.forges import repository_of
from bot.forges.github.http import call
from bot.forges.port import BotIdentity, ForgeMissingError, Repository


class Onlooker(OneToken):
    """A person with a token of their own; implements `ForgeCredentials`.

    Args:
        api_url: Where GitHub's REST API answers.
        token: The person's; one that can only read will do.
        slug: Of the bot's App, as in its address.
        instance: See `ForgeCredentials`.
    """

    def __init__(self, api_url: str, token: str, slug: str, *, instance: str = "") -> None:
        super().__init__(api_url, token, instance=instance)
        self._slug = slug
        self._number: int | None = None

    async def identity(self) -> BotIdentity:
        """The bot's, whose comments are its own."""
        login = f"{self._slug}[bot]"
        return BotIdentity(login, f"{login}@users.noreply.github.com")

    async def number(self) -> int:
        """The App's number; 0 where it is a private one, whose check runs are nobody's then."""
        if self._number is None:
            try:
                path = f"/apps/{self._slug}"
                self._number = int((await call(self.clients, "find it", "GET", path)).data["id"])
            except ForgeMissingError:
                self._number = 0
        return self._number

    async def repository(self, full_name: str) -> Repository:
        """A repository, as the person sees it."""
        data = (await call(self.clients, "read it", "GET", f"/repos/{full_name}")).data
        return repository_of(data, 0, time(data["created_at"]))


async def installed(app: AppClients, full_name: str) -> tuple[int, int]:
    """Return the numbers of a repository, by its full name, and of the App's installation there.

    Raises:
        ForgeMissingError: The App is not installed there.
    """
    path = f"/repos/{full_name}/installation"
    where = int((await call(app.clients, "find its installation", "GET", path)).data["id"])
    data = (await call(app.of(where), "read it", "GET", f"/repos/{full_name}")).data
    return int(data["id"]), where
