"""Webhooks as they are sent: by a background thread, one for each receiver, in order.

Source: docs/design.md, "GitHub: webhooks", and
https://docs.gitlab.com/user/project/integrations/webhooks/: ten seconds for an answer, no second
try on either forge.
"""

from __future__ import annotations

import http.client
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, TypeVar
from urllib.parse import urlsplit

from bot.sandbox.faults.hooks import HookFaults, OutgoingHook
from bot.sandbox.rules.state import ForgeState

_MOST_KEPT = 1000  # bytes of a receiver's answer that are shown
_TIMEOUT = 10.0  # seconds GitHub waits for an answer


def is_address(text: str) -> bool:
    """Whether webhooks can be sent to an address: an absolute one of HTTP or HTTPS."""
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return good and text.isascii() and not any(c.isspace() for c in text)


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


MadeT_co = TypeVar("MadeT_co", covariant=True)


class Hooks(Generic[MadeT_co]):
    """Sends what `made` makes of the forge's happenings.

    Args:
        state: The forge.
        faults: What gets lost, comes twice or late.
        maker: Makes deliveries and gives each to the function it is given.
    """

    def __init__(
        self,
        state: ForgeState,
        faults: HookFaults,
        maker: Callable[[Callable[[OutgoingHook], None]], MadeT_co],
    ) -> None:
        self._state = state
        self._faults = faults
        self._senders: dict[int, _Sender] = {}
        self.made: Final = maker(self._post)
        self.log: list[SentHook] = []
        """Deliveries that went out, in the order they were answered."""
        self.answered: list[Callable[[SentHook], None]] = []
        """Called with each delivery that was answered, under the forge's lock."""
        self.queued = 0
        """How many deliveries were to go out so far."""
        faults.send = self._enqueue

    def redeliver(self, sent: SentHook) -> None:
        """Send a delivery once more, as people do by a button: the same GUID and bytes."""
        self._enqueue(sent.delivery, again=True)

    def send_now(self, delivery: OutgoingHook, *, again: bool = False) -> SentHook:
        """Send a delivery while the caller waits, past faults and the row."""
        return _post(delivery, self._state, self.log, self.answered, again=again)

    def sent(self) -> list[SentHook]:
        """Deliveries that went out, oldest first."""
        return list(self.log)

    def idle(self, timeout: float = 60.0) -> bool:
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
            self.queued += 1
            if delivery.hook_id not in self._senders:
                self._senders[delivery.hook_id] = _Sender(self.log, self._state, self.answered)
            self._senders[delivery.hook_id].put(delivery, again)


class _Sender:
    """Sends one webhook's deliveries one after the other."""

    def __init__(
        self,
        log: list[SentHook],
        state: ForgeState,
        answered: list[Callable[[SentHook], None]],
    ) -> None:
        self._log = log
        self._state = state
        self._answered = answered
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
            _post(delivery, self._state, self._log, self._answered, again=again)
            self._queue.task_done()


def _post(
    delivery: OutgoingHook,
    state: ForgeState,
    log: list[SentHook],
    answered: list[Callable[[SentHook], None]],
    *,
    again: bool,
) -> SentHook:
    """Send a delivery, write it into the log and tell of it."""
    began = time.monotonic()
    status, answer = _answer(delivery)
    with state.lock:
        sent = SentHook(
            id=state.next_id(),
            delivery=delivery,
            status=status,
            seconds=time.monotonic() - began,
            at=state.now(),
            again=again,
            answer=answer,
        )
        log.append(sent)
        for told in answered:
            told(sent)
    return sent


def _answer(delivery: OutgoingHook) -> tuple[int, str]:
    parts = urlsplit(delivery.url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    # A connection for each: one kept open may be dead, and a second try would be a
    # delivery that no forge makes.
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
