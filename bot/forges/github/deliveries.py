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
from bot.forges.webhooks import Delivery, content_type, json_object, read_with, short_header
from bot.keys import DashboardKey, Key, at_forge
from bot.store.hints import NOBODY, Hint, Press
from lifecycle.identity import GITHUB, RepositoryId

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
        forge: Name of the GitHub.
    """

    def __init__(
        self, secrets: Sequence[bytes], *, presses: bool = True, forge: str = GITHUB
    ) -> None:
        self.forge = forge
        self._secrets = secrets
        self._presses = presses

    def read_headers(self, headers: Mapping[str, str]) -> WebhookSignature:
        """Refuse what is no delivery before anything of its body is read."""
        signature = WebhookSignature(headers.get("x-hub-signature-256", ""), self._secrets)
        _header(headers, "x-github-delivery")
        _header(headers, "x-github-event")
        content_type(headers, _CONTENT_TYPES)
        return signature

    def read_verified(
        self, headers: Mapping[str, str], body: bytes, me: BotIdentity | None = None
    ) -> Delivery:
        """Say what to look at again, of a delivery whose signature was verified."""
        return read_verified(headers, body, me, presses=self._presses, forge=self.forge)


def read_verified(
    headers: Mapping[str, str],
    body: bytes,
    me: BotIdentity | None = None,
    *,
    presses: bool = True,
    forge: str = GITHUB,
) -> Delivery:
    """Say what to look at again, of a delivery whose signature was verified.

    Args:
        headers: Request headers, names in lower case; see `GitHubWebhooks.read_headers`.
        body: Request body, byte for byte as received.
        me: Who we are; None while it is not known.
        presses: Whether our checks have buttons and Re-run. Statuses have none, and the secret of
            a repository's own webhook is known to whoever administers the repository: what is
            pressed there is made up, and who ticked a box is not known.
        forge: Name of the GitHub that it is of.

    Raises:
        WebhookError: It is no delivery (400, 415).
    """
    guid = _header(headers, "x-github-delivery")
    event = _header(headers, "x-github-event")
    payload = _parse(headers, body)

    def made() -> Delivery:
        delivery = _at(forge, _delivery(guid, event, payload, headers, me))
        if presses:
            return delivery
        wakes = {key: _by_nobody(key, hint) for key, hint in delivery.wakes.items()}
        return replace(delivery, wakes=wakes)

    return read_with(event, made)


def _by_nobody(key: Key, hint: Hint) -> Hint:
    """What is left where anybody may have written who pressed: a box says that nobody can tell."""
    boxes = map(Press.of, hint.pressed) if isinstance(key, DashboardKey) else ()
    pressed = frozenset(str(replace(each, person=0, login=NOBODY)) for each in boxes)
    return replace(hint, pressed=pressed, rerun=frozenset())


def _at(forge: str, delivery: Delivery) -> Delivery:
    """A delivery of another GitHub than the first, whose name its keys were read with."""
    if forge == GITHUB:
        return delivery
    told = delivery.repository_id
    return replace(
        delivery,
        repository_id=RepositoryId(forge, told.number) if told else None,
        wakes={at_forge(key, forge): hint for key, hint in delivery.wakes.items()},
    )


_FORM = "application/x-www-form-urlencoded"
_CONTENT_TYPES = frozenset({_FORM, "application/json", ""})


def _header(headers: Mapping[str, str], name: str) -> str:
    return short_header(headers, name, "GitHub")


def _parse(headers: Mapping[str, str], body: bytes) -> events.JSONObject:
    if content_type(headers, _CONTENT_TYPES) == _FORM:
        return json_object(lambda: json.loads(parse_qs(body.decode())["payload"][0]))
    return json_object(lambda: json.loads(body))


def _is_of_others(issue: events.JSONObject, me: BotIdentity) -> bool:
    """Whether somebody else opened an issue: one with a record of ours in it is no dashboard."""
    author = issue.get("user")
    return bool(author) and not is_us(author, me)


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
    if me is not None and _is_of_others(payload.get("issue") or {}, me):
        wakes = {key: hint for key, hint in wakes.items() if not isinstance(key, DashboardKey)}
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
