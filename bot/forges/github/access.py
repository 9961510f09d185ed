"""Who the bot is at GitHub, and with what its requests are signed: an App, or a machine user."""

from typing import Protocol

from bot.forges.github.http import Clients, JSONObject
from bot.forges.port import BotIdentity


class Access(Protocol):
    """What requests about one repository need to know of who sends them."""

    @property
    def instance(self) -> str:
        """Tells this bot's checks from those of another bot of the same account; "" for the one."""

    @property
    def machine(self) -> BotIdentity | None:
        """Who we are, where people are called like us; None for an App, whose login tells."""

    async def identity(self) -> BotIdentity:
        """Who we are."""

    async def number(self) -> int:
        """The App's number, by which its checks are known; 0 where there is none."""

    async def permissions(self, installation: int) -> JSONObject:
        """What we may do, as far as that is told apart from the repository."""

    def installation_token(self, installation: int) -> str:
        """A token for git and the API; for threads."""

    def of(self, installation: int) -> Clients:
        """Clients with such a token."""
