"""Webhooks: which App hears of what, the payload, the signature, and the sender.

Source: docs/design.md, "GitHub: webhooks": headers, HMAC over the raw body, ten seconds for an
answer, no second try. Payloads are made at the moment of the event, under the forge's lock, and
sent by a background thread: one for each App, in order.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import queue
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from bot.sandbox.faults.hooks import HookFaults, OutgoingHook
from bot.sandbox.github import events as github_events
from bot.sandbox.github import json as basic
from bot.sandbox.github.json import Links
from bot.sandbox.records.accounts import App, User
from bot.sandbox.records.memory import Happening, Installation
from bot.sandbox.records.repository import RepoHook
from bot.sandbox.rules.permissions import granted
from bot.sandbox.rules.state import ForgeState

_MOST_KEPT = 1000  # bytes of a receiver's answer that are shown
_TIMEOUT = 10.0  # seconds GitHub waits for an answer
_PERMISSION = {
    "push": "contents=read",
    "repository": "metadata=read",
    "create": "contents=read",
    "delete": "contents=read",
    "pull_request": "pull_requests=read",
    "pull_request_review": "pull_requests=read",
    "issues": "issues=read",
    "issue_comment": "issues=read; pull_requests=read",
    "check_run": "checks=read",
    "check_suite": "checks=read",
    "status": "statuses=read",
}
_ALWAYS = ("installation", "installation_repositories", "installation_target")
_OWNER_ONLY = ("rerequested", "requested", "requested_action")
"""Actions of checks that only the App they belong to hears of, subscribed or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentHook:
    """A delivery that went out; status 0 when nobody answered.

    Attributes:
        id: Its number; a second try has another one, and the same GUID.
        again: Whether it is a second try that somebody asked for.
        answer: The beginning of what the receiver answered.
    """

    id: int
    delivery: OutgoingHook
    status: int
    seconds: float
    at: datetime
    again: bool = False
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """Where deliveries go: an App's webhook or a repository's."""

    id: int
    url: str
    secret: str
    kind: str
    owner_id: int
    installation_id: int | None = None


class Hooks:
    """Turns happenings into deliveries and sends them."""

    def __init__(self, state: ForgeState, links: Links, faults: HookFaults) -> None:
        self._state = state
        self._links = links
        self._faults = faults
        self._senders: dict[int, _Sender] = {}
        self.observers: list[Callable[[str, Mapping[str, str], Mapping[str, Any]], None]] = []
        """Called with event, headers and payload of each delivery when it is made."""
        self.log: list[SentHook] = []
        """Deliveries that went out, in the order they were answered."""
        faults.send = self._enqueue
        state.listeners.append(self.heard)

    def heard(self, happening: Happening) -> None:
        """Make the deliveries of something that happened."""
        for app, installation in self._audience(happening):
            payload = github_events.payload(self._state, self._links, happening)
            payload["installation"] = payload.get("installation") or {
                "id": installation.id,
                "node_id": github_events.installation_node_id(installation),
            }
            target = _Target(
                id=app.hook_id,
                url=app.webhook_url or "",
                secret=app.webhook_secret,
                kind="integration",
                owner_id=app.id,
                installation_id=installation.id,
            )
            self._make(target, happening.kind, happening.action, payload)
        hooks = happening.repo.hooks.values() if happening.repo is not None else ()
        for hook in hooks:
            if hook.active and {"*", happening.kind} & set(hook.events):
                payload = github_events.payload(self._state, self._links, happening)
                self._make(_target(hook), happening.kind, happening.action, payload)

    def ping(self, hook: RepoHook, shown: Mapping[str, Any], sender: User) -> None:
        """Send a ping to a repository's webhook."""
        payload = {
            "zen": "Keep it logically awesome.",
            "hook_id": hook.id,
            "hook": dict(shown),
            "repository": basic.repository(self._links, hook.repo),
            "sender": basic.user(self._links, sender),
        }
        self._make(_target(hook), "ping", None, payload)

    def redeliver(self, sent: SentHook) -> None:
        """Send a delivery once more, as people do by a button: the same GUID and bytes."""
        self._enqueue(sent.delivery, again=True)

    def sent(self) -> list[SentHook]:
        """Deliveries that went out, oldest first."""
        return list(self.log)

    def _make(
        self, target: _Target, kind: str, action: str | None, payload: dict[str, Any]
    ) -> None:
        delivery = self._delivery(target, kind, action, payload)
        for observer in self.observers:
            observer(kind, delivery.headers, payload)
        self._post(delivery)

    def idle(self, timeout: float = 10.0) -> bool:
        """Wait until everything made so far is sent and answered; False when it takes longer."""
        end = time.monotonic() + timeout
        for sender in list(self._senders.values()):
            if not sender.idle(max(0.0, end - time.monotonic())):
                return False
        return True

    def close(self) -> None:
        """Stop the senders; what is not sent stays unsent."""
        for sender in self._senders.values():
            sender.close()

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
        self, target: _Target, kind: str, action: str | None, payload: dict[str, Any]
    ) -> OutgoingHook:
        body = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
        guid = str(uuid.uuid4())
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

    def _post(self, delivery: OutgoingHook) -> None:
        copies, delay = self._faults.fate(delivery)
        for _ in range(copies):
            if delay > 0:
                timer = threading.Timer(delay, self._enqueue, [delivery])
                timer.daemon = True
                timer.start()
            else:
                self._enqueue(delivery)

    def _enqueue(self, delivery: OutgoingHook, again: bool = False) -> None:
        with self._state.lock:
            if delivery.hook_id not in self._senders:
                self._senders[delivery.hook_id] = _Sender(self.log, self._state)
            self._senders[delivery.hook_id].put(delivery, again)


def _target(hook: RepoHook) -> _Target:
    return _Target(
        id=hook.id, url=hook.url, secret=hook.secret, kind="repository", owner_id=hook.repo.id
    )


class _Sender:
    """Sends one webhook's deliveries one after the other."""

    def __init__(self, log: list[SentHook], state: ForgeState) -> None:
        self._log = log
        self._state = state
        self._queue: queue.Queue[tuple[OutgoingHook, bool] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name="sandbox-hooks", daemon=True)
        self._thread.start()

    def put(self, delivery: OutgoingHook, again: bool) -> None:
        self._queue.put((delivery, again))

    def idle(self, timeout: float) -> bool:
        end = time.monotonic() + timeout
        while self._queue.unfinished_tasks:
            if time.monotonic() >= end:
                return False
            time.sleep(0.005)
        return True

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join(timeout=1.0)

    def _run(self) -> None:
        while (waiting := self._queue.get()) is not None:
            delivery, again = waiting
            began = time.monotonic()
            status, answer = self._send(delivery)
            with self._state.lock:
                sent = SentHook(
                    id=self._state.next_id(),
                    delivery=delivery,
                    status=status,
                    seconds=time.monotonic() - began,
                    at=self._state.now(),
                    again=again,
                    answer=answer,
                )
            self._log.append(sent)
            self._queue.task_done()

    def _send(self, delivery: OutgoingHook) -> tuple[int, str]:
        parts = urlsplit(delivery.url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        # A connection for each: one kept open may be dead, and a second try would be a
        # delivery that GitHub never makes.
        try:
            connection = http.client.HTTPConnection(parts.netloc, timeout=_TIMEOUT)
        except http.client.InvalidURL:
            return 0, ""
        try:
            connection.request("POST", path or "/", delivery.body, delivery.headers)
            answer = connection.getresponse()
            text = answer.read(_MOST_KEPT).decode(errors="replace")
        except (OSError, http.client.HTTPException):
            return 0, ""
        finally:
            connection.close()
        return answer.status, text
