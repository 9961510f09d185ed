"""Fault injection for webhooks: dropped, doubled, delayed, reordered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingHook:
    """A webhook ready to be sent: the same bytes and the same GUID however often it goes."""

    guid: str
    event: str
    action: str | None
    url: str
    headers: dict[str, str]
    body: bytes
    hook_id: int
    installation_id: int | None = None
    repository_id: int | None = None

    @property
    def name(self) -> str:
        """`pull_request.opened`, or `push`."""
        return f"{self.event}.{self.action}" if self.action else self.event


@dataclass(slots=True)
class _Rule:
    name: str
    times: int | None
    copies: int
    delay: float

    def fits(self, delivery: OutgoingHook) -> bool:
        """Whether it is about this delivery."""
        return self.name in ("*", delivery.event, delivery.name)


class HookFaults:
    """Faults of webhooks. A name is an event (`push`), event and action (`…​.opened`) or `*`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: list[_Rule] = []
        self._held: list[OutgoingHook] | None = None
        self.send: Callable[[OutgoingHook], None] = _nowhere
        """Where released deliveries go; the hooks' sender sets it."""
        self.dropped: list[OutgoingHook] = []
        """Deliveries that were never sent."""

    def drop(self, name: str = "*", times: int | None = 1) -> None:
        """Never send the next so many (None: any)."""
        self._add(_Rule(name, times, 0, 0.0))

    def double(self, name: str = "*", times: int | None = 1) -> None:
        """Send the next so many twice, with the same GUID."""
        self._add(_Rule(name, times, 2, 0.0))

    def delay(self, seconds: float, name: str = "*", times: int | None = None) -> None:
        """Send the next so many later, and let the others overtake them."""
        self._add(_Rule(name, times, 1, seconds))

    def hold(self) -> None:
        """Keep everything back until `release`."""
        with self._lock:
            self._held = self._held or []

    def held(self) -> list[OutgoingHook]:
        """What is kept back, in order."""
        with self._lock:
            return list(self._held or ())

    def release(
        self, order: Callable[[Sequence[OutgoingHook]], Sequence[OutgoingHook]] | None = None
    ) -> None:
        """Send what was kept back; `order` puts it in another order (`lambda d: d[::-1]`)."""
        with self._lock:
            waiting, self._held = self._held or [], None
        for delivery in order(waiting) if order is not None else waiting:
            self.send(delivery)

    def clear(self) -> None:
        """Forget the rules and what was kept back."""
        with self._lock:
            self._rules.clear()
            self._held = None

    def fate(self, delivery: OutgoingHook) -> tuple[int, float]:
        """How often to send a delivery, and after how many seconds; (0, 0) for held or dropped."""
        with self._lock:
            if self._held is not None:
                self._held.append(delivery)
                return 0, 0.0
            rule = next((r for r in self._rules if r.fits(delivery)), None)
            if rule is None:
                return 1, 0.0
            if rule.times is not None:
                rule.times -= 1
                if rule.times == 0:
                    self._rules.remove(rule)
            if rule.copies == 0:
                self.dropped.append(delivery)
            return rule.copies, rule.delay

    def _add(self, rule: _Rule) -> None:
        with self._lock:
            self._rules.append(rule)


def _nowhere(_delivery: OutgoingHook) -> None:
    raise RuntimeError("no sender is connected: start the forge first")
