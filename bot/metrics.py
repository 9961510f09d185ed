"""Prometheus metrics of the bot."""

from prometheus_client import Counter, Gauge, Histogram

from bot.store.values import Backlog

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
ACTIONS = Counter("porchbot_actions", "Actions carried out, by kind.", ["kind"])

REPAIRS = Counter(
    "porchbot_sweep_repairs",
    "What a sweep found to do that no event had told, by sweep.",
    ["sweep"],
)

FAILURES = Counter("porchbot_look_failures", "Looks that failed, by key and why.", ["kind", "why"])

_QUEUE = Gauge("porchbot_work", "Keys by state.", ["state"])
_OLDEST = Gauge("porchbot_work_oldest_seconds", "How long the oldest due key has been due.")


def show(backlog: Backlog) -> None:
    """Set the gauges of the work queue."""
    _QUEUE.labels("waiting").set(backlog.waiting)
    _QUEUE.labels("due").set(backlog.due)
    _QUEUE.labels("taken").set(backlog.taken)
    _QUEUE.labels("failing").set(backlog.failing)
    _OLDEST.set(backlog.oldest)


def failed(key: object, why: str) -> None:
    """Count a failed look by cause: `busy`, `database`, `refused`, `git`, `some`, `broke`."""
    FAILURES.labels(type(key).__name__, why).inc()
