"""Fault injection for API and git calls, and the log of calls.

A call is named `METHOD template`, with `*` for any part of either:
`PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge`, `GET *`, `POST */git-receive-pack`. The
pattern is held against the template and against the path. Git's calls have the templates
`/{owner}/{repo}.git/info/refs`, `/{owner}/{repo}.git/git-upload-pack` and `…/git-receive-pack`.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

from bot.sandbox.faults.hooks import HookFaults
from bot.sandbox.records.memory import Data, Happening
from bot.sandbox.records.refs import Activity
from bot.sandbox.rules.rate_limits import RateLimits, Throttle
from bot.sandbox.rules.state import ForgeState

GRAPHQL_ERRORS: Mapping[str, Mapping[str, Any]] = {
    "RATE_LIMITED": {"type": "RATE_LIMITED", "message": "API rate limit exceeded for user ID 1."},
    "SOMETHING_WENT_WRONG": {
        "message": "Something went wrong while executing your query. This may be the result of a"
        " timeout, or it could be a GitHub bug. Please include"
        " `0000:000000:000000:000000:00000000` when reporting this issue."
    },
}
"""Errors that GraphQL gives inside a 200, as GitHub writes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedCall:
    """One HTTP call that was answered.

    Attributes:
        caller: Login, `app/<slug>` for a JWT, or `anonymous`.
        kind: `api` or `git`.
        method: HTTP method.
        template: Path as GitHub's description spells it; the path itself where none fits.
        path: Path as asked, below `/api/v3` for the API.
        status: HTTP status of the answer.
        began: `time.monotonic()` when the request came.
        seconds: How long the forge took, added delays included.
    """

    caller: str
    kind: str
    method: str
    template: str
    path: str
    status: int
    began: float
    seconds: float

    @property
    def name(self) -> str:
        """`METHOD template`, for counting."""
        return f"{self.method} {self.template}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedFailure:
    """An injected response."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class _Rule:
    call: str
    nth: int
    times: int | None
    caller: str | None
    delay: float = 0.0
    failure: OrderedFailure | None = None
    before: Callable[[], None] | None = None
    after: Callable[[], None] | None = None
    late: bool = False
    seen: int = 0

    def take(self) -> bool:
        """Count a call that matches; whether it is one of those meant."""
        self.seen += 1
        last = None if self.times is None else self.nth + self.times - 1
        return self.seen >= self.nth and (last is None or self.seen <= last)


@dataclass(slots=True)
class FaultPlan:
    """Faults of one call, in this order: wait, before, fail; act; after, fail late."""

    delay: float = 0.0
    before: list[Callable[[], None]] = field(default_factory=list)
    failure: OrderedFailure | None = None
    after: list[Callable[[], None]] = field(default_factory=list)
    late_failure: OrderedFailure | None = None
    memory: Data | None = None


@dataclass(frozen=True, slots=True)
class _Staleness:
    call: str
    caller: str | None
    age: timedelta | None
    frozen: Data | None


class Faults:
    """Injects faults as tests order them, and logs calls."""

    def __init__(self, state: ForgeState) -> None:
        self.latency = 0.0
        """Seconds added to every call, git's too."""
        self.limits: RateLimits | None = None
        """What each caller of the API may ask; None: as much as it likes."""
        self.throttle: Throttle | None = None
        """What each caller may ask of GitLab's API in a minute; None: as much as it likes."""
        self.hooks = HookFaults()
        """Faults of webhooks: drop, double, delay, hold back and release in another order."""
        self._state = state
        self._lock = threading.Lock()
        self._rules: list[_Rule] = []
        self._stale: _Staleness | None = None
        self._moments: list[tuple[datetime, Data]] = []
        self._calls: list[LoggedCall] = []
        state.listeners.append(self._heard)

    def fail(
        self,
        call: str,
        status: int = 502,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        nth: int = 1,
        times: int | None = 1,
        caller: str | None = None,
        carried_out: bool = False,
    ) -> None:
        """Answer a call with an error.

        Args:
            call: Which (see the module).
            status: HTTP status.
            body: JSON value, text, or None for GitHub's `{"message": "Server Error"}`.
            headers: Headers besides, such as `Retry-After`.
            nth: The first matching call from now that is meant, from 1.
            times: How many calls in a row from there; None for all.
            caller: Only calls of this caller.
            carried_out: Whether the deed is done all the same (the answer gets lost).
        """
        answer = OrderedFailure(status=status, body=body, headers=dict(headers or {}))
        self._add(call, nth, times, caller, failure=answer, late=carried_out)

    def slow(
        self,
        call: str,
        seconds: float,
        *,
        nth: int = 1,
        times: int | None = None,
        caller: str | None = None,
    ) -> None:
        """Let a call wait before anything is done."""
        self._add(call, nth, times, caller, delay=seconds)

    def before(
        self,
        call: str,
        callback: Callable[[], None],
        *,
        nth: int = 1,
        times: int | None = 1,
        caller: str | None = None,
    ) -> None:
        """Run something when a call has come and nothing is done yet."""
        self._add(call, nth, times, caller, before=callback)

    def after(
        self,
        call: str,
        callback: Callable[[], None],
        *,
        nth: int = 1,
        times: int | None = 1,
        caller: str | None = None,
    ) -> None:
        """Run something when a call is carried out and its answer not sent yet."""
        self._add(call, nth, times, caller, after=callback)

    def stale(self, seconds: float, call: str = "GET *", caller: str | None = None) -> None:
        """Answer readings with facts of so many seconds ago, by the forge's clock.

        The forge remembers from this moment on, so nothing older than now is ever answered.
        """
        with self._state.lock:
            self._moments = [(self._state.clock(), self._state.moment())]
            self._stale = _Staleness(call, caller, timedelta(seconds=seconds), None)

    def freeze(self, call: str = "GET *", caller: str | None = None) -> None:
        """Answer readings with the facts of this moment, until `fresh` is called."""
        with self._state.lock:
            self._stale = _Staleness(call, caller, None, self._state.moment())

    def fresh(self) -> None:
        """Answer with facts of now again."""
        with self._state.lock:
            self._stale, self._moments = None, []

    def late_activity(self, seconds: float = 0.0, *, reads: int = 0) -> None:
        """Let entries of the activity log be late, those that are there already not.

        Args:
            seconds: By the forge's clock, from the entry's time.
            reads: How many readings of the log do not show a new entry yet.
        """
        with self._state.lock:
            known = self._state.data.last_id
            unseen: dict[int, int] = {}

            def shown(activity: Activity) -> bool:
                if activity.id <= known:
                    return True
                if self._state.clock() - activity.timestamp < timedelta(seconds=seconds):
                    return False
                left = unseen.setdefault(activity.id, reads)
                unseen[activity.id] = max(0, left - 1)
                return left == 0

            self._state.activity_shown = shown

    def hold_activity(self) -> None:
        """Show no new entry of the activity log until `release_activity`."""
        self.late_activity(timedelta.max.total_seconds() / 2)

    def release_activity(self) -> None:
        """Show all entries of the activity log, from now on at once."""
        with self._state.lock:
            self._state.activity_shown = lambda _activity: True

    def fail_graphql(
        self,
        kind: str = "RATE_LIMITED",
        *,
        nth: int = 1,
        times: int | None = 1,
        caller: str | None = None,
        carried_out: bool = False,
    ) -> None:
        """Answer GraphQL calls with an error inside a 200, as GitHub does.

        Args:
            kind: `RATE_LIMITED`, or `SOMETHING_WENT_WRONG` for the one without a type.
            nth: As for `fail`; so are the others.
            times: As for `fail`.
            caller: As for `fail`.
            carried_out: As for `fail`.
        """
        body = {"errors": [dict(GRAPHQL_ERRORS[kind])]}
        self.fail(
            "POST /graphql", 200, body, nth=nth, times=times, caller=caller, carried_out=carried_out
        )

    def clear(self) -> None:
        """Forget all faults; the log stays."""
        self.fresh()
        self.release_activity()
        self.latency = 0.0
        self.hooks.clear()
        with self._lock:
            self._rules.clear()

    def calls(
        self, caller: str | None = None, kind: str | None = None, since: int = 0
    ) -> list[LoggedCall]:
        """Calls answered, in order of their answers; `since` is a `mark`."""
        with self._lock:
            found = self._calls[since:]
        return [
            c
            for c in found
            if (caller is None or c.caller == caller) and (kind is None or c.kind == kind)
        ]

    def counts(
        self, caller: str | None = None, kind: str | None = None, since: int = 0
    ) -> Counter[str]:
        """How often each `METHOD template` was called."""
        return Counter(call.name for call in self.calls(caller, kind, since))

    def mark(self) -> int:
        """How many calls were answered up to now."""
        with self._lock:
            return len(self._calls)

    def record(self, call: LoggedCall) -> None:
        """Write a call into the log (the forge's HTTP apps do)."""
        with self._lock:
            self._calls.append(call)

    def plan(self, method: str, template: str, path: str, caller: str) -> FaultPlan:
        """What shall happen to a call that came in; counts it."""
        plan = FaultPlan(delay=self.latency)
        with self._lock:
            hit = [
                rule
                for rule in self._rules
                if matches(rule.call, rule.caller, (method, template, path), caller) and rule.take()
            ]
        for rule in hit:
            plan.delay += rule.delay
            if rule.before is not None:
                plan.before.append(rule.before)
            if rule.after is not None:
                plan.after.append(rule.after)
            if rule.failure is not None and rule.late:
                plan.late_failure = rule.failure
            elif rule.failure is not None:
                plan.failure = rule.failure
        stale = self._stale
        if stale is not None and matches(
            stale.call, stale.caller, (method, template, path), caller
        ):
            plan.memory = self._earlier(stale)
        return plan

    def remember(self) -> None:
        """Keep this moment, if somebody wants old facts later; called after every change."""
        stale = self._stale
        if stale is None or stale.age is None:
            return
        with self._state.lock:
            self._moments.append((self._state.clock(), self._state.moment()))

    def _earlier(self, stale: _Staleness) -> Data | None:
        if stale.age is None:
            return stale.frozen
        with self._state.lock:
            then = self._state.clock() - stale.age
            known = [data for since, data in self._moments if since <= then]
            return known[-1] if known else self._moments[0][1]

    def _heard(self, _happening: Happening) -> None:
        self.remember()

    def _add(self, call: str, nth: int, times: int | None, caller: str | None, **what: Any) -> None:
        with self._lock:
            self._rules.append(_Rule(call=call, nth=nth, times=times, caller=caller, **what))


def matches(pattern: str, wanted: str | None, call: tuple[str, str, str], caller: str) -> bool:
    """Whether a call (method, template, path) of a caller is the one that a pattern names."""
    method, template, path = call
    asked_method, _, asked_path = pattern.partition(" ")
    if wanted is not None and wanted != caller:
        return False
    if not fnmatchcase(method, asked_method):
        return False
    # Braces and brackets of templates are plain characters to fnmatch only where escaped.
    shape = asked_path.replace("[", "[[]")
    return not asked_path or fnmatchcase(template, shape) or fnmatchcase(path, shape)
