"""Who the bot is at a GitLab: an ordinary account that only the bot uses, by one token."""

from collections.abc import Sequence
from typing import Protocol

from bot.forges.port import BotIdentity


class ForgeCredentials(Protocol):
    """What requests about one project need to know of who sends them."""

    @property
    def instance(self) -> str:
        """Tells this bot's checks from those of another bot of the same account; "" for the one."""

    @property
    def seals(self) -> Sequence[bytes]:
        """Keys that seal our comments, newest first; without any, no seal is checked."""

    @property
    def login(self) -> str:
        """Our login, once `identity` was asked for."""

    async def identity(self) -> BotIdentity:
        """Who we are; asked for once."""
