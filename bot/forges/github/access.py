"""Who the bot is at GitHub, and with what its requests are signed: an App, or a machine user."""

from typing import Protocol

from github.Auth import Token

from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.forges.budget import Account
from bot.forges.exchange import ForgeTime
from bot.forges.github.http import Clients, JSONObject
from bot.forges.port import BotIdentity


class ForgeCredentials(Protocol):
    """What requests about one repository need to know of who sends them."""

    @property
    def instance(self) -> str:
        """Tells this bot's checks from those of another bot of the same account; "" for the one."""

    @property
    def machine(self) -> BotIdentity | None:
        """Who we are or were, where people are called like us; None where the login tells."""

    async def identity(self) -> BotIdentity:
        """Who we are."""

    async def number(self) -> int:
        """The App's number, by which its checks are known; 0 where there is none."""

    async def permissions(self, installation: int) -> JSONObject | None:
        """What we may do, as an App's installation tells it; None where nobody is told."""

    def installation_token(self, installation: int) -> str:
        """A token for git and the API; for threads."""

    def of(self, installation: int) -> Clients:
        """Clients with such a token."""


class OneToken:
    """Clients with one token for whatever is asked; the part of `ForgeCredentials` that is so then.

    Args:
        api_url: Where GitHub's REST API answers.
        token: Of an account.
        instance: See `ForgeCredentials`.
        account: Whose requests are counted with these; None counts nothing.
        clock: For when answers came.
        offload: Where requests wait for their answers.
    """

    def __init__(
        self,
        api_url: str,
        token: str,
        *,
        instance: str = "",
        account: Account | None = None,
        clock: Clock = SYSTEM,
        offload: Offload = in_thread,
    ) -> None:
        self.api_url = api_url
        self.instance = instance
        self.machine: BotIdentity | None = None
        self._token = token
        self.clients = Clients(
            api_url,
            lambda: Token(token),
            account=account,
            clock=clock,
            offload=offload,
            time=ForgeTime(clock),
        )

    async def permissions(self, installation: int) -> None:
        """Nobody is told what a token may do."""
        del installation

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
