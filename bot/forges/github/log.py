"""The App's log of deliveries: what GitHub could not bring, listed and read for three days.

It is read rather than asked to send again: that needs no way from GitHub to us, which may be what
is broken. It comes to us by the App's own signature, and so needs no second one.

Source: https://docs.github.com/rest/apps/webhooks
"""

import json
import re
from urllib.parse import unquote

import structlog

from bot.forges.exchange import listed
from bot.forges.github.app import AppClients
from bot.forges.github.deliveries import read_verified
from bot.forges.github.events import is_heard
from bot.forges.github.fields import time
from bot.forges.github.http import JSONObject, call
from bot.forges.port import FailedDeliveries, FailedDelivery, LoggedDelivery
from bot.forges.webhooks import WebhookError
from bot.sayable import sayable

log = structlog.get_logger()

MOST_LISTED = 5
"""Pages of a hundred in which a delivery is looked for that came in just now."""

_NEXT = re.compile(r'[?&]cursor=([^&>]+)[^>]*>; rel="next"')


class DeliveryLog:
    """Reads the log.

    Args:
        app: The App.
    """

    def __init__(self, app: AppClients) -> None:
        self._app = app

    async def failed(self, cursor: str) -> FailedDeliveries:
        """A page of what was not accepted, newest first."""
        query = {"status": "failure", "per_page": 100} | ({"cursor": cursor} if cursor else {})
        wanted, path = "list the failed deliveries", "/app/hook/deliveries"
        answer = await call(self._app.clients, wanted, "GET", path, query=query)
        following = _NEXT.search(answer.headers.get("link", ""))
        return FailedDeliveries(
            tuple(_listed(each) for each in listed(wanted, answer.data)),
            unquote(following[1]) if following else "",
        )

    async def find(self, guid: str) -> LoggedDelivery | None:
        """One of the newest, accepted or not; None where it is not among them."""
        wanted, path, cursor = "list the deliveries", "/app/hook/deliveries", ""
        for _ in range(MOST_LISTED):
            query = {"per_page": 100} | ({"cursor": cursor} if cursor else {})
            answer = await call(self._app.clients, wanted, "GET", path, query=query)
            for each in listed(wanted, answer.data):
                if str(each["guid"]) == guid:
                    return await self.read(int(each["id"]))
            following = _NEXT.search(answer.headers.get("link", ""))
            if following is None:
                break
            cursor = unquote(following[1])
        return None

    async def read(self, number: int) -> LoggedDelivery | None:
        """One of them, with what it says; None where we cannot make sense of that."""
        path = f"/app/hook/deliveries/{number}"
        data = (await call(self._app.clients, "read a delivery", "GET", path)).data
        request = data.get("request") or {}
        headers = {str(k).lower(): str(v) for k, v in (request.get("headers") or {}).items()}
        # Whichever form it was sent in: the log has what it said.
        headers |= {"content-type": "application/json", "x-github-delivery": str(data["guid"])}
        headers |= {"x-github-event": str(data["event"])}
        body = json.dumps(sayable(request.get("payload")), ensure_ascii=False).encode()
        me = await self._app.identity()
        try:
            delivery = read_verified(headers, body, me, forge=self._app.forge)
        except WebhookError as error:
            log.warning("logged delivery not read", guid=data["guid"], reason=str(error))
            return None
        return LoggedDelivery(delivery.stored(self._app.forge, body), delivery.wakes)


def _listed(data: JSONObject) -> FailedDelivery:
    return FailedDelivery(
        number=int(data["id"]),
        guid=str(data["guid"]),
        at=time(data["delivered_at"]),
        heard=is_heard(str(data["event"])),
    )
