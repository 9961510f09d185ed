"""Requests and answers of any forge's API: what its clients share around their own libraries.

What an answer means is decided by the adapter and not by its library; here are a pool of clients
(none is safe between threads), how a request is sent and must succeed, the count for metrics and
traces, the time at the forge, and the reading of a body.
"""

import hashlib
import json
import queue
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar

from bot import metrics, tracing
from bot.clock import SYSTEM, Clock, Offload, in_thread
from bot.forges.budget import Account
from bot.forges.port import ForgeBusyError, ForgeUnreadableError
from bot.sayable import sayable
from bot.store.buckets import Draw, ReportedLimit

MOST_PAGES = 1_000
"""Pages of one list: 100,000 items; a list that goes on for longer has no end."""

SKEW = timedelta(seconds=30)
"""By how much our clock may differ from a forge's: answers tell whole seconds, and take some."""


@dataclass(frozen=True, slots=True)
class ForgeAnswer:
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


A = TypeVar("A", bound=ForgeAnswer)
C = TypeVar("C", bound=Closing)
K = TypeVar("K")
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
    except (ValueError, RecursionError) as error:
        if 200 <= status < 300:
            raise ForgeBusyError(wanted, f"{status} with a body that is no JSON") from error
        data = None  # a proxy's error page: the status says enough
    return kind(status, lower, data, at)


def listed(wanted: str, data: object) -> list[Any]:
    """The list that an answer is; where it is something else, nothing is taken for none.

    Raises:
        ForgeUnreadableError: It is no list.
    """
    if not isinstance(data, list):
        raise ForgeUnreadableError(wanted, f"its answer is no list but {type(data).__name__}")
    return data


def digest(items: object) -> bytes:
    """Tell pages of a list apart, without keeping any."""
    return hashlib.sha256(json.dumps(items, sort_keys=True).encode()).digest()


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

    def learn(self, answer: ForgeAnswer) -> None:
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


class Pool(ABC, Generic[C, A, K]):
    """Clients of a forge with one identity, and how requests are sent by them.

    Args:
        account: What its requests count for; None asks without limit.
        clock: Tells when an answer came.
        offload: Where requests wait for their answers.
        time: Learns from answers what time it is at the forge.

    Attributes:
        kind: What it answers.
        network: Turns errors of the client itself into ours.
        failure: The error that an answer without success stands for, sorted by who must act.
        cost_of: What a request of a verb costs where nobody says.
    """

    kind: type[A]
    network: Callable[[str], AbstractContextManager[None]]
    failure: Callable[[str, A], Exception]
    cost_of: Callable[[str], K]

    def __init__(
        self,
        account: Account | None = None,
        clock: Clock = SYSTEM,
        offload: Offload = in_thread,
        time: ForgeTime | None = None,
    ) -> None:
        self.clock = clock
        self.time = time or ForgeTime(clock)
        self.offload = offload
        self.account = account or Account("", None)
        self._idle = Idle[C]()

    async def run(
        self,
        cost: K,
        wanted: str,
        work: Callable[Concatenate[Self, P], T],
        *args: P.args,
        **named: P.kwargs,
    ) -> T:
        """Do what makes one request, when the account grants it; away from the event loop.

        Raises:
            ForgeBusyError: The forge limits us, or would; whatever else `work` raises.
        """
        draws = self.draws(cost)
        return await granted(self.account, self.offload, draws, wanted, work, self, *args, **named)

    def heard(self, headers: Mapping[str, str]) -> None:
        """Heed what an answer says is left; from threads."""
        told = self.left(headers)
        if told is not None:
            self.account.told(told)

    def counted(
        self, kind: str, wanted: str
    ) -> AbstractContextManager[Callable[[int, Mapping[str, Any]], None]]:
        """Count a request for the metrics; what is given is told of its answer."""
        return counted(self.clock, self.heard, kind, wanted)

    def close(self) -> None:
        """Close every idle client's connections."""
        self._idle.close()

    @abstractmethod
    def draws(self, cost: K) -> Sequence[Draw]:
        """What a request takes of which buckets."""

    @abstractmethod
    def left(self, headers: Mapping[str, str]) -> ReportedLimit | None:
        """What an answer says is left; None where it says nothing."""

    @abstractmethod
    def client(self) -> AbstractContextManager[C]:
        """Take a client out of the pool and put it back."""

    @abstractmethod
    def transfer(
        self,
        client: C,
        verb: str,
        path: str,
        query: Mapping[str, object] | None,
        body: object,
        headers: Mapping[str, str] | None,
    ) -> tuple[int, Mapping[str, Any], str]:
        """Send one request; status, headers and text of its answer, whatever that is."""


def ask(
    pool: Pool[C, A, K],
    wanted: str,
    verb: str,
    path: str,
    *,
    query: Mapping[str, object] | None = None,
    body: object = None,
    headers: Mapping[str, str] | None = None,
) -> A:
    """Send one request and return the answer, whatever its status; for threads.

    Args:
        pool: What it is sent with.
        wanted: What it is for, as in errors.
        verb: Of HTTP.
        path: Of the API, its parts quoted.
        query: Its parameters.
        body: What is sent as JSON.
        headers: Beside those that each request has.

    Raises:
        ForgeBusyError: No answer came, or one that claims success and is no JSON.
    """
    kind = "read" if verb in {"GET", "HEAD"} else "write"
    with pool.network(wanted), pool.client() as client, pool.counted(kind, wanted) as told:
        status, answered, text = pool.transfer(client, verb, path, query, sayable(body), headers)
        told(status, answered)
    answer = read(pool.kind, wanted, status, answered, text, pool.clock.now())
    pool.time.learn(answer)
    return answer


def send(
    pool: Pool[C, A, K],
    wanted: str,
    verb: str,
    path: str,
    *,
    query: Mapping[str, object] | None = None,
    body: object = None,
) -> A:
    """Send one request that must succeed; for threads.

    Raises:
        ForgeBusyError: Trying again may help.
        ForgeMissingError: It is not there, or the bot may not see it.
        ForgeRefusedError: An operator must act.
    """
    answer = ask(pool, wanted, verb, path, query=query, body=body)
    if not answer.ok:
        raise pool.failure(wanted, answer)
    return answer


async def call(
    pool: Pool[C, A, K],
    wanted: str,
    verb: str,
    path: str,
    *,
    query: Mapping[str, object] | None = None,
    body: object = None,
    cost: K | None = None,
) -> A:
    """Send one request that must succeed, off the event loop; raises what `send` raises.

    `cost` is for what creates something that people are told of; else it follows from the verb.
    """
    draws = pool.draws(pool.cost_of(verb) if cost is None else cost)
    work = partial(send, pool, wanted, verb, path, query=query, body=body)
    return await granted(pool.account, pool.offload, draws, wanted, work)


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
