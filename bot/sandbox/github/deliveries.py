"""Webhooks as they are made: who hears of what, the payload, headers and signature.

Source: docs/design.md, "GitHub: webhooks": headers, HMAC over the raw body. Payloads are made at
the moment of the event, under the forge's lock.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bot.sandbox.api import Links
from bot.sandbox.faults.hooks import HookFaults, OutgoingHook
from bot.sandbox.github import events as github_events
from bot.sandbox.github import json as basic
from bot.sandbox.records.accounts import App, OrgHook, User
from bot.sandbox.records.memory import Happening, Installation
from bot.sandbox.records.repository import RepoHook, Repository
from bot.sandbox.rules.permissions import granted
from bot.sandbox.rules.state import ForgeState
from bot.sandbox.sending import Hooks

_PERMISSION = {
    "push": "contents=read",
    "repository": "metadata=read",
    "create": "contents=read",
    "delete": "contents=read",
    "pull_request": "pull_requests=read",
    "pull_request_review": "pull_requests=read",
    "issues": "issues=read",
    "merge_group": "merge_queues=read",
    "issue_comment": "issues=read; pull_requests=read",
    "check_run": "checks=read",
    "check_suite": "checks=read",
    "status": "statuses=read",
}
_ALWAYS = ("installation", "installation_repositories", "installation_target")
_OWNER_ONLY = ("rerequested", "requested", "requested_action")
"""Actions of checks that only the App they belong to hears of, subscribed or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookTarget:
    """Where deliveries go: the webhook of an App, a repository or an organization."""

    id: int
    url: str
    secret: str
    kind: str
    owner_id: int
    installation_id: int | None = None


Payload = Callable[[ForgeState, Links, Happening], dict[str, Any]]


def sending(state: ForgeState, links: Links, faults: HookFaults) -> Hooks[DeliveryPublisher]:
    """Sends the webhooks of what happens at the forge."""
    return Hooks(state, faults, lambda send: DeliveryPublisher(state, links, send))


def _guid() -> str:
    return str(uuid.uuid4())


class DeliveryPublisher:
    """Turns happenings into deliveries.

    Args:
        state: The forge, whose happenings it hears.
        links: What payloads name addresses by.
        send: Takes each delivery that is made.
        guid: Gives a new delivery its id.
        payload: Makes the body of what happened.
    """

    def __init__(
        self,
        state: ForgeState,
        links: Links,
        send: Callable[[OutgoingHook], None],
        guid: Callable[[], str] = _guid,
        payload: Payload = github_events.payload,
    ) -> None:
        self._state = state
        self._links = links
        self._send = send
        self._guid = guid
        self._payload = payload
        self.observers: list[Callable[[str, Mapping[str, str], Mapping[str, Any]], None]] = []
        """Called with event, headers and payload of each delivery when it is made."""
        state.listeners.append(self.heard)

    def heard(self, happening: Happening) -> None:
        """Make the deliveries of something that happened, if GitHub has an event for it."""
        if not github_events.tells_of(happening.kind):
            return
        for app, installation in self._audience(happening):
            payload = self._payload(self._state, self._links, happening)
            payload["installation"] = payload.get("installation") or {
                "id": installation.id,
                "node_id": github_events.installation_node_id(installation),
            }
            target = WebhookTarget(
                id=app.hook_id,
                url=app.webhook_url or "",
                secret=app.webhook_secret,
                kind="integration",
                owner_id=app.id,
                installation_id=installation.id,
            )
            self._make(target, happening.kind, happening.action, payload)
        for hook in self._hooks(happening.repo):
            if hook.active and {"*", happening.kind} & set(hook.events):
                payload = self._payload(self._state, self._links, happening)
                self._make(_target(hook), happening.kind, happening.action, payload)

    def _hooks(self, repo: Repository | None) -> list[RepoHook | OrgHook]:
        """Webhooks of a repository, and of the organization that owns it."""
        if repo is None:
            return []
        owner = self._state.data.organizations.get(repo.owner.login.lower())
        return [*repo.hooks.values(), *(owner.hooks.values() if owner is not None else ())]

    def ping(self, hook: RepoHook | OrgHook, shown: Mapping[str, Any], sender: User) -> None:
        """Send a ping to a webhook."""
        payload = {
            "zen": "Keep it logically awesome.",
            "hook_id": hook.id,
            "hook": dict(shown),
            "sender": basic.user(self._links, sender),
        }
        if isinstance(hook, RepoHook):
            payload["repository"] = basic.repository(self._links, hook.repo)
        else:
            payload["organization"] = basic.organization(self._links, hook.account)
        self._make(_target(hook), "ping", None, payload)

    def _make(
        self, target: WebhookTarget, kind: str, action: str | None, payload: dict[str, Any]
    ) -> None:
        delivery = self._delivery(target, kind, action, payload)
        for observer in self.observers:
            observer(kind, delivery.headers, payload)
        self._send(delivery)

    def _audience(self, happening: Happening) -> list[tuple[App, Installation]]:
        found = []
        for installation in self._state.data.installations.values():
            app = installation.app
            if app.webhook_url and self._hears(app, installation, happening):
                found.append((app, installation))
        return found

    def _hears(self, app: App, installation: Installation, happening: Happening) -> bool:
        kind = happening.kind
        if kind in _ALWAYS:
            return happening.extra["installation"] is installation
        if happening.repo not in installation.repositories or installation.suspended_at:
            return False
        if kind in ("check_run", "check_suite") and happening.action in _OWNER_ONLY:
            suite = happening.extra.get("suite") or happening.extra["run"].suite
            return suite.app is app and granted(installation.permissions, "checks=write")
        return kind in installation.events and granted(installation.permissions, _PERMISSION[kind])

    def _delivery(
        self, target: WebhookTarget, kind: str, action: str | None, payload: dict[str, Any]
    ) -> OutgoingHook:
        body = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
        guid = self._guid()
        headers = {
            "User-Agent": "GitHub-Hookshot/sandbox",
            "Accept": "*/*",
            "Content-Type": "application/json",
            "X-GitHub-Event": kind,
            "X-GitHub-Delivery": guid,
            "X-GitHub-Hook-ID": str(target.id),
            "X-GitHub-Hook-Installation-Target-ID": str(target.owner_id),
            "X-GitHub-Hook-Installation-Target-Type": target.kind,
        }
        if target.secret:
            key = target.secret.encode()
            headers["X-Hub-Signature"] = f"sha1={hmac.new(key, body, hashlib.sha1).hexdigest()}"
            digest = hmac.new(key, body, hashlib.sha256).hexdigest()
            headers["X-Hub-Signature-256"] = f"sha256={digest}"
        repository = payload.get("repository")
        return OutgoingHook(
            guid=guid,
            event=kind,
            action=action,
            url=target.url,
            headers=headers,
            body=body,
            hook_id=target.id,
            installation_id=target.installation_id,
            repository_id=repository["id"] if repository else None,
        )


def _target(hook: RepoHook | OrgHook) -> WebhookTarget:
    kind, owner = (
        ("repository", hook.repo.id)
        if isinstance(hook, RepoHook)
        else ("organization", hook.account.id)
    )
    return WebhookTarget(id=hook.id, url=hook.url, secret=hook.secret, kind=kind, owner_id=owner)
