"""GitHub's deliveries: headers and bytes in, one verified value out. Pure.

The signature is checked on the raw body before anything in it is parsed, and only fields in use are
read; what an event wakes stands in `events`. What we caused ourselves wakes nothing, a merge
excepted: looking again after our own actions is the loop's business (docs/design.md, "Work").
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import parse_qs

from bot.forges.github import events
from bot.forges.github.fields import is_us
from bot.forges.github.signature import WebhookSignature
from bot.forges.port import BotIdentity
from bot.forges.webhooks import Delivery, WebhookError, check_storable
from lifecycle.identity import GITHUB

KEPT_HEADERS = frozenset(
    {
        "content-type",
        "user-agent",
        "x-github-delivery",
        "x-github-enterprise-host",
        "x-github-enterprise-version",
        "x-github-event",
        "x-github-hook-id",
        "x-github-hook-installation-target-id",
        "x-github-hook-installation-target-type",
    }
)
"""Headers that are stored: an allow-list, since a forge once put secrets into a header
(trap 16)."""


class GitHubWebhooks:
    """Reads GitHub's deliveries; implements `bot.forges.webhooks.WebhookReader`.

    Args:
        secrets: See `WebhookSignature`.
        presses: See `read_verified`.
    """

    forge = GITHUB

    def __init__(self, secrets: Sequence[bytes], *, presses: bool = True) -> None:
        self._secrets = secrets
        self._presses = presses

    def read_headers(self, headers: Mapping[str, str]) -> WebhookSignature:
        """Refuse what is no delivery before anything of its body is read."""
        signature = WebhookSignature(headers.get("x-hub-signature-256", ""), self._secrets)
        _header(headers, "x-github-delivery")
        _header(headers, "x-github-event")
        kind = _content_type(headers)
        if kind not in _CONTENT_TYPES:
            raise WebhookError(415, f"The content type is {kind[:100]}. Choose application/json.")
        return signature

    def read_verified(
        self, headers: Mapping[str, str], body: bytes, me: BotIdentity | None = None
    ) -> Delivery:
        """Say what to look at again, of a delivery whose signature was verified."""
        return read_verified(headers, body, me, presses=self._presses)


def read_verified(
    headers: Mapping[str, str],
    body: bytes,
    me: BotIdentity | None = None,
    *,
    presses: bool = True,
) -> Delivery:
    """Say what to look at again, of a delivery whose signature was verified.

    Args:
        headers: Request headers, names in lower case; see `GitHubWebhooks.read_headers`.
        body: Request body, byte for byte as received.
        me: Who we are; None while it is not known.
        presses: Whether our checks have buttons and Re-run. Statuses have none, and the secret of
            a repository's own webhook is known to whoever administers the repository: what is
            pressed there is made up.

    Raises:
        WebhookError: It is no delivery (400, 415).
    """
    guid = _header(headers, "x-github-delivery")
    event = _header(headers, "x-github-event")
    payload = _parse(_content_type(headers), body)
    try:
        delivery = _delivery(guid, event, payload, headers, me)
        if not presses:
            heard = delivery.wakes.items()
            nobody = frozenset[str]()
            wakes = {key: replace(hint, pressed=nobody, rerun=nobody) for key, hint in heard}
            delivery = replace(delivery, wakes=wakes)
        check_storable(delivery)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        # GitHub marks it as failed, and it can be redelivered once we read it.
        what = str(error).encode("ascii", "backslashreplace").decode()[:200]
        raise WebhookError(
            400,
            f"A {event} delivery lacks a field that is needed, or has another kind there: {what}."
            " Report this to the makers of the bot.",
        ) from error
    return delivery


def _header(headers: Mapping[str, str], name: str) -> str:
    value = headers.get(name, "")
    if not 0 < len(value) <= 100 or not value.isascii() or not value.isprintable():
        raise WebhookError(400, f"{name} is missing or no short text: not GitHub's.")
    return value


_FORM = "application/x-www-form-urlencoded"
_CONTENT_TYPES = frozenset({_FORM, "application/json", ""})


def _content_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _parse(kind: str, body: bytes) -> events.JSONObject:
    try:
        if kind == _FORM:
            payload = json.loads(parse_qs(body.decode())["payload"][0])
        else:
            payload = json.loads(body)
    except (ValueError, KeyError, RecursionError) as error:
        raise WebhookError(400, "The body is no JSON. It was signed, so report this.") from error
    if not isinstance(payload, dict):
        raise WebhookError(400, "The body is no JSON object. It was signed, so report this.")
    return payload


def _delivery(
    guid: str,
    event: str,
    payload: events.JSONObject,
    headers: Mapping[str, str],
    me: BotIdentity | None,
) -> Delivery:
    sender = payload.get("sender") or {}
    login = sender.get("login", "")
    repository = payload.get("repository") or {}
    ours = is_us(sender, me)
    wakes = dict(events.own_wakes(event, payload) if ours else events.wakes(guid, event, payload))
    return Delivery(
        id=guid,
        event=event,
        action=payload.get("action") or "",
        repository_id=events.repository_id(payload) if repository.get("id") is not None else None,
        repository=repository.get("full_name", ""),
        installation_id=(payload.get("installation") or {}).get("id"),
        sender=login,
        headers={name: value for name, value in headers.items() if name in KEPT_HEADERS},
        wakes=wakes,
        ignored="" if wakes else events.why_ignored(event, payload, ours=ours),
    )
