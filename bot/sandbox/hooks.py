"""Webhooks: which App hears of what, the payload, the signature, and the sender.

Source: reference/forge.md 2 and bots.md 2.2: headers, HMAC over the raw body, ten seconds for an
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
from typing import Any
from urllib.parse import urlsplit

from bot.sandbox import github_events
from bot.sandbox.accounts import granted
from bot.sandbox.github_json import Links
from bot.sandbox.hook_faults import Delivery, HookFaults
from bot.sandbox.model import App, Happening, Installation
from bot.sandbox.state import State

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
class Sent:
    """A delivery that went out; status 0 when nobody answered."""

    delivery: Delivery
    status: int
    seconds: float


class Hooks:
    """Turns happenings into deliveries and sends them."""

    def __init__(self, state: State, links: Links, faults: HookFaults) -> None:
        self._state = state
        self._links = links
        self._faults = faults
        self._senders: dict[int, _Sender] = {}
        self.observers: list[Callable[[str, Mapping[str, str], Mapping[str, Any]], None]] = []
        """Called with event, headers and payload of each delivery when it is made."""
        self.log: list[Sent] = []
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
            delivery = self._delivery(app, happening, payload)
            for observer in self.observers:
                observer(happening.kind, delivery.headers, payload)
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

    def _delivery(self, app: App, happening: Happening, payload: dict[str, Any]) -> Delivery:
        body = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
        guid = str(uuid.uuid4())
        headers = {
            "User-Agent": "GitHub-Hookshot/sandbox",
            "Accept": "*/*",
            "Content-Type": "application/json",
            "X-GitHub-Event": happening.kind,
            "X-GitHub-Delivery": guid,
            "X-GitHub-Hook-ID": str(app.hook_id),
            "X-GitHub-Hook-Installation-Target-ID": str(app.id),
            "X-GitHub-Hook-Installation-Target-Type": "integration",
        }
        if app.webhook_secret:
            key = app.webhook_secret.encode()
            headers["X-Hub-Signature"] = f"sha1={hmac.new(key, body, hashlib.sha1).hexdigest()}"
            digest = hmac.new(key, body, hashlib.sha256).hexdigest()
            headers["X-Hub-Signature-256"] = f"sha256={digest}"
        return Delivery(
            guid=guid,
            event=happening.kind,
            action=happening.action,
            url=app.webhook_url or "",
            headers=headers,
            body=body,
        )

    def _post(self, delivery: Delivery) -> None:
        copies, delay = self._faults.fate(delivery)
        for _ in range(copies):
            if delay > 0:
                timer = threading.Timer(delay, self._enqueue, [delivery])
                timer.daemon = True
                timer.start()
            else:
                self._enqueue(delivery)

    def _enqueue(self, delivery: Delivery) -> None:
        hook = int(delivery.headers["X-GitHub-Hook-ID"])
        with self._state.lock:
            if hook not in self._senders:
                self._senders[hook] = _Sender(self.log)
            self._senders[hook].put(delivery)


class _Sender:
    """Sends one App's webhooks one after the other."""

    def __init__(self, log: list[Sent]) -> None:
        self._log = log
        self._queue: queue.Queue[Delivery | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name="sandbox-hooks", daemon=True)
        self._thread.start()

    def put(self, delivery: Delivery) -> None:
        self._queue.put(delivery)

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
        while (delivery := self._queue.get()) is not None:
            began = time.monotonic()
            status = self._send(delivery)
            seconds = time.monotonic() - began
            self._log.append(Sent(delivery=delivery, status=status, seconds=seconds))
            self._queue.task_done()

    def _send(self, delivery: Delivery) -> int:
        parts = urlsplit(delivery.url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        # A connection for each: one kept open may be dead, and a second try would be a
        # delivery that GitHub never makes.
        connection = http.client.HTTPConnection(parts.netloc, timeout=_TIMEOUT)
        try:
            connection.request("POST", path or "/", delivery.body, delivery.headers)
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()
        return answer.status
