"""A forge that the bot reaches as one account with a token: the account is the place it is let in.

GitLab is always so, and GitHub where the bot is a machine user.
"""

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from bot.forges.port import BotIdentity, Installation


class BotAccount(Protocol):
    """Who the bot is there."""

    async def identity(self) -> BotIdentity:
        """The account, asked for once."""

    async def check(self) -> None:
        """Ask for the account, every time."""


AccountT = TypeVar("AccountT", bound=BotAccount)


class OneAccount(Generic[AccountT]):
    """That part of `bot.forges.port.Forges` which is about who we are, and where we were let in.

    Args:
        user: The account.
    """

    def __init__(self, user: AccountT) -> None:
        self._user = user

    async def identity(self) -> BotIdentity:
        """The account."""
        return await self._user.identity()

    async def check(self) -> None:
        """Ask for the account, every time."""
        await self._user.check()

    async def installations(self) -> Sequence[Installation]:
        """The account, as the one place where it was let in."""
        return [Installation((await self.identity()).account)]

    async def installation(self, number: int) -> Installation | None:
        """The account; None for the number of anything else, such as an App's installation."""
        return Installation(number) if number == (await self.identity()).account else None
