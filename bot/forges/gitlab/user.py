"""Who the bot is at an instance: an account that only the bot uses, by one token.

The token is of a service account, a project, a group or a person; each has an account, by whose
number it is known.

Source: https://docs.gitlab.com/api/users/#list-current-user,
https://docs.gitlab.com/api/personal_access_tokens/#self-inform
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

import requests

from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.forges.budget import Account
from bot.forges.exchange import ForgeTime
from bot.forges.gitlab.http import Clients, bounded_session, call
from bot.forges.port import BotIdentity
from bot.forges.unreadable import understood
from bot.store.port import Budgets
from fnrunner import urls

WHOSE = "read whose its token is"


@dataclass(frozen=True, slots=True)
class TokenAbout:
    """What GitLab tells of a token.

    Attributes:
        scopes: What it may do at all.
        ends: The day from which on it is of no use; None where it has no end.
    """

    scopes: frozenset[str]
    ends: date | None


class GitLabUser:
    """The account; implements `bot.forges.gitlab.access.ForgeCredentials`.

    Args:
        name: Of the instance, as keys and records have it.
        url: Its address.
        token: Gives the token; asked before each request.
        ca: File of certificates to trust; "" for the system's.
        instance: Tells this bot's checks from those of another bot of the same account.
        seals: Keys that seal its comments, newest first; without any, no seal is checked.
        clock: For when answers came.
        offload: Where requests wait for their answers.
        budgets: What all replicas may ask; None asks without limit.
        session: See `Clients`.
    """

    def __init__(
        self,
        name: str,
        url: str,
        token: Callable[[], str],
        *,
        ca: str = "",
        instance: str = "",
        seals: Sequence[bytes] = (b"",),
        clock: Clock = SYSTEM,
        offload: Offload = in_thread,
        budgets: Budgets | None = None,
        session: Callable[[], requests.Session] = bounded_session,
    ) -> None:
        self.name = name
        self.instance = instance
        self.seals = tuple(seals)
        self.since = datetime.min.replace(tzinfo=UTC)
        self._me: BotIdentity | None = None
        self.clients = Clients(
            url,
            token,
            ca=ca,
            account=Account(f"{name}:user", budgets, clock=clock),
            clock=clock,
            offload=offload,
            time=ForgeTime(clock),
            session=session,
        )

    @property
    def login(self) -> str:
        """Our login, once `identity` was asked for; no project is served before.

        Raises:
            ValueError: It was not asked for.
        """
        if self._me is None:
            raise ValueError("the identity was not asked for")
        return self._me.login

    async def identity(self) -> BotIdentity:
        """The account, asked for once."""
        if self._me is None:
            data = (await call(self.clients, WHOSE, "GET", "/user")).data
            with understood(WHOSE):
                login, number = str(data["username"]), int(data["id"])
                since = datetime.fromisoformat(str(data["created_at"]))
            host = urls.parts(self.clients.url).hostname
            noreply = f"{number}-{login}@users.noreply.{host}"
            address = data.get("commit_email") or data.get("public_email") or noreply
            self.since = since
            self._me = BotIdentity(login, str(address), number)
        return self._me

    async def check(self) -> None:
        """Ask for the account, every time."""
        await call(self.clients, WHOSE, "GET", "/user")

    async def about(self) -> TokenAbout:
        """What there is to know of the token."""
        wanted, path = "read what its token may do", "/personal_access_tokens/self"
        data = (await call(self.clients, wanted, "GET", path)).data
        with understood(wanted):
            ends = data.get("expires_at")
            return TokenAbout(
                frozenset(map(str, data.get("scopes") or ())),
                date.fromisoformat(ends) if ends else None,
            )

    def close(self) -> None:
        """Close all connections."""
        self.clients.close()
