"""Webhooks as they are made: who hears of what, headers, token and signature.

Source: https://docs.gitlab.com/user/project/integrations/webhooks/ and `WebHookService`. Payloads
are made at the moment of the event, under the forge's lock; functions of `payload` make them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Any

from bot.sandbox.api import Links
from bot.sandbox.faults.hooks import HookFaults, OutgoingHook
from bot.sandbox.records.gitlab import WebHook
from bot.sandbox.records.memory import Happening
from bot.sandbox.records.repository import Repository
from bot.sandbox.rules.state import ForgeState
from bot.sandbox.sending import Hooks, SentHook

Json = dict[str, Any]

FAILURES_UNTIL_PAUSE = 4
"""After so many failures in a row a webhook is disabled for a minute, then for twice as long."""
FAILURES_UNTIL_END = 40
"""After so many failures in a row it is disabled for good."""
_LONGEST_PAUSE = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEvent:
    """One payload, and which webhooks want it.

    Attributes:
        event: What `X-Gitlab-Event` says: `Push Hook`.
        flag: The setting of a webhook that asks for it: `push_events`; "" for what every system
            hook hears, and no other.
        body: The payload.
        action: How faults and logs tell kinds of one event apart: `open`; "" for none.
        branch: The branch that a webhook's filter is held against; "" for none.
        system: Whether system hooks hear of it, by `flag` too.
    """

    event: str
    flag: str
    body: Json
    action: str = ""
    branch: str = ""
    system: bool = False


Payload = Callable[[ForgeState, Links, Happening], Iterable[HookEvent]]
_PAYLOADS: dict[str, Payload] = {}


def payload(*kinds: str) -> Callable[[Payload], Payload]:
    """Let a function make the payloads of happenings of some kinds (`Happening.kind`)."""

    def remember(made: Payload) -> Payload:
        for kind in kinds:
            _PAYLOADS[kind] = made
        return made

    return remember


def sending(state: ForgeState, links: Links, faults: HookFaults) -> Hooks[DeliveryPublisher]:
    """Sends the webhooks of what happens at the forge, and disables those that fail."""
    hooks = Hooks(state, faults, lambda send: DeliveryPublisher(state, links, send))
    hooks.answered.append(hooks.made.answered)
    return hooks


class DeliveryPublisher:
    """Turns happenings into deliveries.

    Args:
        state: The forge, whose happenings it hears.
        links: What payloads name addresses by.
        send: Takes each delivery that is made.
        identifier: Gives a new event, and a new delivery, its id.
    """

    def __init__(
        self,
        state: ForgeState,
        links: Links,
        send: Callable[[OutgoingHook], None],
        identifier: Callable[[], object] = uuid.uuid4,
    ) -> None:
        self._state = state
        self._links = links
        self._send = send
        self._identifier = identifier
        self.auto_disable = True
        """Whether webhooks that fail are disabled, as on gitlab.com."""
        self.observers: list[Callable[[str, Mapping[str, str], Mapping[str, Any]], None]] = []
        """Called with event, headers and payload of each delivery when it is made."""
        state.listeners.append(self.heard)

    def heard(self, happening: Happening) -> None:
        """Make the deliveries of something that happened."""
        make = _PAYLOADS.get(happening.kind)
        if make is None:
            return
        event_uuid = str(self._identifier())
        for told in make(self._state, self._links, happening):
            for hook in self._audience(happening.repo, told):
                self.make(hook, told, event_uuid, happening.repo)

    def make(
        self, hook: WebHook, told: HookEvent, event_uuid: str, repo: Repository | None
    ) -> OutgoingHook:
        """Make one delivery and send it."""
        delivery = self.delivery(hook, told, event_uuid, repo)
        for observer in self.observers:
            observer(told.event, delivery.headers, told.body)
        self._send(delivery)
        return delivery

    def delivery(
        self, hook: WebHook, told: HookEvent, event_uuid: str, repo: Repository | None
    ) -> OutgoingHook:
        """One delivery: bytes and headers, the same however often it goes."""
        payload = _rendered(hook.template, told.body) if hook.template else told.body
        body = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
        key = str(self._identifier())
        headers = {
            **hook.custom_headers,
            "Content-Type": "application/json",
            "User-Agent": f"GitLab/{self._state.data.gitlab.version}",
            "Idempotency-Key": key,
            "X-Gitlab-Event": "System Hook" if hook.kind == "system" else told.event,
            "X-Gitlab-Webhook-UUID": hook.uuid,
            "X-Gitlab-Instance": self._links.web,
            "X-Gitlab-Event-UUID": event_uuid,
        }
        if hook.token:
            headers["X-Gitlab-Token"] = hook.token
        if hook.signing_token:
            stamp = str(int(self._state.clock().timestamp()))
            headers |= {
                "webhook-id": key,
                "webhook-timestamp": stamp,
                "webhook-signature": signature(hook.signing_token, key, stamp, body),
            }
        return OutgoingHook(
            guid=key,
            event=told.event,
            action=told.action or None,
            url=hook.url,
            headers=headers,
            body=body,
            hook_id=hook.id,
            repository_id=repo.id if repo is not None else None,
        )

    def answered(self, sent: SentHook) -> None:
        """Count a delivery's success or failure at its webhook."""
        hook = self.hook(sent.delivery.hook_id)
        if hook is None:
            return
        if 200 <= sent.status < 400:
            hook.failures, hook.disabled_until = 0, None
            return
        hook.failures += 1
        over = hook.failures - FAILURES_UNTIL_PAUSE
        if over >= 0:
            # 2^11 minutes are more than a day already.
            pause = min(timedelta(minutes=2 ** min(over, 11)), _LONGEST_PAUSE)
            hook.disabled_until = self._state.now() + pause

    def alert_status(self, hook: WebHook) -> str:
        """`executable`, `temporarily_disabled` or `disabled`."""
        if not self.auto_disable or hook.failures < FAILURES_UNTIL_PAUSE:
            return "executable"
        if hook.failures >= FAILURES_UNTIL_END:
            return "disabled"
        paused = hook.disabled_until is not None and hook.disabled_until > self._state.now()
        return "temporarily_disabled" if paused else "executable"

    def hook(self, number: int) -> WebHook | None:
        """A webhook by its number, whatever its kind."""
        instance = self._state.data.gitlab
        found = instance.system_hooks.get(number) or instance.group_hooks.get(number)
        if found is not None:
            return found
        for repo in self._state.data.repositories.values():
            if number in repo.gitlab.hooks:
                return repo.gitlab.hooks[number]
        return None

    def _audience(self, repo: Repository | None, told: HookEvent) -> list[WebHook]:
        instance = self._state.data.gitlab
        found: list[WebHook] = []
        if repo is not None:
            found += repo.gitlab.hooks.values()
            above = self._groups_of(repo)
            found += [hook for hook in instance.group_hooks.values() if hook.owner_id in above]
        if told.system:
            found += instance.system_hooks.values()
        return [
            hook
            for hook in found
            if (told.flag in hook.events or (not told.flag and hook.kind == "system"))
            and _wants(hook, told.branch)
            and self.alert_status(hook) == "executable"
        ]

    def _groups_of(self, repo: Repository) -> list[int]:
        """Numbers of the groups that a project is in."""
        numbers = []
        group = self._state.data.organizations.get(repo.owner.login.lower())
        while group is not None:
            numbers.append(group.account.id)
            group = group.parent
        return numbers


def signature(signing_token: str, key: str, stamp: str, body: bytes) -> str:
    """The header `webhook-signature` of Standard Webhooks.

    Source: https://www.standardwebhooks.com/: HMAC-SHA256 of `id.timestamp.body`, Base64.
    """
    secret = base64.b64decode(signing_token.removeprefix("whsec_"))
    signed = f"{key}.{stamp}.".encode() + body
    digest = hmac.new(secret, signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def _rendered(template: str, event: Json) -> Any:
    """A body as a custom template makes it (`WebHookService#render_custom_template`)."""

    def value(found: re.Match[str]) -> str:
        inner: Any = event
        for name in found[1].split("."):
            inner = inner.get(name) if isinstance(inner, Mapping) else None
        return "" if inner is None else str(inner)

    return json.loads(re.sub("{{(.+?)}}", value, template))


def _wants(hook: WebHook, branch: str) -> bool:
    if not branch or not hook.branch_filter:
        return True
    return fnmatchcase(branch, hook.branch_filter)
