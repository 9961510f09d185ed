"""What is measured of functions, in Prometheus' terms.

Functions go by the name they were asked for. Names are bounded: one that never ran here, and all
beyond the first 200 that did, count as "other", so that nobody fills the memory with names.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Final

from prometheus_client import Counter, Gauge, Histogram, start_http_server

from fnrunner.contract.errors import RunnerAddressError
from fnrunner.wire import addresses

OTHER: Final = "other"
OK: Final = "ok"
FAILED: Final = "function_failed"

_MOST_NAMES: Final = 200
_LONGEST_NAME: Final = 256  # characters; a registry's host, a path and a digest fit
_RAN: Final = frozenset({OK, FAILED, "function_stopped", "function_timeout"})

CALLS = Counter("porchbot_function_calls", "Calls by outcome.", ["function", "outcome"])
FAILURES = Counter("porchbot_function_failures", "Calls whose function failed.", ["function"])
SECONDS = Histogram(
    "porchbot_function_seconds",
    "From a call's arrival to its answer, waiting included.",
    ["function"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
CALLS_NOW = Gauge("porchbot_function_calls_now", "Calls without an answer yet.", ["function"])
WAITING = Gauge("porchbot_function_queue", "Calls that wait for their turn.", ["function"])
RUNNING = Gauge("porchbot_function_running", "Functions that run now.", ["function"])
CACHE_HITS = Counter("porchbot_function_cache_hits", "Calls answered from the cache.", ["function"])
CACHE_MISSES = Counter("porchbot_function_cache_misses", "Calls not in the cache.", ["function"])


class FunctionLabels:
    """The functions that have a label of their own, at most `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()
        self._lock = threading.Lock()

    def label(self, image: str) -> str:
        """Return the label of a function."""
        return image if image in self._known else OTHER

    def learn(self, image: str) -> None:
        """Give a function that ran a label, if there is one left."""
        with self._lock:
            if len(self._known) < self._most and len(image) <= _LONGEST_NAME:
                self._known.add(image)


_names = FunctionLabels(_MOST_NAMES)


@dataclass(slots=True)
class CountedCall:
    """A call on its way.

    Attributes:
        outcome: "ok", "function_failed", what `statuses.reason` says in lower case, or
            "cancelled" when the caller went away.
    """

    outcome: str = "cancelled"


@contextmanager
def call(image: str) -> Iterator[CountedCall]:
    """Count a call that is answered inside the block, which sets its outcome."""
    answered = CountedCall()
    began = time.perf_counter()
    with _during(CALLS_NOW, image):
        try:
            yield answered
        finally:
            if answered.outcome in _RAN:
                _names.learn(image)
            label = _names.label(image)
            CALLS.labels(label, answered.outcome).inc()
            SECONDS.labels(label).observe(time.perf_counter() - began)
            if answered.outcome == FAILED:
                FAILURES.labels(label).inc()


@contextmanager
def _during(gauge: Gauge, image: str) -> Iterator[None]:
    child = gauge.labels(_names.label(image))  # the same at the end, when the name may be known
    child.inc()
    try:
        yield
    finally:
        child.dec()


def waiting(image: str) -> AbstractContextManager[None]:
    """Count a call as one that waits, inside the block."""
    return _during(WAITING, image)


def running(image: str) -> AbstractContextManager[None]:
    """Count a function as one that runs, inside the block."""
    return _during(RUNNING, image)


def cache_hit(image: str) -> None:
    """Count an answer that was kept from before."""
    _names.learn(image)  # it ran once, maybe in another process
    CACHE_HITS.labels(_names.label(image)).inc()


def cache_miss(image: str) -> None:
    """Count an answer that had to be made."""
    _names.learn(image)  # it was found; calls that are cut count under its name, too
    CACHE_MISSES.labels(_names.label(image)).inc()


@contextmanager
def served(address: str) -> Iterator[str]:
    """Serve what is measured over HTTP inside the block; gives the address, its port filled in.

    Args:
        address: "HOST:PORT"; port 0 takes a free one. Every path there answers.

    Raises:
        RunnerAddressError: The address cannot be listened on.
    """
    host, port = addresses.host_port(address, "HOST:PORT")
    try:
        server, thread = start_http_server(port, host)
    except OSError as error:  # taken, not ours, or no host of that name
        raise RunnerAddressError(address, "cannot listen on this address", "HOST:PORT") from error
    try:
        yield f"{address.rpartition(':')[0]}:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
