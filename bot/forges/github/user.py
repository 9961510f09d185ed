"""A machine user: an ordinary account that only the bot uses, by one personal access token.

Source: https://docs.github.com/authentication/keeping-your-account-and-data-secure/managing-your-personal-access-tokens
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.forges.budget import Account
from bot.forges.github.access import OneToken
from bot.forges.github.fields import time
from bot.forges.github.former import FormerApp, counting
from bot.forges.github.http import JSONObject, call
from bot.forges.port import BotIdentity
from bot.store.port import Budgets
from lifecycle.identity import GITHUB


@dataclass(frozen=True, slots=True)
class TokenAbout:
    """What GitHub tells of a token in its answers.

    Attributes:
        login: Whose it is.
        scopes: Of a classic token; None of a fine-grained one, whose permissions nobody is told.
        ends: When it ends, in GitHub's words; "" where that is not told.
    """

    login: str
    scopes: frozenset[str] | None
    ends: str


class UserClients(OneToken):
    """A machine user; implements `ForgeCredentials`.

    Args:
        api_url: Where GitHub's REST API answers.
        token: Of the account.
        former: Apps that the account replaces.
        accounts: Other machine users that it replaces, each with its number.
        forge: Name of the GitHub.
        clock: For when answers came.
        offload: Where requests wait for their answers.
        budgets: What all replicas may ask; None asks without limit.
        instance: See `ForgeCredentials`.
    """

    def __init__(
        self,
        api_url: str,
        token: str,
        *,
        former: Sequence[FormerApp] = (),
        accounts: Collection[tuple[str, int]] = (),
        forge: str = GITHUB,
        clock: Clock = SYSTEM,
        offload: Offload = in_thread,
        budgets: Budgets | None = None,
        instance: str = "",
    ) -> None:
        super().__init__(
            api_url,
            token,
            instance=instance,
            account=Account(f"{forge}:user", budgets, clock=clock),
            clock=clock,
            offload=offload,
        )
        self.since = datetime.min
        self.forge = forge
        self._former = former
        self._accounts = frozenset(accounts)

    async def identity(self) -> BotIdentity:
        """The account, asked for once."""
        if self.machine is None:
            data = await self._me()
            login, number = str(data["login"]), int(data["id"])
            self.since = time(data["created_at"])
            address = f"{number}+{login}@users.noreply.github.com"
            self.machine = BotIdentity(login, address, number, accounts=self._accounts)
        self.machine = replace(self.machine, former=await counting(self._former))
        return self.machine

    async def about(self) -> TokenAbout:
        """What there is to know of the token."""
        answer = await call(self.clients, "read whose the token is", "GET", "/user")
        said = answer.headers.get("x-oauth-scopes")
        ends = answer.headers.get("github-authentication-token-expiration", "")
        scopes = None if said is None else frozenset(part.strip() for part in said.split(","))
        return TokenAbout(str(answer.data["login"]), scopes, ends)

    async def check(self) -> None:
        """Ask for the account, every time."""
        await self._me()

    async def number(self) -> int:
        """None of an App."""
        return 0

    async def _me(self) -> JSONObject:
        answer = await call(self.clients, "read whose the token is", "GET", "/user")
        found: JSONObject = answer.data
        return found
