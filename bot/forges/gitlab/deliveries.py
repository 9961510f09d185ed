"""GitLab's deliveries: headers and bytes in, one verified value out. Pure.

The secret is checked before anything of the body is parsed, and only fields in use are read; what
an event wakes stands in `events`. What we caused ourselves wakes nothing, a merge excepted.

Whoever may set up a webhook writes its bodies. So a delivery counts for what the webhook is of, as
its secret tells: a project; a group, which has to have the project in it; or the instance. One from
before webhooks had secrets of their own has what it names looked at, and nothing else of it counts.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence

import structlog

from bot.clock import SYSTEM, Clock
from bot.forges.gitlab import events
from bot.forges.gitlab.events import Event
from bot.forges.gitlab.hooks import GROUP, PROJECT, HookOwner
from bot.forges.gitlab.signature import Secrets
from bot.forges.port import BotIdentity
from bot.forges.webhooks import (
    MOST_HEADER,
    SPEAKER,
    Delivery,
    DeliverySignature,
    WebhookError,
    content_type,
    json_object,
    read_with,
    short_header,
)
from bot.keys import DashboardKey, Key, SweepKey
from bot.logs import Seldom
from bot.store.hints import NOTHING, Hint

KEPT_HEADERS = frozenset(
    {
        "content-type",
        "idempotency-key",
        "user-agent",
        "webhook-id",
        "webhook-timestamp",
        "x-gitlab-event",
        "x-gitlab-event-uuid",
        "x-gitlab-instance",
        "x-gitlab-webhook-uuid",
    }
)
"""Headers that are stored: an allow-list, since the secret token is one of the headers, and whoever
sets up a webhook may add more."""

log = structlog.get_logger()

_CONTENT_TYPES = frozenset({"application/json", ""})


class GitLabWebhooks:
    """Reads the deliveries of one instance; implements `bot.forges.webhooks.WebhookReader`.

    Args:
        forge: Name of the instance.
        tokens: Secrets that are taken; see `Secrets`.
        signing: Signing tokens, likewise.
        clock: Tells whether a signature is too old.

    Raises:
        ValueError: There is no secret, or a signing token that is none.
    """

    def __init__(
        self,
        forge: str,
        tokens: Sequence[bytes],
        signing: Sequence[bytes] = (),
        *,
        clock: Clock = SYSTEM,
    ) -> None:
        self.forge = forge
        self._secrets = Secrets(forge, tokens, signing)
        self._clock = clock
        self._old = Seldom()

    def read_headers(self, headers: Mapping[str, str]) -> DeliverySignature:
        """Refuse what is no delivery before anything of its body is read."""
        signature = self._secrets.verifier(headers, self._clock)
        short_header(headers, "x-gitlab-event", "GitLab")
        content_type(headers, _CONTENT_TYPES)
        return signature

    def read_verified(
        self, headers: Mapping[str, str], body: bytes, me: BotIdentity | None = None
    ) -> Delivery:
        """Say what to look at again, of a delivery that was verified."""
        speaker = self._secrets.speaker(headers)
        delivery = read_verified(self.forge, headers, body, me, speaker)
        if speaker is None and (times := self._old.times()):
            named = delivery.repository or str(delivery.repository_id or "")
            log.warning("webhook has no secret of its own", project=named, times=times)
        return delivery


def read_verified(
    forge: str,
    headers: Mapping[str, str],
    body: bytes,
    me: BotIdentity | None,
    speaker: HookOwner | None,
) -> Delivery:
    """Say what to look at again, of a delivery that was verified.

    Args:
        forge: Name of the instance.
        headers: Request headers, names in lower case.
        body: Request body, byte for byte as received.
        me: Who we are; None while it is not known.
        speaker: Whose webhook sent it; None for one that has no secret of its own.

    Raises:
        WebhookError: It is no delivery (400, 415), or of another project than its webhook (403).
    """
    content_type(headers, _CONTENT_TYPES)
    payload = json_object(lambda: json.loads(body))
    event = Event(forge, delivery_id(headers, body), events.kind_of(payload), payload)
    return read_with(event.kind or "GitLab", lambda: _delivery(event, headers, me, speaker))


def stored_speaker(headers: Mapping[str, str]) -> HookOwner | None:
    """Whose webhook sent what is stored with these headers; None as in `read_verified`."""
    return HookOwner.of(headers.get(SPEAKER, ""))


def delivery_id(headers: Mapping[str, str], body: bytes) -> str:
    """Return what tells one delivery from the next, and is the same when it is sent again.

    `Idempotency-Key`, since GitLab 17.4. Before, the event's UUID is all there is, and what one
    event sets off has the same one: the body tells those apart.

    Raises:
        WebhookError: The key is no short text (400).
    """
    if headers.get("idempotency-key"):
        return short_header(headers, "idempotency-key", "GitLab")
    digest = hashlib.sha256(body).hexdigest()[:32]
    uuid = headers.get("x-gitlab-event-uuid", "")
    known = uuid.isascii() and uuid.isprintable() and 0 < len(uuid) < MOST_HEADER - len(digest)
    return f"{uuid}-{digest}" if known else digest


def _delivery(
    event: Event, headers: Mapping[str, str], me: BotIdentity | None, speaker: HookOwner | None
) -> Delivery:
    about = event.repository
    if speaker and speaker.kind == PROJECT and about and about.number != speaker.number:
        raise WebhookError(
            403,
            f"This webhook is of project {speaker.number}, and its delivery of project"
            f" {about.number}. Remove its custom template under Settings > Webhooks.",
        )
    ours = event.is_by(me)
    # What several changes of one push wake alike is wanted together.
    wakes: dict[Key, Hint] = {}
    for key, hint in events.own_wakes(event) if ours else events.wakes(event):
        if me is not None and isinstance(key, DashboardKey) and event.is_in_issue_of_others(me):
            continue
        if speaker is None:
            hint = NOTHING
        elif speaker.kind == PROJECT and isinstance(key, SweepKey):
            continue  # that is no project's to ask for
        wakes[key] = wakes[key] | hint if key in wakes else hint
    kept = {name: value for name, value in headers.items() if name in KEPT_HEADERS}
    return Delivery(
        id=event.guid,
        event=event.kind,
        action=event.action,
        repository_id=event.repository,
        repository=event.full_name,
        installation_id=None,
        sender=event.sender[1],
        headers={**kept, SPEAKER: str(speaker)} if speaker else kept,
        wakes=wakes,
        ignored="" if wakes else events.why_ignored(event, ours=ours),
        group=speaker.number if speaker and speaker.kind == GROUP else 0,
        tells_renames=True,  # only hooks of an instance, and its group, hear of that
    )
