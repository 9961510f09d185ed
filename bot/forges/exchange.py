"""Requests and answers of any forge's API: what its clients share around their own libraries.

What an answer means is decided by the adapter and not by its library; here are a pool of clients
(none is safe between threads), the count for metrics and traces, the time at the forge, and the
reading of a body.
"""

import json
import queue
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

from bot import metrics, tracing
from bot.clock import SYSTEM, Clock, Offload
from bot.forges.budget import Account
from bot.forges.port import ForgeBusyError
from bot.store.buckets import Draw

MOST_PAGES = 1_000
"""Pages of one list: 100,000 items; a list that goes on for longer has no end."""

SKEW = timedelta(seconds=30)
"""By how much our clock may differ from a forge's: answers tell whole seconds, and take some."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a forge answered.

    Attributes:
        status: HTTP status.
        headers: Names in lower case.
        data: The body as JSON; None for an empty one, and for a refusal that is no JSON.
        at: When it came.
    """

    status: int
    headers: Mapping[str, str]
    data: Any
    at: datetime

    @property
    def ok(self) -> bool:
        """It was done: a redirect is no success, whoever follows it."""
        return 200 <= self.status < 300


class Closing(Protocol):
    """A client that holds connections."""

    def close(self) -> object:
        """Close them."""


A = TypeVar("A", bound=Answer)
C = TypeVar("C", bound=Closing)
P = ParamSpec("P")
T = TypeVar("T")


def read(
    kind: type[A], wanted: str, status: int, headers: Mapping[str, Any], text: str, at: datetime
) -> A:
    """Read an answer.

    Raises:
        ForgeBusyError: It claims success, and its body is no JSON.
    """
    lower = {name.lower(): str(value) for name, value in headers.items()}
    try:
        data = json.loads(text) if text.strip() else None
    except ValueError as error:
        if 200 <= status < 300:
            raise ForgeBusyError(wanted, f"{status} with a body that is no JSON") from error
        data = None  # a proxy's error page: the status says enough
    return kind(status, lower, data, at)


class ForgeTime:
    """What time it is at a forge, which judges tokens and tells when limits end.

    By the clock of this machine, unless answers show that it is wrong.

    Args:
        clock: Of this machine.
    """

    def __init__(self, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._ahead = timedelta()

    def now(self) -> datetime:
        """The time there."""
        return self._clock.now() - self._ahead

    def learn(self, answer: Answer) -> None:
        """Compare the time in an answer with our clock's."""
        try:
            ahead = answer.at - parsedate_to_datetime(answer.headers.get("date", ""))
        except (ValueError, TypeError):
            return  # it tells no time that can be read
        self._ahead = ahead if abs(ahead) > SKEW else timedelta()


def given_at(headers: Mapping[str, str], now: float) -> float:
    """When an answer was given, in seconds since 1970, by the clock of who gave it.

    Ours may be wrong by days; it is taken where the answer does not say.
    """
    try:
        return parsedate_to_datetime(headers.get("date", "")).timestamp()
    except (ValueError, TypeError):
        return now


class Idle(Generic[C]):
    """Clients that wait for their next request, each made for one token."""

    def __init__(self) -> None:
        self._idle: queue.LifoQueue[tuple[str, C]] = queue.LifoQueue()

    @contextmanager
    def client(self, token: str, make: Callable[[], C]) -> Iterator[C]:
        """Take a client for a token, made where there is none, and put it back; for threads."""
        client: C | None = None
        while client is None:
            try:
                made, client = self._idle.get_nowait()
            except queue.Empty:
                made, client = token, make()
            if made != token:
                client.close()
                client = None
        try:
            yield client
        finally:
            self._idle.put((token, client))

    def close(self) -> None:
        """Close all that are idle."""
        while True:
            try:
                _, client = self._idle.get_nowait()
            except queue.Empty:
                return
            client.close()


async def granted(
    account: Account,
    offload: Offload,
    draws: Sequence[Draw],
    wanted: str,
    work: Callable[P, T],
    *args: P.args,
    **named: P.kwargs,
) -> T:
    """Do what makes one request, when an account grants it; away from the event loop.

    Raises:
        ForgeBusyError: The forge limits us, or would; whatever else `work` raises.
    """
    async with account.granted(wanted, draws):
        try:
            return await offload(work, *args, **named)
        except ForgeBusyError as error:
            if error.after:
                await account.pause(error.after)
            raise


@contextmanager
def counted(
    clock: Clock, heard: Callable[[Mapping[str, str]], None], kind: str, wanted: str
) -> Iterator[Callable[[int, Mapping[str, Any]], None]]:
    """Count a request for the metrics; what is given is told of its answer.

    Args:
        clock: For how long it takes.
        heard: Is told the headers of the answer, names in lower case.
        kind: "read", "write" or "graphql".
        wanted: What it is for, as in errors.
    """
    begun, said = clock.monotonic(), "none"

    def answered(status: int, headers: Mapping[str, Any]) -> None:
        nonlocal said
        said = str(status)
        heard({name.lower(): str(value) for name, value in headers.items()})

    try:
        with tracing.span("forge call", kind=kind, to=wanted):
            yield answered
    finally:
        metrics.FORGE_REQUESTS.labels(kind, said).inc()
        metrics.FORGE_REQUEST_SECONDS.labels(kind).observe(clock.monotonic() - begun)
