"""A person who looks at a repository with a token of their own, and sees what the bot's App wrote.

Only which App the bot is has to be told: whose comments and check runs are its own follows from it.
"""

from github.Auth import Token

from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.forges.exchange import ForgeTime
from bot.forges.github.app import AppClients
from bot.forges.github.fields import time
from bot.forges.github.forges import repository_of
from bot.forges.github.http import Clients, JSONObject, call
from bot.forges.port import BotIdentity, ForgeMissingError, Repository


class Onlooker:
    """Clients with one token, for whatever is asked; implements `Access`.

    Args:
        api_url: Where GitHub's REST API answers.
        token: The person's; one that can only read will do.
        slug: Of the bot's App, as in its address.
        instance: See `Access`.
        clock: For when answers came.
        offload: Where requests wait for their answers.
    """

    def __init__(
        self,
        api_url: str,
        token: str,
        slug: str,
        *,
        instance: str = "",
        clock: Clock = SYSTEM,
        offload: Offload = in_thread,
    ) -> None:
        self.instance = instance
        self.machine: BotIdentity | None = None
        self.machine = None
        self._slug = slug
        self._token = token
        self._number: int | None = None
        self.clients = Clients(
            api_url,
            lambda: Token(token),
            clock=clock,
            offload=offload,
            time=ForgeTime(clock),
        )

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

    async def permissions(self, installation: int) -> JSONObject:
        """Nobody is told what the App may do."""
        del installation
        return {}

    def installation_token(self, installation: int) -> str:
        """The token."""
        del installation
        return self._token

    def of(self, installation: int) -> Clients:
        """The clients."""
        del installation
        return self.clients

    def close(self) -> None:
        """Close all connections."""
        self.clients.close()

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
