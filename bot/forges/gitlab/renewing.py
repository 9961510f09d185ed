"""The bot's token at a GitLab, which ends within a year: exchanged for a new one in time.

Only a token of the secret store is exchanged, since the old one ends at that moment: what stands in
the environment would be of no use any more. Replicas share the store, and read it again when
another one has written it.

Source: https://docs.gitlab.com/api/personal_access_tokens/#rotate-a-personal-access-token
"""

from collections.abc import Callable
from datetime import date, timedelta

import structlog

from bot import gitlabs, logs
from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.forges.gitlab.http import Clients, send
from bot.forges.port import ForgeBusyError, ForgeRefusedError
from bot.forges.unreadable import understood
from bot.gitlabs import GitLabInstance
from bot.vault import Vault, VaultError

log = structlog.get_logger()

SOON = timedelta(days=30)
"""How long before its end a token is exchanged: then GitLab begins to warn its owners, too."""

LIFE = timedelta(days=364)
"""Of a token: GitLab grants a year at most, and its day may have begun where ours has not."""

PAUSE = 43_200.0
"""Seconds between looks at when the token ends: half a day."""

_SELF = "/personal_access_tokens/self"


class RenewedToken:
    """The token of an instance, as it is now.

    Args:
        instance: The instance.
        vault: The secret store that has the token; None where the environment has it.
        clock: Tells which day it is.
        offload: Where requests and the store are waited for.
        clients: Makes clients of the instance, with a token.
    """

    def __init__(
        self,
        instance: GitLabInstance,
        vault: Vault | None,
        *,
        clock: Clock = SYSTEM,
        offload: Offload = in_thread,
        clients: Callable[[str, Callable[[], str]], Clients] = Clients,
    ) -> None:
        self._instance = instance
        self._vault = vault if instance.stored else None
        self._token = instance.token
        self._clock = clock
        self._offload = offload
        self._clients = clients
        self._written = self._stamp()

    def __call__(self) -> str:
        """The token; from threads."""
        stamp = self._stamp()
        if self._vault is not None and stamp != self._written:
            try:
                known = {
                    each.name: each.token
                    for each in gitlabs.stored(self._vault)
                    if each.url == self._instance.url  # one that took the name has another's token
                }
            except VaultError as error:
                log.warning("the token is as it was", forge=self._instance.name, reason=str(error))
            else:
                self._token = known.get(self._instance.name, self._token)
                self._written = stamp
                logs.hide(self._token)
        return self._token

    async def keep(self) -> None:
        """Exchange it in time, for as long as the bot runs."""
        while self._vault is not None:
            try:
                await self._offload(self.renew)
            except (ForgeBusyError, ForgeRefusedError, VaultError) as error:
                log.error("the token is not renewed", forge=self._instance.name, reason=str(error))
            await self._clock.sleep(PAUSE)

    def renew(self) -> None:
        """Exchange it now if it ends soon.

        Raises:
            ForgeBusyError, ForgeRefusedError: GitLab does not.
            VaultError: The secret store cannot be read or written.
        """
        if self._vault is not None:
            self._token = gitlabs.rotate(self._vault, self._instance.name, self._exchanged)

    def _exchanged(self, token: str) -> str:
        clients = self._clients(self._instance.url, lambda: token)
        try:
            today, wanted = self._clock.now().date(), "read when its token ends"
            answer = send(clients, wanted, "GET", _SELF)
            with understood(wanted):
                ends = answer.data["expires_at"]
                if not ends or date.fromisoformat(ends) - today > SOON:
                    return token
            until = (today + LIFE).isoformat()
            wanted, body = "exchange its token", {"expires_at": until}
            made = send(clients, wanted, "POST", f"{_SELF}/rotate", body=body)
        finally:
            clients.close()
        with understood(wanted):
            token = made.data["token"]
            if not (isinstance(token, str) and token.isascii() and token.isprintable() and token):
                raise ValueError("no token")
        logs.hide(token)
        log.info("token renewed", forge=self._instance.name, until=until)
        return token

    def _stamp(self) -> int:
        """When the secret store was written; 0 where there is none."""
        try:
            return self._vault.file.stat().st_mtime_ns if self._vault is not None else 0
        except OSError:
            return 0
