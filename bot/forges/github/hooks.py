"""Webhooks of repositories, which a machine user needs: made and mended with an owner's token.

An App has one webhook for all of its repositories; an account has none, and each repository sends
by its own.

Source: https://docs.github.com/rest/repos/webhooks
"""

from dataclasses import dataclass
from enum import StrEnum

from bot.forges.github.http import Clients, JSONObject, call, pages
from bot.forges.github.registration import EVENTS


class HookState(StrEnum):
    """What became of the webhook of one repository."""

    MADE = "made"
    MENDED = "mended"
    THERE = "there"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedHook:
    """The webhook that a repository is to have.

    Attributes:
        url: Where it sends.
        secret: What it signs with; "" to make or mend nothing.
        fresh: The secret is new, so that a webhook that is there has another one.
    """

    url: str
    secret: str
    fresh: bool

    @property
    def _config(self) -> JSONObject:
        return {
            "url": self.url,
            "content_type": "json",
            "secret": self.secret,
            "insecure_ssl": "0",
        }

    def lacks(self, hook: JSONObject) -> bool:
        """Whether a webhook to this address is not as it is to be, as far as GitHub tells."""
        config, heard = hook.get("config") or {}, {*(hook.get("events") or ())}
        return (
            self.fresh
            or not hook.get("active")
            or not ("*" in heard or heard >= {*EVENTS})
            or config.get("content_type") != "json"
            or str(config.get("insecure_ssl", "0")) != "0"
            or not config.get("secret")
        )

    async def ensure(self, owner: Clients, full_name: str) -> HookState:
        """Make the webhook of a repository, or mend it; tells which.

        Args:
            owner: Clients with the token of somebody who administers the repository.
            full_name: Such as "acme/blueprints".

        Raises:
            ForgeBusyError, ForgeRefusedError: As of any request.
        """
        path, wanted = f"/repos/{full_name}/hooks", "set up the webhook of a repository"
        async for hook in pages(owner, wanted, path):
            if (hook.get("config") or {}).get("url") != self.url:
                continue
            if not self.lacks(hook):
                return HookState.THERE
            if self.secret:
                mended = {"active": True, "add_events": list(EVENTS), "config": self._config}
                await call(owner, wanted, "PATCH", f"{path}/{int(hook['id'])}", body=mended)
            return HookState.MENDED
        if self.secret:
            new = {"name": "web", "active": True, "events": list(EVENTS), "config": self._config}
            await call(owner, wanted, "POST", path, body=new)
        return HookState.MADE
