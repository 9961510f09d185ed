"""Prometheus metrics of the bot; docs/operate/watching.md says what each means.

Every label has few values: none is the name of a repository, a branch or a person.
"""

import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from importlib.metadata import version
from typing import Any

from prometheus_client import Counter, Gauge, Histogram, Info, disable_created_metrics

from bot.store.values import Backlog

disable_created_metrics()  # type: ignore[no-untyped-call] # a time series more for each, unasked for

BUILD = Info("porchbot_build", "The version that runs.")
BUILD.info({"version": version("porchbot")})

DELIVERIES = Counter("porchbot_deliveries", "Webhook deliveries by outcome.", ["outcome"])
ACCEPT_SECONDS = Histogram(
    "porchbot_delivery_accept_seconds",
    "From the first byte of a delivery to its 202.",
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5),
)
LOOK_SECONDS = Histogram(
    "porchbot_look_seconds",
    "One key from taken to rest.",
    ["kind"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60),
)
STEP_SECONDS = Histogram(
    "porchbot_step_seconds",
    "One step of a look; steps may run beside one another.",
    ["step"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60),
)
FIRST_CHECK_SECONDS = Histogram(
    "porchbot_first_check_seconds",
    "From a webhook about a head branch to the first check run that the look at it wrote.",
    buckets=(0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600),
)
DECISIONS = Counter(
    "porchbot_decisions",
    "Decisions by outcome: settled (nothing to do), stale (the forge does not show yet what was"
    " done), or what came of the actions.",
    ["outcome"],
)
ACTIONS = Counter("porchbot_actions", "Actions by kind and outcome.", ["kind", "outcome"])

OVERRIDES = Counter("porchbot_overrides", "Exceptions that people made, by kind of gate.", ["kind"])

REPAIRS = Counter(
    "porchbot_sweep_repairs",
    "What a sweep found to do that no event had told, by sweep.",
    ["sweep"],
)

RENDERS = Counter(
    "porchbot_renders",
    "Verdicts on packages by where they came from: kept, stored, rendered, not run, stopped.",
    ["outcome"],
)
RENDER_SECONDS = Histogram(
    "porchbot_render_seconds",
    "One package rendered and validated, functions and the wait for a worker included.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
RENDER_WORKERS_ENDED = Counter(
    "porchbot_render_workers_ended", "Worker processes of the renderer that ended, by why.", ["why"]
)

FAILURES = Counter("porchbot_look_failures", "Looks that failed, by key and why.", ["kind", "why"])

_DRIFT = Gauge(
    "porchbot_forge_drift",
    "What about the bot's registration at a forge an operator has to change (`porchbot doctor`).",
    ["forge"],
)

LEASES_LOST = Counter(
    "porchbot_leases_lost", "Looks that ended because another worker had taken their key."
)

FORGE_REQUESTS = Counter(
    "porchbot_forge_requests",
    "Requests to the forge, by kind (read, write, graphql) and status; none where no answer came.",
    ["kind", "status"],
)
FORGE_REQUEST_SECONDS = Histogram(
    "porchbot_forge_request_seconds",
    "From a request to the forge to its answer.",
    ["kind"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20),
)

DATABASE_UP = Gauge("porchbot_database_up", "Whether the database answered this scrape.")
_KEYS = Gauge("porchbot_work_keys", "Keys of the queue, by kind and state.", ["kind", "state"])
_OLDEST = Gauge(
    "porchbot_work_oldest_due_seconds",
    "How long the oldest due key has been due, by kind.",
    ["kind"],
)

KINDS = (
    *("proposal", "pull", "commit", "base", "repository"),
    *("installations", "installation", "sweep", "other"),
)
"""Kinds of keys, as they are spelled."""


def show(backlog: Backlog) -> None:
    """Set the gauges of the work queue, and those of kinds that nobody waits for to 0."""
    nothing = Backlog(0, 0, 0, 0, 0.0)
    shown = dict.fromkeys(KINDS, nothing)
    for kind, each in backlog.kinds.items():
        shown[kind if kind in shown else "other"] = each
    for kind, each in shown.items():
        for state in ("waiting", "due", "taken", "failing"):
            _KEYS.labels(kind, state).set(getattr(each, state))
        _OLDEST.labels(kind).set(each.oldest)


_WAITING = Gauge(
    "porchbot_proposals_waiting",
    "Proposals that wait, by what for; each counts for each.",
    ["reason"],
)


def show_waits(counts: Mapping[str, int]) -> None:
    """Set the gauges of what proposals wait for; 0 for what nobody waits for any more."""
    for reason in _reasons | counts.keys():
        _WAITING.labels(reason).set(counts.get(reason, 0))
    _reasons.update(counts)


_reasons: set[str] = set()
"""Those shown so far."""

_BUDGET = Gauge(
    "porchbot_forge_budget_remaining",
    "Requests that the forge still grants in this window: the least of any installation.",
    ["resource"],
)
RESOURCES = ("core", "graphql", "search")
"""What GitHub counts apart, of what we ask for."""


class RateLimitGauge:
    """What the forge still grants, as its answers said.

    Args:
        now: The time, in seconds since 1970.
    """

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._left: dict[tuple[object, str], tuple[int, int]] = {}

    def told(self, who: object, headers: Mapping[str, str]) -> None:
        """Read what an answer says is left.

        Args:
            who: Whose budget, such as one installation's.
            headers: Names in lower case.
        """
        resource = headers.get("x-ratelimit-resource", "core")
        left, reset = (headers.get(f"x-ratelimit-{n}", "") for n in ("remaining", "reset"))
        if resource in RESOURCES and left.isdecimal() and reset.isdecimal():
            self._left[who, resource] = (int(left), int(reset))

    def least(self) -> Mapping[str, int]:
        """Resource to the least that is left; nothing for one whose windows have all ended."""
        found: dict[str, int] = {}
        for (who, resource), (left, reset) in list(self._left.items()):
            if reset <= self._now():
                self._left.pop((who, resource), None)
            else:
                found[resource] = min(left, found.get(resource, left))
        return found


BUDGETS = RateLimitGauge()


def show_budgets() -> None:
    """Set the gauges of what the forge still grants."""
    _BUDGET.clear()
    for resource, left in BUDGETS.least().items():
        _BUDGET.labels(resource).set(left)


_heard: ContextVar[list[float]] = ContextVar("heard")


def look_began(heard: float | None, now: float) -> None:
    """A look began in this task.

    Args:
        heard: Seconds since the first webhook that it answers; None for none.
        now: By the monotonic clock.
    """
    _heard.set([] if heard is None else [now - heard])


def check_written(now: float) -> None:
    """A check run was written in the look of this task; the first one is measured."""
    heard = _heard.get([])
    if heard:
        FIRST_CHECK_SECONDS.observe(max(0.0, now - heard.pop()))


def show_drift(marks: Mapping[str, Mapping[str, Any]]) -> None:
    """Set how much is wrong at each forge, as the sweep of it found last, in any process."""
    for forge, mark in marks.items():
        _DRIFT.labels(forge).set(len(mark.get("wrong", ())))


def failed(key: object, why: str) -> None:
    """Count a failed look by cause: `busy`, `database`, `refused`, `git`, `some`, `broke`."""
    FAILURES.labels(type(key).__name__, why).inc()
