"""Webhooks that a machine user needs: made and mended with an owner's token.

An App has one webhook for all of its repositories; an account has none. Each repository sends by
its own, or an organization by one for all that it owns.

Source: https://docs.github.com/rest/repos/webhooks https://docs.github.com/rest/orgs/webhooks
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from bot.forges.github.http import Clients, JSONObject, call, pages
from bot.forges.github.registration import EVENTS


class HookState(StrEnum):
    """What became of one webhook."""

    MADE = "made"
    MENDED = "mended"
    THERE = "there"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedHook:
    """The webhook that a repository or an organization is to have.

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

    async def ensure(self, owner: Clients, name: str) -> HookState:
        """Make a webhook, or mend it; tells which.

        Args:
            owner: Clients with the token of somebody who administers the repository, or who owns
                the organization.
            name: Of a repository, such as "acme/blueprints", or of an organization, "acme".

        Raises:
            ForgeBusyError, ForgeRefusedError: As of any request.
        """
        one = "/" in name
        path = f"/repos/{name}/hooks" if one else f"/orgs/{name}/hooks"
        wanted = f"set up the webhook of {'a repository' if one else 'an organization'}"
        async for hook in pages(owner, wanted, path):
            if (hook.get("config") or {}).get("url") != self.url:
                continue
            if not self.lacks(hook):
                return HookState.THERE
            if self.secret:
                # Of an organization's webhook all events are told at once.
                heard = hook.get("events") or ()
                events = {"add_events": [*EVENTS]} if one else {"events": _with(heard)}
                mended = {"active": True, **events, "config": self._config}
                await call(owner, wanted, "PATCH", f"{path}/{int(hook['id'])}", body=mended)
            return HookState.MENDED
        if self.secret:
            new = {"name": "web", "active": True, "events": list(EVENTS), "config": self._config}
            await call(owner, wanted, "POST", path, body=new)
        return HookState.MADE


def _with(heard: Iterable[str]) -> list[str]:
    """The events of a webhook, and those that the bot needs; "*" stands for all."""
    there = [*heard]
    return there if "*" in there else [*dict.fromkeys((*there, *EVENTS))]
