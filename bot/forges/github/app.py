"""The App as GitHub knows it: its signature, number and login, and tokens of its installations."""

import threading
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import jwt
from github.Auth import AppAuth, Token

from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.forges.budget import Account
from bot.forges.exchange import ForgeTime
from bot.forges.github.fields import time
from bot.forges.github.former import FormerApp, counting
from bot.forges.github.http import Clients, JSONObject, call, send
from bot.forges.port import BotIdentity
from bot.store.port import Budgets
from lifecycle.identity import GITHUB

RENEW_BEFORE = timedelta(minutes=2)
"""A token is renewed this long before it ends, so that a push begun with it can finish."""


_NEVER_READ = frozenset({"workflows"})
"""Permissions that there are for writing alone."""


@cache
def _signer(private_key: str) -> Callable[[dict[str, Any]], str]:
    """What signs the claims of a JWT; reading the key from PEM takes a hundred times as long."""
    key = jwt.get_algorithm_by_name("RS256").prepare_key(private_key)
    return lambda claims: jwt.encode(claims, key, algorithm="RS256")


class AppClients:
    """The App, with a pool of clients for itself and one for each installation.

    Implements `ForgeCredentials`.

    Args:
        api_url: Where GitHub's REST API answers.
        app_id: The App's number or client id.
        private_key: The App's, in PEM.
        clock: For the ends of tokens.
        offload: Where requests wait for their answers.
        budgets: What all replicas may ask; None asks without limit.
        moments: See `Clients`.
        instance: Tells this bot's check runs from those of another bot of the same App; "" for the
            one without a name of its own.
        reads_only: Tokens of installations are made that can only read, so that the forge itself
            refuses every write.
        former: Apps that it replaces.
        accounts: Machine users that it replaces, each with its number.
        forge: Name of the GitHub.
    """

    def __init__(
        self,
        api_url: str,
        app_id: str,
        private_key: str,
        *,
        clock: Clock = SYSTEM,
        offload: Offload = in_thread,
        budgets: Budgets | None = None,
        moments: bool | None = None,
        instance: str = "",
        reads_only: bool = False,
        former: Sequence[FormerApp] = (),
        accounts: Collection[tuple[str, int]] = (),
        forge: str = GITHUB,
    ) -> None:
        self.forge = forge
        self.instance = instance
        known = frozenset(accounts)
        # What such an account says is a machine's, and it approves nothing.
        earlier = frozenset((each.login, each.account) for each in former)
        self.machine = BotIdentity("", "", 0, earlier, known) if known else None
        self._reads_only = reads_only
        self._former = former
        self._accounts = known
        self._budgets = budgets
        self._moments = moments
        self._api_url = api_url
        self._clock = clock
        self._offload = offload
        self._sign = _signer(private_key)
        self._time = ForgeTime(clock)
        self.clients = self._clients(
            f"{forge}:app", lambda: AppAuth(app_id, sign_func=self._signed)
        )
        self._tokens: dict[int, tuple[str, datetime]] = {}
        self._lock = threading.Lock()
        self._pools: dict[int, Clients] = {}
        self._about: JSONObject = {}

    @property
    def api_url(self) -> str:
        """Where GitHub's REST API answers."""
        return self._api_url

    async def login(self) -> str:
        """The login that an App's comments carry."""
        return f"{(await self.about())['slug']}[bot]"

    async def identity(self) -> BotIdentity:
        """The login that an App's comments carry, and the address of its commits."""
        login = await self.login()
        address = f"{login}@users.noreply.github.com"
        former = await counting(self._former)
        return BotIdentity(login, address, former=former, accounts=self._accounts)

    async def number(self) -> int:
        """The App's number, by which its checks are known."""
        return int((await self.about())["id"])

    async def about(self) -> JSONObject:
        """What GitHub says of the App, asked once."""
        if not self._about:
            self._about = (await call(self.clients, "read the App", "GET", "/app")).data
        return self._about

    async def check(self) -> None:
        """Ask the forge for the App, which counts towards no installation's limit."""
        await call(self.clients, "read the App", "GET", "/app")

    async def permissions(self, installation: int) -> JSONObject:
        """What the App may do in an installation now."""
        path = f"/app/installations/{installation}"
        answer = await call(self.clients, "read the installation", "GET", path)
        return dict(answer.data["permissions"])

    def installation_token(self, installation: int) -> str:
        """A token of an installation, renewed before it ends; for threads."""
        with self._lock:
            token, ends = self._tokens.get(installation, ("", datetime.min.replace(tzinfo=UTC)))
            if ends > self._time.now() + RENEW_BEFORE:
                return token
            path = f"/app/installations/{installation}/access_tokens"
            body = self._reading(installation) if self._reads_only else {}
            data = send(self.clients, "mint a token", "POST", path, body=body).data
            self._tokens[installation] = (str(data["token"]), time(data["expires_at"]))
            return str(data["token"])

    def _reading(self, installation: int) -> JSONObject:
        """Of what was granted, what can be read."""
        path = f"/app/installations/{installation}"
        granted = send(self.clients, "read the installation", "GET", path).data["permissions"]
        return {"permissions": {name: "read" for name in granted if name not in _NEVER_READ}}

    def _signed(self, claims: dict[str, Any]) -> str:
        """A JWT of the time at GitHub; from a minute ago, since that is not known to the second."""
        now = int(self._time.now().timestamp())
        return self._sign(claims | {"iat": now - 60, "exp": now + 480})

    def close(self) -> None:
        """Close all connections."""
        self.clients.close()
        for pool in self._pools.values():
            pool.close()

    def of(self, installation: int) -> Clients:
        """Clients with the token of an installation."""
        if installation not in self._pools:
            self._pools[installation] = self._clients(
                f"{self.forge}:{installation}", lambda: Token(self.installation_token(installation))
            )
        return self._pools[installation]

    def _clients(self, name: str, auth: Callable[[], AppAuth | Token]) -> Clients:
        return Clients(
            self._api_url,
            auth,
            account=Account(name, self._budgets, clock=self._clock),
            moments=self._moments,
            clock=self._clock,
            offload=self._offload,
            time=self._time,
        )
